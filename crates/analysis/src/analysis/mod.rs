//! Numbers from runs: rates, percentiles, comparisons, costs, and the caveats about them. Pure.
//! Never knows: files, clocks, servers, formats.
//! Start reading at [`analyse_run`]. To add a caveat: `caveats/mod.rs`; a series over time: `series.rs`; a cost: `cost.rs`.

mod across_runs;
mod answer;
pub mod capacity;
mod caveats;
mod checks;
mod compare;
mod cost;
mod costs;
mod counters;
mod event_errors;
mod exchange_totals;
mod figures;
mod findings;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixture_runs;
mod heatmap;
mod latency;
mod live_stats;
mod load_audit;
mod load_span;
mod load_title;
mod machines;
pub mod noise;
pub mod number_format;
mod one_run;
pub mod replay;
mod run_exchanges;
mod scaling;
mod sentences;
mod series;
mod server_cost;
mod settings;
mod slap_block;
mod stages;
mod stalls;
pub mod statistics;
mod steady;
#[cfg(test)]
mod tests;
mod timeline;
mod trials;
mod variants;
pub mod waits;
mod warming;
mod watch;

pub use across_runs::{ComparisonOptions, compare_runs, differences_of, differing_settings};
pub use answer::answer_headline;
pub use caveats::{CaveatExplanation, caveat_explanations, caveat_ids};
pub use checks::{RunWithFindings, judge_checks};
pub use compare::{
    InterimResult, detectable_before, judge_interim_pairs, metric_label, metric_name, metric_names,
    metric_value_text,
};
pub use costs::speed_word;
pub use exchange_totals::{ExchangeTable, ExchangeTimes, ExchangeTotals, TimeSpread};
pub use findings::MachineFinding;
pub use findings::{AnswerSentence, Caveat, CaveatLevel};
pub use findings::{AuditClass, AuditFinding, AuditRate, AuditRule, AuditVerdict, ClassTimes};
pub use findings::{
    BlockPair, CapacityFinding, CapacityStep, CheckFinding, CheckOutcome, ClassFinding,
    ComparedRun, ComparedSide, ComparisonFindings, ComparisonVerdict, CostItem, CountedValue,
    DataCheckFinding, DataSize, DifferenceKind, Estimate, FindingResults, Findings, HealthLevel,
    InsideOutside, IntervalFinding, LatencyHeatmap, LatencyHistogram, LatencySummary, LevelRange,
    MetricComparison, NoiseItem, PoolTemperature, ProbeSeries, RateSpread, RawFile, RunFindings,
    RunHeader, RunTimeline, ScalabilityLaw, ScalingFinding, ScalingPoint, ScalingShape, SeriesUnit,
    SetupDifference, SignedRank, SizeClass, SpectrumPoint, StageFinding, Stall, StallCause,
    StallFindings, StallKind, SteadyState, SteadyVerdict, StepOutcome, TimelineStep, TrialFinding,
    UnbegunArrivals, VariableFinding, VariantFinding, VariantLevel, WaitFinding, WaitGroup,
    WaitSource, WaitTracingCost, WorkCount,
};
pub use findings::{
    ClassCostFinding, ClassCostItem, ClassCostMethod, CostWindow, DigestFinding, ServerCostFinding,
    ServerCostItem,
};
pub use findings::{CostChange, CostFinding, FiguresFinding, MedianFigure};
pub use findings::{
    LeftOutFinding, ReplayChange, ReplayClassFinding, ReplayFinding, ScheduleLag, StatementClass,
    StatementFindings,
};
pub use run_exchanges::RunExchanges;
pub use watch::{
    WATCH_COLUMNS, WatchColumn, WatchFigure, WatchFindings, WatchRow, WatchStall, WatchTable,
    WatchUnit, analyse_watch,
};

pub use load_audit::{interval_class_times, judge_recording};
pub use load_span::{LoadFigures, LoadSpan, LogBucket, PercentileRule, WorkerFairness};
pub use one_run::{analyse_run, analyse_so_far, judge_interim};
pub use sentences::NOT_RELIABLE;
pub use slap_block::{SlapBlock, SlapError, StatementLatency};
pub use stalls::{CauseRule, stall_causes};

pub use live_stats::{
    LatencyBand, LiveInterval, LiveSilence, LiveStats, LiveWarning, LoadTotals, SystemStats,
};
pub use steady::{SteadyOutlook, SteadyWatcher, steady_in_words};
