//! One reply as bytes come: its head, then its body, counted and handed on. Touches no socket.

use std::mem::MaybeUninit;

use httparse::{Header, ParserConfig, Status};

use super::chunks::BodyChunks;

/// Most fields of a head.
const MOST_FIELDS: usize = 128;
/// Most bytes of all heads of one reply, those of interim ones among them.
const MOST_HEAD: usize = 64 << 10;
/// A field of a head.
pub type ReplyField<'a> = Header<'a>;

/// What is expected of a reply, and how much of it is read.
#[derive(Clone, Copy, Debug)]
pub struct ReplyLimits {
    /// The request was `HEAD`: the reply has no body, whatever its head says.
    pub is_head: bool,
    /// Longest body, bytes.
    pub most_body: u64,
    /// The request was of HTTP/1.0: a connection is kept only if the server says so.
    pub is_http10: bool,
}

impl Default for ReplyLimits {
    fn default() -> ReplyLimits {
        ReplyLimits { is_head: false, most_body: 1 << 30, is_http10: false }
    }
}

/// How a head says where its body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodySize {
    /// There is none.
    None,
    /// So many bytes.
    Length(u64),
    /// Chunks.
    Chunked,
    /// It ends with the connection.
    UntilClose,
}

/// Sees heads and bodies go by.
pub trait ReplySink {
    /// The head of the reply, not those of interim ones.
    fn note_head(&mut self, _status: u16, _fields: &[ReplyField<'_>]) {}
    /// A piece of the body.
    fn take_body(&mut self, _bytes: &[u8]) {}
    /// Whether it looks at heads at all.
    fn wants_head(&self) -> bool {
        true
    }
    /// Whether it looks at bodies.
    fn wants_body(&self) -> bool {
        true
    }
}

/// Keeps nothing.
impl ReplySink for () {
    fn wants_head(&self) -> bool {
        false
    }
    fn wants_body(&self) -> bool {
        false
    }
}

/// Where a reply is.
#[derive(Clone, Copy, Debug)]
enum ScanPlace {
    Head,
    Length(u64),
    Chunked(BodyChunks),
    UntilClose,
    Done,
}

/// Whether a reply has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanProgress {
    /// More bytes are to come.
    More,
    /// It has ended; the bytes behind it are not part of it.
    Done {
        /// Bytes of the piece that were part of it.
        used: usize,
    },
}

/// Reads replies, one after the other.
#[derive(Debug)]
pub struct ReplyScan {
    place: ScanPlace,
    limits: ReplyLimits,
    /// A head that has not come whole.
    carry: Vec<u8>,
    status: u16,
    head_bytes: usize,
    body_bytes: u64,
    keeps_alive: bool,
    is_http11: bool,
}

/// What a head says.
struct HeadFacts {
    status: u16,
    size: BodySize,
    keeps_alive: bool,
    is_http11: bool,
}

impl Default for ReplyScan {
    fn default() -> ReplyScan {
        ReplyScan {
            place: ScanPlace::Done,
            limits: ReplyLimits::default(),
            carry: Vec::new(),
            status: 0,
            head_bytes: 0,
            body_bytes: 0,
            keeps_alive: false,
            is_http11: false,
        }
    }
}

impl ReplyScan {
    /// A reply is to come.
    pub fn start_reply(&mut self, limits: ReplyLimits) {
        self.carry.clear();
        self.carry.shrink_to(4096);
        self.place = ScanPlace::Head;
        self.limits = limits;
        (self.status, self.head_bytes, self.body_bytes) = (0, 0, 0);
    }

    /// Its status; 0 before its head has come.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Bytes of heads.
    pub fn head_bytes(&self) -> usize {
        self.head_bytes
    }

    /// Bytes of the body, without what stands between chunks.
    pub fn body_bytes(&self) -> u64 {
        self.body_bytes
    }

    /// Whether the connection can be used again, once the reply has ended.
    pub fn keeps_alive(&self) -> bool {
        self.keeps_alive
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// Why they are no reply.
    pub fn feed_bytes(
        &mut self,
        bytes: &[u8],
        sink: &mut impl ReplySink,
    ) -> Result<ScanProgress, &'static str> {
        let mut at = 0;
        while at < bytes.len() {
            at += match self.place {
                ScanPlace::Head => self.feed_head(&bytes[at..], sink)?,
                ScanPlace::Length(left) => {
                    let rest = &bytes[at..];
                    let count = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
                    sink.take_body(&rest[..count]);
                    self.body_bytes += count as u64;
                    self.place = match left - count as u64 {
                        0 => ScanPlace::Done,
                        left => ScanPlace::Length(left),
                    };
                    count
                }
                ScanPlace::Chunked(mut chunks) => {
                    let (body, most) = (&mut self.body_bytes, self.limits.most_body);
                    let used = chunks.feed_bytes(&bytes[at..], |data| {
                        *body += data.len() as u64;
                        sink.take_body(data);
                        if *body > most { Err(TOO_LONG) } else { Ok(()) }
                    })?;
                    self.place = match chunks.is_done() {
                        true => ScanPlace::Done,
                        false => ScanPlace::Chunked(chunks),
                    };
                    used
                }
                ScanPlace::UntilClose => {
                    let rest = &bytes[at..];
                    self.body_bytes += rest.len() as u64;
                    if self.body_bytes > self.limits.most_body {
                        return Err(TOO_LONG);
                    }
                    sink.take_body(rest);
                    rest.len()
                }
                ScanPlace::Done => break,
            };
        }
        Ok(match self.place {
            ScanPlace::Done => ScanProgress::Done { used: at },
            _ => ScanProgress::More,
        })
    }

    /// The connection has ended: whether the reply has, too.
    pub fn ends_with_connection(&mut self) -> bool {
        match self.place {
            ScanPlace::UntilClose => {
                self.place = ScanPlace::Done;
                true
            }
            _ => false,
        }
    }

    /// Reads a head, or keeps what there is of it; gives how many bytes were taken.
    fn feed_head(
        &mut self,
        bytes: &[u8],
        sink: &mut impl ReplySink,
    ) -> Result<usize, &'static str> {
        let kept = self.carry.len();
        if kept > 0 {
            self.carry.extend_from_slice(bytes);
        }
        // A head has not ended where no line has; so a server that sends it byte by byte costs no more than lines.
        let has_line = kept == 0 || bytes.contains(&b'\n');
        let whole = if kept > 0 { &self.carry[..] } else { bytes };
        let read = if has_line { read_head(whole, self.limits, sink)? } else { None };
        let Some((length, facts)) = read else {
            if self.head_bytes + whole.len() > MOST_HEAD {
                return Err("the head is too long");
            }
            if kept == 0 {
                self.carry.extend_from_slice(bytes);
            }
            return Ok(bytes.len());
        };
        self.carry.clear();
        self.head_bytes += length;
        if self.head_bytes > MOST_HEAD {
            return Err("the head is too long");
        }
        if facts.status / 100 == 1 {
            // An interim reply; the one that counts follows.
            return Ok(length - kept);
        }
        (self.status, self.is_http11) = (facts.status, facts.is_http11);
        self.keeps_alive = facts.keeps_alive;
        self.place = match facts.size {
            BodySize::None | BodySize::Length(0) => ScanPlace::Done,
            BodySize::Length(length) if length > self.limits.most_body => return Err(TOO_LONG),
            BodySize::Length(length) => ScanPlace::Length(length),
            BodySize::Chunked => ScanPlace::Chunked(BodyChunks::new()),
            BodySize::UntilClose => ScanPlace::UntilClose,
        };
        Ok(length - kept)
    }

    /// Whether anything of the reply has come.
    pub fn has_begun(&self) -> bool {
        self.head_bytes > 0 || !self.carry.is_empty()
    }
}

pub(super) const TOO_LONG: &str = "the body is longer than is allowed";

/// Reads a head if it is there whole.
fn read_head(
    bytes: &[u8],
    limits: ReplyLimits,
    sink: &mut impl ReplySink,
) -> Result<Option<(usize, HeadFacts)>, &'static str> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut reply = httparse::Response::new(&mut []);
    let parsed =
        ParserConfig::default().parse_response_with_uninit_headers(&mut reply, bytes, &mut fields);
    let length = match parsed {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err("the head has too many fields"),
        Err(_) => return Err("the head is not one of HTTP"),
    };
    let status = reply.code.unwrap_or_default();
    if !(100..=999).contains(&status) || status == 101 {
        return Err("the status is none that was asked for");
    }
    let is_http11 = reply.version == Some(1);
    let facts = read_fields(status, is_http11, reply.headers, limits)?;
    if status >= 200 {
        sink.note_head(status, reply.headers);
    }
    Ok(Some((length, facts)))
}

/// What the fields say of the body and of the connection.
fn read_fields(
    status: u16,
    is_http11: bool,
    fields: &[Header<'_>],
    limits: ReplyLimits,
) -> Result<HeadFacts, &'static str> {
    let (mut length, mut coding) = (None, None);
    let mut keeps_alive = is_http11;
    for field in fields {
        // By length first: most fields say nothing here.
        match field.name.len() {
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                let value = read_length(field.value)?;
                if length.is_some_and(|known| known != value) {
                    return Err("two lengths contradict each other");
                }
                length = Some(value);
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                coding = Some(is_last_chunked(field.value));
            }
            10 if field.name.eq_ignore_ascii_case("connection") => {
                for word in field.value.split(|byte| *byte == b',') {
                    let word = word.trim_ascii();
                    if word.eq_ignore_ascii_case(b"close") {
                        keeps_alive = false;
                    } else if word.eq_ignore_ascii_case(b"keep-alive") {
                        keeps_alive = true;
                    }
                }
            }
            _ => {}
        }
    }
    let has_none = limits.is_head || status / 100 == 1 || matches!(status, 204 | 304);
    let size = match (coding, length) {
        _ if has_none => BodySize::None,
        (Some(true), _) => BodySize::Chunked,
        (Some(false), _) => BodySize::UntilClose,
        (None, Some(length)) => BodySize::Length(length),
        (None, None) => BodySize::UntilClose,
    };
    keeps_alive &= size != BodySize::UntilClose;
    Ok(HeadFacts { status, size, keeps_alive, is_http11 })
}

fn read_length(value: &[u8]) -> Result<u64, &'static str> {
    // A list of the same number is one number.
    let mut numbers = value.split(|byte| *byte == b',').map(|word| {
        let word = word.trim_ascii();
        let digits = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
        let text = std::str::from_utf8(word).ok().filter(|_| digits);
        text.and_then(|text| text.parse::<u64>().ok())
    });
    let first = numbers.next().flatten().ok_or("the length is not a number")?;
    match numbers.all(|number| number == Some(first)) {
        true => Ok(first),
        false => Err("two lengths contradict each other"),
    }
}

fn is_last_chunked(value: &[u8]) -> bool {
    let last = value.rsplit(|byte| *byte == b',').next().unwrap_or_default();
    last.trim_ascii().eq_ignore_ascii_case(b"chunked")
}
