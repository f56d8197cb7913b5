//! The page of a run under way, in a real browser and over raw sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::cli::{World, end, err, expect, out, signal, until};
use crate::fixture;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The browser notes here what went wrong on a page, before any script of the page runs.
const NOTE_ERRORS: &str = r#"
    const note = (text) => { (window.wrong ||= []).push(text); };
    addEventListener("error", (e) => note("error: " + e.message));
    addEventListener("unhandledrejection", (e) => note("rejected: " + e.reason));
    addEventListener("securitypolicyviolation", (e) => note("policy: " + e.violatedDirective));
"#;

/// A run that serves its page, and the address that it printed.
#[expect(clippy::zombie_processes, reason = "callers wait for it")]
fn start_run(world: &World, words: &[&str]) -> (Child, String) {
    let mut run = world.start(&[words, &["--listen", "127.0.0.1:0"]].concat());
    let mut lines = BufReader::new(run.stderr.take().expect("it is piped"));
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).unwrap() > 0, "it printed no address");
        if let Some(url) = line.trim().strip_prefix("page: ") {
            // What it says further is read to its end, so that it never waits for us.
            std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
            return (run, url.to_owned());
        }
    }
}

fn address(url: &str) -> &str {
    url.strip_prefix("http://").unwrap().split('/').next().unwrap()
}

/// The answer to a request with these lines, without the empty one.
fn ask(address: &str, lines: &str) -> String {
    let mut peer = TcpStream::connect(address).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.write_all(format!("{lines}\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    text
}

/// A browser that is told what to do over its debugging protocol.
struct Browser {
    child: Child,
    socket: BufReader<TcpStream>,
    asked: u64,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts it; `None` where there is none.
    #[expect(clippy::disallowed_methods, reason = "a test in a browser")]
    fn start() -> Option<Browser> {
        let profile = tempfile::tempdir().unwrap();
        let child = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"])
            .args(["--no-first-run", "--disable-background-networking", "--disable-sync"])
            .args(["--disable-component-update", "--disable-dev-shm-usage"])
            .args(["--window-size=1200,1600", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match child {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                fixture::record_skipped_test("chromium");
                return None;
            }
            child => child.unwrap(),
        };
        let place = profile.path().join("DevToolsActivePort");
        until("the browser listens", || {
            std::fs::read_to_string(&place).is_ok_and(|text| text.lines().count() > 1)
        });
        let port = std::fs::read_to_string(&place).unwrap();
        let address = format!("127.0.0.1:{}", port.lines().next().unwrap());
        let list = ask_open(&address, "/json/list");
        let pages: Value = serde_json::from_str(&list).unwrap();
        let page = pages[0]["webSocketDebuggerUrl"].as_str().expect("it has a page");
        let path = page.split(&address).nth(1).unwrap();
        let mut peer = TcpStream::connect(&address).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let upgrade = format!(
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
        );
        peer.write_all(upgrade.as_bytes()).unwrap();
        let mut socket = BufReader::new(peer);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            assert!(socket.read_line(&mut line).unwrap() > 0);
        }
        Some(Browser { child, socket, asked: 0, _profile: profile })
    }

    /// Has it do something, and gives what came of it.
    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let text = json!({ "id": self.asked, "method": method, "params": params }).to_string();
        // A frame of text (RFC 6455, 5.2) with a mask of zeros.
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.socket.get_mut().write_all(&frame).unwrap();
        loop {
            let answer = self.read_frame();
            if answer["id"] == self.asked {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    fn read_frame(&mut self) -> Value {
        let mut head = [0; 2];
        self.socket.read_exact(&mut head).unwrap();
        let more = match head[1] & 0x7f {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mut long = [0; 8];
        self.socket.read_exact(&mut long[8 - more..]).unwrap();
        let short = usize::from(head[1] & 0x7f);
        let length = if more == 0 { short } else { u64::from_be_bytes(long) as usize };
        let mut text = vec![0; length];
        self.socket.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// What an expression comes to on the page; null where it can't be told, as on a page that is not there yet.
    fn look(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true });
        self.call("Runtime.evaluate", &params)["result"]["value"].clone()
    }

    fn until(&mut self, expression: &str) {
        let cell = std::cell::RefCell::new(self);
        until(expression, || cell.borrow_mut().look(expression) == true);
    }

    fn visit(&mut self, url: &str) {
        self.call("Page.enable", &json!({}));
        let script = json!({ "source": NOTE_ERRORS });
        self.call("Page.addScriptToEvaluateOnNewDocument", &script);
        self.call("Page.navigate", &json!({ "url": url }));
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of an answer of the browser, which keeps its connections open.
fn ask_open(address: &str, path: &str) -> String {
    let mut peer = TcpStream::connect(address).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
    let mut lines = BufReader::new(peer);
    let mut length = 0;
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    lines.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

#[test]
fn a_browser_sees_the_page_grow_and_end() {
    let Some(mut browser) = Browser::start() else { return };
    let world = World::new();
    let words = ["bench", "null", "--threads=2", "--rate=2000", "--interval=0.2", "--time=300"];
    let (run, url) = start_run(&world, &words);
    browser.visit(&url);
    browser.until("document.documentElement.dataset.live === 'running'");
    // The token is neither in the address nor within reach of a script.
    assert_eq!(browser.look("location.pathname + location.search"), "/");
    assert_eq!(browser.look("document.cookie"), "");
    // Points are added between two fresh pages: the curve has more than the page came with.
    browser.until("+document.documentElement.dataset.fresh > 0");
    browser.until("!!document.querySelector('#plot-throughput .curve')");
    let dots =
        "document.querySelector('#plot-throughput .curve').getAttribute('d').split('M').length";
    let before = browser.look(dots).as_u64().unwrap();
    browser.until(&format!("{dots} > {before} + 3"));
    browser.until("document.querySelector('#plot-throughput').classList.contains('zoomed')");
    // They lie inside the plot, and the line above the page says what the last interval was.
    let inside = "(() => { const box = document.querySelector('#plot-throughput').\
        getBoundingClientRect(), dots = document.querySelector('#plot-throughput .curve').\
        getBoundingClientRect(); return dots.width > box.width / 3 && dots.left >= box.left && \
        dots.right <= box.right + 1 && dots.top >= box.top && dots.bottom <= box.bottom; })()";
    browser.until(inside);
    let line = browser.look("document.getElementById('live-line').textContent");
    assert!(line.as_str().unwrap().contains("events/s"), "{line}");
    assert_eq!(browser.look("document.querySelector('.state').textContent"), "running");
    if let Some(place) = std::env::var_os("SWEAT_PICTURE") {
        let picture = browser.call("Page.captureScreenshot", &json!({}));
        std::fs::write(place, picture["data"].as_str().unwrap()).unwrap();
    }
    signal(&run, Signal::INT);
    browser.until("document.documentElement.dataset.live === 'ended: interrupted'");
    assert_eq!(browser.look("document.querySelector('.state').textContent"), "interrupted");
    assert_eq!(browser.look("window.wrong || []"), json!([]));
    let (output, _) = end(run, PATIENCE);
    expect(&output, 130);
    assert!(out(&output).contains("Interrupted: what follows was measured until then."));
}

#[test]
fn steps_of_a_plan_reach_readers_and_monitors() {
    let world = World::new();
    let words = ["sweep", "threads=1,2", "null", "--time=1", "--listen-after=300"];
    let (run, url) = start_run(&world, &words);
    let (address, token) = (address(&url), url.split("?t=").nth(1).unwrap());
    let cookie = ask(address, &format!("GET /?t={token} HTTP/1.1"));
    let cookie = cookie.split("Set-Cookie: ").nth(1).unwrap().split(';').next().unwrap();
    let mut peer = TcpStream::connect(address).unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    let words = format!("GET /events HTTP/1.1\r\nHost: {address}\r\nCookie: {cookie}\r\n\r\n");
    peer.write_all(words.as_bytes()).unwrap();
    let mut kinds = Vec::new();
    for line in BufReader::new(peer).lines().map_while(Result::ok) {
        kinds.extend(line.strip_prefix("event: ").map(str::to_owned));
        if kinds.iter().filter(|kind| *kind == "beat").count() > 2 {
            break;
        }
    }
    assert!(kinds.contains(&"step".to_owned()), "{kinds:?}");
    // A monitor shows the token as a bearer; it reads on after the run.
    let bearer = format!("GET /metrics HTTP/1.1\r\nAuthorization: Bearer {token}");
    until("the run is done, and its figures are there", || {
        let text = ask(address, &bearer);
        text.contains("state=\"done\"") && text.contains("sweat_events_per_second{")
    });
    let page = ask(address, &format!("GET / HTTP/1.1\r\nCookie: {cookie}"));
    assert!(page.contains("id=\"scaling\"") && !page.contains(token), "{page}");
    assert!(ask(address, "GET /metrics HTTP/1.1").starts_with("HTTP/1.1 401 "));
    signal(&run, Signal::INT);
    let (output, _) = end(run, PATIENCE);
    expect(&output, 0);
}

#[test]
fn a_page_is_for_this_machine() {
    let world = World::new();
    for (words, why, hint) in [
        (&["--listen", "0.0.0.0:8080"][..], "others could reach the page", "ssh -L 8080:127.0.0.1"),
        (&["--listen", "8080"], "it is not an address with a port", "as in 127.0.0.1:8080"),
        (&["--listen-after", "1m"], "there is no page to serve", "add --listen 127.0.0.1:0"),
    ] {
        let output = world.run(&[&["bench", "null", "--time=1"], words].concat());
        expect(&output, 2);
        assert!(err(&output).contains(why) && err(&output).contains(hint), "{}", err(&output));
    }
    // A port that is taken is told before anything runs.
    let (run, url) = start_run(&world, &["bench", "null", "--rate=10", "--time=300"]);
    let output = world.run(&["bench", "null", "--time=1", "--listen", address(&url)]);
    expect(&output, 2);
    assert!(err(&output).contains("choose another port"), "{}", err(&output));
    signal(&run, Signal::INT);
    expect(&end(run, PATIENCE).0, 130);
    // A token of one's own must be long enough.
    let mut command = world.command(&["bench", "null", "--time=1", "--listen", "127.0.0.1:0"]);
    let output = command.env("SWEAT_PAGE_TOKEN", "short").output().unwrap();
    expect(&output, 2);
    assert!(err(&output).contains("$SWEAT_PAGE_TOKEN"), "{}", err(&output));
}
