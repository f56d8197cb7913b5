//! What the view of a watch shows, as lines for any size of terminal. Touches no terminal.

use std::collections::VecDeque;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::screen::split_line;
use super::{LiveScreen, parts};
use crate::analysis::number_format::{format_count, format_number, format_percent};
use crate::analysis::{WATCH_COLUMNS, WatchFindings, WatchTable, analyse_watch};
use crate::archive::SampleRecord;
use crate::base::units::show_duration;
use crate::probe::{ProbeSample, SampleValues};

/// Columns of the names at the left.
const NAMES: usize = 9;
/// Columns beside a curve, for its range.
const RANGE: usize = 18;
/// Samples kept for the curves.
const HISTORY: usize = 130;
/// Sessions and events that are shown at most.
const SESSIONS: usize = 8;
const EVENTS: usize = 2;
/// Columns of the table of sessions: name, where the processlist has it, width.
const SESSION_COLUMNS: &[(&str, &str, usize)] =
    &[("id", "ID", 7), ("user", "USER", 9), ("time", "TIME", 5), ("state", "STATE", 18)];
/// The column that is shown behind them.
const STATEMENT: &str = "INFO";
/// Of a processlist.
const SECONDS: &str = "TIME";
/// The keys, and what the names at the left mean.
const HELP: &[(&str, &str)] = &[
    ("q", "end the watch; what was sampled is kept, as with Ctrl-C"),
    ("space", "freeze the display; sampling goes on"),
    ("?", "close this help"),
    ("now", "statements by kind, per second since the sample before"),
    ("queries", "a column per sample, from 0 to the highest"),
    ("pool", "read requests that found their page; pages that are dirty"),
    ("sessions", "those that are not idle, the longest first"),
];

/// What is shown.
pub(in crate::cli) struct WatchScreen {
    title: String,
    table: WatchTable,
    found: WatchFindings,
    /// What is shown instead while the display is frozen.
    frozen: Option<WatchFindings>,
    began_unix_ns: Option<u64>,
    last_unix_ns: u64,
    sessions: Vec<Vec<String>>,
    session_count: usize,
    events: VecDeque<String>,
    is_help: bool,
    is_stopping: bool,
    colour: bool,
    has_keys: bool,
}

impl WatchScreen {
    pub(super) fn new(title: String, colour: bool, has_keys: bool) -> WatchScreen {
        WatchScreen {
            title,
            table: WatchTable::default(),
            found: WatchFindings::default(),
            frozen: None,
            began_unix_ns: None,
            last_unix_ns: 0,
            sessions: Vec::new(),
            session_count: 0,
            events: VecDeque::new(),
            is_help: false,
            is_stopping: false,
            colour,
            has_keys,
        }
    }

    pub(super) fn add_sample(&mut self, sample: &ProbeSample, unix_ns: u64) {
        self.began_unix_ns.get_or_insert(unix_ns);
        self.last_unix_ns = unix_ns;
        if let SampleValues::Table(columns, rows) = &sample.values {
            if columns.iter().any(|name| name == STATEMENT) {
                self.set_sessions(columns, rows);
            }
            return;
        }
        let origin = unix_ns.saturating_sub(sample.planned.0);
        // A clock that is set back begins another stretch; so short a history is not worth telling them apart.
        self.table.add_sample(0, origin, &SampleRecord::from(sample));
        self.table.keep_last(HISTORY);
        self.found = analyse_watch(&self.table);
    }

    pub(super) fn add_event(&mut self, text: String) {
        self.events.push_back(text);
        if self.events.len() > EVENTS {
            self.events.pop_front();
        }
    }

    /// Keeps the sessions that have run longest.
    fn set_sessions(&mut self, columns: &[String], rows: &[Vec<String>]) {
        let place = |name: &str| columns.iter().position(|column| column == name);
        let cell = |row: &[String], name: &str| {
            place(name).and_then(|place| row.get(place)).cloned().unwrap_or_default()
        };
        let seconds = |row: &&Vec<String>| cell(row, SECONDS).parse::<i64>().unwrap_or_default();
        let mut longest: Vec<&Vec<String>> = rows.iter().collect();
        longest.sort_by_key(|row| std::cmp::Reverse(seconds(row)));
        let shown = longest.iter().take(SESSIONS).map(|row| {
            let names = SESSION_COLUMNS.iter().map(|(_, name, _)| *name).chain([STATEMENT]);
            names.map(|name| cell(row, name)).collect()
        });
        self.sessions = shown.collect();
        self.session_count = rows.len();
    }

    fn watch_lines(&self, width: usize) -> Vec<Line<'static>> {
        let found = self.frozen.as_ref().unwrap_or(&self.found);
        let room = width.saturating_sub(NAMES);
        let named = |name: &str, parts: Vec<Option<String>>| {
            self.named_line(name, parts::join_fitting(parts, room))
        };
        let last = |id: &str| {
            let place = WATCH_COLUMNS.iter().position(|column| column.id == id)?;
            found.rows.last()?.values[place]
        };
        let rate = |id: &str, name: &str| {
            last(id).map(|value| format!("{name} {}/s", format_number(value)))
        };
        let count = |id: &str, name: &str| {
            last(id).map(|value| format!("{name} {}", format_count(value as u64)))
        };
        let share = |id: &str, name: &str| {
            last(id).map(|value| format!("{name} {}", format_percent(value)))
        };
        let cores = |id: &str, name: &str| last(id).map(|value| format!("{name} {value:.2} cores"));
        let mut lines = vec![
            named(
                "now",
                vec![
                    rate("queries_per_s", "queries"),
                    rate("selects_per_s", "selects"),
                    rate("changes_per_s", "changes"),
                    rate("commits_per_s", "commits"),
                ],
            ),
            self.curve_line(found, "queries", "queries_per_s", width),
            self.curve_line(found, "running", "threads_running", width),
            named(
                "threads",
                vec![
                    count("threads_running", "running"),
                    count("threads_connected", "connected"),
                    rate("row_lock_waits_per_s", "row lock waits"),
                ],
            ),
            named(
                "pool",
                vec![share("pool_hit_ratio", "hit ratio"), share("pool_dirty_share", "dirty")],
            ),
            named(
                "cpu",
                vec![cores("server_cpu_cores", "server"), cores("machine_cpu_cores", "machine")],
            ),
        ];
        for event in &self.events {
            lines.push(self.named_line("event", event.chars().take(room).collect()));
        }
        lines.extend(self.session_lines(width));
        lines
    }

    fn session_lines(&self, width: usize) -> Vec<Line<'static>> {
        if self.sessions.is_empty() {
            return vec![self.named_line("sessions", "none is busy".to_owned())];
        }
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let line = |cells: &[String], style: Style| {
            let mut text = String::new();
            for ((_, _, columns), cell) in SESSION_COLUMNS.iter().zip(cells) {
                let cell: String = cell.chars().take(*columns).collect();
                text += &format!("{cell:<columns$} ");
            }
            let statement = cells.last().map(String::as_str).unwrap_or_default();
            text += &statement.split_whitespace().collect::<Vec<_>>().join(" ");
            Line::styled(text.chars().take(width).collect::<String>(), style)
        };
        let mut head: Vec<String> =
            SESSION_COLUMNS.iter().map(|(name, ..)| (*name).to_owned()).collect();
        head.push(format!("statement ({} sessions are busy)", self.session_count));
        let mut lines = vec![line(&head, bold)];
        lines.extend(self.sessions.iter().map(|cells| line(cells, Style::new())));
        lines
    }

    fn curve_line(
        &self,
        found: &WatchFindings,
        name: &str,
        id: &str,
        width: usize,
    ) -> Line<'static> {
        let columns = width.saturating_sub(NAMES + RANGE).clamp(10, 120);
        let place = WATCH_COLUMNS.iter().position(|column| column.id == id).unwrap_or_default();
        let before = found.rows.len().saturating_sub(columns);
        let values: Vec<Option<f64>> =
            found.rows[before..].iter().map(|row| row.values[place]).collect();
        let highest = values.iter().flatten().copied().reduce(f64::max);
        let range = highest.map_or_else(String::new, |top| format!("0 to {}", format_number(top)));
        let style = if self.colour { Style::new().fg(Color::Green) } else { Style::new() };
        Line::from(vec![
            self.name_span(name),
            Span::styled(parts::sparkline(values.into_iter(), columns), style),
            Span::raw(format!("  {range}")),
        ])
    }

    fn named_line(&self, name: &str, text: String) -> Line<'static> {
        Line::from(vec![self.name_span(name), Span::raw(text)])
    }

    fn name_span(&self, name: &str) -> Span<'static> {
        let style = if self.colour { Style::new().fg(Color::Cyan) } else { Style::new() };
        Span::styled(format!("{name:<NAMES$}"), style)
    }

    fn foot_line(&self) -> Line<'static> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        match (self.is_stopping, self.frozen.is_some()) {
            (true, _) => Line::styled("stopping", bold),
            (false, true) => Line::styled("frozen, sampling goes on   space go on", bold),
            (false, false) => Line::raw(match self.has_keys {
                true => "q stop   space freeze   ? help",
                false => "Ctrl-C ends the watch and keeps what was sampled.",
            }),
        }
    }
}

impl LiveScreen for WatchScreen {
    fn lines(&self, width: u16, height: u16) -> Vec<Line<'static>> {
        let (width, height) = (usize::from(width), usize::from(height));
        let watched = self.last_unix_ns.saturating_sub(self.began_unix_ns.unwrap_or_default());
        let clock = show_duration(watched as f64 / 1e9, 2);
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let mut lines = vec![split_line(&self.title, &clock, width, bold)];
        match self.is_help {
            true => lines
                .extend(HELP.iter().map(|(name, text)| self.named_line(name, (*text).to_owned()))),
            false => lines.extend(self.watch_lines(width)),
        }
        lines.truncate(height.saturating_sub(1).max(1));
        lines.push(self.foot_line());
        lines.truncate(height.max(1));
        lines
    }

    fn toggle_freeze(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(self.found.clone()),
        };
    }

    fn toggle_help(&mut self) {
        self.is_help = !self.is_help;
    }

    fn start_stopping(&mut self) -> bool {
        !std::mem::replace(&mut self.is_stopping, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Nanos;

    fn screen() -> WatchScreen {
        let mut screen = WatchScreen::new("MariaDB 10.11.14, every 1 s".to_owned(), false, true);
        for second in 0..20u64 {
            let at = Nanos(second * 1_000_000_000);
            let queries = 100.0 * second as f64 * second as f64;
            let values = SampleValues::Numbers(vec![
                ("Queries".to_owned(), queries),
                ("Com_select".to_owned(), queries / 2.0),
                ("Threads_running".to_owned(), 5.0),
                ("Threads_connected".to_owned(), 32.0),
            ]);
            let sample = ProbeSample { probe: "status", planned: at, began: at, ended: at, values };
            screen.add_sample(&sample, 1_795_384_800_000_000_000 + at.0);
        }
        let columns = ["ID", "USER", "HOST", "DB", "COMMAND", "TIME", "STATE", "INFO"];
        let row = |id: u32, time: u32| {
            [
                &id.to_string(),
                "app",
                "h",
                "d",
                "Query",
                &time.to_string(),
                "Sending data",
                "select ?",
            ]
            .map(str::to_owned)
            .to_vec()
        };
        let rows = (0..30).map(|n| row(n, n)).collect();
        let values = SampleValues::Table(columns.map(str::to_owned).to_vec(), rows);
        let at = Nanos(20_000_000_000);
        let sample =
            ProbeSample { probe: "processlist", planned: at, began: at, ended: at, values };
        screen.add_sample(&sample, 1_795_384_820_000_000_000);
        screen.add_event("the server took 4.0 s to answer".to_owned());
        screen
    }

    fn shown(screen: &WatchScreen, width: u16, height: u16) -> Vec<String> {
        let text = |line: &Line<'_>| line.spans.iter().map(|span| span.content.as_ref()).collect();
        screen.lines(width, height).iter().map(text).collect()
    }

    #[test]
    fn a_terminal_of_80_by_24_shows_all_of_it() {
        let lines = shown(&screen(), 80, 22);
        let text = lines.join("\n");
        assert!(lines[0].starts_with("MariaDB 10.11.14, every 1 s"), "{text}");
        assert!(lines[1].starts_with("now      queries 3 700/s   selects 1 850/s"), "{text}");
        for part in ["running 5   connected 32", "0 to 3 700", "took 4.0 s", "30 sessions are busy"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        // The longest first.
        assert!(text.contains("29      app       29    Sending data       select ?"), "{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 80) && lines.len() <= 22, "{text}");
        assert_eq!(lines.last().unwrap(), "q stop   space freeze   ? help");
    }

    #[test]
    fn small_terminals_and_help_fit() {
        let mut screen = screen();
        for (width, height) in [(1, 1), (10, 2), (40, 8), (300, 60)] {
            assert!(shown(&screen, width, height).len() <= usize::from(height).max(1));
        }
        screen.toggle_help();
        assert!(shown(&screen, 80, 22).iter().any(|line| line.contains("close this help")));
        screen.toggle_freeze();
        assert!(shown(&screen, 80, 22).last().unwrap().starts_with("frozen"));
        assert!(screen.start_stopping() && !screen.start_stopping());
    }
}
