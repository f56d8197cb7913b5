//! Recorded traffic, sent again: each session of a log on a connection of its own, its statements in their order and at
//! their times. A worker is a seat that plays one session after the other, so thousands of sessions need few threads.
//! Never knows: how logs are written, clocks.
//! Start reading at `seat`; what it is given comes from `feed` by way of `hall`.

mod book;
mod feed;
mod hall;
mod item;
mod preflight;
mod round;
mod seat;
mod setup;
mod source;
mod survey;
mod temporary;
mod timeline;
mod track;
mod turn;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Context as _;

use crate::base::Stop;
use crate::plan::{Mistake, OptionSpec, Options};
use crate::recorder::Replayed;
use crate::target::Target;
use crate::target::preflight::Connections;

use super::{Kind, Part, Seat, Workload};

use self::feed::{Feed, Sink};
use self::hall::Taken;
use self::item::{Item, Sort};
use self::round::Round;
use self::seat::Player;
use self::setup::Setup;
use self::survey::Ends;

/// The kind `replay`.
pub struct Replay;

impl Kind for Replay {
    fn name(&self) -> &'static str {
        "replay"
    }
    fn about(&self) -> &'static str {
        "the sessions of a log, as they were recorded"
    }
    fn options(&self) -> Vec<OptionSpec> {
        setup::options()
    }
    fn ends_by_itself(&self) -> bool {
        true
    }
    fn has_command(&self) -> bool {
        true
    }
    fn workers(&self, options: &Options, stop: &Stop) -> anyhow::Result<Option<usize>> {
        seats(options, stop).map(Some)
    }
    fn build(
        &self,
        options: &Options,
        target: Option<&Target>,
    ) -> anyhow::Result<Box<dyn Workload>> {
        let target = target.cloned().context("replay was built without a server")?;
        Ok(Box::new(Log::new(Setup::new(options)?, target)))
    }
}

/// What is in a log, without a server.
#[derive(Clone, Debug)]
pub struct Survey {
    /// What a replay of it would have to tell: `sent` is what would be sent, classes have only what was recorded.
    pub replayed: Replayed,
    /// Workers that the load needs for as many sessions at once.
    pub seats: usize,
}

/// Looks through the logs that the options name, as a replay would, and sends nothing. A stream is read to its end.
///
/// # Errors
/// When the options don't fit, or a log can't be opened.
pub fn survey(options: &Options, stop: &Stop) -> anyhow::Result<Survey> {
    let setup = Setup::new(options)?;
    setup.check()?;
    let ends = (!setup.is_stream()).then(|| Ends::find(&setup, stop));
    let account = Feed::new(&setup, ends.as_ref()).run(&mut Count(stop));
    if let Some(mistake) = source::mistake(&setup, account.replayed().records, &account.foreign) {
        return Err(mistake.into());
    }
    let seats = setup.seats(ends.as_ref().map(|ends| ends.at_once));
    Ok(Survey { replayed: account.replayed(), seats })
}

/// Whether the end of the logs can't be known before it is there: a pipe, or what `sweat ship` serves.
///
/// # Errors
/// When the options don't fit.
pub fn is_stream(options: &Options) -> anyhow::Result<bool> {
    Ok(Setup::new(options)?.is_stream())
}

/// Workers that a load of this kind needs so that each session of the logs has a seat when it begins: `--sessions`, or as
/// many as the log has at once, or 1,000 for a stream.
///
/// # Errors
/// When the options don't fit, or a log can't be opened.
pub fn seats(options: &Options, stop: &Stop) -> anyhow::Result<usize> {
    let setup = Setup::new(options)?;
    setup.check()?;
    if setup.sessions.is_some() || setup.is_stream() {
        return Ok(setup.seats(None));
    }
    let ends = Ends::find(&setup, stop);
    match source::mistake(&setup, ends.records, &ends.foreign) {
        Some(mistake) => Err(mistake.into()),
        None => Ok(setup.seats(Some(ends.at_once))),
    }
}

/// The same for a server: a stream, of which nobody knows how many sessions it has, gets what the server offers, but for
/// one in ten, as others want to log in too.
///
/// # Errors
/// Those of [`seats`]; when the server can't be asked.
pub fn seats_on(options: &Options, target: &Target, stop: &Stop) -> anyhow::Result<usize> {
    let seats = seats(options, stop)?;
    if options.count("sessions") > 0 || !is_stream(options)? {
        return Ok(seats);
    }
    let offered = Connections::ask(&mut target.connect(stop)?)?.most_workers();
    Ok(seats.min((offered - offered / 10) as usize))
}

/// Counts what would be sent.
struct Count<'a>(&'a Stop);

impl Sink for Count<'_> {
    fn begin(&mut self, _: Taken) {}
    fn item(&mut self, _: u64, item: Item) {
        if let Some(class) = item.class {
            class.note_before(&item.before);
        }
    }
    fn end(&mut self, _: u64) {}
    fn is_full(&self) -> bool {
        self.0.is_set()
    }
}

/// Logs to replay on a server.
struct Log {
    asked: Setup,
    /// With what the server tells that it needs to know.
    setup: OnceLock<Arc<Setup>>,
    target: Target,
    /// What a first look found out; nothing for a stream.
    ends: OnceLock<Option<Arc<Ends>>>,
    /// The load under way, or the last one.
    round: Mutex<Option<Arc<Round>>>,
}

impl Log {
    fn new(setup: Setup, target: Target) -> Log {
        Log {
            asked: setup,
            setup: OnceLock::new(),
            target,
            ends: OnceLock::new(),
            round: Mutex::new(None),
        }
    }

    fn ends(&self) -> Option<Arc<Ends>> {
        let find = || {
            let setup = &self.asked;
            (!setup.is_stream()).then(|| Arc::new(Ends::find(setup, &Stop::new())))
        };
        self.ends.get_or_init(find).clone()
    }

    /// Asks the server what must be known of it.
    fn learn(&self, stop: &Stop) -> anyhow::Result<Arc<Setup>> {
        if let Some(setup) = self.setup.get() {
            return Ok(setup.clone());
        }
        let setup = preflight::learned(&self.asked, &self.target, stop)?;
        Ok(self.setup.get_or_init(|| Arc::new(setup)).clone())
    }
}

impl Workload for Log {
    fn classes(&self) -> Vec<String> {
        Sort::ALL.iter().map(|(_, name)| (*name).to_owned()).collect()
    }

    fn seat(&self, part: Part) -> anyhow::Result<Box<dyn Seat + '_>> {
        let mut current = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        let round = match &*current {
            Some(round) if round.seats.load(Ordering::Relaxed) < part.workers => round.clone(),
            _ => {
                let round = Round::begin(&self.learn(&Stop::new())?, self.ends(), part.workers);
                let round = Arc::new(round.context("begin to read the log")?);
                *current = Some(round.clone());
                round
            }
        };
        round.seats.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(Player::new(round, self.target.clone(), part)))
    }

    /// Whether the logs can be opened and the server be logged in to. Looks through the logs, so that a load can begin at
    /// once.
    fn check(&self, stop: &Stop) -> anyhow::Result<()> {
        self.asked.check()?;
        self.learn(stop)?;
        let ends = self.ends();
        let mistake = ends.and_then(|e| source::mistake(&self.asked, e.records, &e.foreign));
        mistake.map_or(Ok(()), |mistake| Err(mistake.into()))
    }

    fn replayed(&self) -> Option<Replayed> {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner).clone();
        round.map(|round| round.replayed())
    }

    fn mistake(&self) -> Option<Mistake> {
        let round = self.round.lock().unwrap_or_else(PoisonError::into_inner).clone();
        round.and_then(|round| round.mistake())
    }
}
