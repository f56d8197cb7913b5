//! Reads the source and gives to the board what is to be sent. Its thread outlives every fault of the source.

use super::board::Board;
use super::pace::BackOff;
use super::sieve::Sieve;
use super::source::{Feed, Got, Source};
use super::state::Marks;
use crate::base::{Clock, Nanos, RealClock, Stop};

/// Time between two looks at the stop flag.
const NAP: Nanos = Nanos(50_000_000);

/// What reads the source.
pub(super) struct Reader<'a> {
    pub board: &'a Board,
    pub clock: RealClock,
    pub stop: &'a Stop,
    pub source: &'a Source,
    pub marks: &'a Marks,
}

impl Reader<'_> {
    /// Reads until the stop, or the source's end.
    pub(super) fn read(&self, sieve: &mut Sieve) {
        let mut back_off = BackOff::default();
        let mut feed: Option<Box<dyn Feed>> = None;
        while !self.stop.is_set() {
            let got = match &mut feed {
                Some(feed) => self.take(feed.as_mut(), sieve),
                None => {
                    let mark = self.marks.last(self.source);
                    self.source.open(mark.as_deref(), self.stop).map(|opened| {
                        self.board.state().caveat = opened.caveat();
                        feed = Some(opened);
                        Got::More
                    })
                }
            };
            match got {
                Ok(Got::End) => return,
                Ok(got) => {
                    if got == Got::Idle {
                        sieve.behind.caught_up();
                    }
                    back_off.reset();
                    self.board.state().source_gone = None;
                    if let Some(feed) = &mut feed {
                        if let Some(note) = feed.notes().pop() {
                            self.board.state().source_note = Some(note);
                        }
                        self.marks.note(self.source, feed.mark());
                        if got == Got::Idle {
                            self.sleep(feed.pause());
                        }
                    }
                }
                Err(error) => {
                    feed = None;
                    self.board.state().source_gone = Some(format!("{error:#}"));
                    self.sleep(back_off.wait());
                }
            }
        }
    }

    /// Takes what the source has now.
    fn take(&self, feed: &mut dyn Feed, sieve: &mut Sieve) -> anyhow::Result<Got> {
        feed.poll(&mut |recorded| {
            let now = self.clock.now();
            let wall_ns = self.clock.unix_ns(now);
            let openings = self.board.openings();
            if std::mem::replace(&mut sieve.openings, openings) != openings {
                sieve.window.clear();
            }
            let items = {
                let counts = &mut self.board.state().counts;
                sieve.pass(recorded, now, wall_ns, counts)
            };
            items.into_iter().for_each(|item| self.board.put(item));
            if self.stop.is_set() {
                std::ops::ControlFlow::Break(())
            } else {
                std::ops::ControlFlow::Continue(())
            }
        })
    }

    fn sleep(&self, time: Nanos) {
        let until = self.clock.now() + time;
        while !self.stop.is_set() && self.clock.now() < until {
            self.clock.sleep_until(self.clock.now() + NAP.min(until - self.clock.now()));
        }
    }
}
