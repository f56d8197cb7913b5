//! A follow in a view that stays in place at the foot of the terminal.

use std::collections::VecDeque;
use std::io::{self, Stderr};

use ratatui::backend::CrosstermBackend;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::super::super::live::{StdinEchoGuard, format_clock, sparkline};
use super::lines;
use crate::analysis::number_format::{
    UNKNOWN, format_count, format_number, format_percent, format_time,
};
use crate::base::{Clock, Nanos, RealClock};
use crate::warm::follow::{FollowPhase, FollowStatus};

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
pub(super) struct LiveFollowView {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    clock: RealClock,
    point_at: Option<Nanos>,
    rates: VecDeque<f64>,
    reads: VecDeque<f64>,
    colour: bool,
    _still: Option<StdinEchoGuard>,
}

impl LiveFollowView {
    /// Makes room for the view at the cursor.
    ///
    /// # Errors
    /// When the terminal doesn't answer.
    pub(super) fn open(colour: bool) -> io::Result<LiveFollowView> {
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        let still = StdinEchoGuard::disable_echo();
        let terminal = Terminal::with_options(CrosstermBackend::new(io::stderr()), options)?;
        Ok(LiveFollowView {
            terminal,
            clock: RealClock::start_now(),
            point_at: None,
            rates: VecDeque::new(),
            reads: VecDeque::new(),
            colour,
            _still: still,
        })
    }

    /// Draws what is.
    pub(super) fn draw(&mut self, view: &FollowStatus) {
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
        let lines = self.view_lines(view, width);
        // A terminal that went away shows nothing any more; the work goes on.
        let _ =
            self.terminal.draw(|frame| frame.render_widget(Paragraph::new(lines), frame.area()));
    }

    fn view_lines(&self, view: &FollowStatus, width: usize) -> Vec<Line<'static>> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let room = width.saturating_sub(NAMES);
        let clock = format_clock(view.at_s);
        let mut title = format!("{} -> {}", view.source, view.standby);
        title = truncate_text(&title, width.saturating_sub(clock.len() + 1));
        let gap = width.saturating_sub(title.chars().count() + clock.len());
        let curve = room.saturating_sub(16).clamp(10, POINTS);
        let mut all = vec![Line::styled(format!("{title}{:gap$}{clock}", ""), bold)];
        all.push(self.state_line(view, room));
        all.push(self.named_line("sent", truncate_text(&sent_text(view), room)));
        all.push(self.curve_line("", &self.rates, curve, "/s"));
        all.push(self.named_line("reads", truncate_text(&lines::reads_text(view), room)));
        all.push(self.curve_line("", &self.reads, curve, "/s"));
        all.push(self.named_line("standby", truncate_text(&standby_text(view), room)));
        all.push(self.named_line("left out", truncate_text(&left_out_text(view), room)));
        match &view.heat {
            None => all.push(self.named_line("hot set", truncate_text(no_warmth_text(view), room))),
            Some(heat) => {
                all.push(
                    self.named_line("hot set", truncate_text(&lines::warmth_text(heat), room)),
                );
                all.push(self.named_line("", truncate_text(&lines::cost_text(view, heat), room)));
                all.extend(self.index_lines(view, room));
            }
        }
        if let Some(note) = view.notes.last() {
            all.push(self.named_line("note", truncate_text(note, room)));
        }
        all
    }

    /// What it does stands out by words first; colour only helps.
    fn state_line(&self, view: &FollowStatus, room: usize) -> Line<'static> {
        let is_well = view.phase == FollowPhase::Following && view.source_gone.is_none();
        let style = match (self.colour, is_well) {
            (false, _) => Style::new(),
            (true, true) => Style::new().fg(Color::Green),
            (true, false) => Style::new().fg(Color::Red),
        };
        let text = format!("{:<16}   behind {:.1} s", lines::phase_text(view), view.behind_s);
        Line::from(vec![self.name_span("state"), Span::styled(truncate_text(&text, room), style)])
    }

    /// The indexes whose missing heat is largest.
    fn index_lines(&self, view: &FollowStatus, room: usize) -> Vec<Line<'static>> {
        let Some(heat) = &view.heat else { return Vec::new() };
        let mut indexes: Vec<_> = heat.warmth.indexes.iter().collect();
        let missing = |i: &crate::warm::hotset::IndexWarmth| i.pages_hot as f64 - i.pages_resident;
        indexes.sort_by(|a, b| missing(b).total_cmp(&missing(a)));
        let line = |index: &&crate::warm::hotset::IndexWarmth| {
            let about = if index.is_exact { "" } else { "about " };
            let text = format!(
                "{:>7}  {about}{} of {} pages  {}.{} {}",
                format_percent(index.share),
                format_count(index.pages_resident as u64),
                format_count(index.pages_hot),
                index.database,
                index.table,
                index.index
            );
            self.named_line("", truncate_text(&text, room))
        };
        indexes.iter().take(INDEXES).map(line).collect()
    }

    fn name_span(&self, name: &str) -> Span<'static> {
        let style = if self.colour { Style::new().fg(Color::Cyan) } else { Style::new() };
        Span::styled(format!("{name:<NAMES$}"), style)
    }

    fn named_line(&self, name: &str, text: String) -> Line<'static> {
        Line::from(vec![self.name_span(name), Span::raw(text)])
    }

    fn curve_line(
        &self,
        name: &str,
        values: &VecDeque<f64>,
        width: usize,
        unit: &str,
    ) -> Line<'static> {
        let style = if self.colour { Style::new().fg(Color::Green) } else { Style::new() };
        let top = values.iter().copied().fold(0.0, f64::max);
        let curve = sparkline(values.iter().map(|v| Some(*v)), width);
        Line::from(vec![
            self.name_span(name),
            Span::styled(curve, style),
            Span::raw(format!("  top {}{unit}", format_number(top))),
        ])
    }
}

impl Drop for LiveFollowView {
    /// Takes the view away and leaves the cursor where it began.
    fn drop(&mut self) {
        let _ = self.terminal.clear();
        let _ = self.terminal.show_cursor();
    }
}

fn sent_text(view: &FollowStatus) -> String {
    let mut text = format!(
        "{}/s   deduplicated {}",
        format_number(view.sent_per_s),
        format_percent(lines::deduplicated_share(view))
    );
    if view.waiting > 0 {
        text += &format!("   waiting {}", format_count(view.waiting));
    }
    text + "   " + &lines::throttle_text(view)
}

fn standby_text(view: &FollowStatus) -> String {
    let felt = &view.load;
    let parts = [
        felt.lag_s.map(|v| format!("lag {v:.0} s")),
        felt.running.map(|v| format!("others running {v}")),
        felt.pending_reads.map(|v| format!("pending reads {v}")),
        felt.busy.map(|v| format!("disk busy {:.0} %", v * 100.0)),
        felt.latency_ns.map(|v| format!("statement {}", format_time(v as f64 / 1e9))),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { UNKNOWN.to_owned() } else { parts.join("   ") }
}

fn left_out_text(view: &FollowStatus) -> String {
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
        .map(|(name, number)| format!("{name} {}", format_count(number)))
        .collect();
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("   ") }
}

fn no_warmth_text(view: &FollowStatus) -> &'static str {
    match (view.has_active, view.reconnects) {
        (false, _) => "not known without --active",
        (true, 0) => "not checked yet",
        (true, _) => "not checked since the standby was lost",
    }
}

/// As much of a text as fits.
fn truncate_text(text: &str, room: usize) -> String {
    text.chars().take(room).collect()
}
