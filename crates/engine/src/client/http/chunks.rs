//! Bodies in chunks: where data stand between lengths. Pure.

/// Most bytes of extensions behind one length.
const MOST_EXTENSION: usize = 4096;
/// Most bytes of fields behind the last chunk.
const MOST_TRAILER: usize = 64 << 10;

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkPlace {
    /// Digits of a length; whether there was one.
    Length {
        has_digit: bool,
    },
    /// Behind the digits, up to the line's end; how many bytes so far.
    Extension(usize),
    /// The line feed behind a length.
    LengthEnd,
    /// So many bytes of data.
    Data,
    /// The line's end behind data.
    DataReturn,
    DataEnd,
    /// A line behind the last chunk; how many bytes of it.
    Trailer {
        line: usize,
    },
    /// The line feed behind it.
    TrailerEnd {
        line: usize,
    },
    /// All was read.
    Done,
}

/// Reads a body in chunks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyChunks {
    place: ChunkPlace,
    /// Length of the chunk, or what is left of it.
    left: u64,
    trailer: usize,
}

impl BodyChunks {
    pub(super) fn new() -> BodyChunks {
        BodyChunks { place: ChunkPlace::Length { has_digit: false }, left: 0, trailer: 0 }
    }

    /// Whether the body has ended.
    pub(super) fn is_done(&self) -> bool {
        self.place == ChunkPlace::Done
    }

    /// Takes bytes up to the end of the body and tells its data; gives how many were taken.
    ///
    /// # Errors
    /// Why this is no body in chunks.
    pub(super) fn feed_bytes(
        &mut self,
        bytes: &[u8],
        mut data: impl FnMut(&[u8]) -> Result<(), &'static str>,
    ) -> Result<usize, &'static str> {
        let mut at = 0;
        while at < bytes.len() && self.place != ChunkPlace::Done {
            if self.place == ChunkPlace::Data {
                let count = usize::try_from(self.left).unwrap_or(usize::MAX).min(bytes.len() - at);
                data(&bytes[at..at + count])?;
                at += count;
                self.left -= count as u64;
                if self.left == 0 {
                    self.place = ChunkPlace::DataReturn;
                }
                continue;
            }
            self.take_byte(bytes[at])?;
            at += 1;
        }
        Ok(at)
    }

    fn take_byte(&mut self, byte: u8) -> Result<(), &'static str> {
        use ChunkPlace::{
            Data, DataEnd, DataReturn, Done, Extension, Length, LengthEnd, Trailer, TrailerEnd,
        };
        self.place = match (self.place, byte) {
            (Length { .. }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                if self.left >> 60 != 0 {
                    return Err("the length of a chunk is too large");
                }
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                self.left = self.left << 4 | u64::from(digit);
                Length { has_digit: true }
            }
            (Length { has_digit: true }, b'\r') => LengthEnd,
            (Length { has_digit: true }, b';' | b' ' | b'\t') => Extension(0),
            (Length { .. }, _) => return Err("the length of a chunk is not a number"),
            (Extension(_), b'\r') => LengthEnd,
            (Extension(_), b'\n') => return Err("a line of a chunk ends without a return"),
            (Extension(count), _) if count < MOST_EXTENSION => Extension(count + 1),
            (Extension(_), _) => return Err("the extension of a chunk is too long"),
            (LengthEnd, b'\n') if self.left == 0 => Trailer { line: 0 },
            (LengthEnd, b'\n') => Data,
            (DataReturn, b'\r') => DataEnd,
            (DataEnd, b'\n') => Length { has_digit: false },
            (LengthEnd | DataReturn | DataEnd, _) => {
                return Err("a chunk does not end where its length says");
            }
            (Trailer { line }, b'\r') => TrailerEnd { line },
            (Trailer { line }, _) => {
                self.trailer += 1;
                if self.trailer > MOST_TRAILER {
                    return Err("the fields behind the last chunk are too long");
                }
                Trailer { line: line + 1 }
            }
            (TrailerEnd { line: 0 }, b'\n') => Done,
            (TrailerEnd { .. }, b'\n') => Trailer { line: 0 },
            (TrailerEnd { .. }, _) => return Err("a field behind the last chunk has no line end"),
            (Data | Done, _) => self.place,
        };
        Ok(())
    }
}
