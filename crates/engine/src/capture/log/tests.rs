//! One log, in pieces, in quiet whiles, from its midst.

use super::*;
use crate::capture::{DefaultDatabase, EventKind};

/// What was recorded, on its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::capture) struct Owned {
    pub line: u64,
    pub kind: EventKind,
    pub text: String,
    pub session: Option<u64>,
    pub database: Option<String>,
    pub began_us: Option<u64>,
    pub confidence: Confidence,
}

/// Everything in a log, given to us in pieces of so many bytes.
pub(in crate::capture) fn all(text: &[u8], piece: usize) -> (Vec<Owned>, LogTally) {
    struct Pieces<'a>(&'a [u8], usize);
    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let length = self.0.len().min(self.1).min(out.len());
            out[..length].copy_from_slice(&self.0[..length]);
            self.0 = &self.0[length..];
            Ok(length)
        }
    }
    let (mut log, mut found) = (LogParser::default(), Vec::new());
    log.read_source(&mut Pieces(text, piece), &mut |r| {
        found.push(Owned {
            line: r.line,
            kind: r.kind,
            text: String::from_utf8_lossy(r.text).into_owned(),
            session: r.session,
            database: match r.database {
                DefaultDatabase::Unknown => None,
                DefaultDatabase::None => Some(String::new()),
                DefaultDatabase::Named(name) => Some(String::from_utf8_lossy(name).into_owned()),
            },
            began_us: r.began_us,
            confidence: r.confidence,
        });
        LogFlow::Continue(())
    })
    .unwrap();
    (found, log.tally().clone())
}

/// Hears a log that comes in these parts, with a quiet while behind each: texts with their doubts.
fn heard(mut log: LogParser, parts: &[&str]) -> (Vec<(String, Confidence)>, LogTally) {
    let mut found = Vec::new();
    let on = &mut |r: &LogRecord<'_>| {
        found.push((String::from_utf8_lossy(r.text).into_owned(), r.confidence));
        LogFlow::Continue(())
    };
    for part in parts {
        assert!(log.push(part.as_bytes(), on).unwrap().is_continue());
        assert!(log.flush_quiet(on).unwrap().is_continue());
        assert!(log.flush_quiet(on).unwrap().is_continue());
    }
    assert!(log.finish(on).unwrap().is_continue());
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    assert_eq!((log.offset(), log.tally().bytes), (bytes as u64, bytes as u64));
    (found, log.tally().clone())
}

/// Of a session that this log can't have.
const FORGED: &str = "# User@Host: u[u] @ h []  Id: 99999999\n# Query_time: 0.1\n";

const HEAD: &str = "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: u[u] @ h []  Id:     3\n\
     # Query_time: 0.1  Lock_time: 0.0 Rows_sent: 1  Rows_examined: 1\n\
     SET timestamp=1795245129;\n";

#[test]
fn what_looks_whole_is_given_in_a_quiet_while_and_once() {
    let one = format!("{HEAD}select 1;\n");
    let two = format!("{HEAD}select 2 -- end;\n");
    let (found, tally) = heard(LogParser::default(), &[&one, &two, &one]);
    let early = |text: &str| (text.to_owned(), Confidence::Early);
    assert_eq!(found, [early("select 1"), early("select 2 -- end"), early("select 1")]);
    assert_eq!((tally.records, tally.early, tally.skipped_bytes), (3, 3, 0));
    let (found, _) = heard(LogParser::default().without_early(), &[&one, &two]);
    assert!(found.iter().all(|(_, confidence)| *confidence == Confidence::Clean), "{found:?}");
    let line = "2026-11-21T07:12:06.155357Z\t   27 Query\tselect 1\n";
    let (found, tally) = heard(LogParser::default(), &[line, line]);
    assert_eq!(found, [early("select 1"), early("select 1")]);
    assert_eq!(tally.skipped_bytes, 0);
}

#[test]
fn a_record_that_comes_in_parts_is_one_wherever_it_is_cut() {
    let text = format!(
        "{HEAD}select 1;\n{HEAD}use x;\nselect 'a;\n{FORGED}drop table t;\n' -- it's\n, 2;\n\
             {HEAD}do 3;\n"
    );
    let text = text.replace(&format!("{HEAD}use x;\n"), &HEAD.replace("SET", "use x;\nSET"));
    let (whole, _) = heard(LogParser::default().without_early(), &[&text]);
    assert_eq!(whole.len(), 3);
    for cut in 0..text.len() {
        let (found, tally) = heard(LogParser::default(), &[&text[..cut], &text[cut..]]);
        let texts: Vec<&String> = found.iter().map(|(text, _)| text).collect();
        assert_eq!(texts, whole.iter().map(|(text, _)| text).collect::<Vec<_>>(), "{cut}");
        assert_eq!(tally.skipped_bytes, 0, "{cut}");
    }
    let text = "2026-11-21T07:12:06.155357Z\t   27 Query\tselect 'a\n\t\t    99 Quit\t\nb'\n\
                2026-11-21T07:12:06.155358Z\t   28 Quit\t\n";
    for cut in 0..text.len() {
        let (found, _) = heard(LogParser::default(), &[&text[..cut], &text[cut..]]);
        assert_eq!(found.len(), 2, "{cut}: {found:?}");
    }
}

#[test]
fn what_comes_after_a_record_was_given_early_is_no_record() {
    let (begin, rest) = ("create procedure p() begin\nselect 1;\n", "select '\n");
    let parts =
        [&format!("{HEAD}{begin}"), rest, FORGED, "drop table t;\n';\nend;\n", HEAD, "do 1;\n"];
    let (found, tally) = heard(LogParser::default(), &parts);
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["create procedure p() begin\nselect 1", "do 1"]);
    assert_eq!(tally.continued, 1);
    let line = "2026-11-21T07:12:06.155357Z\t   27 Query\t";
    let parts =
        [line, "select 1\n", "from '\n", "\t\t    99 Query\t", "x'\n", "where 1\n", line, "do 1\n"];
    let (found, tally) = heard(LogParser::default(), &parts);
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(texts, ["select 1", "do 1"]);
    assert_eq!(tally.continued, 1);
}

/// Texts and tally of a log that keeps no more than so much, in pieces of so many bytes.
fn bounded(text: &str, most: usize, piece: usize) -> (Vec<(String, u64, Confidence)>, LogTally) {
    let (mut log, mut found) = (LogParser::default().with_max_bytes(most), Vec::new());
    let on = &mut |r: &LogRecord<'_>| {
        found.push((String::from_utf8_lossy(r.text).into_owned(), r.line, r.confidence));
        LogFlow::Continue(())
    };
    for part in text.as_bytes().chunks(piece) {
        assert!(log.push(part, on).unwrap().is_continue());
        let held = log.text.len();
        assert!(held <= (most + SLACK_BYTES).saturating_add(piece), "{held} bytes are held");
    }
    assert!(log.finish(on).unwrap().is_continue());
    assert_eq!(log.offset(), text.len() as u64);
    (found, log.tally().clone())
}

#[test]
fn a_record_that_is_too_long_is_left_out_and_said() {
    let long = "x, 'it''s;\n# User@Host: u[u] @ h []  Id: 3\n', /* ; */\n".repeat(6_000);
    let line = "2026-11-21T07:12:06.155357Z\t   27 Query\t";
    let slow = format!("{HEAD}do 1;\n{HEAD}select {long}1;\n{HEAD}do 2;\n{HEAD}do 3;\n");
    let general = format!("{line}do 1\n{line}select {long}1\n{line}do 2\n{line}do 3\n");
    for (text, at) in [(slow, 6), (general, 2)] {
        let whole = bounded(&text, 10_000, usize::MAX);
        let texts: Vec<&str> = whole.0.iter().map(|(text, ..)| text.as_str()).collect();
        assert_eq!(texts, ["do 1", "do 2", "do 3"]);
        assert!(whole.0.iter().all(|(.., confidence)| *confidence == Confidence::Clean));
        assert_eq!((whole.1.too_long, whole.1.too_long_at[0].line), (1, at));
        assert_eq!(whole.1.skipped_bytes, 0);
        for piece in [1_000, 4_099, 100_000] {
            assert_eq!(bounded(&text, 10_000, piece), whole, "in pieces of {piece}");
        }
        let (found, tally) = bounded(&text, 1 << 20, 1_000);
        assert_eq!((found.len(), tally.too_long), (4, 0));
    }
}

#[test]
fn what_never_ends_does_not_grow() {
    for begin in [format!("{HEAD}do 1;\n{HEAD}"), format!("{HEAD}do 1;\n"), "# Time: 9".to_owned()]
    {
        for more in ["x\n", "x", "'\n", "# Query_time: 1", "\n"] {
            let mut log = LogParser::default().with_max_bytes(1_000);
            let on = &mut |_: &LogRecord<'_>| LogFlow::Continue(());
            let _ = log.push(begin.as_bytes(), on);
            for _ in 0..50 {
                if log.push(more.repeat(10_000).as_bytes(), on).is_err() {
                    break;
                }
                let held = log.text.len();
                assert!(held <= 200_000, "{held} bytes are held of {begin:?} and {more:?}");
            }
        }
    }
}

#[test]
fn a_log_of_nothing_but_a_banner_is_an_empty_log() {
    let banner = "/usr/sbin/mysqld, Version: 9.7.4 (x). started with:\n\
                  Tcp port: 0  Unix socket: s\nTime                 Id Command    Argument\n";
    for text in [banner.to_owned(), banner.repeat(2_000), format!("{banner}\n")] {
        let (found, tally) = all(text.as_bytes(), 100);
        assert_eq!((found.len(), tally.skipped_bytes), (0, 0));
        assert!(tally.banners > 0);
    }
    let mut log = LogParser::default();
    let on = &mut |_: &LogRecord<'_>| LogFlow::Continue(());
    let text = format!("{banner}hello\n");
    assert!(matches!(log.read_source(&mut text.as_bytes(), on), Err(LogError::Unknown)));
}

#[test]
fn a_log_may_be_attached_to_in_the_midst_of_anything() {
    let long = "x;\nno head".repeat(20_000);
    let text = format!("{long}\n# User@Host, not\n{HEAD}select 1;\n");
    let (found, tally) = heard(LogParser::new_attached(), &[&text[..70_000], &text[70_000..]]);
    assert_eq!(found, [("select 1".to_owned(), Confidence::Suspect)]);
    assert_eq!(tally.skipped_bytes as usize, text.find("# Time").unwrap());
    let long = format!("{}# User@Host: e[e] @ h []\nselect 1;\n", "x".repeat(BEGIN));
    let (found, _) = heard(LogParser::new_attached(), &[&long]);
    assert_eq!(found, []);
    let (found, _) = heard(LogParser::new_attached(), &[&format!("{HEAD}select 1;\n")]);
    assert_eq!(found[0].1, Confidence::Early, "nothing is missing");
}

#[test]
fn a_source_may_have_nothing_for_a_while() {
    struct Slow(Vec<Option<String>>);
    impl Read for Slow {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            match self.0.pop() {
                None => Ok(0),
                Some(None) => Err(std::io::ErrorKind::WouldBlock.into()),
                Some(Some(text)) => text.as_bytes().read(out),
            }
        }
    }
    let one = || Some(format!("{HEAD}select 1;\n"));
    let mut source = Slow(vec![one(), None, one(), None, None, one()]);
    let (mut log, mut seen) = (LogParser::default(), String::new());
    let mut stops = 1;
    while stops < 4 {
        log.follow_source(&mut source, &mut |news| {
            seen.push(if matches!(news, LogUpdate::Idle) { '.' } else { 'r' });
            let is_stop = seen.len() == stops;
            if is_stop { LogFlow::Break(()) } else { LogFlow::Continue(()) }
        })
        .unwrap();
        stops += 1;
    }
    log.follow_source(&mut source, &mut |news| {
        seen.push(if matches!(news, LogUpdate::Idle) { '.' } else { 'r' });
        LogFlow::Continue(())
    })
    .unwrap();
    assert_eq!(seen, "r.rr");
}

#[test]
fn what_is_no_log_is_refused_and_nothing_is_nothing() {
    let on = &mut |_: &LogRecord<'_>| LogFlow::Continue(());
    let mut log = LogParser::default();
    assert!(matches!(log.read_source(&mut &b"hello\nworld\n"[..], on), Err(LogError::Unknown)));
    let mut log = LogParser::default();
    log.read_source(&mut &b"\n\n"[..], on).unwrap();
    assert_eq!(log.tally().records, 0);
}
