//! Serves a log over HTTP. One thread looks at the log and takes connections, and each reader has a thread of its own:
//! who reads slowly blocks only itself. That is why this file knows threads, which the rest of the room does not.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;

use super::chunk_encoder::{CHUNK, ChunkEncoder, clear_and_shrink};
use super::http::{self, HttpRequest, StreamRequest};
use super::memory_budget::MemoryBudget;
use super::metrics;
use super::peer::PeerStream;
use super::pending_connections::PendingConnections;
use super::stream::{LogStream, ShipStats};
use super::watcher::{LogHandle, LogWatcher};
use crate::base::http_head::{self, HttpError};
use crate::base::{Clock as _, Nanos, RealClock, Secret, Stop};
use crate::plan::RefusedError;

/// How often the log is looked at.
const LOOK: Nanos = Nanos(25_000_000);
/// How long the log must be quiet until its last record counts as whole.
const QUIET: Nanos = Nanos(200_000_000);
/// How long what is to be packed is gathered.
const GATHER: Nanos = Nanos(200_000_000);
/// How often a reader that asked for marks hears that we are there.
pub(super) const HEARTBEAT: Nanos = Nanos(2_000_000_000);
/// How long an answer that is no log may take to be taken.
const ANSWER_TIME: Nanos = Nanos(3_000_000_000);
/// Fewest signs of a token where others than this machine can reach us: they can guess as often as they like.
const SHORTEST_TOKEN: usize = 16;

/// How to serve.
#[derive(Clone)]
pub struct ServeOptions {
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
pub(super) struct ReaderStatus {
    pub(super) id: u64,
    pub(super) peer: SocketAddr,
    pub(super) since: Nanos,
    pub(super) shipped: ShipStats,
    pub(super) behind_bytes: u64,
}

/// What went on so far.
#[derive(Debug, Default)]
pub struct ServeCounts {
    /// Readers that came.
    pub readers: AtomicU64,
    /// Heads that were refused.
    pub refused: AtomicU64,
    /// Readers cut off as they took nothing for too long.
    pub cut: AtomicU64,
}

/// A server of a log.
pub struct LogServer {
    plan: ServeOptions,
    listener: TcpListener,
    clock: RealClock,
    counts: ServeCounts,
    arrivals: PendingConnections,
    room: MemoryBudget,
    readers: Mutex<Vec<ReaderStatus>>,
    /// What those had who have left.
    gone: Mutex<ShipStats>,
}

impl LogServer {
    /// Listens.
    ///
    /// # Errors
    /// When the address can't be had, or others could reach it without a token, with one that can be guessed, or in
    /// clear text.
    pub fn bind(plan: ServeOptions) -> anyhow::Result<LogServer> {
        check_exposure(&plan)?;
        let listener = TcpListener::bind(plan.listen).map_err(|e| match e.kind() {
            io::ErrorKind::AddrInUse => anyhow::Error::new(RefusedError(format!(
                "listen on {}: another program, perhaps another `sweat ship`, uses this \
                 port\nhint: choose another port: --listen {}:9701",
                plan.listen,
                plan.listen.ip()
            ))),
            _ => anyhow::Error::new(e).context(format!("listen on {}", plan.listen)),
        })?;
        listener.set_nonblocking(true)?;
        Ok(LogServer {
            plan,
            listener,
            clock: RealClock::start_now(),
            counts: ServeCounts::default(),
            arrivals: PendingConnections::new(),
            room: MemoryBudget::default(),
            readers: Mutex::default(),
            gone: Mutex::default(),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What went on so far.
    pub fn counts(&self) -> &ServeCounts {
        &self.counts
    }

    /// Readers there are, and what was shipped in all.
    pub fn ship_totals(&self) -> (usize, ShipStats) {
        let readers = self.reader_statuses();
        let gone = *self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        (readers.len(), readers.iter().fold(gone, |all, reader| all.combined_with(&reader.shipped)))
    }

    pub(super) fn reader_statuses(&self) -> Vec<ReaderStatus> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Serves until told to stop. `on` is called now and then; what it gives back ends it.
    ///
    /// # Errors
    /// What `on` gave back.
    pub fn run(
        &self,
        watch: &mut LogWatcher,
        stop: &Stop,
        on: &mut dyn FnMut(&LogServer, Option<io::Error>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let entrance = watch.log_handle();
        let own = stop.child_stop();
        std::thread::scope(|scope| {
            let result = loop {
                if own.is_set() {
                    break Ok(());
                }
                let trouble = watch.poll_files().err();
                while let Ok((socket, peer)) = self.listener.accept() {
                    let (own, entrance) = (&own, &entrance);
                    let serve = move || self.serve_connection(socket, peer, entrance, own);
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

    /// Serves one connection. What it asks for must come soon; only then may it stay.
    fn serve_connection(
        &self,
        socket: TcpStream,
        address: SocketAddr,
        entrance: &LogHandle,
        stop: &Stop,
    ) {
        let id = self.counts.readers.fetch_add(1, Ordering::Relaxed);
        let Ok(arrival) = self.arrivals.add_connection(id, &socket) else { return };
        let Ok(mut peer) = PeerStream::from_accepted(socket, self.plan.tls.as_ref()) else {
            return;
        };
        let until = self.clock.now() + http_head::HEAD_TIME;
        let is_late = || self.clock.now() > until || stop.is_set();
        if peer.finish_handshake(&is_late).is_err() {
            return;
        }
        let head = match http_head::read_head(&mut peer, &self.clock, until, &|| !stop.is_set()) {
            Ok(None) => return,
            Ok(Some(head)) => Ok(head),
            Err(refused) => Err(refused),
        };
        let asked = head.and_then(|head| http::parse_request(&head, self.plan.token.as_ref()));
        let asked = match asked {
            Ok(HttpRequest::Slow(_)) if !self.add_reader(id, address) => {
                Err(http::too_many_readers(self.plan.most_readers))
            }
            Ok(HttpRequest::Other) => {
                let why = "the paths here are /slow, /status and /metrics";
                Err(HttpError::new(404, why))
            }
            asked => asked,
        };
        if let Ok(HttpRequest::Slow(wanted)) = asked {
            drop(arrival);
            let _ = self.stream_log(&mut peer, id, &wanted, entrance, stop);
            self.remove_reader(id);
        } else {
            let _ = self.send_response(&mut peer, asked, entrance, stop);
        }
    }

    /// Takes a reader, if there is a place.
    fn add_reader(&self, id: u64, peer: SocketAddr) -> bool {
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() >= self.plan.most_readers {
            return false;
        }
        let (since, shipped) = (self.clock.now(), ShipStats::default());
        readers.push(ReaderStatus { id, peer, since, shipped, behind_bytes: 0 });
        true
    }

    fn remove_reader(&self, id: u64) {
        self.room.remove_reader(id);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = readers.iter().position(|reader| reader.id == id) {
            let left = readers.swap_remove(at);
            let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
            *gone = gone.combined_with(&left.shipped);
        }
    }

    /// Answers what asks for no log, or gets none.
    fn send_response(
        &self,
        peer: &mut PeerStream,
        asked: Result<HttpRequest, HttpError>,
        entrance: &LogHandle,
        stop: &Stop,
    ) -> io::Result<()> {
        let text = match asked {
            Ok(HttpRequest::Metrics) => {
                let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
                http_head::format_response(
                    "200 OK",
                    kind,
                    "",
                    &metrics::openmetrics_text(self, entrance),
                )
            }
            Ok(_) => http_head::format_response(
                "200 OK",
                "application/json",
                "",
                &metrics::status_json(self, entrance),
            ),
            Err(refused) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                refused.to_response()
            }
        };
        let until = self.clock.now() + ANSWER_TIME;
        self.send_all(peer, text.as_bytes(), stop, &|_| self.clock.now() > until)?;
        peer.shutdown_write();
        http_head::drain_peer(peer, &self.clock, stop);
        Ok(())
    }

    /// Ships until the reader leaves.
    fn stream_log(
        &self,
        peer: &mut PeerStream,
        id: u64,
        wanted: &StreamRequest,
        entrance: &LogHandle,
        stop: &Stop,
    ) -> io::Result<()> {
        let mut stream = LogStream::open(entrance, &wanted.from, wanted.sessions)?;
        let coding = if wanted.is_packed { "Content-Encoding: zstd\r\n" } else { "" };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n{coding}\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        );
        let is_idle = |taken_at: Nanos| self.clock.now().since(taken_at) > self.plan.patience;
        self.send_all(peer, head.as_bytes(), stop, &is_idle)?;
        let mut framing = ChunkEncoder::new(wanted)?;
        let mut sent_at = self.clock.now();
        let mut news_at = sent_at;
        while !stop.is_set() {
            let may_read = self.room.may_read(id, stream.held_bytes());
            let has_more = may_read && stream.read_records().map_err(io::Error::other)?;
            let now = self.clock.now();
            if has_more {
                news_at = now;
            } else if may_read && now.since(news_at) >= QUIET {
                stream.flush_quiet().map_err(io::Error::other)?;
            }
            let length = stream.text_mut().len();
            let is_gathered = !wanted.is_packed || now.since(sent_at) >= GATHER;
            if length >= CHUNK || length > 0 && !has_more && is_gathered {
                let mark = wanted.has_marks.then(|| stream.end_mark().to_string());
                self.room.start_sending(id, stream.held_bytes());
                // A long record that goes out slowly is in the way of others once they need its room.
                let is_late = |taken_at: Nanos| {
                    let is_slow = self.clock.now().since(now) > self.plan.patience;
                    is_idle(taken_at) || is_slow && self.room.is_blocking_others(id)
                };
                for part in framing.encode_chunk(stream.text_mut(), mark.as_deref())? {
                    self.send_all(peer, part, stop, &is_late)?;
                }
                framing.clear_buffers();
                clear_and_shrink(stream.text_mut());
                sent_at = self.clock.now();
                self.update_status(id, &mut stream);
            } else if wanted.has_marks && now.since(sent_at) >= HEARTBEAT {
                let mark = stream.end_mark().to_string();
                self.send_all(peer, framing.encode_heartbeat(&mark), stop, &is_idle)?;
                sent_at = now;
                self.update_status(id, &mut stream);
            }
            if !has_more {
                if peer.has_left() {
                    return Ok(());
                }
                self.clock.sleep_until(now + LOOK);
            }
        }
        let end = framing.encode_end()?;
        let until = self.clock.now() + http_head::DRAIN_TIME;
        self.send_all(peer, &end, &Stop::new(), &|_| self.clock.now() > until)
    }

    fn update_status(&self, id: u64, stream: &mut LogStream) {
        let (shipped, behind_bytes) = (stream.ship_stats(), stream.bytes_behind());
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reader) = readers.iter_mut().find(|reader| reader.id == id) {
            (reader.shipped, reader.behind_bytes) = (shipped, behind_bytes);
        }
    }

    /// Sends all of it, or gives up on a reader of whom `is_late` says so, by when it took something last.
    fn send_all(
        &self,
        peer: &mut PeerStream,
        bytes: &[u8],
        stop: &Stop,
        is_late: &dyn Fn(Nanos) -> bool,
    ) -> io::Result<()> {
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
                    // One that takes a byte now and then is late no less.
                    if is_late(taken_at) && !rest.is_empty() {
                        self.counts.cut.fetch_add(1, Ordering::Relaxed);
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                }
                Err(e) if http_head::is_pause(&e) => {
                    let is_late = is_late(taken_at);
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
    pub(super) fn uptime(&self) -> Nanos {
        self.clock.now()
    }
}

/// Refuses what would let others read the log.
fn check_exposure(plan: &ServeOptions) -> Result<(), RefusedError> {
    if plan.listen.ip().is_loopback() {
        return Ok(());
    }
    let refused = |why: &str, hint: &str| {
        let listen = plan.listen;
        Err(RefusedError(format!(
            "listen on {listen}: others could read the log{why}\nhint: {hint}"
        )))
    };
    const HINT: &str = "give a token and a certificate (--token-file, --tls-cert, --tls-key), or \
                        listen on 127.0.0.1 and connect through a tunnel";
    match &plan.token {
        None => refused(" without a token", HINT),
        Some(_) if plan.tls.is_none() => refused(" in clear text", HINT),
        Some(token) if token.reveal().len() < SHORTEST_TOKEN => refused(
            &format!(" by guessing: the token has fewer than {SHORTEST_TOKEN} characters"),
            "make one: openssl rand -hex 32",
        ),
        Some(_) => Ok(()),
    }
}
