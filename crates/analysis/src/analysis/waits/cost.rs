//! What gathering waits costs the server, from windows of one load with and without it.

use super::super::findings::{Estimate, WaitTracingCost};
use super::super::number_format::{format_percent, format_plural};
use super::groups::{median_of_sorted, ratio_from_logs};
use crate::archive::{RunRecord, SampleRecord};

/// Name of the samples of windows with and without gathering.
pub(super) const WINDOWS: &str = "watch_cost";

/// What gathering cost, from windows of one load with and without it.
pub(in super::super) fn tracing_cost(run: &RunRecord) -> Option<WaitTracingCost> {
    let windows: Vec<(bool, f64)> =
        run.samples.iter().filter(|s| s.probe == WINDOWS).filter_map(window_cost).collect();
    let pairs: Vec<f64> = windows.chunks_exact(2).filter_map(log_of_pair).collect();
    let ratio = ratio_from_logs(&pairs, 1)?;
    let share = |v: f64| v - 1.0;
    let share = Estimate {
        value: ratio.value.map(share),
        ci95: ratio.ci95.map(|(low, high)| (share(low), share(high))),
        runs: ratio.runs,
    };
    let middle = |on: bool| {
        let mut of: Vec<f64> = windows.iter().filter(|w| w.0 == on).map(|w| w.1).collect();
        of.sort_by(f64::total_cmp);
        median_of_sorted(&of)
    };
    Some(WaitTracingCost {
        words: cost_text(&share, pairs.len()),
        share,
        pairs: pairs.len(),
        bare_s: middle(false),
        watched_s: middle(true),
    })
}

/// Whether it was gathered in a window, and the server's CPU time per statement, seconds.
fn window_cost(sample: &SampleRecord) -> Option<(bool, f64)> {
    let number = |name: &str| sample.numbers.get(name).copied();
    let statements = number("statements").filter(|n| *n > 0.0)?;
    let cpu = number("server_cpu_s").filter(|s| *s > 0.0)?;
    Some((number("on")? > 0.5, cpu / statements))
}

fn log_of_pair(pair: &[(bool, f64)]) -> Option<f64> {
    match pair {
        [(true, on), (false, off)] | [(false, off), (true, on)] => Some((on / off).ln()),
        _ => None,
    }
}

fn cost_text(share: &Estimate, pairs: usize) -> String {
    let Some(value) = share.value else { return String::new() };
    let signed = |v: f64| format!("{}{}", if v >= 0.0 { "+" } else { "" }, format_percent(v));
    let how = format!("in {} of windows of one load", format_plural(pairs as u64, "pair", "pairs"));
    match share.ci95 {
        None => format!("{} server CPU per statement {how}: too few to be sure", signed(value)),
        Some((low, high)) => {
            let verdict = if low <= 0.0 && high >= 0.0 { ": within noise" } else { "" };
            format!(
                "{} server CPU per statement ({} to {}) {how}{verdict}",
                signed(value),
                signed(low),
                signed(high)
            )
        }
    }
}
