//! The load in a view that stays in place at the foot of the terminal, without an alternate screen: what was printed
//! before stays readable, and the summary replaces the view.

use std::io::{self, Stderr};
use std::os::fd::AsFd;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::{
    cursor::MoveTo,
    execute,
    terminal::{Clear, ClearType},
};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::analysis::number_format::{
    UNKNOWN, format_bytes, format_count, format_number, format_percent, format_plural, format_time,
};
use crate::analysis::{LiveInterval, LiveStats, SteadyOutlook, SystemStats, steady_in_words};
use crate::base::{Clock, Nanos, RealClock, units};
use crate::plan::{ArrivalPlan, Plan, RateStages};

/// Least time between two drawings: 4 a second.
const REDRAW: Nanos = Nanos(250_000_000);
/// Lines of the view.
const HEIGHT: u16 = 10;
/// Until the first look at how steady a load is.
const FIRST_OUTLOOK: &str = "looked at from 1 min on";
/// Columns of the names at the left.
const NAMES: usize = 9;
/// Steps of a curve.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The view.
pub(super) struct LiveLoadView {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    clock: RealClock,
    drawn: Option<Nanos>,
    title: String,
    until: String,
    stages: Option<RateStages>,
    /// How steady the load is, if that is to end it.
    outlook: Option<String>,
    style: Style,
    colour: bool,
    _still: Option<StdinEchoGuard>,
}

impl LiveLoadView {
    /// Makes room for the view at the cursor.
    ///
    /// # Errors
    /// When the terminal doesn't answer.
    pub(super) fn open(plan: &Plan, server: &str, colour: bool) -> io::Result<LiveLoadView> {
        let height = HEIGHT + u16::from(plan.load.until_steady);
        let options = TerminalOptions { viewport: Viewport::Inline(height) };
        let still = StdinEchoGuard::disable_echo();
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options)?;
        Ok(LiveLoadView {
            terminal,
            clock: RealClock::start_now(),
            drawn: None,
            title: title_text(plan, server),
            until: end_text(plan),
            stages: plan.load.arrival.stages().cloned(),
            outlook: plan.load.until_steady.then(|| FIRST_OUTLOOK.to_owned()),
            style: if colour { Style::new().fg(Color::Cyan) } else { Style::new() },
            colour,
            _still: still,
        })
    }

    /// Takes in how steady the load is; the next drawing shows it.
    pub(super) fn set_outlook(&mut self, outlook: &SteadyOutlook) {
        self.outlook = Some(steady_in_words(&outlook.steady));
    }

    /// Draws the state, unless it was drawn just now.
    pub(super) fn draw(&mut self, pulse: &LiveStats) {
        let now = self.clock.now();
        if self.drawn.is_some_and(|last| now.since(last) < REDRAW) {
            return;
        }
        self.drawn = Some(now);
        let Some(beat) = pulse.last_interval().copied() else { return };
        let width = self.terminal.size().map_or(80, |size| usize::from(size.width));
        let lines = self.view_lines(&beat, pulse, width);
        // A terminal that went away shows nothing any more; the load goes on.
        let _ =
            self.terminal.draw(|frame| frame.render_widget(Paragraph::new(lines), frame.area()));
    }

    fn view_lines(
        &self,
        beat: &LiveInterval,
        pulse: &LiveStats,
        width: usize,
    ) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let curve = width.saturating_sub(NAMES + 24).clamp(10, 120);
        let rates = pulse.recent_intervals().map(|b| Some(b.events_per_s));
        let tails = pulse.recent_intervals().map(|b| b.p99_s);
        let around = pulse.system_stats();
        let room_for_parts = width.saturating_sub(NAMES);
        let stage = self.stages.as_ref().map(|stages| stage_text(stages, beat.at_s));
        let clock = [format!("{} {}", format_clock(beat.at_s), self.until)];
        let clock = clock.into_iter().chain(stage).collect::<Vec<_>>().join(", ");
        // On a narrow terminal the title gives way to the clock.
        let room = width.saturating_sub(clock.chars().count() + 2);
        let name: String = self.title.chars().take(room).collect();
        let title = format!("{name:room$} {clock}");
        let mut lines = vec![
            Line::styled(title, bold),
            self.named_line("events", events_line(beat)),
            self.named_line("", latency_line(beat)),
            self.curve_line(
                "rate",
                &sparkline(rates, curve),
                &highest_text(
                    pulse.recent_intervals(),
                    |b| Some(b.events_per_s),
                    |v| format!("top {}/s", format_number(v)),
                ),
            ),
            self.curve_line(
                "p99",
                &sparkline(tails, curve),
                &highest_text(
                    pulse.recent_intervals(),
                    |b| b.p99_s,
                    |v| format!("top {}", format_time(v)),
                ),
            ),
            self.named_line("server", join_fitting(server_parts(&around), room_for_parts)),
            self.named_line("host", join_fitting(host_parts(&around), room_for_parts)),
            self.named_line("sweat", join_fitting(own_parts(beat), room_for_parts)),
            self.errors_line(pulse),
        ];
        lines.push(self.named_line("", "Ctrl-C ends the load and keeps what was measured.".into()));
        if let Some(outlook) = &self.outlook {
            let text = outlook.chars().take(room_for_parts).collect();
            lines.push(self.named_line("steady?", text));
        }
        lines
    }

    fn named_line(&self, name: &str, text: String) -> Line<'static> {
        Line::from(vec![Span::styled(format!("{name:<NAMES$}"), self.style), Span::raw(text)])
    }

    fn curve_line(&self, name: &str, curve: &str, end: &str) -> Line<'static> {
        let style = if self.colour { Style::new().fg(Color::Green) } else { Style::new() };
        Line::from(vec![
            Span::styled(format!("{name:<NAMES$}"), self.style),
            Span::styled(curve.to_owned(), style),
            Span::raw(format!("  {end}")),
        ])
    }

    /// Errors stand out by words first; colour only helps.
    fn errors_line(&self, pulse: &LiveStats) -> Line<'static> {
        let mut text = match pulse.error_count() {
            0 => "none".to_owned(),
            n => format_plural(n, "event failed", "events failed"),
        };
        if pulse.reconnect_count() > 0 {
            text += &format!(
                "   {}",
                format_plural(pulse.reconnect_count(), "reconnect", "reconnects")
            );
        }
        let alarm = self.colour && pulse.error_count() > 0;
        let style = if alarm { Style::new().fg(Color::Red) } else { Style::new() };
        Line::from(vec![
            Span::styled(format!("{:<NAMES$}", "errors"), self.style),
            Span::styled(text, style),
        ])
    }
}

impl Drop for LiveLoadView {
    /// Takes the view away and leaves the cursor where it began.
    fn drop(&mut self) {
        // Line by line: tmux keeps what a clear of the whole screen takes away, and shows it above the summary.
        let area = self.terminal.get_frame().area();
        let mut err = io::stderr();
        for row in area.top()..area.bottom() {
            let _ = execute!(err, MoveTo(0, row), Clear(ClearType::CurrentLine));
        }
        let _ = execute!(err, MoveTo(0, area.top()));
        let _ = self.terminal.show_cursor();
    }
}

fn title_text(plan: &Plan, server: &str) -> String {
    let arrival = match &plan.load.arrival {
        ArrivalPlan::Closed { think } if think.is_zero() => String::new(),
        ArrivalPlan::Closed { think } => format!(", think {}", units::show_time(*think)),
        ArrivalPlan::Constant { per_second } => {
            format!(", constant {}/s", format_number(*per_second))
        }
        ArrivalPlan::Poisson { per_second } => {
            format!(", poisson {}/s", format_number(*per_second))
        }
        ArrivalPlan::Stages { spacing, .. } => format!(", {}", spacing.as_str()),
    };
    let workers = format_plural(plan.load.workers as u64, "worker", "workers");
    let server = if server.is_empty() { String::new() } else { format!("  {server}") };
    format!("{}{server}  {workers}{arrival}", plan.workload.kind)
}

fn end_text(plan: &Plan) -> String {
    match (plan.load.time, plan.load.events) {
        (Some(time), _) if plan.load.until_steady => {
            format!("until steady, at most {}", format_clock(time.as_secs_f64()))
        }
        (Some(time), _) => format!("of {}", format_clock(time.as_secs_f64())),
        (None, Some(events)) => format!("until {} events", format_count(events)),
        (None, None) if plan.load.until_steady => "until steady".to_owned(),
        (None, None) => "until Ctrl-C".to_owned(),
    }
}

/// `stage 2 of 3: 500/s`, `stage 1 of 3: 0 to 500/s`
fn stage_text(stages: &RateStages, at_s: f64) -> String {
    let count = stages.as_slice().len();
    let (number, stage) = stages.stage_at(at_s);
    let rate = match (format_number(stage.from), format_number(stage.to)) {
        (from, to) if from == to => format!("{to}/s"),
        (from, to) => format!("{from} to {to}/s"),
    };
    format!("stage {number} of {count}: {rate}")
}

/// `01:05`; `1:00:00` from an hour on.
pub(in crate::cli) fn format_clock(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

fn latency_text(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| UNKNOWN.to_owned(), format_time)
}

fn events_line(beat: &LiveInterval) -> String {
    let mut text = format!("{:<16}", format!("{}/s", format_number(beat.events_per_s)));
    if beat.backlog > 0 {
        text += &format!("backlog {}", format_count(beat.backlog));
    }
    text
}

fn latency_line(beat: &LiveInterval) -> String {
    let LiveInterval { p50_s, p95_s, p99_s, max_s, .. } = *beat;
    let column = |name: &str, value| format!("{:<16}", format!("{name} {}", latency_text(value)));
    [column("p50", p50_s), column("p95", p95_s), column("p99", p99_s), column("max", max_s)]
        .concat()
}

fn server_parts(around: &SystemStats) -> Vec<Option<String>> {
    vec![
        around.running.map(|n| format!("running {n:.0}")),
        around.pool_filled.map(|share| format!("pool filled {}", format_percent(share))),
        around.pool_reads_per_s.map(|n| format!("page reads {}/s", format_number(n))),
        around.questions_per_s.map(|n| format!("statements {}/s", format_number(n))),
        around.server_cores.map(|n| format!("cpu {n:.2} cores")),
    ]
}

fn host_parts(around: &SystemStats) -> Vec<Option<String>> {
    vec![
        around.host_cores.map(|n| format!("cpu {n:.2} cores")),
        around.disk_read_bytes_per_s.map(|n| format!("disk reads {}/s", format_bytes(n))),
        around.disk_written_bytes_per_s.map(|n| format!("writes {}/s", format_bytes(n))),
    ]
}

fn own_parts(beat: &LiveInterval) -> Vec<Option<String>> {
    vec![
        Some(format!("cpu {:.2} cores", beat.own_cores)),
        beat.lateness_p99_s.map(|s| format!("lateness p99 {}", format_time(s))),
    ]
}

/// As many of the parts that are known as fit, from the first.
fn join_fitting(parts: Vec<Option<String>>, room: usize) -> String {
    let mut text = String::new();
    for part in parts.into_iter().flatten() {
        let gap = if text.is_empty() { "" } else { "   " };
        if text.len() + gap.len() + part.len() > room {
            break;
        }
        text += gap;
        text += &part;
    }
    if text.is_empty() { UNKNOWN.to_owned() } else { text }
}

fn highest_text<'a>(
    beats: impl Iterator<Item = &'a LiveInterval>,
    value: impl Fn(&LiveInterval) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> String {
    beats.filter_map(value).reduce(f64::max).map_or_else(String::new, show)
}

/// The last values as a curve from 0 to the highest of them; a gap where there is none.
pub(in crate::cli) fn sparkline(values: impl Iterator<Item = Option<f64>>, width: usize) -> String {
    let all: Vec<Option<f64>> = values.collect();
    let last = &all[all.len().saturating_sub(width)..];
    let top = last.iter().flatten().copied().fold(0.0, f64::max);
    let step = |value: f64| {
        let share = if top > 0.0 { value / top } else { 0.0 };
        STEPS[((share * STEPS.len() as f64) as usize).min(STEPS.len() - 1)]
    };
    let curve: String = last.iter().map(|v| v.map_or(' ', step)).collect();
    format!("{curve}{:pad$}", "", pad = width.saturating_sub(last.len()))
}

/// Keeps keys from being echoed into the view, until dropped. Ctrl-C works as ever.
pub(in crate::cli) struct StdinEchoGuard {
    before: Termios,
}

impl StdinEchoGuard {
    pub(in crate::cli) fn disable_echo() -> Option<StdinEchoGuard> {
        let stdin = io::stdin();
        let before = tcgetattr(stdin.as_fd()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &quiet).ok()?;
        Some(StdinEchoGuard { before })
    }
}

impl Drop for StdinEchoGuard {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin().as_fd(), OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_reach_from_nothing_to_the_highest() {
        let values = [Some(0.0), Some(4.0), None, Some(8.0)];
        assert_eq!(sparkline(values.into_iter(), 6), "▁▅ █  ");
        assert_eq!(sparkline(values.into_iter(), 2), " █");
        assert_eq!(sparkline(std::iter::empty(), 2), "  ");
    }

    #[test]
    fn the_stage_under_way_is_named() {
        let stages = RateStages::parse("10s:0..500, 1m:500, 10s:500..0").unwrap();
        for (at_s, text) in [
            (0.0, "stage 1 of 3: 0 to 500/s"),
            (10.0, "stage 2 of 3: 500/s"),
            (69.9, "stage 2 of 3: 500/s"),
            (99.0, "stage 3 of 3: 500 to 0/s"),
        ] {
            assert_eq!(stage_text(&stages, at_s), text);
        }
    }

    #[test]
    fn clocks_read_like_clocks() {
        assert_eq!(format_clock(65.2), "01:05");
        assert_eq!(format_clock(3600.0), "1:00:00");
    }

    #[test]
    fn what_is_not_known_or_does_not_fit_is_left_out() {
        assert_eq!(join_fitting(server_parts(&SystemStats::default()), 80), "-");
        let some = SystemStats {
            running: Some(14.0),
            pool_filled: Some(0.97),
            server_cores: Some(1.5),
            ..SystemStats::default()
        };
        let line = "running 14   pool filled 97.0 %   cpu 1.50 cores";
        assert_eq!(join_fitting(server_parts(&some), line.len()), line);
        let shorter = "running 14   pool filled 97.0 %";
        assert_eq!(join_fitting(server_parts(&some), line.len() - 1), shorter);
    }
}
