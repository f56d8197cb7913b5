//! Loads of web servers: Debian's nginx, and one that breaks every rule.
#![expect(clippy::disallowed_methods, reason = "tests start servers and wait for them")]

mod database;
mod faults;
mod http2;
mod scenarios;
mod visits;

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cli::{World, nap};
use crate::fixture;

/// An nginx of the test's own, in a private folder on a free port; ends with the value.
struct Nginx {
    child: Child,
    dir: tempfile::TempDir,
    port: u16,
    /// For HTTP/2 without TLS; the one with TLS speaks both.
    http2_port: u16,
    tls_port: u16,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where Debian has it, which is not in everybody's path.
fn nginx_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join("nginx")).find(|program| program.is_file())
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A certificate for localhost.
fn make_certificate(dir: &Path) {
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 \
                 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
                 -addext basicConstraints=critical,CA:FALSE -keyout key.pem -out cert.pem";
    let made = Command::new("openssl")
        .args(words.split_whitespace())
        .current_dir(dir)
        .stderr(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()), "openssl makes a certificate");
}

impl Nginx {
    fn start() -> Option<Nginx> {
        let Some(program) = nginx_program() else {
            fixture::record_skipped_test("nginx");
            return None;
        };
        let dir = tempfile::Builder::new().prefix("sweat-nginx-").tempdir().unwrap();
        make_certificate(dir.path());
        let www = dir.path().join("www");
        std::fs::create_dir(&www).unwrap();
        std::fs::write(www.join("small"), [b'x'; 1024]).unwrap();
        std::fs::write(www.join("big"), [b'y'; 1 << 20]).unwrap();
        for _ in 0..20 {
            let (port, http2_port, tls_port) = (free_port(), free_port(), free_port());
            let text = config(port, http2_port, tls_port);
            std::fs::write(dir.path().join("nginx.conf"), text).unwrap();
            let mut child = Command::new(&program)
                .args(["-c", "nginx.conf", "-p"])
                .arg(dir.path())
                // Where its socket is; the other paths are below the prefix.
                .current_dir(dir.path())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Somebody else may have taken a port; then it ends. Its number is written once it listens.
            while child.try_wait().unwrap().is_none() {
                if dir.path().join("pid").exists() {
                    return Some(Nginx { child, dir, port, http2_port, tls_port });
                }
                nap(5);
            }
        }
        panic!("nginx does not start: {:?}", std::fs::read_to_string(dir.path().join("error.log")));
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn file(&self, name: &str) -> String {
        self.dir.path().join(name).to_string_lossy().into_owned()
    }

    /// What it noted of a path.
    fn log_lines(&self, path: &str) -> Vec<String> {
        let log = std::fs::read_to_string(self.dir.path().join("access.log")).unwrap();
        log.lines().filter(|line| line.contains(path)).map(str::to_owned).collect()
    }
}

fn config(port: u16, http2_port: u16, tls_port: u16) -> String {
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|name| format!("{name}_temp_path tmp;\n"))
        .concat();
    format!(
        "daemon off; master_process off; pid pid; error_log error.log;\n\
         events {{ worker_connections 1000; }}\n\
         http {{ {temporary} log_format plain '$request_method $uri $http_authorization \
         $http_x_route $request_length $request_body $server_protocol';\n\
         access_log access.log plain; keepalive_requests 50;\n\
         server {{ listen 127.0.0.1:{port}; listen unix:socket;\n\
         listen 127.0.0.1:{http2_port} http2; listen 127.0.0.1:{tls_port} ssl http2;\n\
         ssl_certificate cert.pem; ssl_certificate_key key.pem;\n\
         root www;\n\
         location /err {{ return 500 'no'; }}\n\
         location /moved {{ return 302 /moved; }}\n\
         location /hop {{ return 302 /small; }}\n\
         location /cookie {{ add_header Set-Cookie sid=7; add_header X-Id 4711; \
         return 200 'cookie:$cookie_sid'; }}\n\
         location /packed {{ gzip on; gzip_types text/plain; default_type text/plain; \
         return 200 'packed as small as it may be'; }}\n\
         location /none {{ return 204; }}\n\
         location /post {{ return 200 'its-own-words'; }}\n\
         }} }}\n"
    )
}

fn output_text(output: &std::process::Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Each number as `N`.
fn without_numbers(text: &str) -> String {
    let mut shown = String::new();
    let mut number = String::new();
    for c in text.chars().chain(['\0']) {
        if c.is_ascii_digit() || (!number.is_empty() && ".e+-".contains(c)) {
            number.push(c);
            continue;
        }
        if !std::mem::take(&mut number).is_empty() {
            shown.push('N');
        }
        shown.push(c);
    }
    shown.trim_end_matches('\0').split_inclusive('\n').collect()
}

#[test]
fn urls_are_classes_and_their_bodies_are_counted() {
    let Some(nginx) = Nginx::start() else { return };
    let world = World::new();
    let (small, big) = (nginx.url("/small"), nginx.url("/big"));
    let words = ["bench", "http", &small, &big, "--order=turn", "--checksum", "-q"];
    let load = ["--events=240", "--threads=3", "--expect-size=1-2000000", "--expect-status=200"];
    let done = world.run(&[&words[..], &load].concat());
    assert!(done.status.success(), "{}", output_text(&done));
    let run = world.record();
    let trial = &run.trials[0];
    assert_eq!(trial.classes, ["/small", "/big"]);
    let counter = |name: &str| trial.tally.count(name);
    assert_eq!(counter("body_bytes"), 120 * ((1 << 20) + 1024));
    // nginx ends a connection after 50 requests.
    let connections = counter("connections");
    assert!((3..=12).contains(&connections), "{connections}");
    assert!(trial.event_steps.contains(&"first byte /big".to_owned()), "{:?}", trial.event_steps);
    assert!(trial.errors.is_empty(), "{:?}", trial.errors);
    let block = output_text(&world.run(&["report", "latest", "--format", "ab"]));
    for line in [
        "Server Hostname:        127.0.0.1",
        "Document Path:          /small and 1 more",
        "Document Length:        Variable",
        "Concurrency Level:      3",
        "Complete requests:      240",
        "Failed requests:        0",
        &format!("Keep-Alive requests:    {}", 240 - connections),
        &format!("HTML transferred:       {} bytes", 120 * ((1 << 20) + 1024)),
    ] {
        assert!(block.lines().any(|found| found == line), "{line}: {block}");
    }
    assert!(block.contains(" 100% ") && block.contains("\nWaiting: "), "{block}");
}

#[test]
fn a_new_connection_for_each_request_and_through_a_socket() {
    let Some(nginx) = Nginx::start() else { return };
    for engine in ["--engine=threads", "--engine=reactor"] {
        let world = World::new();
        let socket = format!("--unix-socket={}", nginx.file("socket"));
        let words = ["bench", "http", "http://any.name/small", &socket, "--no-keep-alive", "-q"];
        let done = world.run(&[&words[..], &["--events=40", "--threads=4", engine]].concat());
        assert!(done.status.success(), "{}", output_text(&done));
        let run = world.record();
        assert_eq!(run.trials[0].tally.count("connections"), 40);
    }
    let world = World::new();
    let place = format!("--connect-to=127.0.0.1:{}", nginx.port);
    let words = ["bench", "http", "http://any.name/none", &place, "--events=5", "-q"];
    let done = world.run(&words);
    assert!(done.status.success(), "{}", output_text(&done));
}

#[test]
fn certificates_are_verified_unless_told_otherwise() {
    let Some(nginx) = Nginx::start() else { return };
    let url = |host: &str| format!("https://{host}:{}/small", nginx.tls_port);
    let ca = format!("--ca={}", nginx.file("cert.pem"));
    let run = |url: &str, more: &[&str]| {
        let world = World::new();
        let words = ["bench", "http", url, "--events=10", "-q"];
        let done = world.run(&[&words[..], more].concat());
        (done.status.code(), output_text(&done))
    };
    let (code, text) = run(&url("localhost"), &[&ca]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(&url("127.0.0.1"), &[&ca]);
    assert!(code == Some(3) && text.contains("not valid for name"), "{code:?} {text}");
    let (code, text) = run(&url("127.0.0.1"), &["--insecure"]);
    assert_eq!(code, Some(0), "{text}");
    let (code, text) = run(&url("localhost"), &[]);
    assert!(code == Some(3) && text.contains("not known here"), "{code:?} {text}");
}

#[test]
fn no_secret_and_no_body_is_in_the_run_folder() {
    let Some(nginx) = Nginx::start() else { return };
    let world = World::new();
    let token = world.dir.path().join("token");
    std::fs::write(&token, "hush-token\n").unwrap();
    let bearer = format!("--bearer-token={}", token.display());
    let url = nginx.url("/post");
    let words = ["bench", "http", &url, "--method=POST", &bearer, "--body=hush-body", "-q"];
    let fields = ["-H", "X-Route: a", "-H", "Cookie: hush-cookie", "--events=3"];
    let done = world.run(&[&words[..], &fields].concat());
    assert!(done.status.success(), "{}", output_text(&done));
    let lines = nginx.log_lines("/post");
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("POST /post Bearer hush-token a "), "{lines:?}");
    let mut folders = vec![world.runs()];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            seen += 1;
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            for secret in ["hush", "its-own-words"] {
                assert!(!text.contains(secret), "{} holds {secret}", path.display());
            }
        }
    }
    assert!(seen > 5, "the run was not found");
    // The plan says what is missing.
    let words = ["bench", "--plan", "latest"];
    let again = world.run(&words);
    let text = output_text(&again);
    assert!(again.status.code() == Some(2) && text.contains("left out of the run"), "{text}");
}

#[test]
fn http_load_prints_its_lines() {
    let Some(nginx) = Nginx::start() else { return };
    let world = World::new();
    let list = |name: &str, text: &str| {
        let path = world.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    };
    let good = list("good", &format!("{}\n{}\n", nginx.url("/small"), nginx.url("/none")));
    let run = |words: &[&str]| {
        let done = world.run(&[&["http_load"][..], words].concat());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let lines = "N fetches, N max parallel, N bytes, in N seconds\nN mean bytes/connection\n\
                 N fetches/sec, N bytes/sec\nmsecs/connect: N mean, N max, N min\n\
                 msecs/first-response: N mean, N max, N min\nHTTP response codes:\n  code N -- N\n";
    let (code, out, err) = run(&["-rate", "100", "-s", "0.5", &good]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    assert_eq!(without_numbers(&out), format!("{lines}  code N -- N\n"));
    let fetches: u32 = out.split(' ').next().unwrap().parse().unwrap();
    // A true rate; on a busy machine the last ones may be under way.
    assert!((1..=51).contains(&fetches), "{out}");
    let (code, out, _) = run(&["-p", "5", "-f", "100", "-c", &good]);
    assert!(code == Some(0) && out.starts_with("100 fetches, "), "{out}");
    let bad = list("bad", &nginx.url("/err"));
    let (code, out, err) = run(&["-p", "2", "-f", "10", &bad]);
    assert_eq!(code, Some(3));
    assert!(out.ends_with("HTTP response codes:\n  code 500 -- 10\n"), "{out}");
    assert_eq!(err, "http_load: 10 of 10 replies: 500 Internal Server Error\n");
    let gone = list("gone", "http://127.0.0.1:1/\n");
    let (code, out, err) = run(&["-p", "1", "-f", "3", &gone]);
    assert!(code == Some(3) && out.contains("3 without a connection\n"), "{out}");
    assert_eq!(err, "http_load: connection refused: no server listens there (3 times)\n");
    let empty = list("empty", "# nothing\n");
    assert_eq!(run(&["-p", "1", "-f", "3", &empty]).0, Some(2));
    assert_eq!(run(&["-p", "1", &good]).0, Some(2));
    let public = list("public", "http://192.0.2.1/\n");
    let (code, _, err) = run(&["-p", "1", "-f", "1", &public]);
    assert!(code == Some(2) && err.contains("--allow-target=192.0.2.1"), "{err}");
}

#[test]
fn ab_prints_its_block() {
    let Some(nginx) = Nginx::start() else { return };
    let world = World::new();
    let peer = Command::new("ab").arg("-V").output().is_ok_and(|done| done.status.success());
    if !peer {
        fixture::record_skipped_test("ab (apache2-utils)");
    }
    let body = nginx.file("nginx.conf");
    for words in [
        "-n 40 -c 4 -k URL/small",
        "-n 40 -c 4 URL/small",
        "-n 10 -c 2 -i URL/small",
        "-n 10 -l URL/none",
        "-n 10 -p BODY -T text/x -H X-Route:b URL/post",
        "-n 5 URL/err",
    ] {
        let words = words.replace("URL", &nginx.url("")).replace("BODY", &body);
        let words: Vec<&str> = words.split(' ').collect();
        let ours = world.run(&[&["ab"][..], &words].concat());
        let is_err = words.last().is_some_and(|url| url.ends_with("/err"));
        let code = if is_err { 3 } else { 0 };
        assert_eq!(ours.status.code(), Some(code), "{words:?} {}", output_text(&ours));
        if !peer {
            continue;
        }
        let theirs = Command::new("ab").arg("-q").args(&words).output().unwrap();
        let block = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let start = text.find("Server Software:").unwrap_or_default();
            // Numbers take more or less room; what is said of doubtful times is not ours.
            let lines = text[start..].lines().take_while(|line| !line.starts_with("WARNING"));
            let squeezed =
                |line: &str| without_numbers(line).split_whitespace().collect::<Vec<_>>().join(" ");
            let lines: Vec<String> = lines.map(squeezed).collect();
            let end = lines.iter().position(|line| line.starts_with("Total: "));
            lines[..=end.unwrap_or(lines.len() - 1)].join("\n")
        };
        assert_eq!(block(&ours.stdout), block(&theirs.stdout), "{words:?}");
    }
    let line = nginx.log_lines("/post").into_iter().next().unwrap();
    assert!(line.starts_with("POST /post - b "), "{line}");
    let refused = world.run(&["ab", "-n", "3", "http://127.0.0.1:1/"]);
    assert_eq!(refused.status.code(), Some(3), "{}", output_text(&refused));
    assert_eq!(world.run(&["ab", "-n", "1", "-c", "2", "http://h/"]).status.code(), Some(2));
}
