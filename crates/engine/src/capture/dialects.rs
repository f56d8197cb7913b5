//! All dialects of logs, each as its golden reading. `UPDATE=1 cargo test dialects` rewrites them.

use std::fmt::Write as _;
use std::path::Path;

use super::log::LogParser;
use super::{DefaultDatabase, LogFlow, LogRecord};

/// One record as lines of text.
fn format_record(r: &LogRecord<'_>, out: &mut String) {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let number = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
    let database = match r.database {
        DefaultDatabase::Unknown => "?".to_owned(),
        DefaultDatabase::None => "none".to_owned(),
        DefaultDatabase::Named(name) => format!("`{}`", text(name)),
    };
    let inner = if r.is_inner { " inner" } else { "" };
    writeln!(
        out,
        "line {} {:?} {}{inner}\n  session {} of {}@{} in {database}\n  began {} took {} \
         locked {} us\n  rows sent {} examined {} affected {}, bytes {}, errno {}\n  {}",
        r.line,
        r.kind,
        r.confidence.as_str(),
        number(r.session),
        text(r.user),
        text(r.host),
        number(r.began_us),
        number(r.took_us),
        number(r.locked_us),
        number(r.rows_sent),
        number(r.rows_examined),
        number(r.rows_affected),
        number(r.bytes_sent),
        number(r.errno),
        text(r.text),
    )
    .unwrap();
}

fn read_log(text: &[u8]) -> String {
    let (mut log, mut out, mut offset) = (LogParser::default(), String::new(), 0);
    let mut source = text;
    log.read_source(&mut source, &mut |r| {
        format_record(r, &mut out);
        assert!(r.offset >= offset, "records stand one after the other");
        let from = r.offset as usize;
        assert_eq!(&text[from..from + r.raw.len()], r.raw, "raw is the text itself");
        offset = r.offset + r.raw.len() as u64;
        if let Some(at) = memchr::memmem::rfind(r.raw, r.text).filter(|_| r.text.len() > 7) {
            let before = &text[..from + at];
            assert_eq!(r.line, 1 + before.iter().filter(|b| **b == b'\n').count() as u64);
        }
        LogFlow::Continue(())
    })
    .unwrap();
    let tally = log.tally();
    writeln!(out, "{} records, {} banners", tally.records, tally.banners).unwrap();
    for place in &tally.skipped {
        writeln!(out, "line {}: {} bytes not understood", place.line, place.bytes).unwrap();
    }
    out
}

#[test]
fn dialects_are_read_as_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/logs/dialects");
    let mut names: Vec<_> =
        std::fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|e| e == "log"));
    names.sort();
    assert!(names.len() >= 22, "all fixtures are there");
    for path in names {
        let found = read_log(&std::fs::read(&path).unwrap());
        let golden = path.with_extension("reading");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&golden, &found).unwrap();
        }
        let wanted = std::fs::read_to_string(&golden).unwrap_or_default();
        assert!(found == wanted, "{}:\n{found}\nis not\n{wanted}", path.display());
    }
}
