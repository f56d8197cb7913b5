//! A run on disk: folder layout, versions, save and load. The only serde of results.
//! Never knows: servers, statistics.
//!
//! ```text
//! runs/2026-11-21T07-40-15Z_demo/
//!   meta.json          what ran where, when, how it ended (rewritten at each change of state)
//!   plan.toml          what was asked, without passwords
//!   plan.lock          what that came to: versions, hashes, seed, variables (runs of written plans)
//!   steps.jsonl        one line per step: kind, began, ended, raw counters before and after
//!   trials/01-none-1/  one folder per load: trial.json (totals), intervals.jsonl, histograms.hlog,
//!                      waits.json if waits were gathered, replay.json if it was a replay,
//!                      looks.jsonl and digests.json where there is a server to look at
//!   raw/<probe>.jsonl.gz   raw samples
//!   variables.json     the server's variables at start and end, with origin
//!   machines.json      which machines ran the load, if several shared it
//!   machines/1/        each machine's own run folder, whole; of several loads machines/LOAD/1/
//!   log.txt            notes in words
//!   manifest.json      sizes and SHA-256 of all of these, written last
//! runs/baselines.json  names given to runs
//! ```
//!
//! A watch has two more things in its folder, and no trials:
//!
//! ```text
//!   events.jsonl       what happened: no answer, a restart, a clock that was set
//!   segments/2026-11-22T22-00-00Z/   a run folder per hour, with the samples of that hour
//!   incidents/2026-11-22T22-10-05Z_Threads_running/   the same, of the time around an incident
//! ```

mod baselines;
mod convert;
mod error;
mod file;
mod hdr_v2;
mod hlog;
mod looks;
mod manifest;
mod merge;
mod old_folders;
mod plan_lock;
mod reader;
mod recorded_names;
mod replay;
mod share;
mod tally;
#[cfg(test)]
mod tests;
mod trial;
mod types;
mod waits;
mod warmed;
mod watch;
mod writer;

pub use crate::probe::digests::DigestCounts;
pub use crate::recorder::{
    BrokenRow, CrashRound, DataState, DataVerdict, DataVerdicts, DurationCounts, LedgerBalance,
};
pub use baselines::{is_same_folder, name_baseline, read_baselines, reason_to_keep, remove_run};
pub use convert::{finite_counters, join_variables};
pub use error::ArchiveError;
pub use hlog::{hdr_base64, parse_hdr_base64};
pub use looks::{CounterLook, DigestsRecord};
pub use manifest::manifest_hashes;
pub use merge::{
    LoadPlace, MachineRecord, MergeError, MergeInput, MergeOptions, MergeOutput, MergeRecord,
    MergeRefusal, MergedSeries, merge_runs,
};
pub use plan_lock::{PlanLock, file_sha256, read_plan_lock};
pub use reader::{is_run_folder, latest_run, list_runs, read_meta, read_run};
pub use recorded_names::{
    ArrivalKind, ArrivalRecord, RecordedEngine, RecordedErrorKind, RecordedStepKind, RunCommand,
    TrialEnding, WatchEventKind,
};
pub use share::{
    AGENTS_LOAD, AGENTS_SHARE, CLOCK_BOUND, CLOCK_OFFSET, DealtSessions, SHARE_TEXT, ShareRecord,
};
pub use tally::TallyRecord;
pub use types::{
    CapacityRequest, Counters, ErrorRecord, ExperimentRequest, IntervalRecord, LoadRequest,
    RunMeta, RunRecord, RunState, SampleRecord, ServerRecord, StageRecord, StepRecord, Trial,
    UnopenedRecord, VariableRecord,
};
pub use waits::{InstrumentRecord, OperationRecord, WaitsRecord};
pub use warmed::WarmedRecord;
pub use watch::{
    ClassicFiles, ClassicStamp, ForeignWatch, SegmentPlace, WatchEvent, WatchReader, WatchWriter,
    classic_look, read_classic_looks, read_foreign_watch, status_look_text,
};
pub use writer::RunWriter;

/// Version of the folder's layout; a reader refuses newer ones.
pub const FORMAT: u32 = 1;
