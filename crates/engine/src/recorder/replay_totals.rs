//! What a replay has to tell beyond its events: classes before and after, and what was left out.

use super::SparseHistogram;

/// What became of a log's statements. Plain sums, so those of several replays add.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayTotals {
    /// Sessions of the log.
    pub sessions: u64,
    /// Most of them at once.
    pub sessions_at_once: u64,
    /// Records read.
    pub records: u64,
    /// Statements sent.
    pub sent: u64,
    /// Sessions whose end was inferred, as the log does not tell it.
    pub ends_inferred: u64,
    /// How uncertain the recorded times are, microseconds: 1,000,000 where the log has whole seconds.
    pub uncertainty_us: u64,
    /// From the first statement sent to the last one by the log's clock, microseconds; 0 where the log has no times.
    pub span_us: u64,
    /// How far behind its schedule each statement began, nanoseconds, whoever was to blame; empty where there is no
    /// schedule of the log's (fast, or at a rate).
    pub lag_ns: SparseHistogram,
    /// The longest lag of the statements that were due in each second of the load, nanoseconds.
    pub lag_by_second_ns: Vec<u64>,
    /// Classes of statements, those that took most time first.
    pub classes: Vec<ReplayedClass>,
    /// What was left out, and why; most first.
    pub left_out: Vec<LeftOut>,
    /// Caveats, in words.
    pub notes: Vec<String>,
}

/// One class of statements, before (as recorded) and after (as replayed).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayedClass {
    /// What its statements have in common.
    pub digest: String,
    /// One of them, without secrets.
    pub example: String,
    /// How many were sent.
    pub count: u64,
    /// Those that ended in an error in both.
    pub errors_in_both: u64,
    /// Those that ended in an error only now, or for which the log does not tell, and none was ever seen before.
    pub errors_new: u64,
    /// Those that ended in an error only when recorded.
    pub errors_gone: u64,
    /// Number of the first new error, and what the server said.
    pub first_error: Option<(u16, String)>,
    /// Statements whose number of rows could be compared.
    pub rows_compared: u64,
    /// Those of them with another number of rows.
    pub rows_differing: u64,
    /// Times as recorded, nanoseconds; empty where the log has none.
    pub recorded_ns: SparseHistogram,
    /// Service times now, nanoseconds.
    pub replayed_ns: SparseHistogram,
    /// Batches of statements in the order sent: count, and the sum of ln(replayed / recorded).
    pub batches: Vec<(u64, f64)>,
}

/// Statements left out for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Why.
    pub reason: String,
    /// How many.
    pub count: u64,
    /// One of them: its line, and the statement without secrets, cut.
    pub example: Option<(u64, String)>,
}

impl ReplayTotals {
    /// Adds another replay of the same log: classes by their digest, what was left out by its reason.
    pub fn add_replay(&mut self, other: &ReplayTotals) {
        self.sessions += other.sessions;
        self.sessions_at_once = self.sessions_at_once.max(other.sessions_at_once);
        self.records += other.records;
        self.sent += other.sent;
        self.ends_inferred += other.ends_inferred;
        self.uncertainty_us = self.uncertainty_us.max(other.uncertainty_us);
        self.span_us = self.span_us.max(other.span_us);
        self.lag_ns.add(&other.lag_ns);
        let seconds = self.lag_by_second_ns.len().max(other.lag_by_second_ns.len());
        self.lag_by_second_ns.resize(seconds, 0);
        for (own, others) in self.lag_by_second_ns.iter_mut().zip(&other.lag_by_second_ns) {
            *own = (*own).max(*others);
        }
        for class in &other.classes {
            match self.classes.iter_mut().find(|own| own.digest == class.digest) {
                Some(own) => own.add_class(class),
                None => self.classes.push(class.clone()),
            }
        }
        for left in &other.left_out {
            match self.left_out.iter_mut().find(|own| own.reason == left.reason) {
                Some(own) => own.count += left.count,
                None => self.left_out.push(left.clone()),
            }
        }
        self.left_out.sort_by_key(|left| std::cmp::Reverse(left.count));
        for note in &other.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }
}

impl ReplayedClass {
    fn add_class(&mut self, other: &ReplayedClass) {
        self.count += other.count;
        self.errors_in_both += other.errors_in_both;
        self.errors_new += other.errors_new;
        self.errors_gone += other.errors_gone;
        self.first_error = self.first_error.take().or_else(|| other.first_error.clone());
        self.rows_compared += other.rows_compared;
        self.rows_differing += other.rows_differing;
        self.recorded_ns.add(&other.recorded_ns);
        self.replayed_ns.add(&other.replayed_ns);
        self.batches.extend_from_slice(&other.batches);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replays_add_up_by_digest_and_reason() {
        let class = |digest: &str, count, ns| {
            let mut class =
                ReplayedClass { digest: digest.to_owned(), count, ..Default::default() };
            class.replayed_ns.record_n(ns, count);
            class.batches.push((count, 0.5));
            class
        };
        let left =
            |reason: &str, count| LeftOut { reason: reason.to_owned(), count, example: None };
        let mut one = ReplayTotals {
            sent: 5,
            lag_by_second_ns: vec![1, 9],
            classes: vec![class("a", 5, 100)],
            left_out: vec![left("x", 2)],
            ..ReplayTotals::default()
        };
        let two = ReplayTotals {
            sent: 7,
            sessions_at_once: 3,
            lag_by_second_ns: vec![4, 0, 2],
            classes: vec![class("b", 3, 10), class("a", 4, 300)],
            left_out: vec![left("y", 3), left("x", 2)],
            notes: vec!["n".to_owned()],
            ..ReplayTotals::default()
        };
        one.add_replay(&two);
        assert_eq!((one.sent, one.sessions_at_once), (12, 3));
        assert_eq!(one.lag_by_second_ns, [4, 9, 2]);
        let classes: Vec<_> = one.classes.iter().map(|c| (c.digest.as_str(), c.count)).collect();
        assert_eq!(classes, [("a", 9), ("b", 3)]);
        assert_eq!((one.classes[0].replayed_ns.len(), one.classes[0].batches.len()), (9, 2));
        assert_eq!(one.left_out, [left("x", 4), left("y", 3)]);
        assert_eq!(one.notes, ["n"]);
    }
}
