//! Whether a load came to a steady state, and when it stood still.

use serde::Serialize;

/// What the series of a load says about its steady state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteadyVerdict {
    /// From T0 to the end nothing changed that matters.
    Steady,
    /// The same, apart from stalls.
    SteadyWithStalls,
    /// Still rising at its end.
    Warming,
    /// Still falling at its end.
    Slowing,
    /// It changes its level.
    Unsteady,
    /// Too short to tell.
    #[default]
    TooShort,
}

impl SteadyVerdict {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            SteadyVerdict::Steady => "steady",
            SteadyVerdict::SteadyWithStalls => "steady with stalls",
            SteadyVerdict::Warming => "warming",
            SteadyVerdict::Slowing => "slowing",
            SteadyVerdict::Unsteady => "unsteady",
            SteadyVerdict::TooShort => "too short",
        }
    }

    /// Whether the numbers from T0 on may stand for the server.
    pub fn is_steady(self) -> bool {
        matches!(self, SteadyVerdict::Steady | SteadyVerdict::SteadyWithStalls)
    }
}

/// The steady state of one load.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SteadyState {
    /// What is to be said.
    pub verdict: SteadyVerdict,
    /// When the part that is kept begins, seconds since the load's first start.
    pub t0_s: Option<f64>,
    /// Length of that part, seconds.
    pub length_s: Option<f64>,
    /// Mean rate in that part without stalls, events per second: what the server does when it does not stand still.
    #[serde(rename = "level_per_s")]
    pub level: Option<f64>,
    /// Mean rate in that part with everything in it, events per second: what comparisons use.
    #[serde(rename = "rate_per_s")]
    pub rate: Option<f64>,
    /// Trend over that part, relative to its level: -0.05 for 5 % down from its begin to its end.
    pub drift: Option<f64>,
    /// Correlation of one batch with the next.
    pub phi: Option<f64>,
    /// Independent observations that the part is worth.
    pub n_eff: Option<f64>,
    /// Half of the 95 % interval of the level, relative to it.
    pub precision: Option<f64>,
    /// What speaks against steady, in words; the deciding reason first.
    pub why: Vec<String>,
}

/// How a stall showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallKind {
    /// Fewer than half of the events.
    Slow,
    /// No event ended at all.
    FullStop,
    /// Several events hung at once while others went on.
    Stuck,
}

impl StallKind {
    /// In words, as in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            StallKind::Slow => "slow",
            StallKind::FullStop => "full stop",
            StallKind::Stuck => "stuck",
        }
    }
}

/// One stall.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stall {
    /// How it showed.
    pub kind: StallKind,
    /// When it began, seconds since the origin of the run's clock.
    pub began_s: f64,
    /// How long it took, seconds.
    pub seconds: f64,
    /// How deep: 1 for nothing done at its worst.
    pub depth: f64,
    /// Events that the usual rate would have done beyond those done.
    pub lost_events: f64,
    /// Longest response time of the intervals that it touches, seconds.
    pub max_s: Option<f64>,
}

/// What went with the stalls and not with the time between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StallCause {
    /// Its name: `CHECKPOINT`.
    pub id: &'static str,
    /// In words.
    pub title: &'static str,
    /// Counters with their values inside and outside.
    pub evidence: String,
    /// Share of the stalls that carry it, 0 to 1.
    pub share: f64,
    /// What to do about it.
    #[serde(skip)]
    pub remedy: &'static str,
}

/// A counter compared inside and outside stalls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InsideOutside {
    /// Name, with its unit, as in the timeline.
    pub counter: String,
    /// Median inside.
    pub inside: f64,
    /// Median outside.
    pub outside: f64,
    /// How many robust deviations apart they are.
    pub z: f64,
}

/// When a load stood still.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StallFindings {
    /// In the order they came.
    pub events: Vec<Stall>,
    /// Dips that can't be told from burstiness.
    pub dips: usize,
    /// Share of the work lost in stalls, 0 to 1.
    pub lost_share: f64,
    /// They come every so many seconds, if they do.
    pub period_s: Option<f64>,
    /// The shortest slow spell that this load could show, seconds; `None` if slow spells can't be told in it.
    pub resolution_s: Option<f64>,
    /// The shortest time without any event ending that it could show as a stop, seconds; `None` if it could not.
    pub full_stop_s: Option<f64>,
    /// Longest time without any event ending, seconds.
    pub longest_silence_s: Option<f64>,
    /// Slowest whole second by the median one.
    pub slowest_by_median: Option<f64>,
    /// Causes, the best proven first.
    pub causes: Vec<StallCause>,
    /// Counters that differ most inside and outside.
    pub counters: Vec<InsideOutside>,
    /// What limits these statements, in words.
    pub notes: Vec<String>,
}
