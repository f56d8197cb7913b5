//! The reply to a statement as a machine that is fed bytes as they come, split anywhere.
//! It counts rows and never keeps one: a row of any size passes through a small buffer.

use super::packet::{self, MORE_RESULTS};
use super::{CHUNK, ProtocolError, parse_header};
use crate::client::mysql::StatementReply;

/// Longest packet that must be in the buffer whole: OK, error, end of rows, wish for a file.
pub(in crate::client::mysql) const LONGEST_WHOLE: usize = 16 * 1024;

/// Where the reply is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyStage {
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
pub(in crate::client::mysql) enum ScanStep {
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
pub(in crate::client::mysql) struct ReplyScanner {
    stage: ReplyStage,
    /// Sequence number the next packet must have.
    sequence: u8,
    /// Payload bytes of the current packet still to pass over.
    skip: usize,
    /// The current packet goes on in the next one.
    joined: bool,
    /// The server sends no EOF packets.
    no_eof: bool,
    /// What was found so far.
    reply: StatementReply,
}

impl ReplyScanner {
    /// At the start of a reply whose first packet has this sequence number.
    pub(in crate::client::mysql) fn new(sequence: u8, no_eof: bool) -> ReplyScanner {
        let reply = StatementReply::default();
        ReplyScanner { stage: ReplyStage::Head, sequence, skip: 0, joined: false, no_eof, reply }
    }
    /// What was found so far.
    pub(in crate::client::mysql) fn reply(&self) -> StatementReply {
        self.reply
    }
    /// Sequence number the next packet must have.
    pub(in crate::client::mysql) fn sequence(&self) -> u8 {
        self.sequence
    }
    /// Goes on behind a file that was sent: the reply's next packet has this number.
    pub(in crate::client::mysql) fn resume(&mut self, sequence: u8) {
        self.sequence = sequence;
    }

    /// Reads as much as can be understood; gives how many bytes that was. What is left over must come
    /// again with more behind it, and is never more than `LONGEST_WHOLE` and a header.
    pub(in crate::client::mysql) fn feed_bytes(
        &mut self,
        bytes: &[u8],
    ) -> Result<(usize, ScanStep), ProtocolError> {
        let mut at = 0;
        loop {
            if self.skip > 0 {
                let passed = self.skip.min(bytes.len() - at);
                self.skip -= passed;
                at += passed;
                if self.skip > 0 {
                    return Ok((at, ScanStep::More));
                }
            }
            let Some(head) = bytes[at..].first_chunk::<4>() else {
                return Ok((at, ScanStep::More));
            };
            let (length, sequence) = parse_header(head);
            if self.joined {
                self.skip_payload(sequence, length)?;
                at += 4;
                continue;
            }
            // A packet's meaning is in its first byte, so that must be here.
            let Some(&first) = bytes.get(at + 4) else {
                return match length {
                    0 => Err(ProtocolError("an empty packet")),
                    _ => Ok((at, ScanStep::More)),
                };
            };
            if length == 0 {
                return Err(ProtocolError("an empty packet"));
            }
            if self.is_passed_over(first, length) {
                self.skip_payload(sequence, length)?;
                at += 4;
                continue;
            }
            if length > LONGEST_WHOLE {
                return Err(ProtocolError("a packet is longer than its kind can be"));
            }
            let (from, to) = (at + 4, at + 4 + length);
            let Some(payload) = bytes.get(from..to) else { return Ok((at, ScanStep::More)) };
            // A server that closes a session says why with number 0, whatever we expected.
            if sequence != self.sequence && (first != 0xFF || sequence != 0) {
                return Err(ProtocolError("packets out of order"));
            }
            let parting = sequence != self.sequence;
            self.sequence = sequence.wrapping_add(1);
            at = to;
            if first == 0xFF {
                return Ok((to, ScanStep::Refused { from, to, parting }));
            }
            if let Some(step) = self.read_whole_packet(first, payload)? {
                return Ok((at, step));
            }
        }
    }

    /// Whether the packet's contents don't matter; counts it if so.
    #[inline]
    fn is_passed_over(&mut self, first: u8, length: usize) -> bool {
        match self.stage {
            ReplyStage::Rows => {
                let row = first != 0xFF && !packet::ends_rows(first, length, self.no_eof);
                self.reply.rows += u64::from(row);
                row
            }
            ReplyStage::Columns(left) if first != 0xFF => {
                self.stage = match (left, self.no_eof) {
                    (2.., _) => ReplyStage::Columns(left - 1),
                    (_, true) => ReplyStage::Rows,
                    (_, false) => ReplyStage::ColumnsEnd,
                };
                true
            }
            _ => false,
        }
    }

    /// Passes over a packet's payload.
    #[inline]
    fn skip_payload(&mut self, sequence: u8, length: usize) -> Result<(), ProtocolError> {
        if sequence != self.sequence {
            return Err(ProtocolError("packets out of order"));
        }
        self.sequence = sequence.wrapping_add(1);
        self.skip = length;
        self.joined = length == CHUNK;
        Ok(())
    }

    /// Reads a packet that is here whole and no error.
    fn read_whole_packet(
        &mut self,
        first: u8,
        payload: &[u8],
    ) -> Result<Option<ScanStep>, ProtocolError> {
        match self.stage {
            ReplyStage::Head => match first {
                0x00 => Ok(self.finish_result(packet::parse_ok(payload)?)),
                0xFB => Ok(Some(ScanStep::File)),
                _ => self.read_column_count(payload).map(|()| None),
            },
            ReplyStage::ColumnsEnd if first == 0xFE => {
                self.stage = ReplyStage::Rows;
                Ok(None)
            }
            ReplyStage::Rows if self.no_eof => Ok(self.finish_result(packet::parse_ok(payload)?)),
            ReplyStage::Rows => Ok(self.finish_result(packet::parse_eof(payload)?)),
            ReplyStage::ColumnsEnd | ReplyStage::Columns(_) => {
                Err(ProtocolError("no end where the columns end"))
            }
        }
    }

    /// The packet that tells how many columns follow. MariaDB may say that it leaves them out.
    fn read_column_count(&mut self, payload: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = packet::FieldReader(payload);
        let count = fields.read_count()?;
        let follow = fields.0.first() != Some(&0);
        let count = u32::try_from(count).ok().filter(|c| (1..=0xFFFF).contains(c));
        let count = count.ok_or(ProtocolError("impossible number of columns"))?;
        self.stage = if follow { ReplyStage::Columns(count) } else { ReplyStage::Rows };
        Ok(())
    }

    /// The end of one result.
    fn finish_result(&mut self, done: packet::OkPacket) -> Option<ScanStep> {
        self.reply.affected = self.reply.affected.saturating_add(done.affected);
        if done.last_insert_id != 0 {
            self.reply.last_insert_id = done.last_insert_id;
        }
        self.reply.warnings = self.reply.warnings.saturating_add(done.warnings);
        self.stage = ReplyStage::Head;
        if done.status & MORE_RESULTS == 0 { Some(ScanStep::Done) } else { None }
    }
}
