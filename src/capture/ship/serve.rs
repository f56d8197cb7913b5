//! Serves a log over HTTP. One thread looks at the log and takes connections, and each reader has a thread of its own:
//! who reads slowly blocks only itself. That is why this file knows threads, which the rest of the room does not.

use std::io::{self, Read as _, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use rustls::ServerConfig;

use super::http::{self, Asked, Wanted};
use super::peer::Peer;
use super::stream::{Shipped, Stream};
use super::told;
use super::watch::{Entrance, Watch};
use crate::base::{Clock as _, Nanos, RealClock, Secret, Stop};

/// How often the log is looked at.
const LOOK: Nanos = Nanos(25_000_000);
/// How long the log must be quiet until its last record counts as whole.
const QUIET: Nanos = Nanos(200_000_000);
/// How long what is to be packed is gathered.
const GATHER: Nanos = Nanos(200_000_000);
/// How often a reader that asked for marks hears that we are there.
pub(super) const BEAT: Nanos = Nanos(2_000_000_000);
/// How long we wait for the other side to leave after an answer.
const PART: Nanos = Nanos(1_000_000_000);
/// Text of one chunk, bytes; a longer record is a longer chunk.
const CHUNK: usize = 256 << 10;
/// How hard is packed: fast, so that shipping costs the server's machine little.
const LEVEL: i32 = 1;

/// How to serve.
#[derive(Clone)]
pub struct Serving {
    /// Where to listen.
    pub listen: SocketAddr,
    /// What readers must know.
    pub token: Option<Secret>,
    /// What to show of ourselves; without it, plain HTTP.
    pub tls: Option<Arc<ServerConfig>>,
    /// Readers served at once.
    pub most_readers: usize,
    /// How long a reader may take nothing until it is cut off.
    pub patience: Nanos,
}

/// What goes on with a reader.
#[derive(Clone, Debug)]
pub(super) struct Served {
    pub(super) id: u64,
    pub(super) peer: SocketAddr,
    pub(super) since: Nanos,
    pub(super) shipped: Shipped,
    pub(super) behind_bytes: u64,
}

/// What went on so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Readers that came.
    pub readers: AtomicU64,
    /// Heads that were refused.
    pub refused: AtomicU64,
    /// Readers cut off as they took nothing for too long.
    pub cut: AtomicU64,
}

/// A server of a log.
pub struct Server {
    plan: Serving,
    listener: TcpListener,
    clock: RealClock,
    counts: Counts,
    readers: Mutex<Vec<Served>>,
    /// What those had who have left.
    gone: Mutex<Shipped>,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// When the address can't be had, or others could reach it without a token or in clear text.
    pub fn open(plan: Serving) -> anyhow::Result<Server> {
        let is_safe = plan.token.is_some() && plan.tls.is_some();
        anyhow::ensure!(
            is_safe || plan.listen.ip().is_loopback(),
            "listen on {}: others could read the log{}\n\
             hint: give a token and a certificate (--token-file, --tls-cert, --tls-key), or listen \
             on 127.0.0.1 and come through a tunnel",
            plan.listen,
            if plan.token.is_none() { " without a token" } else { " in clear text" },
        );
        let listener =
            TcpListener::bind(plan.listen).with_context(|| format!("listen on {}", plan.listen))?;
        listener.set_nonblocking(true)?;
        Ok(Server {
            plan,
            listener,
            clock: RealClock::start(),
            counts: Counts::default(),
            readers: Mutex::default(),
            gone: Mutex::default(),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What went on so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Readers there are, and what was shipped in all.
    pub fn shipped(&self) -> (usize, Shipped) {
        let readers = self.readers();
        let gone = *self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        (readers.len(), readers.iter().fold(gone, |all, reader| all.plus(&reader.shipped)))
    }

    pub(super) fn readers(&self) -> Vec<Served> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves until told to stop. `on` is called now and then; what it gives back ends it.
    ///
    /// # Errors
    /// What `on` gave back.
    pub fn run(
        &self,
        watch: &mut Watch,
        stop: &Stop,
        on: &mut dyn FnMut(&Server, Option<io::Error>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let entrance = watch.entrance();
        let own = stop.part();
        std::thread::scope(|scope| {
            let result = loop {
                if own.is_set() {
                    break Ok(());
                }
                let trouble = watch.look().err();
                while let Ok((socket, peer)) = self.listener.accept() {
                    let (own, entrance) = (&own, &entrance);
                    let serve = move || self.serve(socket, peer, entrance, own);
                    // A thread that can't be had is a reader that is not served.
                    let _ = std::thread::Builder::new()
                        .name("reader".to_owned())
                        .stack_size(256 << 10)
                        .spawn_scoped(scope, serve);
                }
                if let Err(e) = on(self, trouble) {
                    break Err(e);
                }
                self.clock.sleep_until(self.clock.now() + LOOK);
            };
            own.set(crate::base::StopReason::Done);
            result
        })
    }

    fn serve(&self, socket: TcpStream, address: SocketAddr, entrance: &Entrance, stop: &Stop) {
        let Ok(mut peer) = Peer::accepted(socket, self.plan.tls.as_ref()) else { return };
        let id = self.counts.readers.fetch_add(1, Ordering::Relaxed);
        let served = Served {
            id,
            peer: address,
            since: self.clock.now(),
            shipped: Shipped::default(),
            behind_bytes: 0,
        };
        let is_full = {
            let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
            readers.push(served);
            readers.len() > self.plan.most_readers
        };
        let _ = self.answer(&mut peer, id, is_full, entrance, stop);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = readers.iter().position(|reader| reader.id == id) {
            let left = readers.swap_remove(at);
            let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
            *gone = gone.plus(&left.shipped);
        }
    }

    fn answer(
        &self,
        peer: &mut Peer,
        id: u64,
        is_full: bool,
        entrance: &Entrance,
        stop: &Stop,
    ) -> io::Result<()> {
        let head = match http::head(peer, &self.clock, &|| !stop.is_set()) {
            Ok(None) => return Ok(()),
            Ok(Some(head)) => Ok(head),
            Err(refused) => Err(refused),
        };
        let asked = head.and_then(|head| http::asked(&head, self.plan.token.as_ref()));
        let asked = match asked {
            Ok(Asked::Slow(_)) if is_full => Err(http::too_many(self.plan.most_readers)),
            asked => asked,
        };
        let text = match asked {
            Ok(Asked::Slow(wanted)) => return self.ship(peer, id, &wanted, entrance, stop),
            Ok(Asked::Status) => {
                http::answer("200 OK", "application/json", "", &told::status(self, entrance))
            }
            Ok(Asked::Metrics) => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                http::answer("200 OK", kind, "", &told::metrics(self, entrance))
            }
            Err(refused) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                refused.text()
            }
        };
        self.send(peer, text.as_bytes(), stop)?;
        self.part(peer, stop);
        Ok(())
    }

    /// Takes what the other side still sends: closing before would take our answer away from it.
    fn part(&self, peer: &mut Peer, stop: &Stop) {
        peer.end();
        let until = self.clock.now() + PART;
        let mut piece = [0; 4096];
        while self.clock.now() < until && !stop.is_set() {
            match peer.read(&mut piece) {
                Ok(1..) => {}
                Err(e) if http::is_pause(&e) => {}
                _ => return,
            }
        }
    }

    /// Ships until the reader leaves.
    fn ship(
        &self,
        peer: &mut Peer,
        id: u64,
        wanted: &Wanted,
        entrance: &Entrance,
        stop: &Stop,
    ) -> io::Result<()> {
        let mut stream = Stream::open(entrance, &wanted.from, wanted.sessions)?;
        let coding = if wanted.is_packed { "Content-Encoding: zstd\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n{coding}\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        );
        self.send(peer, head.as_bytes(), stop)?;
        let mut chunks = Chunks::new(wanted)?;
        let mut sent_at = self.clock.now();
        let mut news_at = sent_at;
        while !stop.is_set() {
            let has_more = stream.look().map_err(io::Error::other)?;
            let now = self.clock.now();
            if has_more {
                news_at = now;
            } else if now.since(news_at) >= QUIET {
                stream.pause().map_err(io::Error::other)?;
            }
            let length = stream.text().len();
            let is_gathered = !wanted.is_packed || now.since(sent_at) >= GATHER;
            if length >= CHUNK || length > 0 && !has_more && is_gathered {
                let mark = wanted.has_marks.then(|| stream.mark().to_string());
                let chunk = chunks.chunk(stream.text(), mark.as_deref())?;
                self.send(peer, chunk, stop)?;
                sent_at = self.clock.now();
                self.note(id, &mut stream);
            } else if wanted.has_marks && now.since(sent_at) >= BEAT {
                let mark = stream.mark().to_string();
                self.send(peer, chunks.beat(&mark), stop)?;
                sent_at = now;
                self.note(id, &mut stream);
            }
            if !has_more {
                if peer.has_left() && !matches!(peer, Peer::Server(_)) {
                    return Ok(());
                }
                self.clock.sleep_until(now + LOOK);
            }
        }
        let end = chunks.end()?;
        self.send(peer, &end, &Stop::new())
    }

    fn note(&self, id: u64, stream: &mut Stream) {
        let (shipped, behind_bytes) = (stream.shipped(), stream.bytes_behind());
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = readers.iter_mut().find(|reader| reader.id == id) {
            (reader.shipped, reader.behind_bytes) = (shipped, behind_bytes);
        }
    }

    /// Sends all of it, or gives up on a reader that takes nothing for too long.
    fn send(&self, peer: &mut Peer, bytes: &[u8], stop: &Stop) -> io::Result<()> {
        let mut rest = bytes;
        let mut taken_at = self.clock.now();
        loop {
            let result = match rest.is_empty() {
                false => peer.write(rest),
                true => match peer.flush() {
                    Ok(()) => return Ok(()),
                    Err(e) => Err(e),
                },
            };
            match result {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(taken) => {
                    rest = &rest[taken..];
                    taken_at = self.clock.now();
                }
                Err(e) if http::is_pause(&e) => {
                    let is_late = self.clock.now().since(taken_at) > self.plan.patience;
                    if is_late {
                        self.counts.cut.fetch_add(1, Ordering::Relaxed);
                    }
                    if is_late || stop.is_set() {
                        return Err(e);
                    }
                }
                Err(e) => return Err(e),
            }
        }
    }

    /// How long it has been there.
    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }
}

/// Chunks of HTTP. Each ends with a record; where that is, stands in the chunk's head, which others may pass over.
struct Chunks {
    packer: Option<zstd::stream::write::Encoder<'static, Vec<u8>>>,
    out: Vec<u8>,
}

impl Chunks {
    fn new(wanted: &Wanted) -> io::Result<Chunks> {
        let packer = match wanted.is_packed {
            true => Some(zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?),
            false => None,
        };
        Ok(Chunks { packer, out: Vec::new() })
    }

    fn chunk(&mut self, text: &mut Vec<u8>, mark: Option<&str>) -> io::Result<&[u8]> {
        self.out.clear();
        match &mut self.packer {
            None => write_chunk(&mut self.out, text, "mark", mark),
            Some(packer) => {
                packer.write_all(text)?;
                packer.flush()?;
                write_chunk(&mut self.out, packer.get_ref(), "mark", mark);
                shrink(packer.get_mut());
            }
        }
        shrink(text);
        Ok(&self.out)
    }

    /// Says that we are there, and where; its byte is no part of the log.
    fn beat(&mut self, mark: &str) -> &[u8] {
        self.out.clear();
        write_chunk(&mut self.out, b"\n", "beat", Some(mark));
        &self.out
    }

    fn end(&mut self) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        if let Some(packer) = self.packer.take() {
            write_chunk(&mut out, &packer.finish()?, "", None);
        }
        out.extend_from_slice(b"0\r\n\r\n");
        Ok(out)
    }
}

fn write_chunk(out: &mut Vec<u8>, bytes: &[u8], name: &str, mark: Option<&str>) {
    if bytes.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:x}", bytes.len()).as_bytes());
    if let Some(mark) = mark {
        out.extend_from_slice(format!(";{name}={mark}").as_bytes());
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(bytes);
    out.extend_from_slice(b"\r\n");
}

/// Empties a buffer; one that a long record has made large goes.
fn shrink(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(CHUNK * 2);
}
