//! What was found of the data of a workload, rule by rule: a table for people, JSON for programs.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::{Value, json};

use crate::archive::{BrokenRow, CrashRound, DataState, DataVerdict, DataVerdicts};
use crate::text::table::TextTable;
use crate::text::write_paragraph;

/// Width of the page.
const PAGE: usize = 80;

/// The table, the answer first and last. `title` says what was done to what.
pub fn data_verdicts_text(title: &str, verdicts: &DataVerdicts, seconds: f64) -> String {
    let answer = verdicts.answer_text();
    let mut text = format!("{title}: {answer}\n{}, {seconds:.1} s\n\n", verdicts.subject);
    let mut table = TextTable::new(&["id", "rule", "clause", "result"])
        .align_left("rule")
        .align_left("clause")
        .align_left("result");
    for verdict in &verdicts.list {
        let cells = [&verdict.id, &verdict.rule, &verdict.clause].map(Clone::clone);
        table.add_row(cells.into_iter().chain([state_text(verdict)]).collect());
    }
    let mut lines = Vec::new();
    table.write(PAGE, &mut lines).expect("memory takes every write");
    let lines = String::from_utf8_lossy(&lines).into_owned();
    let mut lines = lines.lines();
    let _ = writeln!(text, "{}", lines.next().unwrap_or_default());
    for (line, verdict) in lines.zip(&verdicts.list) {
        let _ = writeln!(text, "{line}");
        let more = verdict.examples.iter().map(example_text).chain([verdict.note.clone()]);
        for line in more.filter(|line| !line.is_empty()) {
            let _ = writeln!(text, "      {}", crate::truncate_text(&line, PAGE - 6));
        }
    }
    let _ = writeln!(text, "\n{title}: {answer}");
    text
}

fn state_text(verdict: &DataVerdict) -> String {
    match (verdict.state, verdict.broken_rows) {
        (DataState::Holds, _) => "holds".to_owned(),
        (DataState::NotApplicable, _) => "n/a".to_owned(),
        (DataState::Broken, 0) => "broken".to_owned(),
        (DataState::Broken, rows) => format!("{rows} broken"),
    }
}

fn example_text(row: &BrokenRow) -> String {
    format!("{}: {}, expected {}", row.key, row.found, row.expected)
}

/// The same as JSON.
pub fn data_verdicts_json(title: &str, verdicts: &DataVerdicts, seconds: f64) -> Value {
    json!({
        "title": title,
        "all_hold": verdicts.all_hold(),
        "answer": verdicts.answer_text(),
        "seconds": seconds,
        "subject": verdicts.subject,
        "list": verdicts.list,
    })
}

/// What came back after each kill: a table, the answer first and last.
pub fn crash_rounds_text(title: &str, rounds: &[CrashRound]) -> String {
    let answer = CrashRound::answer_text(rounds);
    let mut lines = Vec::new();
    write_crash_rounds(rounds, &mut lines).expect("memory takes every write");
    let lines = String::from_utf8_lossy(&lines);
    format!("{title}: {answer}\n\n{lines}\n{title}: {answer}\n")
}

/// A table for each setting, what was lost, and what a kill does not show.
pub(crate) fn write_crash_rounds(rounds: &[CrashRound], out: &mut dyn Write) -> io::Result<()> {
    let head = ["kill", "after s", "back s", "acknowledged", "lost", "surplus", "data"];
    let name = |round: &CrashRound| match round.setting.as_str() {
        "" => "as it is".to_owned(),
        setting => setting.to_owned(),
    };
    for (place, same) in rounds.chunk_by(|a, b| a.setting == b.setting).enumerate() {
        if place > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{}: a clean start takes {:.1} s", name(&same[0]), same[0].clean_start_s)?;
        let mut table = TextTable::new(&head).align_left("data");
        for round in same {
            table.add_row(vec![
                round.kill.to_string(),
                format!("{:.1}", round.after_s),
                format!("{:.1}", round.recovery_s),
                round.ledger.acknowledged.to_string(),
                round.ledger.lost.to_string(),
                round.ledger.surplus.to_string(),
                round.data.answer_text(),
            ]);
        }
        table.write(PAGE, out)?;
    }
    if rounds.iter().any(|round| !round.ledger.examples.is_empty()) {
        writeln!(out)?;
    }
    for round in rounds {
        for example in round.ledger.examples.iter().take(1) {
            let (setting, kill) = (name(round), round.kill);
            let label = format!("lost, {setting}, kill {kill}: ");
            write_paragraph(out, &label, &example_text(example))?;
        }
    }
    let limits = "A kill ends the process, not the machine: commits that the system had taken and \
                  not yet written survive it, and would not survive a power cut.";
    writeln!(out)?;
    write_paragraph(out, "", limits)
}

/// The same as JSON.
pub fn crash_rounds_json(title: &str, rounds: &[CrashRound]) -> Value {
    json!({
        "title": title,
        "all_hold": rounds.iter().all(CrashRound::is_kept),
        "answer": CrashRound::answer_text(rounds),
        "rounds": rounds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::LedgerBalance;

    fn verdict(id: &str, state: DataState, broken_rows: u64, note: &str) -> DataVerdict {
        let rule = "C_BALANCE + C_YTD_PAYMENT = delivered OL_AMOUNT".to_owned();
        let example = BrokenRow {
            key: "w 1, d 3, c 17".to_owned(),
            found: "-10.00".to_owned(),
            expected: "-20.00".to_owned(),
        };
        let examples = if broken_rows > 0 { vec![example] } else { Vec::new() };
        let (id, clause, note) = (id.to_owned(), "3.3.2.12".to_owned(), note.to_owned());
        DataVerdict { id, rule, clause, state, broken_rows, examples, note }
    }

    #[test]
    fn the_answer_stands_first_and_last_and_a_page_is_wide_enough() {
        let list = vec![
            verdict("C1", DataState::Holds, 0, ""),
            verdict("C10", DataState::Broken, 123_456_789, ""),
            verdict("C11", DataState::NotApplicable, 0, "a load has run since; see X11"),
        ];
        let verdicts = DataVerdicts { subject: "5 warehouses".to_owned(), list };
        let text = data_verdicts_text("tpcc check", &verdicts, 1.94);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "tpcc check: 1 of 2 rules broken: C10");
        assert_eq!(lines[1], "5 warehouses, 1.9 s");
        assert_eq!(lines.last(), lines.first());
        assert!(text.contains("\n      w 1, d 3, c 17: -10.00, expected -20.00\n"), "{text}");
        assert!(text.contains("n/a\n      a load has run since; see X11\n"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= PAGE), "{text}");
        let value = data_verdicts_json("tpcc check", &verdicts, 1.94);
        assert_eq!(value["all_hold"], json!(false));
        assert_eq!(value["list"][1]["state"], json!("broken"));
        assert_eq!(value["list"][1]["examples"][0]["found"], json!("-10.00"));
    }

    #[test]
    fn lost_commits_are_a_number_beside_each_setting() {
        let round = |setting: &str, kill, lost, is_durable| CrashRound {
            setting: setting.to_owned(),
            kill,
            is_durable,
            sessions: 8,
            ledger: LedgerBalance { acknowledged: 12_345, lost, ..LedgerBalance::default() },
            ..CrashRound::default()
        };
        let (kept, lossy) =
            ("innodb_flush_log_at_trx_commit=1", "innodb_flush_log_at_trx_commit=0");
        let mut rounds = vec![round(lossy, 1, 678, false), round(kept, 1, 0, true)];
        let text = crash_rounds_text("tpcc crash", &rounds);
        let first = "tpcc crash: 2 kills, the data are whole, 678 of 24690 commits lost";
        assert!(text.starts_with(first) && text.trim_end().ends_with(first), "{text}");
        assert_eq!(text.matches("a clean start takes").count(), 2);
        assert!(text.lines().all(|line| line.chars().count() <= PAGE), "{text}");
        rounds[1].ledger.lost = 1;
        assert_eq!(crash_rounds_json("x", &rounds)["all_hold"], json!(false));
        assert!(CrashRound::answer_text(&rounds).ends_with("promises were broken"));
    }
}
