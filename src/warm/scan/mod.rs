//! Warming by reading: every index of the chosen tables by statements that read that index and nothing else, cut
//! into key ranges over several sessions.
//! Start reading at `run`.

mod board;
mod crew;
mod key;
mod limit;
mod split;
mod unit;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::gauge::text;
use super::names::{chosen, tables_option};
use super::{Event, Scene, Strategy, Warmed, Warmth, catalog, gauge, guarded};
use crate::base::units::Size;
use crate::base::{Clock, Nanos, Stop};
use crate::plan::{Mistake, Mistakes, OptionKind, OptionSpec, Options};
use crate::target::Session;
use crate::workload::Progress;
use board::{Board, Gate};
use crew::Crew;
use limit::{Fill, Rate, next_look};
use unit::{Blobs, Order, Reads, arrange, units};

/// The strategy.
pub struct Scan;

impl Strategy for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }
    fn about(&self) -> &'static str {
        "Read all indexes of chosen tables, in key ranges over several sessions"
    }
    fn options(&self) -> Vec<OptionSpec> {
        let spec = |name, kind, default, help| OptionSpec { name, kind, default, help };
        vec![
            tables_option(),
            spec("sessions", OptionKind::Count, "8", "Sessions that read at the same time"),
            spec(
                "order",
                OptionKind::Choice(&["use", "size", "name"]),
                "use",
                "What comes first: indexes most read per page, small indexes, or by name",
            ),
            spec(
                "blobs",
                OptionKind::Switch,
                "off",
                "Also read the pages of long values outside the rows",
            ),
            spec("rate", OptionKind::Text, "", "Most to read per second: 50MiB, or 3000 pages"),
            spec(
                "fill",
                OptionKind::Text,
                "on",
                "Stop when the pool is full (on), when this share holds data (90%), or never (off)",
            ),
            spec(
                "max-running",
                OptionKind::Count,
                "0",
                "Pause while more than this many other sessions run a statement; 0 for no limit",
            ),
        ]
    }
    fn warm_with(
        &self,
        options: &Options,
        scene: &mut Scene<'_>,
        on_event: &mut dyn FnMut(&Event),
    ) -> anyhow::Result<Warmed> {
        let asked = Asked::read(options)?;
        let (clock, stop) = (scene.clock, scene.stop.clone());
        guarded(clock, &stop, |abandon| run(&asked, scene, on_event, abandon))
    }
}

/// What was asked, understood.
struct Asked {
    tables: Vec<super::Choice>,
    sessions: u64,
    order: Order,
    blobs: Blobs,
    rate: Option<RatePlan>,
    fill: Fill,
    max_running: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RatePlan {
    Bytes(u64),
    Pages(f64),
}

impl Asked {
    fn read(options: &Options) -> Result<Asked, Mistakes> {
        let mut mistakes = Vec::new();
        let tables = chosen(options).unwrap_or_else(|mistake| {
            mistakes.push(mistake);
            Vec::new()
        });
        let mut wrong = |place: &str, why: String, hint: &str| {
            mistakes.push(Mistake { place: place.to_owned(), why, hint: Some(hint.to_owned()) });
        };
        let given = |name: &str| options.text(name).unwrap_or_default().to_owned();
        let fill = Fill::read(&given("fill")).unwrap_or_else(|| {
            wrong(
                "--fill",
                format!("`{}` is no share of the pool", given("fill")),
                "on, off or 90%",
            );
            Fill::Whole
        });
        let rate = read_rate(&given("rate")).unwrap_or_else(|| {
            wrong("--rate", format!("`{}` is no rate", given("rate")), "as in 50MiB or 3000 pages");
            None
        });
        let order = match given("order").as_str() {
            "size" => Order::Size,
            "name" => Order::Name,
            _ => Order::Use,
        };
        let sessions = options.count("sessions");
        if !(1..=256).contains(&sessions) {
            wrong(
                "--sessions",
                format!("{sessions} sessions make no sense"),
                "1 to 256, usually 8",
            );
        }
        let blobs = if options.switch("blobs") { Blobs::Read } else { Blobs::Leave };
        let max_running = options.count("max-running");
        if !mistakes.is_empty() {
            return Err(Mistakes(mistakes));
        }
        Ok(Asked { tables, sessions, order, blobs, rate, fill, max_running })
    }
}

/// `50MiB`, `3000 pages`; nothing is no limit.
fn read_rate(text: &str) -> Option<Option<RatePlan>> {
    let text = text.trim().trim_end_matches("/s");
    if text.is_empty() {
        return Some(None);
    }
    for unit in ["pages", "page", "p"] {
        if let Some(number) = text.strip_suffix(unit) {
            let pages: f64 = number.trim().parse().ok()?;
            return (pages > 0.0 && pages.is_finite()).then_some(Some(RatePlan::Pages(pages)));
        }
    }
    match text.parse() {
        Ok(Size::Bytes(bytes)) if bytes > 0 => Some(Some(RatePlan::Bytes(bytes))),
        _ => None,
    }
}

/// Why a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Through,
    Full,
    Stopped,
}

fn run(
    asked: &Asked,
    scene: &mut Scene<'_>,
    on_event: &mut dyn FnMut(&Event),
    abandon: &Stop,
) -> anyhow::Result<Warmed> {
    let began = scene.clock.now();
    let mut lead = super::open(scene.target, abandon)?;
    let before = gauge(&mut lead)?;
    let catalog = catalog::read(&mut lead, &asked.tables)?;
    let mut notes = catalog.notes;
    let mut all = Vec::new();
    for table in &catalog.tables {
        all.extend(units(table, asked.blobs, &mut notes));
    }
    let reads = if asked.order == Order::Use { reads(&mut lead) } else { Reads::new() };
    arrange(&mut all, asked.order, &reads);
    let rate = Rate {
        pages: match asked.rate {
            None => f64::INFINITY,
            Some(RatePlan::Pages(pages)) => pages,
            Some(RatePlan::Bytes(bytes)) => bytes as f64 / before.page_bytes.max(1) as f64,
        },
    };
    for unit in all.iter().filter(|u| u.first.is_none() && u.pages / 2 > rate.largest_piece()) {
        notes.push(format!("{} is read in one piece, faster than --rate", unit.label()));
    }
    let sessions = asked.sessions.min(all.iter().map(|u| u.pages.div_ceil(64)).sum::<u64>().max(1));
    let mut board = Board::new(all, rate, scene.clock.now(), asked.fill.room(&before));
    board.allow(asked.fill.allowance(&before));
    let crew = Crew {
        target: scene.target,
        clock: scene.clock,
        abandon,
        board: Mutex::new(board),
        sessions,
        pool_pages: before.pages_total,
        rate,
        busy: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
        working: AtomicUsize::new(sessions as usize),
        broken: Mutex::new(None),
    };
    let mut watch =
        Watch { asked, crew: &crew, before, last: before, mark: before, end: End::Through };
    std::thread::scope(|scope| {
        for place in 0..sessions as usize {
            let crew = &crew;
            scope.spawn(move || crew.work(place));
        }
        watch.over(&mut lead, scene, on_event);
    });
    let (end, watch_last) = (watch.end, watch.last);
    if let Some(error) = crew.broken.into_inner().expect("set without panic") {
        if end != End::Stopped {
            return Err(error);
        }
    }
    let after = gauge(&mut lead).unwrap_or(watch_last);
    let board = crew.board.into_inner().expect("no session panics while it holds the board");
    let seconds = scene.clock.now().since(began).seconds();
    Ok(summary(&board, end, asked.fill, notes, Warmed::between(&before, &after, seconds)))
}

/// The thread that looks on: limits, progress, stop.
struct Watch<'a, 'b> {
    asked: &'a Asked,
    crew: &'a Crew<'b>,
    before: Warmth,
    last: Warmth,
    /// The look by which to tell whether the pool still grows.
    mark: Warmth,
    end: End,
}

impl Watch<'_, '_> {
    fn over(
        &mut self,
        lead: &mut Session,
        scene: &mut Scene<'_>,
        on_event: &mut dyn FnMut(&Event),
    ) {
        let clock = scene.clock;
        let (mut next, mut looked) = (clock.now(), clock.now());
        loop {
            let through = self.crew.working.load(Ordering::SeqCst) == 0;
            let events = self.crew.board().events();
            events.iter().for_each(&mut *on_event);
            if through {
                return;
            }
            let now = clock.now();
            if scene.stop.is_set() {
                self.end = End::Stopped;
                self.crew.board().gate = Gate::Closed;
                self.cancel(lead);
            } else if self.end == End::Full {
                // What is under way would push out what was read first.
                self.cancel(lead);
            } else if now >= next || self.crew.board().is_starved() {
                let read = self.last.pages_read;
                self.look(lead);
                let read = self.last.pages_read.saturating_sub(read);
                let pause = next_look(&self.last, read, now.since(looked));
                looked = now;
                // Where a look is dear, look less often.
                let took = clock.now().since(now);
                next = clock.now() + pause.max(Nanos(took.0.saturating_mul(10)));
                (scene.progress)(self.progress());
            }
            clock.sleep_until(clock.now() + Nanos(5_000_000));
        }
    }

    /// Has the server break off what our sessions run.
    fn cancel(&self, lead: &mut Session) {
        for busy in &self.crew.busy {
            let id = busy.load(Ordering::SeqCst);
            if id != 0 {
                // It may be through in the meantime; then there is nothing to break off.
                let _ = lead.command(&format!("KILL QUERY {id}"));
            }
        }
    }

    /// Looks at the pool and the load, and opens or closes the gate accordingly. No answer means: wait.
    fn look(&mut self, lead: &mut Session) {
        let looked = gauge(lead);
        let mut board = self.crew.board();
        if board.gate == Gate::Closed {
            return;
        }
        let Ok(now) = looked else {
            board.gate = Gate::Paused;
            return;
        };
        let full = self.asked.fill.is_full(&self.mark, &now);
        if Fill::can_tell(&self.mark, &now) {
            self.mark = now;
        }
        board.allow(self.asked.fill.allowance(&now));
        if full {
            board.gate = Gate::Closed;
            self.end = End::Full;
            return;
        }
        let ours = self.crew.busy.iter().filter(|b| b.load(Ordering::SeqCst) != 0).count() as u64;
        let others = now.threads_running.saturating_sub(ours + 1);
        let calm = self.asked.max_running == 0 || others <= self.asked.max_running;
        board.gate = if calm { Gate::Open } else { Gate::Paused };
        self.last = now;
    }

    fn progress(&self) -> Progress {
        let board = self.crew.board();
        let read = self.last.pages_read.saturating_sub(self.before.pages_read);
        let label = if board.gate == Gate::Paused { "scan (paused)" } else { "scan" };
        Progress {
            label: label.to_owned(),
            done: board.pages_done(read),
            total: board.pages_total(),
            unit: "pages",
        }
    }
}

/// Reads by index, where the server counts them.
fn reads(session: &mut Session) -> Reads {
    const SOURCES: &[&str] = &[
        "SELECT OBJECT_SCHEMA, OBJECT_NAME, INDEX_NAME, COUNT_READ \
         FROM performance_schema.table_io_waits_summary_by_index_usage \
         WHERE INDEX_NAME IS NOT NULL AND COUNT_READ > 0",
        "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, ROWS_READ \
         FROM information_schema.INDEX_STATISTICS",
    ];
    for sql in SOURCES {
        let Ok(rows) = session.rows(sql) else { continue };
        let reads: Reads = rows
            .rows
            .iter()
            .filter_map(|row| {
                let count = text(row, 3)?.parse().ok()?;
                Some(((text(row, 0)?, text(row, 1)?, text(row, 2)?), count))
            })
            .collect();
        if !reads.is_empty() {
            return reads;
        }
    }
    Reads::new()
}

/// Names in a note before it says "and so many more".
const NAMED: usize = 12;

fn summary(
    board: &Board,
    end: End,
    fill: Fill,
    mut notes: Vec<String>,
    mut warmed: Warmed,
) -> Warmed {
    let left = board.left_out();
    if end == End::Full && !left.is_empty() {
        let full = match fill {
            Fill::Share(share) => format!("{:.0} % of the pool hold data", share * 100.0),
            _ => "the pool is full".to_owned(),
        };
        let count = left.len();
        notes.push(format!("{full}: {count} indexes are left out: {}", listed(&left)));
    }
    if end == End::Stopped {
        notes.push(format!("stopped: {} indexes are left out: {}", left.len(), listed(&left)));
        warmed.cut = true;
    }
    warmed.failed = board.failures().len() as u64;
    notes.extend(board.failures().iter().take(NAMED).cloned());
    if board.failures().len() > NAMED {
        notes.push(format!("and {} more that could not be read", board.failures().len() - NAMED));
    }
    warmed.notes = notes;
    warmed
}

fn listed(names: &[String]) -> String {
    let mut text = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(given: &[(&str, &str)]) -> Result<Asked, Mistakes> {
        let given: Vec<_> = given.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        Asked::read(&Options::check(&Scan.options(), &given).unwrap())
    }

    #[test]
    fn defaults_are_all_tables_eight_sessions_until_full() {
        let asked = read(&[]).unwrap();
        assert!(asked.tables.is_empty());
        assert_eq!((asked.sessions, asked.order, asked.fill), (8, Order::Use, Fill::Whole));
        assert_eq!((asked.rate, asked.blobs, asked.max_running), (None, Blobs::Leave, 0));
    }

    #[test]
    fn all_mistakes_are_told_together() {
        let given = [("tables", "a.b.c"), ("rate", "fast"), ("fill", "0%"), ("sessions", "0")];
        let Err(Mistakes(mistakes)) = read(&given) else { panic!("four mistakes") };
        let places: Vec<_> = mistakes.iter().map(|m| m.place.as_str()).collect();
        assert_eq!(places, ["--tables", "--fill", "--rate", "--sessions"]);
    }

    #[test]
    fn rates_are_bytes_or_pages() {
        assert_eq!(read_rate(""), Some(None));
        assert_eq!(read_rate("50MiB"), Some(Some(RatePlan::Bytes(50 << 20))));
        assert_eq!(read_rate("50MiB/s"), Some(Some(RatePlan::Bytes(50 << 20))));
        assert_eq!(read_rate("3000 pages"), Some(Some(RatePlan::Pages(3000.0))));
        assert_eq!(read_rate("2x-pool"), None);
        assert_eq!(read_rate("0 pages"), None);
    }

    #[test]
    fn long_lists_end_with_a_count() {
        let names: Vec<_> = (0..15).map(|i| format!("t{i}")).collect();
        assert!(listed(&names).ends_with("t11 and 3 more"));
        assert_eq!(listed(&names[..2]), "t0, t1");
    }
}
