//! The panes of the view: what stands below the figures of the load, one at a time, as far as there is room.

use std::cmp::Reverse;

use ratatui::text::Line;

use super::parts;
use super::screen::LoadScreen;
use crate::analysis::number_format::{format_plural, format_time};
use crate::analysis::{LiveSilence, LiveStats};
use crate::experiment::AgentProgress;
use crate::report::shorten_cell;

/// Fewest lines that a pane takes.
pub(super) const LEAST_ROOM: usize = 4;
/// Most ranges of the histogram.
const MOST_BANDS: usize = 20;

/// What a pane shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ScreenPane {
    /// A histogram of response times.
    #[default]
    Latency,
    /// What has to hold, and what makes the numbers worth less.
    Checks,
    /// Spells in which no event ended.
    Stalls,
    /// The agents that run the load.
    Agents,
    /// The steps of a plan so far.
    Steps,
}

impl ScreenPane {
    /// What the foot of the view calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            ScreenPane::Latency => "latency",
            ScreenPane::Checks => "checks",
            ScreenPane::Stalls => "stalls",
            ScreenPane::Agents => "agents",
            ScreenPane::Steps => "steps",
        }
    }

    /// The one that follows; only a plan has steps, and not every load agents.
    pub(super) fn next(self, has_steps: bool, has_agents: bool) -> ScreenPane {
        match self {
            ScreenPane::Latency => ScreenPane::Checks,
            ScreenPane::Checks => ScreenPane::Stalls,
            ScreenPane::Stalls if has_agents => ScreenPane::Agents,
            ScreenPane::Stalls | ScreenPane::Agents if has_steps => ScreenPane::Steps,
            ScreenPane::Stalls | ScreenPane::Agents | ScreenPane::Steps => ScreenPane::Latency,
        }
    }
}

impl LoadScreen {
    /// The pane in at most so many lines, below an empty one.
    pub(super) fn pane_lines(
        &self,
        stats: &LiveStats,
        room: usize,
        width: usize,
    ) -> Vec<Line<'static>> {
        let texts = match self.pane() {
            ScreenPane::Latency => {
                return self.histogram_lines(stats, room.min(MOST_BANDS), width);
            }
            ScreenPane::Checks => self.check_texts(stats),
            ScreenPane::Stalls => self.stall_texts(stats, room),
            ScreenPane::Agents => self.agent_texts(room),
            ScreenPane::Steps => self.step_texts(room),
        };
        let columns = width.saturating_sub(super::screen::NAMES);
        let mut lines = vec![Line::default()];
        for (place, text) in texts.iter().take(room).enumerate() {
            let name = if place == 0 { self.pane().name() } else { "" };
            lines.push(self.named_line(name, shorten_cell(text, columns)));
        }
        lines
    }

    /// A line for each check, and for each thing that makes the numbers worth less.
    fn check_texts(&self, stats: &LiveStats) -> Vec<String> {
        let header = self.header();
        let mut texts: Vec<String> =
            parts::objective_parts(&header.objectives, stats).into_iter().flatten().collect();
        if texts.is_empty() {
            texts.push("no check is named: --check 'p99 < 20ms'".to_owned());
        }
        if let Some(outlook) = self.outlook() {
            texts.push(format!("steady: {outlook}"));
        }
        let warnings = parts::warning_parts(stats, !header.server.is_empty());
        let errors = (stats.error_count() > 0).then(|| {
            let parts = parts::error_parts(stats).into_iter().flatten();
            parts.collect::<Vec<_>>().join(" ")
        });
        let caveats: Vec<String> = warnings.into_iter().chain([errors]).flatten().collect();
        match caveats.is_empty() {
            true => texts.push("no caveat so far; the report looks for more".to_owned()),
            false => texts.extend(caveats.into_iter().map(|text| format!("caveat: {text}"))),
        }
        texts
    }

    /// A line for each spell in which no event ended, the last first.
    fn stall_texts(&self, stats: &LiveStats, room: usize) -> Vec<String> {
        if self.header().load.arrival.stages().is_some() {
            return vec!["not looked for: the rate changes on purpose".to_owned()];
        }
        let all = stats.silences();
        if all.len() == 0 {
            return vec!["none so far: events have ended all along".to_owned()];
        }
        let count = all.len() as u64;
        let total: f64 = stats.silences().map(|one| one.seconds).sum();
        let spells = format_plural(count, "spell", "spells");
        let mut texts = vec![format!("{spells} without an event, {} in all", format_time(total))];
        let spell = |one: &LiveSilence| {
            format!("{}  {}", parts::format_clock(one.began_s), format_time(one.seconds))
        };
        texts.extend(all.rev().take(room.saturating_sub(1)).map(spell));
        texts
    }

    /// A line for each agent; where there is no room for all, those that are lost or behind come first.
    fn agent_texts(&self, room: usize) -> Vec<String> {
        let mut agents: Vec<&AgentProgress> = self.header().agents.iter().collect();
        if agents.len() > room {
            agents.sort_by_key(|agent| (agent.lost.is_none(), Reverse(agent.behind)));
        }
        let names = agents.iter().map(|agent| agent.name.chars().count()).max().unwrap_or(0);
        let mut texts: Vec<String> =
            agents.iter().map(|agent| parts::agent_text(agent, names)).collect();
        if texts.len() > room {
            let shown = room.saturating_sub(1);
            let more = texts.len() - shown;
            texts.truncate(shown);
            texts.push(format!("and {}", format_plural(more as u64, "more agent", "more agents")));
        }
        texts
    }

    /// The last steps of the plan, and the one under way.
    fn step_texts(&self, room: usize) -> Vec<String> {
        let header = self.header();
        let ended = &header.ended_steps;
        let before = ended.len().saturating_sub(room.saturating_sub(1));
        let mut texts = ended[before..].to_vec();
        texts.push(format!("{}  (now)", header.step));
        texts
    }
}
