//! Statements of scripts as steps inside events: each class of statements has a histogram of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::{Clock as _, Nanos, RealClock};
use crate::capture::write_digest;
use crate::recorder::{StepId, StepLatency};

/// Classes of statements that a load tells apart; the last one holds all others.
const MOST: usize = 16;
/// What the last one is called.
const OTHERS: &str = "(other statements)";
/// Statements whose class a state remembers by their text.
const REMEMBERED: usize = 1000;
/// Characters of a class's name.
const LONGEST: usize = 100;

/// The classes of all states of a script, in the order in which they were met.
#[derive(Clone, Debug, Default)]
pub(super) struct StatementClasses(Arc<Mutex<Vec<String>>>);

impl StatementClasses {
    /// Names of the steps before anything is known of them.
    pub(super) fn placeholders() -> Vec<String> {
        (1..=MOST).map(|number| format!("statement {number}")).collect()
    }

    /// What they are.
    pub(super) fn labels(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The class of this digest.
    fn class_of(&self, digest: &str) -> StepId {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = known.iter().position(|class| class == digest).unwrap_or_else(|| {
            if known.len() < MOST {
                let is_last = known.len() == MOST - 1;
                known.push(if is_last { OTHERS } else { digest }.to_owned());
            }
            known.len() - 1
        });
        StepId(place as u16)
    }
}

/// One state's view of them, and the steps of the event under way.
#[derive(Debug)]
pub(super) struct StatementTimes {
    classes: StatementClasses,
    clock: RealClock,
    by_text: HashMap<Vec<u8>, StepId>,
    digest: Vec<u8>,
    steps: Vec<StepLatency>,
}

impl StatementTimes {
    pub(super) fn new(classes: StatementClasses) -> StatementTimes {
        StatementTimes {
            classes,
            clock: RealClock::start_now(),
            by_text: HashMap::new(),
            digest: Vec::new(),
            steps: Vec::new(),
        }
    }

    /// The class of a statement by its text.
    pub(super) fn class_of(&mut self, sql: &[u8]) -> StepId {
        write_digest(sql, &mut self.digest);
        if let Some(step) = self.by_text.get(&self.digest) {
            return *step;
        }
        let text = String::from_utf8_lossy(&self.digest);
        let step = self.classes.class_of(&text.chars().take(LONGEST).collect::<String>());
        if self.by_text.len() < REMEMBERED {
            self.by_text.insert(self.digest.clone(), step);
        }
        step
    }

    /// The time, before a statement is sent.
    pub(super) fn now(&self) -> Nanos {
        self.clock.now()
    }

    /// A statement has ended.
    pub(super) fn note_end(&mut self, step: StepId, began: Nanos, failed: bool) {
        let time = self.clock.now().since(began);
        self.steps.push(StepLatency { step, time, failed });
    }

    /// The steps of the event that has ended; forgotten by `clear`.
    pub(super) fn steps(&self) -> &[StepLatency] {
        &self.steps
    }

    /// An event begins or was counted.
    pub(super) fn clear(&mut self) {
        self.steps.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_literals_are_one_class() {
        let classes = StatementClasses::default();
        let mut times = StatementTimes::new(classes.clone());
        let ids: Vec<u16> = ["SELECT c FROM t WHERE id=5", "SELECT c FROM t WHERE id=77", "COMMIT"]
            .map(|sql| times.class_of(sql.as_bytes()).0)
            .into();
        assert_eq!(ids, [0, 0, 1]);
        assert_eq!(classes.labels(), ["select c from t where id=?", "commit"]);
    }

    #[test]
    fn what_is_too_much_is_one_class() {
        let classes = StatementClasses::default();
        let mut times = StatementTimes::new(classes.clone());
        for n in 0..2 * MOST {
            times.class_of(format!("SELECT column_{n}x").as_bytes());
        }
        assert_eq!(
            (classes.labels().len(), classes.labels().last().unwrap().as_str()),
            (MOST, OTHERS)
        );
        assert_eq!(times.class_of(b"SELECT something_else"), StepId(MOST as u16 - 1));
    }
}
