//! What the live view shows, as lines for any size of terminal. Touches no terminal.

use std::time::Duration;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use super::super::help::wrap_words;
use super::super::load_display::LoadHeader;
use super::panes::{LEAST_ROOM, ScreenPane};
use super::{LiveScreen, parts};
use crate::analysis::number_format::{format_count, format_number, format_percent, format_time};
use crate::analysis::{
    LatencyBand, LiveInterval, LiveStats, LoadTotals, SteadyOutlook, steady_in_words,
};
use crate::base::units::show_duration;
use crate::experiment::AgentProgress;

/// Columns of the names at the left.
pub(super) const NAMES: usize = 9;
/// Columns beside a curve, for its range.
const RANGE: usize = 18;
/// Columns beside a bar of the histogram.
const BESIDE_BAR: usize = 22;
/// Columns beside the bar of progress.
const BESIDE_PROGRESS: usize = 8;
/// Until the first look at how steady a load is.
const FIRST_OUTLOOK: &str = "looked at from 1 min on";
/// The keys, and what the names at the left mean.
const HELP: &[(&str, &str)] = &[
    ("q", "end the load; what was measured is kept, as with Ctrl-C"),
    ("Ctrl-C", "the same; a second one leaves at once"),
    ("space", "pause the picture; the load goes on"),
    ("tab", "the next pane: latency, checks, stalls, agents, steps of a plan"),
    ("?", "close this help"),
    ("", ""),
    ("now", "the last interval, 1 s unless --interval says otherwise"),
    ("so far", "the whole load, from the sum of its histograms"),
    ("done", "by time or events; no bar where the end is not known"),
    ("rate, p99", "a column per interval, from 0 to the highest"),
    ("server", "what it says of itself, and its process"),
    ("host", "CPU in cores and disks of this machine"),
    ("sweat", "sweat's own CPU, and how late it started events"),
    ("caution", "what makes these numbers worth less"),
];

/// What is shown.
pub(in crate::cli) struct LoadScreen {
    header: LoadHeader,
    stats: LiveStats,
    /// What is shown instead while the display is frozen.
    frozen: Option<LiveStats>,
    /// How steady the load is, if that is to end it.
    outlook: Option<String>,
    /// What the load is at, if it is a work that comes to an end.
    work: Option<String>,
    pane: ScreenPane,
    is_help: bool,
    is_stopping: bool,
    colour: bool,
    /// Whether keys are read.
    has_keys: bool,
}

/// A line, and how soon it gives way where there is no room: the highest first.
struct ScreenRow {
    rank: u8,
    line: Line<'static>,
}

impl LiveScreen for LoadScreen {
    fn lines(&self, width: u16, height: u16) -> Vec<Line<'static>> {
        LoadScreen::lines(self, width, height)
    }
    fn toggle_freeze(&mut self) {
        LoadScreen::toggle_freeze(self);
    }
    fn toggle_help(&mut self) {
        LoadScreen::toggle_help(self);
    }
    fn show_next_pane(&mut self) {
        LoadScreen::show_next_pane(self);
    }
    fn start_stopping(&mut self) -> bool {
        LoadScreen::start_stopping(self)
    }
}

impl LoadScreen {
    pub(super) fn new(header: LoadHeader, colour: bool, has_keys: bool) -> LoadScreen {
        LoadScreen {
            outlook: header.load.until_steady.then(|| FIRST_OUTLOOK.to_owned()),
            header,
            work: None,
            stats: LiveStats::default(),
            frozen: None,
            pane: ScreenPane::default(),
            is_help: false,
            is_stopping: false,
            colour,
            has_keys,
        }
    }

    pub(super) fn header(&self) -> &LoadHeader {
        &self.header
    }

    pub(super) fn outlook(&self) -> Option<&str> {
        self.outlook.as_deref()
    }

    pub(super) fn pane(&self) -> ScreenPane {
        self.pane
    }

    pub(super) fn show_next_pane(&mut self) {
        self.pane = self.following_pane();
    }

    fn following_pane(&self) -> ScreenPane {
        self.pane.next(!self.header.step.is_empty(), !self.header.agents.is_empty())
    }

    pub(super) fn set_stats(&mut self, stats: &LiveStats) {
        self.stats.clone_from(stats);
    }

    pub(super) fn set_outlook(&mut self, outlook: &SteadyOutlook) {
        self.outlook = Some(steady_in_words(&outlook.steady));
    }

    pub(super) fn set_agents(&mut self, agents: &[AgentProgress]) {
        self.header.agents = agents.to_vec();
    }

    pub(super) fn set_work(&mut self, text: String) {
        self.work = Some(text);
    }

    pub(super) fn toggle_freeze(&mut self) {
        self.frozen = match self.frozen.take() {
            Some(_) => None,
            None => Some(self.stats.clone()),
        };
    }

    pub(super) fn toggle_help(&mut self) {
        self.is_help = !self.is_help;
    }

    /// The user wants to stop. Whether that is new.
    pub(super) fn start_stopping(&mut self) -> bool {
        !std::mem::replace(&mut self.is_stopping, true)
    }

    /// What is shown on so many columns and lines.
    pub(super) fn lines(&self, width: u16, height: u16) -> Vec<Line<'static>> {
        let (width, height) = (usize::from(width), usize::from(height));
        let stats = self.frozen.as_ref().unwrap_or(&self.stats);
        let mut lines = match stats.last_interval() {
            None => vec![self.title_line(0.0, width)],
            Some(beat) if self.is_help => self.help_lines(beat.at_s, width),
            Some(beat) => self.load_lines(stats, beat, width, height),
        };
        lines.truncate(height.saturating_sub(1).max(1));
        // The keys stand at the same place, whatever the pane.
        lines.resize(height.saturating_sub(1).max(1), Line::default());
        lines.push(self.foot_line());
        lines.truncate(height.max(1));
        lines
    }

    /// The load in at most `height` lines less one, if there are as many.
    fn load_lines(
        &self,
        stats: &LiveStats,
        beat: &LiveInterval,
        width: usize,
        height: usize,
    ) -> Vec<Line<'static>> {
        let mut rows = self.rows(stats, beat, width);
        while rows.len() + 1 > height.max(2) {
            let rank = rows.iter().map(|row| row.rank).max().unwrap_or(0);
            let at = rows.iter().rposition(|row| row.rank == rank).unwrap_or(0);
            rows.remove(at);
        }
        let mut lines: Vec<Line<'static>> = rows.into_iter().map(|row| row.line).collect();
        let room = height.saturating_sub(lines.len() + 2);
        if room >= LEAST_ROOM {
            lines.extend(self.pane_lines(stats, room, width));
        }
        lines
    }

    fn rows(&self, stats: &LiveStats, beat: &LiveInterval, width: usize) -> Vec<ScreenRow> {
        let room = width.saturating_sub(NAMES);
        let named =
            |rank, name: &str, text: String| ScreenRow { rank, line: self.named_line(name, text) };
        let joined = |rank, name: &str, parts| named(rank, name, parts::join_fitting(parts, room));
        let around = stats.system_stats();
        let LoadTotals { events, events_per_s, p50_s, p95_s, p99_s, max_s } = stats.totals();
        let mut rows = Vec::new();
        if !self.header.step.is_empty() {
            rows.push(ScreenRow { rank: 2, line: self.step_line(beat.at_s, width) });
        }
        rows.push(ScreenRow { rank: 0, line: self.title_line(beat.at_s, width) });
        if let Some(work) = &self.work {
            rows.push(named(1, "work", work.chars().take(room).collect()));
        }
        let done = self.done_share(stats, beat.at_s);
        rows.extend(
            done.map(|share| ScreenRow { rank: 4, line: self.progress_line(share, width) }),
        );
        let backlog = (beat.backlog > 0).then(|| format!("backlog {}", format_count(beat.backlog)));
        let now = format!("{}/s", format_number(beat.events_per_s));
        rows.push(joined(0, "now", vec![Some(now), backlog]));
        let latency = [beat.p50_s, beat.p95_s, beat.p99_s, beat.max_s];
        rows.push(named(1, "", parts::latency_text(latency, room)));
        let mean = format!("{}/s", format_number(events_per_s));
        let count = format!("{} events", format_count(events));
        rows.push(joined(1, "so far", vec![Some(mean), Some(count)]));
        rows.push(named(3, "", parts::latency_text([p50_s, p95_s, p99_s, max_s], room)));
        rows.push(ScreenRow { rank: 6, line: self.rate_line(stats, width) });
        rows.push(ScreenRow { rank: 5, line: self.tail_line(stats, width) });
        rows.push(joined(7, "server", parts::server_parts(&around)));
        rows.push(joined(8, "host", parts::host_parts(&around)));
        rows.push(joined(9, "sweat", parts::own_parts(beat)));
        let errors = parts::join_fitting(parts::error_parts(stats), room);
        rows.push(ScreenRow {
            rank: 2,
            line: self.alarm_line("errors", errors, stats.error_count() > 0),
        });
        let warnings = parts::warning_parts(stats, !self.header.server.is_empty());
        if warnings.iter().any(Option::is_some) {
            let text = parts::join_fitting(warnings, room);
            rows.push(ScreenRow { rank: 2, line: self.alarm_line("caution", text, true) });
        }
        if let Some((text, is_wrong)) = parts::agents_part(&self.header.agents) {
            let text = text.chars().take(room).collect();
            rows.push(ScreenRow { rank: 3, line: self.alarm_line("agents", text, is_wrong) });
        }
        if !self.header.objectives.is_empty() {
            let parts = parts::objective_parts(&self.header.objectives, stats);
            rows.push(joined(4, "checks", parts));
        }
        if let Some(outlook) = &self.outlook {
            rows.push(named(4, "steady?", outlook.chars().take(room).collect()));
        }
        rows
    }

    /// The step of the plan, and how long is left of all steps.
    fn step_line(&self, at_s: f64, width: usize) -> Line<'static> {
        let left = self.header.left_s.map(|all| Duration::from_secs_f64((all - at_s).max(0.0)));
        let left = left.map_or_else(String::new, |left| {
            format!("{} left in all", show_duration(left.as_secs_f64(), 2))
        });
        split_line(&self.header.step, &left, width, Style::new())
    }

    /// What runs, and for how long.
    fn title_line(&self, at_s: f64, width: usize) -> Line<'static> {
        let LoadHeader { kind, load, server, .. } = &self.header;
        let stage = load.arrival.stages().map(|stages| parts::stage_text(stages, at_s));
        let clock = [format!("{} {}", parts::format_clock(at_s), parts::end_text(load))];
        let clock = clock.into_iter().chain(stage).collect::<Vec<_>>().join(", ");
        let bold = Style::new().add_modifier(Modifier::BOLD);
        split_line(&parts::title_text(kind, load, server), &clock, width, bold)
    }

    /// How far the load is, 0 to 1: by its time or its events, whichever ends it first. Of a load that ends when it is
    /// steady, or by hand, nobody knows.
    fn done_share(&self, stats: &LiveStats, at_s: f64) -> Option<f64> {
        let load = &self.header.load;
        if load.until_steady {
            return None;
        }
        let time = load.time.or(load.arrival.stages().map(|stages| stages.total_time()));
        let of_time = time.map(|time| at_s / time.as_secs_f64().max(f64::MIN_POSITIVE));
        let ended = stats.totals().events + stats.error_count();
        let of_events = load.events.map(|most| ended as f64 / most.max(1) as f64);
        let share = of_time.into_iter().chain(of_events).reduce(f64::max)?;
        Some(share.clamp(0.0, 1.0))
    }

    fn progress_line(&self, share: f64, width: usize) -> Line<'static> {
        let room = width.saturating_sub(NAMES + BESIDE_PROGRESS).max(4);
        let full = (share * room as f64) as usize;
        let bar = format!("{}{}", "\u{2588}".repeat(full), "\u{2591}".repeat(room - full));
        Line::from(vec![
            self.name_span("done"),
            Span::styled(bar, self.curve_style()),
            Span::raw(format!("{:>5.0} %", (100.0 * share).floor())),
        ])
    }

    /// The keys; or why they are of no use now.
    fn foot_line(&self) -> Line<'static> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        if self.is_stopping {
            let waiting = match self.stats.last_interval().map_or(0, |beat| beat.in_flight) {
                0 => String::new(),
                1 => ": waiting for 1 event".to_owned(),
                n => format!(": waiting for {} events", format_count(n)),
            };
            return Line::styled(format!("stopping{waiting}"), bold);
        }
        if let Some(frozen) = &self.frozen {
            let at_s = frozen.last_interval().map_or(0.0, |beat| beat.at_s);
            let text = format!("paused at {}: the load goes on", parts::format_clock(at_s));
            return Line::styled(format!("{text}   space go on"), bold);
        }
        if !self.has_keys {
            return Line::raw("Ctrl-C ends the load and keeps what was measured.");
        }
        let next = self.following_pane().name();
        Line::raw(format!("q stop  space pause  tab {next}  ? help"))
    }

    fn help_lines(&self, at_s: f64, width: usize) -> Vec<Line<'static>> {
        const TEXT: usize = NAMES + 2;
        let mut lines = vec![self.title_line(at_s, width)];
        for (name, text) in HELP {
            for (n, part) in wrap_words(text, width.saturating_sub(TEXT).max(10)).iter().enumerate()
            {
                let name = if n == 0 { name } else { "" };
                lines.push(self.named_line(&format!("{name:<TEXT$}"), part.clone()));
            }
        }
        lines
    }

    pub(super) fn histogram_lines(
        &self,
        stats: &LiveStats,
        count: usize,
        width: usize,
    ) -> Vec<Line<'static>> {
        let bands = stats.latency_bands(count);
        let most = bands.iter().map(|band| band.events).max().unwrap_or(0).max(1) as f64;
        let all = stats.totals().events.max(1) as f64;
        let room = width.saturating_sub(NAMES + BESIDE_BAR).clamp(4, 100);
        let style = self.curve_style();
        let line = |(n, band): (usize, &LatencyBand)| {
            let name = if n == 0 { "latency" } else { "" };
            let bar = parts::bar_text(band.events as f64 / most, room);
            Line::from(vec![
                self.name_span(name),
                Span::raw(format!("to {:>7}  ", format_time(band.to_s))),
                Span::styled(format!("{bar:<room$}"), style),
                Span::raw(format!("{:>8}", format_percent(band.events as f64 / all))),
            ])
        };
        let blank = (!bands.is_empty()).then(Line::default);
        blank.into_iter().chain(bands.iter().enumerate().map(line)).collect()
    }

    fn rate_line(&self, stats: &LiveStats, width: usize) -> Line<'static> {
        let value = |beat: &LiveInterval| Some(beat.events_per_s);
        let show = |rate| format!("{}/s", format_number(rate));
        self.curve_line("rate", stats, width, &value, &show)
    }

    fn tail_line(&self, stats: &LiveStats, width: usize) -> Line<'static> {
        self.curve_line("p99", stats, width, &|beat: &LiveInterval| beat.p99_s, &format_time)
    }

    fn curve_line(
        &self,
        name: &str,
        stats: &LiveStats,
        width: usize,
        value: &dyn Fn(&LiveInterval) -> Option<f64>,
        show: &dyn Fn(f64) -> String,
    ) -> Line<'static> {
        let columns = width.saturating_sub(NAMES + RANGE).clamp(10, 120);
        let shown = || {
            let all = stats.recent_intervals();
            let before = all.len().saturating_sub(columns);
            all.skip(before)
        };
        let range = parts::range_text(shown(), value, show);
        let curve = parts::sparkline(shown().map(value), columns);
        Line::from(vec![
            self.name_span(name),
            Span::styled(curve, self.curve_style()),
            Span::raw(format!("  {range}")),
        ])
    }

    pub(super) fn named_line(&self, name: &str, text: String) -> Line<'static> {
        Line::from(vec![self.name_span(name), Span::raw(text)])
    }

    /// What is wrong stands out by words first; colour only helps.
    fn alarm_line(&self, name: &str, text: String, is_wrong: bool) -> Line<'static> {
        let style =
            if self.colour && is_wrong { Style::new().fg(Color::Red) } else { Style::new() };
        Line::from(vec![self.name_span(name), Span::styled(text, style)])
    }

    fn name_span(&self, name: &str) -> Span<'static> {
        let style = if self.colour { Style::new().fg(Color::Cyan) } else { Style::new() };
        Span::styled(format!("{name:<NAMES$}"), style)
    }

    fn curve_style(&self) -> Style {
        if self.colour { Style::new().fg(Color::Green) } else { Style::new() }
    }
}

/// Two texts, one at each end of a line; the left one gives way.
pub(super) fn split_line(left: &str, right: &str, width: usize, style: Style) -> Line<'static> {
    let room = width.saturating_sub(right.chars().count() + 2);
    let left: String = left.chars().take(room).collect();
    Line::styled(format!("{left:room$}  {right}"), style)
}

#[cfg(test)]
#[path = "screen_tests.rs"]
mod tests;
