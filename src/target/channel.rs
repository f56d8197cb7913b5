//! Packets over a link: whole ones for the control plane, scanned replies for the hot path.
//! The buffers belong to the thread, not to the session: a session at rest keeps no buffer.

use std::cell::RefCell;
use std::future::poll_fn;
use std::task::Poll;
use std::thread::LocalKey;

use super::link::Link;
use super::pipe::Fault;
use super::wire::reply::{LONGEST_WHOLE, Scan, Step};
use super::wire::{CHUNK, Malformed, encode, header};

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

/// Lends a buffer of the thread. It is away meanwhile, not borrowed: who waits may ask another session whether the server lives,
/// and that one has a buffer of its own then.
#[inline]
fn with_buffer<T>(
    buffer: &'static LocalKey<RefCell<Vec<u8>>>,
    work: impl FnOnce(&mut Vec<u8>) -> T,
) -> T {
    let mut lent = buffer.take();
    let done = work(&mut lent);
    buffer.replace(lent);
    done
}

/// Why a channel is of no use any more.
#[derive(Debug)]
pub(super) enum Broken {
    /// The bytes don't come or go.
    Fault(Fault),
    /// The bytes make no sense.
    Malformed(Malformed),
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Broken {
        Broken::Fault(fault)
    }
}

impl From<Malformed> for Broken {
    fn from(malformed: Malformed) -> Broken {
        Broken::Malformed(malformed)
    }
}

/// How a scanned reply ended.
#[derive(Debug)]
pub(super) enum End {
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
pub(super) struct Channel {
    pub(super) link: Link,
    /// Bytes received and not yet understood, from `start` on.
    inbox: Vec<u8>,
    start: usize,
    /// Sequence number of the next packet, ours or theirs.
    pub(super) sequence: u8,
}

impl Channel {
    /// Packets over this link.
    pub(super) fn new(link: Link) -> Channel {
        Channel { link, inbox: Vec::new(), start: 0, sequence: 0 }
    }

    /// Gives back memory that only whole packets needed.
    pub(super) fn rest(&mut self) {
        if self.start == self.inbox.len() {
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
    pub(super) async fn send(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Result<u8, Malformed>,
    ) -> Result<usize, Broken> {
        let (length, all) = with_buffer(&OUTPUT, |out| {
            out.clear();
            self.sequence = write(out)?;
            let sent = self.link.send(out);
            let length = out.len();
            if out.capacity() > KEEP {
                *out = Vec::new();
            }
            Ok::<_, Broken>((length, sent?))
        })?;
        if !all {
            poll_fn(|_| self.link.poll_flush()).await?;
        }
        Ok(length)
    }

    /// Sends a payload as the next packet of an exchange.
    pub(super) async fn answer(&mut self, payload: &[u8]) -> Result<(), Broken> {
        let sequence = self.sequence;
        self.send(|out| Ok(encode::payload(out, payload, sequence))).await?;
        Ok(())
    }

    /// Reads one whole packet into `packet`, which grows only as bytes come. Gives whether it came out of
    /// turn: that may only be an error by which the server closes the session.
    pub(super) async fn packet(&mut self, packet: &mut Vec<u8>) -> Result<bool, Broken> {
        packet.clear();
        let mut parting = false;
        loop {
            while self.inbox.len() - self.start < 4 {
                self.fill().await?;
            }
            let head = self.inbox[self.start..].first_chunk().expect("four bytes were waited for");
            let (length, sequence) = header(head);
            parting |= sequence == 0 && self.sequence != 0 && packet.is_empty();
            if sequence != self.sequence && !parting {
                return Err(Malformed("packets out of order").into());
            }
            if packet.len() + length > LONGEST {
                return Err(Malformed("a packet is longer than anything we ask for").into());
            }
            self.sequence = sequence.wrapping_add(1);
            self.start += 4;
            let mut left = length;
            while left > 0 {
                if self.start == self.inbox.len() {
                    self.fill().await?;
                }
                let count = left.min(self.inbox.len() - self.start);
                packet.extend_from_slice(&self.inbox[self.start..self.start + count]);
                self.start += count;
                left -= count;
            }
            if length < CHUNK {
                return match parting && packet.first() != Some(&0xFF) {
                    true => Err(Malformed("packets out of order").into()),
                    false => Ok(parting),
                };
            }
        }
    }

    /// Receives some bytes behind those that are there.
    async fn fill(&mut self) -> Result<(), Broken> {
        self.inbox.drain(..self.start);
        self.start = 0;
        let Channel { link, inbox, .. } = self;
        poll_fn(|_| {
            with_buffer(&INPUT, |input| {
                input.resize(READ.max(input.len()), 0);
                let polled = link.poll_recv(input);
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
        scan: &mut Scan,
        received: &mut u64,
        refused: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<End, Broken>> {
        with_buffer(&INPUT, |input| {
            if input.len() < READ + LONGEST_WHOLE {
                input.resize(READ + LONGEST_WHOLE, 0);
            }
            loop {
                // What was left over stands before what comes.
                let old = self.inbox.len() - self.start;
                if old > input.len() - 1024 {
                    return Poll::Ready(Err(Malformed("more bytes than a reply has").into()));
                }
                let count = match self.link.poll_recv(&mut input[old..]) {
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
                let (used, step) = match scan.feed(bytes) {
                    Ok(fed) => fed,
                    Err(malformed) => return Poll::Ready(Err(malformed.into())),
                };
                self.inbox.extend_from_slice(&bytes[used..]);
                match step {
                    Step::More => {}
                    Step::Done => return Poll::Ready(Ok(End::Done)),
                    Step::File => return Poll::Ready(Ok(End::File)),
                    Step::Refused { from, to, parting } => {
                        refused(&bytes[from..to]);
                        return Poll::Ready(Ok(End::Refused { parting }));
                    }
                }
            }
        })
    }
}
