//! The server: a thread that takes what the run tells and lets readers in, and a thread for each of them. The run itself
//! only ever puts a message into a bounded channel: what finds no room is lost to readers, never to the run's folder.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};

use super::PageSource;
use super::access::PageAccess;
use super::cache::PageCache;
use super::events::EventLog;
use crate::base::token::{random_token, sha256_base64};
use crate::base::{Clock as _, Nanos, RealClock, Secret, Stop, StopReason};
use crate::report;

/// Readers of events at once.
const MOST_READERS: usize = 16;
/// Connections at once, whatever they ask for.
const MOST_CONNECTIONS: usize = 64;
/// Messages that may wait.
const MOST_WAITING: usize = 256;
/// How often new readers are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long readers that are there may take for the last page.
const LAST_PAGE: Nanos = Nanos(3_000_000_000);

/// What a run tells its page.
#[derive(Clone, Debug)]
pub enum PageMessage {
    /// The run has this folder.
    Folder(PathBuf),
    /// Something that readers hear of.
    Event {
        /// `beat`, `step`, `note`.
        kind: &'static str,
        /// What it says.
        data: Value,
    },
    /// The run is over, in this state.
    End(&'static str),
}

/// How to serve.
#[derive(Clone, Debug)]
pub struct PageOptions {
    /// An address of this machine alone; with port 0 any that is free.
    pub listen: SocketAddr,
    /// What readers must know; a new one where there is none.
    pub token: Option<Secret>,
    /// How long a reader may take for what it is sent until it is cut off.
    pub patience: Nanos,
}

/// What all threads share.
pub(super) struct PageHub {
    pub(super) clock: RealClock,
    pub(super) access: PageAccess,
    pub(super) cache: PageCache,
    pub(super) log: EventLog,
    /// Fields of every answer.
    pub(super) policy: String,
    pub(super) patience: Nanos,
    pub(super) most_readers: usize,
    readers: AtomicUsize,
    connections: AtomicUsize,
    /// Readers that were cut off.
    pub(super) cut: AtomicUsize,
}

/// The place of a reader, or of a connection; it is free again when this goes.
pub(super) struct ReaderSeat<'a>(&'a AtomicUsize);

impl ReaderSeat<'_> {
    fn take(taken: &AtomicUsize, most: usize) -> Option<ReaderSeat<'_>> {
        let more = |n: usize| (n < most).then_some(n + 1);
        taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(ReaderSeat(taken))
    }
}

impl Drop for ReaderSeat<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Where a run tells its page what happens. Never waits.
#[derive(Clone, Debug)]
pub struct PageSender(SyncSender<PageMessage>);

impl PageSender {
    /// Tells it, if there is room.
    pub fn send(&self, message: PageMessage) {
        let _ = self.0.try_send(message);
    }

    /// Readers hear of it, if there is room.
    pub fn send_event(&self, kind: &'static str, data: Value) {
        self.send(PageMessage::Event { kind, data });
    }
}

/// Serves the page of a run. It ends when this is dropped.
pub struct LivePageServer {
    hub: Arc<PageHub>,
    address: SocketAddr,
    token: Secret,
    sender: SyncSender<PageMessage>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl LivePageServer {
    /// Listens.
    ///
    /// # Errors
    /// When the address can't be had, or the system gives no random bytes or no thread.
    pub fn open(options: &PageOptions, source: Box<dyn PageSource>) -> io::Result<LivePageServer> {
        let listener = TcpListener::bind(options.listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let token = match &options.token {
            Some(token) => token.clone(),
            None => random_token()?,
        };
        let clock = RealClock::start_now();
        let hub = Arc::new(PageHub {
            clock,
            access: PageAccess::new(address, token.clone()),
            cache: PageCache::new(source, clock),
            log: EventLog::default(),
            policy: policy_fields(),
            patience: options.patience,
            most_readers: MOST_READERS,
            readers: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            cut: AtomicUsize::new(0),
        });
        let (sender, messages) = sync_channel(MOST_WAITING);
        let stop = Stop::new();
        let (own, until) = (hub.clone(), stop.clone());
        let thread = std::thread::Builder::new()
            .name("live page".to_owned())
            .spawn(move || own.serve_page(&listener, &messages, &until))?;
        Ok(LivePageServer { hub, address, token, sender, stop, thread: Some(thread) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address to type, with the token.
    pub fn url(&self) -> String {
        format!("http://{}/?t={}", self.address, self.token.reveal())
    }

    /// An address that lets one reader in: for a browser whose words others can see.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn url_for_once(&self) -> io::Result<String> {
        let ticket = random_token()?;
        let url = format!("http://{}/?t={}", self.address, ticket.reveal());
        self.hub.access.set_ticket(ticket);
        Ok(url)
    }

    /// Where the run tells what happens.
    pub fn sender(&self) -> PageSender {
        PageSender(self.sender.clone())
    }

    /// Readers of events that are there.
    pub fn reader_count(&self) -> usize {
        self.hub.readers.load(Ordering::Relaxed)
    }

    /// Readers that were cut off as they took nothing for too long.
    pub fn cut_count(&self) -> usize {
        self.hub.cut.load(Ordering::Relaxed)
    }

    /// Says that the run is over, and serves on: to readers that are there until they have the last page, and so long
    /// as `serve_on` to everybody. `stop` ends it.
    pub fn end_run(&self, state: &'static str, serve_on: Nanos, stop: &Stop) {
        // The run is over: nothing waits for us any more.
        if self.sender.send(PageMessage::End(state)).is_err() {
            return;
        }
        let clock = self.hub.clock;
        let until = clock.now() + serve_on;
        while clock.now() < until && !stop.is_set() {
            clock.sleep_until(clock.now() + Nanos::from(LOOK));
        }
        let until = clock.now() + LAST_PAGE;
        let is_told = || self.hub.log.is_over() && self.reader_count() == 0;
        while clock.now() < until && !is_told() {
            clock.sleep_until(clock.now() + Nanos::from(LOOK));
        }
    }
}

impl Drop for LivePageServer {
    fn drop(&mut self) {
        self.stop.set(StopReason::Done);
        self.hub.log.wake_readers();
        if let Some(thread) = self.thread.take() {
            // One that panicked has told so on its own.
            let _ = thread.join();
        }
    }
}

impl PageHub {
    /// Takes messages and readers until the stop.
    fn serve_page(&self, listener: &TcpListener, messages: &Receiver<PageMessage>, stop: &Stop) {
        std::thread::scope(|scope| {
            while !stop.is_set() {
                match messages.recv_timeout(LOOK) {
                    Ok(message) => self.take_message(message),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                messages.try_iter().for_each(|message| self.take_message(message));
                while let Ok((peer, _)) = listener.accept() {
                    // Where there are too many, it finds the door closed.
                    let Some(seat) = ReaderSeat::take(&self.connections, MOST_CONNECTIONS) else {
                        continue;
                    };
                    let serve = move || {
                        self.serve_reader(peer, stop);
                        drop(seat);
                    };
                    // A thread that can't be had is a reader that is not served.
                    let _ = std::thread::Builder::new()
                        .name("page reader".to_owned())
                        .spawn_scoped(scope, serve);
                }
            }
        });
    }

    fn take_message(&self, message: PageMessage) {
        match message {
            PageMessage::Folder(folder) => self.cache.set_folder(folder),
            PageMessage::Event { kind, data } => self.log.add_event(kind, &data),
            PageMessage::End(state) => {
                // First, so that whoever hears of it gets the last page.
                self.log.end();
                self.log.add_event("end", &json!({ "state": state }));
            }
        }
    }

    /// A place among the readers of events, if one is free.
    pub(super) fn take_seat(&self) -> Option<ReaderSeat<'_>> {
        ReaderSeat::take(&self.readers, self.most_readers)
    }
}

/// What a browser may do with an answer: run our two scripts, use our style sheet, ask us.
fn policy_fields() -> String {
    let (scripts, style) = report::inline_texts();
    let hash = |text: &String| format!("'sha256-{}'", sha256_base64(text));
    let scripts: Vec<String> = scripts.iter().map(hash).collect();
    format!(
        "Content-Security-Policy: default-src 'none'; script-src {}; style-src {}; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n",
        scripts.join(" "),
        hash(&style)
    )
}
