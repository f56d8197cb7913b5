//! One connection: the hot path.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use mysql_common::constants::Command;

use super::channel::{Broken, Channel, End};
use super::login::Welcome;
use super::pipe::{Fault, Limit};
use super::wire::reply::Scan;
use super::wire::{Malformed, encode, packet, push_words};
use super::{Error, Identity, Target};
use crate::base::Stop;
use crate::base::units::show_time;
use crate::recorder::{ErrorKind, EventError, Tally};

/// Errors by which a server says that it closes the session.
const PARTING: [u16; 4] = [1053, 1927, 4031, 3169];

/// One connection. After a lost connection or a protocol error it refuses further use; open another.
pub struct Session {
    pub(super) channel: Channel,
    pub(super) target: Target,
    id: u64,
    identity: Arc<Identity>,
    pub(super) no_eof: bool,
    /// Why the session is of no use any more.
    gone: Option<EventError>,
    /// It was told to give up.
    abandoned: bool,
    /// A statement is under way: stays set if its future was dropped.
    busy: bool,
    /// The limit is that of a single statement of a worker.
    limited_once: bool,
    code: u16,
    state: [u8; 5],
    text: String,
}

impl Drop for Session {
    /// A server counts a session that just goes as aborted, and writes a warning.
    fn drop(&mut self) {
        let mut quit = std::pin::pin!(self.quit());
        // Five bytes fit into any idle socket; where they don't, the session just goes.
        let _ = quit.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
}

/// A statement prepared on one session.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// The server's number for it.
    pub id: u32,
    /// Parameters.
    pub parameters: u16,
}

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// Signed.
    Int(i64),
    /// Unsigned.
    Uint(u64),
    /// Floating point.
    Double(f64),
    /// Text or binary.
    Bytes(&'a [u8]),
}

/// What a statement gave, all its results together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows received.
    pub rows: u64,
    /// Rows changed.
    pub affected: u64,
    /// Last number given out by AUTO_INCREMENT.
    pub last_insert_id: u64,
    /// Warnings.
    pub warnings: u16,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Session");
        out.field("id", &self.id).field("gone", &self.gone).finish_non_exhaustive()
    }
}

impl Session {
    pub(super) fn new(
        channel: Channel,
        target: Target,
        welcome: &Welcome,
        identity: Arc<Identity>,
    ) -> Session {
        Session {
            channel,
            target,
            id: welcome.id,
            identity,
            no_eof: welcome.no_eof,
            gone: None,
            abandoned: false,
            busy: false,
            limited_once: false,
            code: 0,
            state: *b"HY000",
            text: String::new(),
        }
    }

    /// Runs text, reads and forgets all results. Hot path: no allocation.
    /// The tally gets rows and bytes of the protocol, before TLS; what kind of statement it was, the caller knows.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    #[inline]
    pub async fn execute(&mut self, tally: &mut Tally, sql: &[u8]) -> Result<Reply, EventError> {
        self.begin()?;
        let sent = self.channel.send(|out| Ok(encode::command(out, Command::COM_QUERY, sql)));
        let sent = sent.await;
        self.receive(tally, sent).await
    }

    /// Changes the default database by the protocol's own command, whose name needs no quotes.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    pub async fn choose(
        &mut self,
        tally: &mut Tally,
        database: &[u8],
    ) -> Result<Reply, EventError> {
        self.begin()?;
        let sent =
            self.channel.send(|out| Ok(encode::command(out, Command::COM_INIT_DB, database)));
        let sent = sent.await;
        self.receive(tally, sent).await
    }

    /// Runs a prepared statement, reads and forgets all results. Hot path: no allocation.
    /// The tally gets rows and bytes, as with `execute`.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    #[inline]
    pub async fn run(
        &mut self,
        tally: &mut Tally,
        statement: &Prepared,
        values: &[Value<'_>],
    ) -> Result<Reply, EventError> {
        self.begin()?;
        let sent = self.channel.send(|out| encode::run(out, statement, values)).await;
        self.receive(tally, sent).await
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn prepare(&mut self, sql: &str) -> Result<Prepared, Error> {
        self.begin_limited().map_err(|e| self.error(e))?;
        match self.exchange_prepare(sql).await {
            Ok(prepared) => {
                self.end();
                prepared.map_err(|e| self.error(e))
            }
            Err(broken) => {
                let event = self.fail(&broken);
                Err(self.error(event))
            }
        }
    }

    async fn exchange_prepare(
        &mut self,
        sql: &str,
    ) -> Result<Result<Prepared, EventError>, Broken> {
        let write =
            |out: &mut Vec<u8>| Ok(encode::command(out, Command::COM_STMT_PREPARE, sql.as_bytes()));
        self.channel.send(write).await?;
        let mut packet = Vec::new();
        let parting = self.channel.packet(&mut packet).await?;
        if packet.first() == Some(&0xFF) {
            return Ok(Err(self.refuse(&packet, parting)));
        }
        let (id, columns, parameters) = packet::prepared(&packet)?;
        for count in [parameters, columns] {
            let end = u32::from(count > 0 && !self.no_eof);
            for _ in 0..u32::from(count) + end {
                self.channel.packet(&mut packet).await?;
            }
        }
        Ok(Ok(Prepared { id, parameters }))
    }

    /// Lets the server forget a prepared statement. It sends no answer.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn forget(&mut self, statement: Prepared) -> Result<(), Error> {
        self.begin().map_err(|e| self.error(e))?;
        let write = |out: &mut Vec<u8>| {
            Ok(encode::command(out, Command::COM_STMT_CLOSE, &statement.id.to_le_bytes()))
        };
        match self.channel.send(write).await {
            Ok(_) => {
                self.busy = false;
                Ok(())
            }
            Err(broken) => {
                let event = self.fail(&broken);
                Err(self.error(event))
            }
        }
    }

    /// Says good-bye.
    pub async fn quit(&mut self) {
        if self.begin().is_ok() {
            let write = |out: &mut Vec<u8>| Ok(encode::command(out, Command::COM_QUIT, &[]));
            let _ = self.channel.send(write).await;
            self.fail(&Broken::Fault(Fault::Closed));
            self.text = String::from("we said good-bye");
        }
    }

    /// Text of the last error.
    pub fn error_text(&self) -> &str {
        &self.text
    }

    /// The server's number for this connection.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Process id of whoever listens at the other end of a unix socket, as the kernel knows it.
    pub fn peer_pid(&self) -> Option<u32> {
        self.channel.link.peer_pid()
    }

    /// Product and version.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The target this session was opened on.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Name of the cipher and version of TLS, if it is on.
    pub fn cipher(&self) -> Option<(String, String)> {
        self.channel.link.cipher()
    }

    /// Whether the session can still be used.
    pub fn is_usable(&self) -> bool {
        self.gone.is_none() && !self.busy
    }

    /// Gives the session another flag that ends its waiting, for what must still be done after a stop.
    pub fn set_abandon(&mut self, abandon: &Stop) {
        self.channel.link.set_abandon(abandon);
    }

    /// No statement of this session may take longer.
    pub fn limit_statements(&mut self, time: Duration) {
        self.channel.link.set_limit(Some(Limit::from_now(time)));
    }

    /// Statements of this session may take as long as the server lives: data being made, indexes being read. Once nothing
    /// has come for the time that others have, a second session asks for a sign of life. For sessions that block.
    pub fn allow_long_statements(&mut self) {
        let target = self.target.clone();
        let witness = Arc::new(move |abandon: &Stop| target.answers(abandon));
        let limit = Limit::with_witness(self.target.asked_control_time(), witness);
        self.channel.link.set_limit(Some(limit));
    }

    pub(super) fn set_identity(&mut self, identity: Arc<Identity>) {
        self.identity = identity;
    }

    /// A statement begins.
    #[inline]
    pub(super) fn begin(&mut self) -> Result<(), EventError> {
        if let Some(gone) = self.gone {
            return Err(gone);
        }
        if self.busy || !self.channel.is_idle() {
            let why = "the reply to an earlier statement was not read to its end";
            return Err(self.fail(&Broken::Malformed(Malformed(why))));
        }
        self.busy = true;
        if self.limited_once {
            self.limited_once = false;
            self.channel.link.set_limit(None);
        }
        let Session { channel, target, .. } = self;
        channel.link.restart_limit(|| target.control_time());
        Ok(())
    }

    /// The same for a statement by which a worker gets ready. The load ends its events; nothing else would end this one.
    pub(super) fn begin_limited(&mut self) -> Result<(), EventError> {
        self.begin()?;
        if !self.channel.link.has_limit() {
            self.limited_once = true;
            let time = self.target.asked_control_time();
            self.channel.link.set_limit(Some(Limit::from_now(time)));
            self.channel.link.restart_limit(|| self.target.control_time());
        }
        Ok(())
    }

    /// A statement has ended and the session lives on.
    pub(super) fn end(&mut self) {
        self.busy = false;
        self.channel.rest();
    }

    /// Reads the reply to what was sent.
    #[inline]
    pub(super) async fn receive(
        &mut self,
        tally: &mut Tally,
        sent: Result<usize, Broken>,
    ) -> Result<Reply, EventError> {
        match sent {
            Ok(bytes) => tally.bytes_sent += bytes as u64,
            Err(broken) => return Err(self.fail(&broken)),
        }
        let mut scan = Scan::new(self.channel.sequence, self.no_eof);
        match self.scan(&mut scan, tally).await? {
            true => Ok(scan.reply()),
            false => {
                self.channel.sequence = scan.sequence();
                let _ = self.channel.answer(&[]).await;
                let why = "the server asked for a file, and nobody had offered one";
                Err(self.fail(&Broken::Malformed(Malformed(why))))
            }
        }
    }

    /// Reads on until the reply ends (`true`) or the server asks for a file (`false`).
    #[inline]
    pub(super) async fn scan(
        &mut self,
        scan: &mut Scan,
        tally: &mut Tally,
    ) -> Result<bool, EventError> {
        let before = scan.reply().rows;
        let mut refusal = None;
        let end = {
            let Session { channel, text, state, .. } = self;
            let mut note = |packet: &[u8]| refusal = Some(note_refusal(packet, text, state));
            poll_fn(|_| channel.poll_reply(scan, &mut tally.bytes_received, &mut note)).await
        };
        tally.rows += scan.reply().rows - before;
        match end {
            Ok(End::Done) => {
                self.busy = false;
                Ok(true)
            }
            Ok(End::File) => Ok(false),
            Ok(End::Refused { parting }) => Err(match refusal {
                Some(Ok(code)) => self.refused(code, parting),
                Some(Err(malformed)) => self.fail(&malformed.into()),
                None => self.fail(&Malformed("an error without a packet").into()),
            }),
            Err(broken) => Err(self.fail(&broken)),
        }
    }

    /// Notes an error packet of the server that was read whole.
    pub(super) fn refuse(&mut self, packet: &[u8], parting: bool) -> EventError {
        match note_refusal(packet, &mut self.text, &mut self.state) {
            Ok(code) => self.refused(code, parting),
            Err(malformed) => self.fail(&malformed.into()),
        }
    }

    fn refused(&mut self, code: u16, parting: bool) -> EventError {
        self.busy = false;
        self.code = code;
        let mut error = EventError { kind: ErrorKind::Server, code };
        if parting || PARTING.contains(&code) {
            error.kind = ErrorKind::Lost;
            self.gone = Some(error);
        }
        error
    }

    /// The session is of no use any more.
    #[cold]
    pub(super) fn fail(&mut self, broken: &Broken) -> EventError {
        use rustix::io::Errno;
        let lost = |code: u16| EventError { kind: ErrorKind::Lost, code };
        let protocol = EventError { kind: ErrorKind::Protocol, code: 0 };
        let (error, text) = match broken {
            Broken::Malformed(malformed) => (protocol, malformed.0.to_owned()),
            Broken::Fault(Fault::Tls(error)) => (protocol, format!("TLS: {error}")),
            Broken::Fault(Fault::Closed) => (lost(0), "the server closed the connection".into()),
            Broken::Fault(Fault::Abandoned) => {
                self.abandoned = true;
                (lost(0), "we gave up waiting because we were told to stop".into())
            }
            Broken::Fault(Fault::TimedOut(time)) => {
                let text = format!("no answer within {}", show_time(*time));
                (lost(Errno::TIMEDOUT.raw_os_error() as u16), text)
            }
            Broken::Fault(Fault::Silent(time)) => {
                let time = show_time(*time);
                let text = format!("no answer for {time}, and none to a second session either");
                (lost(Errno::TIMEDOUT.raw_os_error() as u16), text)
            }
            Broken::Fault(Fault::Os(errno)) => {
                let text = std::io::Error::from(*errno).to_string();
                (lost(errno.raw_os_error() as u16), text)
            }
        };
        self.gone = Some(error);
        self.code = error.code;
        self.text = text;
        error
    }

    /// The last error with its words.
    pub(crate) fn error(&self, event: EventError) -> Error {
        match event.kind {
            ErrorKind::Server => Error::Server {
                code: event.code,
                state: String::from_utf8_lossy(&self.state).into_owned(),
                text: self.text.clone(),
            },
            ErrorKind::Lost if self.abandoned => Error::Abandoned,
            ErrorKind::Lost => Error::Lost { why: self.text.clone(), code: event.code },
            ErrorKind::Protocol => Error::Protocol(self.text.clone()),
        }
    }
}

/// Keeps the words of an error packet, in memory that is used again; gives its code.
fn note_refusal(packet: &[u8], text: &mut String, state: &mut [u8; 5]) -> Result<u16, Malformed> {
    let refusal = packet::refusal(packet)?;
    text.clear();
    push_words(text, refusal.text);
    *state = refusal.state.try_into().unwrap_or(*b"HY000");
    Ok(refusal.code)
}
