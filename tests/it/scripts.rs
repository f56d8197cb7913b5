//! Lua scripts, one for each thing that a script may do: what they print here, and what Debian's sysbench printed.
//!
//! The first line of a script may say, behind `--`, what it is run with: `options:`, `command:`; and why sysbench's own result
//! is not the one to have: `crashes:`, `differs:`. `UPDATE=1` records anew: by sysbench where its result is the one to have.
#![expect(clippy::disallowed_methods, reason = "tests start peers and wait for them")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use sweat::base::{RealClock, Stop};
use sweat::client::Target;
use sweat::driver;
use sweat::plan::{AddressPlan, EnginePlan, LoadPlan};
use sweat::recorder::Recording;
use sweat::workload::lua::{
    DriverSettings, LuaWorkload, ScriptSetup, ScriptSource, ScriptValue, run_command,
};
use sweat::workload::{self, DataJob, Endpoint, ErrorRule, Workload, check_options, find_kind};

use crate::fixture::{self, Fixture};

/// One script and what it is run with.
struct ScriptCase {
    path: PathBuf,
    name: String,
    options: Vec<String>,
    command: String,
    /// Whether sysbench gives the result to have.
    is_alike: bool,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/scripts")
}

fn cases() -> Vec<ScriptCase> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut all: Vec<ScriptCase> = files
        .filter(|path| path.extension().is_some_and(|end| end == "lua"))
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let head = text.lines().next().and_then(|line| line.strip_prefix("-- "));
            let head = head.unwrap_or_default();
            let part = |key: &str| {
                let mut parts = head.split("; ");
                parts.find_map(|part| part.strip_prefix(key)).map(|text| text.trim().to_owned())
            };
            ScriptCase {
                name: path.file_stem().unwrap().to_string_lossy().into_owned(),
                options: part("options:")
                    .map(|words| words.split(' ').map(str::to_owned).collect())
                    .unwrap_or_default(),
                command: part("command:").unwrap_or_else(|| "run".to_owned()),
                is_alike: part("crashes:").is_none() && part("differs:").is_none(),
                path,
            }
        })
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

/// The lines that a script marks as its result, and the exit code.
fn result_lines(printed: &str, failed: bool) -> String {
    let lines = printed.lines().filter(|line| line.starts_with("> "));
    let lines: String = lines.map(|line| format!("{line}\n")).collect();
    format!("{lines}exit {}\n", i32::from(failed))
}

fn database(server: &Fixture, name: &str) -> AddressPlan {
    server.sql(&format!("CREATE DATABASE {name}"));
    AddressPlan { database: Some(name.to_owned()), ..server.target().plan().clone() }
}

fn run_ours(case: &ScriptCase, plan: &AddressPlan, engine: EnginePlan) -> String {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let sink = printed.clone();
    let mut driver_settings = DriverSettings {
        targets: vec![Target::new(plan).unwrap().with_multi_statements()],
        ..DriverSettings::default()
    };
    let (mut given, mut events) = (Vec::new(), 1);
    for word in &case.options {
        let (name, value) = word.trim_start_matches('-').split_once('=').unwrap_or((word, ""));
        match name.trim_start_matches('-') {
            "events" => events = value.parse().unwrap(),
            "mysql-ignore-errors" => {
                driver_settings.ignored = ErrorRule::from_option(name, value).unwrap();
            }
            "db-ps-mode" => driver_settings.fill_holes = value == "disable",
            name => given.push((name.replace('-', "_"), value.to_owned())),
        }
    }
    let setup = ScriptSetup {
        command: Some(case.command.clone()),
        options: vec![("db_driver".to_owned(), ScriptValue::Text("mysql".to_owned()))],
        given,
        driver: Arc::new(driver_settings),
        printer: Some(Arc::new(move |text| sink.lock().unwrap().extend_from_slice(text))),
        ..ScriptSetup::new(ScriptSource::Path(case.path.clone()))
    };
    let failed = if case.command == "run" {
        let load = LoadPlan { workers: 1, events: Some(events), engine, ..LoadPlan::default() };
        let workload = LuaWorkload::new(setup);
        let clock = RealClock::start_now();
        let ran = driver::run_load(&load, 7, &workload, clock, &Stop::new(), &mut |_| {});
        ran.map_or(true, |recording| recording.failure.is_some())
    } else {
        run_command(&setup, &case.command, &Stop::new()).is_err()
    };
    result_lines(&String::from_utf8_lossy(&printed.lock().unwrap()), failed)
}

fn run_sysbench(case: &ScriptCase, server: &Fixture, database: &str) -> String {
    let is_numbered = case.options.iter().any(|word| word.starts_with("--events"));
    let output = Command::new("sysbench")
        .arg(&case.path)
        .arg(format!("--mysql-socket={}", server.sandbox.meta().socket.display()))
        .args(["--mysql-user=root", &format!("--mysql-db={database}"), "--time=20"])
        .args(if is_numbered { &[][..] } else { &["--events=1"][..] })
        .args(&case.options)
        .arg(&case.command)
        .output()
        .expect("it was there a moment ago");
    result_lines(&String::from_utf8_lossy(&output.stdout), !output.status.success())
}

#[test]
fn scripts_do_what_they_do_in_sysbench() {
    let server = fixture::mariadb();
    let own = database(&server, "own");
    server.sql("CREATE DATABASE peer");
    let has_peer = Command::new("sysbench").arg("--version").output().is_ok();
    if !has_peer {
        fixture::record_skipped_test("sysbench");
    }
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = Vec::new();
    let cases = cases();
    assert!(cases.len() >= 40, "{}", cases.len());
    for case in &cases {
        let path = folder().join(format!("{}.out", case.name));
        let peer = (has_peer && case.is_alike).then(|| run_sysbench(case, &server, "peer"));
        let ours = run_ours(case, &own, EnginePlan::Threads);
        if update {
            std::fs::write(&path, peer.as_ref().unwrap_or(&ours)).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        let mut check = |who: &str, got: &str| {
            if got != expected {
                wrong.push(format!("{} by {who}:\n{got}expected:\n{expected}", case.name));
            }
        };
        check("threads", &ours);
        check("the reactor", &run_ours(case, &own, EnginePlan::Reactor));
        if let Some(peer) = peer {
            check("sysbench", &peer);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A workload by its name and options, as plans name it.
fn build(kind: &str, given: &[(&str, &str)], target: &Target) -> Box<dyn Workload> {
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let options = check_options(find_kind(kind).unwrap(), &given).unwrap();
    workload::build_workload(kind, &options, Endpoint::MySql(target)).unwrap()
}

fn run_events(workload: &dyn Workload, workers: usize, events: u64) -> Recording {
    let load = LoadPlan { workers, events: Some(events), ..LoadPlan::default() };
    let clock = RealClock::start_now();
    driver::run_load(&load, 7, workload, clock, &Stop::new(), &mut |_| {}).unwrap()
}

fn with_data_job(work: impl Fn(&mut DataJob<'_>) -> anyhow::Result<()>) {
    let stop = Stop::new();
    work(&mut DataJob { threads: 2, seed: 7, stop: &stop, progress: &mut |_| {} }).unwrap();
}

/// Scripts of Debian's sysbench and whether they take options of tables.
const SYSBENCH_SCRIPTS: [(&str, bool); 11] = [
    ("oltp_delete", true),
    ("oltp_insert", true),
    ("oltp_point_select", true),
    ("oltp_read_only", true),
    ("oltp_read_write", true),
    ("oltp_update_index", true),
    ("oltp_update_non_index", true),
    ("oltp_write_only", true),
    ("select_random_points", true),
    ("select_random_ranges", true),
    ("bulk_insert", false),
];

#[test]
fn scripts_that_every_user_has_run_on_mariadb_and_on_mysql() {
    if !Path::new("/usr/share/sysbench/oltp_common.lua").exists() {
        return fixture::record_skipped_test("sysbench");
    }
    for server in [Some(fixture::mariadb()), fixture::mysql()].into_iter().flatten() {
        let target = Target::new(&database(&server, "sbtest")).unwrap();
        for (name, has_tables) in SYSBENCH_SCRIPTS {
            let mut given = vec![("script", name)];
            if has_tables {
                given.extend([("table-size", "200"), ("mysql_storage_engine", "innodb")]);
            }
            let workload = build("lua", &given, &target);
            with_data_job(|job| workload.prepare_data(job));
            // A thread of bulk_insert that got no event fails at its end, as in sysbench.
            for workers in if has_tables { &[2, 20][..] } else { &[1] } {
                let recording = run_events(&*workload, *workers, 40);
                assert_eq!(recording.failure, None, "{name}");
                assert_eq!(recording.total.event_count(), 40, "{name}");
            }
            with_data_job(|job| workload.cleanup_data(job));
            let left = server.sql(
                "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'sbtest'",
            );
            assert_eq!(left.trim(), "0", "{name}");
        }
    }
}

/// What the server was asked, by digest and by kind of statement.
fn asked(server: &Fixture, database: &str) -> String {
    let digests = server.sql(&format!(
        "SELECT digest_text, SUM(count_star)
         FROM performance_schema.events_statements_summary_by_digest
         WHERE schema_name = '{database}' AND digest_text NOT LIKE '%performance_schema%'
           AND digest_text NOT LIKE 'SET %' GROUP BY 1 ORDER BY 1"
    ));
    server.sql("TRUNCATE performance_schema.events_statements_summary_by_digest");
    digests
}

#[test]
fn native_mixes_and_scripts_ask_what_sysbench_asks() {
    let has_peer = Command::new("sysbench").arg("--version").output().is_ok();
    if !has_peer || !Path::new("/usr/share/sysbench/oltp_common.lua").exists() {
        return fixture::record_skipped_test("sysbench");
    }
    let server = fixture::with(&[("performance_schema", "ON")]);
    let target = Target::new(&database(&server, "sbtest")).unwrap();
    let words = |name: &str, command: &str| {
        let output = Command::new("sysbench")
            .args([name, command, "--mysql-user=root", "--mysql-db=sbtest", "--table-size=500"])
            .args(["--time=30", "--events=25", "--db-ps-mode=disable"])
            .arg(format!("--mysql-socket={}", server.sandbox.meta().socket.display()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    };
    words("oltp_read_write", "prepare");
    for (name, _) in SYSBENCH_SCRIPTS.iter().filter(|(_, has_tables)| *has_tables) {
        // Servers count prepared statements by digest or not, as they like: text they all count.
        let text = ("db-ps-mode", "disable");
        let script = build("lua", &[("script", name), ("table-size", "500"), text], &target);
        let native = build(name, &[("table-size", "500"), text], &target);
        native.check_ready(&Stop::new()).unwrap();
        asked(&server, "sbtest");
        words(name, "run");
        let peer = asked(&server, "sbtest");
        assert!(!peer.is_empty(), "{name}");
        let recording = run_events(&*script, 1, 25);
        let by_script = asked(&server, "sbtest");
        let native = run_events(&*native, 1, 25);
        assert_eq!((native.errors.len(), native.failure.as_ref()), (0, None), "{name}");
        let by_native = asked(&server, "sbtest");
        assert_eq!(by_script, peer, "{name}: the script");
        assert_eq!(by_native, peer, "{name}: the native mix");
        // Which statements change a row depends on the keys that were drawn.
        let queries = |recording: &Recording| {
            let [reads, writes, other, ..] = recording.total.tally.counts;
            (reads, writes + other)
        };
        assert_eq!(queries(&recording), queries(&native), "{name}");
    }
}

#[test]
fn thousands_of_sessions_are_more_than_one_state_holds() {
    let (setup, _) = script_setup("function thread_init(t) own = t end function event() end");
    let workload = LuaWorkload::new(setup);
    let recording = run_events(&workload, 4500, 9000);
    assert_eq!((recording.failure, recording.total.event_count()), (None, 9000));
}

#[test]
fn sessions_that_share_a_state_have_globals_of_their_own() {
    let script = "
        own = 0
        ffi.cdef('typedef struct { int a; } of_this_script;')
        package.preload.helper = function() return { count = 0 } end
        function thread_init(t) own = t helper = require('helper') end
        function event(t)
          helper.count = helper.count + 1
          loadstring('loaded = ' .. t)()
          ffi.C.usleep(1)
          if own ~= t or loaded ~= t or _G.loaded ~= t then print('> mixed') end
          if sysbench.tid ~= t then print('> other') end
        end
        function thread_done() print('> ' .. (helper.count > 0 and 'ran' or 'idle')) end";
    let (setup, printed) = script_setup(script);
    let workload = LuaWorkload::new(setup);
    let load = LoadPlan {
        workers: 20,
        events: Some(400),
        engine: EnginePlan::Reactor,
        ..LoadPlan::default()
    };
    let clock = RealClock::start_now();
    let ran = driver::run_load(&load, 7, &workload, clock, &Stop::new(), &mut |_| {}).unwrap();
    assert_eq!((ran.failure, ran.total.event_count()), (None, 400));
    let printed = String::from_utf8_lossy(&printed.lock().unwrap()).into_owned();
    assert_eq!(printed, "> ran\n".repeat(20));
}

/// A script by its text, that talks to nobody, and what it prints.
fn script_setup(text: &str) -> (ScriptSetup, Arc<Mutex<Vec<u8>>>) {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let sink = printed.clone();
    let source = ScriptSource::Text { name: "test".to_owned(), text: text.to_owned() };
    let setup = ScriptSetup {
        command: Some("run".to_owned()),
        driver: Arc::new(DriverSettings { dry_run: true, ..DriverSettings::default() }),
        printer: Some(Arc::new(move |text| sink.lock().unwrap().extend_from_slice(text))),
        ..ScriptSetup::new(source)
    };
    (setup, printed)
}
