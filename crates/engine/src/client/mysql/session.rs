//! One connection: the hot path.

use std::future::{Future as _, poll_fn};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use super::login::LoginOutcome;
use super::packets::{ChannelError, PacketChannel, ReplyEnd};
use super::wire::constants::CommandByte;
use super::wire::reply::ReplyScanner;
use super::wire::{ProtocolError, encode, packet, push_shown_text};
use super::{Error, ServerIdentity, Target};
use crate::base::Stop;
use crate::base::units::show_time;
use crate::client::transport::{TransportError, WaitLimit};
use crate::recorder::{EventError, EventErrorKind, Tally};

/// Errors by which a server says that it closes the session.
const PARTING: [u16; 4] = [1053, 1927, 4031, 3169];

/// Where a session counts the rows that it receives, in `Tally::counts`: workloads that use sessions name it so.
pub const ROWS_COUNTER: usize = 3;

/// One connection. After a lost connection or a protocol error it refuses further use; open another.
pub struct Session {
    pub(super) channel: PacketChannel,
    pub(super) target: Target,
    id: u64,
    identity: Arc<ServerIdentity>,
    pub(super) no_eof: bool,
    /// Why the session is of no use any more.
    gone: Option<EventError>,
    /// It was told to give up.
    abandoned: bool,
    /// A statement is under way: stays set if its future was dropped.
    pub(super) busy: bool,
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
pub struct PreparedStatement {
    /// The server's number for it.
    pub id: u32,
    /// Parameters.
    pub parameters: u16,
}

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue<'a> {
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
pub struct StatementReply {
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
        channel: PacketChannel,
        target: Target,
        outcome: &LoginOutcome,
        identity: Arc<ServerIdentity>,
    ) -> Session {
        Session {
            channel,
            target,
            id: outcome.id,
            identity,
            no_eof: outcome.no_eof,
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
    pub async fn execute(
        &mut self,
        tally: &mut Tally,
        sql: &[u8],
    ) -> Result<StatementReply, EventError> {
        self.start_statement()?;
        let sent = self
            .channel
            .send_packets(|out| Ok(encode::write_command(out, CommandByte::Query, sql)));
        let sent = sent.await;
        self.receive_reply(tally, sent).await
    }

    /// Changes the default database by the protocol's own command, whose name needs no quotes.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    pub async fn select_db(
        &mut self,
        tally: &mut Tally,
        database: &[u8],
    ) -> Result<StatementReply, EventError> {
        self.start_statement()?;
        let sent = self
            .channel
            .send_packets(|out| Ok(encode::write_command(out, CommandByte::InitDb, database)));
        let sent = sent.await;
        self.receive_reply(tally, sent).await
    }

    /// Runs a prepared statement, reads and forgets all results. Hot path: no allocation.
    /// The tally gets rows and bytes, as with `execute`.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    #[inline]
    pub async fn execute_prepared(
        &mut self,
        tally: &mut Tally,
        statement: &PreparedStatement,
        values: &[ParameterValue<'_>],
    ) -> Result<StatementReply, EventError> {
        self.start_statement()?;
        let sent =
            self.channel.send_packets(|out| encode::write_execute(out, statement, values)).await;
        self.receive_reply(tally, sent).await
    }

    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn prepare(&mut self, sql: &str) -> Result<PreparedStatement, Error> {
        self.prepare_noting(sql, &mut |_| Ok(())).await
    }

    /// The same, and tells the definition of each column of its result.
    pub(super) async fn prepare_noting(
        &mut self,
        sql: &str,
        on_column: &mut dyn FnMut(&[u8]) -> Result<(), ProtocolError>,
    ) -> Result<PreparedStatement, Error> {
        self.start_limited_statement().map_err(|e| self.error_from_event(e))?;
        match self.exchange_prepare(sql, on_column).await {
            Ok(prepared) => {
                self.end_statement();
                prepared.map_err(|e| self.error_from_event(e))
            }
            Err(broken) => {
                let event = self.mark_broken(&broken);
                Err(self.error_from_event(event))
            }
        }
    }

    async fn exchange_prepare(
        &mut self,
        sql: &str,
        on_column: &mut dyn FnMut(&[u8]) -> Result<(), ProtocolError>,
    ) -> Result<Result<PreparedStatement, EventError>, ChannelError> {
        let write = |out: &mut Vec<u8>| {
            Ok(encode::write_command(out, CommandByte::Prepare, sql.as_bytes()))
        };
        self.channel.send_packets(write).await?;
        let mut packet = Vec::new();
        let parting = self.channel.read_packet(&mut packet).await?;
        if packet.first() == Some(&0xFF) {
            return Ok(Err(self.note_error_packet(&packet, parting)));
        }
        let (id, columns, parameters) = packet::parse_prepare_ok(&packet)?;
        for (count, is_result) in [(parameters, false), (columns, true)] {
            for _ in 0..count {
                self.channel.read_packet(&mut packet).await?;
                if is_result {
                    on_column(&packet)?;
                }
            }
            if count > 0 && !self.no_eof {
                self.channel.read_packet(&mut packet).await?;
            }
        }
        Ok(Ok(PreparedStatement { id, parameters }))
    }

    /// Lets the server forget a prepared statement. It sends no answer.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn close_statement(&mut self, statement: PreparedStatement) -> Result<(), Error> {
        self.start_statement().map_err(|e| self.error_from_event(e))?;
        let write = |out: &mut Vec<u8>| {
            Ok(encode::write_command(out, CommandByte::ClosePrepared, &statement.id.to_le_bytes()))
        };
        match self.channel.send_packets(write).await {
            Ok(_) => {
                self.busy = false;
                Ok(())
            }
            Err(broken) => {
                let event = self.mark_broken(&broken);
                Err(self.error_from_event(event))
            }
        }
    }

    /// Says good-bye.
    pub async fn quit(&mut self) {
        if self.start_statement().is_ok() {
            let write = |out: &mut Vec<u8>| Ok(encode::write_command(out, CommandByte::Quit, &[]));
            let _ = self.channel.send_packets(write).await;
            self.mark_broken(&ChannelError::Fault(TransportError::Closed));
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
        self.channel.transport.peer_pid()
    }

    /// Product and version.
    pub fn identity(&self) -> &ServerIdentity {
        &self.identity
    }

    /// The target this session was opened on.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Name of the cipher and version of TLS, if it is on.
    pub fn tls_cipher(&self) -> Option<(String, String)> {
        self.channel.transport.tls_cipher()
    }

    /// Whether the session can still be used.
    pub fn is_usable(&self) -> bool {
        self.gone.is_none() && !self.busy
    }

    /// Gives the session another flag that ends its waiting, for what must still be done after a stop.
    pub fn set_abandon(&mut self, abandon: &Stop) {
        self.channel.transport.set_abandon(abandon);
    }

    /// No statement of this session may take longer.
    pub fn limit_statements(&mut self, time: Duration) {
        self.channel.transport.set_limit(Some(WaitLimit::from_now(time)));
    }

    /// Statements of this session may take as long as the server lives: data being made, indexes being read. Once nothing
    /// has come for the time that others have, a second session asks for a sign of life. For sessions that block.
    pub fn allow_long_statements(&mut self) {
        let target = self.target.clone();
        let witness = Arc::new(move |abandon: &Stop| target.is_answering(abandon));
        let limit = WaitLimit::with_liveness_check(self.target.asked_control_time(), witness);
        self.channel.transport.set_limit(Some(limit));
    }

    pub(super) fn set_identity(&mut self, identity: Arc<ServerIdentity>) {
        self.identity = identity;
    }

    /// A statement begins.
    #[inline]
    pub(super) fn start_statement(&mut self) -> Result<(), EventError> {
        if let Some(gone) = self.gone {
            return Err(gone);
        }
        if self.busy || !self.channel.is_idle() {
            let why = "the reply to an earlier statement was not read completely";
            return Err(self.mark_broken(&ChannelError::Malformed(ProtocolError(why))));
        }
        self.busy = true;
        if self.limited_once {
            self.limited_once = false;
            self.channel.transport.set_limit(None);
        }
        let Session { channel, target, .. } = self;
        channel.transport.restart_limit(|| target.control_time());
        Ok(())
    }

    /// The same for a statement by which a worker gets ready. The load ends its events; nothing else would end this one.
    pub(super) fn start_limited_statement(&mut self) -> Result<(), EventError> {
        self.start_statement()?;
        if !self.channel.transport.has_limit() {
            self.limited_once = true;
            let time = self.target.asked_control_time();
            self.channel.transport.set_limit(Some(WaitLimit::from_now(time)));
            self.channel.transport.restart_limit(|| self.target.control_time());
        }
        Ok(())
    }

    /// A statement has ended and the session lives on.
    pub(super) fn end_statement(&mut self) {
        self.busy = false;
        self.channel.shrink_buffers();
    }

    /// Several statements have ended, one of them in an error with this text.
    pub(super) fn end_failed_statement(&mut self, text: String) {
        self.busy = false;
        self.text = text;
    }

    /// Reads the reply to what was sent.
    #[inline]
    pub(super) async fn receive_reply(
        &mut self,
        tally: &mut Tally,
        sent: Result<usize, ChannelError>,
    ) -> Result<StatementReply, EventError> {
        match sent {
            Ok(bytes) => tally.bytes_sent += bytes as u64,
            Err(broken) => return Err(self.mark_broken(&broken)),
        }
        let mut scan = ReplyScanner::new(self.channel.sequence, self.no_eof);
        match self.scan_reply(&mut scan, tally).await? {
            true => Ok(scan.reply()),
            false => {
                self.channel.sequence = scan.sequence();
                let _ = self.channel.send_payload(&[]).await;
                let why = "the server asked for a file that was not offered";
                Err(self.mark_broken(&ChannelError::Malformed(ProtocolError(why))))
            }
        }
    }

    /// Reads on until the reply ends (`true`) or the server asks for a file (`false`).
    #[inline]
    pub(super) async fn scan_reply(
        &mut self,
        scan: &mut ReplyScanner,
        tally: &mut Tally,
    ) -> Result<bool, EventError> {
        let before = scan.reply().rows;
        let mut refusal = None;
        let end = {
            let Session { channel, text, state, .. } = self;
            let mut note = |packet: &[u8]| refusal = Some(copy_error_packet(packet, text, state));
            poll_fn(|_| channel.poll_reply(scan, &mut tally.bytes_received, &mut note)).await
        };
        tally.counts[ROWS_COUNTER] += scan.reply().rows - before;
        match end {
            Ok(ReplyEnd::Done) => {
                self.busy = false;
                Ok(true)
            }
            Ok(ReplyEnd::File) => Ok(false),
            Ok(ReplyEnd::Refused { parting }) => Err(match refusal {
                Some(Ok(code)) => self.note_server_error(code, parting),
                Some(Err(malformed)) => self.mark_broken(&malformed.into()),
                None => self.mark_broken(&ProtocolError("an error without a packet").into()),
            }),
            Err(broken) => Err(self.mark_broken(&broken)),
        }
    }

    /// Notes an error packet of the server that was read whole.
    pub(super) fn note_error_packet(&mut self, packet: &[u8], parting: bool) -> EventError {
        match copy_error_packet(packet, &mut self.text, &mut self.state) {
            Ok(code) => self.note_server_error(code, parting),
            Err(malformed) => self.mark_broken(&malformed.into()),
        }
    }

    fn note_server_error(&mut self, code: u16, parting: bool) -> EventError {
        self.busy = false;
        self.code = code;
        let mut error = EventError { kind: EventErrorKind::Server, code };
        if parting || PARTING.contains(&code) {
            error.kind = EventErrorKind::Lost;
            self.gone = Some(error);
        }
        error
    }

    /// The session is of no use any more.
    #[cold]
    pub(super) fn mark_broken(&mut self, broken: &ChannelError) -> EventError {
        use rustix::io::Errno;
        let lost = |code: u16| EventError { kind: EventErrorKind::Lost, code };
        let protocol = EventError { kind: EventErrorKind::Protocol, code: 0 };
        let (error, text) = match broken {
            ChannelError::Malformed(malformed) => (protocol, malformed.0.to_owned()),
            ChannelError::Fault(TransportError::Tls(error)) => (protocol, format!("TLS: {error}")),
            ChannelError::Fault(TransportError::Closed) => {
                (lost(0), "the server closed the connection".into())
            }
            ChannelError::Fault(TransportError::Abandoned) => {
                self.abandoned = true;
                (lost(0), "sweat stopped waiting because it was told to stop".into())
            }
            ChannelError::Fault(TransportError::TimedOut(time)) => {
                let text = format!("no answer within {}", show_time(*time));
                (lost(Errno::TIMEDOUT.raw_os_error() as u16), text)
            }
            ChannelError::Fault(TransportError::Silent(time)) => {
                let time = show_time(*time);
                let text = format!("no answer for {time}, and none to a second session either");
                (lost(Errno::TIMEDOUT.raw_os_error() as u16), text)
            }
            ChannelError::Fault(TransportError::Os(errno)) => {
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
    pub(crate) fn error_from_event(&self, event: EventError) -> Error {
        match event.kind {
            EventErrorKind::Server | EventErrorKind::Check => Error::Server {
                code: event.code,
                state: String::from_utf8_lossy(&self.state).into_owned(),
                text: self.text.clone(),
            },
            EventErrorKind::Lost if self.abandoned => Error::Abandoned,
            EventErrorKind::Lost => Error::Lost { why: self.text.clone(), code: event.code },
            EventErrorKind::Protocol => Error::Protocol(self.text.clone()),
        }
    }
}

/// Keeps the words of an error packet, in memory that is used again; gives its code.
fn copy_error_packet(
    packet: &[u8],
    text: &mut String,
    state: &mut [u8; 5],
) -> Result<u16, ProtocolError> {
    let refusal = packet::parse_error(packet)?;
    text.clear();
    push_shown_text(text, refusal.text);
    *state = refusal.state.try_into().unwrap_or(*b"HY000");
    Ok(refusal.code)
}
