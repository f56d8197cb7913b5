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

/// A recorder on a disk with room.
fn recorder_for<'a>(
    plan: &'a WatchPlan,
    dir: &std::path::Path,
    listener: &'a mut Listener,
) -> WatchRecorder<'a> {
    with_disk(plan, dir, listener, Box::new(|_| None))
}

fn with_disk<'a>(
    plan: &'a WatchPlan,
    dir: &std::path::Path,
    listener: &'a mut Listener,
    reader: room::DiskReader,
) -> WatchRecorder<'a> {
    let writer = writer(dir);
    let dirs = vec![writer.dir().to_owned()];
    let room = WatchRoom::new(&plan.limits, dirs, WriteGate::default(), reader);
    WatchRecorder::new(plan, writer, room, listener)
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
    let mut recorder = recorder_for(&plan, dir.path(), &mut listener);
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
    recorder.end_segment(&[], Some(Nanos(7)), TEN, Nanos(60 * SECOND));
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
    let mut recorder = recorder_for(&plan, dir.path(), &mut listener);
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
        recorder.end_segment(&[], None, TEN, Nanos(SECOND));
    }
    drop(recorder);
    let changed = (WatchEventKind::VariableChanged, "max_connections: 151 -> 200".to_owned());
    assert_eq!(listener.events, [changed]);
}

#[test]
fn a_disk_that_fills_up_takes_old_segments_then_samples_and_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let limits = crate::plan::WatchLimits { min_free_bytes: 1 << 20, ..Default::default() };
    let plan = WatchPlan { limits, every: Duration::from_secs(1), ..WatchPlan::default() };
    let mut listener = Listener::default();
    // Free bytes, in KiB, as the test says.
    let free_kib = std::rc::Rc::new(std::cell::Cell::new(1u64 << 20));
    let said = free_kib.clone();
    let reader = move |_: &std::path::Path| {
        Some(guard::DiskReading { free_bytes: said.get() << 10, total_bytes: 1 << 40 })
    };
    let mut recorder = with_disk(&plan, dir.path(), &mut listener, Box::new(reader));
    for segment in 0..2 {
        let origin = TEN + segment * 100 * SECOND;
        recorder.start_segment(origin, origin);
        recorder.take_sample(status(SECOND, 0, 1.0), origin);
        recorder.end_segment(&[], None, origin, Nanos(2 * SECOND));
    }
    let origin = TEN + 300 * SECOND;
    recorder.start_segment(origin, origin);
    // A little before the limit what is old goes; it is too small to help, so samples are thinned.
    for (second, kib) in [(1, 2048), (2, 1100), (3, 1100), (12, 1100), (13, 1000), (24, 1000)] {
        free_kib.set(kib);
        recorder.take_sample(status(second * SECOND, 0, 1.0), origin);
    }
    free_kib.set(4096);
    recorder.take_sample(status(25 * SECOND, 0, 1.0), origin);
    recorder.end_segment(&[], None, origin, Nanos(30 * SECOND));
    let ended = recorder.close(RunState::Done, WatchCost::default(), Nanos(1)).unwrap();
    use WatchEventKind::{Limited, Removed};
    let kinds: Vec<WatchEventKind> = listener.events.iter().map(|(kind, _)| kind.clone()).collect();
    assert_eq!(kinds, [Removed, Removed, Limited, Limited, Limited], "{:?}", listener.events);
    let texts: Vec<&str> = listener.events.iter().map(|(_, text)| text.as_str()).collect();
    assert!(texts[0].ends_with("removed by --min-free"), "{texts:?}");
    assert!(texts[2].starts_with("1 of 12 samples is written: 1.07 MiB are free"), "{texts:?}");
    assert!(texts[3].starts_with("samples are not written: 1000 KiB are free"), "{texts:?}");
    assert!(ended.limited.is_some());
    let left: Vec<u64> = kept(&ended.dir).iter().map(|at| at - 300).collect();
    assert_eq!(left, [1, 12, 25]);
}

#[test]
fn segments_are_bounded_by_the_size_of_the_watch_and_those_with_an_incident_stay() {
    let dir = tempfile::tempdir().unwrap();
    let limits = crate::plan::WatchLimits { max_disk_bytes: Some(48 << 10), ..Default::default() };
    let plan = WatchPlan {
        limits,
        every: Duration::from_secs(1),
        triggers: vec![crate::plan::Trigger::parse("Threads_running > 50").unwrap()],
        after: Duration::from_secs(2),
        ..WatchPlan::default()
    };
    let mut listener = Listener::default();
    let mut recorder = recorder_for(&plan, dir.path(), &mut listener);
    let (mut segments, mut at, mut random) = (0, 0, 1u64);
    let mut folder = None;
    while segments < 12 {
        segments += 1;
        let origin = TEN + at * SECOND;
        recorder.start_segment(origin, origin);
        let mut second = 0;
        while !recorder.wants_rotation(TEN) && second < 600 {
            second += 1;
            let mut sample = status(second * SECOND, 0, at as f64 + second as f64);
            // Numbers that do not pack.
            let numbers = (0..60).map(|n| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (format!("n{n}"), (random >> 11) as f64)
            });
            let mut numbers: Vec<(String, f64)> = numbers.collect();
            numbers.push(("Threads_running".to_owned(), if at + second == 5 { 90.0 } else { 1.0 }));
            sample.values = SampleValues::Numbers(numbers);
            recorder.take_sample(sample, origin);
        }
        at += second;
        recorder.end_segment(&[], None, origin, Nanos(second * SECOND));
        folder.get_or_insert_with(|| {
            let entry = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap();
            entry.path()
        });
        let bytes = kernel::folder_bytes(&folder.clone().unwrap());
        assert!(bytes < (48 << 10) + (24 << 10), "{bytes}");
    }
    let ended = recorder.close(RunState::Done, WatchCost::default(), Nanos(1)).unwrap();
    let events = &listener.events;
    assert!(events.iter().any(|(kind, _)| *kind == WatchEventKind::Removed), "{events:?}");
    let reader = WatchReader::open(&ended.dir).unwrap().unwrap();
    assert_eq!(reader.list_incidents(&(0..u64::MAX)).len(), 1);
    assert_eq!(reader.segments[0].number, 1, "the segment with the incident went");
    assert!(reader.segments[1].number > 2, "the oldest without one stayed");
}

#[test]
fn an_incident_keeps_the_minute_before_and_the_time_after() {
    let dir = tempfile::tempdir().unwrap();
    let triggers = ["threads_running > 50 for 3s", "rate(Com_select) > 1000"];
    let triggers = triggers.map(|text| crate::plan::Trigger::parse(text).unwrap()).to_vec();
    let plan = WatchPlan { triggers, pause: Duration::from_secs(100), ..WatchPlan::default() };
    let mut listener = Listener::default();
    let mut recorder = recorder_for(&plan, dir.path(), &mut listener);
    assert_eq!(recorder.sampling_interval(), Duration::from_secs(1));
    let look = |second: u64| {
        // Much is running twice, and for long the first time.
        let running = if (100..140).contains(&second) || second == 150 { 60.0 } else { 2.0 };
        ProbeSample {
            values: SampleValues::Numbers(vec![("Threads_running".to_owned(), running)]),
            ..status(second * SECOND, 0, 0.0)
        }
    };
    recorder.start_segment(TEN, TEN);
    for second in 1..90 {
        recorder.take_sample(look(second), TEN);
    }
    recorder.end_segment(&[], None, TEN, Nanos(90 * SECOND));
    // The next segment's clock begins elsewhere: the ring goes on.
    let origin = TEN + 90 * SECOND;
    recorder.start_segment(origin, origin);
    let mut asked = 0;
    for second in 90..200 {
        let mut sample = look(second);
        for at in [&mut sample.planned, &mut sample.began, &mut sample.ended] {
            *at = Nanos(at.0 - 90 * SECOND);
        }
        recorder.take_sample(sample, origin);
        if recorder.take_heavy_request() {
            asked += 1;
            recorder.take_heavy(ProbeSample { probe: "incident.x", ..status(0, 0, 1.0) }, origin);
        }
    }
    recorder.end_segment(&[], None, origin, Nanos(110 * SECOND));
    let ended = recorder.close(RunState::Done, WatchCost::default(), Nanos(1)).unwrap();
    assert_eq!(asked, 1, "{:?}", listener.events);
    let texts: Vec<&str> = listener.events.iter().map(|(_, text)| text.as_str()).collect();
    let expected = "threads_running > 50 for 3s (it is 60): kept in \
                    incidents/2026-11-22T22-01-43Z_threads_running";
    assert_eq!(texts, ["--when: no probe has a number `Com_select`", expected]);
    let reader = WatchReader::open(&ended.dir).unwrap().unwrap();
    let incident = &reader.list_incidents(&(0..u64::MAX))[0];
    let seconds = kept(incident);
    // A minute before, what fired it, half a minute after, and the heavy look.
    assert_eq!((seconds.iter().min(), seconds.iter().max()), (Some(&43), Some(&133)));
    assert_eq!(seconds.len(), 91 + 1);
    // Of the watch itself only what was asked is kept.
    assert!(kept(&ended.dir).iter().all(|at| at % 5 == 0));
}
