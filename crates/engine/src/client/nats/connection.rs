//! One connection to a NATS server. A thread of its own reads, writes, and comes back when the connection is lost; what is sent
//! meanwhile is lost, as NATS promises no more, so whoever says something important says it again until it is answered.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ClientConfig, ClientConnection};
use serde_json::json;

use super::frame::{FrameParser, NatsFrame, NatsMessage, ServerInfo};
use super::nkey::NkeySeed;
use super::{NatsAddress, NatsError};
use crate::base::{Clock as _, Nanos, RealClock};
use crate::client::transport::tls;

/// How long a step of making a connection, or a write, may take.
const STEP_LIMIT: Duration = Duration::from_secs(5);
/// How often the server is asked whether it is there.
const PING_EVERY: Nanos = Nanos(2_000_000_000);
/// A server that is silent for so long is gone: three questions.
const SILENCE: Nanos = Nanos(7_000_000_000);
/// First and longest pause between attempts to come back.
const PAUSES: [Nanos; 2] = [Nanos(50_000_000), Nanos(500_000_000)];
/// Most bytes that wait to be sent.
const MOST_WAITING: usize = 8 << 20;
/// How long a server may take to close its side.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// What is read at once.
const READ_BYTES: usize = 64 << 10;

/// How to connect.
#[derive(Debug)]
pub struct NatsOptions {
    /// Where.
    pub address: NatsAddress,
    /// Who, in the server's lists.
    pub name: String,
    /// The key, if the server asks for one.
    pub nkey: Option<NkeySeed>,
    /// Whom to believe about the server's name; the system's authorities if not given.
    pub tls_ca: Option<PathBuf>,
    /// What is listened to.
    pub subjects: Vec<String>,
}

/// What a connection tells its owner.
#[derive(Clone, Debug, PartialEq)]
pub enum NatsEvent {
    /// Something was said.
    Message(NatsMessage),
    /// The connection is there again.
    Connected,
    /// The connection is lost, and why; it comes back by itself if it can.
    Disconnected(String),
    /// The server refused something.
    Complaint(String),
}

/// A connection that comes back by itself.
#[derive(Debug)]
pub struct NatsConnection {
    shared: Arc<SharedLink>,
    events: Receiver<NatsEvent>,
    thread: Option<JoinHandle<()>>,
}

/// What the owner and the thread share.
#[derive(Debug)]
struct SharedLink {
    /// Bytes to be sent, whole messages.
    outbox: Mutex<Vec<u8>>,
    wake: UnixStream,
    is_connected: AtomicBool,
    is_closed: AtomicBool,
    most_payload: AtomicUsize,
}

impl SharedLink {
    fn lock_outbox(&self) -> MutexGuard<'_, Vec<u8>> {
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake_thread(&self) {
        // A full pipe wakes it, too.
        let _ = (&self.wake).write(&[1]);
    }
}

impl NatsConnection {
    /// Connects; the first connection must come about at once.
    ///
    /// # Errors
    /// Why there is none.
    pub fn open(options: NatsOptions) -> Result<NatsConnection, NatsError> {
        let setup = |error: io::Error| NatsError::Setup(error.to_string());
        let (wake, woken) = UnixStream::pair().map_err(setup)?;
        wake.set_nonblocking(true).map_err(setup)?;
        woken.set_nonblocking(true).map_err(setup)?;
        let (sender, events) = channel();
        let tls = match options.address.tls || options.tls_ca.is_some() {
            true => Some(tls_config(&options)?),
            false => None,
        };
        let clock = RealClock::start_now();
        let fail = |why: String| NatsError::Connect { address: options.address.to_string(), why };
        let first = ServerLink::connect(&options, tls.as_ref(), clock).map_err(fail)?;
        let shared = Arc::new(SharedLink {
            outbox: Mutex::default(),
            wake,
            is_connected: AtomicBool::new(true),
            is_closed: AtomicBool::new(false),
            most_payload: AtomicUsize::new(first.most_payload),
        });
        let thread = LinkThread { options, tls, clock, woken, sender, shared: shared.clone() };
        let spawned = std::thread::Builder::new().name("nats".to_owned());
        let thread = spawned.spawn(move || thread.keep_connection(first)).map_err(setup)?;
        Ok(NatsConnection { shared, events, thread: Some(thread) })
    }

    /// Sends a message; one that can't be sent as there is no connection is lost.
    ///
    /// # Errors
    /// When it is too large.
    pub fn publish(&self, subject: &str, payload: &[u8]) -> Result<(), NatsError> {
        let bytes = payload.len();
        if bytes > self.shared.most_payload.load(Ordering::Relaxed) {
            return Err(NatsError::TooLarge { bytes });
        }
        let mut outbox = self.shared.lock_outbox();
        if !self.is_connected() || outbox.len() + bytes > MOST_WAITING {
            return Ok(());
        }
        outbox.extend_from_slice(format!("PUB {subject} {bytes}\r\n").as_bytes());
        outbox.extend_from_slice(payload);
        outbox.extend_from_slice(b"\r\n");
        drop(outbox);
        self.shared.wake_thread();
        Ok(())
    }

    /// Whether the connection is there, as far as we know.
    pub fn is_connected(&self) -> bool {
        self.shared.is_connected.load(Ordering::Relaxed)
    }

    /// What happened next; waits for it for at most so long.
    pub fn next_event(&self, at_most: Duration) -> Option<NatsEvent> {
        self.events.recv_timeout(at_most).ok()
    }
}

impl Drop for NatsConnection {
    /// What waits to be sent is sent before.
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        self.shared.wake_thread();
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn tls_config(options: &NatsOptions) -> Result<Arc<ClientConfig>, NatsError> {
    let authorities = match &options.tls_ca {
        Some(path) => tls::WebAuthorities::File(path),
        None => tls::WebAuthorities::System,
    };
    tls::web_client_config(Some(authorities)).map_err(|e| NatsError::Setup(e.to_string()))
}

/// What carries the bytes.
enum LinkStream {
    Clear(TcpStream),
    Secure(Box<ClientConnection>, TcpStream),
}

impl LinkStream {
    fn socket(&self) -> &TcpStream {
        match self {
            LinkStream::Clear(socket) | LinkStream::Secure(_, socket) => socket,
        }
    }

    /// Reads once from the socket, which is to be ready, and gives what is there in clear.
    fn read_ready(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        out.resize(READ_BYTES, 0);
        match self {
            LinkStream::Clear(socket) => {
                let count = socket.read(out)?;
                out.truncate(count);
                if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
            }
            LinkStream::Secure(tls, socket) => {
                let count = tls.read_tls(socket)?;
                let state = tls.process_new_packets().map_err(io::Error::other)?;
                out.resize(state.plaintext_bytes_to_read(), 0);
                tls.reader().read_exact(out)?;
                while tls.wants_write() {
                    tls.write_tls(socket)?;
                }
                if count == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
            }
        }
    }

    /// Ends the connection so that the server reads all that was written: what it has sent is read, as a socket that is closed
    /// with bytes unread takes back what it sent.
    fn close_gently(&mut self) {
        let mut socket = self.socket();
        let _ = socket.shutdown(Shutdown::Write);
        let _ = socket.set_read_timeout(Some(LAST_WORDS));
        let mut bytes = [0; 4096];
        while matches!(socket.read(&mut bytes), Ok(count) if count > 0) {}
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            LinkStream::Clear(socket) => socket.write_all(bytes),
            LinkStream::Secure(tls, socket) => {
                // In pieces, as TLS keeps what it has not written yet in memory.
                for piece in bytes.chunks(READ_BYTES / 4) {
                    tls.writer().write_all(piece)?;
                    while tls.wants_write() {
                        tls.write_tls(socket)?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// A connection that stands.
struct ServerLink {
    stream: LinkStream,
    parser: FrameParser,
    most_payload: usize,
    heard: Nanos,
}

impl ServerLink {
    /// Connects, encrypts, logs in, subscribes.
    fn connect(
        options: &NatsOptions,
        tls: Option<&Arc<ClientConfig>>,
        clock: RealClock,
    ) -> Result<ServerLink, String> {
        let socket = connect_socket(&options.address)?;
        let limits = socket
            .set_read_timeout(Some(STEP_LIMIT))
            .and_then(|()| socket.set_write_timeout(Some(STEP_LIMIT)))
            .and_then(|()| socket.set_nodelay(true));
        limits.map_err(|e| e.to_string())?;
        let mut link = ServerLink {
            stream: LinkStream::Clear(socket),
            parser: FrameParser::default(),
            most_payload: 0,
            heard: clock.now(),
        };
        let info = link.wait_for_info()?;
        link.most_payload = usize::try_from(info.max_payload).unwrap_or(usize::MAX);
        match tls {
            Some(_) if !info.tls_required && !info.tls_available => {
                return Err("TLS is asked for, and the server has none".to_owned());
            }
            Some(config) => link = link.start_tls(config, &options.address.host)?,
            None if info.tls_required => {
                return Err("the server asks for TLS: write tls:// and name its --tls-ca".into());
            }
            None => {}
        }
        link.log_in(options, &info)?;
        link.heard = clock.now();
        Ok(link)
    }

    fn wait_for_info(&mut self) -> Result<ServerInfo, String> {
        loop {
            match self.parser.next_frame()? {
                Some(NatsFrame::Info(info)) => return Ok(info),
                Some(NatsFrame::Complaint(why)) => return Err(why),
                Some(_) => return Err("it does not speak NATS".to_owned()),
                None => self.read_more()?,
            }
        }
    }

    fn start_tls(self, config: &Arc<ClientConfig>, host: &str) -> Result<ServerLink, String> {
        let LinkStream::Clear(mut socket) = self.stream else { return Ok(self) };
        let name = tls::server_name(host).map_err(|e| e.to_string())?;
        let connection = ClientConnection::new(config.clone(), name).map_err(|e| e.to_string())?;
        let mut connection = Box::new(connection);
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).map_err(|e| explain_handshake(&e))?;
        }
        Ok(ServerLink { stream: LinkStream::Secure(connection, socket), ..self })
    }

    fn log_in(&mut self, options: &NatsOptions, info: &ServerInfo) -> Result<(), String> {
        let mut words = json!({
            "verbose": false, "pedantic": false, "echo": false, "headers": false, "protocol": 1,
            "lang": "rust", "version": env!("CARGO_PKG_VERSION"), "name": options.name,
            "tls_required": matches!(self.stream, LinkStream::Secure(..)),
        });
        if let Some(key) = &options.nkey {
            let nonce = info.nonce.as_ref();
            let nonce = nonce.ok_or("a key is given, and the server asks for none")?;
            words["nkey"] = key.public_key().into();
            words["sig"] = key.sign_nonce(nonce).into();
        }
        let mut text = format!("CONNECT {words}\r\n");
        for (number, subject) in options.subjects.iter().enumerate() {
            text += &format!("SUB {subject} {}\r\n", number + 1);
        }
        text += "PING\r\n";
        self.stream.write_bytes(text.as_bytes()).map_err(|e| e.to_string())?;
        loop {
            match self.parser.next_frame()? {
                Some(NatsFrame::Pong) => return Ok(()),
                Some(NatsFrame::Complaint(why)) => return Err(why),
                // A message may come before the answer; whoever said it says it again.
                Some(_) => {}
                None => self.read_more()?,
            }
        }
    }

    /// Waits for bytes for as long as a step may take.
    fn read_more(&mut self) -> Result<(), String> {
        let mut bytes = Vec::new();
        match self.stream.read_ready(&mut bytes) {
            Ok(()) => self.parser.add_bytes(&bytes),
            Err(e) if is_timeout(&e) => return Err("no answer".to_owned()),
            Err(e) => return Err(e.to_string()),
        }
        Ok(())
    }
}

fn connect_socket(address: &NatsAddress) -> Result<TcpStream, String> {
    let found = (address.host.as_str(), address.port).to_socket_addrs();
    let mut last = "the name has no address".to_owned();
    for place in found.map_err(|e| e.to_string())? {
        match TcpStream::connect_timeout(&place, STEP_LIMIT) {
            Ok(socket) => return Ok(socket),
            Err(e) => last = e.to_string(),
        }
    }
    Err(last)
}

fn explain_handshake(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let why = inner.map_or_else(|| error.to_string(), tls::explain_tls_error);
    format!("TLS: {why}")
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// Why a connection is no more.
enum LinkEnd {
    Closed,
    Lost(String),
}

/// The thread of a connection.
struct LinkThread {
    options: NatsOptions,
    tls: Option<Arc<ClientConfig>>,
    clock: RealClock,
    woken: UnixStream,
    sender: Sender<NatsEvent>,
    shared: Arc<SharedLink>,
}

impl LinkThread {
    fn keep_connection(&self, first: ServerLink) {
        let mut link = first;
        loop {
            let end = self.serve_link(&mut link);
            self.shared.is_connected.store(false, Ordering::Relaxed);
            self.shared.lock_outbox().clear();
            let LinkEnd::Lost(why) = end else { return };
            drop(self.sender.send(NatsEvent::Disconnected(why)));
            let Some(again) = self.come_back() else { return };
            link = again;
            self.shared.most_payload.store(link.most_payload, Ordering::Relaxed);
            self.shared.is_connected.store(true, Ordering::Relaxed);
            drop(self.sender.send(NatsEvent::Connected));
        }
    }

    /// Tries until there is a connection, or the owner wants none.
    fn come_back(&self) -> Option<ServerLink> {
        let mut pause = PAUSES[0];
        loop {
            self.wait_ready(None, pause);
            if self.shared.is_closed.load(Ordering::Relaxed) {
                return None;
            }
            match ServerLink::connect(&self.options, self.tls.as_ref(), self.clock) {
                Ok(link) => return Some(link),
                Err(_) => pause = (pause + PAUSES[0]).min(PAUSES[1]),
            }
        }
    }

    /// Carries what is said until the connection is lost or closed.
    fn serve_link(&self, link: &mut ServerLink) -> LinkEnd {
        let mut asked = self.clock.now();
        let mut bytes = Vec::new();
        loop {
            if let Err(why) = self.take_frames(link) {
                return LinkEnd::Lost(why);
            }
            // Asked before what waits is taken: all that was said before the end is sent.
            let is_closed = self.shared.is_closed.load(Ordering::Relaxed);
            let now = self.clock.now();
            let mut waiting = std::mem::take(&mut *self.shared.lock_outbox());
            if now.since(asked) >= PING_EVERY {
                asked = now;
                waiting.extend_from_slice(b"PING\r\n");
            }
            if let Err(e) = link.stream.write_bytes(&waiting) {
                return LinkEnd::Lost(e.to_string());
            }
            if is_closed {
                link.stream.close_gently();
                return LinkEnd::Closed;
            }
            if now.since(link.heard) > SILENCE {
                return LinkEnd::Lost("it is silent".to_owned());
            }
            if !self.wait_ready(Some(link.stream.socket()), PING_EVERY.since(now.since(asked))) {
                continue;
            }
            match link.stream.read_ready(&mut bytes) {
                Ok(()) => {
                    link.heard = self.clock.now();
                    link.parser.add_bytes(&bytes);
                }
                Err(e) if is_timeout(&e) => {}
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                    return LinkEnd::Lost("it closed the connection".to_owned());
                }
                Err(e) => return LinkEnd::Lost(e.to_string()),
            }
        }
    }

    fn take_frames(&self, link: &mut ServerLink) -> Result<(), String> {
        while let Some(frame) = link.parser.next_frame()? {
            let event = match frame {
                NatsFrame::Message(message) => NatsEvent::Message(message),
                NatsFrame::Complaint(why) => NatsEvent::Complaint(why),
                NatsFrame::Ping => {
                    link.stream.write_bytes(b"PONG\r\n").map_err(|e| e.to_string())?;
                    continue;
                }
                NatsFrame::Info(_) | NatsFrame::Pong | NatsFrame::Okay => continue,
            };
            drop(self.sender.send(event));
        }
        Ok(())
    }

    /// Waits for bytes of the server or a word of the owner; whether the server has sent something.
    fn wait_ready(&self, socket: Option<&TcpStream>, at_most: Nanos) -> bool {
        let limit = Timespec::try_from(Duration::from(at_most)).ok();
        let woken = self.woken.as_fd();
        let mut fds = vec![PollFd::from_borrowed_fd(woken, PollFlags::IN)];
        fds.extend(socket.map(|socket| PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN)));
        let ready = poll(&mut fds, limit.as_ref()).unwrap_or(0) > 0;
        let is_readable = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        if ready && !fds[0].revents().is_empty() {
            let mut drained = [0; 64];
            while matches!((&self.woken).read(&mut drained), Ok(count) if count == drained.len()) {}
        }
        ready && is_readable
    }
}
