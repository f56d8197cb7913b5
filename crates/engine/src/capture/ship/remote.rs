//! A log behind a URL: reads what `sweat ship` serves, and when the connection is lost makes another that goes on where
//! the last whole chunk ended.

use std::io::{self, Cursor, Read, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;

use super::chunk_decoder::{ChunkDecoder, HttpChunk};
use super::live::{IDLE, LiveLog, MarkOffsets, RemoteAccess};
use super::peer::{PeerStream, client_config};
use super::serve::HEARTBEAT;
use super::tail::gap_banner;
use crate::base::http_head::is_pause;
use crate::base::{Clock as _, Nanos, RealClock, Secret, Stop};
use crate::client::HttpUrl;

/// How long the other side may say nothing until it counts as gone: several beats.
const SILENCE: Nanos = Nanos(HEARTBEAT.0 * 4);
/// The pause before the first new connection; each one that fails doubles it.
const PAUSE: Nanos = Nanos(250_000_000);
/// The longest pause.
const MOST_PAUSE: Nanos = Nanos(10_000_000_000);
/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the head of an answer may take.
const HEAD: Nanos = Nanos(10_000_000_000);
/// Bytes of the longest head.
const MOST_HEAD: usize = 16 << 10;

/// Where a log is asked for if the URL names no path.
const DEFAULT_PATH: &str = "/slow";

fn request_head(url: &HttpUrl, access: &RemoteAccess, mark: Option<&str>) -> String {
    let (path, query) = url.path.split_once('?').unwrap_or((&url.path, ""));
    let path = if path == "/" { DEFAULT_PATH } else { path };
    let mut words: Vec<String> =
        query.split('&').filter(|word| !word.is_empty()).map(str::to_owned).collect();
    if let Some(mark) = mark {
        words.retain(|word| !word.starts_with("from="));
        words.push(format!("from={}", mark.replace('%', "%25")));
    }
    words.push("marks=1".to_owned());
    if access.is_packed {
        words.push("zstd=1".to_owned());
    }
    let token = access.token.as_ref().map(Secret::reveal);
    let token = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
    format!(
        "GET {path}?{} HTTP/1.1\r\nHost: {}\r\nUser-Agent: sweat/{}\r\n{token}\r\n",
        words.join("&"),
        url.host_field(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Why a connection was not made.
enum ConnectError {
    /// Another try may do better.
    Later(String),
    /// It is no use.
    Never(String),
}

/// A log behind a URL.
pub(super) struct RemoteLog {
    url: HttpUrl,
    access: RemoteAccess,
    tls: Option<Arc<ClientConfig>>,
    stop: Stop,
    clock: RealClock,
    connection: Option<(PeerStream, ChunkDecoder)>,
    /// When something came last, or when another connection is to be tried.
    heard_at: Nanos,
    retry_at: Nanos,
    pause: Nanos,
    /// Where the last whole chunk ended.
    mark: Option<String>,
    marks: MarkOffsets,
    /// What was made last, and how much of it was given.
    text: Cursor<Vec<u8>>,
    /// Bytes made in all.
    made: u64,
    piece: Vec<u8>,
    notes: Vec<String>,
    /// Whether anything was read at all.
    has_begun: bool,
}

impl RemoteLog {
    pub(super) fn open(
        place: &str,
        access: &RemoteAccess,
        mark: Option<&str>,
        stop: &Stop,
    ) -> anyhow::Result<RemoteLog> {
        let url = HttpUrl::from_text(place).map_err(anyhow::Error::msg);
        let url = url.with_context(|| format!("open {place}"))?;
        if let Some(token) = &access.token {
            let is_clean = token.reveal().bytes().all(|b| b.is_ascii_graphic());
            anyhow::ensure!(is_clean, "a token consists of letters, digits and punctuation");
            anyhow::ensure!(
                url.is_tls || is_loopback(&url.host),
                "open {place}: the token would be sent in clear text\nhint: use https:// or a \
                 tunnel"
            );
        }
        let authority = access.authority.as_deref();
        let tls = if url.is_tls { Some(client_config(authority)?) } else { None };
        let clock = RealClock::start_now();
        let mut marks = MarkOffsets::default();
        if let Some(mark) = mark {
            marks.push(0, mark.to_owned());
        }
        let mut remote = RemoteLog {
            url,
            access: access.clone(),
            tls,
            stop: stop.clone(),
            clock,
            connection: None,
            heard_at: Nanos(0),
            retry_at: Nanos(0),
            pause: PAUSE,
            mark: mark.map(str::to_owned),
            marks,
            text: Cursor::default(),
            made: 0,
            piece: vec![0; 64 << 10],
            notes: Vec::new(),
            has_begun: false,
        };
        match remote.connect() {
            Ok(()) => Ok(remote),
            Err(ConnectError::Later(why) | ConnectError::Never(why)) => {
                anyhow::bail!("open {place}: {why}")
            }
        }
    }

    fn connect(&mut self) -> Result<(), ConnectError> {
        let later = |e: io::Error| ConnectError::Later(e.to_string());
        let HttpUrl { host, port, .. } = &self.url;
        let mut last = "the name does not resolve to an address".to_owned();
        let addresses = (host.as_str(), *port).to_socket_addrs().map_err(later)?;
        let mut socket = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(made) => {
                    socket = Some(made);
                    break;
                }
                Err(e) => last = format!("connect to {address}: {e}"),
            }
        }
        let socket = socket.ok_or(ConnectError::Later(last))?;
        let tls = match &self.tls {
            None => None,
            Some(config) => {
                let name = ServerName::try_from(host.clone());
                let name =
                    name.map_err(|_| ConnectError::Never(format!("{host} is not a host name")))?;
                Some((config, name))
            }
        };
        let mut peer = PeerStream::from_connected(socket, tls).map_err(later)?;
        let head = request_head(&self.url, &self.access, self.mark.as_deref());
        let until = self.clock.now() + HEAD;
        self.send_all(&mut peer, head.as_bytes(), until).map_err(|e| match e.get_ref() {
            // A certificate that is not believed today will not be tomorrow.
            Some(inner) if inner.is::<rustls::Error>() => ConnectError::Never(e.to_string()),
            _ => ConnectError::Later(e.to_string()),
        })?;
        let (chunks, is_packed) = self.read_response_head(&mut peer, until)?;
        let chunks = ChunkDecoder::new(&chunks, is_packed).map_err(later)?;
        self.connection = Some((peer, chunks));
        (self.heard_at, self.pause) = (self.clock.now(), PAUSE);
        Ok(())
    }

    fn send_all(&self, peer: &mut PeerStream, mut bytes: &[u8], until: Nanos) -> io::Result<()> {
        loop {
            let result =
                if bytes.is_empty() { peer.flush().map(|()| 0) } else { peer.write(bytes) };
            match result {
                Ok(_) if bytes.is_empty() => return Ok(()),
                Ok(taken) => bytes = &bytes[taken..],
                Err(e) if !is_pause(&e) || self.clock.now() > until || self.stop.is_set() => {
                    return Err(e);
                }
                Err(_) => {}
            }
        }
    }

    /// Reads the head of the answer; gives what came behind it, and whether that is packed.
    fn read_response_head(
        &self,
        peer: &mut PeerStream,
        until: Nanos,
    ) -> Result<(Vec<u8>, bool), ConnectError> {
        let mut head = Vec::new();
        let mut piece = [0; 2048];
        let end = loop {
            if let Some(end) = memchr::memmem::find(&head, b"\r\n\r\n") {
                break end + 4;
            }
            if head.len() > MOST_HEAD {
                return Err(ConnectError::Never("the server there is not `sweat ship`".to_owned()));
            }
            match peer.read(&mut piece) {
                Ok(0) => return Err(ConnectError::Later("it closed the connection".to_owned())),
                Ok(read) => head.extend_from_slice(&piece[..read]),
                Err(e) if !is_pause(&e) => return Err(ConnectError::Later(e.to_string())),
                Err(_) if self.stop.is_set() => {
                    return Err(ConnectError::Later("interrupted".to_owned()));
                }
                Err(_) if self.clock.now() > until => {
                    return Err(ConnectError::Later("it does not answer".to_owned()));
                }
                Err(_) => {}
            }
        };
        let mut fields = [httparse::EMPTY_HEADER; 64];
        let mut answer = httparse::Response::new(&mut fields);
        if answer.parse(&head[..end]).is_err() {
            return Err(ConnectError::Never("the server there does not speak HTTP".to_owned()));
        }
        let field = |name: &str| {
            let found = answer.headers.iter().find(|field| field.name.eq_ignore_ascii_case(name));
            found.map(|field| String::from_utf8_lossy(field.value).to_ascii_lowercase())
        };
        match answer.code {
            Some(200) => {}
            Some(401) => {
                return Err(ConnectError::Never(
                    "the token is missing or wrong\nhint: --token-file".to_owned(),
                ));
            }
            Some(code) => {
                let said = String::from_utf8_lossy(&head[end..]);
                let said =
                    format!("it answers {code}: {}", said.lines().next().unwrap_or_default());
                let may_change = code >= 500 || code == 408;
                return Err(if may_change {
                    ConnectError::Later(said)
                } else {
                    ConnectError::Never(said)
                });
            }
            None => {
                return Err(ConnectError::Never("the server there does not speak HTTP".to_owned()));
            }
        }
        if field("transfer-encoding").as_deref() != Some("chunked") {
            return Err(ConnectError::Never("the server there is not `sweat ship`".to_owned()));
        }
        let is_packed = field("content-encoding").as_deref() == Some("zstd");
        Ok((head.split_off(end), is_packed))
    }

    fn drop_connection(&mut self, why: &str) {
        if self.connection.take().is_some() {
            self.notes.push(format!("lost the connection to {}: {why}", self.url.host));
        }
        self.retry_at = self.clock.now() + self.pause;
        self.pause = Nanos((self.pause.0 * 2).min(MOST_PAUSE.0));
    }

    /// Makes a new connection if it is time to.
    fn try_reconnect(&mut self) -> io::Result<()> {
        if self.clock.now() < self.retry_at {
            let until = self.retry_at.0.min(self.clock.now().0 + IDLE.0);
            self.clock.sleep_until(Nanos(until));
            return Err(io::ErrorKind::WouldBlock.into());
        }
        match self.connect() {
            Ok(()) => {
                self.notes.push(format!("reconnected to {}", self.url.host));
                if self.mark.is_none() && self.has_begun {
                    let why = "the connection was lost, and there was no mark to continue from";
                    self.notes.push(format!("gap in the log: {why}"));
                    self.text.get_mut().push(b'\n');
                    self.text.get_mut().extend_from_slice(&gap_banner(why));
                    self.made += self.text.get_ref().len() as u64;
                }
                Ok(())
            }
            Err(ConnectError::Never(why)) => Err(io::Error::other(why)),
            Err(ConnectError::Later(why)) => {
                if self.pause == PAUSE {
                    self.notes.push(format!("can't reach {}: {why}", self.url.host));
                }
                self.drop_connection(&why);
                Err(io::ErrorKind::WouldBlock.into())
            }
        }
    }

    /// Takes what came; an error where the connection is to be given up.
    fn receive_chunks(&mut self) -> Result<(), String> {
        let Some((peer, chunks)) = &mut self.connection else { return Ok(()) };
        loop {
            match chunks.next_chunk(self.text.get_mut()).map_err(|e| e.to_string())? {
                HttpChunk::Text(mark) => {
                    self.has_begun = true;
                    self.made += self.text.get_ref().len() as u64;
                    if let Some(mark) = mark {
                        self.marks.push(self.made, mark.clone());
                        self.marks.drop_oldest();
                        self.mark = Some(mark);
                    }
                    if !self.text.get_ref().is_empty() {
                        return Ok(());
                    }
                }
                HttpChunk::Heartbeat(mark) => {
                    self.marks.push(self.made, mark.clone());
                    self.mark = Some(mark);
                }
                HttpChunk::End => return Err("it ended the stream".to_owned()),
                HttpChunk::More => break,
            }
        }
        match peer.read(&mut self.piece) {
            Ok(0) => Err("it closed the connection".to_owned()),
            Ok(read) => {
                self.heard_at = self.clock.now();
                chunks.push_bytes(&self.piece[..read]);
                Ok(())
            }
            Err(e) if is_pause(&e) => {
                let is_gone = self.clock.now().since(self.heard_at) > SILENCE;
                if is_gone { Err("it sends nothing".to_owned()) } else { Ok(()) }
            }
            Err(e) => Err(e.to_string()),
        }
    }
}

/// Whether nobody between could listen.
fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

impl Read for RemoteLog {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let until = self.clock.now() + IDLE;
        loop {
            if self.text.position() < self.text.get_ref().len() as u64 {
                return self.text.read(out);
            }
            self.text.get_mut().clear();
            self.text.set_position(0);
            if self.connection.is_none() {
                self.try_reconnect()?;
            }
            if let Err(why) = self.receive_chunks() {
                self.text.get_mut().clear();
                self.drop_connection(&why);
            }
            if self.text.get_ref().is_empty() && self.clock.now() >= until {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
    }
}

impl LiveLog for RemoteLog {
    fn mark_at(&mut self, offset: u64) -> Option<String> {
        self.marks.mark_at(offset)
    }

    fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_says_what_is_asked_for() {
        let head = |text: &str, access: &RemoteAccess, mark: Option<&str>| {
            request_head(&HttpUrl::from_text(text).unwrap(), access, mark)
        };
        let packed = RemoteAccess { is_packed: true, ..RemoteAccess::default() };
        let resumed = head("http://db1:9700/slow?rate_limit=3&from=x", &packed, Some("1.n%20"));
        assert!(resumed.starts_with(
            "GET /slow?rate_limit=3&from=1.n%2520&marks=1&zstd=1 HTTP/1.1\r\nHost: db1:9700\r\n"
        ));
        assert!(resumed.ends_with("\r\n\r\n") && !resumed.contains("Authorization"));
        for text in ["https://db1", "https://db1/", "https://db1/slow?"] {
            let plain = head(text, &RemoteAccess::default(), None);
            assert!(plain.starts_with("GET /slow?marks=1 HTTP/1.1\r\nHost: db1\r\n"), "{plain}");
        }
    }

    #[test]
    fn a_token_goes_nowhere_in_clear_text() {
        let access = RemoteAccess { token: Some(Secret::new("t")), ..RemoteAccess::default() };
        let error = RemoteLog::open("http://10.1.2.3:1/slow", &access, None, &Stop::new());
        assert!(error.err().unwrap().to_string().contains("clear text"));
    }
}
