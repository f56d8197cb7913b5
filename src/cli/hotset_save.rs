//! `sweat warm hotset save`: what is hot in a pool, into a file.

use std::path::PathBuf;

use clap::{ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use crate::base::Nanos;
use crate::base::units::{self, show_bytes};
use crate::client::Target;
use crate::plan::{Mistake, Mistakes};
use crate::report::format_paragraph;
use crate::warm::hotset::{self, HotIndex, SaveLimit, SaveOutcome, SavePlan, save_hot_set};
use crate::warm::{TableChoice, estimate_seconds, parse_choices, read_pool_status};

use super::arguments::{positional_arg, switch_flag, value_flag, wants_json};
use super::connection;
use super::context::{CliContext, note_text};
use super::exit::CommandOutcome;
use super::progress::{group_digits, notes_text};
use super::warm::{ASK_ABOVE_BYTES, add_common_flags, with_warm_context};

pub(super) fn command() -> Command {
    let command = Command::new("save").about("Save the hot pages of a server's pool").args([
        positional_arg("file", "FILE")
            .required(true)
            .value_parser(clap::value_parser!(PathBuf))
            .help("File to write; compressed if it ends in .zst"),
        positional_arg("choice", "DATABASE[.TABLE]")
            .action(ArgAction::Append)
            .help("What to save [default: all user tables]"),
        value_flag("top", "SHARE")
            .help("Only the hottest share of the pages, as in 50%")
            .conflicts_with("pages"),
        value_flag("pages", "N")
            .help("Only this many pages, the hottest")
            .value_parser(clap::value_parser!(u64).range(1..)),
        value_flag("datadir", "PATH")
            .help("Read keys from this copy of the data folder")
            .value_parser(clap::value_parser!(PathBuf)),
        value_flag("watch", "TIME")
            .help("Time to count page accesses; 0: do not")
            .default_value("1s"),
        value_flag("range-pages", "N")
            .help("Most pages per key range")
            .value_parser(clap::value_parser!(u64).range(1..))
            .default_value("64"),
        switch_flag("yes").help("Do so even if the pool is larger than 32 GiB"),
    ]);
    add_common_flags(command).after_help(
        "Examples:\n  \
         sweat warm hotset save hot.zst -S /run/mysqld/mysqld.sock\n  \
         sweat warm hotset save hot.zst shop crm.people --top 50%\n  \
         sweat warm hotset save hot.zst -h db1 -u monitor -p --datadir /backup/db1\n\n\
         The account needs PROCESS, and SELECT on the tables. Keys are read from the server's\n\
         files: run it on the server's machine as a user who may read them, or name a copy.",
    )
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let mut plan = parse_plan(args)?;
    let path = args.get_one::<PathBuf>("file").expect("clap asks for it");
    let address = connection::resolve_address(args, context)?;
    if let (Some(database), true) = (&address.database, plan.tables.is_empty()) {
        plan.tables.push(TableChoice { database: database.clone(), table: None });
    }
    let target = Target::new(&address)?;
    hotset::check_writable(path)?;
    confirm_cost(&target, args, context)?;
    let quiet = args.get_flag("quiet");
    let saved = with_warm_context(&target, quiet, context, |scene| save_hot_set(&plan, scene))?;
    if saved.cut {
        context.print_message(&format!("stopped: {} was not written", path.display()));
        return Ok(CommandOutcome::Interrupted);
    }
    let bytes = hotset::write_hot_set(&saved.hot, path)?;
    let name = path.display().to_string();
    let value = || saved_value(&saved, &name, bytes);
    context.print_result(wants_json(args), value, || saved_text(&saved, &name, bytes))?;
    Ok(CommandOutcome::Done)
}

fn parse_plan(args: &ArgMatches) -> anyhow::Result<SavePlan> {
    let mut mistakes = Vec::new();
    let mistake = |place: &str, why: String, hint: &str| Mistake::new(place, why).hint(hint);
    let mut tables = Vec::new();
    for word in args.get_many::<String>("choice").into_iter().flatten() {
        match parse_choices(word) {
            Ok(chosen) => tables.extend(chosen),
            Err(why) => mistakes.push(mistake(word, why.to_string(), "as in shop or shop.orders")),
        }
    }
    let most = match (args.get_one::<String>("top"), args.get_one::<u64>("pages")) {
        (_, Some(pages)) => SaveLimit::Pages(*pages),
        (Some(text), None) => match parse_percent(text) {
            Some(share) => SaveLimit::Share(share),
            None => {
                let why = format!("`{text}` is not a share above 0 and up to 100 %");
                mistakes.push(mistake("--top", why, "as in --top 50%"));
                SaveLimit::All
            }
        },
        (None, None) => SaveLimit::All,
    };
    let watch = match args.get_one::<String>("watch").map(|text| units::parse_time(text)) {
        Some(Ok(time)) => Nanos::from(time),
        Some(Err(why)) => {
            mistakes.push(mistake("--watch", why.to_string(), "as in --watch 5s"));
            Nanos(0)
        }
        None => Nanos(0),
    };
    Mistakes::check(mistakes)?;
    let datadir = args.get_one("datadir").cloned();
    let range_leaves = args.get_one("range-pages").copied().unwrap_or(0);
    Ok(SavePlan { tables, most, datadir, range_leaves, watch })
}

/// `50%` as 0.5.
fn parse_percent(text: &str) -> Option<f64> {
    let percent: f64 = text.trim().strip_suffix('%')?.trim().parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some(percent / 100.0)
}

/// Tells what the look costs the server, and refuses a dear one that was not agreed to.
fn confirm_cost(target: &Target, args: &ArgMatches, context: &CliContext) -> anyhow::Result<()> {
    let warmth = read_pool_status(&mut target.connect(&context.stop)?)?;
    let (bytes, seconds) = (warmth.total_bytes(), estimate_seconds(&warmth));
    if bytes > ASK_ABOVE_BYTES && !args.get_flag("yes") {
        let mistake = Mistake::new(
            "hotset save",
            format!(
                "the pool has {}: reading its LRU list takes the server about {seconds:.0} s, and \
                 delays disk reads meanwhile",
                show_bytes(bytes)
            ),
        )
        .hint("add --yes to allow that");
        return Err(mistake.into());
    }
    if seconds >= 0.5 && !args.get_flag("quiet") {
        context.print_message(&format!("reading {} takes about {seconds:.1} s", show_bytes(bytes)));
    }
    Ok(())
}

fn saved_text(saved: &SaveOutcome, name: &str, bytes: u64) -> String {
    let hot = &saved.hot;
    let pages: u64 = hot.indexes.iter().map(|i| i.pages.len() as u64).sum();
    let ranges: u64 = hot.indexes.iter().map(|i| i.ranges.len() as u64).sum();
    let share =
        if saved.pages_in_pool == 0 { 0.0 } else { pages as f64 / saved.pages_in_pool as f64 };
    let saved_line = format!(
        "saved {} of {} index pages in the pool ({:.0} %) of {} indexes, {} key ranges, \
         to {name} ({})",
        group_digits(pages),
        group_digits(saved.pages_in_pool),
        share * 100.0,
        group_digits(hot.indexes.len() as u64),
        group_digits(ranges),
        show_bytes(bytes),
    );
    let mut text = format_paragraph("", &saved_line);
    text += &format!(
        "reading the pool took {:.2} s, the keys {:.2} s and {} pages of the files\n",
        saved.look_seconds,
        saved.keys_seconds,
        group_digits(saved.pages_read)
    );
    if saved.pages_missed > 0 {
        text += &note_text(&format!(
            "{} hot pages are in no key range: the files are older than the pool",
            group_digits(saved.pages_missed)
        ));
    }
    for index in hot.indexes.iter().filter(|index| index.whole.is_some()) {
        let why = index.whole.as_deref().unwrap_or_default();
        let hot = index.pages.len() as u64;
        let of = match index.index_pages {
            0 => String::new(),
            all => format!(" of {}", group_digits(all.max(hot))),
        };
        text += &note_text(&format!(
            "{} has no key ranges, {} hot pages{of}: {why}",
            index_title(index),
            group_digits(hot)
        ));
    }
    text + &notes_text(&hot.notes)
}

/// `shop.orders.PRIMARY`, `shop.orders.PRIMARY partition p0`.
fn index_title(index: &HotIndex) -> String {
    let name = format!("{}.{}.{}", index.database, index.table, index.index);
    if index.partition.is_empty() { name } else { format!("{name} partition {}", index.partition) }
}

fn saved_value(saved: &SaveOutcome, name: &str, bytes: u64) -> Value {
    let index = |i: &HotIndex| {
        json!({
            "database": i.database,
            "table": i.table,
            "partition": i.partition,
            "index": i.index,
            "pages_hot": i.pages.len(),
            "pages_total": i.index_pages,
            "ranges": i.ranges.len(),
            "whole": i.whole,
        })
    };
    json!({
        "file": name,
        "bytes": bytes,
        "pages_in_pool": saved.pages_in_pool,
        "pages_missed": saved.pages_missed,
        "pages_read": saved.pages_read,
        "look_seconds": saved.look_seconds,
        "keys_seconds": saved.keys_seconds,
        "accesses_per_s": saved.hot.origin.accesses_per_s,
        "indexes": saved.hot.indexes.iter().map(index).collect::<Vec<_>>(),
        "notes": saved.hot.notes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(words: &[&str]) -> anyhow::Result<SavePlan> {
        let words = [&["save", "hot"], words].concat();
        parse_plan(&command().try_get_matches_from(words).unwrap())
    }

    #[test]
    fn what_to_take_is_understood() {
        let plain = SavePlan { range_leaves: 64, ..SavePlan::default() };
        assert_eq!(planned(&["--watch", "0s"]).unwrap(), plain);
        let plan = planned(&["a", "b.c", "--top", "50%"]).unwrap();
        assert_eq!((plan.most, plan.tables.len()), (SaveLimit::Share(0.5), 2));
        assert_eq!(plan.watch, Nanos(1_000_000_000));
        assert_eq!(planned(&["--pages", "7"]).unwrap().most, SaveLimit::Pages(7));
    }

    #[test]
    fn all_mistakes_are_told_together() {
        let error = planned(&["a.b.c", "--top", "120%", "--watch", "soon"]).unwrap_err();
        let Mistakes(list) = error.downcast_ref().unwrap();
        let places: Vec<&str> = list.iter().map(|m| m.place.as_str()).collect();
        assert_eq!(places, ["a.b.c", "--top", "--watch"]);
    }

    #[test]
    fn an_index_without_ranges_says_why_and_how_hot_it_is() {
        let index = HotIndex {
            database: "shop".to_owned(),
            table: "t".to_owned(),
            index: "cut".to_owned(),
            pages: vec![(3, 0), (4, 1)],
            index_pages: 10,
            whole: Some("it holds only the first characters of name".to_owned()),
            ..HotIndex::default()
        };
        let hot = hotset::HotSet { indexes: vec![index], ..Default::default() };
        let saved = SaveOutcome { hot, pages_in_pool: 4, ..SaveOutcome::default() };
        let text = saved_text(&saved, "hot.zst", 2048);
        assert!(
            text.starts_with("saved 2 of 4 index pages in the pool (50 %) of 1 indexes, 0 key")
        );
        assert!(text.contains("note: shop.t.cut has no key ranges, 2 hot pages of 10: it holds"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
