//! `sweat doctor`: what this machine, this server and sweat itself can resolve, before anything is measured.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgMatches, Command};
use serde_json::json;

use super::arguments::{switch_flag, value_flag};
use super::connection::{self, HostRule};
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::progress::ProgressLine;
use crate::analysis::noise::{self, ServerItem, judge_noise, judge_server, resolvable_difference};
use crate::analysis::number_format::{format_bytes, format_number, format_percent};
use crate::analysis::{HealthLevel, NoiseItem};
use crate::experiment::doctor::{DoctorOptions, Examination, examine_system};
use crate::plan::{Mistake, TargetPlan};
use crate::probe::noise::NoiseChecks;
use crate::report::format_paragraph;
use crate::workload::JobProgress;

/// Version of the JSON.
const SCHEMA: u32 = 1;
/// Blocks for which it is told what they resolve.
const BLOCKS: [u32; 3] = [5, 10, 20];

pub(super) fn command() -> Command {
    let command = Command::new("doctor")
        .about("Check what this machine and server can resolve")
        .long_about(
            "Check what differences this machine can resolve, and what disturbs it: lost time, \
             other programs, clocks, memory, disks, and sweat itself. With a server: its limits, \
             durability, data and pool. Changes nothing; takes about ten seconds.",
        )
        .args([
            value_flag("dir", "DIR").default_value(".").help("Time flushed writes in this folder"),
            switch_flag("quick").help("Take only two seconds: coarse"),
            switch_flag("json").help("Print JSON"),
            switch_flag("strict").help("Exit code 4 if a run now would be void"),
            switch_flag("quiet").help("Show no progress").short('q'),
            switch_flag("plain").help("Never overwrite lines, also on a terminal"),
        ])
        .after_help(
            "Examples:\n  sweat doctor\n  sweat doctor --dir /var/lib/mysql --strict\n  \
             sweat doctor -S /run/mysqld/mysqld.sock -u root\n  sweat doctor --sandbox --json",
        );
    connection::add_sandbox_flags(connection::add_address_flags(command))
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let dir = PathBuf::from(args.get_one::<String>("dir").expect("it has a default"));
    if !dir.is_dir() {
        let why = format!("{} is not a folder", dir.display());
        return Err(Mistake::new("--dir", why).into());
    }
    let target = match connection::is_server_named(args) {
        true => connection::resolve_target(args, context, &TargetPlan::None, HostRule::One)?,
        false => TargetPlan::None,
    };
    let quick = args.get_flag("quick");
    let patient = DoctorOptions {
        target,
        dir: &dir,
        care: if quick { NoiseChecks::SHORT } else { NoiseChecks::FULL },
        calibrate: Duration::from_millis(if quick { 300 } else { 1000 }),
    };
    let quiet = args.get_flag("quiet") || args.get_flag("json");
    let mut line = ProgressLine::new(context.terminal, quiet, args.get_flag("plain"));
    let found = examine_system(&patient, &context.stop, &mut |label, done, total| {
        line.show(&JobProgress { label: label.to_owned(), done, total, unit: "parts" });
    });
    line.finish();
    let found = found?;
    if context.stop.is_set() {
        return Ok(CommandOutcome::Interrupted);
    }
    let items = judge_noise(&found.seen, "now");
    let server = found.server.as_ref().map(judge_server).unwrap_or_default();
    let text = match args.get_flag("json") {
        true => to_json(&found, &items, &server, &dir)?,
        false => to_text(&found, &items, &server, &dir),
    };
    context.print_output(&text)?;
    let void = items.iter().any(|item| item.level == HealthLevel::Void);
    Ok(if void && args.get_flag("strict") { CommandOutcome::Void } else { CommandOutcome::Done })
}

fn to_text(found: &Examination, items: &[NoiseItem], server: &[ServerItem], dir: &Path) -> String {
    let mut text = verdict_text(found, items);
    text += &format!("\nMachine  {}\n", machine_text(found));
    for item in items {
        let value = match item.unit {
            "" if item.value == 0.0 => "no".to_owned(),
            "" => "yes".to_owned(),
            unit => format!("{} {unit}", format_number(item.value)),
        };
        text += &item_row(item.level.as_str(), item.title, &value, &item.remedy);
    }
    if let Some(facts) = &found.server {
        text += &format!("\nServer   {}, {}\n", facts.version, facts.address);
        for item in server {
            text += &item_row(item.level.as_str(), item.title, &item.value, &item.remedy);
        }
    }
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    text += &format!("\n{}", format_paragraph("", &format!("Flush test in {}", dir.display())));
    text
}

/// A line of the list: what it is, and below it what to do.
fn item_row(level: &str, title: &str, value: &str, remedy: &str) -> String {
    let mut text = format!("{level:<5} {title:<44} {value:>20}\n");
    if !remedy.is_empty() {
        text += &format_paragraph("      ", remedy);
    }
    text
}

/// The answer first.
fn verdict_text(found: &Examination, items: &[NoiseItem]) -> String {
    let voids: Vec<&str> =
        items.iter().filter(|i| i.level == HealthLevel::Void).map(|i| i.title).collect();
    let mut text = match &voids[..] {
        [] => String::new(),
        voids => {
            let text = format!("a run now would mean nothing: {}.", voids.join(", "));
            format_paragraph("VOID: ", &text)
        }
    };
    let resolves = BLOCKS.map(|n| (n, resolvable_difference(&found.seen, n)));
    let words: Vec<String> = resolves
        .iter()
        .filter_map(|(n, share)| Some(format!("{} in {n} blocks", format_percent((*share)?))))
        .collect();
    text += &match &words[..] {
        [] => "It is not known what differences this machine can resolve.\n".to_owned(),
        words => format_paragraph(
            "",
            &format!(
                "At best this machine resolves differences of {}. Loads vary at least as much as a \
                 fixed piece of CPU work; `sweat aa PLAN` measures how much.",
                words.join(", ")
            ),
        ),
    };
    text
}

fn machine_text(found: &Examination) -> String {
    let fact = |name: &str| found.host.get(name).map(String::as_str);
    let memory = fact("memory_bytes").and_then(|m| m.parse().ok()).map(format_bytes);
    let cpus = fact("cpus").unwrap_or("?");
    let parts = [
        Some(format!("{cpus} x {}", fact("cpu").unwrap_or("CPU"))),
        memory,
        fact("kernel").map(str::to_owned),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn to_json(
    found: &Examination,
    items: &[NoiseItem],
    server: &[ServerItem],
    dir: &Path,
) -> anyhow::Result<String> {
    let machine: Vec<_> = items
        .iter()
        .map(|i| {
            json!({
                "id": i.id, "title": i.title, "value": i.value, "unit": i.unit,
                "level": i.level.as_str(), "remedy": i.remedy,
            })
        })
        .collect();
    let of_server: Vec<_> = server
        .iter()
        .map(|i| {
            json!({
                "id": i.id, "title": i.title, "value": i.value, "level": i.level.as_str(),
                "remedy": i.remedy,
            })
        })
        .collect();
    let resolves =
        BLOCKS.map(|n| json!({ "blocks": n, "share": resolvable_difference(&found.seen, n) }));
    let level = noise::worst_level(items);
    let report = json!({
        "schema": SCHEMA,
        "level": level.as_str(),
        "host": found.host,
        "dir": dir,
        "machine": machine,
        "resolves": resolves,
        "server": found.server.as_ref().map(|facts| json!({
            "version": facts.version, "address": facts.address, "items": of_server,
        })),
        "raw": found.seen,
    });
    Ok(serde_json::to_string_pretty(&report)? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> (Examination, Vec<NoiseItem>) {
        let mut found = Examination::default();
        for (name, value) in [
            ("gap.cpus", 2.0),
            ("gap.span_ns", 4e9),
            ("gap.lost_ns", 1e9),
            ("sentinel.cpu.0_ns", 100.0),
            ("sentinel.cpu.1_ns", 101.0),
            ("sentinel.cpu.2_ns", 99.0),
        ] {
            found.seen.insert(name.to_owned(), value);
        }
        let items = judge_noise(&found.seen, "now");
        (found, items)
    }

    #[test]
    fn the_answer_stands_first_and_each_item_says_what_to_do() {
        let (found, items) = found();
        let text = to_text(&found, &items, &[], Path::new("/x"));
        let mut lines = text.lines();
        let first = lines.next().unwrap();
        assert!(first.starts_with("VOID: a run now would mean nothing: time lost"), "{text}");
        let answer = lines.next().unwrap();
        assert!(answer.contains("resolves differences of 2.35 % in 5 blocks"), "{text}");
        let at = text.find("void  time lost on the cores").unwrap();
        assert!(text[at..].lines().nth(1).unwrap().contains("stop them"), "{text}");
    }

    #[test]
    fn the_json_holds_items_and_raw_numbers() {
        let (found, items) = found();
        let text = to_json(&found, &items, &[], Path::new("/x")).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["level"], "void");
        assert_eq!(value["raw"]["gap.lost_ns"], 1e9);
        assert!(value["server"].is_null());
        assert_eq!(value["machine"][0]["id"], "lost_time");
    }
}
