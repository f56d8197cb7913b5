//! All streams of a connection: frames come in as bytes, frames go out as bytes. Touches no socket.

use super::super::reply_scan::{ReplyLimits, ReplySink};
use super::frames::{
    self, ACK, CANCEL, CONTINUATION, DATA, END_HEADERS, END_STREAM, FrameHead, GOAWAY, HEAD,
    HEADERS, MOST_PAYLOAD, PING, PREFACE, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, SHORT,
    WINDOW_UPDATE, read_u32, strip_padding, write_frame, write_head, write_setting,
};
use super::hpack::{BlockDecoder, MOST_HEAD, NO_TABLE};
use super::reply_stream::{ReplyStream, STREAM_WINDOW, StreamFault};
use crate::base::Nanos;

/// Window of a connection before its settings, and the largest there is.
const FIRST_WINDOW: u32 = 65_535;
const MOST_WINDOW: u32 = 0x7FFF_FFFF;
/// Bytes that all streams together may receive before the server hears that they were taken.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Most frames in a row that carry no reply.
const MOST_IDLE_FRAMES: u32 = 10_000;
/// The last number that a stream may have.
const LAST_ID: u32 = MOST_WINDOW;

/// Why a connection can't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineFault {
    /// What comes is not HTTP/2 at all.
    OtherProtocol,
    /// It breaks the rules.
    Broken(&'static str),
}

impl From<&'static str> for LineFault {
    fn from(why: &'static str) -> LineFault {
        LineFault::Broken(why)
    }
}

/// Why no stream can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenRefusal {
    /// The server allows no more at once.
    Full,
    /// The connection is coming to its end.
    Closing,
}

/// A request as it goes into frames.
#[derive(Clone, Copy, Debug)]
pub struct FramedRequest<'a> {
    /// Its fields, as [`super::write_block_field`] writes them.
    pub block: &'a [u8],
    /// Its body; none if it is empty.
    pub body: &'a [u8],
}

/// A header block whose end is to come.
#[derive(Debug, Default)]
struct OpenBlock {
    stream: u32,
    ends: bool,
    bytes: Vec<u8>,
}

/// The streams of a connection.
#[derive(Debug)]
pub(super) struct StreamMultiplexer {
    decoder: BlockDecoder,
    /// A frame that has not come whole.
    carry: Vec<u8>,
    block: OpenBlock,
    streams: Vec<ReplyStream>,
    /// Their numbers; 0 for a place that is free.
    ids: Vec<u32>,
    open: usize,
    next_id: u32,
    most_streams: u32,
    first_send_left: u32,
    most_frame: usize,
    pub(super) has_settings: bool,
    send_left: i64,
    receive_left: i64,
    taken: u32,
    idle_frames: u32,
    /// The last stream that the server looks at, and why it is closing the connection.
    pub(super) goaway: Option<(u32, u32)>,
    /// Frames that are to be sent.
    pub(super) out: Vec<u8>,
    /// Tasks whose streams have news.
    pub(super) called: Vec<usize>,
}

impl StreamMultiplexer {
    pub(super) fn new() -> StreamMultiplexer {
        let mut out = PREFACE.to_vec();
        let mut settings = Vec::new();
        write_setting(frames::ENABLE_PUSH, 0, &mut settings);
        write_setting(frames::INITIAL_WINDOW, STREAM_WINDOW, &mut settings);
        write_setting(frames::MOST_FIELD_LIST, MOST_HEAD as u32, &mut settings);
        write_frame(SETTINGS, 0, 0, &settings, &mut out);
        let more = CONNECTION_WINDOW - FIRST_WINDOW;
        write_frame(WINDOW_UPDATE, 0, 0, &more.to_be_bytes(), &mut out);
        StreamMultiplexer {
            decoder: BlockDecoder::default(),
            carry: Vec::new(),
            block: OpenBlock::default(),
            streams: Vec::new(),
            ids: Vec::new(),
            open: 0,
            next_id: 1,
            most_streams: u32::MAX,
            first_send_left: FIRST_WINDOW,
            most_frame: MOST_PAYLOAD,
            has_settings: false,
            send_left: i64::from(FIRST_WINDOW),
            receive_left: i64::from(CONNECTION_WINDOW),
            taken: 0,
            idle_frames: 0,
            goaway: None,
            out,
            called: Vec::new(),
        }
    }

    /// Streams that are open.
    #[cfg(test)]
    pub(super) fn open_count(&self) -> usize {
        self.open
    }

    /// Whether who waits for a stream gets one, or hears that there will be none.
    pub(super) fn has_room(&self) -> bool {
        !self.is_usable() || (self.open as u64) < u64::from(self.most_streams)
    }

    /// Whether requests can still begin.
    pub(super) fn is_usable(&self) -> bool {
        self.goaway.is_none() && self.next_id < LAST_ID
    }

    pub(super) fn stream(&self, place: usize) -> &ReplyStream {
        &self.streams[place]
    }

    /// The task of the last stream that waits for more.
    pub(super) fn waiting_task(&self) -> Option<usize> {
        let all = self.ids.iter().zip(&self.streams);
        let waiting = all.filter(|(id, stream)| **id != 0 && !stream.is_over());
        waiting.max_by_key(|(id, _)| **id).map(|(_, stream)| stream.task)
    }

    /// Begins a request; gives its place.
    ///
    /// # Errors
    /// Why it can't.
    pub(super) fn open_stream(
        &mut self,
        request: &FramedRequest<'_>,
        limits: ReplyLimits,
        wants: (bool, bool),
        task: usize,
    ) -> Result<usize, OpenRefusal> {
        if !self.is_usable() {
            return Err(OpenRefusal::Closing);
        }
        if !self.has_room() {
            return Err(OpenRefusal::Full);
        }
        let place = self.ids.iter().position(|id| *id == 0).unwrap_or_else(|| {
            self.ids.push(0);
            self.streams.push(ReplyStream::default());
            self.ids.len() - 1
        });
        let id = self.next_id;
        self.next_id += 2;
        self.open += 1;
        self.ids[place] = id;
        let stream = &mut self.streams[place];
        stream.start_reply(limits, wants, task);
        stream.send_left = self.first_send_left.into();
        stream.unsent = request.body.len();
        let first = if id == 1 { &[NO_TABLE][..] } else { &[] };
        let block = [first, request.block];
        write_head(id, block, request.body.is_empty(), self.most_frame, &mut self.out);
        self.send_body(place, request.body);
        Ok(place)
    }

    /// Sends what windows allow of a request's body.
    pub(super) fn send_body(&mut self, place: usize, body: &[u8]) {
        let stream = &mut self.streams[place];
        while stream.unsent > 0 && !stream.is_over() {
            let room = self.send_left.min(stream.send_left).max(0);
            let room = usize::try_from(room).unwrap_or(usize::MAX).min(self.most_frame);
            let count = room.min(stream.unsent);
            if count == 0 {
                return;
            }
            let start = body.len() - stream.unsent;
            stream.unsent -= count;
            let flags = if stream.unsent == 0 { END_STREAM } else { 0 };
            let piece = &body[start..start + count];
            write_frame(DATA, flags, self.ids[place], piece, &mut self.out);
            self.send_left -= count as i64;
            stream.send_left -= count as i64;
        }
    }

    /// Hands on what has come for a stream, and tells the server that it was taken.
    pub(super) fn tell_news(&mut self, place: usize, sink: &mut impl ReplySink) {
        let stream = &mut self.streams[place];
        stream.tell_news(sink);
        if let Some(count) = stream.take_credit() {
            write_frame(WINDOW_UPDATE, 0, self.ids[place], &count.to_be_bytes(), &mut self.out);
        }
    }

    /// Frees a stream; one whose reply has not come to its end is cancelled.
    pub(super) fn close_stream(&mut self, place: usize) {
        let stream = &self.streams[place];
        let is_reset = matches!(stream.fault, Some(StreamFault::Reset(_) | StreamFault::Unseen(_)));
        if !is_reset && (!stream.is_whole || stream.unsent > 0) {
            write_frame(RST_STREAM, 0, self.ids[place], &CANCEL.to_be_bytes(), &mut self.out);
        }
        self.ids[place] = 0;
        self.open -= 1;
    }

    /// Takes the next bytes, which came at this time.
    ///
    /// # Errors
    /// Why the connection can't go on.
    pub(super) fn feed_bytes(&mut self, mut bytes: &[u8], now: Nanos) -> Result<(), LineFault> {
        while !bytes.is_empty() {
            let kept = self.carry.len();
            let needed = match kept {
                0 if bytes.len() >= HEAD => {
                    let head = self.check_head(FrameHead::from_bytes(bytes))?;
                    if let Some((frame, rest)) = bytes.split_at_checked(HEAD + head.length) {
                        self.take_frame(head, &frame[HEAD..], now)?;
                        bytes = rest;
                        continue;
                    }
                    bytes.len()
                }
                0..HEAD => HEAD - kept,
                _ => HEAD + FrameHead::from_bytes(&self.carry).length - kept,
            };
            let (piece, rest) = bytes.split_at(needed.min(bytes.len()));
            self.carry.extend_from_slice(piece);
            bytes = rest;
            if self.carry.len() < HEAD {
                continue;
            }
            let head = self.check_head(FrameHead::from_bytes(&self.carry))?;
            if self.carry.len() == HEAD + head.length {
                let mut frame = std::mem::take(&mut self.carry);
                let taken = self.take_frame(head, &frame[HEAD..], now);
                frame.clear();
                frame.shrink_to(4096);
                self.carry = frame;
                taken?;
            }
        }
        Ok(())
    }

    fn check_head(&self, head: FrameHead) -> Result<FrameHead, LineFault> {
        let is_settings = head.kind == SETTINGS && !head.has_flag(ACK);
        if !self.has_settings && !is_settings {
            return Err(LineFault::OtherProtocol);
        }
        if head.length > MOST_PAYLOAD {
            return Err("a frame is longer than is allowed".into());
        }
        let is_next = head.kind == CONTINUATION && head.stream == self.block.stream;
        if self.block.stream != 0 && !is_next {
            return Err("a header block is not continued".into());
        }
        Ok(head)
    }

    fn take_frame(&mut self, head: FrameHead, payload: &[u8], now: Nanos) -> Result<(), LineFault> {
        self.idle_frames += 1;
        if self.idle_frames > MOST_IDLE_FRAMES {
            return Err("too many frames come that carry no reply".into());
        }
        match head.kind {
            DATA => self.take_data(head, payload, now)?,
            HEADERS => {
                let mut block = strip_padding(head, payload)?;
                if head.has_flag(PRIORITY) {
                    block = block.get(5..).ok_or(SHORT)?;
                }
                let ends = head.has_flag(END_STREAM);
                if head.has_flag(END_HEADERS) {
                    return Ok(self.take_block(head.stream, block, ends, now)?);
                }
                self.block.stream = self.known_id(head.stream)?;
                self.block.ends = ends;
                self.block.bytes.clear();
                self.block.bytes.extend_from_slice(block);
            }
            CONTINUATION => {
                if self.block.stream == 0 {
                    return Err("a header block continues that never began".into());
                }
                self.block.bytes.extend_from_slice(payload);
                if self.block.bytes.len() > MOST_HEAD {
                    return Err("the head is too long".into());
                }
                if head.has_flag(END_HEADERS) {
                    let OpenBlock { stream, ends, bytes } = std::mem::take(&mut self.block);
                    self.take_block(stream, &bytes, ends, now)?;
                }
            }
            RST_STREAM => {
                let code = read_u32(payload.get(..4).ok_or(SHORT)?);
                self.known_id(head.stream)?;
                if let Some(place) = self.find_stream(head.stream) {
                    let stream = &mut self.streams[place];
                    if !stream.is_over() {
                        stream.fault = Some(StreamFault::Reset(code));
                        self.called.push(stream.task);
                    }
                }
            }
            SETTINGS => self.take_settings(head, payload)?,
            PUSH_PROMISE => return Err("the server pushes, which was refused".into()),
            PING => {
                if payload.len() != 8 {
                    return Err(SHORT.into());
                }
                if !head.has_flag(ACK) {
                    write_frame(PING, ACK, 0, payload, &mut self.out);
                }
            }
            GOAWAY => self.take_goaway(payload)?,
            WINDOW_UPDATE => self.take_window(head.stream, payload)?,
            // What is not known is passed over (RFC 9113, 5.5).
            _ => {}
        }
        Ok(())
    }

    /// The number of a stream that was opened, now or once.
    fn known_id(&self, id: u32) -> Result<u32, &'static str> {
        match id % 2 == 1 && id < self.next_id {
            true => Ok(id),
            false => Err("a frame comes for a stream that was never opened"),
        }
    }

    fn find_stream(&self, id: u32) -> Option<usize> {
        self.ids.iter().position(|known| *known == id)
    }

    fn take_block(
        &mut self,
        id: u32,
        block: &[u8],
        ends: bool,
        now: Nanos,
    ) -> Result<(), &'static str> {
        self.known_id(id)?;
        let Some(place) = self.find_stream(id) else {
            // It is over here; the table must still learn from it.
            return self.decoder.decode_block(block, |_, _| {});
        };
        self.idle_frames = 0;
        let (stream, decoder) = (&mut self.streams[place], &mut self.decoder);
        stream.first_byte.get_or_insert(now);
        stream.received += (HEAD + block.len()) as u64;
        stream.take_head(block.len(), ends, |told| decoder.decode_block(block, told))?;
        if stream.has_news() {
            self.called.push(stream.task);
        }
        Ok(())
    }

    fn take_data(&mut self, head: FrameHead, payload: &[u8], now: Nanos) -> Result<(), LineFault> {
        self.known_id(head.stream)?;
        self.receive_left -= payload.len() as i64;
        if self.receive_left < 0 {
            return Err("the server sends more than its window".into());
        }
        self.taken += payload.len() as u32;
        if self.taken >= CONNECTION_WINDOW / 2 {
            self.receive_left += i64::from(self.taken);
            write_frame(WINDOW_UPDATE, 0, 0, &self.taken.to_be_bytes(), &mut self.out);
            self.taken = 0;
        }
        let bytes = strip_padding(head, payload)?;
        let Some(place) = self.find_stream(head.stream) else { return Ok(()) };
        if !bytes.is_empty() || head.has_flag(END_STREAM) {
            self.idle_frames = 0;
        }
        let stream = &mut self.streams[place];
        stream.first_byte.get_or_insert(now);
        stream.received += (HEAD + payload.len()) as u64;
        stream.take_body(bytes, payload.len(), head.has_flag(END_STREAM))?;
        if stream.has_news() {
            self.called.push(stream.task);
        }
        if let Some(count) = stream.take_credit() {
            write_frame(WINDOW_UPDATE, 0, head.stream, &count.to_be_bytes(), &mut self.out);
        }
        Ok(())
    }

    fn take_settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), LineFault> {
        if payload.len() % 6 != 0 || head.has_flag(ACK) && !payload.is_empty() {
            return Err("settings have another length".into());
        }
        if head.has_flag(ACK) {
            return Ok(());
        }
        for setting in payload.chunks_exact(6) {
            let number = u16::from_be_bytes([setting[0], setting[1]]);
            let value = read_u32(&setting[2..]);
            match number {
                frames::MOST_STREAMS => self.most_streams = value,
                frames::INITIAL_WINDOW if value > MOST_WINDOW => {
                    return Err("settings have a window that is too large".into());
                }
                frames::INITIAL_WINDOW => {
                    let more = i64::from(value) - i64::from(self.first_send_left);
                    self.first_send_left = value;
                    self.streams.iter_mut().for_each(|stream| stream.send_left += more);
                }
                frames::MOST_FRAME if !(1 << 14..1 << 24).contains(&value) => {
                    return Err("settings have an invalid length of frames".into());
                }
                // Longer frames than ours gain nothing.
                frames::MOST_FRAME => self.most_frame = MOST_PAYLOAD,
                _ => {}
            }
        }
        self.has_settings = true;
        write_frame(SETTINGS, ACK, 0, &[], &mut self.out);
        self.call_senders();
        Ok(())
    }

    /// Calls the tasks whose bodies wait for room.
    fn call_senders(&mut self) {
        let all = self.ids.iter().zip(&self.streams);
        let senders = all.filter(|(id, stream)| **id != 0 && stream.unsent > 0);
        self.called.extend(senders.map(|(_, stream)| stream.task));
    }

    fn take_window(&mut self, id: u32, payload: &[u8]) -> Result<(), LineFault> {
        let more = i64::from(read_u32(payload.get(..4).ok_or(SHORT)?) & MOST_WINDOW);
        let most = i64::from(MOST_WINDOW);
        if id == 0 {
            self.send_left += more;
            if more == 0 || self.send_left > most {
                return Err("a window grows by nothing, or without end".into());
            }
            self.call_senders();
            return Ok(());
        }
        self.known_id(id)?;
        let Some(place) = self.find_stream(id) else { return Ok(()) };
        let stream = &mut self.streams[place];
        stream.send_left += more;
        if more == 0 || stream.send_left > most {
            stream.fault.get_or_insert(StreamFault::Malformed("a window grows without end"));
        }
        self.called.push(stream.task);
        Ok(())
    }

    fn take_goaway(&mut self, payload: &[u8]) -> Result<(), LineFault> {
        let payload = payload.get(..8).ok_or(SHORT)?;
        let (last, code) = (read_u32(payload) & MOST_WINDOW, read_u32(&payload[4..]));
        self.goaway = Some((last, code));
        for (id, stream) in self.ids.iter().zip(&mut self.streams) {
            if *id > last && !stream.is_over() {
                stream.fault = Some(StreamFault::Unseen(code));
                self.called.push(stream.task);
            }
        }
        Ok(())
    }

    /// Calls the tasks of all streams.
    pub(super) fn call_all(&mut self) {
        let all = self.ids.iter().zip(&self.streams).filter(|(id, _)| **id != 0);
        self.called.extend(all.map(|(_, stream)| stream.task));
    }
}
