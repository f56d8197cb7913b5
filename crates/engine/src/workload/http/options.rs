//! From the options of the command line and of plans to what is sent.

use std::path::{Path, PathBuf};

use super::load::{HttpLoad, SizeCheck, StatusRange, read_url_list};
use super::request::{check_field, is_token};
use crate::base::Secret;
use crate::base::token::encode_base64;
use crate::client::{HttpUrl, OriginSetup, WebTls};
use crate::plan::{LEFT_OUT, Mistake, OptionKind, OptionSecrecy, OptionSpec, Options};

/// The option that bare words give.
pub(super) const URL: &str = "url";
/// The option that names a file of scenarios.
pub(super) const FILE: &str = "file";
/// What a value begins with that stands in a variable of the environment.
const ENV: &str = "env:";

pub(super) fn option_specs() -> Vec<OptionSpec> {
    use OptionKind::{Count, Lines, Size, Switch, Text, Time};
    use OptionSecrecy::{Fields, Hidden};
    let spec = OptionSpec::new;
    let orders = OptionKind::one_of(&["random", "turn"]);
    vec![
        spec(URL, Lines, "", "what to ask for; may be given again, or as a bare word"),
        spec("urls", Text, "", "a file with a URL in each line"),
        spec(FILE, Text, "", "a file of scenarios, as in docs/http.md"),
        spec("order", orders, "random", "how URLs are chosen"),
        spec("method", Text, "", "the method [default: GET, or POST with a body]"),
        spec("header", Lines, "", "a field, as in 'Accept: text/html'")
            .with_short('H')
            .with_secrecy(Fields),
        spec("body", Text, "", "what to send").with_secrecy(Hidden),
        spec("body-file", Text, "", "a file that holds it"),
        spec("basic-auth", Text, "", "a file with user:password, or env:NAME"),
        spec("bearer-token", Text, "", "a file with a token, or env:NAME"),
        spec("http2", Switch, "off", "HTTP/2, also without TLS"),
        spec("streams", Count, "1", "workers that share a connection of HTTP/2"),
        spec("no-keep-alive", Switch, "off", "a new connection for each request"),
        spec("redirects", Count, "0", "most redirects to follow of one request"),
        spec("cookies", Switch, "off", "each worker keeps cookies and sends them"),
        spec("compressed", Switch, "off", "bodies may come compressed"),
        spec("timeout", Time, "30s", "longest time to connect, and for a reply"),
        spec("max-body", Size, "1GiB", "longest body of a reply"),
        spec("expect-status", Text, "", "statuses to accept, as in 2xx,304"),
        spec("expect-size", Text, "", "bytes of bodies: same, 612, 100-2000"),
        spec("checksum", Switch, "off", "bodies must be those of the first replies"),
        spec("connect-to", Text, "", "HOST:PORT to connect to instead of the URL's"),
        spec("unix-socket", Text, "", "the socket to connect through"),
        spec("ca", Text, "", "a file of authorities to believe, PEM"),
        spec("insecure", Switch, "off", "believe any certificate"),
        spec("allow-target", Lines, "", "a host that may be loaded, though it is public"),
    ]
}

/// A text that was given and is not empty.
fn given<'a>(options: &'a Options, name: &str) -> Option<&'a str> {
    options.text(name).filter(|text| !text.is_empty())
}

/// Checks the options and reads the files that they name.
///
/// # Errors
/// The first mistake.
pub(super) fn load_from_options(options: &Options) -> Result<HttpLoad, Mistake> {
    load_of_urls(options, read_urls(options)?)
}

/// The same for a file of scenarios, which are at this address unless an option names another; some steps are at others.
///
/// # Errors
/// The first mistake.
pub(super) fn load_of_scenarios(
    options: &Options,
    url: Option<HttpUrl>,
    servers: &[HttpUrl],
) -> Result<HttpLoad, Mistake> {
    const OF_STEPS: [&str; 6] =
        ["urls", "method", "body", "body-file", "expect-status", "expect-size"];
    let extra = OF_STEPS.into_iter().find(|name| given(options, name).is_some());
    let extra = extra.or(options.switch("checksum").then_some("checksum"));
    if let Some(name) = extra {
        let why = "the steps of --file say what is sent and expected";
        return Err(Mistake::new(format!("--{name}"), why).hint("leave it out"));
    }
    let urls = match (given(options, URL), url) {
        (None, Some(url)) => vec![url],
        _ => read_urls(options)?,
    };
    match &urls[..] {
        [one] if one.path == "/" => {
            load_of_urls(options, urls.into_iter().chain(servers.iter().cloned()).collect())
        }
        [_] => Err(Mistake::new("URL", "the steps of --file have the paths")
            .hint("as in http://localhost:8080")),
        _ => Err(Mistake::new("URL", "the file has one server of its own").hint("name one")),
    }
}

fn load_of_urls(options: &Options, urls: Vec<HttpUrl>) -> Result<HttpLoad, Mistake> {
    let mut load = HttpLoad::new(urls);
    refuse_left_out(options)?;
    load.in_turn = options.text("order") == Some("turn");
    load.body = match (given(options, "body"), given(options, "body-file")) {
        (Some(_), Some(_)) => {
            return Err(Mistake::new("--body", "--body-file is given, too").hint("leave out one"));
        }
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(path)) => Some(
            std::fs::read(path)
                .map_err(|error| Mistake::new(format!("--body-file {path}"), error.to_string()))?,
        ),
        (None, None) => None,
    };
    let method = if load.body.is_some() { "POST" } else { "GET" };
    load.method = given(options, "method").unwrap_or(method).to_owned();
    if !is_token(&load.method) || load.method == "CONNECT" {
        let why = format!("`{}` is not a method", load.method);
        return Err(Mistake::new("--method", why).hint("GET, HEAD, POST, PUT, DELETE, ..."));
    }
    for line in given(options, "header").unwrap_or_default().lines() {
        check_field(line)
            .map_err(|why| Mistake::new("--header", why).hint("as in -H 'Accept: text/html'"))?;
        load.fields.push(Secret::new(line));
    }
    let basic = read_secret(options, "basic-auth")?;
    let bearer = read_secret(options, "bearer-token")?;
    if basic.is_some() && bearer.is_some() {
        let why = "--bearer-token is given, too";
        return Err(Mistake::new("--basic-auth", why).hint("leave out one"));
    }
    if let Some(login) = basic {
        if !login.reveal().contains(':') {
            return Err(Mistake::new("--basic-auth", "there is no colon behind the user")
                .hint("one line: user:password"));
        }
        let code = encode_base64(login.reveal().as_bytes());
        load.fields.push(Secret::new(format!("Authorization: Basic {code}")));
    }
    if let Some(token) = bearer {
        load.fields.push(Secret::new(format!("Authorization: Bearer {}", token.reveal())));
    }
    load.keep_alive = !options.switch("no-keep-alive");
    read_http2(options, &mut load)?;
    load.redirects = u32::try_from(options.count("redirects")).unwrap_or(u32::MAX);
    load.cookies = options.switch("cookies");
    load.compressed = options.switch("compressed");
    load.timeout = options.time("timeout").unwrap_or(load.timeout);
    if load.timeout.is_zero() {
        return Err(Mistake::new("--timeout", "it has no length").hint("as in 30s"));
    }
    if let Some(size) = options.size("max-body") {
        load.most_body = size.resolve_bytes(0);
    }
    read_checks(options, &mut load)?;
    load.verifies = !options.switch("insecure");
    load.setup = read_setup(options, &load)?;
    Ok(load)
}

fn read_urls(options: &Options) -> Result<Vec<HttpUrl>, Mistake> {
    let mut urls = Vec::new();
    for line in given(options, URL).unwrap_or_default().lines() {
        let url = HttpUrl::from_text(line.trim());
        urls.push(url.map_err(|why| {
            // What is wrong may be a login, which must not be shown.
            let hint = match line.contains('@') {
                true => "put user:password into a file and name it with --basic-auth",
                false => "as in http://localhost:8080/",
            };
            Mistake::new("URL", why).hint(hint)
        })?);
    }
    if let Some(path) = given(options, "urls") {
        urls.extend(read_url_list(Path::new(path))?);
    }
    match urls.is_empty() {
        true => Err(Mistake::new("URL", "there is nothing to ask for")
            .hint("as in http://localhost:8080/, or a file of URLs with --urls")),
        false => Ok(urls),
    }
}

/// A value that a record left out can't be sent.
fn refuse_left_out(options: &Options) -> Result<(), Mistake> {
    let is_left_out = |name: &str| {
        given(options, name).is_some_and(|text| text.lines().any(|line| line.ends_with(LEFT_OUT)))
    };
    match ["body", "header"].into_iter().find(|name| is_left_out(name)) {
        None => Ok(()),
        Some(name) => {
            Err(Mistake::new(format!("--{name}"), "its value was left out of the run folder")
                .hint("give it again"))
        }
    }
}

/// A secret from a file or a variable.
fn read_secret(options: &Options, name: &str) -> Result<Option<Secret>, Mistake> {
    let Some(source) = given(options, name) else { return Ok(None) };
    let mistake = |why: String| Mistake::new(format!("--{name}"), why);
    let text = match source.strip_prefix(ENV) {
        Some(variable) => {
            std::env::var(variable).map_err(|_| mistake(format!("{variable} is not set")))?
        }
        None => std::fs::read_to_string(source).map_err(|error| {
            mistake(format!("read {source}: {error}"))
                .hint("name a file, or env:NAME; a secret itself would show in the process list")
        })?,
    };
    let text = text.trim_end_matches(['\r', '\n']);
    match text.is_empty() || text.contains(|c: char| c.is_control()) {
        true => Err(mistake("one line of text is expected".to_owned())),
        false => Ok(Some(Secret::new(text))),
    }
}

/// Most workers that share a connection: as many streams as servers ever allow.
const MOST_STREAMS: u64 = 10_000;

fn read_http2(options: &Options, load: &mut HttpLoad) -> Result<(), Mistake> {
    load.is_http2 = options.switch("http2");
    let streams = options.count("streams");
    if !(1..=MOST_STREAMS).contains(&streams) {
        let why = format!("a connection has 1 to {MOST_STREAMS} streams");
        return Err(Mistake::new("--streams", why).hint("as in --streams=64"));
    }
    load.streams = streams as usize;
    match load.is_http2 {
        false if load.streams > 1 => {
            Err(Mistake::new("--streams", "HTTP/1.1 has no streams").hint("add --http2"))
        }
        true if !load.keep_alive => {
            let why = "connections of HTTP/2 are kept";
            Err(Mistake::new("--no-keep-alive", why).hint("leave it out"))
        }
        _ => Ok(()),
    }
}

fn read_checks(options: &Options, load: &mut HttpLoad) -> Result<(), Mistake> {
    if let Some(text) = given(options, "expect-status") {
        load.checks.status = StatusRange::read_list(text).map_err(|part| {
            Mistake::new("--expect-status", format!("`{part}` is not a status"))
                .hint("as in 200, 2xx, 200-299,304")
        })?;
    }
    if let Some(text) = given(options, "expect-size") {
        load.checks.size = SizeCheck::from_text(text).ok_or_else(|| {
            Mistake::new("--expect-size", format!("`{text}` is not a number of bytes"))
                .hint("same, 612 or 100-2000")
        })?;
    }
    load.checks.checksum = options.switch("checksum");
    Ok(())
}

fn read_setup(options: &Options, load: &HttpLoad) -> Result<OriginSetup, Mistake> {
    let connect_to = match given(options, "connect-to") {
        None => None,
        Some(text) => {
            let url = HttpUrl::from_text(&format!("http://{text}"));
            let url = url.ok().filter(|url| url.path == "/");
            let url = url.ok_or_else(|| {
                Mistake::new("--connect-to", format!("`{text}` is not a host and a port"))
                    .hint("as in 127.0.0.1:8080")
            })?;
            Some((url.host, url.port))
        }
    };
    let unix_socket = given(options, "unix-socket").map(PathBuf::from);
    if connect_to.is_some() && unix_socket.is_some() {
        let why = "--unix-socket is given, too";
        return Err(Mistake::new("--connect-to", why).hint("leave out one"));
    }
    let ca = given(options, "ca").map(Path::new);
    let tls = match load.urls.iter().any(|url| url.is_tls) {
        true => Some(WebTls::new(ca, load.verifies)?),
        // A redirect may lead there; without authorities it is an error then.
        false if load.redirects > 0 => WebTls::new(ca, load.verifies).ok(),
        false => None,
    };
    let tls = if load.is_http2 { tls.map(|tls| tls.with_http2()) } else { tls };
    let allowed = given(options, "allow-target").unwrap_or_default();
    let allowed_hosts = allowed.lines().map(|line| line.trim().to_owned()).collect();
    Ok(OriginSetup { connect_to, unix_socket, allowed_hosts, tls })
}
