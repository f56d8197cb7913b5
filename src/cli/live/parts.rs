//! Pieces of the live views as text.

use super::super::load_display::agents_text;
use crate::analysis::number_format::{
    UNKNOWN, format_bytes, format_count, format_number, format_percent, format_plural, format_time,
};
use crate::analysis::{LiveInterval, LiveStats, LiveWarning, SystemStats};
use crate::base::units;
use crate::experiment::AgentProgress;
use crate::plan::{ArrivalPlan, LoadPlan, MetricUnit, Objective, RateStages};

/// Steps of a curve.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a value in a row of them.
const COLUMN: usize = 16;

/// `oltp_read_write  MariaDB 11.4.2  4 workers, poisson 500/s`
pub(super) fn title_text(kind: &str, load: &LoadPlan, server: &str) -> String {
    let arrival = match &load.arrival {
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
    let workers = format_plural(load.own_workers().len() as u64, "worker", "workers");
    let server = if server.is_empty() { String::new() } else { format!("  {server}") };
    format!("{kind}{server}  {workers}{arrival}")
}

/// When the load ends.
pub(super) fn end_text(load: &LoadPlan) -> String {
    match (load.time, load.events) {
        (Some(time), _) if load.until_steady => {
            format!("until steady, at most {}", format_clock(time.as_secs_f64()))
        }
        (Some(time), _) => format!("of {}", format_clock(time.as_secs_f64())),
        (None, Some(events)) => format!("until {} events", format_count(events)),
        (None, None) if load.until_steady => "until steady".to_owned(),
        (None, None) => "until Ctrl-C".to_owned(),
    }
}

/// `stage 2 of 3: 500/s`, `stage 1 of 3: 0 to 500/s`
pub(super) fn stage_text(stages: &RateStages, at_s: f64) -> String {
    let count = stages.as_slice().len();
    let (number, stage) = stages.stage_at(at_s);
    let rate = match (format_number(stage.from), format_number(stage.to)) {
        (from, to) if from == to => format!("{to}/s"),
        (from, to) => format!("{from} to {to}/s"),
    };
    format!("stage {number} of {count}: {rate}")
}

/// The agents in a line, and whether one of them is lost or behind; `None` without agents.
pub(super) fn agents_part(agents: &[AgentProgress]) -> Option<(String, bool)> {
    if agents.is_empty() {
        return None;
    }
    let lost: Vec<AgentProgress> = agents.iter().filter(|a| a.lost.is_some()).cloned().collect();
    let is_late = |a: &&AgentProgress| a.lost.is_none() && a.is_late();
    let late: Vec<AgentProgress> = agents.iter().filter(is_late).cloned().collect();
    let wrong = [lost, late].concat();
    let count = format_plural(agents.len() as u64, "agent", "agents");
    Some(match wrong.is_empty() {
        true => (format!("{count}, none behind"), false),
        false => (format!("{count}; {}", agents_text(&wrong)), true),
    })
}

/// `load-2   1,234/s  p99 1.20 ms  3 intervals behind`
pub(super) fn agent_text(agent: &AgentProgress, name_columns: usize) -> String {
    let name = &agent.name;
    if let Some(why) = &agent.lost {
        return format!("{name:<name_columns$}  lost: {why}");
    }
    let rate = format!("{}/s", format_number(agent.events_per_s));
    let p99 = agent.p99_s.map_or(UNKNOWN.to_owned(), format_time);
    let behind = match agent.is_late() {
        true => format!("  {} intervals behind", agent.behind),
        false => String::new(),
    };
    format!("{name:<name_columns$}  {rate:>10}  p99 {p99:>8}{behind}")
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

/// Median, two percentiles and the longest in columns; where these do not fit, those that fit, in this order: median,
/// p99, longest, p95.
pub(super) fn latency_text(all: [Option<f64>; 4], room: usize) -> String {
    let value = |seconds: Option<f64>| seconds.map_or_else(|| UNKNOWN.to_owned(), format_time);
    let [p50, p95, p99, longest] = all.map(value);
    if room >= 4 * COLUMN {
        let columns = [("p50", p50), ("p95", p95), ("p99", p99), ("max", longest)];
        let column = |(name, value)| format!("{:<COLUMN$}", format!("{name} {value}"));
        return columns.map(column).concat();
    }
    let parts = [("p50", p50), ("p99", p99), ("max", longest), ("p95", p95)];
    join_fitting(parts.map(|(name, value)| Some(format!("{name} {value}"))).into(), room)
}

/// What the server says of itself.
pub(super) fn server_parts(around: &SystemStats) -> Vec<Option<String>> {
    vec![
        around.running.map(|n| format!("running {n:.0}")),
        around.pool_filled.map(|share| format!("pool filled {}", format_percent(share))),
        around.pool_reads_per_s.map(|n| format!("page reads {}/s", format_number(n))),
        around.questions_per_s.map(|n| format!("statements {}/s", format_number(n))),
        around.server_cores.map(|n| format!("cpu {n:.2} cores")),
    ]
}

/// What the host says of itself.
pub(super) fn host_parts(around: &SystemStats) -> Vec<Option<String>> {
    vec![
        around.host_cores.map(|n| format!("cpu {n:.2} cores")),
        around.disk_read_bytes_per_s.map(|n| format!("disk reads {}/s", format_bytes(n))),
        around.disk_written_bytes_per_s.map(|n| format!("writes {}/s", format_bytes(n))),
    ]
}

/// What sweat says of itself.
pub(super) fn own_parts(beat: &LiveInterval) -> Vec<Option<String>> {
    vec![
        Some(format!("cpu {:.2} cores", beat.own_cores)),
        beat.lateness_p99_s.map(|s| format!("lateness p99 {}", format_time(s))),
    ]
}

/// How many events failed, since when, and how many sessions were opened anew.
pub(super) fn error_parts(stats: &LiveStats) -> Vec<Option<String>> {
    let since = stats.warnings(false).into_iter().find_map(|warning| match warning {
        LiveWarning::ErrorsSince(at_s) => Some(format!("since {}", format_clock(at_s))),
        _ => None,
    });
    let count = match stats.error_count() {
        0 => "none".to_owned(),
        n => format_plural(n, "event failed", "events failed"),
    };
    let again = stats.reconnect_count();
    let again = (again > 0).then(|| format_plural(again, "reconnect", "reconnects"));
    vec![Some(count), since, again]
}

/// What takes something away from the numbers, but for errors.
pub(super) fn warning_parts(stats: &LiveStats, has_server: bool) -> Vec<Option<String>> {
    let text = |warning| match warning {
        LiveWarning::StandsStill(s) => Some(format!("no event has ended for {}", format_time(s))),
        LiveWarning::StartsLate(s) => {
            Some(format!("sweat itself starts events late: p99 {}", format_time(s)))
        }
        LiveWarning::ErrorsSince(_) => None,
    };
    stats.warnings(has_server).into_iter().map(text).collect()
}

/// What has to hold, and how it stands so far: `p99 < 20 ms: yes (11.8 ms)`.
pub(super) fn objective_parts(objectives: &[Objective], stats: &LiveStats) -> Vec<Option<String>> {
    let part = |objective: &Objective| {
        let value = stats.metric_value(objective.metric)?;
        let shown = match objective.metric.unit() {
            MetricUnit::Seconds => format_time(value),
            MetricUnit::Share => format_percent(value),
            MetricUnit::PerSecond => format!("{}/s", format_number(value)),
        };
        let holds = if objective.is_met(value) { "yes" } else { "no" };
        Some(format!("{objective}: {holds} ({shown})"))
    };
    objectives.iter().map(part).collect()
}

/// As many of the parts that are known as fit, from the first.
pub(super) fn join_fitting(parts: Vec<Option<String>>, room: usize) -> String {
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

/// The range of a curve, from 0 to the highest value shown.
pub(super) fn range_text<'a>(
    beats: impl Iterator<Item = &'a LiveInterval>,
    value: impl Fn(&LiveInterval) -> Option<f64>,
    show: impl Fn(f64) -> String,
) -> String {
    let highest = beats.filter_map(value).reduce(f64::max);
    highest.map_or_else(String::new, |highest| format!("0 to {}", show(highest)))
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

/// A bar for this share of one; what is there at all is seen.
pub(super) fn bar_text(share: f64, width: usize) -> String {
    let full = (share * width as f64).round() as usize;
    match full {
        0 if share > 0.0 => "▏".to_owned(),
        full => "█".repeat(full.min(width)),
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
        assert_eq!((bar_text(0.5, 4), bar_text(0.001, 4)), ("██".to_owned(), "▏".to_owned()));
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
        let all = [Some(0.001), Some(0.002), Some(0.003), None];
        assert_eq!(latency_text(all, 30), "p50 1.00 ms   p99 3.00 ms");
    }
}
