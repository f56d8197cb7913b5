//! The reader of a replay: turns records into statements to play, each with its session and its time, and keeps account
//! of what is left out.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use super::prescan::LogPrescan;
use super::session_queues::SessionAssignment;
use super::setup::ReplaySetup;
use super::source::{LogStep, NO_LOG, walk_logs};
use super::statement::{ReplayEventKind, ReplayStatement};
use super::stats::{DigestClasses, LeftOutCounts, RecordedOutcome, SeenStatements};
use super::timeline::{LogTimeline, RecordedTime};
use super::tracker::{ReplayDecision, Tracker};
use crate::base::units::show_time;
use crate::capture::LogRecord;
use crate::capture::writes::{index_lookups, read_half};
use crate::plan::WritesPlan;
use crate::recorder::ReplayTotals;

/// Where statements go.
pub(super) trait StatementSink {
    /// A session begins.
    fn start_session(&mut self, taken: SessionAssignment);
    /// A statement of a session.
    fn push_statement(&mut self, session: u64, item: ReplayStatement);
    /// A session has ended.
    fn end_session(&mut self, session: u64);
    /// Whether no more is wanted.
    fn is_full(&self) -> bool;
}

/// What is known after the logs were read.
#[derive(Default)]
pub(super) struct ReadStats {
    pub(super) classes: DigestClasses,
    pub(super) left: LeftOutCounts,
    /// Files that are no logs.
    pub(super) foreign: Vec<PathBuf>,
    replayed: ReplayTotals,
}

impl ReadStats {
    /// What there is to tell; what was sent, the seats know.
    pub(super) fn replay_totals(&self) -> ReplayTotals {
        ReplayTotals {
            classes: self.classes.sorted_by_time(),
            left_out: self.left.sorted_by_count(),
            ..self.replayed.clone()
        }
    }
}

/// What goes to a sink, held back until its time is known.
enum SinkMessage {
    Begin(SessionAssignment),
    Item(u64, Box<ReplayStatement>),
    End(u64),
}

/// The reader.
pub(super) struct ReplayLogReader<'a> {
    setup: &'a ReplaySetup,
    ends: Option<&'a LogPrescan>,
    account: ReadStats,
    timeline: LogTimeline<SinkMessage>,
    begin_us: Option<i64>,
    seen: SeenStatements,
    sent: u64,
}

impl<'a> ReplayLogReader<'a> {
    pub(super) fn new(setup: &'a ReplaySetup, ends: Option<&'a LogPrescan>) -> ReplayLogReader<'a> {
        ReplayLogReader {
            setup,
            ends,
            account: ReadStats {
                classes: DigestClasses::new(setup.classes),
                ..ReadStats::default()
            },
            timeline: LogTimeline::new(),
            begin_us: ends.map(|ends| ends.first_us),
            seen: SeenStatements::default(),
            sent: 0,
        }
    }

    /// Reads all logs into the sink.
    pub(super) fn read_logs(mut self, sink: &mut dyn StatementSink) -> ReadStats {
        let mut tracker = Tracker::new(self.setup, self.ends);
        let mut failures = Vec::new();
        let (mut was_cut, mut bytes) = (false, 0);
        walk_logs(self.setup, &mut |step| {
            match step {
                LogStep::Recorded(recorded) => self.take_record(recorded, &mut tracker, sink),
                LogStep::Idle => self.flush_held(sink),
                LogStep::Failed(why) | LogStep::LeftOut(why) => failures.push(why),
                LogStep::Foreign(path) => {
                    failures.push(format!("{}: {NO_LOG}", path.display()));
                    self.account.foreign.push(path.to_owned());
                }
                LogStep::Read(more) => {
                    bytes += more;
                    tracker.next_log();
                }
            }
            was_cut |= sink.is_full();
            !sink.is_full()
        });
        if !was_cut {
            self.flush_held(sink);
        }
        self.sum_up(&tracker, &failures, was_cut, bytes);
        self.account
    }

    fn take_record(
        &mut self,
        recorded: &LogRecord<'_>,
        tracker: &mut Tracker<'_>,
        sink: &mut dyn StatementSink,
    ) {
        let seen = tracker.track_record(recorded);
        let stamp = RecordedTime::from_record(recorded, seen.has_own_clock);
        let mut parcels: Vec<(RecordedTime, SinkMessage)> = Vec::new();
        if let Some(before) = seen.before_ended {
            parcels.push((RecordedTime::default(), SinkMessage::End(before)));
        }
        let number = tracker.record_count();
        match seen.fate {
            ReplayDecision::Nothing => {}
            ReplayDecision::Opens => {
                let taken = SessionAssignment { session: seen.session, begins_us: 0, number };
                parcels.push((stamp, SinkMessage::Begin(taken)));
            }
            ReplayDecision::Left(reason) => {
                self.account.left.add_statement(&reason, recorded.line, recorded.text);
                // It is not sent, but its class may have failed, and its time is the log's.
                self.account.classes.note_recorded_error(recorded.text, recorded.errno);
            }
            ReplayDecision::Sent(sort, text) => {
                let database = seen.database.clone();
                let needs_names = seen.is_default_names;
                for mut item in self.sent_statements(recorded, sort, &text, database, number) {
                    item.is_binary = needs_names && std::str::from_utf8(&item.text).is_err();
                    parcels.push((stamp, SinkMessage::Item(seen.session, Box::new(item))));
                }
            }
        }
        if seen.is_last {
            parcels.push((
                RecordedTime { took_us: 0, began_us: None, ..stamp },
                SinkMessage::End(seen.session),
            ));
        }
        for (stamp, parcel) in parcels {
            let (begin_us, sent) = (&mut self.begin_us, &mut self.sent);
            self.timeline.place_record(stamp, parcel, &mut |parcel, at| {
                deliver_message(parcel, at, begin_us, sent, sink);
            });
        }
    }

    /// What is sent of a statement.
    fn sent_statements(
        &mut self,
        recorded: &LogRecord<'_>,
        sort: ReplayEventKind,
        text: &[u8],
        database: Option<Arc<[u8]>>,
        number: u64,
    ) -> Vec<ReplayStatement> {
        let is_write = sort == ReplayEventKind::ReadHalf;
        let forms: SentForms<'_> = match is_write {
            true => read_halves(text, database.as_deref(), self.setup),
            false => vec![(sort, Cow::Borrowed(text))],
        };
        if forms.is_empty() {
            let why = "writes without a known read half";
            self.account.left.add_statement(why, recorded.line, recorded.text);
        }
        let name = database.as_deref().unwrap_or_default();
        let mut items = Vec::with_capacity(forms.len());
        for (sort, text) in forms {
            let is_read = matches!(
                sort,
                ReplayEventKind::Read | ReplayEventKind::ReadHalf | ReplayEventKind::Probe
            );
            if self.setup.once && is_read && !self.seen.is_new(name, &text) {
                self.account.left.add_statement("sent before (once)", recorded.line, recorded.text);
                continue;
            }
            // What stands for a write has no time and no outcome in the log.
            let (class, before) = match is_write {
                true => (self.account.classes.class_of(&text, None), RecordedOutcome::default()),
                false => {
                    let before = RecordedOutcome {
                        took_ns: recorded.took_us.map(|us| us.saturating_mul(1000)),
                        rows: recorded.rows_sent.filter(|_| sort == ReplayEventKind::Read),
                        errno: recorded.errno,
                    };
                    (self.account.classes.class_of(recorded.text, recorded.errno), before)
                }
            };
            items.push(ReplayStatement {
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

    fn flush_held(&mut self, sink: &mut dyn StatementSink) {
        let (begin_us, sent) = (&mut self.begin_us, &mut self.sent);
        self.timeline
            .flush_held(&mut |parcel, at| deliver_message(parcel, at, begin_us, sent, sink));
    }

    fn sum_up(&mut self, tracker: &Tracker<'_>, failures: &[String], was_cut: bool, bytes: u64) {
        let doubted = self.timeline.clock_caveats();
        let mut notes: Vec<String> = failures.to_vec();
        if let Some(ends) = self.ends.filter(|ends| !was_cut && ends.bytes > bytes) {
            let (then, now) = (ends.bytes, bytes);
            notes.push(format!(
                "the log had {then} bytes when it was first read, {now} when it was replayed"
            ));
        }
        if doubted.not_believed > 0 {
            let n = doubted.not_believed;
            notes.push(format!(
                "{n} records have an impossible time: their position in the file decides"
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
            notes
                .push("too many sessions without an end: some were counted as new ones".to_owned());
        }
        let at_once = self.ends.map_or(0, |ends| ends.at_once);
        self.account.replayed = ReplayTotals {
            sessions: tracker.session_count(),
            sessions_at_once: at_once,
            records: tracker.record_count(),
            sent: self.sent,
            ends_inferred: tracker.ends_inferred + tracker.open_count(),
            uncertainty_us: if doubted.is_coarse { 1_000_000 } else { 0 },
            notes,
            ..ReplayTotals::default()
        };
    }
}

/// Hands on what has its time.
fn deliver_message(
    parcel: SinkMessage,
    at: i64,
    begin_us: &mut Option<i64>,
    sent: &mut u64,
    sink: &mut dyn StatementSink,
) {
    let begin = *begin_us.get_or_insert(at);
    let at_us = u64::try_from(at - begin).unwrap_or(0);
    match parcel {
        SinkMessage::Begin(taken) => {
            sink.start_session(SessionAssignment { begins_us: at_us, ..taken })
        }
        SinkMessage::Item(session, mut item) => {
            item.at_us = at_us;
            *sent += 1;
            sink.push_statement(session, *item);
        }
        SinkMessage::End(session) => sink.end_session(session),
    }
}

/// Statements, and what they are.
type SentForms<'t> = Vec<(ReplayEventKind, Cow<'t, [u8]>)>;

/// The statements that read what a write would find.
fn read_halves(text: &[u8], database: Option<&[u8]>, setup: &ReplaySetup) -> SentForms<'static> {
    let half =
        read_half(text, &setup.allowed).map(|half| (ReplayEventKind::ReadHalf, Cow::Owned(half)));
    let mut forms: SentForms<'_> = half.into_iter().collect();
    if setup.writes == WritesPlan::Probe {
        let database = database.and_then(|name| std::str::from_utf8(name).ok());
        let probes = index_lookups(text, database, &setup.indexes, &setup.allowed);
        forms.extend(probes.into_iter().map(|probe| (ReplayEventKind::Probe, Cow::Owned(probe))));
    }
    forms
}
