//! One stream: what has come of its reply, and what must hold of it. Pure.

use super::super::reply_scan::{ReplyField, ReplyLimits, ReplySink, TOO_LONG};
use crate::base::Nanos;

/// Bytes of a body that a server may send before it hears that they were taken.
pub(super) const STREAM_WINDOW: u32 = 1 << 20;
/// Least memory that a stream keeps for the next reply.
const KEPT: usize = 4096;

/// Why a stream has no whole reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StreamFault {
    /// The server reset it, with this code.
    Reset(u32),
    /// What came is no reply.
    Malformed(&'static str),
    /// The server is closing the connection, with this code, and has not looked at the request.
    Unseen(u32),
}

/// A head that waits for who asked: names and values, one behind the other.
#[derive(Debug, Default)]
pub(super) struct KeptHead {
    bytes: Vec<u8>,
    /// Where each name and each value ends.
    ends: Vec<(usize, usize)>,
}

impl KeptHead {
    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn add_field(&mut self, name: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(name);
        let name_end = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.ends.push((name_end, self.bytes.len()));
    }

    fn tell(&self, status: u16, sink: &mut impl ReplySink) {
        let mut start = 0;
        let fields = self.ends.iter().filter_map(|(name, end)| {
            let name_bytes = &self.bytes[start..*name];
            start = *end;
            let name_text = std::str::from_utf8(name_bytes).ok()?;
            Some(ReplyField { name: name_text, value: &self.bytes[*name..*end] })
        });
        sink.note_head(status, &fields.collect::<Vec<_>>());
    }
}

/// A stream; when it is over it serves the next request.
#[derive(Debug, Default)]
pub(super) struct ReplyStream {
    /// The task that waits for it.
    pub(super) task: usize,
    limits: ReplyLimits,
    wants_head: bool,
    wants_body: bool,
    /// 0 until the head has come.
    pub(super) status: u16,
    pub(super) head_bytes: u64,
    pub(super) body_bytes: u64,
    pub(super) received: u64,
    /// When its first frame came.
    pub(super) first_byte: Option<Nanos>,
    length: Option<u64>,
    /// The reply has come to its end.
    pub(super) is_whole: bool,
    pub(super) fault: Option<StreamFault>,
    head: KeptHead,
    /// Whether `head` waits to be told.
    has_head: bool,
    body: Vec<u8>,
    /// Bytes that the server may still send, and bytes that were taken since it heard of any.
    receive_left: i64,
    taken: u32,
    /// Bytes that may be sent to it; what is left of the request's body.
    pub(super) send_left: i64,
    pub(super) unsent: usize,
}

/// What a head said.
#[derive(Default)]
struct HeadLook {
    status: Option<u16>,
    length: Option<u64>,
    is_behind_pseudo: bool,
    wrong: Option<&'static str>,
}

impl HeadLook {
    fn take_field(&mut self, name: &[u8], value: &[u8]) {
        if let Some(pseudo) = name.strip_prefix(b":") {
            let status = read_status(value);
            if self.is_behind_pseudo || pseudo != b"status" || self.status.is_some() {
                self.wrong = Some("its head has a pseudo field where none may be");
            } else if status.is_none() {
                self.wrong = Some("the status is none that was asked for");
            }
            self.status = status;
            return;
        }
        self.is_behind_pseudo = true;
        match name {
            b"content-length" => {
                let text = std::str::from_utf8(value).ok().map(str::trim);
                let length = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                match length.and_then(|text| text.parse().ok()) {
                    Some(length) if self.length.is_none_or(|known| known == length) => {
                        self.length = Some(length);
                    }
                    Some(_) => self.wrong = Some("two lengths contradict each other"),
                    None => self.wrong = Some("the length is not a number"),
                }
            }
            b"connection" | b"transfer-encoding" | b"keep-alive" | b"upgrade" => {
                self.wrong = Some("its head has a field of HTTP/1");
            }
            _ => {
                let is_part = |byte: &u8| (0x21..0x7F).contains(byte) && !byte.is_ascii_uppercase();
                let is_text = |byte: &u8| !matches!(byte, 0 | b'\r' | b'\n');
                if name.is_empty() || !name.iter().all(is_part) || !value.iter().all(is_text) {
                    self.wrong = Some("its head has an invalid field");
                }
            }
        }
    }
}

fn read_status(value: &[u8]) -> Option<u16> {
    let text = std::str::from_utf8(value).ok().filter(|text| text.len() == 3)?;
    text.parse().ok().filter(|status| (100..=999).contains(status) && *status != 101)
}

impl ReplyStream {
    /// A request begins.
    pub(super) fn start_reply(&mut self, limits: ReplyLimits, wants: (bool, bool), task: usize) {
        let ReplyStream { mut head, mut body, .. } = std::mem::take(self);
        head.clear();
        body.clear();
        body.shrink_to(KEPT);
        let (wants_head, wants_body) = wants;
        let receive_left = i64::from(STREAM_WINDOW);
        *self = ReplyStream {
            task,
            limits,
            wants_head,
            wants_body,
            head,
            body,
            receive_left,
            ..ReplyStream::default()
        };
    }

    /// Whether nothing more is to come.
    pub(super) fn is_over(&self) -> bool {
        self.is_whole || self.fault.is_some()
    }

    /// Whether who asked has something to do.
    pub(super) fn has_news(&self) -> bool {
        self.is_over() || self.has_head || !self.body.is_empty()
    }

    fn fail(&mut self, why: &'static str) {
        self.fault.get_or_insert(StreamFault::Malformed(why));
    }

    /// Takes a head, or the fields behind a body; `decode` tells its fields, also where nobody looks at them.
    ///
    /// # Errors
    /// What `decode` says.
    pub(super) fn take_head(
        &mut self,
        bytes: usize,
        ends: bool,
        decode: impl FnOnce(&mut dyn FnMut(&[u8], &[u8])) -> Result<(), &'static str>,
    ) -> Result<(), &'static str> {
        let is_first = self.status == 0;
        let mut look = HeadLook::default();
        let keeps = is_first && self.wants_head;
        self.head_bytes += bytes as u64;
        decode(&mut |name, value| {
            look.take_field(name, value);
            if keeps && !name.starts_with(b":") {
                self.head.add_field(name, value);
            }
        })?;
        if let Some(why) = look.wrong {
            self.fail(why);
            return Ok(());
        }
        if self.is_whole {
            return Ok(());
        }
        match (is_first, look.status) {
            (true, None) => self.fail("its head has no status"),
            (true, Some(100..=199)) => {
                // An interim reply; the one that counts follows.
                self.head.clear();
                if ends {
                    self.fail("it ends with an interim head");
                }
            }
            (true, Some(status)) => {
                self.status = status;
                self.has_head = keeps;
                let has_none = self.limits.is_head || matches!(status, 204 | 304);
                self.length = if has_none { Some(0) } else { look.length };
                if self.length.is_some_and(|length| length > self.limits.most_body) {
                    self.fail(TOO_LONG);
                }
            }
            (false, Some(_)) => self.fail("it has two heads"),
            (false, None) if !ends => self.fail("its trailers are not its end"),
            (false, None) => {}
        }
        if ends {
            self.note_end();
        }
        Ok(())
    }

    fn note_end(&mut self) {
        if self.length.is_some_and(|length| length != self.body_bytes) {
            self.fail("the body is not as long as its length says");
        }
        self.is_whole = self.fault.is_none();
    }

    /// Takes a piece of the body, which counts as `frame` bytes for the window.
    ///
    /// # Errors
    /// When the server sends more than it may.
    pub(super) fn take_body(
        &mut self,
        bytes: &[u8],
        frame: usize,
        ends: bool,
    ) -> Result<(), &'static str> {
        self.receive_left -= frame as i64;
        if self.receive_left < 0 {
            return Err("the server sends more than its window");
        }
        if self.is_over() {
            return Ok(());
        }
        self.body_bytes += bytes.len() as u64;
        if self.status == 0 {
            self.fail("its body comes before its head");
        } else if self.body_bytes > self.limits.most_body {
            self.fail(TOO_LONG);
        } else if self.length.is_some_and(|length| self.body_bytes > length) {
            self.fail("the body is longer than its length says");
        } else if self.wants_body {
            self.body.extend_from_slice(bytes);
            // Padding is taken at once.
            self.taken += (frame - bytes.len()) as u32;
        } else {
            self.taken += frame as u32;
        }
        if ends {
            self.note_end();
        }
        Ok(())
    }

    /// Hands on what has come.
    pub(super) fn tell_news(&mut self, sink: &mut impl ReplySink) {
        if std::mem::take(&mut self.has_head) {
            self.head.tell(self.status, sink);
        }
        if !self.body.is_empty() {
            sink.take_body(&self.body);
            self.taken += self.body.len() as u32;
            self.body.clear();
        }
    }

    /// Bytes that the server is to hear of, once they are many.
    pub(super) fn take_credit(&mut self) -> Option<u32> {
        if self.taken < STREAM_WINDOW / 2 || self.is_over() {
            return None;
        }
        self.receive_left += i64::from(self.taken);
        Some(std::mem::take(&mut self.taken))
    }
}
