//! What may make a server stand still, and the counters that prove it. One line per rule.
//! Never knows: how stalls were found.
//! To add one: a line in `RULES`, and its row in `docs/reading-results.md`.

use super::columns::METADATA_LOCK;

/// One piece of evidence. Counters that this server lacks prove nothing.
#[derive(Clone, Copy, Debug)]
pub(super) enum CauseEvidence {
    /// The first of these counters that exists rises at least `times` as fast as usual, and by `least` a second.
    Faster { counters: &'static [&'static str], times: f64, least: f64 },
    /// It comes to at most this share of what is usual.
    Idle { counters: &'static [&'static str], share: f64 },
    /// A gauge is at or above a share of the first limit that exists: a counter, or a variable of the server.
    Near { gauge: &'static [&'static str], limit: &'static [&'static str], share: f64 },
    /// A gauge is at or above a share of the workers, and `least`.
    Workers { gauge: &'static str, share: f64, least: f64 },
}

/// A cause and what proves it: all of its evidence at once.
#[derive(Debug)]
pub struct CauseRule {
    /// Its name: `CHECKPOINT`.
    pub id: &'static str,
    /// What happened.
    pub title: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
    /// The evidence in words.
    pub when: &'static str,
    pub(super) evidence: &'static [CauseEvidence],
}

const fn cause_rule(
    id: &'static str,
    title: &'static str,
    remedy: &'static str,
    when: &'static str,
    evidence: &'static [CauseEvidence],
) -> CauseRule {
    CauseRule { id, title, remedy, when, evidence }
}

use CauseEvidence::{Faster, Idle, Near, Workers};

/// All causes that a stall may be given, the most telling first.
pub fn stall_causes() -> &'static [CauseRule] {
    RULES
}

/// The most telling first: what stands further down may be its consequence. Near its limit: `seven eighths`, where
/// asynchronous flushing begins, holds most of the time and proves nothing.
pub(super) const RULES: &[CauseRule] = &[
    cause_rule(
        "CHECKPOINT",
        "the redo log was full: pages were flushed until the checkpoint could move (furious \
         flushing)",
        "a larger redo log, adaptive flushing on, innodb_io_capacity as the device allows",
        "pages are flushed at ten times the usual rate, and the checkpoint age is at 97 % of \
         its limit or more",
        &[
            Faster { counters: &["Innodb_buffer_pool_pages_flushed"], times: 10.0, least: 200.0 },
            Near {
                gauge: &[
                    "Innodb_checkpoint_age",
                    "Innodb_redo_log_current_lsn - Innodb_redo_log_checkpoint_lsn",
                ],
                limit: &["Innodb_checkpoint_max_age", "Innodb_redo_log_capacity_resized"],
                share: 0.97,
            },
        ],
    ),
    cause_rule(
        "LOG-WAIT",
        "commits waited for room in the log buffer",
        "a larger innodb_log_buffer_size",
        "Innodb_log_waits rises",
        &[Faster { counters: &["Innodb_log_waits"], times: 4.0, least: 0.5 }],
    ),
    cause_rule(
        "FREE-PAGES",
        "the buffer pool had no free page, sessions waited for one to be flushed",
        "a larger pool, a larger innodb_lru_scan_depth, faster writes",
        "Innodb_buffer_pool_wait_free rises",
        &[Faster { counters: &["Innodb_buffer_pool_wait_free"], times: 4.0, least: 0.5 }],
    ),
    cause_rule(
        "METADATA-LOCK",
        "sessions waited for a metadata lock: DDL, or a transaction that holds up DDL",
        "run DDL outside the load, end transactions that stay open",
        "a quarter of the workers wait for a metadata lock",
        &[Workers { gauge: METADATA_LOCK, share: 0.25, least: 1.0 }],
    ),
    cause_rule(
        "ROW-LOCKS",
        "sessions waited for each other's row locks",
        "shorter transactions, fewer workers on the same rows",
        "Innodb_row_lock_current_waits is at a quarter of the workers or more",
        &[Workers { gauge: "Innodb_row_lock_current_waits", share: 0.25, least: 2.0 }],
    ),
    cause_rule(
        "DEVICE",
        "everything waited for the disk",
        "find what else writes there; use a device with steady latency",
        "all tasks of the machine wait for I/O in 30 % of the time (pressure `io full`), \
         four times the usual",
        &[Faster { counters: &["pressure.io.full_us"], times: 4.0, least: 300_000.0 }],
    ),
    cause_rule(
        "STEAL",
        "the hypervisor took the CPU away",
        "a machine with dedicated CPUs",
        "the hypervisor takes a tenth of a core, four times the usual",
        &[Faster { counters: &["cpu.steal_s"], times: 4.0, least: 0.1 }],
    ),
    cause_rule(
        "NO-CPU",
        "the server's threads waited for a CPU that other programs used",
        "stop what else runs there",
        "the server's threads wait for a CPU 0.8 s per second, three times the usual",
        &[Faster { counters: &["process.threads_waited_for_cpu_s"], times: 3.0, least: 0.8 }],
    ),
    cause_rule(
        "FROZEN",
        "the server's process was idle: stopped, or all of its threads waited",
        "find what stopped it: a debugger, a snapshot, a container limit, a dead disk",
        "the server's process uses at most 15 % of its usual CPU",
        &[Idle { counters: &["process.cpu_user_s + process.cpu_system_s"], share: 0.15 }],
    ),
];
