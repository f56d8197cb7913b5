//! Servers for tests: each test gets its own, in a private folder; templates are shared so that a start takes moments.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use sweat::base::Stop;
use sweat::client::Target;
use sweat::plan::SandboxPlan;
use sweat::server::sandbox::{HomeFolders, Lifetime, Sandbox, SandboxOptions};
use sweat::server::{ServerControl, Settings};

/// A running server; ends with the value.
pub(crate) struct Fixture {
    pub(crate) sandbox: Sandbox,
    /// Private folder of this test; goes last.
    pub(crate) dir: tempfile::TempDir,
}

/// A MariaDB server, or whatever the machine's own is.
pub(crate) fn mariadb() -> Fixture {
    with(&[])
}

/// The same with settings.
pub(crate) fn with(settings: &[(&str, &str)]) -> Fixture {
    start(None, settings, false)
}

/// MySQL, where `SWEAT_MYSQLD` names its program.
pub(crate) fn mysql() -> Option<Fixture> {
    mysql_with(&[])
}

/// The same with settings.
pub(crate) fn mysql_with(settings: &[(&str, &str)]) -> Option<Fixture> {
    mysqld().map(|program| start(Some(program), settings, false))
}

/// The machine's own, listening on a loopback port too.
pub(crate) fn listening(settings: &[(&str, &str)]) -> Fixture {
    start(None, settings, true)
}

/// MySQL, listening on a loopback port too.
pub(crate) fn mysql_listening(settings: &[(&str, &str)]) -> Option<Fixture> {
    mysqld().map(|program| start(Some(program), settings, true))
}

/// MySQL's program, where `SWEAT_MYSQLD` names it.
pub(crate) fn mysqld() -> Option<PathBuf> {
    program_named_by("SWEAT_MYSQLD", "MySQL 9")
}

/// MariaDB 11.4 or later, where `SWEAT_MARIADB11` names its program.
pub(crate) fn mariadb11() -> Option<PathBuf> {
    program_named_by("SWEAT_MARIADB11", "MariaDB 11")
}

fn program_named_by(variable: &str, server: &str) -> Option<PathBuf> {
    let program = std::env::var_os(variable).filter(|path| !path.is_empty());
    if program.is_none() {
        record_skipped_test(server);
    }
    program.map(PathBuf::from)
}

/// Says that this test, or a part of it, does not run for want of something; `./test` counts such tests.
pub(crate) fn record_skipped_test(missing: &str) {
    println!("skipped: no {missing}");
    let Some(list) = std::env::var_os("SWEAT_SKIPPED_TESTS") else { return };
    let thread = std::thread::current();
    let line = format!("{missing}\t{}\n", thread.name().unwrap_or("?"));
    let file = std::fs::OpenOptions::new().append(true).create(true).open(list);
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the list can be written");
}

/// MariaDB 11, listening on a loopback port too.
pub(crate) fn mariadb11_listening() -> Option<Fixture> {
    mariadb11().map(|program| start(Some(program), &[], true))
}

/// Sandboxes in the test's own folder; templates in one that all tests share.
pub(crate) fn home(dir: &Path) -> HomeFolders {
    let shared = HomeFolders::from_root(Path::new(env!("CARGO_TARGET_TMPDIR")));
    HomeFolders { templates: shared.templates, ..HomeFolders::from_root(dir) }
}

fn start(server: Option<PathBuf>, settings: &[(&str, &str)], tcp: bool) -> Fixture {
    let dir = tempfile::Builder::new().prefix("sweat-it-").tempdir().unwrap();
    let plan = SandboxPlan {
        server,
        tcp,
        settings: settings.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        ..SandboxPlan::default()
    };
    let terms = SandboxOptions {
        home: home(dir.path()),
        name: None,
        life: Lifetime::ThrowAway,
        stop: Stop::new(),
    };
    let sandbox = Sandbox::create(&plan, &terms).expect("a sandbox for the test starts");
    Fixture { sandbox, dir }
}

impl Fixture {
    /// How to talk to it.
    pub(crate) fn target(&self) -> &Target {
        self.sandbox.target()
    }

    /// Runs statements with the mariadb client, which knows nothing of ours; gives rows as lines, columns by tabs.
    pub(crate) fn sql(&self, statements: &str) -> String {
        sql(&self.sandbox.meta().socket, statements)
    }
}

impl Fixture {
    /// Fills an empty server and leaves it cold: by statements the first time, by a copy of the data from then on.
    pub(crate) fn filled_with<'a>(
        &mut self,
        name: &str,
        statements: impl Iterator<Item = &'a str> + Clone,
    ) {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let mut hash = DefaultHasher::new();
        statements.clone().for_each(|s| s.hash(&mut hash));
        self.sandbox.meta().version.hash(&mut hash);
        let templates = home(self.dir.path()).templates;
        let kept = templates.join(format!("{name}-{:x}", hash.finish()));
        let data = self.sandbox.datadir().to_owned();
        let guard = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
        if kept.exists() {
            drop(guard);
            self.sandbox.stop().expect("the sandbox stops");
            std::fs::remove_dir_all(&data).expect("the data can be removed");
            copy(&kept, &data);
        } else {
            let mut session = self.target().connect(&Stop::new()).expect("a session");
            for statement in statements {
                session.query_rows(statement).unwrap_or_else(|e| panic!("{statement}: {e}"));
            }
            self.sandbox.stop().expect("the sandbox stops");
            let fresh = kept.with_extension(std::process::id().to_string());
            copy(&data, &fresh);
            // Another process may have been faster; then its copy serves as well.
            if std::fs::rename(&fresh, &kept).is_err() {
                std::fs::remove_dir_all(&fresh).expect("our own copy can be removed");
            }
        }
        self.sandbox.start(&Settings::new()).expect("the sandbox starts");
    }
}

/// Copies a folder.
#[expect(clippy::disallowed_methods, reason = "tests may copy a folder by the system's means")]
pub(crate) fn copy(from: &Path, to: &Path) {
    let arguments = ["-a", "--reflink=auto", "--sparse=always"];
    let done = std::process::Command::new("cp").args(arguments).arg(from).arg(to).status();
    assert!(done.expect("cp runs").success());
}

/// The same over any socket.
#[expect(clippy::disallowed_methods, reason = "tests may start clients")]
pub(crate) fn sql(socket: &Path, statements: &str) -> String {
    let output = std::process::Command::new("mariadb")
        .args(["--no-defaults", "-N", "-B", "-uroot", "-S"])
        .arg(socket)
        .args(["-e", statements])
        .output()
        .expect("the mariadb client can be run");
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "`{statements}` fails: {words}");
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}
