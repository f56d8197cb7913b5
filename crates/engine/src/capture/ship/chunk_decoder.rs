//! Chunks of HTTP as they come, each given only when it is whole. Pure.

use std::io::{self, Write as _};

use crate::base::zstd_codec::ZstdWriteDecoder;

/// Bytes of the longest chunk: a record is never cut, and no server takes a longer statement.
const MOST: usize = (1 << 30) + (1 << 20);
/// Bytes of the longest head of a chunk.
const MOST_HEAD: usize = 16 << 10;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HttpChunk {
    /// Text, and the mark of its end if the chunk has one.
    Text(Option<String>),
    /// Only a sign of life, and where the other side is.
    Heartbeat(String),
    /// The last one.
    End,
    /// No whole chunk is there.
    More,
}

/// What came and was not taken yet.
pub(super) struct ChunkDecoder {
    bytes: Vec<u8>,
    at: usize,
    unpacker: Option<ZstdWriteDecoder<Vec<u8>>>,
}

impl ChunkDecoder {
    pub(super) fn new(begin: &[u8], is_packed: bool) -> io::Result<ChunkDecoder> {
        let unpacker = match is_packed {
            true => Some(ZstdWriteDecoder::new(Vec::new())?),
            false => None,
        };
        Ok(ChunkDecoder { bytes: begin.to_vec(), at: 0, unpacker })
    }

    pub(super) fn push_bytes(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next one; its text goes to the end of `out`.
    pub(super) fn next_chunk(&mut self, out: &mut Vec<u8>) -> io::Result<HttpChunk> {
        let wrong = |why: &str| io::Error::new(io::ErrorKind::InvalidData, why.to_owned());
        let rest = &self.bytes[self.at..];
        let Some(end) = memchr::memmem::find(&rest[..rest.len().min(MOST_HEAD)], b"\r\n") else {
            let is_wrong = rest.len() >= MOST_HEAD;
            return if is_wrong { Err(wrong("a chunk has no head")) } else { Ok(HttpChunk::More) };
        };
        let head =
            std::str::from_utf8(&rest[..end]).map_err(|_| wrong("a chunk's head is not text"))?;
        let (length, extension) = head.split_once(';').unwrap_or((head, ""));
        let length = usize::from_str_radix(length.trim(), 16).ok().filter(|length| *length <= MOST);
        let length = length.ok_or_else(|| wrong("a chunk's length is not a number"))?;
        if length == 0 {
            return Ok(HttpChunk::End);
        }
        let Some(data) = rest.get(end + 2..end + 2 + length + 2) else {
            return Ok(HttpChunk::More);
        };
        let Some(data) = data.strip_suffix(b"\r\n") else {
            return Err(wrong("a chunk does not end where it says"));
        };
        let chunk = match extension.split_once('=') {
            Some(("mark", mark)) => HttpChunk::Text(Some(mark.to_owned())),
            Some(("beat", mark)) => HttpChunk::Heartbeat(mark.to_owned()),
            _ => HttpChunk::Text(None),
        };
        if matches!(chunk, HttpChunk::Text(_)) {
            match &mut self.unpacker {
                None => out.extend_from_slice(data),
                Some(unpacker) => {
                    unpacker.write_all(data)?;
                    unpacker.flush()?;
                    out.append(unpacker.get_mut());
                }
            }
        }
        self.at += end + 2 + length + 2;
        Ok(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::zstd_codec::HAS_ZSTD;
    use proptest::prelude::*;

    #[test]
    fn chunks_come_whole_however_they_are_cut() {
        let bytes = b"3;mark=a.b\r\nx\r\n\r\n1;beat=c\r\n\n\r\n2\r\nyz\r\n0\r\n\r\n";
        for cut in 1..bytes.len() {
            let (mut chunks, mut found) = (ChunkDecoder::new(&[], false).unwrap(), Vec::new());
            let mut text = Vec::new();
            for piece in bytes.chunks(cut) {
                chunks.push_bytes(piece);
                loop {
                    match chunks.next_chunk(&mut text).unwrap() {
                        HttpChunk::More => break,
                        HttpChunk::End => {
                            found.push(HttpChunk::End);
                            break;
                        }
                        chunk => found.push(chunk),
                    }
                }
                if found.last() == Some(&HttpChunk::End) {
                    break;
                }
            }
            let mark = |text: &str| HttpChunk::Text(Some(text.to_owned()));
            assert_eq!(
                found,
                [
                    mark("a.b"),
                    HttpChunk::Heartbeat("c".to_owned()),
                    HttpChunk::Text(None),
                    HttpChunk::End
                ]
            );
            assert_eq!(text, b"x\r\nyz");
        }
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for wrong in ["x\r\n", "-1\r\n", "ffffffffff\r\n", "1\r\nab\r\n"] {
            assert!(
                ChunkDecoder::new(wrong.as_bytes(), false)
                    .unwrap()
                    .next_chunk(&mut Vec::new())
                    .is_err()
            );
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes: Vec<u8>, is_packed: bool) {
            let is_packed = is_packed && HAS_ZSTD;
            let mut chunks = ChunkDecoder::new(&bytes, is_packed).unwrap();
            let mut out = Vec::new();
            let mut next = || chunks.next_chunk(&mut out);
            while let Ok(HttpChunk::Text(_) | HttpChunk::Heartbeat(_)) = next() {}
        }
    }
}
