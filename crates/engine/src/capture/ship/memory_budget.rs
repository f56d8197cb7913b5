//! Memory for long records, shared by all readers of a log: each has a little of its own, and what is more comes out of
//! one room, however many readers there are. Pure.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What each reader may hold besides.
const OWN_BYTES: usize = 2 << 20;
/// What all may hold together beyond that. The reader whose turn it is may go beyond by the record that it is at.
const MOST_BYTES: usize = 128 << 20;

/// What a reader does with what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HolderState {
    /// It gathers a record.
    Gathers,
    /// It would, and there is no room.
    Waits,
    /// It sends one.
    Sends,
}

#[derive(Debug)]
struct MemoryHolder {
    id: u64,
    bytes: usize,
    does: HolderState,
}

/// The room.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    most_bytes: usize,
    holders: Mutex<Vec<MemoryHolder>>,
}

impl Default for MemoryBudget {
    fn default() -> MemoryBudget {
        MemoryBudget { most_bytes: MOST_BYTES, holders: Mutex::default() }
    }
}

impl MemoryBudget {
    fn lock_holders(&self) -> MutexGuard<'_, Vec<MemoryHolder>> {
        self.holders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_holder(holders: &mut Vec<MemoryHolder>, id: u64, bytes: usize, does: HolderState) {
        holders.retain(|holder| holder.id != id);
        if bytes > OWN_BYTES {
            holders.push(MemoryHolder { id, bytes, does });
        }
    }

    /// A reader holds so much and would read on; whether it may.
    pub(super) fn may_read(&self, id: u64, bytes: usize) -> bool {
        let mut holders = self.lock_holders();
        MemoryBudget::set_holder(&mut holders, id, bytes, HolderState::Gathers);
        let all: usize = holders.iter().map(|holder| holder.bytes).sum();
        if bytes <= OWN_BYTES || all <= self.most_bytes {
            return true;
        }
        // One after the other goes on to the end of its record, as long as those who send leave room for one.
        let sends = holders.iter().filter(|holder| holder.does == HolderState::Sends);
        let sent: usize = sends.map(|holder| holder.bytes).sum();
        let others = holders.iter().filter(|holder| holder.does != HolderState::Sends);
        let has_turn = others.map(|holder| holder.id).min() == Some(id);
        let may = has_turn && sent <= self.most_bytes / 2;
        if !may {
            MemoryBudget::set_holder(&mut holders, id, bytes, HolderState::Waits);
        }
        may
    }

    /// A reader sends what it holds.
    pub(super) fn start_sending(&self, id: u64, bytes: usize) {
        MemoryBudget::set_holder(&mut self.lock_holders(), id, bytes, HolderState::Sends);
    }

    /// Whether a reader holds some of the room that another waits for.
    pub(super) fn is_blocking_others(&self, id: u64) -> bool {
        let holders = self.lock_holders();
        holders.iter().any(|holder| holder.id == id)
            && holders.iter().any(|holder| holder.does == HolderState::Waits)
    }

    /// A reader has left.
    pub(super) fn remove_reader(&self, id: u64) {
        MemoryBudget::set_holder(&mut self.lock_holders(), id, 0, HolderState::Gathers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn short_records_need_no_room() {
        let room = MemoryBudget::default();
        assert!((0..1000).all(|id| room.may_read(id, OWN_BYTES)));
        assert!(!room.is_blocking_others(3));
    }

    /// Readers that all come to the same long record at once.
    #[test]
    fn many_readers_of_one_long_record_get_it_one_after_the_other() {
        let room = MemoryBudget::default();
        let record = 64 * MIB;
        let mut gathered = [0_usize; 20];
        let mut most = 0;
        for _ in 0..100_000 {
            for (id, bytes) in gathered.iter_mut().enumerate() {
                if *bytes < record && room.may_read(id as u64, *bytes) {
                    *bytes += MIB;
                }
                if *bytes == record {
                    // It is sent at once, and forgotten.
                    room.start_sending(id as u64, *bytes);
                    room.remove_reader(id as u64);
                    *bytes = record + 1;
                }
            }
            let held: usize = gathered.iter().filter(|bytes| **bytes <= record).sum();
            most = most.max(held);
        }
        assert!(gathered.iter().all(|bytes| *bytes > record), "all got it");
        assert!(most <= MOST_BYTES + record + 20 * OWN_BYTES, "{} MiB", most / MIB);
    }

    #[test]
    fn those_who_send_and_are_slow_hold_others_up_and_are_told_so() {
        let room = MemoryBudget::default();
        (0..3).for_each(|id| room.start_sending(id, 64 * MIB));
        assert!(!room.is_blocking_others(0), "nobody waits");
        assert!(!room.may_read(9, 3 * MIB));
        assert!(room.is_blocking_others(0) && !room.is_blocking_others(7));
        assert!(room.may_read(8, MIB), "short records go on");
        room.remove_reader(0);
        room.remove_reader(1);
        assert!(room.may_read(9, 3 * MIB));
        assert!(!room.is_blocking_others(2));
    }
}
