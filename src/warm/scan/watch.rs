//! Works off a board: sessions that read, and the thread that looks on.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::asked::Limits;
use super::board::{Board, Gate};
use super::crew::Crew;
use super::limit::{Fill, next_look};
use crate::base::{Clock, Nanos, Stop};
use crate::target::Session;
use crate::warm::{Event, Scene, Warmth, gauge};
use crate::workload::Progress;

/// Looks in a row that the server may refuse before the work ends with its words.
const REFUSED_MOST: u32 = 20;

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::warm) enum End {
    Through,
    Full,
    Stopped,
}

/// What is to be read.
pub(in crate::warm) struct Job<'a> {
    pub board: Board,
    pub limits: &'a Limits,
    /// The pool before.
    pub before: Warmth,
    /// What it is called in the progress.
    pub label: &'a str,
    /// Set when sessions shall give up waiting for the server.
    pub abandon: &'a Stop,
}

/// What became of it.
pub(in crate::warm) struct Outcome {
    pub end: End,
    /// Units that were not read to their end.
    pub left_out: Vec<String>,
    /// Units that could not be read, and why.
    pub failures: Vec<String>,
    /// The last look at the pool.
    pub last: Warmth,
}

/// Works off a board; `on_done` hears the marks of pieces that were read, and ends it with its error.
///
/// # Errors
/// When the server is gone, or `on_done` fails.
pub(in crate::warm) fn work_off(
    job: Job<'_>,
    lead: &mut Session,
    scene: &mut Scene<'_>,
    on_event: &mut dyn FnMut(&Event),
    on_done: &mut dyn FnMut(&[u64]) -> anyhow::Result<()>,
) -> anyhow::Result<Outcome> {
    let Job { mut board, limits, before, label, abandon } = job;
    let sessions = limits.sessions.min(board.pages_total().div_ceil(64).max(1));
    board.allow(limits.fill.allowance(&before));
    let crew = Crew {
        target: scene.target,
        clock: scene.clock,
        abandon,
        board: Mutex::new(board),
        sessions,
        pool_pages: before.pages_total,
        rate: limits.rate(&before),
        busy: (0..sessions).map(|_| AtomicU64::new(0)).collect(),
        working: AtomicUsize::new(sessions as usize),
        broken: Mutex::new(None),
    };
    let mut watch = Watch {
        limits,
        label,
        crew: &crew,
        before,
        last: before,
        mark: before,
        refused: 0,
        end: End::Through,
    };
    let noted = std::thread::scope(|scope| {
        for place in 0..sessions as usize {
            let crew = &crew;
            scope.spawn(move || crew.work(place));
        }
        watch.over(lead, scene, on_event, on_done)
    });
    let (end, last) = (watch.end, watch.last);
    noted?;
    if let Some(error) = crew.broken.into_inner().expect("set without panic") {
        if end != End::Stopped {
            return Err(error);
        }
    }
    let board = crew.board.into_inner().expect("no session panics while it holds the board");
    Ok(Outcome { end, left_out: board.left_out(), failures: board.failures().to_vec(), last })
}

/// The thread that looks on: limits, progress, stop.
struct Watch<'a, 'b> {
    limits: &'a Limits,
    label: &'a str,
    crew: &'a Crew<'b>,
    before: Warmth,
    last: Warmth,
    /// The look by which to tell whether the pool still grows.
    mark: Warmth,
    /// Looks in a row that the server refused.
    refused: u32,
    end: End,
}

impl Watch<'_, '_> {
    fn over(
        &mut self,
        lead: &mut Session,
        scene: &mut Scene<'_>,
        on_event: &mut dyn FnMut(&Event),
        on_done: &mut dyn FnMut(&[u64]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let clock = scene.clock;
        let (mut next, mut looked) = (clock.now(), clock.now());
        loop {
            let through = self.crew.working.load(Ordering::SeqCst) == 0;
            let (events, done) = {
                let mut board = self.crew.board();
                (board.events(), board.done())
            };
            events.iter().for_each(&mut *on_event);
            let noted = if done.is_empty() { Ok(()) } else { on_done(&done) };
            if noted.is_err() {
                self.crew.board().gate = Gate::Closed;
                return noted;
            }
            if through {
                return Ok(());
            }
            let now = clock.now();
            if scene.stop.is_set() {
                self.end = End::Stopped;
                self.crew.board().gate = Gate::Closed;
                self.cancel(lead);
            } else if self.end == End::Full {
                // What is under way would push out what was read first.
                self.cancel(lead);
            } else if now >= next || self.crew.board().is_starved() {
                let read = self.last.pages_read;
                if let Err(error) = self.look(lead) {
                    self.break_off(error);
                    continue;
                }
                let read = self.last.pages_read.saturating_sub(read);
                let pause = next_look(&self.last, read, now.since(looked));
                looked = now;
                // Where a look is dear, look less often.
                let took = clock.now().since(now);
                next = clock.now() + pause.max(Nanos(took.0.saturating_mul(10)));
                (scene.progress)(self.progress());
            }
            clock.sleep_until(clock.now() + Nanos(5_000_000));
        }
    }

    /// Has the server break off what our sessions run.
    fn cancel(&self, lead: &mut Session) {
        for busy in &self.crew.busy {
            let id = busy.load(Ordering::SeqCst);
            if id != 0 {
                // It may be through in the meantime; then there is nothing to break off.
                let _ = lead.command(&format!("KILL QUERY {id}"));
            }
        }
    }

    /// Ends the work of all sessions for a cause of our own.
    fn break_off(&self, error: anyhow::Error) {
        self.crew.board().gate = Gate::Closed;
        let mut broken = self.crew.broken.lock().expect("set without panic");
        broken.get_or_insert(error);
    }

    /// The pool and the load as they are now; `None` where the server refuses to say. A lost session is opened once more:
    /// it may have been ended by itself.
    fn ask(&mut self, lead: &mut Session) -> anyhow::Result<Option<Warmth>> {
        let mut looked = gauge(lead);
        if looked.is_err() && !lead.is_usable() && !self.crew.abandon.is_set() {
            *lead = crate::warm::open(self.crew.target, self.crew.abandon)?;
            looked = gauge(lead);
        }
        match looked {
            Ok(now) => {
                self.refused = 0;
                Ok(Some(now))
            }
            Err(_) if lead.is_usable() && self.refused < REFUSED_MOST => {
                self.refused += 1;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Looks at the pool and the load, and opens or closes the gate accordingly. While the server refuses to say, nothing
    /// new begins.
    fn look(&mut self, lead: &mut Session) -> anyhow::Result<()> {
        if self.crew.board().gate == Gate::Closed {
            return Ok(());
        }
        let looked = self.ask(lead)?;
        let mut board = self.crew.board();
        if board.gate == Gate::Closed {
            return Ok(());
        }
        let Some(now) = looked else {
            board.gate = Gate::Paused;
            return Ok(());
        };
        let full = self.limits.fill.is_full(&self.mark, &now);
        if Fill::can_tell(&self.mark, &now) {
            self.mark = now;
        }
        board.allow(self.limits.fill.allowance(&now));
        if full {
            board.gate = Gate::Closed;
            self.end = End::Full;
            return Ok(());
        }
        let ours = self.crew.busy.iter().filter(|b| b.load(Ordering::SeqCst) != 0).count() as u64;
        let others = now.threads_running.saturating_sub(ours + 1);
        let calm = self.limits.max_running == 0 || others <= self.limits.max_running;
        board.gate = if calm { Gate::Open } else { Gate::Paused };
        self.last = now;
        Ok(())
    }

    fn progress(&self) -> Progress {
        let board = self.crew.board();
        let read = self.last.pages_read.saturating_sub(self.before.pages_read);
        let paused = if board.gate == Gate::Paused { " (paused)" } else { "" };
        Progress {
            label: format!("{}{paused}", self.label),
            done: board.pages_done(read),
            total: board.pages_total(),
            unit: "pages",
        }
    }
}
