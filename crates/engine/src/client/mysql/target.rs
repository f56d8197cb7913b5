//! An address with everything needed to log in.

use std::net::{SocketAddr, ToSocketAddrs};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::auth::Credentials;
use super::login::{self, LoginOptions};
use super::packets::{ChannelError, PacketChannel};
use super::{Error, ServerIdentity, Session};
use crate::base::reactor::{self, block_on};
use crate::base::units::show_time;
use crate::base::{Clock as _, RealClock, Secret, Stop};
use crate::client::transport::Transport;
use crate::client::transport::tls;
use crate::client::transport::{ServerEndpoint, TransportError};
use crate::plan::{AddressPlan, Protocol};

/// Where servers put their socket, in the order we look.
const SOCKETS: [&str; 5] = [
    "/run/mysqld/mysqld.sock",
    "/var/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
    "/tmp/mariadb.sock",
];
/// Time to connect and log in if none was asked for.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Time for a statement of the control plane if none was asked for.
const CONTROL_TIME: Duration = Duration::from_secs(30);
/// The same, and to connect, once a server did not answer: until it does, nobody waits for long again.
const SILENT_TIME: Duration = Duration::from_secs(2);
/// Time to end a statement, from connecting on: someone waits for us to stop.
const KILL_TIME: Duration = Duration::from_millis(800);
const PORT: u16 = 3306;

/// An address with everything needed to log in; opens sessions. Copies are cheap and share what is known.
#[derive(Clone, Debug)]
pub struct Target {
    known: Arc<TargetState>,
    options: LoginOptions,
    /// Other servers that sessions of a load are dealt to.
    siblings: Arc<[Target]>,
}

#[derive(Debug)]
struct TargetState {
    plan: AddressPlan,
    endpoints: Vec<ServerEndpoint>,
    user: String,
    tls: tls::TlsSetup,
    server_key: Option<Vec<u8>>,
    /// By the version text of the greeting: a server may come back as another.
    identity: OnceLock<Arc<ServerIdentity>>,
    /// It did not answer when last asked.
    is_silent: Arc<AtomicBool>,
}

impl Target {
    /// Resolves names and reads key files; doesn't connect.
    ///
    /// # Errors
    /// When a name can't be resolved or a file can't be read.
    pub fn new(plan: &AddressPlan) -> Result<Target, Error> {
        Target::from_plan(plan, Arc::default())
    }

    /// The same server by another plan: another database, say. What one learns of its silence holds for both.
    ///
    /// # Errors
    /// As `new`.
    pub fn with_plan(&self, plan: &AddressPlan) -> Result<Target, Error> {
        Target::from_plan(plan, self.known.is_silent.clone())
    }

    fn from_plan(plan: &AddressPlan, is_silent: Arc<AtomicBool>) -> Result<Target, Error> {
        let server_key = match &plan.server_public_key_path {
            Some(path) => Some(std::fs::read(path).map_err(|e| {
                Error::TlsSetup(format!("read the server's key {}: {e}", path.display()))
            })?),
            None => None,
        };
        let known = TargetState {
            endpoints: resolve_endpoints(plan)?,
            user: plan.user.clone().unwrap_or_else(system_user),
            tls: tls::read_tls_setup(&plan.ssl)?,
            server_key,
            identity: OnceLock::new(),
            is_silent,
            plan: plan.clone(),
        };
        let others = plan.others.iter().map(|other| Target::from_plan(other, Arc::default()));
        let (options, siblings) = (LoginOptions::default(), others.collect::<Result<_, _>>()?);
        Ok(Target { known: Arc::new(known), options, siblings })
    }

    /// The same target with other servers that sessions of a load go to in turn.
    #[must_use]
    pub fn with_siblings(mut self, siblings: Vec<Target>) -> Target {
        self.siblings = siblings.into();
        self
    }

    /// The server of the session with this number, from 0: this target's, then each sibling's, and so on in turn.
    pub fn of_session(&self, number: usize) -> &Target {
        match number % (self.siblings.len() + 1) {
            0 => self,
            place => &self.siblings[place - 1],
        }
    }

    /// This server and each that sessions of a load are dealt to besides, in their order.
    pub fn all_servers(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(self).chain(self.siblings.iter())
    }

    /// How many of these sessions go to each server; nothing where there is one server only.
    pub fn dealt_sessions(&self, sessions: Range<usize>) -> Vec<(String, usize)> {
        if self.siblings.is_empty() {
            return Vec::new();
        }
        let servers = self.siblings.len() + 1;
        let of = |(place, server): (usize, &Target)| {
            let count = sessions.clone().filter(|number| number % servers == place).count();
            (server.address_text(), count)
        };
        self.all_servers().enumerate().map(of).collect()
    }

    /// The same target, whose sessions may be given several statements in one text.
    #[must_use]
    pub fn with_multi_statements(mut self) -> Target {
        self.options.multi_statements = true;
        self
    }

    /// The same target, whose sessions send nothing but ASCII: they may have the server's own character set.
    #[must_use]
    pub fn with_ascii_statements(mut self) -> Target {
        self.options.ascii = true;
        self
    }

    /// What was asked.
    pub fn plan(&self) -> &AddressPlan {
        &self.known.plan
    }

    /// Account name.
    pub fn user(&self) -> &str {
        &self.known.user
    }

    /// The address in words: `unix /run/mysqld/mysqld.sock`, `tcp db1:3306`.
    pub fn address_text(&self) -> String {
        match &self.known.endpoints[0] {
            ServerEndpoint::Unix(path) => format!("unix {}", path.display()),
            ServerEndpoint::Tcp(address) => {
                let host = self.host_name();
                match host.contains(':') {
                    true => format!("tcp [{host}]:{}", address.port()),
                    false => format!("tcp {host}:{}", address.port()),
                }
            }
        }
    }

    /// Whether the server runs on this machine, as far as the address tells.
    pub fn is_local(&self) -> bool {
        self.known.endpoints.iter().all(|endpoint| match endpoint {
            ServerEndpoint::Unix(_) => true,
            ServerEndpoint::Tcp(address) => address.ip().is_loopback(),
        })
    }

    /// Whether the way to the server is a unix socket.
    pub fn is_socket(&self) -> bool {
        matches!(self.known.endpoints[0], ServerEndpoint::Unix(_))
    }

    /// Opens a blocking session for the control plane; waiting ends when `abandon` is set, and after the time that a
    /// statement may take. It may `load_local`, and knows a Percona server from a MySQL.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn connect(&self, abandon: &Stop) -> Result<Session, Error> {
        check_not_reactor()?;
        let options = LoginOptions { files: true, ..self.options };
        let time = self.shorten_if_silent(self.connect_time());
        let mut session =
            block_on(self.open_session_within(abandon, options, time)).inspect_err(|error| {
                if is_silence(error) {
                    self.mark_silent();
                }
            })?;
        session.limit_statements(self.asked_control_time());
        if self.known.identity.get().is_none() {
            let comment = session.query_scalar("SELECT @@version_comment")?.unwrap_or_default();
            let identity = session.identity().with_comment(&comment);
            let _ = self.known.identity.set(Arc::new(identity));
        }
        if let Some(identity) = self.known_identity(&session.identity().text) {
            session.set_identity(identity);
        }
        Ok(session)
    }

    /// Opens a session for a worker: on a reactor's thread it attaches itself, elsewhere it blocks.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn open_session(&self, abandon: &Stop) -> Result<Session, Error> {
        // On the heap, so that a worker's future need not be as large as a login.
        Box::pin(self.open_session_within(abandon, self.options, self.connect_time())).await
    }

    /// Ends the statement that session `id` is running, from a session of its own; the other lives on. A server that did
    /// not answer when last asked is not tried.
    ///
    /// # Errors
    /// When no session can be had or the server refuses, or does not answer within a second.
    pub fn kill_statement(&self, id: u64) -> Result<(), Error> {
        check_not_reactor()?;
        if self.is_silent() {
            return Err(Error::Lost { why: "the server does not answer".to_owned(), code: 0 });
        }
        let (time, clock) = (KILL_TIME.min(self.connect_time()), RealClock::start_now());
        let killed = block_on(async {
            let mut session =
                self.open_session_within(&Stop::new(), LoginOptions::default(), time).await?;
            session.limit_statements(time.saturating_sub(clock.now().into()));
            session.fetch_rows(&format!("KILL QUERY {id}")).await
        });
        match killed {
            // The statement, or its session, was through by itself.
            Ok(_) | Err(Error::Server { code: 1094, .. }) => Ok(()),
            Err(error) => {
                if is_silence(&error) {
                    self.mark_silent();
                }
                Err(error)
            }
        }
    }

    /// Whether the server answers at all; a refusal is an answer. Blocks, for as long as a statement may take.
    pub fn is_answering(&self, abandon: &Stop) -> bool {
        let time = self.control_time().min(self.connect_time());
        match block_on(self.open_session_within(abandon, LoginOptions::default(), time)) {
            Ok(_) | Err(Error::Login { .. } | Error::Server { .. } | Error::Tls(_)) => {
                self.note_answer();
                true
            }
            Err(error) => {
                if is_silence(&error) {
                    self.mark_silent();
                }
                false
            }
        }
    }

    /// The server gave no answer where one was due: until it gives one, waits for it are short.
    pub fn mark_silent(&self) {
        self.known.is_silent.store(true, Ordering::Relaxed);
    }

    /// Whether the server gave no answer when it was last asked.
    pub fn is_silent(&self) -> bool {
        self.known.is_silent.load(Ordering::Relaxed)
    }

    /// The server has answered.
    pub(super) fn note_answer(&self) {
        if self.is_silent() {
            self.known.is_silent.store(false, Ordering::Relaxed);
        }
    }

    /// How long a statement of the control plane may take.
    pub fn control_time(&self) -> Duration {
        self.shorten_if_silent(self.asked_control_time())
    }

    /// The same where the server has not been silent.
    pub(super) fn asked_control_time(&self) -> Duration {
        self.known.plan.control_timeout.filter(|t| !t.is_zero()).unwrap_or(CONTROL_TIME)
    }

    fn shorten_if_silent(&self, time: Duration) -> Duration {
        if self.is_silent() { time.min(SILENT_TIME) } else { time }
    }

    fn connect_time(&self) -> Duration {
        self.known.plan.connect_timeout.filter(|t| !t.is_zero()).unwrap_or(CONNECT_TIME)
    }

    async fn open_session_within(
        &self,
        abandon: &Stop,
        options: LoginOptions,
        time: Duration,
    ) -> Result<Session, Error> {
        let mut failure = None;
        for endpoint in &self.known.endpoints {
            let silence = self.asked_control_time();
            let transport = match Transport::connect(endpoint, abandon, time, silence).await {
                Ok(transport) => transport,
                Err(TransportError::Abandoned) => return Err(Error::Abandoned),
                Err(fault) => {
                    failure = Some(fault);
                    continue;
                }
            };
            let mut channel = PacketChannel::new(transport);
            let outcome = login::log_in(&mut channel, self, options).await?;
            channel.transport.set_limit(None);
            channel.shrink_buffers();
            self.note_answer();
            let identity = self
                .known_identity(&outcome.version)
                .unwrap_or_else(|| Arc::new(ServerIdentity::from_greeting(&outcome.version)));
            return Ok(Session::new(channel, self.clone(), &outcome, identity));
        }
        Err(self.connect_error(failure.unwrap_or(TransportError::Closed).into()))
    }

    fn known_identity(&self, version: &str) -> Option<Arc<ServerIdentity>> {
        self.known.identity.get().filter(|known| known.text == version).cloned()
    }

    pub(super) fn tls_setup(&self) -> &tls::TlsSetup {
        &self.known.tls
    }

    /// The name a certificate must carry.
    pub(super) fn host_name(&self) -> &str {
        self.known.plan.host.as_deref().unwrap_or("localhost")
    }

    pub(super) fn credentials(&self, secure: bool) -> Credentials<'_> {
        Credentials {
            password: self.known.plan.password.as_ref().map_or("", Secret::reveal),
            is_encrypted: secure,
            is_socket: self.is_socket(),
            clear_allowed: self.known.plan.enable_cleartext_plugin,
            server_key: self.known.server_key.as_deref(),
            ask_key: self.known.plan.get_server_public_key,
        }
    }

    pub(super) fn login_error(&self, code: u16, text: String) -> Error {
        Error::Login { address: self.address_text(), user: self.known.user.clone(), code, text }
    }

    /// What went wrong before there was a session.
    pub(super) fn connect_error(&self, broken: ChannelError) -> Error {
        use rustix::io::Errno;
        let (why, code) = match broken {
            ChannelError::Malformed(malformed) => {
                let address = self.address_text();
                return Error::Protocol(format!(
                    "{address} does not speak the MySQL protocol: {}",
                    malformed.0
                ));
            }
            ChannelError::Fault(TransportError::Abandoned) => return Error::Abandoned,
            ChannelError::Fault(TransportError::Tls(error)) => {
                return Error::Tls(format!(
                    "{}: {}",
                    self.address_text(),
                    tls::explain_tls_error(&error)
                ));
            }
            ChannelError::Fault(TransportError::Closed) => {
                ("the server closed the connection during the login".to_owned(), 0)
            }
            ChannelError::Fault(TransportError::TimedOut(time) | TransportError::Silent(time)) => {
                let code = Errno::TIMEDOUT.raw_os_error() as u16;
                (format!("no answer within {}", show_time(time)), code)
            }
            ChannelError::Fault(TransportError::Os(errno)) => {
                let words = match (errno, &self.known.endpoints[0]) {
                    (Errno::NOENT, ServerEndpoint::Unix(_)) => {
                        "there is no such socket; check that the server runs and where its socket \
                         is (-S), or connect by TCP (-h, --protocol=tcp)"
                            .to_owned()
                    }
                    (Errno::CONNREFUSED, ServerEndpoint::Unix(_)) => {
                        "no server listens on this socket: it has ended".to_owned()
                    }
                    (Errno::CONNREFUSED, ServerEndpoint::Tcp(_)) => {
                        "connection refused: no server listens on this port".to_owned()
                    }
                    _ => std::io::Error::from(errno).to_string(),
                };
                (words, errno.raw_os_error() as u16)
            }
        };
        Error::Connect { address: self.address_text(), why, code }
    }
}

/// Whether an error is that nothing came.
fn is_silence(error: &Error) -> bool {
    let timed_out = rustix::io::Errno::TIMEDOUT.raw_os_error() as u16;
    matches!(error, Error::Connect { code, .. } | Error::Lost { code, .. } if *code == timed_out)
}

/// The control plane blocks, which a reactor's thread must not.
fn check_not_reactor() -> Result<(), Error> {
    match reactor::is_running() {
        true => Err(Error::Protocol("the control plane can't block a reactor's thread".into())),
        false => Ok(()),
    }
}

/// Where to connect to, in the order to try.
fn resolve_endpoints(plan: &AddressPlan) -> Result<Vec<ServerEndpoint>, Error> {
    let host = plan.host.as_deref().filter(|host| !host.is_empty());
    let socket = match plan.protocol {
        Some(Protocol::Socket) => true,
        Some(Protocol::Tcp) => false,
        None => host.is_none_or(|host| host == "localhost"),
    };
    if socket {
        let path = plan.socket.clone().unwrap_or_else(default_socket);
        return Ok(vec![ServerEndpoint::Unix(path)]);
    }
    let host = host.unwrap_or("localhost");
    let port = plan.port.unwrap_or(PORT);
    let address = format!("tcp {host}:{port}");
    match (host, port).to_socket_addrs() {
        Ok(found) => {
            let mut found: Vec<SocketAddr> = found.collect();
            found.sort_by_key(SocketAddr::is_ipv6);
            match found.is_empty() {
                true => Err(Error::Connect {
                    address,
                    why: "the name does not resolve to an address".into(),
                    code: 0,
                }),
                false => Ok(found.into_iter().map(ServerEndpoint::Tcp).collect()),
            }
        }
        Err(error) => {
            let code = error.raw_os_error().unwrap_or(0) as u16;
            Err(Error::Connect { address, why: error.to_string(), code })
        }
    }
}

fn default_socket() -> PathBuf {
    let found = SOCKETS.iter().find(|path| Path::new(path).exists());
    PathBuf::from(found.unwrap_or(&SOCKETS[0]))
}

/// The operating system's user, as every mysql client takes it.
fn system_user() -> String {
    let id = rustix::process::geteuid().as_raw();
    let table = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = table.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(id)).then(|| name.to_owned())
    });
    found.unwrap_or_else(|| if id == 0 { "root".into() } else { id.to_string() })
}
