//! `sweat report` of a watch, or of a span of it.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::Context as _;
use clap::ArgMatches;

use super::arguments::text_arg;
use super::context::CliContext;
use super::exit::CommandOutcome;
use super::present;
use super::report::write_report;
use super::run_names::run_mistake;
use super::watch_looks::{REACH_NS, nearest_looks, show_looks};
use crate::analysis::number_format::format_plural;
use crate::analysis::{WatchFindings, WatchTable, analyse_watch};
use crate::archive::{
    ClassicFiles, ClassicStamp, SampleRecord, WatchEventKind, WatchReader, classic_look,
    is_run_folder, read_classic_looks, read_foreign_watch, status_look_text,
};
use crate::base::RealClock;
use crate::base::calendar::days_from_civil;
use crate::base::kernel::local_time;
use crate::plan::{Mistake, Mistakes};
use crate::report::{CLASSIC, PAGE, ReportDetail, ReportStyle, WATCH_FORMATS, write_watch};

/// The page of samples of another tool.
const FOREIGN_PAGE: &str = "watch.html";
const DAY_S: i64 = 86_400;
const SECOND_NS: u64 = 1_000_000_000;

/// A time as typed: of a day, or of any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TypedTime {
    /// Days since 1970.
    day: Option<i64>,
    /// Seconds into the day.
    second: i64,
}

/// Shows a watch, if the folder is one.
///
/// # Errors
/// When it can't be read, or the words ask for what a watch does not have.
pub(super) fn report_watch(
    dir: &Path,
    format: &str,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<Option<CommandOutcome>> {
    let Some(mut reader) = WatchReader::open(dir).map_err(|e| run_mistake(&e))? else {
        let mistake = |flag: &str| {
            let why = "only a watch can be reported in part";
            Mistake::new(format!("--{flag}"), why).hint("leave it out: this run is reported whole")
        };
        let typed = ["from", "to", "at"].into_iter().filter(|flag| args.contains_id(flag));
        Mistakes::check(typed.map(mistake).collect())?;
        return Ok(None);
    };
    check_words(format, args)?;
    let watched = watched_time(&reader);
    if text_arg(args, "at").is_some() {
        let at = typed_moment(args, watched)?;
        let find = || Ok(nearest_looks(&mut reader, at));
        show_looks(find, at, format, args, context)?;
        return Ok(Some(CommandOutcome::Done));
    }
    let span = typed_span(args, watched)?;
    if let Some(folder) = classic_folder(format, args) {
        write_classic_files(dir, &span, folder, context)?;
        return Ok(Some(CommandOutcome::Done));
    }
    let raw = match format == CLASSIC {
        true => Some(classic_text(&mut reader, &span)),
        false => None,
    };
    let found = find_in_span(reader, &span);
    let found = WatchFindings { folder: dir.display().to_string(), ..found };
    show_watch(&found, raw, format, &dir.join(PAGE), args, context).map(Some)
}

/// Shows samples that another tool took, if the path holds such.
///
/// # Errors
/// As `report_watch`.
pub(super) fn report_foreign(
    path: &Path,
    format: &str,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<Option<CommandOutcome>> {
    if !path.exists() || is_run_folder(path) {
        return Ok(None);
    }
    let read = read_foreign_watch(path).with_context(|| format!("read {}", path.display()))?;
    let Some(foreign) = read else { return Ok(None) };
    check_words(format, args)?;
    if format == CLASSIC || (text_arg(args, "at").is_some() && foreign.is_apart) {
        let why = "these samples of another tool are shown as intervals only";
        return Err(Mistake::new("--at or --format classic", why).hint("leave it out").into());
    }
    let times = || foreign.samples.iter().map(|(_, sample)| sample.planned_ns);
    let watched = times().min().unwrap_or_default()..times().max().unwrap_or_default();
    if text_arg(args, "at").is_some() {
        let at = typed_moment(args, watched)?;
        let find = || {
            let looks = read_classic_looks(path, at, REACH_NS)?;
            let named =
                looks.into_iter().map(|(planned, look)| (look.probe.clone(), (planned, look)));
            Ok(named.collect())
        };
        show_looks(find, at, format, args, context)?;
        return Ok(Some(CommandOutcome::Done));
    }
    let span = typed_span(args, watched)?;
    let mut table = match foreign.is_apart {
        true => WatchTable::of_collections(),
        false => WatchTable::default(),
    };
    let samples = foreign.samples.iter().filter(|(_, sample)| span.contains(&sample.planned_ns));
    samples.for_each(|(stretch, sample)| table.add_sample(*stretch, 0, sample));
    let mut events = foreign.events;
    events.retain(|event| span.contains(&event.unix_ns));
    let found = WatchFindings {
        folder: path.display().to_string(),
        server: foreign.title,
        utc_offset_s: utc_offset_s(times().max().unwrap_or_default()),
        events,
        damage: foreign.damage.clone(),
        ..analyse_watch(&table)
    };
    show_watch(&found, None, format, Path::new(FOREIGN_PAGE), args, context).map(Some)
}

/// Whether the words ask for something that a watch has.
fn check_words(format: &str, args: &ArgMatches) -> anyhow::Result<()> {
    if !WATCH_FORMATS.contains(&format) {
        let hint = format!("of a watch: {}", WATCH_FORMATS.join(", "));
        let mistake = Mistake::new(format!("--format {format}"), "it can't show a watch");
        return Err(mistake.hint(hint).into());
    }
    let refused = ["check", "base"].into_iter().find(|flag| {
        args.try_contains_id(flag).unwrap_or(false)
            && args.value_source(flag) == Some(clap::parser::ValueSource::CommandLine)
    });
    match refused {
        Some(flag) => Err(Mistake::new(format!("--{flag}"), "a watch has no load to check").into()),
        None => Ok(()),
    }
}

/// Shows findings where the words want them; `raw` is the text of a format that shows no findings.
fn show_watch(
    found: &WatchFindings,
    raw: Option<String>,
    format: &str,
    page: &Path,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<CommandOutcome> {
    let render = |format: &str, detail| {
        if let Some(raw) = raw.as_ref().filter(|_| format == CLASSIC) {
            return raw.clone().into_bytes();
        }
        let mut text = Vec::new();
        let style = ReportStyle { colour: false, detail };
        write_watch(found, format, style, &mut text).expect("memory takes every write");
        text
    };
    let file = text_arg(args, "output").filter(|path| *path != "-");
    let named = file.map(Path::new).or((format == "html").then_some(page));
    match named.filter(|_| text_arg(args, "output") != Some("-")) {
        Some(path) => write_report(&render(format, ReportDetail::Full), path, context)?,
        None => {
            let text = render(format, present::report_detail(args));
            context.print_output(&String::from_utf8_lossy(&text))?;
        }
    }
    if args.get_flag("open") {
        let path = named.filter(|_| format == "html").unwrap_or(page);
        if format != "html" {
            write_report(&render("html", ReportDetail::Full), path, context)?;
        }
        present::show_page(path, context);
    }
    Ok(CommandOutcome::Done)
}

/// When a watch began and ended, nanoseconds since 1970.
fn watched_time(reader: &WatchReader) -> Range<u64> {
    let began = reader.meta.origin_unix_ns;
    let ended = reader.meta.ended_ns.map_or_else(
        || RealClock::start_now().origin_unix_ns(),
        |ended| began.saturating_add(ended),
    );
    began..ended
}

/// How far this machine's time zone is ahead of UTC at a time.
fn utc_offset_s(unix_ns: u64) -> i64 {
    local_time(unix_ns / SECOND_NS).map_or(0, |at| at.utc_offset_s)
}

fn typed_time(args: &ArgMatches, flag: &str) -> Result<Option<TypedTime>, Mistake> {
    let wrong = |why: String| {
        let hint = "as in 15:04, 15:04:05 or 2026-11-22T15:04";
        Mistake::new(format!("--{flag}"), why).hint(hint)
    };
    text_arg(args, flag).map(parse_time_of_day).transpose().map_err(wrong)
}

/// The span of wall time that the words name.
fn typed_span(args: &ArgMatches, watched: Range<u64>) -> anyhow::Result<Range<u64>> {
    let (from, to) = (typed_time(args, "from"), typed_time(args, "to"));
    let wrong = [&from, &to].into_iter().filter_map(|typed| typed.clone().err());
    Mistakes::check(wrong.collect())?;
    let offset_s = utc_offset_s(watched.end);
    let span = resolve_span(from?, to?, watched, offset_s);
    if span.is_empty() {
        return Err(Mistake::new("--to", "it is not after --from").into());
    }
    Ok(span)
}

/// The moment that `--at` names.
fn typed_moment(args: &ArgMatches, watched: Range<u64>) -> anyhow::Result<u64> {
    let offset_s = utc_offset_s(watched.end);
    Ok(resolve_span(typed_time(args, "at")?, None, watched, offset_s).start)
}

/// The folder that hourly files shall go to.
fn classic_folder<'a>(format: &str, args: &'a ArgMatches) -> Option<&'a Path> {
    let path = text_arg(args, "output").filter(|path| format == CLASSIC && *path != "-")?;
    (path.ends_with('/') || Path::new(path).is_dir()).then(|| Path::new(path))
}

/// Load averages of this machine, by the tick at which they were read.
#[derive(Default)]
struct LoadAverages(BTreeMap<u64, [f64; 3]>);

impl LoadAverages {
    fn take(&mut self, tick: u64, sample: &SampleRecord) {
        let names = ["load.over_1_min", "load.over_5_min", "load.over_15_min"];
        let numbers = names.map(|name| sample.numbers.get(name).copied());
        if let [Some(one), Some(five), Some(fifteen)] = numbers {
            self.0.insert(tick, [one, five, fifteen]);
        }
    }

    fn stamp(&self, tick: u64, unix_ns: u64) -> ClassicStamp {
        let load = self.0.get(&tick).copied().unwrap_or_default();
        ClassicStamp { unix_ns, uptime_s: 0.0, load }
    }
}

/// The samples of the status behind lines `TS`.
fn classic_text(reader: &mut WatchReader, span: &Range<u64>) -> String {
    let (mut text, mut loads) = (String::new(), LoadAverages::default());
    reader.for_each_sample(span, &mut |segment, sample| {
        let tick = segment.origin_unix_ns.saturating_add(sample.planned_ns);
        loads.take(tick, &sample);
        if sample.numbers.contains_key("Queries") {
            let unix_ns = segment.origin_unix_ns.saturating_add(sample.began_ns);
            text += &status_look_text(&loads.stamp(tick, unix_ns), &sample.numbers);
        }
    });
    text
}

/// Writes what was kept of status, InnoDB and sessions as the hourly files of a capture script.
fn write_classic_files(
    dir: &Path,
    span: &Range<u64>,
    folder: &Path,
    context: &CliContext,
) -> anyhow::Result<()> {
    let open = || WatchReader::open(dir).map_err(|e| run_mistake(&e));
    let interval_s = open()?.and_then(|reader| find_in_span(reader, span).interval_s);
    // Looks are never quite as far apart as their ticks.
    let every_s = (interval_s.unwrap_or(1.0) * 10.0).round().max(1.0) / 10.0;
    let files = ClassicFiles::create(folder, every_s)?;
    let (mut looks, mut failed, mut loads) = (0, None, LoadAverages::default());
    let mut hour = None;
    let Some(mut reader) = open()? else { return Ok(()) };
    reader.for_each_sample(span, &mut |segment, sample| {
        let tick = segment.origin_unix_ns.saturating_add(sample.planned_ns);
        loads.take(tick, &sample);
        let Some(look) = classic_look(&sample).filter(|_| failed.is_none()) else { return };
        let unix_ns = segment.origin_unix_ns.saturating_add(sample.began_ns);
        let paths = files.paths_at(unix_ns);
        if hour.as_ref() != Some(&paths) {
            failed = paths.iter().find(|path| path.exists()).map(|path| taken_mistake(path).into());
            hour = Some(paths);
        }
        if failed.is_none() {
            looks += 1;
            let written = files.append_look(&loads.stamp(tick, unix_ns), &look);
            failed = written.err().map(anyhow::Error::from);
        }
    });
    if let Some(error) = failed {
        return Err(error);
    }
    let looks = format_plural(looks, "look", "looks");
    context.print_message(&format!("wrote {looks} to {}", folder.display()));
    Ok(())
}

/// Samples are not put behind others.
fn taken_mistake(path: &Path) -> Mistake {
    let why = format!("{} is there already", path.display());
    Mistake::new("--output", why).hint("name an empty folder")
}

/// What the span holds.
fn find_in_span(mut reader: WatchReader, span: &Range<u64>) -> WatchFindings {
    let utc_offset_s = utc_offset_s(watched_time(&reader).end);
    let mut table = WatchTable::default();
    reader.for_each_sample(span, &mut |segment, sample| {
        table.add_sample(segment.number, segment.origin_unix_ns, &sample);
    });
    let mut events = reader.read_events(span);
    // Samples that begin later are no news to who looks at a span.
    events.retain(|event| event.kind != WatchEventKind::Removed);
    let incidents = reader.list_incidents(span);
    let server = reader.meta.server.as_ref().map_or_else(String::new, |server| {
        format!("{} {} at {}", server.product, server.version_number(), server.address)
    });
    WatchFindings {
        server,
        utc_offset_s,
        events,
        incidents: incidents.iter().map(|path| path.display().to_string()).collect(),
        damage: reader.damage,
        ..analyse_watch(&table)
    }
}

/// `15:04`, `15:04:05`, and the same behind a day and `T` or a blank.
fn parse_time_of_day(text: &str) -> Result<TypedTime, String> {
    let wrong = || format!("`{text}` is not a time of day");
    let (day, clock) = match text.trim().split_once(['T', ' ']) {
        Some((day, clock)) => (Some(day), clock),
        None => (None, text.trim()),
    };
    let numbers = |text: &str, at: char, most: &[i64]| -> Option<Vec<i64>> {
        let parts: Vec<i64> = text.split(at).map(str::parse).collect::<Result<_, _>>().ok()?;
        let fits = parts.iter().zip(most).all(|(part, most)| (0..=*most).contains(part));
        (fits && parts.len() <= most.len()).then_some(parts)
    };
    let clock = numbers(clock, ':', &[24, 59, 59]).filter(|parts| parts.len() >= 2);
    let clock = clock.ok_or_else(wrong)?;
    let second = clock[0] * 3600 + clock[1] * 60 + clock.get(2).copied().unwrap_or(0);
    let day = match day {
        None => None,
        Some(day) => {
            let parts = numbers(day, '-', &[9999, 12, 31]).filter(|parts| parts.len() == 3);
            let parts = parts.ok_or_else(wrong)?;
            Some(days_from_civil(parts[0], parts[1], parts[2]))
        }
    };
    Ok(TypedTime { day, second })
}

/// The span that is meant, nanoseconds since 1970. A time without a day is the last one within the watch; the end is the
/// first one behind the begin.
fn resolve_span(
    from: Option<TypedTime>,
    to: Option<TypedTime>,
    watched: Range<u64>,
    utc_offset_s: i64,
) -> Range<u64> {
    let unix_ns = |day: i64, second: i64| {
        let unix_s = day * DAY_S + second - utc_offset_s;
        u64::try_from(unix_s).unwrap_or_default().saturating_mul(SECOND_NS)
    };
    let local_day = |unix_ns: u64| {
        let unix_s = i64::try_from(unix_ns / SECOND_NS).unwrap_or_default();
        (unix_s + utc_offset_s).div_euclid(DAY_S)
    };
    let last_day = local_day(watched.end);
    let begin = from.map(|typed| {
        let at = |day: i64| unix_ns(day, typed.second);
        match typed.day {
            Some(day) => at(day),
            None if at(last_day) <= watched.end => at(last_day),
            None => at(last_day - 1),
        }
    });
    let end = to.map(|typed| {
        let at = |day: i64| unix_ns(day, typed.second);
        match (typed.day, begin) {
            (Some(day), _) => at(day),
            (None, Some(begin)) if at(local_day(begin)) > begin => at(local_day(begin)),
            (None, Some(begin)) => at(local_day(begin) + 1),
            (None, None) if at(last_day) <= watched.end => at(last_day),
            (None, None) => at(last_day - 1),
        }
    });
    begin.unwrap_or(0)..end.map_or(u64::MAX, |end| end.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-22 22:00 UTC.
    const TEN: u64 = 1_795_384_800 * SECOND_NS;
    const HOUR: u64 = 3600 * SECOND_NS;

    fn span(from: &str, to: &str, utc_offset_s: i64) -> (i64, i64) {
        let typed = |text: &str| (!text.is_empty()).then(|| parse_time_of_day(text).unwrap());
        let span = resolve_span(typed(from), typed(to), TEN - 30 * HOUR..TEN, utc_offset_s);
        let minutes = |at: u64| (at as i64 - TEN as i64).div_euclid(60 * SECOND_NS as i64);
        (minutes(span.start), minutes(span.end))
    }

    #[test]
    fn times_without_a_day_are_the_last_ones_of_the_watch() {
        assert_eq!(span("21:00", "21:10:00", 0), (-60, -50));
        // An hour that has not come yet is yesterday's.
        assert_eq!(span("23:30", "00:30", 0), (-22 * 60 - 30, -21 * 60 - 30));
        assert_eq!(span("2026-11-21T20:00", "2026-11-22 20:00", 0), (-26 * 60, -2 * 60));
        // The same words two hours further east.
        assert_eq!(span("23:00", "23:10", 7200), (-60, -50));
        assert_eq!(span("21:00", "", 0).0, -60);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for wrong in ["", "15", "25:00", "15:60", "15:04:05:06", "x:00", "2026-13-01T00:00"] {
            assert!(parse_time_of_day(wrong).is_err(), "{wrong}");
        }
    }
}
