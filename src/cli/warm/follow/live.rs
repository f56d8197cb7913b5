//! A follow in a view that stays in place at the foot of the terminal.

use std::collections::VecDeque;
use std::io::{self, Stderr};

use ratatui::backend::CrosstermBackend;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::super::super::bench::live::{Still, minutes, sparkline};
use super::lines;
use crate::analysis::figure::{UNKNOWN, count, figure, percent, time};
use crate::base::{Clock, Nanos, RealClock};
use crate::warm::follow::{Phase, View};

/// Least time between two points of a curve.
const POINT: Nanos = Nanos(1_000_000_000);
/// Indexes that are shown: those that miss most.
const INDEXES: usize = 4;
/// Lines of the view.
const HEIGHT: u16 = 10 + INDEXES as u16;
/// Columns of the names at the left.
const NAMES: usize = 9;
/// Points of a curve that are kept.
const POINTS: usize = 120;

/// The view.
pub(super) struct Live {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    clock: RealClock,
    point_at: Option<Nanos>,
    rates: VecDeque<f64>,
    reads: VecDeque<f64>,
    colour: bool,
    _still: Option<Still>,
}

impl Live {
    /// Makes room for the view at the cursor.
    ///
    /// # Errors
    /// When the terminal doesn't answer.
    pub(super) fn open(colour: bool) -> io::Result<Live> {
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        let still = Still::make();
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options)?;
        Ok(Live {
            terminal,
            clock: RealClock::start(),
            point_at: None,
            rates: VecDeque::new(),
            reads: VecDeque::new(),
            colour,
            _still: still,
        })
    }

    /// Draws what is.
    pub(super) fn draw(&mut self, view: &View) {
        let now = self.clock.now();
        if self.point_at.is_none_or(|last| now.since(last) >= POINT) {
            self.point_at = Some(now);
            for (curve, value) in
                [(&mut self.rates, view.sent_per_s), (&mut self.reads, view.reads.misses_per_s)]
            {
                curve.push_back(value);
                if curve.len() > POINTS {
                    curve.pop_front();
                }
            }
        }
        let width = self.terminal.size().map_or(80, |size| usize::from(size.width));
        let lines = self.lines(view, width);
        // A terminal that went away shows nothing any more; the work goes on.
        let _ =
            self.terminal.draw(|frame| frame.render_widget(Paragraph::new(lines), frame.area()));
    }

    fn lines(&self, view: &View, width: usize) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let room = width.saturating_sub(NAMES);
        let clock = minutes(view.at_s);
        let mut title = format!("{} -> {}", view.source, view.standby);
        title = cut(&title, width.saturating_sub(clock.len() + 1));
        let gap = width.saturating_sub(title.chars().count() + clock.len());
        let curve = room.saturating_sub(16).clamp(10, POINTS);
        let mut all = vec![Line::styled(format!("{title}{:gap$}{clock}", ""), bold)];
        all.push(self.state(view, room));
        all.push(self.line("sent", cut(&sent(view), room)));
        all.push(self.curve("", &self.rates, curve, "/s"));
        all.push(self.line("reads", cut(&lines::reads(view), room)));
        all.push(self.curve("", &self.reads, curve, "/s"));
        all.push(self.line("standby", cut(&felt(view), room)));
        all.push(self.line("left out", cut(&left_out(view), room)));
        match &view.heat {
            None => all.push(self.line("hot set", cut(no_heat(view), room))),
            Some(heat) => {
                all.push(self.line("hot set", cut(&lines::heat(heat), room)));
                all.push(self.line("", cut(&lines::cost(view, heat), room)));
                all.extend(self.indexes(view, room));
            }
        }
        if let Some(note) = view.notes.last() {
            all.push(self.line("note", cut(note, room)));
        }
        all
    }

    /// What it does stands out by words first; colour only helps.
    fn state(&self, view: &View, room: usize) -> Line<'static> {
        let is_well = view.phase == Phase::Following && view.source_gone.is_none();
        let style = match (self.colour, is_well) {
            (false, _) => Style::new(),
            (true, true) => Style::new().fg(Color::Green),
            (true, false) => Style::new().fg(Color::Red),
        };
        let text = format!("{:<16}   behind {:.1} s", lines::phase(view), view.behind_s);
        Line::from(vec![self.name("state"), Span::styled(cut(&text, room), style)])
    }

    /// The indexes whose missing heat is largest.
    fn indexes(&self, view: &View, room: usize) -> Vec<Line<'static>> {
        let Some(heat) = &view.heat else { return Vec::new() };
        let mut indexes: Vec<_> = heat.warmth.indexes.iter().collect();
        let missing = |i: &crate::warm::hotset::IndexWarmth| i.pages_hot as f64 - i.pages_resident;
        indexes.sort_by(|a, b| missing(b).total_cmp(&missing(a)));
        let line = |index: &&crate::warm::hotset::IndexWarmth| {
            let about = if index.is_exact { "" } else { "about " };
            let text = format!(
                "{:>7}  {about}{} of {} pages  {}.{} {}",
                percent(index.share),
                count(index.pages_resident as u64),
                count(index.pages_hot),
                index.database,
                index.table,
                index.index
            );
            self.line("", cut(&text, room))
        };
        indexes.iter().take(INDEXES).map(line).collect()
    }

    fn name(&self, name: &str) -> Span<'static> {
        let style = if self.colour { Style::new().fg(Color::Cyan) } else { Style::new() };
        Span::styled(format!("{name:<NAMES$}"), style)
    }

    fn line(&self, name: &str, text: String) -> Line<'static> {
        Line::from(vec![self.name(name), Span::raw(text)])
    }

    fn curve(&self, name: &str, values: &VecDeque<f64>, width: usize, unit: &str) -> Line<'static> {
        let style = if self.colour { Style::new().fg(Color::Green) } else { Style::new() };
        let top = values.iter().copied().fold(0.0, f64::max);
        let curve = sparkline(values.iter().map(|v| Some(*v)), width);
        Line::from(vec![
            self.name(name),
            Span::styled(curve, style),
            Span::raw(format!("  top {}{unit}", figure(top))),
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

fn sent(view: &View) -> String {
    let mut text = format!(
        "{}/s   deduplicated {}",
        figure(view.sent_per_s),
        percent(lines::deduplicated(view))
    );
    if view.waiting > 0 {
        text += &format!("   waiting {}", count(view.waiting));
    }
    text + "   " + &lines::pace(view)
}

fn felt(view: &View) -> String {
    let felt = &view.felt;
    let parts = [
        felt.lag_s.map(|v| format!("lag {v:.0} s")),
        felt.running.map(|v| format!("others running {v}")),
        felt.pending_reads.map(|v| format!("pending reads {v}")),
        felt.busy.map(|v| format!("disk busy {:.0} %", v * 100.0)),
        felt.latency_ns.map(|v| format!("statement {}", time(v as f64 / 1e9))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { UNKNOWN.to_owned() } else { parts.join("   ") }
}

fn left_out(view: &View) -> String {
    let counts = &view.counts;
    let parts = [
        ("writes", counts.writes),
        ("refused", counts.refused),
        ("too old", counts.skipped),
        ("too many", counts.overrun),
        ("unsent", counts.unsent + counts.lost),
        ("in doubt", counts.doubtful),
        ("errors", counts.failed),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(_, number)| *number > 0)
        .map(|(name, number)| format!("{name} {}", count(number)))
        .collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("   ") }
}

fn no_heat(view: &View) -> &'static str {
    match (view.has_active, view.reconnects) {
        (false, _) => "not known without --active",
        (true, 0) => "not looked at yet",
        (true, _) => "not looked at since the standby was gone",
    }
}

/// As much of a text as fits.
fn cut(text: &str, room: usize) -> String {
    text.chars().take(room).collect()
}
