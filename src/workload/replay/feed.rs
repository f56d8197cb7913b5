//! The reader of a replay: turns records into statements to play, each with its session and its time, and keeps account
//! of what is left out.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use super::book::{Before, Classes, Left, Seen};
use super::hall::Taken;
use super::item::{Item, Sort};
use super::setup::Setup;
use super::source::{NO_LOG, Step, walk};
use super::survey::Ends;
use super::timeline::{Stamp, Timeline};
use super::track::{Fate, Tracker};
use crate::base::units::show_time;
use crate::capture::Recorded;
use crate::capture::writes::{probes, read_half};
use crate::plan::WritesPlan;
use crate::recorder::Replayed;

/// Where statements go.
pub(super) trait Sink {
    /// A session begins.
    fn begin(&mut self, taken: Taken);
    /// A statement of a session.
    fn item(&mut self, session: u64, item: Item);
    /// A session has ended.
    fn end(&mut self, session: u64);
    /// Whether no more is wanted.
    fn is_full(&self) -> bool;
}

/// What is known after the logs were read.
#[derive(Default)]
pub(super) struct Account {
    pub(super) classes: Classes,
    pub(super) left: Left,
    /// Files that are no logs.
    pub(super) foreign: Vec<PathBuf>,
    replayed: Replayed,
}

impl Account {
    /// What there is to tell; what was sent, the seats know.
    pub(super) fn replayed(&self) -> Replayed {
        Replayed {
            classes: self.classes.sorted(),
            left_out: self.left.sorted(),
            ..self.replayed.clone()
        }
    }
}

/// What goes to a sink, held back until its time is known.
enum Parcel {
    Begin(Taken),
    Item(u64, Box<Item>),
    End(u64),
}

/// The reader.
pub(super) struct Feed<'a> {
    setup: &'a Setup,
    ends: Option<&'a Ends>,
    account: Account,
    timeline: Timeline<Parcel>,
    begin_us: Option<i64>,
    seen: Seen,
    sent: u64,
}

impl<'a> Feed<'a> {
    pub(super) fn new(setup: &'a Setup, ends: Option<&'a Ends>) -> Feed<'a> {
        Feed {
            setup,
            ends,
            account: Account { classes: Classes::new(setup.classes), ..Account::default() },
            timeline: Timeline::new(),
            begin_us: ends.map(|ends| ends.first_us),
            seen: Seen::default(),
            sent: 0,
        }
    }

    /// Reads all logs into the sink.
    pub(super) fn run(mut self, sink: &mut dyn Sink) -> Account {
        let mut tracker = Tracker::new(self.setup, self.ends);
        let mut failures = Vec::new();
        let (mut was_cut, mut bytes) = (false, 0);
        walk(self.setup, &mut |step| {
            match step {
                Step::Recorded(recorded) => self.take(recorded, &mut tracker, sink),
                Step::Idle => self.flush(sink),
                Step::Failed(why) | Step::LeftOut(why) => failures.push(why),
                Step::Foreign(path) => {
                    failures.push(format!("{}: {NO_LOG}", path.display()));
                    self.account.foreign.push(path.to_owned());
                }
                Step::Read(more) => {
                    bytes += more;
                    tracker.next_log();
                }
            }
            was_cut |= sink.is_full();
            !sink.is_full()
        });
        if !was_cut {
            self.flush(sink);
        }
        self.sum_up(&tracker, &failures, was_cut, bytes);
        self.account
    }

    fn take(&mut self, recorded: &Recorded<'_>, tracker: &mut Tracker<'_>, sink: &mut dyn Sink) {
        let seen = tracker.take(recorded);
        let stamp = Stamp::of(recorded, seen.has_own_clock);
        let mut parcels: Vec<(Stamp, Parcel)> = Vec::new();
        if let Some(before) = seen.before_ended {
            parcels.push((Stamp::default(), Parcel::End(before)));
        }
        let number = tracker.records();
        match seen.fate {
            Fate::Nothing => {}
            Fate::Opens => {
                let taken = Taken { session: seen.session, begins_us: 0, number };
                parcels.push((stamp, Parcel::Begin(taken)));
            }
            Fate::Left(reason) => {
                self.account.left.add(&reason, recorded.line, recorded.text);
                // It is not sent, but its class may have failed, and its time is the log's.
                self.account.classes.heard(recorded.text, recorded.errno);
            }
            Fate::Sent(sort, text) => {
                let database = seen.database.clone();
                let needs_names = seen.is_default_names;
                for mut item in self.items(recorded, sort, &text, database, number) {
                    item.is_binary = needs_names && std::str::from_utf8(&item.text).is_err();
                    parcels.push((stamp, Parcel::Item(seen.session, Box::new(item))));
                }
            }
        }
        if seen.is_last {
            parcels
                .push((Stamp { took_us: 0, began_us: None, ..stamp }, Parcel::End(seen.session)));
        }
        for (stamp, parcel) in parcels {
            let (begin_us, sent) = (&mut self.begin_us, &mut self.sent);
            self.timeline.place(stamp, parcel, &mut |parcel, at| {
                give(parcel, at, begin_us, sent, sink);
            });
        }
    }

    /// What is sent of a statement.
    fn items(
        &mut self,
        recorded: &Recorded<'_>,
        sort: Sort,
        text: &[u8],
        database: Option<Arc<[u8]>>,
        number: u64,
    ) -> Vec<Item> {
        let is_write = sort == Sort::ReadHalf;
        let forms: Forms<'_> = match is_write {
            true => read_halves(text, database.as_deref(), self.setup),
            false => vec![(sort, Cow::Borrowed(text))],
        };
        if forms.is_empty() {
            let why = "writes whose read half is not known";
            self.account.left.add(why, recorded.line, recorded.text);
        }
        let name = database.as_deref().unwrap_or_default();
        let mut items = Vec::with_capacity(forms.len());
        for (sort, text) in forms {
            let is_read = matches!(sort, Sort::Read | Sort::ReadHalf | Sort::Probe);
            if self.setup.once && is_read && !self.seen.is_new(name, &text) {
                self.account.left.add("sent before (once)", recorded.line, recorded.text);
                continue;
            }
            // What stands for a write has no time and no outcome in the log.
            let (class, before) = match is_write {
                true => (self.account.classes.of(&text, None), Before::default()),
                false => {
                    let before = Before {
                        took_ns: recorded.took_us.map(|us| us.saturating_mul(1000)),
                        rows: recorded.rows_sent.filter(|_| sort == Sort::Read),
                        errno: recorded.errno,
                    };
                    (self.account.classes.of(recorded.text, recorded.errno), before)
                }
            };
            items.push(Item {
                text: text.into_owned().into_boxed_slice(),
                sort,
                class: Some(class),
                before,
                database: database.clone(),
                is_binary: false,
                now_us: recorded.began_us.filter(|_| self.setup.recorded_now),
                number,
                at_us: 0,
            });
        }
        items
    }

    fn flush(&mut self, sink: &mut dyn Sink) {
        let (begin_us, sent) = (&mut self.begin_us, &mut self.sent);
        self.timeline.flush(&mut |parcel, at| give(parcel, at, begin_us, sent, sink));
    }

    fn sum_up(&mut self, tracker: &Tracker<'_>, failures: &[String], was_cut: bool, bytes: u64) {
        let doubted = self.timeline.doubted();
        let mut notes: Vec<String> = failures.to_vec();
        if let Some(ends) = self.ends.filter(|ends| !was_cut && ends.bytes > bytes) {
            let (then, now) = (ends.bytes, bytes);
            notes.push(format!(
                "the log had {then} bytes when it was looked through, {now} when it was replayed"
            ));
        }
        if doubted.not_believed > 0 {
            let n = doubted.not_believed;
            notes.push(format!(
                "{n} records with a time far off: their place in the file stands for it"
            ));
        }
        if doubted.set_back > 0 {
            notes.push(format!("the log's clock was set back {} times", doubted.set_back));
        }
        if doubted.pauses_cut > 0 {
            let day = show_time(std::time::Duration::from_secs(86_400));
            notes.push(format!("{} pauses of more than {day} left out", doubted.pauses_cut));
        }
        if tracker.has_forgotten() {
            notes.push("too many sessions without an end: some were taken for new ones".to_owned());
        }
        let at_once = self.ends.map_or(0, |ends| ends.at_once);
        self.account.replayed = Replayed {
            sessions: tracker.sessions(),
            sessions_at_once: at_once,
            records: tracker.records(),
            sent: self.sent,
            ends_inferred: tracker.ends_inferred + tracker.left_open(),
            uncertainty_us: if doubted.is_coarse { 1_000_000 } else { 0 },
            notes,
            ..Replayed::default()
        };
    }
}

/// Hands on what has its time.
fn give(parcel: Parcel, at: i64, begin_us: &mut Option<i64>, sent: &mut u64, sink: &mut dyn Sink) {
    let begin = *begin_us.get_or_insert(at);
    let at_us = u64::try_from(at - begin).unwrap_or(0);
    match parcel {
        Parcel::Begin(taken) => sink.begin(Taken { begins_us: at_us, ..taken }),
        Parcel::Item(session, mut item) => {
            item.at_us = at_us;
            *sent += 1;
            sink.item(session, *item);
        }
        Parcel::End(session) => sink.end(session),
    }
}

/// Statements, and what they are.
type Forms<'t> = Vec<(Sort, Cow<'t, [u8]>)>;

/// The statements that read what a write would find.
fn read_halves(text: &[u8], database: Option<&[u8]>, setup: &Setup) -> Forms<'static> {
    let half = read_half(text, &setup.allowed).map(|half| (Sort::ReadHalf, Cow::Owned(half)));
    let mut forms: Forms<'_> = half.into_iter().collect();
    if setup.writes == WritesPlan::Probe {
        let database = database.and_then(|name| std::str::from_utf8(name).ok());
        let probes = probes(text, database, &setup.indexes, &setup.allowed);
        forms.extend(probes.into_iter().map(|probe| (Sort::Probe, Cow::Owned(probe))));
    }
    forms
}
