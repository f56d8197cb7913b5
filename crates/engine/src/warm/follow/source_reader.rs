//! Reads the source and gives to the board what is to be sent. Its thread outlives every fault of the source.

use super::checkpoint::Checkpoint;
use super::filter::StatementFilter;
use super::send_queue::SendQueue;
use super::source::{FollowSource, PollState, StatementSource};
use super::throttle::BackOff;
use crate::base::{Clock, Nanos, RealClock, Stop};

/// Time between two looks at the stop flag.
const NAP: Nanos = Nanos(50_000_000);

/// What reads the source.
pub(super) struct SourceReader<'a> {
    pub queue: &'a SendQueue,
    pub clock: RealClock,
    pub stop: &'a Stop,
    pub source: &'a FollowSource,
    pub marks: &'a Checkpoint,
}

impl SourceReader<'_> {
    /// Reads until the stop, or the source's end.
    pub(super) fn run_reader(&self, filter: &mut StatementFilter) {
        let mut back_off = BackOff::default();
        let mut feed: Option<Box<dyn StatementSource>> = None;
        while !self.stop.is_set() {
            let got = match &mut feed {
                Some(feed) => self.poll_source(feed.as_mut(), filter),
                None => {
                    let mark = self.marks.last_mark(self.source);
                    self.source.open_at(mark.as_deref(), self.stop).map(|opened| {
                        self.queue.lock_state().caveat = opened.caveat();
                        feed = Some(opened);
                        PollState::More
                    })
                }
            };
            match got {
                Ok(PollState::End) => return,
                Ok(got) => {
                    if got == PollState::Idle {
                        filter.behind.mark_caught_up();
                    }
                    back_off.reset_delay();
                    self.queue.lock_state().source_gone = None;
                    if let Some(feed) = &mut feed {
                        if let Some(note) = feed.take_notes().pop() {
                            self.queue.lock_state().source_note = Some(note);
                        }
                        self.marks.set_mark(self.source, feed.resume_mark());
                        if got == PollState::Idle {
                            self.sleep_for(feed.idle_delay());
                        }
                    }
                }
                Err(error) => {
                    feed = None;
                    self.queue.lock_state().source_gone = Some(format!("{error:#}"));
                    self.sleep_for(back_off.next_delay());
                }
            }
        }
    }

    /// Takes what the source has now.
    fn poll_source(
        &self,
        feed: &mut dyn StatementSource,
        filter: &mut StatementFilter,
    ) -> anyhow::Result<PollState> {
        feed.poll_records(&mut |recorded| {
            let now = self.clock.now();
            let wall_ns = self.clock.unix_ns(now);
            let openings = self.queue.start_count();
            if std::mem::replace(&mut filter.openings, openings) != openings {
                filter.window.clear();
            }
            let items = {
                let counts = &mut self.queue.lock_state().counts;
                filter.filter_record(recorded, now, wall_ns, counts)
            };
            items.into_iter().for_each(|item| self.queue.push_statement(item));
            if self.stop.is_set() {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        })
    }

    fn sleep_for(&self, time: Nanos) {
        let until = self.clock.now() + time;
        while !self.stop.is_set() && self.clock.now() < until {
            self.clock.sleep_until(self.clock.now() + NAP.min(until - self.clock.now()));
        }
    }
}
