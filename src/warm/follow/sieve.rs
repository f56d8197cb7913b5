//! Which records go on to the standby, and as what. Pure.

use super::board::Item;
use super::pace::Behind;
use super::view::Counts;
use super::window::Window;
use crate::base::Nanos;
use crate::capture::read_only::{Allowed, Ruling, rule};
use crate::capture::{Database, Deed, Doubt, Recorded};
use crate::plan::WritesPlan;

/// The read half of a write, and look-ups for the indexes that it changes: by its text and database.
pub(super) type Halves = Box<dyn FnMut(&[u8], &[u8]) -> Vec<Vec<u8>> + Send>;

/// What records go through.
pub(super) struct Sieve {
    pub writes: WritesPlan,
    pub allowed: Allowed,
    pub halves: Halves,
    /// How often the standby was lost or found: it may have forgotten what it was sent.
    pub openings: u64,
    pub window: Window,
    pub behind: Behind,
    /// The database of sessions whose own is not known.
    pub database: Vec<u8>,
}

impl Sieve {
    /// What of a record goes to the standby: nothing, a statement, or some of a write. `now` is by our clock, `wall_ns`
    /// the same as nanoseconds since 1970.
    pub(super) fn pass(
        &mut self,
        recorded: &Recorded<'_>,
        now: Nanos,
        wall_ns: u64,
        counts: &mut Counts,
    ) -> Vec<Item> {
        counts.records += 1;
        let is_statement = matches!(recorded.deed, Deed::Statement | Deed::Execute);
        let failed = recorded.errno.is_some_and(|errno| errno != 0);
        if !is_statement || recorded.is_inner || failed {
            counts.others += 1;
            return Vec::new();
        }
        let took_us = recorded.took_us.unwrap_or(0);
        let ended = recorded.began_us.map(|began| (began + took_us).saturating_mul(1_000));
        let age = self.behind.age(wall_ns, ended);
        if self.behind.is_late(age) {
            counts.skipped += 1;
            return Vec::new();
        }
        if is_doubtful(recorded.doubt) {
            counts.doubtful += 1;
            return Vec::new();
        }
        let database = match recorded.database {
            Database::Named(name) => name,
            Database::None => &[],
            Database::Unknown => self.database.as_slice(),
        };
        if !self.window.is_new(now, database, recorded.text) {
            counts.deduplicated += 1;
            return Vec::new();
        }
        let item =
            |text: &[u8]| Item { text: text.into(), database: database.into(), arrived: now, age };
        match rule(recorded.text, &self.allowed) {
            Ruling::Read(text) => vec![item(&text)],
            Ruling::Write if self.writes == WritesPlan::Drop => {
                counts.writes += 1;
                Vec::new()
            }
            Ruling::Write => {
                let found = (self.halves)(recorded.text, database);
                *(if found.is_empty() { &mut counts.writes } else { &mut counts.halved }) += 1;
                // Each passes the filter by itself: what we made is trusted no more than what we read.
                let ruled = found.iter().filter_map(|half| match rule(half, &self.allowed) {
                    Ruling::Read(text) => Some(item(&text)),
                    _ => None,
                });
                ruled.collect()
            }
            Ruling::Refused(refusal) => {
                counts.refuse(&refusal);
                Vec::new()
            }
            Ruling::Set(_) | Ruling::Begin { .. } | Ruling::End | Ruling::Use(_) => {
                counts.sessions_own += 1;
                Vec::new()
            }
        }
    }
}

/// Whether the text may not be what was sent.
fn is_doubtful(doubt: Doubt) -> bool {
    !matches!(doubt, Doubt::Clean | Doubt::Early)
}
