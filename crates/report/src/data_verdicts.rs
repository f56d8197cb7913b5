//! What was found of the data of a workload, rule by rule: a table for people, JSON for programs.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::archive::{BrokenRow, CrashRound, DataState, DataVerdict, DataVerdicts};
use crate::text::table::TextTable;

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
    let answer = crash_answer(rounds);
    let mut text = format!("{title}: {answer}\n\n");
    let head = ["kill", "after s", "back s", "acknowledged", "lost", "surplus", "data"];
    let mut setting = None;
    let mut table = TextTable::new(&head).align_left("data");
    let write_table = |table: &TextTable, text: &mut String| {
        let mut lines = Vec::new();
        table.write(PAGE, &mut lines).expect("memory takes every write");
        *text += &String::from_utf8_lossy(&lines);
    };
    for round in rounds {
        if setting.is_some_and(|before| before != &round.setting) {
            write_table(&table, &mut text);
            text.push('\n');
            table = TextTable::new(&head).align_left("data");
        }
        if setting != Some(&round.setting) {
            let name = if round.setting.is_empty() { "as it is" } else { &round.setting };
            let _ = writeln!(text, "{name}: a clean start takes {:.1} s", round.clean_start_s);
        }
        setting = Some(&round.setting);
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
    write_table(&table, &mut text);
    for round in rounds {
        for example in round.ledger.examples.iter().take(1) {
            let _ = writeln!(text, "\nlost, kill {}: {}", round.kill, example_text(example));
        }
    }
    text += "\nA kill ends the process, not the machine: commits that the system had taken and \n\
             not yet written survive it, and would not survive a power cut.\n";
    let _ = writeln!(text, "\n{title}: {answer}");
    text
}

fn crash_answer(rounds: &[CrashRound]) -> String {
    let lost: u64 = rounds.iter().map(|round| round.ledger.lost).sum();
    let acknowledged: u64 = rounds.iter().map(|round| round.ledger.acknowledged).sum();
    let broken = rounds.iter().filter(|round| !round.data.all_hold()).count();
    let kept = rounds.iter().filter(|round| round.is_kept()).count();
    let kills = match rounds.len() {
        1 => "1 kill".to_owned(),
        many => format!("{many} kills"),
    };
    let data = match broken {
        0 => "the data are whole".to_owned(),
        broken => format!("the data are broken after {broken} of them"),
    };
    let promise = if kept == rounds.len() { "" } else { "; promises were broken" };
    format!("{kills}, {data}, {lost} of {acknowledged} commits lost{promise}")
}

/// The same as JSON.
pub fn crash_rounds_json(title: &str, rounds: &[CrashRound]) -> Value {
    json!({
        "title": title,
        "all_hold": rounds.iter().all(CrashRound::is_kept),
        "answer": crash_answer(rounds),
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
        assert!(crash_answer(&rounds).ends_with("promises were broken"));
    }
}
