//! From a fresh connection to a session: greeting, TLS, login.

use super::auth::Credentials;
use super::packets::{ChannelError, PacketChannel};
use super::wire::constants::{CapabilityFlags as Can, MariadbCapabilities};
use super::wire::login_packets::{LATIN1, LoginPacket, UTF8, write_login, write_tls_request};
use super::wire::packet::{self, GreetingPacket};
use super::wire::{ProtocolError, to_shown_text};
use super::{Error, Target};
use crate::client::transport::TransportError;
use crate::client::transport::tls;
use crate::plan::SslMode;

/// Bit of SslRequest and response that MariaDB's own clients leave out.
const NOT_MARIADB: Can = Can::LONG_PASSWORD;

/// What a login found out.
pub(super) struct LoginOutcome {
    /// The server's number for the connection.
    pub(super) id: u64,
    /// Version text.
    pub(super) version: String,
    /// The server sends no EOF packets.
    pub(super) no_eof: bool,
}

/// What a session asks for besides.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoginOptions {
    /// Several statements in one text.
    pub(super) multi_statements: bool,
    /// LOAD DATA LOCAL.
    pub(super) files: bool,
    /// All that is sent is ASCII.
    pub(super) ascii: bool,
}

/// Logs in.
pub(super) async fn log_in(
    channel: &mut PacketChannel,
    target: &Target,
    options: LoginOptions,
) -> Result<LoginOutcome, Error> {
    let failed = |broken: ChannelError| target.connect_error(broken);
    let mut packet = Vec::new();
    channel.read_packet(&mut packet).await.map_err(failed)?;
    if packet.first() == Some(&0xFF) {
        return Err(refusal_error(target, &packet, &[]));
    }
    let greeting = packet::parse_greeting(&packet).map_err(|m| failed(m.into()))?;
    let secure = wants_tls(target, &greeting)?;
    let (can, extended) = common_capabilities(target, &greeting, options, secure);
    // ASCII means the same in both: the server then converts neither texts nor rows.
    let character_set = if options.ascii && greeting.collation == LATIN1 { LATIN1 } else { UTF8 };
    if secure {
        let mut ask = Vec::new();
        write_tls_request(&mut ask, can, extended, character_set);
        channel.send_payload(&ask).await.map_err(failed)?;
        let config = target.tls_setup().config.clone().expect("a mode that uses TLS has one");
        let name = tls::server_name(target.host_name())?;
        channel.transport.start_tls(config, name).await.map_err(|f| failed(f.into()))?;
    }
    let credentials = target.credentials(channel.transport.is_secure());
    // A method we can't answer to may not be the account's: the server will ask for that one.
    let (method, first) = match credentials.first_answer(&greeting.plugin, &greeting.nonce) {
        Ok(first) => (greeting.plugin.clone(), first),
        Err(_) => (String::from("mysql_native_password"), Vec::new()),
    };
    let pid = std::process::id().to_string();
    let login = LoginPacket {
        capabilities: can,
        extended,
        character_set,
        user: target.user(),
        proof: &first,
        database: target.plan().database.as_deref(),
        method: &method,
        attributes: &connect_attributes(&pid),
    };
    let mut response = Vec::new();
    write_login(&mut response, &login);
    channel.send_payload(&response).await.map_err(failed)?;
    exchange_auth_packets(channel, target, &credentials, method, greeting.nonce, packet).await?;
    let no_eof = can.contains(Can::DEPRECATE_EOF);
    Ok(LoginOutcome { id: greeting.id, version: greeting.version, no_eof })
}

/// Most packets of a login; a server that goes on asking is none. An account may have many methods, and each of them
/// takes up to three.
const MOST_PACKETS: usize = 24;

/// Asks and answers until the server says yes or no. A method that we can't answer to may be one of several that the
/// account has: as the server's own clients do, we answer with nothing, so that the server tries the next one.
async fn exchange_auth_packets(
    channel: &mut PacketChannel,
    target: &Target,
    credentials: &Credentials<'_>,
    mut method: String,
    mut nonce: Vec<u8>,
    mut packet: Vec<u8>,
) -> Result<(), Error> {
    // What speaks against the methods so far; it says more than the server does in the end.
    let mut cannot: Vec<String> = Vec::new();
    // Whatever the server asks by such a method, the answer stays nothing.
    let mut is_mute = false;
    let failed = |cannot: &[String], broken: ChannelError| match (cannot, broken) {
        (_, broken @ ChannelError::Fault(TransportError::Abandoned)) | ([], broken) => {
            target.connect_error(broken)
        }
        (cannot, _) => target.login_error(0, cannot.join("; ")),
    };
    for _ in 0..MOST_PACKETS {
        channel.read_packet(&mut packet).await.map_err(|broken| failed(&cannot, broken))?;
        let answer = match (packet.first(), &method[..]) {
            (Some(0), _) => return Ok(()),
            (Some(0xFF), _) => return Err(refusal_error(target, &packet, &cannot)),
            (Some(0xFE), _) => {
                (method, nonce) =
                    packet::parse_auth_switch(&packet).map_err(|m| failed(&cannot, m.into()))?;
                is_mute = false;
                credentials.first_answer(&method, &nonce).map(Some)
            }
            (Some(_), _) if is_mute => Ok(Some(Vec::new())),
            (Some(1), _) => credentials.next_answer(&method, &nonce, &packet[1..]),
            (Some(_), "parsec") => credentials.next_answer(&method, &nonce, &packet),
            _ => {
                let broken = ProtocolError("no login packet begins like this").into();
                return Err(failed(&cannot, broken));
            }
        };
        let answer = answer.unwrap_or_else(|why| {
            cannot.push(why);
            is_mute = true;
            Some(Vec::new())
        });
        if let Some(answer) = answer {
            channel.send_payload(&answer).await.map_err(|broken| failed(&cannot, broken))?;
        }
    }
    Err(failed(&cannot, ProtocolError("the login takes too many steps").into()))
}

/// An error packet instead of a welcome. Where there were methods that we can't answer to, they come first: what the
/// server says then is about the empty answers it got.
fn refusal_error(target: &Target, packet: &[u8], cannot: &[String]) -> Error {
    match packet::parse_error(packet) {
        Ok(refusal) => {
            let text = to_shown_text(refusal.text);
            if cannot.is_empty() {
                return target.login_error(refusal.code, text);
            }
            let why = cannot.join("; ");
            target.login_error(0, format!("{why}; the server says: {} {text}", refusal.code))
        }
        Err(malformed) => target.connect_error(malformed.into()),
    }
}

/// Whether to speak TLS with this server.
fn wants_tls(target: &Target, greeting: &GreetingPacket) -> Result<bool, Error> {
    let offered = greeting.capabilities.contains(Can::SSL);
    match target.tls_setup().mode {
        SslMode::Disabled => Ok(false),
        // Nobody listens on a socket of this machine, so TLS must be asked for there.
        SslMode::Preferred => Ok(offered && !target.is_socket()),
        _ if offered => Ok(true),
        _ => Err(Error::Tls(format!(
            "{} offers none, and --ssl-mode asks for it",
            target.address_text()
        ))),
    }
}

/// What both sides can do.
fn common_capabilities(
    target: &Target,
    greeting: &GreetingPacket,
    options: LoginOptions,
    secure: bool,
) -> (Can, MariadbCapabilities) {
    let mut wanted = Can::LONG_FLAG
        | Can::PROTOCOL_41
        | Can::TRANSACTIONS
        | Can::SECURE_CONNECTION
        | Can::MULTI_RESULTS
        | Can::PS_MULTI_RESULTS
        | Can::PLUGIN_AUTH
        | Can::PLUGIN_AUTH_LENENC_CLIENT_DATA
        | Can::CONNECT_ATTRS
        | Can::DEPRECATE_EOF
        | NOT_MARIADB;
    wanted.set(Can::SSL, secure);
    wanted.set(Can::CONNECT_WITH_DB, target.plan().database.is_some());
    wanted.set(Can::MULTI_STATEMENTS, options.multi_statements);
    wanted.set(Can::LOCAL_FILES, options.files);
    let both = wanted & greeting.capabilities;
    // Columns of a statement run again need not be sent again.
    let mut extended = MariadbCapabilities::CACHE_METADATA;
    if !both.contains(Can::DEPRECATE_EOF) {
        extended = MariadbCapabilities::empty();
    }
    (both, extended & greeting.extended)
}

/// How the server's own lists shall name us.
fn connect_attributes(pid: &str) -> [(&str, &str); 6] {
    [
        ("program_name", "sweat"),
        ("_client_name", "sweat"),
        ("_client_version", env!("CARGO_PKG_VERSION")),
        ("_os", std::env::consts::OS),
        ("_platform", std::env::consts::ARCH),
        ("_pid", pid),
    ]
}
