//! Doubts about server and machine: size of the data, coldness, durability, others on the machine.

use crate::archive::{SIDE_EFFECT, StepRecord};

use super::super::counters::{rise, variable};
use super::super::figure::{bytes, figure, percent};
use super::super::findings::SizeClass;
use super::super::noise::foreign_share;
use super::{Case, Caveat, Level};

/// Share of the pages' bytes that must have come from the block device.
const FROM_DEVICE: f64 = 0.5;
/// CPU of others above this share of the machine is worth a warning, above the second the run is void.
const FOREIGN_WARN: f64 = 0.03;
const FOREIGN_VOID: f64 = 0.15;

/// DATA-SIZE: whether the data fits the pool decides what was measured.
pub(super) fn data_size(case: &Case<'_>) -> Option<Caveat> {
    let (data, pool) = (case.data.data_bytes?, case.data.pool_bytes?);
    let class = case.data.class?;
    let (level, remedy) = match class {
        SizeClass::InMemory => (
            Level::Note,
            "once read, everything stays in the pool; production data larger than its pool behaves \
             otherwise",
        ),
        SizeClass::Borderline => {
            (Level::Warn, "a little growth changes the result a lot: choose below 0.8 or above 1.5")
        }
        SizeClass::IoBound => {
            (Level::Note, "the data does not fit: what a pass reads first may be gone when it ends")
        }
    };
    Some(Caveat {
        id: "DATA-SIZE",
        level,
        evidence: format!(
            "data {} = {} x pool ({}): {}",
            bytes(data),
            figure(case.data.ratio?),
            bytes(pool),
            class.words()
        ),
        remedy: remedy.to_owned(),
    })
}

/// SIDE-EFFECT: a setting that moves others with it, or that the server rounds, is not what differs alone.
pub(super) fn side_effect(case: &Case<'_>) -> Option<Caveat> {
    let notes = case.run.steps.iter().flat_map(|s| &s.notes);
    let mut seen: Vec<&str> = notes.filter_map(|note| note.strip_prefix(SIDE_EFFECT)).collect();
    seen.sort_unstable();
    seen.dedup();
    let first = seen.first()?;
    let more = match seen.len() {
        1 => String::new(),
        n => format!(", and {} more", n - 1),
    };
    Some(Caveat {
        id: "SIDE-EFFECT",
        level: Level::Warn,
        evidence: format!("{first}{more}"),
        remedy: "the ways differ in more than was asked: pin these values in the sandbox, or name \
                 them with the answer"
            .to_owned(),
    })
}

/// NOT-COLD: after a cold restart the pages a step read must have reached the block device; otherwise the page cache
/// of the operating system served them.
pub(super) fn not_cold(case: &Case<'_>) -> Option<Caveat> {
    let steps = &case.run.steps;
    let after_restart = |place: usize| steps.get(place + 1);
    let firsts: Vec<&StepRecord> = steps
        .iter()
        .enumerate()
        .filter(|(_, s)| s.kind == "restart_cold")
        .filter_map(|(place, _)| after_restart(place))
        .filter(|s| s.ended_ns.is_some())
        .collect();
    for step in &firsts {
        let pages = pages_read(step);
        let device = rise(&step.before, &step.after, "process.read_bytes");
        if let (Some(pages), Some(device)) = (pages, device) {
            let asked = pages * case.data.page_bytes;
            if asked > 0.0 && device < FROM_DEVICE * asked {
                return Some(not_from_device(step, asked, device));
            }
        }
    }
    let unproven = firsts.iter().find(|step| {
        pages_read(step).is_none()
            || rise(&step.before, &step.after, "process.read_bytes").is_none()
    })?;
    Some(Caveat {
        id: "NOT-COLD",
        level: Level::Warn,
        evidence: format!(
            "no proof that the first reads of `{}` reached the block device: the server's own I/O \
             was not seen",
            unproven.way
        ),
        remedy: "let sweat run as the server's user or as root on the server's machine".to_owned(),
    })
}

fn pages_read(step: &StepRecord) -> Option<f64> {
    ["Innodb_pages_read", "Innodb_buffer_pool_reads"]
        .iter()
        .find_map(|name| rise(&step.before, &step.after, name))
}

fn not_from_device(step: &StepRecord, asked: f64, device: f64) -> Caveat {
    Caveat {
        id: "NOT-COLD",
        level: Level::Void,
        evidence: format!(
            "`{}` began cold and read {} of pages, but only {} reached the block device",
            step.way,
            bytes(asked),
            bytes(device)
        ),
        remedy: "the operating system's page cache served the rest: use O_DIRECT, or drop the \
                 files from the page cache"
            .to_owned(),
    }
}

/// DURABILITY: settings that let a crash lose what was committed.
pub(super) fn durability(case: &Case<'_>) -> Option<Caveat> {
    let is = |name: &str, values: &[&str]| {
        variable(case.run, name).is_some_and(|v| values.iter().any(|o| o.eq_ignore_ascii_case(v)))
    };
    let mut relaxed = Vec::new();
    if is("innodb_flush_log_at_trx_commit", &["0", "2"]) {
        relaxed.push("innodb_flush_log_at_trx_commit");
    }
    if is("log_bin", &["ON", "1"]) && is("sync_binlog", &["0"]) {
        relaxed.push("sync_binlog");
    }
    if is("innodb_doublewrite", &["OFF", "0"]) {
        relaxed.push("innodb_doublewrite");
    }
    if is("innodb_flush_method", &["nosync", "O_DIRECT_NO_FSYNC"]) {
        relaxed.push("innodb_flush_method");
    }
    if relaxed.is_empty() {
        return None;
    }
    let words: Vec<String> = relaxed
        .iter()
        .map(|name| format!("{name} = {}", variable(case.run, name).unwrap_or_default()))
        .collect();
    Some(Caveat {
        id: "DURABILITY",
        level: Level::Note,
        evidence: format!("relaxed: {}", words.join(", ")),
        remedy: "compare writes only with servers that relax the same".to_owned(),
    })
}

/// FOREIGN-CPU: CPU that neither the server nor sweat used, as a share of the machine:
/// (busy - server - sweat) / (seconds x CPUs) over each load.
pub(super) fn foreign_cpu(case: &Case<'_>) -> Option<Caveat> {
    let shares = case.trials.iter().filter_map(|trial| {
        let record = case.run.trials.iter().find(|t| t.id == trial.id)?;
        let step = case.run.steps.iter().find(|s| s.number == record.step)?;
        Some((trial, foreign_share(case.run, step, record)?))
    });
    let (trial, share) = shares.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let level = match share {
        s if s > FOREIGN_VOID => Level::Void,
        s if s > FOREIGN_WARN => Level::Warn,
        _ => return None,
    };
    Some(Caveat {
        id: "FOREIGN-CPU",
        level,
        evidence: format!(
            "other programs used {} of the machine's CPU during {}",
            percent(share),
            trial.id
        ),
        remedy: "stop what else runs here, then run again".to_owned(),
    })
}
