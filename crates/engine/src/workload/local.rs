//! What the workloads share that load this machine instead of a server.

use crate::base::units::ByteSize;
use crate::plan::{Mistake, Options};
use crate::recorder::{ClassId, EventError, EventErrorKind, EventOutcome};

/// How an event ends that was given up because the load is over: it counts nowhere.
pub(super) fn give_up_event(class: ClassId) -> EventOutcome {
    EventOutcome { class, error: Some(EventError { kind: EventErrorKind::Lost, code: 0 }) }
}

/// A whole number between these.
///
/// # Errors
/// When it is not.
pub(super) fn count_between(
    options: &Options,
    name: &str,
    least: u64,
    most: u64,
) -> Result<u64, Mistake> {
    let count = options.count(name);
    if (least..=most).contains(&count) {
        return Ok(count);
    }
    Err(Mistake::new(format!("--{name}"), format!("{count} is out of range"))
        .hint(format!("{least} to {most}")))
}

/// An amount of bytes; a multiple of a buffer pool is none here.
///
/// # Errors
/// When it is nothing else.
pub(super) fn byte_count(options: &Options, name: &str) -> Result<u64, Mistake> {
    match options.size(name) {
        Some(ByteSize::Bytes(bytes)) => Ok(bytes),
        _ => {
            let why = "there is no buffer pool to be a multiple of";
            Err(Mistake::new(format!("--{name}"), why).hint("an amount of bytes, as in 16KiB"))
        }
    }
}

/// The share of `all` that falls to one of so many workers; the first ones get what does not divide.
pub(super) fn worker_share(all: u64, worker: usize, workers: usize) -> u64 {
    let (worker, workers) = (worker as u64, workers.max(1) as u64);
    all / workers + u64::from(worker < all % workers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up() {
        assert_eq!([0, 1, 2].map(|worker| worker_share(1024, worker, 3)), [342, 341, 341]);
        assert_eq!(worker_share(1, 1, 2), 0);
    }
}
