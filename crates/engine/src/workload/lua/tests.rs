//! What scripts see, without a server: a script's text, and what it prints.

use std::sync::{Arc, Mutex};

use super::*;
use crate::base::StopReason;

/// A script that is given these options, in a dry run.
fn setup(text: &str, given: &[(&str, &str)]) -> (ScriptSetup, Arc<Mutex<Vec<u8>>>) {
    let printed = Arc::new(Mutex::new(Vec::new()));
    let sink = printed.clone();
    let source = ScriptSource::Text { name: "test".to_owned(), text: text.to_owned() };
    let setup = ScriptSetup {
        command: Some("prepare".to_owned()),
        options: vec![("db_driver".to_owned(), ScriptValue::Text("mysql".to_owned()))],
        given: given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect(),
        driver: Arc::new(DriverSettings { dry_run: true, ..DriverSettings::default() }),
        threads: 2,
        printer: Some(Arc::new(move |text| sink.lock().unwrap().extend_from_slice(text))),
        ..ScriptSetup::new(source)
    };
    (setup, printed)
}

/// What the script's `prepare` prints, or how it fails.
fn run_prepare(body: &str) -> Result<String, ScriptError> {
    let (setup, printed) = setup(&format!("function prepare()\n{body}\nend"), &[]);
    run_command(&setup, "prepare", &Stop::new())?;
    let printed = printed.lock().unwrap();
    Ok(String::from_utf8_lossy(&printed).into_owned())
}

/// The single line that `prepare` prints for these expressions.
fn values(expressions: &str) -> String {
    run_prepare(&format!("print({expressions})")).unwrap().trim_end().to_owned()
}

#[test]
fn the_table_sysbench_has_its_constants() {
    let shown = values("sysbench.tid, sysbench.version, sysbench.version_string");
    assert_eq!(shown, "0\t1.0.20\tsysbench 1.0.20");
    assert_eq!(values("sysbench.error.NONE, sysbench.error.RESTART_EVENT"), "0\t1");
    assert_eq!(values("sysbench.sql.type.NONE, sysbench.sql.type.VARCHAR"), "0\t12");
    assert_eq!(values("sysbench.sql.error.IGNORABLE, sysbench.cmdline.ARG_MAX"), "1\t8");
    assert_eq!(values("sysbench.cmdline.argv[0], sysbench.cmdline.command"), "sysbench\tprepare");
    assert_eq!(values("DB_ERROR_FAILED, mysql_table_engine, thread_id"), "2\tinnodb\t0");
    assert_eq!(values("ffi.C.SB_CNT_EVENT == 3, ffi.C.SB_CNT_RECONNECT == 5"), "true\ttrue");
}

#[test]
fn objects_show_what_they_are() {
    let text = run_prepare(
        "local drv = sysbench.sql.driver() local con = drv:connect()
         local stmt = con:prepare('SELECT ?') local p = stmt:bind_create(sysbench.sql.type.INT)
         print(drv, con, stmt, p, con:query('SELECT 1'), drv:name())
         print(sysbench.histogram.new(10, 1, 2))",
    );
    let kinds = ["driver", "connection", "statement", "param", "result"];
    let kinds: String = kinds.iter().map(|kind| format!("<sql_{kind}>\t")).collect();
    assert_eq!(text.unwrap(), format!("{kinds}mysql\n<sb_histogram>\n"));
}

#[test]
fn a_statement_without_rows_gives_what_equals_nil_and_may_be_asked() {
    let text = run_prepare(
        "local con = sysbench.sql.driver():connect() local rs = con:query('UPDATE t SET a = 1')
         print(rs == nil, rs and 'truthy', rs.nrows, rs.nfields, rs:fetch_row())",
    );
    assert_eq!(text.unwrap(), "true\ttruthy\t0\t0\n");
}

#[test]
fn misuse_is_an_error_with_its_line() {
    for (body, expected) in [
        (
            "local c = sysbench.sql.driver():connect() c:disconnect() c:query('SELECT 1')",
            "SQL API error",
        ),
        ("sysbench.sql.driver('pgsql')", "failed to initialize the DB driver"),
        ("sysbench.sql.driver():connect():bulk_insert_next('x')", "db_bulk_insert_next() failed"),
        (
            "sysbench.sql.driver():connect():prepare('x'):bind_create(sysbench.sql.type.DATE)",
            "Unsupported argument type: 8",
        ),
        ("error('own')", "own"),
        ("local x = nil + 1", "attempt to perform arithmetic on a nil value"),
    ] {
        let error = run_prepare(body).unwrap_err();
        assert!(error.message.contains(expected), "{body}: {error}");
        assert!(error.message.starts_with("test:2:"), "{body}: {error}");
    }
}

#[test]
fn options_have_the_types_of_their_defaults() {
    let script = "sysbench.cmdline.options = {
        count = {'a number', 5}, flag = {'a flag', false}, ['some-text'] = {'a text', 'x'},
        list = {'a list', {'a', 'b'}}, plain = {'no default'},
        size = {'a size', '2K', sysbench.cmdline.ARG_SIZE},
      }
      function prepare()
        local o = sysbench.opt
        print(o.count, o.flag, o.some_text, #o.list, o.list[2], o.plain == '', o.size)
      end";
    for (given, expected) in [
        (&[][..], "5\tfalse\tx\t2\tb\ttrue\t2048\n"),
        (
            &[("count", "1e3"), ("flag", ""), ("some_text", "y"), ("list", "q")],
            "1000\ttrue\ty\t1\tnil\ttrue\t2048\n",
        ),
    ] {
        let (setup, printed) = setup(script, given);
        run_command(&setup, "prepare", &Stop::new()).unwrap();
        assert_eq!(String::from_utf8_lossy(&printed.lock().unwrap()), expected);
    }
    let (wrong, _) = setup(script, &[("count", "many")]);
    let error = run_command(&wrong, "prepare", &Stop::new()).unwrap_err();
    assert_eq!(error.message, "Invalid value for the 'count' option: 'many'");
    let info = read_script(&wrong).unwrap();
    let names: Vec<_> = info.options.iter().map(|option| option.name.as_str()).collect();
    assert_eq!(names, ["count", "flag", "list", "plain", "size", "some-text"]);
    assert_eq!(info.functions, ["prepare"]);
}

#[test]
fn a_script_without_declared_options_gets_all_as_globals() {
    let script = "function prepare() print(oltp_table_size, type(oltp_table_size), db_driver) end";
    let (setup, printed) = setup(script, &[("oltp_table_size", "10000")]);
    run_command(&setup, "prepare", &Stop::new()).unwrap();
    assert_eq!(String::from_utf8_lossy(&printed.lock().unwrap()), "10000\tstring\tmysql\n");
}

#[test]
fn commands_of_a_script_run_on_all_threads_and_tell_their_failure() {
    let script = "sysbench.cmdline.commands = {
        all = {function() print('thread ' .. sysbench.tid) end, sysbench.cmdline.PARALLEL_COMMAND},
        one = {function() print('one') end}, bad = {function() return false end},
        raise = {function() error('x') end, sysbench.cmdline.PARALLEL_COMMAND},
      }";
    let (setup, printed) = setup(script, &[]);
    run_command(&setup, "all", &Stop::new()).unwrap();
    run_command(&setup, "one", &Stop::new()).unwrap();
    let printed = String::from_utf8_lossy(&printed.lock().unwrap()).into_owned();
    let mut lines: Vec<_> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["one", "thread 0", "thread 1"]);
    assert!(run_command(&setup, "bad", &Stop::new()).is_err());
    assert!(run_command(&setup, "raise", &Stop::new()).is_err());
    let error = run_command(&setup, "nothing", &Stop::new()).unwrap_err();
    assert_eq!(error.message, "'test' test does not implement the 'nothing' command.");
    assert_eq!(
        read_script(&setup).unwrap().commands,
        [("all", true), ("bad", false), ("one", false), ("raise", true)]
            .map(|(name, parallel)| (name.to_owned(), parallel))
    );
}

#[test]
fn own_coroutines_and_pcall_may_hold_statements() {
    let text = run_prepare(
        "local con = sysbench.sql.driver():connect()
         local co = coroutine.wrap(function()
           con:query('SELECT 1') coroutine.yield('a') return 'b'
         end)
         print(co(), co())
         print(pcall(function() con:query('SELECT 1') return 'held' end))",
    );
    assert_eq!(text.unwrap(), "a\tb\ntrue\theld\n");
}

#[test]
fn an_endless_loop_is_ended() {
    for body in ["while true do end", "while true do pcall(function() while true do end end) end"] {
        let (setup, _) = setup(&format!("function prepare() {body} end"), &[]);
        let stop = Stop::new();
        stop.set(StopReason::Interrupted);
        run_command(&setup, "prepare", &stop).unwrap();
    }
}

#[test]
fn mistakes_in_a_script_name_its_line() {
    for (text, expected) in [
        ("x = = 1", "test:1: unexpected symbol near '='"),
        ("\n\nerror('top')", "test:3: top"),
        ("#!/usr/bin/env sysbench\nerror('second')", "test:2: second"),
        (
            "sysbench.cmdline.options = { a = 5 }",
            "`sysbench.cmdline.read_cmdline_options' function failed: \
             wrong table structure in sysbench.cmdline.options: a",
        ),
    ] {
        let (setup, _) = setup(text, &[]);
        assert_eq!(read_script(&setup).unwrap_err().message, expected);
    }
}

#[test]
fn calls_that_hold_a_thread_are_found() {
    let (plain, _) = setup("function event() end", &[]);
    assert!(!LuaWorkload::new(plain).needs_own_threads());
    let (waiting, _) = setup("function event() os.execute('true') end", &[]);
    let workload = LuaWorkload::new(waiting);
    assert!(workload.needs_own_threads());
    let note = workload.load_note().unwrap();
    assert_eq!(note, "each session has a thread: the script calls os.execute");
}

#[test]
fn counters_and_c_functions_are_there() {
    let text = run_prepare(
        "ffi.cdef('void sb_counter_inc(int, sb_counter_type); int usleep(unsigned int);')
         ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
         print(tonumber(ffi.C.sb_counter_val(0, ffi.C.SB_CNT_ERROR)), ffi.C.usleep(10))
         print(sysbench.rand.string('#@x'):match('^%d%lx$') ~= nil, #sysbench.rand.varstring(4, 4))
         print(sb_rand(5, 5), sb_rand_uniq(1, 1), type(sysbench.rand.uniform_uint64()))",
    );
    assert_eq!(text.unwrap(), "1\t0\ntrue\t4\n5\t1\tcdata\n");
}

#[test]
fn reports_print_rates_and_milliseconds() {
    let script = "sysbench.hooks.report_intermediate = sysbench.report_csv
        sysbench.hooks.report_cumulative = sysbench.report_default";
    let (setup, printed) = setup(script, &[]);
    let state = ReportState::new(&setup).unwrap();
    let values = [
        ("time_total", 2.0),
        ("time_interval", 2.0),
        ("threads_running", 4.0),
        ("events", 10.0),
        ("reads", 20.0),
        ("writes", 4.0),
        ("other", 2.0),
        ("latency_pct", 0.0015),
        ("errors", 1.0),
        ("reconnects", 0.0),
    ];
    assert!(state.call_hook("report_intermediate", &values).unwrap());
    assert!(state.call_hook("report_cumulative", &values).unwrap());
    assert!(!state.call_hook("sql_error_ignorable", &values).unwrap());
    let expected = "2,4,5.00,13.00,10.00,2.00,1.00,1.50,0.50,0.00\n\
        [ 2s ] thds: 4 tps: 5.00 qps: 13.00 (r/w/o: 10.00/2.00/1.00) lat (ms,95%): 1.50 err/s 0.50 \
        reconn/s: 0.00\n";
    assert_eq!(String::from_utf8_lossy(&printed.lock().unwrap()), expected);
}
