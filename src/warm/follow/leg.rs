//! A follow in one direction, from its begin to a swap of roles or its end: the threads, and the loop that looks after
//! them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::board::Board;
use super::crew::{Crew, guard, is_read_only};
use super::feed::Reader;
use super::heat::Thermometer;
use super::look::{Eye, Point, Rates, Seen};
use super::pace::{BackOff, Behind, Brake, Felt, Pace};
use super::sieve::Sieve;
use super::source::Source;
use super::state::Marks;
use super::view::{Counts, Phase, View};
use super::window::Window;
use super::{FollowPlan, halves};
use crate::base::{Clock, Nanos, RealClock, Stop, StopReason};
use crate::plan::Refused;
use crate::target::{Error, Target};
use crate::warm::Through;

/// Time between two looks at the standby.
const LOOK: Nanos = Nanos(200_000_000);
/// Time between two looks at the former active server.
const LOOK_AT_OTHER: Nanos = Nanos(1_000_000_000);
/// A standby that does not answer a look for so long is gone.
const SILENT: Nanos = Nanos(5_000_000_000);
/// How long statements under way may take to end when we stop.
const LAST: Nanos = Nanos(1_000_000_000);

/// Who is who.
#[derive(Clone, Debug)]
pub(super) struct Sides {
    pub source: Source,
    pub mirror: Option<Source>,
    pub active: Option<Target>,
    pub standby: Target,
}

impl Sides {
    /// The standby is active now, and the other way round. Only with a mirror.
    pub(super) fn swap(&mut self) {
        if let (Some(active), Some(mirror)) = (&mut self.active, &mut self.mirror) {
            std::mem::swap(active, &mut self.standby);
            std::mem::swap(mirror, &mut self.source);
        }
    }
}

/// What goes on from leg to leg.
#[derive(Default)]
pub(super) struct Story {
    pub swaps: u64,
    reconnects: u64,
    counts: Counts,
    notes: Vec<String>,
}

/// Why a leg ended.
pub(super) enum End {
    /// All is over.
    Through(Box<View>),
    /// The roles are swapped.
    Swap,
}

/// Ends a look that takes too long.
struct Watchdog {
    /// When the look began, nanoseconds; 0 for none.
    since: AtomicU64,
    flag: Mutex<Stop>,
}

impl Watchdog {
    fn fresh_flag(&self) -> Stop {
        let flag = Stop::new();
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = flag.clone();
        flag
    }

    fn guard<T>(&self, clock: RealClock, work: impl FnOnce() -> T) -> T {
        self.since.store(clock.now().0.max(1), Ordering::SeqCst);
        let done = work();
        self.since.store(0, Ordering::SeqCst);
        done
    }

    fn watch(&self, clock: RealClock, stop: &Stop, over: &Stop) {
        while !over.is_set() {
            let since = self.since.load(Ordering::SeqCst);
            let limit = if stop.is_set() { LAST } else { SILENT };
            if since != 0 && clock.now().since(Nanos(since)) > limit {
                let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
                flag.set(StopReason::TargetLost);
            }
            clock.sleep_until(clock.now() + Nanos(50_000_000));
        }
    }
}

/// One leg.
struct Leg<'a> {
    plan: &'a FollowPlan,
    sides: &'a Sides,
    marks: &'a Marks,
    clock: RealClock,
    stop: &'a Stop,
    board: &'a Board,
    watchdog: &'a Watchdog,
    story: &'a mut Story,
    rates: Rates,
    pace: Pace,
    felt: Felt,
    brake: Option<Brake>,
    eye: Option<Eye>,
    back_off: BackOff,
    /// No attempt to connect before.
    not_before: Nanos,
    looked_at_other: Nanos,
    was_open: bool,
}

/// Runs one leg.
pub(super) fn run(
    plan: &FollowPlan,
    sides: &Sides,
    marks: &Marks,
    clock: RealClock,
    stop: &Stop,
    story: &mut Story,
    on: &mut dyn FnMut(&View),
) -> anyhow::Result<End> {
    let counts = std::mem::take(&mut story.counts);
    let board = Board::new(plan.limits.sessions.max(1), plan.behind, counts);
    let watchdog = Watchdog { since: AtomicU64::new(0), flag: Mutex::new(Stop::new()) };
    let (over, source_ended) = (Stop::new(), std::sync::atomic::AtomicBool::new(false));
    let mut sieve = Sieve {
        writes: plan.writes,
        allowed: halves::learned(plan, &sides.standby, stop, &mut story.notes),
        openings: 0,
        halves: halves::of(plan, &sides.standby, stop, &mut story.notes),
        window: Window::new(plan.window),
        behind: Behind::new(plan.behind),
        database: plan.database.clone().into_bytes(),
    };
    let crew = Crew {
        target: &sides.standby,
        board: &board,
        clock,
        stop: &over,
        time_limit: plan.time_limit,
        writable_too: plan.writable_too,
    };
    let end = std::thread::scope(|scope| {
        let _over = Over(&over);
        scope.spawn(|| watchdog.watch(clock, stop, &over));
        let mut leg = Leg {
            plan,
            sides,
            marks,
            clock,
            stop,
            board: &board,
            watchdog: &watchdog,
            story: &mut *story,
            rates: Rates::default(),
            pace: Pace::new(plan.limits),
            felt: Felt::default(),
            brake: None,
            eye: None,
            back_off: BackOff::default(),
            not_before: Nanos(0),
            looked_at_other: Nanos(0),
            was_open: false,
        };
        leg.first_look()?;
        scope.spawn(|| {
            let _through = Through(&source_ended);
            let source = &sides.source;
            Reader { board: &board, clock, stop: &over, source, marks }.read(&mut sieve);
        });
        if let (Some(active), true) = (&sides.active, plan.gauge_each > Nanos(0)) {
            let standby = &sides.standby;
            let (board, stop) = (&board, &over);
            scope.spawn(move || {
                Thermometer { plan, active, standby, board, clock, stop }.watch();
            });
        }
        for worker in 0..plan.limits.sessions.max(1) as usize {
            let crew = &crew;
            scope.spawn(move || crew.work(worker));
        }
        anyhow::Ok(leg.watch(&source_ended, &over, on))
    });
    story.counts = board.state().counts.clone();
    end
}

/// Ends the other threads, also in a panic.
struct Over<'a>(&'a Stop);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.set(StopReason::Done);
    }
}

impl Leg<'_> {
    /// The first look: what is wrong now is told at once.
    fn first_look(&mut self) -> anyhow::Result<()> {
        let seen = match self.look() {
            Ok(seen) => seen,
            // After a swap the standby was there a moment ago; it will be again.
            Err(_) if self.story.swaps > 0 => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let may_wait = self.sides.mirror.is_some() || self.plan.writable_too;
        if seen.is_read_only || may_wait {
            return Ok(());
        }
        Err(Refused(format!(
            "{} is not read-only, so it is no standby\n\
             hint: SET GLOBAL read_only = 1 there, or say --allow writable if that is meant",
            self.sides.standby.describe()
        ))
        .into())
    }

    /// Looks after the others until the end.
    fn watch(
        &mut self,
        source_ended: &std::sync::atomic::AtomicBool,
        over: &Stop,
        on: &mut dyn FnMut(&View),
    ) -> End {
        loop {
            let began = self.clock.now();
            if self.stop.is_set() {
                self.board.close(Phase::Ended);
                self.wind_up(over);
                return End::Through(Box::new(self.view()));
            }
            self.turn();
            if let Err(error) = self.marks.save() {
                self.note(format!("{error:#}"));
            }
            on(&self.view());
            if self.is_swapped() {
                self.wind_up(over);
                return End::Swap;
            }
            // Once the source has ended and all of it was sent.
            let is_idle = self.board.state().waiting() == 0 && self.board.under_way().is_empty();
            if source_ended.load(Ordering::SeqCst) && is_idle {
                self.board.close(Phase::Ended);
                return End::Through(Box::new(self.view()));
            }
            let next = began + LOOK;
            while self.clock.now() < next && !self.stop.is_set() && !self.board.is_suspect() {
                self.clock.sleep_until(self.clock.now() + Nanos(10_000_000));
            }
        }
    }

    /// One look at the standby, and what follows from it.
    fn turn(&mut self) {
        if self.eye.is_none() && self.clock.now() < self.not_before {
            return;
        }
        match self.look() {
            Ok(seen) => self.judge(&seen),
            Err(error) => {
                self.eye = None;
                self.rates.restart();
                self.board.close(Phase::StandbyGone(error.to_string()));
                self.board.cut();
                self.not_before = self.clock.now() + self.back_off.wait();
            }
        }
    }

    fn look(&mut self) -> Result<Seen, Error> {
        let (clock, target) = (self.clock, &self.sides.standby);
        let own = self.board.under_way().len() as u64;
        if self.eye.is_none() {
            let flag = self.watchdog.fresh_flag();
            self.eye = Some(self.watchdog.guard(clock, || Eye::open(target, clock, &flag))?);
        }
        let Some(eye) = &mut self.eye else { return Err(Error::Abandoned) };
        let seen = self.watchdog.guard(clock, || eye.look(own))?;
        let notes = eye.take_notes();
        notes.into_iter().for_each(|note| self.note(note));
        Ok(seen)
    }

    fn judge(&mut self, seen: &Seen) {
        self.back_off.reset();
        self.felt = seen.felt;
        let (sent, service_ns, waiting) = {
            let state = self.board.state();
            (state.counts.sent, state.counts.service_ns, state.waiting())
        };
        let point = Point { misses: seen.misses, asked: seen.asked, sent, service_ns };
        self.rates.add(self.clock.now(), point);
        self.felt.latency_ns = self.rates.latency_ns();
        if !seen.is_read_only && !self.plan.writable_too {
            // At once: no statement begins any more, and those under way are ended.
            let is_swapping = self.sides.mirror.is_some() && self.sides.active.is_some();
            self.board.close(if is_swapping { Phase::Swapping } else { Phase::Promoted });
            self.end_statements();
            return;
        }
        if !self.board.is_open() {
            self.story.reconnects += u64::from(self.was_open);
            self.was_open = true;
            self.pace = Pace::new(self.plan.limits);
            self.board.open();
        }
        let (allowed, brake) = self.pace.look(&self.felt, waiting);
        self.brake = brake;
        self.board.allow(allowed);
    }

    fn end_statements(&self) {
        for session in self.board.under_way() {
            // It may be through in the meantime; then there is nothing to end.
            let _ = self.sides.standby.kill_statement(session);
        }
    }

    /// Ends the crew: statements under way are ended on the server too.
    fn wind_up(&self, over: &Stop) {
        over.set(StopReason::Done);
        let last = self.clock.now() + LAST;
        if self.eye.is_some() {
            self.end_statements();
        }
        while !self.board.under_way().is_empty() && self.clock.now() < last {
            self.clock.sleep_until(self.clock.now() + Nanos(5_000_000));
        }
        self.board.cut();
    }

    /// Whether the standby is active now, and the former active server its standby.
    fn is_swapped(&mut self) -> bool {
        let now = self.clock.now();
        let due = now.since(self.looked_at_other) >= LOOK_AT_OTHER;
        let Some(other) = &self.sides.active else { return false };
        if self.board.state().phase != Phase::Swapping || !due {
            return false;
        }
        self.looked_at_other = now;
        let flag = self.watchdog.fresh_flag();
        // The eye has its own flag still; it is opened anew where that is needed.
        self.eye = None;
        let looked = self.watchdog.guard(self.clock, || {
            let mut session = other.connect(&flag)?;
            guard(&mut session, std::time::Duration::from_secs(5))?;
            is_read_only(&mut session)
        });
        looked.unwrap_or(false)
    }

    fn note(&mut self, note: String) {
        const MOST: usize = 20;
        if !self.story.notes.contains(&note) && self.story.notes.len() < MOST {
            self.story.notes.push(note);
        }
    }

    fn view(&self) -> View {
        let now = self.clock.now();
        let state = self.board.state();
        let mut reads = self.rates.reads();
        let explained = state.explained;
        if explained.pages_asked > 0 {
            let share = explained.pages_read as f64 / explained.pages_asked as f64;
            reads.own_misses_per_1000 = Some(share * 1_000.0);
            let per_statement = explained.pages_read as f64 / explained.statements as f64;
            reads.own_misses = Some(per_statement * state.counts.sent as f64);
        }
        View {
            at_s: now.seconds(),
            phase: state.phase.clone(),
            source: self.sides.source.describe(),
            source_gone: state.source_gone.clone(),
            standby: self.sides.standby.describe(),
            swaps: self.story.swaps,
            reconnects: self.story.reconnects,
            behind_s: state.behind(now).seconds(),
            waiting: state.waiting() as u64,
            sent_per_s: self.rates.sent_per_s(),
            allowed: state.allowed,
            sessions: self.plan.limits.sessions,
            brake: self.brake,
            felt: self.felt,
            counts: state.counts.clone(),
            reads,
            has_active: self.sides.active.is_some(),
            heat: state.heat.clone(),
            notes: {
                let more =
                    [&state.caveat, &state.no_heat, &state.source_note].into_iter().flatten();
                self.story.notes.iter().chain(more).cloned().collect()
            },
        }
    }
}
