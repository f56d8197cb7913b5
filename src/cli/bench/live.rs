//! The load in a view that stays in place at the foot of the terminal, without an alternate screen: what was printed
//! before stays readable, and the summary replaces the view.

use std::io::{self, Stderr};
use std::os::fd::AsFd;

use ratatui::backend::CrosstermBackend;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::analysis::figure::{UNKNOWN, bytes, count, figure, percent, plural, time};
use crate::analysis::{Beat, Outlook, Pulse, Surroundings, steady_in_words};
use crate::base::{Clock, Nanos, RealClock, units};
use crate::plan::{ArrivalPlan, Plan};

/// Least time between two drawings: 4 a second.
const REDRAW: Nanos = Nanos(250_000_000);
/// Lines of the view.
const HEIGHT: u16 = 9;
/// Until the first look at how steady a load is.
const FIRST_OUTLOOK: &str = "looked at from 1 min on";
/// Columns of the names at the left.
const NAMES: usize = 9;
/// Steps of a curve.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The view.
pub(super) struct Live {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    clock: RealClock,
    drawn: Option<Nanos>,
    title: String,
    until: String,
    /// How steady the load is, if that is to end it.
    outlook: Option<String>,
    style: Style,
    colour: bool,
    _still: Option<Still>,
}

impl Live {
    /// Makes room for the view at the cursor.
    ///
    /// # Errors
    /// When the terminal doesn't answer.
    pub(super) fn open(plan: &Plan, server: &str, colour: bool) -> io::Result<Live> {
        let height = HEIGHT + u16::from(plan.load.until_steady);
        let options = TerminalOptions { viewport: Viewport::Inline(height) };
        let still = Still::make();
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options)?;
        Ok(Live {
            terminal,
            clock: RealClock::start(),
            drawn: None,
            title: title(plan, server),
            until: until(plan),
            outlook: plan.load.until_steady.then(|| FIRST_OUTLOOK.to_owned()),
            style: if colour { Style::new().fg(Color::Cyan) } else { Style::new() },
            colour,
            _still: still,
        })
    }

    /// Takes in how steady the load is; the next drawing shows it.
    pub(super) fn outlook(&mut self, outlook: &Outlook) {
        self.outlook = Some(steady_in_words(&outlook.steady));
    }

    /// Draws the state, unless it was drawn just now.
    pub(super) fn draw(&mut self, pulse: &Pulse) {
        let now = self.clock.now();
        if self.drawn.is_some_and(|last| now.since(last) < REDRAW) {
            return;
        }
        self.drawn = Some(now);
        let Some(beat) = pulse.last().copied() else { return };
        let width = self.terminal.size().map_or(80, |size| usize::from(size.width));
        let lines = self.lines(&beat, pulse, width);
        // A terminal that went away shows nothing any more; the load goes on.
        let _ =
            self.terminal.draw(|frame| frame.render_widget(Paragraph::new(lines), frame.area()));
    }

    fn lines(&self, beat: &Beat, pulse: &Pulse, width: usize) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let curve = width.saturating_sub(NAMES + 24).clamp(10, 120);
        let rates = pulse.beats().map(|b| Some(b.events_per_s));
        let tails = pulse.beats().map(|b| b.p99_s);
        let around = pulse.surroundings();
        let room_for_parts = width.saturating_sub(NAMES);
        let clock = format!("{} {}", minutes(beat.at_s), self.until);
        let room = width.saturating_sub(self.title.chars().count() + clock.chars().count() + 1);
        let title = format!("{}{:room$}{clock}", self.title, "");
        let mut lines = vec![
            Line::styled(title, bold),
            self.line("events", events_line(beat)),
            self.line("", latency_line(beat)),
            self.curve(
                "rate",
                &sparkline(rates, curve),
                &highest(
                    pulse.beats(),
                    |b| Some(b.events_per_s),
                    |v| format!("top {}/s", figure(v)),
                ),
            ),
            self.curve(
                "p99",
                &sparkline(tails, curve),
                &highest(pulse.beats(), |b| b.p99_s, |v| format!("top {}", time(v))),
            ),
            self.line("server", fitting(server_parts(&around), room_for_parts)),
            self.line("host", fitting(host_parts(&around), room_for_parts)),
            self.line("sweat", fitting(own_parts(beat), room_for_parts)),
            self.errors(pulse),
        ];
        if let Some(outlook) = &self.outlook {
            let text = outlook.chars().take(room_for_parts).collect();
            lines.push(self.line("steady?", text));
        }
        lines
    }

    fn line(&self, name: &str, text: String) -> Line<'static> {
        Line::from(vec![Span::styled(format!("{name:<NAMES$}"), self.style), Span::raw(text)])
    }

    fn curve(&self, name: &str, curve: &str, end: &str) -> Line<'static> {
        let style = if self.colour { Style::new().fg(Color::Green) } else { Style::new() };
        Line::from(vec![
            Span::styled(format!("{name:<NAMES$}"), self.style),
            Span::styled(curve.to_owned(), style),
            Span::raw(format!("  {end}")),
        ])
    }

    /// Errors stand out by words first; colour only helps.
    fn errors(&self, pulse: &Pulse) -> Line<'static> {
        let mut text = match pulse.errors() {
            0 => "none".to_owned(),
            n => format!("{} of events", count(n)),
        };
        if pulse.reconnects() > 0 {
            text += &format!("   {}", plural(pulse.reconnects(), "reconnect", "reconnects"));
        }
        let alarm = self.colour && pulse.errors() > 0;
        let style = if alarm { Style::new().fg(Color::Red) } else { Style::new() };
        Line::from(vec![
            Span::styled(format!("{:<NAMES$}", "errors"), self.style),
            Span::styled(text, style),
        ])
    }
}

impl Drop for Live {
    /// Takes the view away and leaves the cursor where it began.
    fn drop(&mut self) {
        let _ = self.terminal.clear();
        let _ = self.terminal.show_cursor();
    }
}

fn title(plan: &Plan, server: &str) -> String {
    let arrival = match plan.load.arrival {
        ArrivalPlan::Closed { think } if think.is_zero() => String::new(),
        ArrivalPlan::Closed { think } => format!(", think {}", units::show_time(think)),
        ArrivalPlan::Constant { per_second } => format!(", constant {}/s", figure(per_second)),
        ArrivalPlan::Poisson { per_second } => format!(", poisson {}/s", figure(per_second)),
    };
    let sessions = plural(plan.load.workers as u64, "session", "sessions");
    let server = if server.is_empty() { String::new() } else { format!("  {server}") };
    format!("{}{server}  {sessions}{arrival}", plan.workload.kind)
}

fn until(plan: &Plan) -> String {
    match (plan.load.time, plan.load.events) {
        (Some(time), _) if plan.load.until_steady => {
            format!("until steady, at most {}", minutes(time.as_secs_f64()))
        }
        (Some(time), _) => format!("of {}", minutes(time.as_secs_f64())),
        (None, Some(events)) => format!("until {} events", count(events)),
        (None, None) if plan.load.until_steady => "until steady".to_owned(),
        (None, None) => "until Ctrl-C".to_owned(),
    }
}

/// `01:05`; `1:00:00` from an hour on.
pub(in crate::cli) fn minutes(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

fn shown(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| UNKNOWN.to_owned(), time)
}

fn events_line(beat: &Beat) -> String {
    let mut text = format!("{:<16}", format!("{}/s", figure(beat.events_per_s)));
    if beat.backlog > 0 {
        text += &format!("backlog {}", count(beat.backlog));
    }
    text
}

fn latency_line(beat: &Beat) -> String {
    let Beat { p50_s, p95_s, p99_s, max_s, .. } = *beat;
    let column = |name: &str, value| format!("{:<16}", format!("{name} {}", shown(value)));
    [column("p50", p50_s), column("p95", p95_s), column("p99", p99_s), column("max", max_s)]
        .concat()
}

fn server_parts(around: &Surroundings) -> Vec<Option<String>> {
    vec![
        around.running.map(|n| format!("running {n:.0}")),
        around.pool_filled.map(|share| format!("pool filled {}", percent(share))),
        around.pool_reads_per_s.map(|n| format!("page reads {}/s", figure(n))),
        around.questions_per_s.map(|n| format!("statements {}/s", figure(n))),
        around.server_cores.map(|n| format!("cpu {n:.2}")),
    ]
}

fn host_parts(around: &Surroundings) -> Vec<Option<String>> {
    vec![
        around.host_cores.map(|n| format!("cpu {n:.2}")),
        around.disk_read_bytes_per_s.map(|n| format!("disk reads {}/s", bytes(n))),
        around.disk_written_bytes_per_s.map(|n| format!("writes {}/s", bytes(n))),
    ]
}

fn own_parts(beat: &Beat) -> Vec<Option<String>> {
    vec![
        Some(format!("cpu {:.2}", beat.own_cores)),
        beat.lateness_p99_s.map(|s| format!("lateness p99 {}", time(s))),
    ]
}

/// As many of the parts that are known as fit, from the first.
fn fitting(parts: Vec<Option<String>>, room: usize) -> String {
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

fn highest<'a>(
    beats: impl Iterator<Item = &'a Beat>,
    value: impl Fn(&Beat) -> Option<f64>,
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
pub(in crate::cli) struct Still {
    before: Termios,
}

impl Still {
    pub(in crate::cli) fn make() -> Option<Still> {
        let stdin = io::stdin();
        let before = tcgetattr(stdin.as_fd()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(stdin.as_fd(), OptionalActions::Now, &quiet).ok()?;
        Some(Still { before })
    }
}

impl Drop for Still {
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
    fn clocks_read_like_clocks() {
        assert_eq!(minutes(65.2), "01:05");
        assert_eq!(minutes(3600.0), "1:00:00");
    }

    #[test]
    fn what_is_not_known_or_does_not_fit_is_left_out() {
        assert_eq!(fitting(server_parts(&Surroundings::default()), 80), "-");
        let some = Surroundings {
            running: Some(14.0),
            pool_filled: Some(0.97),
            server_cores: Some(1.5),
            ..Surroundings::default()
        };
        let line = "running 14   pool filled 97.0 %   cpu 1.50";
        assert_eq!(fitting(server_parts(&some), line.len()), line);
        let shorter = "running 14   pool filled 97.0 %";
        assert_eq!(fitting(server_parts(&some), line.len() - 1), shorter);
    }
}
