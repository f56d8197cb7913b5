//! A small application in a process of its own: HTTP in front of a real server. Three kinds of pages: `/one` has one statement,
//! `/list` reads 20 rows one by one after a list of them (21 statements, N+1), `/hold` keeps a row locked for a moment (4
//! statements). Connections and sessions are kept.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use sweat::base::Stop;
use sweat::client::{Session, Target};
use sweat::plan::AddressPlan;

use crate::cli::nap;
use crate::fixture::{self, Fixture};

/// Socket of the server behind the pages, and the file that takes the port: set for the process of the application.
const SOCKET: &str = "SWEAT_TEST_PAGES_SOCKET";
const PORT_FILE: &str = "SWEAT_TEST_PAGES_PORT";
/// The test that is the application, by its path.
const ENTRY: &str = "page_server::pages_are_served_when_asked_for";
/// Rows behind the pages.
pub(crate) const DATABASE: &str = "shop";
/// Each page and its statements.
pub(crate) const PAGES: [(&str, u64); 3] = [("/one", 1), ("/list", 21), ("/hold", 4)];

/// The application; it ends with this.
pub(crate) struct PageServer {
    child: Child,
    pub(crate) port: u16,
}

impl PageServer {
    /// Makes the rows on a server and starts the application in front of it.
    #[expect(clippy::disallowed_methods, reason = "the test runs another process")]
    pub(crate) fn start(server: &Fixture) -> PageServer {
        let rows: Vec<String> = (1..=20).map(|id| format!("({id}, 0)")).collect();
        server.sql(&format!(
            "CREATE DATABASE {DATABASE}; CREATE TABLE {DATABASE}.item (id INT PRIMARY KEY, n INT); \
             INSERT INTO {DATABASE}.item VALUES {}",
            rows.join(", ")
        ));
        let port_file = server.dir.path().join("port");
        let socket = server.target().plan().socket.clone().expect("sandboxes have a socket");
        let child = Command::new(std::env::current_exe().expect("this program is known"))
            .args([ENTRY, "--exact", "--nocapture"])
            .env(SOCKET, socket)
            .env(PORT_FILE, &port_file)
            .stdout(Stdio::null())
            .spawn()
            .expect("the application starts");
        let port = (0..600).find_map(|_| {
            nap(50);
            std::fs::read_to_string(&port_file).ok()?.trim().parse().ok()
        });
        PageServer { child, port: port.expect("the application listens") }
    }

    /// A connection to it.
    pub(crate) fn connect(&self) -> BufReader<TcpStream> {
        BufReader::new(TcpStream::connect(("127.0.0.1", self.port)).expect("it listens"))
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks for a page over a connection that is kept; gives its body.
pub(crate) fn get_page(link: &mut BufReader<TcpStream>, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    link.get_mut().write_all(request.as_bytes()).expect("the request is sent");
    let mut length = 0;
    loop {
        let mut line = String::new();
        link.read_line(&mut line).expect("a line of the head");
        if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = text.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    link.read_exact(&mut body).expect("the whole body");
    String::from_utf8(body).expect("text")
}

/// Not a test of its own: with both variables set, this is the application.
#[test]
fn pages_are_served_when_asked_for() {
    let [socket, port_file] = [SOCKET, PORT_FILE].map(std::env::var_os);
    let (Some(socket), Some(port_file)) = (socket, port_file) else { return };
    let plan = AddressPlan {
        socket: Some(PathBuf::from(socket)),
        user: Some("root".to_owned()),
        database: Some(DATABASE.to_owned()),
        ..AddressPlan::default()
    };
    let target = Target::new(&plan).expect("a socket needs no name resolved");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it has an address").port();
    let fresh = PathBuf::from(&port_file).with_extension("new");
    std::fs::write(&fresh, port.to_string()).expect("the test's folder takes files");
    std::fs::rename(&fresh, &port_file).expect("the test's folder takes files");
    for link in listener.incoming().flatten() {
        let target = target.clone();
        std::thread::spawn(move || {
            let mut session = target.connect(&Stop::new()).expect("the server takes sessions");
            // Whoever goes away in the middle ends only its own connection.
            let _ = serve_connection(link, &mut session);
        });
    }
}

fn serve_connection(link: TcpStream, session: &mut Session) -> std::io::Result<()> {
    let mut input = BufReader::new(link);
    loop {
        let mut request = String::new();
        if input.read_line(&mut request)? == 0 {
            return Ok(());
        }
        let mut line = String::new();
        let mut is_last = false;
        while input.read_line(&mut line)? > 0 && !line.trim().is_empty() {
            is_last |= line.trim().eq_ignore_ascii_case("connection: close");
            line.clear();
        }
        let path = request.split_whitespace().nth(1).unwrap_or_default();
        let (status, body) = match build_page(path, session) {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", "no such page".to_owned()),
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", body.len());
        input.get_mut().write_all(format!("{head}{body}").as_bytes())?;
        if is_last {
            return Ok(());
        }
    }
}

fn build_page(path: &str, session: &mut Session) -> Option<String> {
    let mut rows =
        |sql: &str| session.query_rows(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).rows.len();
    let found = match path {
        "/one" => rows("SELECT n FROM item WHERE id = 7"),
        "/list" => {
            let listed = rows("SELECT id FROM item ORDER BY id");
            let of = |id: usize| format!("SELECT id, n FROM item WHERE id = {id}");
            (1..=listed).map(|id| rows(&of(id))).sum()
        }
        "/hold" => {
            rows("BEGIN");
            rows("UPDATE item SET n = n + 1 WHERE id = 1");
            rows("DO SLEEP(0.003)");
            rows("COMMIT")
        }
        _ => return None,
    };
    Some(format!("{found} rows\n"))
}

/// Statements that a server counted, asked for by one more.
fn statement_count(session: &mut Session) -> u64 {
    let rows = session.query_rows("SHOW GLOBAL STATUS LIKE 'Questions'").unwrap();
    rows.text_value(0, 1).unwrap().parse().unwrap()
}

#[test]
fn each_page_issues_the_statements_that_it_says() {
    let server = fixture::mariadb();
    let pages = PageServer::start(&server);
    let mut links = [pages.connect(), pages.connect()];
    let mut session = server.target().connect(&Stop::new()).unwrap();
    let expected = ["1 rows\n", "20 rows\n", "0 rows\n"];
    for ((path, statements), expected) in PAGES.into_iter().zip(expected) {
        // Both connections have their sessions.
        links.iter_mut().for_each(|link| assert_eq!(get_page(link, path), expected));
        let before = statement_count(&mut session);
        for _ in 0..10 {
            links.iter_mut().for_each(|link| drop(get_page(link, path)));
        }
        let after = statement_count(&mut session);
        assert_eq!(after - before - 1, 20 * statements, "{path}");
    }
    assert_eq!(server.sql("SELECT n FROM shop.item WHERE id = 1"), "22");
    assert_eq!(get_page(&mut links[0], "/none"), "no such page");
}
