use super::*;
use crate::plan::Options;

fn executing() -> ReplaySetup {
    let given = [("log", "x"), ("writes", "execute"), ("trust-log-clients", "on")];
    let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    ReplaySetup::new(&Options::from_given(&super::super::setup::option_specs(), &given).unwrap())
        .unwrap()
}

fn write(offset: u64) -> LogRecord<'static> {
    LogRecord {
        text: b"delete from t",
        session: Some(7),
        database: DefaultDatabase::Named(b"d"),
        offset,
        errno: Some(0),
        ..LogRecord::default()
    }
}

/// What becomes of records of a log that begins with its sessions: `sent`, or why not.
fn fates(records: &[LogRecord<'_>]) -> Vec<String> {
    let setup = ReplaySetup { from_start: true, ..executing() };
    let mut tracker = Tracker::new(&setup, None);
    let fates = records.iter().map(|recorded| match tracker.track_record(recorded).fate {
        ReplayDecision::Sent(..) => "sent".to_owned(),
        ReplayDecision::Left(why) => why.into_owned(),
        fate => format!("{fate:?}"),
    });
    fates.collect()
}

#[test]
fn writes_are_executed_only_where_the_log_tells_that_they_were_done() {
    let of = |errno, rows_affected| {
        fates(&[LogRecord { errno, rows_affected, ..write(0) }]).pop().unwrap()
    };
    assert_eq!(of(Some(0), None), "sent");
    assert_eq!(of(Some(0), Some(0)), "sent");
    assert_eq!(of(None, Some(2)), "sent");
    // Denied, failed to parse, or a log that does not tell.
    for (errno, rows) in [(Some(1142), None), (None, None), (None, Some(0))] {
        assert_eq!(of(errno, rows), NO_OUTCOME);
    }
    let call = LogRecord { text: b"call p()", errno: None, ..write(0) };
    let table = LogRecord { text: b"create temporary table x (a int)", errno: None, ..write(0) };
    assert_eq!(fates(&[call, table]), [NO_OUTCOME, "sent"]);
    let early = LogRecord { confidence: Confidence::Early, ..write(0) };
    assert_eq!(fates(&[early]), ["doubtful: early"]);
}

#[test]
fn no_write_is_executed_behind_a_guess_until_it_can_be_no_part_of_it() {
    let guess = LogRecord { confidence: Confidence::Unbalanced, ..write(1000) };
    let read = LogRecord { text: b"select 1 from t", ..write(5 << 20) };
    let told = fates(&[
        write(0),
        guess,
        write(2 << 20),
        read,
        write(LONGEST_STATEMENT + 999),
        write(LONGEST_STATEMENT + 1000),
    ]);
    assert_eq!(told, ["sent", "doubtful: unbalanced", BEHIND_GUESS, "sent", BEHIND_GUESS, "sent"]);
    let setup = ReplaySetup { from_start: true, ..executing() };
    let mut tracker = Tracker::new(&setup, None);
    let guess = LogRecord { confidence: Confidence::Suspect, ..write(0) };
    tracker.track_record(&guess);
    assert!(matches!(tracker.track_record(&write(9)).fate, ReplayDecision::Left(_)));
    tracker.next_log();
    assert!(
        matches!(tracker.track_record(&write(0)).fate, ReplayDecision::Sent(..)),
        "another file"
    );
}
