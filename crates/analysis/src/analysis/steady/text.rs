//! The verdict in a few words, for the answer and for eyes that watch a load.

use crate::analysis::findings::{SteadyState, SteadyVerdict};
use crate::analysis::number_format::{format_percent, format_time, number_or_dash};

/// `steady from 41.0 s on at 30 153 events/s (known to 0.800 %)`, `not steady: it falls by 7.0 % ...`,
/// `too short to tell: ...`.
pub fn steady_in_words(steady: &SteadyState) -> String {
    let why = steady.why.first().map(|why| format!(": {why}")).unwrap_or_default();
    match steady.verdict {
        SteadyVerdict::Steady => steady_since_text(steady, ""),
        SteadyVerdict::SteadyWithStalls => steady_since_text(steady, ", but for stalls,"),
        SteadyVerdict::TooShort => format!("too short to call it steady{why}"),
        SteadyVerdict::Warming => format!("not steady, still warming{why}"),
        SteadyVerdict::Slowing => format!("not steady, still slowing{why}"),
        SteadyVerdict::Unsteady => format!("not steady{why}"),
    }
}

fn steady_since_text(steady: &SteadyState, but: &str) -> String {
    let from = match steady.t0_s {
        Some(t0_s) if t0_s > 0.0 => format!("from {} on", format_time(t0_s)),
        _ => "from its start".to_owned(),
    };
    let known = steady.precision.map(|p| format!(" (known to {})", format_percent(p)));
    let level = number_or_dash(steady.level);
    format!("steady {from}{but} at {level} events/s{}", known.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_read_as_sentences() {
        let mut steady = SteadyState {
            verdict: SteadyVerdict::Steady,
            t0_s: Some(40.0),
            level: Some(30_153.4),
            precision: Some(0.008),
            ..SteadyState::default()
        };
        let level = "at 30 153 events/s (known to 0.800 %)";
        assert_eq!(steady_in_words(&steady), format!("steady from 40.0 s on {level}"));
        steady.t0_s = Some(0.0);
        steady.verdict = SteadyVerdict::SteadyWithStalls;
        assert_eq!(
            steady_in_words(&steady),
            format!("steady from its start, but for stalls, {level}")
        );
        steady.verdict = SteadyVerdict::Slowing;
        steady.why = vec!["it falls by 7.0 %".to_owned(), "more".to_owned()];
        assert_eq!(steady_in_words(&steady), "not steady, still slowing: it falls by 7.0 %");
        steady.verdict = SteadyVerdict::TooShort;
        steady.why.clear();
        assert_eq!(steady_in_words(&steady), "too short to call it steady");
    }
}
