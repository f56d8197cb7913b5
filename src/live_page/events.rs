//! What readers are told, as server-sent events with numbers (the HTML standard, 9.2). The last ones are kept, so that a
//! reader who was away goes on where it was.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

/// Most events kept: ten minutes of seconds.
const MOST_EVENTS: usize = 600;
/// Most bytes of them.
const MOST_BYTES: usize = 1 << 20;

/// The events of a run.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    kept: Mutex<KeptEvents>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct KeptEvents {
    /// Number of the last event; the first is 1.
    last: u64,
    texts: VecDeque<Arc<str>>,
    bytes: usize,
    is_over: bool,
}

/// What a reader gets next.
#[derive(Debug, Default)]
pub(super) struct EventBatch {
    pub(super) texts: Vec<Arc<str>>,
    /// Number of the last event that it then knows.
    pub(super) last: u64,
    /// Some events before these are not kept any more.
    pub(super) has_missed: bool,
    /// Nothing more will come.
    pub(super) is_over: bool,
}

impl EventLog {
    fn lock_kept(&self) -> MutexGuard<'_, KeptEvents> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of the last event.
    pub(super) fn last_event(&self) -> u64 {
        self.lock_kept().last
    }

    /// Adds an event. `data` stands in one line.
    pub(super) fn add_event(&self, kind: &str, data: &Value) {
        let mut kept = self.lock_kept();
        kept.last += 1;
        let text = format!("id: {}\nevent: {kind}\ndata: {data}\n\n", kept.last);
        kept.bytes += text.len();
        kept.texts.push_back(text.into());
        while kept.texts.len() > MOST_EVENTS || kept.bytes > MOST_BYTES {
            let Some(oldest) = kept.texts.pop_front() else { break };
            kept.bytes -= oldest.len();
        }
        drop(kept);
        self.news.notify_all();
    }

    /// Has all who wait look up.
    pub(super) fn wake_readers(&self) {
        // Whoever looks up next has to get the lock first, so that nobody misses it.
        drop(self.lock_kept());
        self.news.notify_all();
    }

    /// Nothing more will come.
    pub(super) fn end(&self) {
        self.lock_kept().is_over = true;
        self.news.notify_all();
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.lock_kept().is_over
    }

    /// The events behind the one of this number; waits a while for the next where there is none. Who names one that we
    /// never had saw another run: it has missed all of ours.
    pub(super) fn wait_for_events(&self, after: u64, most: Duration) -> EventBatch {
        let mut kept = self.lock_kept();
        if kept.last == after && !kept.is_over {
            let waited = self.news.wait_timeout(kept, most);
            kept = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let first = kept.last - kept.texts.len() as u64 + 1;
        let is_known = after <= kept.last;
        let from = if is_known { after + 1 } else { first };
        let skipped = usize::try_from(from.saturating_sub(first)).unwrap_or(usize::MAX);
        EventBatch {
            texts: kept.texts.iter().skip(skipped).cloned().collect(),
            last: kept.last,
            has_missed: !is_known || from < first,
            is_over: kept.is_over,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn numbers(batch: &EventBatch) -> Vec<u64> {
        let number = |text: &Arc<str>| text.split(['\n', ' ']).nth(1).unwrap().parse().unwrap();
        batch.texts.iter().map(number).collect()
    }

    #[test]
    fn readers_go_on_where_they_were() {
        let log = EventLog::default();
        for n in 1..=3 {
            log.add_event("beat", &json!({ "n": n, "text": "two\nlines" }));
        }
        let batch = log.wait_for_events(1, Duration::ZERO);
        assert_eq!((numbers(&batch), batch.last, batch.has_missed), (vec![2, 3], 3, false));
        assert_eq!(
            &*batch.texts[0],
            "id: 2\nevent: beat\ndata: {\"n\":2,\"text\":\"two\\nlines\"}\n\n"
        );
        assert!(log.wait_for_events(3, Duration::ZERO).texts.is_empty());
        // One of another run.
        let batch = log.wait_for_events(9, Duration::ZERO);
        assert_eq!((numbers(&batch), batch.has_missed), (vec![1, 2, 3], true));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let log = EventLog::default();
        for _ in 0..2 * MOST_EVENTS {
            log.add_event("note", &json!(""));
        }
        let batch = log.wait_for_events(5, Duration::ZERO);
        assert_eq!((batch.texts.len(), batch.has_missed), (MOST_EVENTS, true));
        let large = "x".repeat(MOST_BYTES / 2);
        (0..4).for_each(|_| log.add_event("note", &json!(large)));
        assert!(log.lock_kept().bytes <= MOST_BYTES);
        let batch = log.wait_for_events(0, Duration::ZERO);
        assert!(batch.has_missed && batch.last == 2 * MOST_EVENTS as u64 + 4);
    }
}
