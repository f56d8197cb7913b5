//! `sweat warm`: fills the buffer pool, has the server keep or load its list of pages, says how warm it is.

mod follow;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Value, json};

use crate::base::units::show_bytes;
use crate::base::{Clock, Nanos, RealClock};
use crate::client::Target;
use crate::plan::{AddressPlan, Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::server::sandbox;
use crate::warm::{
    DumpOutcome, DumpPlan, PoolInventory, PoolStatus, STRATEGIES, TableChoice, WarmContext,
    WarmEvent, WarmOutcome, WarmStrategy, estimate_seconds, read_inventory, read_pool_status,
    request_pool_dump,
};

use super::arguments::{positional_arg, switch_flag, value_flag, wants_json};
use super::connection;
use super::context::{CliContext, note_text};
use super::exit::CommandOutcome;
use super::hotset;
use super::progress::{ProgressLine, group_digits, notes_text};
use super::{readiness, replay};

pub(super) fn command() -> Command {
    let mut command = Command::new("warm")
        .about("Fill the buffer pool, or show how warm it is")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(
            "Examples:\n  \
             sweat warm scan -S /run/mysqld/mysqld.sock\n  \
             sweat warm scan shop crm.people --rate 50MiB --max-running 8\n  \
             sweat warm follow --from https://db1:9700/slow --target db2 -u warm\n  \
             sweat warm status -h db1 -u monitor -p\n  \
             sweat warm dump --pct 100 --allow dump && sweat warm load --allow load",
        );
    for strategy in STRATEGIES.iter().filter(|s| s.name() != hotset::NAME) {
        command = command.subcommand(strategy_command(*strategy));
    }
    command = command.subcommand(hotset::command());
    command.subcommand(follow::command()).subcommand(dump_command()).subcommand(status_command())
}

pub(super) fn run(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let (name, args) = args.subcommand().expect("clap asks for one");
    if name == hotset::NAME {
        return hotset::run(args, context);
    }
    match STRATEGIES.iter().find(|s| s.name() == name) {
        Some(strategy) => warm_pool(*strategy, args, context),
        None if name == follow::NAME => follow::run(args, context),
        None if name == "dump" => dump_page_list(args, context),
        None => print_status(args, context),
    }
}

/// The words that all of these commands know.
pub(super) fn add_common_flags(command: Command) -> Command {
    let example = format!(
        "Examples:\n  sweat warm {} -S /run/mysqld/mysqld.sock -u root",
        command.get_name()
    );
    connection::add_address_flags(command)
        .after_help(example)
        .disable_help_flag(true)
        .infer_long_args(true)
        .args([
            super::help_flag(),
            value_flag("format", "text|json")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("Format of the result"),
            switch_flag("quiet").help("Show no progress"),
        ])
}

pub(super) fn strategy_command(strategy: &dyn WarmStrategy) -> Command {
    let mut command = Command::new(strategy.name()).about(strategy.help_line());
    let specs = strategy.option_specs();
    if reads_tables(&specs) {
        command = command.arg(
            positional_arg("choice", "DATABASE[.TABLE]")
                .action(ArgAction::Append)
                .help("What to read [default: what -D says, or everything]"),
        );
        command = command.arg(
            switch_flag("plain").help("Print a line per database and table, like mysql-warmup"),
        );
    }
    // Which database is a word of all clients.
    for spec in specs.iter().filter(|spec| spec.name != "database") {
        let mut arg = Arg::new(spec.name.clone()).long(spec.name.clone()).help(spec.help.clone());
        if spec.kind == OptionKind::Switch {
            arg = arg.num_args(0..=1).require_equals(true).default_missing_value("on");
        }
        let shown = match &spec.kind {
            OptionKind::Choice(words) => words.join("|"),
            OptionKind::Switch => "on|off".to_owned(),
            _ => spec.name.to_uppercase(),
        };
        if !spec.default.is_empty() && spec.kind != OptionKind::Switch {
            arg = arg.help(format!("{} [default: {}]", spec.help, spec.default));
        }
        // What a strategy is about needs no flag.
        if matches!(spec.name.as_str(), "file" | "log") {
            arg = Arg::new(spec.name.clone()).required(true).help(spec.help.clone());
        }
        command = command.arg(arg.value_name(shown));
    }
    add_common_flags(command)
}

fn reads_tables(specs: &[OptionSpec]) -> bool {
    specs.iter().any(|s| s.name == "tables")
}

fn dump_command() -> Command {
    let command =
        Command::new("dump").about("Have the server save the list of pages in its pool").args([
            value_flag("pct", "PERCENT")
                .value_parser(clap::value_parser!(u8).range(1..=100))
                .help("Share to save: of the pool (MariaDB), of its data (MySQL)"),
            value_flag("allow", "dump")
                .value_parser(["dump"])
                .help("Needed on a server that sweat did not start"),
        ]);
    add_common_flags(command)
}

fn status_command() -> Command {
    let command =
        Command::new("status").about("Show how warm the pool is, by index where possible").args([
            switch_flag("per-index").help("By index, even if the server must look at every page"),
            switch_flag("yes").help("Do so even if the pool is larger than 32 GiB"),
            value_flag("top", "N")
                .value_parser(clap::value_parser!(usize))
                .default_value("20")
                .help("Indexes to print"),
        ]);
    add_common_flags(readiness::add_readiness_flags(command)).after_help(
        "Examples:\n  \
         sweat warm status -h db1 -u monitor -p\n  \
         sweat warm status -h standby --hotset hot.zst --budget 200",
    )
}

/// Fills the pool.
pub(super) fn warm_pool(
    strategy: &dyn WarmStrategy,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let plan = connection::resolve_address(args, context)?;
    let specs = strategy.option_specs();
    let mut given = given_options(args, &specs, plan.database.as_deref());
    if is_sandbox(&plan) {
        let words = replay::CONSENTS.iter().filter(|word| specs.iter().any(|s| s.name == **word));
        given.extend(words.map(|word| ((*word).to_owned(), "on".to_owned())));
    }
    if let (Some(word), true) = (consent_word(&specs), is_sandbox(&plan)) {
        given.push(("allow".to_owned(), word.to_owned()));
    }
    let options = Options::from_given(&specs, &given).map_err(Mistakes)?;
    let target = Target::new(&plan)?;
    let plain = reads_tables(&specs) && args.get_flag("plain");
    let quiet = args.get_flag("quiet") || plain;
    let mut printed = Ok(());
    let warmed = with_warm_context(&target, quiet, context, |scene| {
        strategy.warm_with(&options, scene, &mut |event| {
            if plain && printed.is_ok() {
                printed = context.print_output(&format!("{}\n", plain_line(event)));
            }
        })
    })?;
    printed?;
    let session = if target.is_silent() { None } else { target.connect(&context.stop).ok() };
    let pool = session.and_then(|mut session| read_pool_status(&mut session).ok());
    let text = || warmed_text(&warmed, pool.as_ref());
    let value = || warmed_value(strategy.name(), &warmed, pool.as_ref());
    match wants_json(args) {
        false if plain => context.print_message(text().trim_end()),
        as_json => context.print_result(as_json, value, text)?,
    }
    Ok(match &warmed {
        w if w.cut => CommandOutcome::Interrupted,
        w if w.failed > 0 => CommandOutcome::Failed,
        _ => CommandOutcome::Done,
    })
}

/// The word by which a strategy is allowed to change a server, if it ever does.
fn consent_word(specs: &[OptionSpec]) -> Option<&str> {
    match &specs.iter().find(|s| s.name == "allow")?.kind {
        OptionKind::Choice(words) => words.first().map(String::as_str),
        _ => None,
    }
}

/// Whether the address is the socket or the port of one of our own sandboxes: those we may change without being asked
/// to.
pub(super) fn is_sandbox(plan: &AddressPlan) -> bool {
    let Ok(home) = sandbox::HomeFolders::find() else { return false };
    sandbox::list_sandboxes(&home).iter().any(|(_, meta)| match &plan.socket {
        Some(socket) => meta.socket == *socket,
        // The port of one that is stopped may be anybody's.
        None => {
            plan.host.as_deref() == Some("127.0.0.1")
                && plan.port.is_some_and(|port| meta.port == Some(port))
                && meta.server.as_ref().is_some_and(sandbox::ProcessId::is_alive)
        }
    })
}

/// The options that were typed; what to read comes from the words without a flag, or from -D.
fn given_options(
    args: &ArgMatches,
    specs: &[OptionSpec],
    database: Option<&str>,
) -> Vec<(String, String)> {
    let mut given = Vec::new();
    for spec in specs {
        if let Some(value) = args.get_one::<String>(&spec.name) {
            given.push((spec.name.clone(), value.clone()));
        }
    }
    if !reads_tables(specs) {
        return given;
    }
    if args.get_flag("plain")
        && specs.iter().any(|s| s.name == "order")
        && !args.contains_id("order")
    {
        given.push(("order".to_owned(), "name".to_owned()));
    }
    let chosen: Vec<&str> =
        args.get_many::<String>("choice").into_iter().flatten().map(|c| c.as_str()).collect();
    if !chosen.is_empty() {
        let mut all = chosen.join(",");
        if let Some((_, before)) = given.iter().find(|(name, _)| name == "tables") {
            all = format!("{before},{all}");
        }
        given.push(("tables".to_owned(), all));
    } else if let (Some(name), false) = (database, args.contains_id("tables")) {
        let choice = TableChoice { database: name.to_owned(), table: None };
        given.push(("tables".to_owned(), choice.to_string()));
    }
    given
}

/// A line as mysql-warmup prints it.
fn plain_line(event: &WarmEvent) -> String {
    let table = |database: &str, table: &str| {
        TableChoice { database: database.to_owned(), table: Some(table.to_owned()) }.to_string()
    };
    match event {
        WarmEvent::DatabaseBegan(name) => format!(">>>>>>> START WARMUP FOR DB: {name} <<<<<<"),
        WarmEvent::TableBegan(d, t) => format!("START WARMUP FOR TABLE:   {}", table(d, t)),
        WarmEvent::TableEnded(d, t) => format!("SUCCESS WARMUP FOR TABLE: {}", table(d, t)),
        WarmEvent::TableFailed(d, t, why) => {
            format!("FAILED WARMUP FOR TABLE:  {}: {why}", table(d, t))
        }
        WarmEvent::DatabaseEnded(name) => format!("+++++++ SUCCESS WARMUP FOR DB: {name} +++++++"),
    }
}

fn warmed_text(warmed: &WarmOutcome, pool: Option<&PoolStatus>) -> String {
    let bytes = warmed.bytes_read;
    let per_second = bytes as f64 / warmed.seconds.max(1e-9);
    let mut text = format!(
        "read {} in {:.2} s ({}/s), {} pages\n",
        show_bytes(bytes),
        warmed.seconds,
        show_bytes(per_second as u64),
        group_digits(warmed.pages_read)
    );
    if let Some(pool) = pool {
        text += &pool_line(pool);
    }
    text + &notes_text(&warmed.notes)
}

fn pool_line(pool: &PoolStatus) -> String {
    format!(
        "pool: {} of {} hold data ({:.0} %), {} free\n",
        show_bytes(pool.data_bytes()),
        show_bytes(pool.total_bytes()),
        pool.data_share() * 100.0,
        show_bytes(pool.pages_free * pool.page_bytes)
    )
}

fn warmed_value(strategy: &str, warmed: &WarmOutcome, pool: Option<&PoolStatus>) -> Value {
    let mut value = json!(warmed);
    value["strategy"] = strategy.into();
    value["pages_total"] = pool.map(|p| p.pages_total).into();
    value["page_bytes"] = pool.map(|p| p.page_bytes).into();
    value
}

/// Lets work be done on a server that is not ours to change, and shows how far it is.
pub(super) fn with_warm_context<T>(
    target: &Target,
    quiet: bool,
    context: &CliContext,
    work: impl FnOnce(&mut WarmContext<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let mut line = ProgressLine::new(context.terminal, quiet, false);
    let done = work(&mut WarmContext {
        target,
        control: None,
        clock: RealClock::start_now(),
        stop: &context.stop,
        progress: &mut |progress| line.show(&progress),
    })?;
    line.finish();
    Ok(done)
}

/// Has the server write its list.
fn dump_page_list(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let address = connection::resolve_address(args, context)?;
    let target = Target::new(&address)?;
    let plan = DumpPlan {
        pct: args.get_one::<u8>("pct").copied(),
        allowed: args.contains_id("allow") || is_sandbox(&address),
    };
    let quiet = args.get_flag("quiet");
    let dumped =
        with_warm_context(&target, quiet, context, |scene| request_pool_dump(&plan, scene))?;
    context.print_result(wants_json(args), || json!(dumped), || dumped_text(&dumped))?;
    Ok(if dumped.cut { CommandOutcome::Interrupted } else { CommandOutcome::Done })
}

fn dumped_text(dumped: &DumpOutcome) -> String {
    let pages = match dumped.pages {
        Some(pages) => {
            format!("{} of {} pages", group_digits(pages), group_digits(dumped.pages_data))
        }
        None => "its pages".to_owned(),
    };
    let text = if dumped.cut {
        "the server continues to write its list\n".to_owned()
    } else {
        format!("the server wrote {pages} to {} in {:.2} s\n", dumped.path, dumped.seconds)
    };
    text + &notes_text(&dumped.notes)
}

/// Largest pool whose every page is looked at without asking again.
pub(super) const ASK_ABOVE_BYTES: u64 = 32 << 30;

/// Says how warm the pool is.
fn print_status(args: &ArgMatches, context: &CliContext) -> anyhow::Result<CommandOutcome> {
    let target = Target::new(&connection::resolve_address(args, context)?)?;
    let mut session = target.connect(&context.stop)?;
    // A look at every page of a large pool takes minutes.
    session.allow_long_statements();
    let warmth = read_pool_status(&mut session)?;
    if let Some(file) = args.get_one::<String>("hotset") {
        return readiness::run(file, args, &mut session, &warmth, context);
    }
    let pay = args.get_flag("per-index");
    if pay && warmth.total_bytes() > ASK_ABOVE_BYTES && !args.get_flag("yes") {
        let mistake = Mistake::new(
            "--per-index",
            format!(
                "the pool has {}: visiting every page takes the server about {:.0} s",
                show_bytes(warmth.total_bytes()),
                estimate_seconds(&warmth)
            ),
        )
        .hint("add --yes to allow that");
        return Err(mistake.into());
    }
    let clock = RealClock::start_now();
    let began: Nanos = clock.now();
    let found = read_inventory(&mut session, &warmth, pay)?;
    let took = clock.now().since(began).to_seconds();
    let as_json = wants_json(args);
    let top = args.get_one::<usize>("top").copied().unwrap_or(20);
    let text = || status_text(&warmth, &found, top);
    context.print_result(as_json, || status_value(&warmth, &found), text)?;
    if pay && !as_json {
        context.print_message(&format!("reading the indexes took {took:.2} s"));
    }
    Ok(CommandOutcome::Done)
}

fn status_value(warmth: &PoolStatus, found: &PoolInventory) -> Value {
    json!({
        "pages_total": warmth.pages_total,
        "pages_data": warmth.pages_data,
        "pages_free": warmth.pages_free,
        "pages_dirty": warmth.pages_dirty,
        "page_bytes": warmth.page_bytes,
        "share": warmth.data_share(),
        "pages_of_data": found.pages_of_data,
        "indexes": found.lines,
        "dearer_seconds": found.dearer_seconds,
        "notes": found.notes,
    })
}

fn status_text(warmth: &PoolStatus, found: &PoolInventory, top: usize) -> String {
    let mut text = pool_line(warmth);
    if let Some(pages) = found.pages_of_data {
        let bytes = pages * warmth.page_bytes;
        let fits =
            if bytes <= warmth.total_bytes() { "fits the pool" } else { "larger than the pool" };
        text += &format!("data: {} in InnoDB's indexes ({fits})\n", show_bytes(bytes));
    }
    if !found.lines.is_empty() {
        text += &format!("{:>10}  {:>10}  {:>5}  index\n", "cached", "of", "warm");
    }
    for line in found.lines.iter().take(top) {
        let of = line.pages_total.map_or("?".to_owned(), |p| show_bytes(p * warmth.page_bytes));
        let total = line.pages_total.filter(|p| *p > 0 && !line.is_inconsistent());
        let share = total.map_or("?".to_owned(), |p| {
            format!("{:.0} %", (100.0 * line.pages_cached as f64 / p as f64).min(100.0))
        });
        let partition = match line.partition.as_str() {
            "" => String::new(),
            name => format!(" partition {name}"),
        };
        text += &format!(
            "{:>10}  {of:>10}  {share:>5}  {}.{}.{}{partition}\n",
            show_bytes(line.pages_cached * warmth.page_bytes),
            line.database,
            line.table,
            line.index
        );
    }
    if found.lines.len() > top {
        text += &format!("... and {} more (--top)\n", found.lines.len() - top);
    }
    if let Some(seconds) = found.dearer_seconds {
        text += &note_text(&format!(
            "to count {} by index this server must visit all {} pages of its pool, about \
             {seconds:.1} s; --per-index does that",
            if found.lines.is_empty() { "pages" } else { "all pages" },
            group_digits(warmth.pages_total)
        ));
    }
    text + &notes_text(&found.notes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(words: &[&str]) -> Vec<(String, String)> {
        let matches = command().try_get_matches_from([&["warm"], words].concat()).unwrap();
        let (name, args) = matches.subcommand().unwrap();
        let strategy = STRATEGIES.iter().find(|s| s.name() == name).unwrap();
        given_options(
            args,
            &strategy.option_specs(),
            args.get_one::<String>("database").map(|d| d.as_str()),
        )
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn what_to_read_comes_from_words_or_from_the_database() {
        assert_eq!(typed(&["scan", "a", "b.c"]), [pair("tables", "a,b.c")]);
        assert_eq!(typed(&["scan", "-D", "x.y"]), [pair("tables", "`x.y`")]);
        assert_eq!(typed(&["scan_classic", "-D", "a", "b"]), [pair("tables", "b")]);
        assert_eq!(typed(&["scan", "--blobs", "a"])[0], pair("blobs", "on"));
        assert!(typed(&["load"]).is_empty());
    }

    #[test]
    fn plain_reads_by_name_unless_told_otherwise() {
        assert_eq!(typed(&["scan", "--plain"]), [pair("order", "name")]);
        assert_eq!(typed(&["scan", "--plain", "--order", "size"]), [pair("order", "size")]);
    }

    #[test]
    fn plain_lines_are_those_of_mysql_warmup() {
        let (db, t) = ("shop".to_owned(), "or`ders".to_owned());
        let lines = [
            plain_line(&WarmEvent::DatabaseBegan(db.clone())),
            plain_line(&WarmEvent::TableBegan(db.clone(), t.clone())),
            plain_line(&WarmEvent::TableEnded(db.clone(), t)),
            plain_line(&WarmEvent::DatabaseEnded(db)),
        ];
        assert_eq!(
            lines,
            [
                ">>>>>>> START WARMUP FOR DB: shop <<<<<<",
                "START WARMUP FOR TABLE:   `shop`.`or``ders`",
                "SUCCESS WARMUP FOR TABLE: `shop`.`or``ders`",
                "+++++++ SUCCESS WARMUP FOR DB: shop +++++++",
            ]
        );
    }

    #[test]
    fn status_says_what_it_did_not_look_at() {
        let warmth = PoolStatus {
            pages_total: 65_536,
            pages_data: 32_768,
            pages_free: 32_768,
            page_bytes: 16_384,
            ..PoolStatus::default()
        };
        let found = PoolInventory {
            pages_of_data: Some(131_072),
            dearer_seconds: Some(0.13),
            ..PoolInventory::default()
        };
        let text = status_text(&warmth, &found, 20);
        assert!(text.starts_with("pool: 512 MiB of 1.00 GiB hold data (50 %), 512 MiB free\n"));
        assert!(text.contains("data: 2.00 GiB in InnoDB's indexes (larger than the pool)"));
        assert!(text.contains("all 65 536 pages of its\n      pool, about 0.1 s"), "{text}");
    }

    #[test]
    fn a_share_that_can_not_be_is_not_told() {
        let line = |cached, total| crate::warm::CachedIndex {
            database: "d".to_owned(),
            pages_cached: cached,
            pages_total: Some(total),
            ..crate::warm::CachedIndex::default()
        };
        let found =
            PoolInventory { lines: vec![line(561, 48), line(48, 48)], ..PoolInventory::default() };
        let warmth = PoolStatus { page_bytes: 16_384, ..PoolStatus::default() };
        let text = status_text(&warmth, &found, 20);
        assert!(text.contains("8.77 MiB     768 KiB      ?  d.."), "{text}");
        assert!(text.contains("100 %  d.."), "{text}");
    }

    #[test]
    fn nothing_read_is_no_division_by_zero() {
        let text = warmed_text(&WarmOutcome::default(), None);
        assert_eq!(text, "read 0 B in 0.00 s (0 B/s), 0 pages\n");
    }
}
