//! Frames as they are on the wire (RFC 9113, 4.1 and 6). Pure.

/// Bytes of a frame's head.
pub(super) const HEAD: usize = 9;
/// Longest payload that is taken: what settings allow unless they say otherwise.
pub(super) const MOST_PAYLOAD: usize = 16 << 10;
/// What a client says first.
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Flags; `ACK` is of settings and pings, `END_STREAM` of all others.
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;
pub(super) const PRIORITY: u8 = 0x20;

/// Numbers of settings.
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MOST_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW: u16 = 4;
pub(super) const MOST_FRAME: u16 = 5;
pub(super) const MOST_FIELD_LIST: u16 = 6;

/// Codes of errors that are sent.
pub(super) const CANCEL: u32 = 8;

/// Names of the codes that end streams and connections (RFC 9113, 7).
const CODE_NAMES: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// The name of a code; nothing for one that is not known.
pub(crate) fn code_name(code: u32) -> Option<&'static str> {
    CODE_NAMES.get(usize::try_from(code).ok()?).copied()
}

/// What a frame begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameHead {
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHead {
    /// Reads one from at least [`HEAD`] bytes.
    pub(super) fn from_bytes(bytes: &[u8]) -> FrameHead {
        FrameHead {
            length: (read_u32(bytes) >> 8) as usize,
            kind: bytes[3],
            flags: bytes[4],
            stream: read_u32(&bytes[5..]) & 0x7FFF_FFFF,
        }
    }

    pub(super) fn has_flag(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Writes a frame.
pub(super) fn write_frame(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

/// Writes the head of a request, in as many frames as it takes: its block is in two pieces.
pub(super) fn write_head(
    stream: u32,
    block: [&[u8]; 2],
    ends: bool,
    most: usize,
    out: &mut Vec<u8>,
) {
    let mut flags = if ends { END_STREAM } else { 0 };
    let length = block[0].len() + block[1].len();
    if length <= most {
        out.extend_from_slice(&(length as u32).to_be_bytes()[1..]);
        out.extend_from_slice(&[HEADERS, flags | END_HEADERS]);
        out.extend_from_slice(&stream.to_be_bytes());
        block.iter().for_each(|piece| out.extend_from_slice(piece));
        return;
    }
    let whole = block.concat();
    let mut pieces = whole.chunks(most).peekable();
    let mut kind = HEADERS;
    while let Some(piece) = pieces.next() {
        flags |= if pieces.peek().is_none() { END_HEADERS } else { 0 };
        write_frame(kind, flags, stream, piece, out);
        (kind, flags) = (CONTINUATION, 0);
    }
}

/// Writes a setting's number and value.
pub(super) fn write_setting(number: u16, value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_be_bytes());
    out.extend_from_slice(&value.to_be_bytes());
}

/// The number in the first four bytes.
pub(super) fn read_u32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// A payload without its padding.
pub(super) fn strip_padding(head: FrameHead, payload: &[u8]) -> Result<&[u8], &'static str> {
    if !head.has_flag(PADDED) {
        return Ok(payload);
    }
    let (length, rest) = payload.split_first().ok_or(SHORT)?;
    let end = rest.len().checked_sub(usize::from(*length));
    end.map(|end| &rest[..end]).ok_or("a frame has more padding than bytes")
}

pub(super) const SHORT: &str = "a frame is too short";
