//! What must be true of every log, whatever is in it.

use sweat::capture::{LogFlow, LogParser, LogRecord, LogTally};

/// What matters of a record.
#[derive(Debug, PartialEq)]
pub struct KeptRecord {
    line: u64,
    offset: u64,
    text: Vec<u8>,
    session: Option<u64>,
    database: String,
    confidence: String,
    raw: usize,
}

fn keep_record(kept: &mut Vec<KeptRecord>, r: &LogRecord<'_>) -> LogFlow {
    kept.push(KeptRecord {
        line: r.line,
        offset: r.offset,
        text: r.text.to_vec(),
        session: r.session,
        database: format!("{:?}", r.database),
        confidence: r.confidence.as_str().to_owned(),
        raw: r.raw.len(),
    });
    LogFlow::Continue(())
}

/// Reads it in pieces, with a quiet while behind each if so asked.
fn read_pieces(
    mut log: LogParser,
    text: &[u8],
    piece: usize,
    has_pauses: bool,
) -> Option<(Vec<KeptRecord>, LogTally)> {
    let mut kept = Vec::new();
    for part in text.chunks(piece) {
        let _ = log.push(part, &mut |r| keep_record(&mut kept, r)).ok()?;
        if has_pauses {
            let _ = log.flush_quiet(&mut |r| keep_record(&mut kept, r)).ok()?;
        }
    }
    let _ = log.finish(&mut |r| keep_record(&mut kept, r)).ok()?;
    // Nothing but blanks is no log, and is not done with.
    assert!(log.offset() == text.len() as u64 || text.iter().all(u8::is_ascii_whitespace));
    Some((kept, log.tally().clone()))
}

/// A log, its first byte saying how it comes: the lowest two bits in which way, the others in which pieces. One way for
/// each input: the others are for other inputs, and there are more of them in the same time.
pub fn check(data: &[u8]) {
    let Some((how, text)) = data.split_first() else { return };
    // Byte by byte where it is short: a hundred tiny pieces take the time that more inputs need.
    let piece = (1 + usize::from(how >> 2) * 4).max(text.len() / 48);
    match how & 3 {
        0 => check_pieces(text, piece),
        1 | 2 => check_quiet(text, piece),
        _ => {
            let _ = read_pieces(LogParser::new_attached(), text, piece, how & 4 == 4);
        }
    }
}

/// Records don't overlap; pieces make no difference.
fn check_pieces(text: &[u8], piece: usize) {
    let whole = read_pieces(LogParser::default(), text, usize::MAX, false);
    let Some((records, tally)) = &whole else { return };
    let mut end = 0;
    for record in records {
        assert!(record.offset >= end, "records overlap");
        end = record.offset + record.raw as u64;
        let raw = &text[record.offset as usize..end as usize];
        assert!(raw.len() >= record.text.len());
    }
    assert_eq!(tally.records, records.len() as u64);
    let parts = read_pieces(LogParser::default(), text, piece, false);
    assert_eq!(parts, whole, "in pieces of {piece}");
}

/// With quiet whiles, no text is given that is not given without them, unless it is said to go on.
fn check_quiet(text: &[u8], piece: usize) {
    let Some((quiet, early)) = read_pieces(LogParser::default(), text, piece, true) else { return };
    if early.continued > 0 {
        return;
    }
    let whole = read_pieces(LogParser::default(), text, usize::MAX, false);
    let Some((records, _)) = &whole else { return };
    // Blanks and ends of statements that follow what was given early say nothing, so they are not said to go on.
    let bare = |text: &[u8]| {
        let end = text.iter().rposition(|b| *b != b';' && !b.is_ascii_whitespace());
        text[..end.map_or(0, |end| end + 1)].escape_ascii().to_string()
    };
    let texts = |all: &[KeptRecord]| all.iter().map(|r| bare(&r.text)).collect::<Vec<_>>();
    assert_eq!(texts(&quiet), texts(records), "in quiet whiles, pieces of {piece}");
}
