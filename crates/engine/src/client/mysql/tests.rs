//! Faults that a real server can't be asked for: a thread that plays a server, byte by byte.

mod limits;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::Duration;

use super::auth::Credentials;
use super::{Error, ParameterValue, Session, Target};
use crate::base::reactor::{Reactor, WorkerTask, block_on};
use crate::base::{Clock, Nanos, RealClock, Secret, Stop};
use crate::plan::{AddressPlan, Protocol, SslMode, SslPlan};
use crate::recorder::{EventError, EventErrorKind, Tally};

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const COLUMN: &[u8] =
    b"\x03def\x00\x00\x00\x01c\x00\x0c\x2d\x00\x04\x00\x00\x00\xfd\x00\x00\x00\x00\x00";
const PASSWORD: &str = "a password nobody may read";

/// Bytes from their digits in hexadecimal, as standards print them.
pub(super) fn bytes_from_hex(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// Our side of the play.
struct Actor(TcpStream);

impl Actor {
    fn say(&mut self, sequence: u8, payload: &[u8]) {
        let mut bytes = (payload.len() as u32).to_le_bytes();
        bytes[3] = sequence;
        // The other side may be gone already, which some plays want.
        let _ = self.0.write_all(&[&bytes, payload].concat());
    }

    fn hear(&mut self) -> Vec<u8> {
        let mut head = [0; 4];
        if self.0.read_exact(&mut head).is_err() {
            return Vec::new();
        }
        let mut payload = vec![0; super::wire::parse_header(&head).0];
        let _ = self.0.read_exact(&mut payload);
        payload
    }

    /// A greeting; `eof`: of a server so old that it sends EOF packets.
    fn greet(&mut self, plugin: &str, eof: bool) {
        let high: u8 = if eof { 0x00 } else { 0x01 };
        let mut greeting = b"\x0a8.0.0-play\0\x07\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0".to_vec();
        greeting.extend_from_slice(&[0xff, high, 0x15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        greeting.extend_from_slice(b"ijklmnopqrst\0");
        greeting.extend_from_slice(plugin.as_bytes());
        greeting.push(0);
        self.say(0, &greeting);
    }

    fn welcome(&mut self, eof: bool) {
        self.greet("mysql_native_password", eof);
        self.hear();
        self.say(2, OK);
    }
}

/// A server that plays `play` once.
fn stage<T: Send + 'static>(
    play: impl FnOnce(Actor) -> T + Send + 'static,
) -> (AddressPlan, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let actor = std::thread::spawn(move || play(Actor(listener.accept().unwrap().0)));
    let plan = AddressPlan {
        host: Some("127.0.0.1".into()),
        port: Some(port),
        protocol: Some(Protocol::Tcp),
        user: Some("u".into()),
        password: Some(Secret::new(PASSWORD)),
        ssl: SslPlan { mode: Some(SslMode::Disabled), ..SslPlan::default() },
        connect_timeout: Some(Duration::from_millis(400)),
        ..AddressPlan::default()
    };
    (plan, actor)
}

fn open(plan: &AddressPlan) -> Result<Session, Error> {
    block_on(Target::new(plan).unwrap().open_session(&Stop::new()))
}

fn open_on_reactor(plan: &AddressPlan) -> Result<(), Error> {
    let target = Target::new(plan).unwrap();
    let mut result = None;
    let task: WorkerTask<'_> = Box::pin(async {
        result = Some(target.open_session(&Stop::new()).await.map(|_| ()));
    });
    let reactor = Reactor::new(RealClock::start_now(), false).unwrap();
    reactor.run(&mut [Some(task)], &|| false).unwrap();
    result.unwrap()
}

fn execute(session: &mut Session) -> Result<u64, EventError> {
    block_on(session.execute(&mut Tally::default(), b"SELECT 1")).map(|reply| reply.rows)
}

#[test]
fn a_silent_server_is_waited_for_as_long_as_was_said() {
    for way in [|p: &AddressPlan| open(p).map(|_| ()), open_on_reactor] {
        let (plan, actor) = stage(|mut actor| actor.hear());
        let clock = RealClock::start_now();
        let error = way(&plan).unwrap_err();
        let waited = clock.now();
        assert!(matches!(error, Error::Connect { code: 110, .. }), "{error}");
        assert!(waited >= Nanos(390_000_000) && waited < Nanos(900_000_000), "{waited:?}");
        actor.join().unwrap();
    }
}

#[test]
fn a_full_queue_of_a_socket_is_asked_again_until_the_time_is_over() {
    use rustix::net;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let kind = net::SocketType::STREAM;
    let socket = || net::socket(net::AddressFamily::UNIX, kind, None).unwrap();
    let address = net::SocketAddrUnix::new(&path).unwrap();
    let listener = socket();
    net::bind(&listener, &address).unwrap();
    net::listen(&listener, 0).unwrap();
    let taken = socket();
    net::connect(&taken, &address).unwrap();
    let plan = AddressPlan {
        socket: Some(path.clone()),
        connect_timeout: Some(Duration::from_millis(300)),
        ..AddressPlan::default()
    };
    for way in [|p: &AddressPlan| open(p).map(|_| ()), open_on_reactor] {
        let error = way(&plan).unwrap_err();
        assert!(matches!(error, Error::Connect { code: 110, .. }), "{error}");
    }
}

#[test]
fn what_is_no_greeting() {
    let (plan, actor) = stage(|mut actor| {
        actor.0.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        actor.hear();
    });
    let error = open(&plan).unwrap_err();
    assert!(matches!(error, Error::Protocol(_)), "{error}");
    actor.join().unwrap();

    let (plan, actor) = stage(drop);
    assert!(matches!(open(&plan), Err(Error::Connect { .. })));
    actor.join().unwrap();

    let (plan, actor) = stage(|mut actor| actor.say(0, b"\xff\x10\x04Too many connections"));
    let error = open(&plan).unwrap_err();
    assert!(matches!(&error, Error::Login { code: 1040, .. }), "{error}");
    assert!(error.hint().unwrap().contains("max_connections"));
    actor.join().unwrap();
}

#[test]
fn a_server_with_eof_packets() {
    let (plan, actor) = stage(|mut actor| {
        actor.welcome(true);
        let eof = [0xFE, 0, 0, 2, 0];
        for _ in 0..2 {
            actor.hear();
            let rows: [&[u8]; 6] = [&[1], COLUMN, &eof, b"\x011", b"\x012", &eof];
            for (index, payload) in rows.iter().enumerate() {
                actor.say(index as u8 + 1, payload);
            }
        }
        actor.hear();
        let answer: [&[u8]; 5] =
            [&[0, 9, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], COLUMN, &eof, COLUMN, &eof];
        for (index, payload) in answer.iter().enumerate() {
            actor.say(index as u8 + 1, payload);
        }
        let run = actor.hear();
        actor.say(1, OK);
        run
    });
    let mut session = open(&plan).unwrap();
    assert_eq!(execute(&mut session), Ok(2));
    let rows = session.query_rows("SELECT 1").unwrap();
    assert_eq!(
        (rows.text_value(0, 0).as_deref(), rows.text_value(1, 0).as_deref()),
        (Some("1"), Some("2"))
    );
    let statement = block_on(session.prepare("SELECT ?")).unwrap();
    assert_eq!((statement.id, statement.parameters), (9, 1));
    let mut tally = Tally::default();
    let run = session.execute_prepared(&mut tally, &statement, &[ParameterValue::Null]);
    assert!(block_on(run).is_ok());
    assert_eq!(actor.join().unwrap()[..5], [0x17, 9, 0, 0, 0]);
}

#[test]
fn a_file_nobody_offered_is_not_sent() {
    let (plan, actor) = stage(|mut actor| {
        actor.welcome(false);
        actor.hear();
        actor.say(1, b"\xfb/etc/passwd");
        let sent = actor.hear();
        actor.say(3, OK);
        sent
    });
    let mut session = open(&plan).unwrap();
    assert_eq!(execute(&mut session).unwrap_err().kind, EventErrorKind::Protocol);
    assert!(session.error_text().contains("file"));
    assert!(actor.join().unwrap().is_empty());
    assert_eq!(execute(&mut session).unwrap_err().kind, EventErrorKind::Protocol);
}

#[test]
fn a_reply_cut_off_is_a_lost_connection() {
    let (plan, actor) = stage(|mut actor| {
        actor.welcome(false);
        actor.hear();
        actor.say(1, &[1]);
        actor.say(2, COLUMN);
        let _ = actor.0.write_all(&[200, 0, 0, 3, 5]);
    });
    let mut session = open(&plan).unwrap();
    assert_eq!(
        execute(&mut session).unwrap_err(),
        EventError { kind: EventErrorKind::Lost, code: 0 }
    );
    actor.join().unwrap();
    let error = session.query_rows("SELECT 1").unwrap_err();
    assert!(matches!(&error, Error::Lost { why, .. } if why.contains("closed")), "{error}");
}

#[test]
fn a_server_that_parts_is_heard() {
    let (plan, actor) = stage(|mut actor| {
        actor.welcome(false);
        actor.hear();
        actor.say(0, b"\xff\xbf\x0f#HY000You were idle for too long");
    });
    let mut session = open(&plan).unwrap();
    let error = execute(&mut session).unwrap_err();
    assert_eq!(error, EventError { kind: EventErrorKind::Lost, code: 4031 });
    assert!(session.error_text().contains("idle"));
    actor.join().unwrap();
}

#[test]
fn bytes_behind_a_reply_are_not_taken_for_the_next() {
    let (plan, actor) = stage(|mut actor| {
        actor.welcome(false);
        actor.hear();
        actor.0.write_all(&[[7, 0, 0, 1].as_slice(), OK, &[7, 0, 0, 1], OK].concat()).unwrap();
        actor.hear();
    });
    let mut session = open(&plan).unwrap();
    assert_eq!(execute(&mut session), Ok(0));
    assert_eq!(execute(&mut session).unwrap_err().kind, EventErrorKind::Protocol);
    drop(session);
    actor.join().unwrap();
}

#[test]
fn a_password_in_clear_goes_nowhere_it_could_be_heard() {
    for allowed in [false, true] {
        for method in ["mysql_clear_password", "sha256_password"] {
            let (plan, actor) = stage(move |mut actor| {
                actor.greet("mysql_native_password", false);
                let mut heard = actor.hear();
                actor.say(2, &[b"\xfe", method.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat());
                heard.extend(actor.hear());
                heard
            });
            let plan = AddressPlan { enable_cleartext_plugin: allowed, ..plan };
            let error = open(&plan).unwrap_err();
            let told = |text: &str| text.contains("--ssl-mode") || text.contains("cleartext");
            assert!(matches!(&error, Error::Login { text, .. } if told(text)), "{error}");
            let heard = actor.join().unwrap();
            assert!(heard.len() > 32);
            assert!(!heard.windows(8).any(|part| part == &PASSWORD.as_bytes()[..8]));
        }
    }
    let safe = Credentials {
        password: "x",
        is_encrypted: true,
        is_socket: false,
        clear_allowed: true,
        server_key: None,
        ask_key: false,
    };
    assert_eq!(safe.first_answer("mysql_clear_password", &[]), Ok(b"x\0".to_vec()));
    assert_eq!(safe.first_answer("sha256_password", &[]), Ok(b"x\0".to_vec()));
    assert!(
        Credentials { clear_allowed: false, ..safe }
            .first_answer("mysql_clear_password", &[])
            .is_err()
    );
    // This method wants RSA over a socket, and nobody stands between who could send another key.
    let socket = Credentials { is_encrypted: false, is_socket: true, ..safe };
    assert_eq!(socket.first_answer("sha256_password", &[]), Ok(vec![1]));
    assert_eq!(socket.first_answer("mysql_clear_password", &[]), Ok(b"x\0".to_vec()));
    assert!(safe.first_answer("dialog", &[]).unwrap_err().contains("not supported"));
    assert!(safe.first_answer("parsec", &[1; 20]).is_err());
    assert!(safe.first_answer("client_ed25519", &[1; 31]).is_err());
}

/// An account of MariaDB with several methods: the server asks for each until one is answered well.
#[test]
fn a_method_that_is_not_known_is_answered_with_nothing_and_the_next_is_tried() {
    let switch = |method: &str| [b"\xfe", method.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat();
    let play = |end: &'static [u8], methods: &'static [&'static str]| {
        stage(move |mut actor| {
            actor.greet("mysql_native_password", false);
            actor.hear();
            let mut heard = Vec::new();
            for method in methods {
                actor.say(heard.len() as u8 * 2 + 2, &switch(method));
                heard.push(actor.hear().len());
                if *method == "dialog" {
                    // It has more questions.
                    actor.say(heard.len() as u8 * 2 + 2, b"\x04Password: ");
                    heard.push(actor.hear().len());
                }
            }
            actor.say(heard.len() as u8 * 2 + 2, end);
            heard
        })
    };
    let (plan, actor) = play(OK, &["dialog", "no_such_thing", "mysql_native_password"]);
    open(&plan).unwrap();
    assert_eq!(actor.join().unwrap(), [0, 0, 0, 20]);

    let denied = b"\xff\x15\x04#28000Access denied";
    let (plan, actor) = play(denied, &["dialog", "no_such_thing"]);
    let error = open(&plan).unwrap_err();
    let words = error.to_string();
    assert!(words.contains("as u: the login method dialog is not supported"), "{words}");
    assert!(words.contains("no_such_thing is not known"), "{words}");
    assert!(words.contains("1045 Access denied"), "{words}");
    assert_eq!(error.hint(), None);
    assert_eq!(actor.join().unwrap(), [0, 0, 0]);
}

#[test]
fn a_server_key_of_any_shape_is_no_danger() {
    let key = |body: &[u8]| {
        let mut pem = String::from("-----BEGIN PUBLIC KEY-----\n");
        const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for triple in body.chunks_exact(3) {
            let bits = triple.iter().fold(0, |n, b| n << 8 | usize::from(*b));
            pem.extend([18, 12, 6, 0].map(|s| char::from(DIGITS[bits >> s & 63])));
        }
        pem.push_str("\n-----END PUBLIC KEY-----\n");
        pem
    };
    let element = |tag: u8, body: &[u8]| {
        [&[tag, 0x82, (body.len() >> 8) as u8, body.len() as u8], body].concat()
    };
    let rsa = |modulus: &[u8], exponent: &[u8]| {
        let numbers = [element(2, modulus), element(2, exponent)].concat();
        let bits = [&[0][..], &element(0x30, &numbers)].concat();
        let body = [element(0x30, &[5, 0]), element(3, &bits)].concat();
        let mut der = element(0x30, &body);
        der.resize(der.len().next_multiple_of(3), 0);
        key(&der)
    };
    let who = Credentials {
        password: PASSWORD,
        is_encrypted: false,
        is_socket: false,
        clear_allowed: false,
        server_key: None,
        ask_key: true,
    };
    let ask = |pem: &str| {
        who.next_answer("caching_sha2_password", b"12345678901234567890", pem.as_bytes())
    };
    let sound = ask(&rsa(&[0xC1; 256], &[1, 0, 1])).unwrap().unwrap();
    assert_eq!(sound.len(), 256);
    for pem in [
        rsa(&[], &[1]),
        rsa(&[0; 256], &[1, 0, 1]),
        rsa(&[0xC1; 16], &[3]),
        rsa(&[0xC1; 2048], &[3]),
        rsa(&[0xC1; 256], &[]),
        rsa(&[0xC1; 256], &[0xFF; 64]),
        // Large enough to be a key, too small for the password.
        rsa(&[0xC1; 64], &[3]),
        key(&[0x30, 0x84, 0xFF]),
        key(b""),
        "-----BEGIN RSA PUBLIC KEY-----\n-----END RSA PUBLIC KEY-----".into(),
        "nonsense".into(),
    ] {
        assert!(ask(&pem).is_err(), "{pem}");
    }
    assert!(
        Credentials { ask_key: false, ..who }
            .next_answer("caching_sha2_password", &[1], b"x")
            .is_err()
    );
}

#[test]
fn a_login_without_end() {
    let (plan, actor) = stage(|mut actor| {
        actor.greet("mysql_native_password", false);
        let mut sequence = 2;
        while !actor.hear().is_empty() {
            actor.say(sequence, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0");
            sequence = sequence.wrapping_add(2);
        }
        sequence
    });
    assert!(matches!(open(&plan), Err(Error::Protocol(_))));
    assert!(actor.join().unwrap() < 60);
}
