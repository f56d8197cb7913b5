//! Chunks of HTTP, made. Each ends with a record; where that is, stands in the chunk's head, which others may pass over.

use std::io::{self, Write as _};

use super::http::StreamRequest;
use crate::base::zstd_codec::ZstdEncoder;

/// Text of one chunk, bytes; a longer record is a longer chunk.
pub(super) const CHUNK: usize = 256 << 10;
/// How hard is packed: fast, so that shipping costs the server's machine little.
const LEVEL: i32 = 1;
const LINE_END: &[u8] = b"\r\n";

/// What makes chunks for one reader.
pub(super) struct ChunkEncoder {
    packer: Option<ZstdEncoder<Vec<u8>>>,
    head: Vec<u8>,
}

impl ChunkEncoder {
    pub(super) fn new(wanted: &StreamRequest) -> io::Result<ChunkEncoder> {
        let packer = match wanted.is_packed {
            true => Some(ZstdEncoder::new(Vec::new(), LEVEL)?),
            false => None,
        };
        Ok(ChunkEncoder { packer, head: Vec::new() })
    }

    /// The parts of a chunk, in order: a long one is not copied.
    pub(super) fn encode_chunk<'a>(
        &'a mut self,
        text: &'a [u8],
        mark: Option<&str>,
    ) -> io::Result<[&'a [u8]; 3]> {
        let bytes = match &mut self.packer {
            None => text,
            Some(packer) => {
                packer.write_all(text)?;
                packer.flush()?;
                packer.get_ref().as_slice()
            }
        };
        self.head.clear();
        if bytes.is_empty() {
            return Ok([&[], &[], &[]]);
        }
        write_head(&mut self.head, bytes.len(), "mark", mark);
        if bytes.len() > 2 * CHUNK {
            return Ok([&self.head, bytes, LINE_END]);
        }
        // One packet, not three.
        self.head.extend_from_slice(bytes);
        self.head.extend_from_slice(LINE_END);
        Ok([&self.head, &[], &[]])
    }

    /// The chunk was sent.
    pub(super) fn clear_buffers(&mut self) {
        clear_and_shrink(&mut self.head);
        if let Some(packer) = &mut self.packer {
            clear_and_shrink(packer.get_mut());
        }
    }

    /// Says that we are there, and where; its byte is no part of the log.
    pub(super) fn encode_heartbeat(&mut self, mark: &str) -> &[u8] {
        self.head.clear();
        write_head(&mut self.head, 1, "beat", Some(mark));
        self.head.extend_from_slice(b"\n\r\n");
        &self.head
    }

    /// The end of the stream.
    pub(super) fn encode_end(&mut self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        if let Some(packer) = self.packer.take() {
            let rest = packer.finish()?;
            if !rest.is_empty() {
                write_head(&mut out, rest.len(), "", None);
                out.extend_from_slice(&rest);
                out.extend_from_slice(LINE_END);
            }
        }
        out.extend_from_slice(b"0\r\n\r\n");
        Ok(out)
    }
}

fn write_head(out: &mut Vec<u8>, length: usize, name: &str, mark: Option<&str>) {
    out.extend_from_slice(format!("{length:x}").as_bytes());
    if let Some(mark) = mark {
        out.extend_from_slice(format!(";{name}={mark}").as_bytes());
    }
    out.extend_from_slice(LINE_END);
}

/// Empties a buffer; one that a long record has made large goes.
pub(super) fn clear_and_shrink(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(CHUNK * 2);
}
