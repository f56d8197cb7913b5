//! A load that several machines share: what is refused, and that all shares together send what one machine would have sent.

use crate::cli::{World, err, expect};
use crate::fixture;

#[test]
fn what_can_t_be_shared_is_refused_and_leaves_no_run() {
    let world = World::new();
    let refused: [(&[&str], &str); 5] = [
        (&["null", "--share=1/2", "--threads=2"], "needs the seed that the other shares have"),
        (&["null", "--share=2/2", "--seed=7", "--threads=1"], "share 2/2 of 1 worker has none"),
        (&["cpu", "--share=1/2", "--seed=7", "--threads=2"], "measures the machine"),
        (&["null", "--share=1/2", "--seed=7", "--until-steady"], "a time of its own"),
        (&["oltp_insert", "--share=1/2", "--seed=7", "--sandbox"], "a server of its own"),
    ];
    for (words, why) in refused {
        let output = world.run(&[&["bench"], words, &["--events=10", "--quiet"]].concat());
        expect(&output, 2);
        let text = err(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(why), "{words:?}: {text}");
    }
    assert!(!world.runs().exists(), "no load ran");
    let words = ["bench", "null", "--share=1/2", "--seed=7", "--events=10", "--quiet"];
    expect(&world.run(&words), 0);
    let run = world.record();
    let share = run.trials[0].share.as_ref().unwrap();
    assert_eq!((share.text.as_str(), share.first_worker, share.all_workers), ("1/2", 0, 1));
    assert_eq!(run.trials[0].arrival.text, "closed, share 1/2");
    assert!(run.plan.contains("share = \"1/2\""), "{}", run.plan);
}

#[test]
fn shares_send_the_statements_of_one_machine() {
    let server = fixture::with(&[("general_log", "1"), ("log_output", "TABLE")]);
    server.sql("CREATE DATABASE shares");
    let socket = format!("--socket={}", server.sandbox.meta().socket.display());
    let world = World::new();
    let bench = |words: &[&str]| {
        let login = [&socket, "-uroot", "-Dshares", "--quiet", "--rows=3000"];
        expect(&world.run(&[&["bench", "lookup"], words, &login[..]].concat()), 0);
    };
    bench(&["prepare"]);
    let sent = |shares: &[&str]| {
        server.sql("TRUNCATE mysql.general_log");
        for share in shares {
            bench(&["--lookups=401", "--threads=5", "--seed=7", share]);
        }
        let log = server.sql(
            "SELECT CONVERT(argument USING utf8mb4) FROM mysql.general_log \
             WHERE command_type = 'Query' AND argument LIKE 'SELECT%WHERE%' \
             AND argument NOT LIKE 'SELECT COUNT%'",
        );
        let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let whole = sent(&["--share=1/1"]);
    assert_eq!(whole.len(), 401, "{:?}", whole.iter().take(3).collect::<Vec<_>>());
    assert_eq!(sent(&["--share=1/2", "--share=2/2"]), whole);
    assert_eq!(sent(&["--share=1/1:3:1", "--share=2/1:3:1", "--share=3/1:3:1"]), whole);
}
