//! The matrix of faults: every command that talks to a server, and what may happen to server, way and program while it
//! does. No command may be held beyond the end it would have had by itself, its grace and ten seconds.
//!
//! The gate runs `USUAL` and those after Ctrl-C; `cargo test --test it faults -- --ignored` runs every cell, with freezes of
//! 20 s among them.

use std::collections::VecDeque;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use sweat::base::{Clock as _, Nanos, RealClock};
use sweat::server::{ServerControl as _, Settings};

use crate::cli::{World, err, nap, out, signal, until};
use crate::fixture::{self, Fixture};

/// What a command may take beyond its own end, s.
const BEYOND_S: f64 = 10.0;
/// What it may take once Ctrl-C was pressed, s.
const STOP_S: f64 = 2.0;
/// How much later than it should be something may be on a machine that does other things as well, s.
const BUSY_S: f64 = 12.0;
/// A command that has not ended by then is taken for one that never does, s.
const NEVER_S: f64 = 90.0;
/// Cells at the same time, each with a server of its own.
const LANES: usize = 4;
/// What a statement beside the load may take here.
const LIMITS: [&str; 2] = ["--control-timeout=2", "--connect-timeout=3"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// kill -9 of the server.
    Killed,
    /// Stopped for so many seconds.
    Frozen(u64),
    /// Stopped, and never again continued.
    FrozenForGood,
    /// kill -9, and started again.
    Restarted,
    /// The way to it carries nothing any more, in either direction, and stays open.
    Cut,
    /// kill -9 of sweat.
    Ours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    During,
    AtTheEnd,
}

/// A command that talks to a server.
struct Deed {
    name: &'static str,
    words: &'static str,
    /// When it would end by itself, its grace included, s; 0 for one without a planned end.
    planned_s: f64,
    /// Changes the server meanwhile: whoever leaves must say so.
    changes: bool,
}

const fn deed(name: &'static str, words: &'static str, planned_s: f64, changes: bool) -> Deed {
    Deed { name, words, planned_s, changes }
}

/// ADDRESS stands for where the server is, HOT for a hot set of it, LOG for a log with statements for it.
const DEEDS: &[Deed] = &[
    deed(
        "bench",
        "bench oltp_point_select ADDRESS --table-size=20000 --time=3 --grace=1s",
        4.0,
        false,
    ),
    deed(
        "bench reactor",
        "bench oltp_point_select ADDRESS --table-size=20000 --time=3 --grace=1s --engine reactor \
         --threads=20",
        4.0,
        false,
    ),
    deed(
        "bench open, reconnect",
        "bench oltp_point_select ADDRESS --table-size=20000 --time=3 --grace=1s --rate=200 \
         --reconnect",
        4.0,
        false,
    ),
    deed(
        "bench by events",
        "bench oltp_point_select ADDRESS --table-size=20000 --events=100000000 --grace=1s",
        0.0,
        false,
    ),
    deed(
        "bench prepare",
        "bench oltp_read_write prepare ADDRESS -Dprep --tables=3 --table-size=100000 --threads=2",
        0.0,
        false,
    ),
    deed(
        "sweep",
        "sweep innodb_io_capacity=210,220 oltp_point_select ADDRESS --table-size=20000 --time=2 \
         --grace=1s --allow set-global",
        6.0,
        true,
    ),
    deed(
        "waits",
        "waits oltp_point_select ADDRESS --instrument buf_pool --table-size=20000 --time=3 \
         --grace=1s --no-cost --allow ps-setup",
        4.0,
        true,
    ),
    deed(
        "replay",
        "replay LOG ADDRESS --may-write --may-disturb --timing fast --sessions 2",
        0.0,
        false,
    ),
    deed("warm scan", "warm scan sbtest ADDRESS --rate 1MiB", 0.0, false),
    deed("warm replay", "warm replay LOG ADDRESS --may-write --may-disturb", 0.0, false),
    deed("warm load", "warm load ADDRESS --allow load", 0.0, false),
    deed("warm status", "warm status ADDRESS --per-index", 0.0, false),
    deed("hotset save", "warm hotset save saved.json ADDRESS --watch 3s", 0.0, false),
    deed("hotset load", "warm hotset load HOT ADDRESS --by keys --rate 512KiB", 0.0, false),
    deed("doctor", "doctor ADDRESS", 0.0, false),
];

/// What the gate runs.
const USUAL: &[(&str, Fault, Moment)] = &[
    ("bench", Fault::Killed, Moment::During),
    ("bench", Fault::Frozen(3), Moment::During),
    ("bench", Fault::FrozenForGood, Moment::Before),
    ("bench", Fault::FrozenForGood, Moment::During),
    ("bench", Fault::FrozenForGood, Moment::AtTheEnd),
    ("bench", Fault::Cut, Moment::During),
    ("bench", Fault::Restarted, Moment::During),
    ("bench reactor", Fault::FrozenForGood, Moment::During),
    ("bench reactor", Fault::Cut, Moment::During),
    ("bench open, reconnect", Fault::FrozenForGood, Moment::During),
    ("bench open, reconnect", Fault::Restarted, Moment::During),
    ("bench by events", Fault::FrozenForGood, Moment::During),
    ("bench prepare", Fault::Killed, Moment::During),
    ("bench prepare", Fault::FrozenForGood, Moment::During),
    ("bench prepare", Fault::Cut, Moment::During),
    ("sweep", Fault::Killed, Moment::During),
    ("sweep", Fault::FrozenForGood, Moment::During),
    ("sweep", Fault::Ours, Moment::During),
    ("waits", Fault::FrozenForGood, Moment::During),
    ("waits", Fault::Ours, Moment::During),
    ("replay", Fault::FrozenForGood, Moment::During),
    ("replay", Fault::Cut, Moment::Before),
    ("warm scan", Fault::Killed, Moment::During),
    ("warm scan", Fault::Restarted, Moment::During),
    ("warm scan", Fault::FrozenForGood, Moment::During),
    ("warm scan", Fault::Cut, Moment::During),
    ("hotset load", Fault::Killed, Moment::During),
    ("hotset load", Fault::FrozenForGood, Moment::During),
    ("hotset save", Fault::FrozenForGood, Moment::During),
    ("warm status", Fault::FrozenForGood, Moment::Before),
    ("doctor", Fault::FrozenForGood, Moment::Before),
];

/// Ctrl-C, half a second after the server froze.
const STOPPED: &[&str] = &[
    "bench",
    "bench reactor",
    "bench prepare",
    "sweep",
    "waits",
    "replay",
    "warm scan",
    "hotset load",
];

/// A lane's server, and the way to it that can be cut.
struct Lane {
    fixture: Fixture,
    way: Way,
    hot: String,
    log: String,
}

/// Carries bytes to a server until it is cut.
struct Way {
    port: u16,
    is_cut: Arc<AtomicBool>,
}

impl Way {
    fn to(server: u16) -> Way {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_cut = Arc::new(AtomicBool::new(false));
        let flag = is_cut.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().flatten() {
                let Ok(far) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                for (from, to) in [(&near, &far), (&far, &near)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let flag = flag.clone();
                    std::thread::spawn(move || carry(from, to, &flag));
                }
            }
        });
        Way { port, is_cut }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, is_cut: &AtomicBool) {
    let mut bytes = [0; 16 * 1024];
    while let Ok(count) = from.read(&mut bytes) {
        while is_cut.load(Ordering::Relaxed) {
            nap(20);
        }
        if count == 0 || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

const DATA: &[&str] = &[
    "CREATE DATABASE sbtest",
    "CREATE TABLE sbtest.sbtest1 (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, \
     k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL DEFAULT '', \
     pad CHAR(60) NOT NULL DEFAULT '', KEY k_1 (k))",
    "INSERT INTO sbtest.sbtest1 SELECT seq, seq * 7919 % 20000, REPEAT('c', 119), REPEAT('p', 59) \
     FROM sbtest.seq_1_to_20000",
    "CREATE TABLE sbtest.cold SELECT * FROM sbtest.sbtest1",
    "ALTER TABLE sbtest.cold ADD PRIMARY KEY (id)",
    "CREATE USER net@'127.0.0.1' IDENTIFIED BY 'net'",
    "GRANT ALL ON *.* TO net@'127.0.0.1'",
];

impl Lane {
    fn open() -> Lane {
        let mut fixture = fixture::listening(&[("performance_schema", "ON")]);
        fixture.filled_with("faults", DATA.iter().copied());
        let way = Way::to(port(&fixture));
        let path = |name: &str| fixture.dir.path().join(name).display().to_string();
        let (hot, log) = (path("hot.json"), path("app.log"));
        std::fs::write(&log, recorded()).unwrap();
        let lane = Lane { fixture, way, hot, log };
        let world = World::new();
        let setup = [
            "warm scan sbtest ADDRESS",
            "warm hotset save HOT ADDRESS",
            "warm dump ADDRESS --allow dump",
        ];
        for words in setup {
            let output = world.run(&words_of(&lane.words(words, false)));
            assert_eq!(output.status.code(), Some(0), "{}", err(&output));
        }
        lane
    }

    /// The words of a command, for this server.
    fn words(&self, words: &str, by_tcp: bool) -> Vec<String> {
        let address = match by_tcp {
            true => format!("-h127.0.0.1 -P{} -unet -pnet -Dsbtest", self.way.port),
            false => format!("-S{} -uroot -Dsbtest", self.fixture.sandbox.meta().socket.display()),
        };
        let words = words.replace("ADDRESS", &address).replace("HOT", &self.hot);
        words.replace("LOG", &self.log).split_whitespace().map(str::to_owned).collect()
    }

    fn signal(&self, signal: Signal) {
        let pid = self.fixture.sandbox.pid().and_then(|pid| i32::try_from(pid).ok());
        if let Some(pid) = pid.and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }

    fn strike(&mut self, fault: Fault, child: Option<&mut Child>) {
        match fault {
            Fault::Killed => self.fixture.sandbox.kill(),
            Fault::FrozenForGood => self.signal(Signal::STOP),
            Fault::Frozen(seconds) => {
                self.signal(Signal::STOP);
                nap(seconds * 1000);
                self.signal(Signal::CONT);
            }
            Fault::Restarted => {
                self.fixture.sandbox.kill();
                self.fixture.sandbox.start(&Settings::new()).expect("it starts again");
            }
            Fault::Cut => self.way.is_cut.store(true, Ordering::Relaxed),
            Fault::Ours => drop(child.map(Child::kill)),
        }
    }

    /// Makes everything as it was.
    fn mend(&mut self, fault: Fault) {
        self.signal(Signal::CONT);
        self.way.is_cut.store(false, Ordering::Relaxed);
        if fault == Fault::Killed {
            self.fixture.sandbox.start(&Settings::new()).expect("it starts again");
        }
        if matches!(fault, Fault::Killed | Fault::Restarted) {
            // It may have another port now.
            self.way = Way::to(port(&self.fixture));
        }
    }

    /// What commands change on the server.
    fn state(&self) -> String {
        self.fixture.sql(
            "SELECT @@innodb_io_capacity; SELECT SUM(ENABLED = 'YES'), SUM(TIMED = 'YES') FROM \
             performance_schema.setup_instruments; SELECT SUM(ENABLED = 'YES') FROM \
             performance_schema.setup_consumers",
        )
    }
}

fn port(fixture: &Fixture) -> u16 {
    fixture.sandbox.tcp_address().and_then(|address| address.port).expect("it listens")
}

fn words_of(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// A slow log with reads for some seconds.
fn recorded() -> String {
    let mut log = String::new();
    for n in 0..4000 {
        log += &format!(
            "# User@Host: app[app] @ localhost []\n\
             # Thread_id: {}  Schema: sbtest  QC_hit: No\n\
             # Query_time: 0.001000  Lock_time: 0.000000  Rows_sent: 1  Rows_examined: 1\n\
             # Rows_affected: 0  Bytes_sent: 100\n\
             SET timestamp={};\nSELECT COUNT(c) FROM sbtest1 WHERE k BETWEEN {n} AND {};\n",
            n % 4 + 10,
            1_700_000_000 + n / 500,
            n + 4000,
        );
    }
    log
}

/// One cell.
#[derive(Clone, Copy)]
struct Cell {
    deed: &'static Deed,
    fault: Fault,
    moment: Moment,
    /// Ctrl-C is pressed half a second after the fault.
    stop: bool,
}

impl Cell {
    fn name(&self) -> String {
        let stop = if self.stop { ", Ctrl-C" } else { "" };
        format!("{}: {:?} {:?}{stop}", self.deed.name, self.fault, self.moment)
    }

    /// Runs it; gives what is wrong, and how long the command took beyond its planned end or the stop.
    fn run(&self, lane: &mut Lane) -> Result<f64, String> {
        let Deed { words, planned_s, .. } = *self.deed;
        let world = World::new();
        lane.fixture.sql("CREATE OR REPLACE DATABASE prep");
        let before = lane.state();
        let mut words = lane.words(words, self.fault == Fault::Cut);
        words.extend(LIMITS.map(str::to_owned));
        if self.moment == Moment::Before {
            lane.strike(self.fault, None);
        }
        let clock = RealClock::start_now();
        let mut child = world.start(&words_of(&words));
        let mut from = planned_s;
        if self.moment != Moment::Before {
            let at_the_end = (planned_s - 1.1).max(1.5);
            nap((if self.moment == Moment::During { 1.5 } else { at_the_end } * 1e3) as u64);
            if child.try_wait().expect("it can be waited for").is_some() {
                // Through before anything could happen to it.
                let output = child.wait_with_output().expect("it has ended");
                let is_well = output.status.code() == Some(0);
                return if is_well { Ok(0.0) } else { Err(err(&output)) };
            }
            lane.strike(self.fault, Some(&mut child));
            if let Fault::Frozen(_) | Fault::Restarted = self.fault {
                from = clock.now().to_seconds().max(from);
            }
        }
        if self.stop {
            nap(500);
            signal(&child, Signal::INT);
            from = clock.now().to_seconds();
        }
        let from = if planned_s == 0.0 && !self.stop { clock.now().to_seconds() } else { from };
        let ended = wait(&mut child, clock);
        let took = clock.now().to_seconds() - from;
        lane.mend(self.fault);
        if !ended {
            let _ = child.kill();
        }
        let output = child.wait_with_output().expect("it has ended");
        let said = format!("exit {:?}\n{}{}", output.status.code(), out(&output), err(&output));
        let allowed = if self.stop { STOP_S } else { BEYOND_S };
        if !ended || took > allowed + BUSY_S {
            return Err(format!("held for {took:.1} s, not {allowed} s: {said}"));
        }
        self.check(output.status.code(), &said)?;
        self.check_left(lane, &world, &before, &said)?;
        Ok(took)
    }

    fn check(&self, code: Option<i32>, said: &str) -> Result<(), String> {
        let right = match (self.stop, self.fault) {
            (true, _) => code == Some(130),
            (false, Fault::Ours) => code.is_none(),
            // What can go on goes on, and the doctor's findings are no failures.
            (false, Fault::Frozen(_) | Fault::Restarted) => matches!(code, Some(0 | 1 | 3)),
            (false, _) if self.deed.name == "doctor" || self.moment == Moment::AtTheEnd => {
                matches!(code, Some(0 | 1 | 3))
            }
            (false, _) => code == Some(3),
        };
        let broke = said.contains("panicked") || said.contains("RUST_BACKTRACE");
        if right && !broke { Ok(()) } else { Err(said.to_owned()) }
    }

    /// What stays changed is said, by this sweat or the next one, and can be put back.
    fn check_left(
        &self,
        lane: &Lane,
        world: &World,
        before: &str,
        said: &str,
    ) -> Result<(), String> {
        if !self.deed.changes || matches!(self.fault, Fault::Killed | Fault::Restarted) {
            return Ok(());
        }
        let is_changed = lane.state() != before;
        let next = world.run(&["sandbox", "list"]);
        let told = |text: &str| text.contains("sweat restore ");
        if is_changed && !(told(&err(&next)) && (self.fault == Fault::Ours || told(said))) {
            return Err(format!("what is left changed is not said: {said}\n{}", err(&next)));
        }
        if is_changed {
            restore(lane, world);
        }
        match lane.state() == before {
            true => Ok(()),
            false => Err(format!("not as before after a restore: {before} {}", lane.state())),
        }
    }
}

fn restore(lane: &Lane, world: &World) {
    for run in std::fs::read_dir(world.runs()).into_iter().flatten().flatten() {
        let words = format!("restore {} ADDRESS", run.path().display());
        let words: Vec<String> = lane.words(&words, false);
        let words: Vec<&str> =
            words.iter().map(String::as_str).filter(|w| *w != "-Dsbtest").collect();
        let output = world.run(&words);
        assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    }
}

/// Waits for the end; `false` where there seems to be none.
fn wait(child: &mut Child, clock: RealClock) -> bool {
    // What it says must not fill the pipe: nothing here says much.
    while child.try_wait().expect("it can be waited for").is_none() {
        if clock.now() > Nanos((NEVER_S * 1e9) as u64) {
            return false;
        }
        nap(20);
    }
    true
}

/// Runs cells, some at once; gives what was wrong with which.
fn run_all(cells: Vec<Cell>) {
    let clock = RealClock::start_now();
    let (count, cells) = (cells.len(), Mutex::new(VecDeque::from(cells)));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..LANES.min(count) {
            scope.spawn(|| {
                let mut lane = Lane::open();
                loop {
                    let Some(cell) = cells.lock().unwrap().pop_front() else { break };
                    match cell.run(&mut lane) {
                        Ok(took) => println!("{:60} {took:6.1} s beyond", cell.name()),
                        Err(why) => wrong.lock().unwrap().push(format!("{}: {why}", cell.name())),
                    }
                }
            });
        }
    });
    println!("{count} cells in {:.0} s", clock.now().to_seconds());
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n\n"));
}

fn find(name: &str) -> &'static Deed {
    DEEDS.iter().find(|deed| deed.name == name).expect("it is in the list")
}

#[test]
fn no_fault_holds_a_command_beyond_its_end() {
    let cell = |(name, fault, moment): &(&str, Fault, Moment)| Cell {
        deed: find(name),
        fault: *fault,
        moment: *moment,
        stop: false,
    };
    let stopped = |name: &&str| Cell {
        deed: find(name),
        fault: Fault::FrozenForGood,
        moment: Moment::During,
        stop: true,
    };
    run_all(USUAL.iter().map(cell).chain(STOPPED.iter().map(stopped)).collect());
}

#[test]
fn a_result_that_streams_ends_with_the_load_and_at_ctrl_c_in_both_engines() {
    let lane = Lane::open();
    let endless = "select a.c from sbtest1 a, sbtest1 b, sbtest1 c";
    for (engine, stop) in
        [("threads", false), ("reactor", false), ("threads", true), ("reactor", true)]
    {
        let world = World::new();
        let time = if stop { "--time=300" } else { "--time=2" };
        let mut words = lane.words("bench queries ADDRESS --grace=1s --threads=2", false);
        words.extend([format!("--engine={engine}"), time.to_owned()]);
        words.extend([format!("--queries={endless}")]);
        let clock = RealClock::start_now();
        let mut child = world.start(&words_of(&words));
        let mut from = 3.0;
        if stop {
            nap(2000);
            signal(&child, Signal::INT);
            from = clock.now().to_seconds();
        }
        let ended = wait(&mut child, clock);
        let took = clock.now().to_seconds() - from;
        if !ended {
            let _ = child.kill();
        }
        let output = child.wait_with_output().unwrap();
        let said = format!("{:?}\n{}{}", output.status, out(&output), err(&output));
        let allowed = if stop { STOP_S } else { BEYOND_S };
        assert!(ended && took < allowed + BUSY_S, "{engine} {stop}: {took} s: {said}");
        assert!(!said.contains("does not answer"), "the server lives: {said}");
        assert_eq!(output.status.code() == Some(130), stop, "{said}");
    }
}

/// The server's number of the session that was opened first: the one that looks on.
fn lead(lane: &Lane) -> String {
    lane.fixture.sql(
        "SELECT MIN(ID) FROM information_schema.PROCESSLIST WHERE DB = 'sbtest' \
         AND ID <> CONNECTION_ID()",
    )
}

#[test]
fn a_scan_whose_looking_session_is_killed_goes_on() {
    let lane = Lane::open();
    let world = World::new();
    let words = lane.words("warm scan sbtest ADDRESS --rate 2MiB", false);
    let child = world.start(&words_of(&words));
    until("the scan", || lead(&lane).parse::<u64>().is_ok());
    nap(300);
    lane.fixture.sql(&format!("KILL {}", lead(&lane)));
    let mut child = child;
    assert!(wait(&mut child, RealClock::start_now()), "it waits for ever");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
}

#[test]
#[ignore = "takes ten minutes"]
fn no_fault_holds_any_command_at_any_moment() {
    let faults = [
        Fault::Killed,
        Fault::Frozen(20),
        Fault::FrozenForGood,
        Fault::Restarted,
        Fault::Cut,
        Fault::Ours,
    ];
    let mut cells = Vec::new();
    for deed in DEEDS {
        for fault in faults {
            for moment in [Moment::Before, Moment::During, Moment::AtTheEnd] {
                cells.push(Cell { deed, fault, moment, stop: false });
            }
        }
        for moment in [Moment::Before, Moment::During, Moment::AtTheEnd] {
            cells.push(Cell { deed, fault: Fault::FrozenForGood, moment, stop: true });
        }
    }
    // Nobody is there to be killed before it starts, and what was over before needs no restart.
    cells.retain(|cell| {
        cell.moment != Moment::Before
            || !matches!(cell.fault, Fault::Ours | Fault::Restarted | Fault::Frozen(_))
    });
    run_all(cells);
}
