//! The reply to a statement as a machine that is fed bytes as they come, split anywhere.
//! It counts rows and never keeps one: a row of any size passes through a small buffer.

use super::packet::{self, MORE_RESULTS};
use super::{CHUNK, Malformed, header};
use crate::target::Reply;

/// Longest packet that must be in the buffer whole: OK, error, end of rows, wish for a file.
pub(in crate::target) const LONGEST_WHOLE: usize = 16 * 1024;

/// Where the reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// At the first packet of a result.
    Head,
    /// Column definitions left.
    Columns(u32),
    /// At the packet after the columns, for servers that send one.
    ColumnsEnd,
    /// In the rows.
    Rows,
}

/// What feeding came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum Step {
    /// Needs more bytes.
    More,
    /// The reply is complete.
    Done,
    /// An error of the server ended the reply; its packet lies here in the bytes just fed.
    Refused {
        /// First byte of the payload.
        from: usize,
        /// Behind the last.
        to: usize,
        /// The server did not answer but closes the session, and says why.
        parting: bool,
    },
    /// The server asks for a file.
    File,
}

/// The machine.
#[derive(Clone, Copy, Debug)]
pub(in crate::target) struct Scan {
    stage: Stage,
    /// Sequence number the next packet must have.
    sequence: u8,
    /// Payload bytes of the current packet still to pass over.
    skip: usize,
    /// The current packet goes on in the next one.
    joined: bool,
    /// The server sends no EOF packets.
    no_eof: bool,
    /// What was found so far.
    reply: Reply,
}

impl Scan {
    /// At the start of a reply whose first packet has this sequence number.
    pub(in crate::target) fn new(sequence: u8, no_eof: bool) -> Scan {
        let reply = Reply::default();
        Scan { stage: Stage::Head, sequence, skip: 0, joined: false, no_eof, reply }
    }
    /// What was found so far.
    pub(in crate::target) fn reply(&self) -> Reply {
        self.reply
    }
    /// Sequence number the next packet must have.
    pub(in crate::target) fn sequence(&self) -> u8 {
        self.sequence
    }
    /// Goes on behind a file that was sent: the reply's next packet has this number.
    pub(in crate::target) fn resume(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Reads as much as can be understood; gives how many bytes that was. What is left over must come
    /// again with more behind it, and is never more than `LONGEST_WHOLE` and a header.
    pub(in crate::target) fn feed(&mut self, bytes: &[u8]) -> Result<(usize, Step), Malformed> {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let passed = self.skip.min(bytes.len() - at);
                self.skip -= passed;
                at += passed;
                if self.skip > 0 {
                    return Ok((at, Step::More));
                }
            }
            let Some(head) = bytes[at..].first_chunk::<4>() else { return Ok((at, Step::More)) };
            let (length, sequence) = header(head);
            if self.joined {
                self.follow(sequence, length)?;
                at += 4;
                continue;
            }
            // A packet's meaning is in its first byte, so that must be here.
            let Some(&first) = bytes.get(at + 4) else {
                return match length {
                    0 => Err(Malformed("an empty packet")),
                    _ => Ok((at, Step::More)),
                };
            };
            if length == 0 {
                return Err(Malformed("an empty packet"));
            }
            if self.is_passed_over(first, length) {
                self.follow(sequence, length)?;
                at += 4;
                continue;
            }
            if length > LONGEST_WHOLE {
                return Err(Malformed("a packet is longer than its kind can be"));
            }
            let (from, to) = (at + 4, at + 4 + length);
            let Some(payload) = bytes.get(from..to) else { return Ok((at, Step::More)) };
            // A server that closes a session says why with number 0, whatever we expected.
            if sequence != self.sequence && (first != 0xFF || sequence != 0) {
                return Err(Malformed("packets out of order"));
            }
            let parting = sequence != self.sequence;
            self.sequence = sequence.wrapping_add(1);
            at = to;
            if first == 0xFF {
                return Ok((to, Step::Refused { from, to, parting }));
            }
            if let Some(step) = self.whole(first, payload)? {
                return Ok((at, step));
            }
        }
    }

    /// Whether the packet's contents don't matter; counts it if so.
    #[inline]
    fn is_passed_over(&mut self, first: u8, length: usize) -> bool {
        match self.stage {
            Stage::Rows => {
                let row = first != 0xFF && !packet::ends_rows(first, length, self.no_eof);
                self.reply.rows += u64::from(row);
                row
            }
            Stage::Columns(left) if first != 0xFF => {
                self.stage = match (left, self.no_eof) {
                    (2.., _) => Stage::Columns(left - 1),
                    (_, true) => Stage::Rows,
                    (_, false) => Stage::ColumnsEnd,
                };
                true
            }
            _ => false,
        }
    }

    /// Passes over a packet's payload.
    #[inline]
    fn follow(&mut self, sequence: u8, length: usize) -> Result<(), Malformed> {
        if sequence != self.sequence {
            return Err(Malformed("packets out of order"));
        }
        self.sequence = sequence.wrapping_add(1);
        self.skip = length;
        self.joined = length == CHUNK;
        Ok(())
    }

    /// Reads a packet that is here whole and no error.
    fn whole(&mut self, first: u8, payload: &[u8]) -> Result<Option<Step>, Malformed> {
        match self.stage {
            Stage::Head => match first {
                0x00 => Ok(self.finish(packet::done(payload)?)),
                0xFB => Ok(Some(Step::File)),
                _ => self.columns(payload).map(|()| None),
            },
            Stage::ColumnsEnd if first == 0xFE => {
                self.stage = Stage::Rows;
                Ok(None)
            }
            Stage::Rows if self.no_eof => Ok(self.finish(packet::done(payload)?)),
            Stage::Rows => Ok(self.finish(packet::end(payload)?)),
            Stage::ColumnsEnd | Stage::Columns(_) => Err(Malformed("no end where the columns end")),
        }
    }

    /// The packet that tells how many columns follow. MariaDB may say that it leaves them out.
    fn columns(&mut self, payload: &[u8]) -> Result<(), Malformed> {
        let mut fields = packet::Fields(payload);
        let count = fields.count()?;
        let follow = fields.0.first() != Some(&0);
        let count = u32::try_from(count).ok().filter(|c| (1..=0xFFFF).contains(c));
        let count = count.ok_or(Malformed("a number of columns is absurd"))?;
        self.stage = if follow { Stage::Columns(count) } else { Stage::Rows };
        Ok(())
    }

    /// The end of one result.
    fn finish(&mut self, done: packet::Done) -> Option<Step> {
        self.reply.affected = self.reply.affected.saturating_add(done.affected);
        if done.last_insert_id != 0 {
            self.reply.last_insert_id = done.last_insert_id;
        }
        self.reply.warnings = self.reply.warnings.saturating_add(done.warnings);
        self.stage = Stage::Head;
        if done.status & MORE_RESULTS == 0 { Some(Step::Done) } else { None }
    }
}
