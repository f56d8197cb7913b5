//! Packets over a link: whole ones for the control plane, scanned replies for the hot path.
//! The buffers belong to the thread, not to the session: a session at rest keeps no buffer.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;

use super::wire::reply::{LONGEST_WHOLE, ReplyScanner, ScanStep};
use super::wire::{CHUNK, ProtocolError, encode, parse_header};
use crate::client::transport::{Transport, TransportError, with_buffer};

/// Bytes asked of the socket at once.
const READ: usize = 32 * 1024;
/// A thread's output buffer gives memory back above this.
const KEEP: usize = 1024 * 1024;
/// Longest packet that is read whole: more than any row we ask for, less than what would hurt.
const LONGEST: usize = 64 << 20;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Why a channel is of no use any more.
#[derive(Debug)]
pub(super) enum ChannelError {
    /// The bytes don't come or go.
    Fault(TransportError),
    /// The bytes make no sense.
    Malformed(ProtocolError),
}

impl From<TransportError> for ChannelError {
    fn from(fault: TransportError) -> ChannelError {
        ChannelError::Fault(fault)
    }
}

impl From<ProtocolError> for ChannelError {
    fn from(malformed: ProtocolError) -> ChannelError {
        ChannelError::Malformed(malformed)
    }
}

/// How a scanned reply ended.
#[derive(Debug)]
pub(super) enum ReplyEnd {
    /// Complete.
    Done,
    /// An error of the server, its packet handed to the caller.
    Refused {
        /// The server closes the session.
        parting: bool,
    },
    /// The server asks for a file.
    File,
}

/// A link that carries packets.
pub(super) struct PacketChannel {
    pub(super) transport: Transport,
    /// Bytes received and not yet understood, from `start` on.
    inbox: Vec<u8>,
    start: usize,
    /// Sequence number of the next packet, ours or theirs.
    pub(super) sequence: u8,
}

impl PacketChannel {
    /// Packets over this link.
    pub(super) fn new(transport: Transport) -> PacketChannel {
        PacketChannel { transport, inbox: Vec::new(), start: 0, sequence: 0 }
    }

    /// Gives back memory that only whole packets needed.
    pub(super) fn shrink_buffers(&mut self) {
        self.shrink_buffers_above(0);
    }

    /// The same where they take more than so many bytes.
    pub(super) fn shrink_buffers_above(&mut self, bytes: usize) {
        if self.start == self.inbox.len() && self.inbox.capacity() > bytes {
            self.inbox = Vec::new();
            self.start = 0;
        }
    }

    /// Bytes received that belong to no reply.
    pub(super) fn is_idle(&self) -> bool {
        self.start == self.inbox.len()
    }

    /// Sends what `write` puts into an empty buffer; gives its length. `write` gives the sequence number
    /// behind its last packet, where the reply goes on.
    #[inline]
    pub(super) async fn send_packets(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<u8, ProtocolError>,
    ) -> Result<usize, ChannelError> {
        let (length, all) = with_buffer(&OUTPUT, |out| {
            out.clear();
            self.sequence = write(out)?;
            let sent = self.transport.send_bytes(out);
            let length = out.len();
            if out.capacity() > KEEP {
                *out = Vec::new();
            }
            Ok::<_, ChannelError>((length, sent?))
        })?;
        if !all {
            poll_fn(|_| self.transport.poll_flush()).await?;
        }
        Ok(length)
    }

    /// Sends a payload as the next packet of an exchange.
    pub(super) async fn send_payload(&mut self, payload: &[u8]) -> Result<(), ChannelError> {
        let sequence = self.sequence;
        self.send_packets(|out| Ok(encode::write_payload(out, payload, sequence))).await?;
        Ok(())
    }

    /// Reads one whole packet into `read_packet`, which grows only as bytes come. Gives whether it came out of
    /// turn: that may only be an error by which the server closes the session.
    pub(super) async fn read_packet(&mut self, packet: &mut Vec<u8>) -> Result<bool, ChannelError> {
        packet.clear();
        let mut parting = false;
        loop {
            while self.inbox.len() - self.start < 4 {
                self.fill_inbox().await?;
            }
            let head = self.inbox[self.start..].first_chunk().expect("four bytes were waited for");
            let (length, sequence) = parse_header(head);
            parting |= sequence == 0 && self.sequence != 0 && packet.is_empty();
            if sequence != self.sequence && !parting {
                return Err(ProtocolError("packets out of order").into());
            }
            if packet.len() + length > LONGEST {
                return Err(ProtocolError("a packet is longer than any expected reply").into());
            }
            self.sequence = sequence.wrapping_add(1);
            self.start += 4;
            let mut left = length;
            while left > 0 {
                if self.start == self.inbox.len() {
                    self.fill_inbox().await?;
                }
                let count = left.min(self.inbox.len() - self.start);
                packet.extend_from_slice(&self.inbox[self.start..self.start + count]);
                self.start += count;
                left -= count;
            }
            if length < CHUNK {
                return match parting && packet.first() != Some(&0xFF) {
                    true => Err(ProtocolError("packets out of order").into()),
                    false => Ok(parting),
                };
            }
        }
    }

    /// Receives some bytes behind those that are there.
    async fn fill_inbox(&mut self) -> Result<(), ChannelError> {
        self.inbox.drain(..self.start);
        self.start = 0;
        let PacketChannel { transport, inbox, .. } = self;
        poll_fn(|_| {
            with_buffer(&INPUT, |input| {
                input.resize(READ.max(input.len()), 0);
                let polled = transport.poll_recv(input);
                if let Poll::Ready(Ok(count)) = &polled {
                    inbox.extend_from_slice(&input[..*count]);
                }
                polled
            })
        })
        .await?;
        Ok(())
    }

    /// Reads a reply up to its end, counting; an error's packet is given to `refused`. `received` counts bytes.
    #[inline]
    pub(super) fn poll_reply(
        &mut self,
        scan: &mut ReplyScanner,
        received: &mut u64,
        refused: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<ReplyEnd, ChannelError>> {
        with_buffer(&INPUT, |input| {
            if input.len() < READ + LONGEST_WHOLE {
                input.resize(READ + LONGEST_WHOLE, 0);
            }
            loop {
                // What was left over stands before what comes.
                let old = self.inbox.len() - self.start;
                if old > input.len() - 1024 {
                    return Poll::Ready(Err(ProtocolError("more bytes than a reply has").into()));
                }
                let count = match self.transport.poll_recv(&mut input[old..]) {
                    Poll::Ready(Ok(count)) => count,
                    Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault.into())),
                    Poll::Pending => return Poll::Pending,
                };
                if old > 0 {
                    input[..old].copy_from_slice(&self.inbox[self.start..]);
                    self.inbox.clear();
                    self.start = 0;
                }
                *received += count as u64;
                let bytes = &input[..old + count];
                let (used, step) = match scan.feed_bytes(bytes) {
                    Ok(fed) => fed,
                    Err(malformed) => return Poll::Ready(Err(malformed.into())),
                };
                self.inbox.extend_from_slice(&bytes[used..]);
                match step {
                    ScanStep::More => {}
                    ScanStep::Done => return Poll::Ready(Ok(ReplyEnd::Done)),
                    ScanStep::File => return Poll::Ready(Ok(ReplyEnd::File)),
                    ScanStep::Refused { from, to, parting } => {
                        refused(&bytes[from..to]);
                        return Poll::Ready(Ok(ReplyEnd::Refused { parting }));
                    }
                }
            }
        })
    }
}
