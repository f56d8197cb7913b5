//! Variables of a real server: changed with consent, put back whatever happens.

use sweat::base::{Stop, StopReason};
use sweat::server::ServerControl as _;
use sweat::server::journal::{self, Consent, Journal, JournalTrust};
use sweat::server::sandbox::{HomeFolders, ProcessId};

use crate::fixture::{self, Fixture};

const LOOK: &str = "select @@global.innodb_old_blocks_pct, @@global.long_query_time, \
                    @@global.innodb_stats_on_metadata, @@global.init_connect";

fn open(fixture: &Fixture, stop: &Stop) -> Journal {
    let path = fixture.dir.path().join(journal::FILE);
    let consent = Consent::from_control(&fixture.sandbox);
    Journal::open(&path, fixture.sandbox.target(), &consent, stop).unwrap()
}

fn change(journal: &mut Journal) {
    journal.set_variable("innodb_old_blocks_pct", "5").unwrap();
    journal.set_variable("long_query_time", "0.5").unwrap();
    journal.set_variable("innodb_stats_on_metadata", "ON").unwrap();
    journal.set_variable("init_connect", "set @a = 'it''s'").unwrap();
    journal.set_variable("innodb_old_blocks_pct", "6").unwrap();
}

fn check(fixture: &Fixture) {
    let before = fixture.sql(LOOK);

    let stop = Stop::new();
    let mut guard = open(fixture, &stop);
    change(&mut guard);
    assert!(fixture.sql(LOOK).starts_with("6\t0.5"), "{}", fixture.sql(LOOK));
    assert!(guard.set_variable("no_such_variable", "1").is_err());
    assert!(guard.set_variable("innodb_old_blocks_pct", "words").is_err());
    // Ctrl-C: the flag is set when the guard is dropped.
    stop.set(StopReason::Interrupted);
    drop(guard);
    assert_eq!(fixture.sql(LOOK), before, "after Ctrl-C");

    // A killed sweat: nothing is dropped.
    let mut guard = open(fixture, &Stop::new());
    change(&mut guard);
    let path = guard.path().to_owned();
    std::mem::forget(guard);
    let again =
        Journal::open(&path, fixture.target(), &Consent::from_flag("--allow x"), &Stop::new());
    assert!(again.unwrap_err().to_string().contains("not put back"));
    fixture.sql("set global long_query_time = 3");
    let undone = journal::restore_journal(&path, fixture.target(), JournalTrust::Own).unwrap();
    assert_eq!(undone.left.len(), 1, "{undone:?}");
    assert!(undone.left[0].contains("long_query_time is 3"), "{undone:?}");
    fixture.sql("set global long_query_time = 10");
    assert_eq!(fixture.sql(LOOK), before, "after a kill");
    assert_eq!(
        journal::restore_journal(&path, fixture.target(), JournalTrust::Own).unwrap(),
        journal::UndoReport::default()
    );
}

#[test]
fn variables_are_put_back_after_ctrl_c_and_after_a_kill() {
    check(&fixture::mariadb());
    if let Some(fixture) = fixture::mysql() {
        check(&fixture);
    }
}

#[test]
fn a_server_that_was_killed_does_not_hang_the_guard() {
    let mut fixture = fixture::mariadb();
    let path = fixture.dir.path().join(journal::FILE);
    let consent = Consent::from_flag("--allow x");
    let mut guard = Journal::open(&path, fixture.target(), &consent, &Stop::new()).unwrap();
    change(&mut guard);
    fixture.sandbox.kill();
    let error = guard.undo().unwrap_err();
    assert!(format!("{error:#}").contains("sweat restore"), "{error:#}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "tests start the built program")]
fn what_a_killed_sweat_left_is_told_by_the_next_and_put_back() {
    let fixture = fixture::mariadb();
    let before = fixture.sql(LOOK);
    let home = HomeFolders::from_root(fixture.dir.path());
    std::fs::create_dir(&home.journals).unwrap();
    let path = home.journals.join("x.jsonl");
    let consent = Consent::from_flag("--allow x");
    let mut guard = Journal::open(&path, fixture.target(), &consent, &Stop::new()).unwrap();
    change(&mut guard);
    std::mem::forget(guard);
    let told = journal::find_pending_journals(&home);
    assert!(told.len() == 1 && told[0].is_ours, "its sweat still runs: {told:?}");
    let text = std::fs::read_to_string(&path).unwrap();
    let started = ProcessId::own_process().unwrap().started;
    std::fs::write(&path, text.replace(&format!("\"{started}\""), "\"1\"")).unwrap();
    let told = journal::find_pending_journals(&home);
    assert!(told.len() == 1 && told[0].path == path && !told[0].is_ours, "{told:?}");
    assert!(told[0].what.contains("innodb_old_blocks_pct, long_query_time"), "{told:?}");

    let sweat = |words: &[&str]| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_sweat"));
        program.args(words).env("SWEAT_HOME", fixture.dir.path()).env("HOME", "/nonexistent");
        let output = program.output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let path = path.display().to_string();
    let (_, said) = sweat(&["sandbox", "list"]);
    assert!(said.contains(&format!("sweat restore {path}")), "{said}");
    // Another home has written it, and we have changed it: it could come from anywhere.
    let changed = fixture.sql(LOOK);
    let (code, said) = sweat(&["restore", &path]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("--allow journal") && said.contains("SET GLOBAL init_connect = ''"),
        "{said}"
    );
    assert_eq!(fixture.sql(LOOK), changed, "nothing was put back");
    let (code, said) = sweat(&["restore", &path, "--allow", "journal"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("init_connect has its old value"), "{said}");
    assert_eq!(fixture.sql(LOOK), before);
    let (_, said) = sweat(&["sandbox", "list"]);
    assert!(!said.contains("restore"), "{said}");
    assert!(!std::path::Path::new(&path).exists(), "a journal with nothing to do stays");
    let (code, said) = sweat(&["restore", &path]);
    assert!(code == Some(0) && said.contains("nothing is left to put back"), "{said}");
    let empty = fixture.dir.path().join("run");
    std::fs::create_dir(&empty).unwrap();
    let (code, said) = sweat(&["restore", &empty.display().to_string()]);
    assert!(code == Some(0) && said.contains("nothing is left to put back"), "{said}");
    let (code, said) = sweat(&["restore", "/nonexistent/x.jsonl"]);
    assert!(code == Some(2) && said.contains("there is no journal"), "{said}");
}

#[test]
fn a_journal_touches_no_file_but_the_servers_list_of_pages() {
    let fixture = fixture::mariadb();
    let victim = fixture.dir.path().join("victim");
    std::fs::write(&victim, "mine").unwrap();
    std::fs::write(victim.with_file_name("victim.sweat-aside"), "evil").unwrap();
    let mut guard = open(&fixture, &Stop::new());
    guard.set_variable("innodb_old_blocks_pct", "5").unwrap();
    let path = guard.path().to_owned();
    std::mem::forget(guard);
    let line = format!("{{\"stand_in\":{{\"path\":{victim:?},\"inode\":1}}}}\n");
    let text = std::fs::read_to_string(&path).unwrap() + &line;
    std::fs::write(&path, text).unwrap();
    let refused = journal::restore_journal(&path, fixture.target(), JournalTrust::Own)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("victim") && refused.contains("--allow journal"), "{refused}");
    let undone = journal::restore_journal(&path, fixture.target(), JournalTrust::Any).unwrap();
    assert!(undone.left[0].contains("no file was touched"), "{undone:?}");
    assert_eq!(undone.back, ["innodb_old_blocks_pct"]);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
}
