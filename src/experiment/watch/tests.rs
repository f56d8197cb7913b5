//! Watches in simulated time.

use super::recorder::WatchRecorder;
use super::*;
use crate::archive::{RunCommand, SampleRecord, WatchReader};
use crate::probe::SampleValues;

const SECOND: u64 = 1_000_000_000;
/// 2026-11-22 22:00 UTC.
const TEN: u64 = 1_795_384_800 * SECOND;

/// Keeps what it is told.
#[derive(Default)]
struct Listener {
    events: Vec<(WatchEventKind, String)>,
}

impl WatchListener for Listener {
    fn event_noted(&mut self, event: &WatchEvent) {
        self.events.push((event.kind.clone(), event.text.clone()));
    }
}

fn writer(dir: &std::path::Path) -> WatchWriter {
    let meta =
        RunMeta { name: "watch".to_owned(), command: RunCommand::Watch, ..RunMeta::default() };
    WatchWriter::create(dir, meta, "").unwrap()
}

/// A look at a tick, which takes so long.
fn status(planned: u64, took: u64, uptime: f64) -> ProbeSample {
    ProbeSample {
        probe: "status",
        planned: Nanos(planned),
        began: Nanos(planned),
        ended: Nanos(planned + took),
        values: SampleValues::Numbers(vec![("Uptime".to_owned(), uptime)]),
    }
}

fn gap(planned: u64, why: &str) -> ProbeSample {
    ProbeSample { values: SampleValues::Gap(why.to_owned()), ..status(planned, 0, 0.0) }
}

fn kept(dir: &std::path::Path) -> Vec<u64> {
    let mut found = Vec::new();
    let mut reader = WatchReader::open(dir).unwrap().unwrap();
    reader.for_each_sample(&(0..u64::MAX), &mut |segment, sample: SampleRecord| {
        found.push((segment.origin_unix_ns + sample.planned_ns - TEN) / SECOND);
    });
    found
}

#[test]
fn segments_end_on_the_hour_of_the_wall_clock() {
    let plan = WatchPlan::default();
    let lead = LEAD.0;
    let span = |at: u64| SegmentSpan::at(at, &plan);
    // Zones of half hours are none of the machines that run this.
    let late = TEN - 5 * SECOND;
    assert_eq!(
        span(late),
        SegmentSpan { name_unix_ns: late, ends_after: Nanos(5 * SECOND - lead) }
    );
    // The next sampler begins a little before the hour, and is called after the hour.
    let early = TEN - lead;
    let whole = Nanos(3600 * SECOND);
    assert_eq!(span(early), SegmentSpan { name_unix_ns: TEN, ends_after: whole });
    let after = SegmentSpan { name_unix_ns: TEN, ends_after: whole - Nanos(lead) };
    assert_eq!(span(TEN).ends_after, after.ends_after);
    assert_eq!(next_multiple(10, 7, 0), 14);
    assert_eq!(next_multiple(14, 7, 0), 14);
    let half_hour = 19_800;
    assert_eq!(next_multiple(TEN, 3600 * SECOND, half_hour), TEN + 1800 * SECOND);
}

#[test]
fn silences_restarts_and_slow_answers_are_told_once() {
    let dir = tempfile::tempdir().unwrap();
    let (plan, mut listener) = (WatchPlan::default(), Listener::default());
    let mut recorder = WatchRecorder::new(&plan, writer(dir.path()), &mut listener);
    recorder.start_segment(TEN, TEN);
    for sample in [
        status(5 * SECOND, 1000, 50.0),
        gap(10 * SECOND, "no connection: refused"),
        gap(15 * SECOND, "no connection: refused"),
        status(20 * SECOND, 1000, 3.0),
        status(25 * SECOND, 13 * SECOND, 21.0),
        gap(30 * SECOND, "2 ticks missed: the sample before took 13.000 s"),
        status(40 * SECOND, 1000, 23.0),
        gap(45 * SECOND, "needs PROCESS"),
        gap(50 * SECOND, "needs PROCESS"),
    ] {
        recorder.take_sample(sample, TEN);
    }
    recorder.end_segment(&[], Some(Nanos(7)), Nanos(60 * SECOND));
    let ended = recorder.close(RunState::Done, WatchCost::default(), Nanos(60 * SECOND)).unwrap();
    use WatchEventKind::{Answered, NoAnswer, NotSampled, Restarted};
    let expected = [
        (NoAnswer, "no connection: refused"),
        (Answered, "the server answers again, after 10 s"),
        (Restarted, "the server was restarted 3 s before"),
        (NoAnswer, "the server took 13.0 s to answer"),
        (NotSampled, "status: needs PROCESS"),
    ];
    assert_eq!(listener.events, expected.clone().map(|(kind, text)| (kind, text.to_owned())));
    assert_eq!(kept(&ended.dir), [5, 10, 15, 20, 25, 30, 40, 45, 50]);
    let mut reader = WatchReader::open(&ended.dir).unwrap().unwrap();
    assert_eq!(reader.read_events(&(0..u64::MAX)).len(), expected.len());
}

#[test]
fn a_clock_that_is_set_is_told_by_how_much() {
    assert!(clock_text(-3600.2).starts_with("this machine's clock was set back by 1 h;"));
    assert!(clock_text(0.7).contains("forward by 0.7 s"));
}

#[test]
fn changed_variables_are_told_with_both_values() {
    let dir = tempfile::tempdir().unwrap();
    let (plan, mut listener) = (WatchPlan::default(), Listener::default());
    let mut recorder = WatchRecorder::new(&plan, writer(dir.path()), &mut listener);
    let look = |at: u64, value: &str| ProbeSample {
        probe: crate::probe::variables::NAME,
        values: SampleValues::Table(
            ["name", "value"].map(str::to_owned).to_vec(),
            vec![["max_connections", value].map(str::to_owned).to_vec()],
        ),
        ..status(at, 0, 0.0)
    };
    for (segment, values) in [(0, ["151", "151"]), (1, ["200", "200"])] {
        recorder.start_segment(TEN, TEN + segment);
        for value in values {
            recorder.take_sample(look(SECOND, value), TEN + segment);
        }
        recorder.end_segment(&[], None, Nanos(SECOND));
    }
    drop(recorder);
    let changed = (WatchEventKind::VariableChanged, "max_connections: 151 -> 200".to_owned());
    assert_eq!(listener.events, [changed]);
}
