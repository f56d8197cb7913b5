//! Series from generators with fixed seeds, and two recorded runs of a server with a small redo log.

use super::super::findings::InsideOutside;
use super::*;
use crate::archive::{ArrivalRecord, IntervalRecord, SampleRecord};
use crate::base::random::Rng;

const SECOND: u64 = 1_000_000_000;

/// A stall: when, how long (seconds), what share of the events is left.
type Notch = (f64, f64, f64);

/// Batches of events at random moments: a batch of one gives a dispersion of 1, geometric batches of mean m one of
/// 2m-1. Also what the batches lose in notches is drawn batch by batch.
fn load(rate: f64, dispersion: f64, seconds: u64, notches: &[Notch], seed: u64) -> Trial {
    let mut rng = Rng::new(seed, 0, 0);
    let batch = (dispersion + 1.0) / 2.0;
    let mut slots = vec![0u32; seconds as usize * 100];
    let mut at = 0.0;
    loop {
        at += rng.exponential(batch / rate);
        if at >= seconds as f64 {
            break;
        }
        let mut size = 1;
        while rng.uniform_fraction() > 1.0 / batch {
            size += 1;
        }
        let notch = notches.iter().find(|(from, long, _)| at >= *from && at < from + long);
        if rng.uniform_fraction() < notch.map_or(1.0, |n| n.2) {
            slots[(at * 100.0) as usize] += size;
        }
    }
    of_slots(&slots)
}

/// A load whose intervals are seconds.
fn of_slots(slots: &[u32]) -> Trial {
    let interval = |(n, slots): (usize, &[u32])| IntervalRecord {
        began_ns: n as u64 * SECOND,
        ended_ns: (n as u64 + 1) * SECOND,
        events: vec![slots.iter().map(|s| u64::from(*s)).sum()],
        slots: slots.to_vec(),
        in_flight: 8,
        ..IntervalRecord::default()
    };
    let intervals: Vec<_> = slots.chunks(100).enumerate().map(interval).collect();
    let ended_ns = intervals.len() as u64 * SECOND;
    Trial {
        ended_ns,
        intervals,
        workers: 8,
        arrival: ArrivalRecord::closed(0.0, "closed"),
        ..Trial::default()
    }
}

fn notches(every: f64, seconds: u64) -> Vec<Notch> {
    let starts = (0..).map(|n| every * (f64::from(n) + 0.5));
    starts.take_while(|at| *at < seconds as f64 - 1.0).map(|at| (at, 0.6, 0.1)).collect()
}

fn found(trial: &Trial) -> StallFindings {
    find_stalls(&RunRecord::default(), trial, None).expect("long enough")
}

/// Every cell of the table: 300 s at a rate and dispersion, without stalls and with 0.6 s to a tenth every 30 s or 5 s.
#[test]
fn no_false_stall_and_every_true_one_that_can_be_told() {
    for (cell, (rate, dispersion, resolvable)) in [
        (50.0, 1.0, false),
        (50.0, 5.0, false),
        (50.0, 20.0, false),
        (200.0, 1.0, true),
        (200.0, 5.0, false),
        (200.0, 20.0, false),
        (1_000.0, 1.0, true),
        (1_000.0, 5.0, true),
        (1_000.0, 20.0, false),
        (10_000.0, 1.0, true),
        (10_000.0, 20.0, true),
        (50_000.0, 5.0, true),
        (50_000.0, 20.0, true),
    ]
    .into_iter()
    .enumerate()
    {
        let what = format!("{rate}/s, dispersion {dispersion}");
        let seed = 100 + cell as u64;
        let calm = found(&load(rate, dispersion, 300, &[], seed));
        assert!(calm.events.is_empty(), "{what}: {:?}", calm.events);
        assert_eq!((calm.lost_share, calm.period_s), (0.0, None), "{what}");
        let shows = calm.resolution_s.is_some_and(|s| s < 0.6 * 1.2);
        assert_eq!(shows, resolvable, "{what}: {:?}", calm.resolution_s);
        let told = calm.notes.iter().any(|note| note.starts_with("resolution "));
        assert_eq!(told, calm.resolution_s.is_none(), "{what}: {:?}", calm.notes);
        if !resolvable {
            continue;
        }
        for every in [30.0, 5.0] {
            let truth = notches(every, 300);
            let stalls = found(&load(rate, dispersion, 300, &truth, seed));
            assert_eq!(stalls.events.len(), truth.len(), "{what}, every {every}");
            for (event, (at, long, _)) in stalls.events.iter().zip(&truth) {
                assert!((event.began_s - at).abs() < 0.25, "{what}: {event:?} at {at}");
                assert!((event.seconds - long).abs() < 0.3, "{what}: {event:?}");
                assert!(event.depth > 0.6, "{what}: {event:?}");
            }
            let true_share = 0.6 * 0.9 / every;
            assert!((stalls.lost_share / true_share - 1.0).abs() < 0.35, "{what}: {stalls:?}");
            if every == 5.0 {
                assert!((stalls.period_s.unwrap() - 5.0).abs() < 0.1, "{what}");
            }
        }
    }
}

#[test]
fn a_full_stop_is_found_where_a_slow_spell_could_not_be() {
    // 50 events a second: no window below 2 s tells a slow spell, but one second of silence is no chance.
    let trial = load(50.0, 1.0, 120, &[(60.0, 1.0, 0.0)], 5);
    let stalls = found(&trial);
    assert!(stalls.resolution_s.is_none_or(|s| s > 1.9));
    let [stop] = &stalls.events[..] else { panic!("{stalls:?}") };
    assert_eq!((stop.kind, stop.depth), (StallKind::FullStop, 1.0));
    assert!((stop.began_s - 60.0).abs() < 0.1 && (stop.seconds - 1.0).abs() < 0.2, "{stop:?}");
    assert!((stalls.longest_silence_s.unwrap() - stop.seconds).abs() < 1e-9);
    assert!((stop.lost_events - 50.0).abs() < 20.0);
}

#[test]
fn a_full_stop_is_found_in_a_rate_that_comes_and_goes() {
    // Another rate every 300 ms, between 100 and 1,900: as on a busy machine.
    let mut rng = Rng::new(12, 0, 0);
    let (mut rate, mut at) = (1_000.0, 0.0);
    let mut slots = vec![0u32; 6_000];
    for (n, slot) in slots.iter_mut().enumerate() {
        if n % 30 == 0 {
            rate = 100.0 + 1_800.0 * rng.uniform_fraction();
        }
        while at < (n + 1) as f64 {
            *slot += u32::from(at >= n as f64);
            at += rng.exponential(100.0 / rate);
        }
    }
    let calm = found(&of_slots(&slots));
    assert!(calm.resolution_s.is_none() && calm.events.is_empty(), "{calm:?}");
    slots[3_000..3_080].fill(0);
    let stalls = found(&of_slots(&slots));
    let [stop] = &stalls.events[..] else { panic!("{stalls:?}") };
    assert_eq!(stop.kind, StallKind::FullStop);
    assert!((stop.began_s - 30.0).abs() < 0.05 && (stop.seconds - 0.8).abs() < 0.05, "{stop:?}");
}

#[test]
fn neighbours_are_one_stall_and_ends_are_none() {
    let twice = [(20.0, 0.4, 0.0), (20.8, 0.4, 0.0), (40.0, 0.4, 0.0), (41.0, 0.4, 0.0)];
    let stalls = found(&load(2_000.0, 1.0, 60, &twice, 1));
    assert_eq!(stalls.events.len(), 3, "{stalls:?}");
    assert!((stalls.events[0].seconds - 1.2).abs() < 0.05);
    // Slow from the begin and to the end: workers that come and go.
    let ends = [(0.0, 0.8, 0.0), (59.0, 1.0, 0.05)];
    let stalls = found(&load(2_000.0, 1.0, 60, &ends, 2));
    assert!(stalls.events.is_empty(), "{stalls:?}");
    assert!(stalls.notes.iter().any(|n| n.starts_with("slow to its end")));
}

/// One silence in a load: of every length, at its start, in its middle and to its end.
#[test]
fn a_standstill_is_found_whatever_share_of_the_load_it_is() {
    for (seconds, rate, dispersion) in [(15, 2_000.0, 1.0), (40, 300.0, 5.0), (70, 20_000.0, 20.0)]
    {
        for percent in [1, 3, 10, 20, 33, 45, 49, 50, 51, 55, 60, 62, 70, 80, 90, 95] {
            let long = percent as f64 / 100.0 * seconds as f64;
            let rest = seconds as f64 - long;
            for (place, at) in [("start", 0.0), ("middle", 0.4 * rest), ("end", rest)] {
                let what = format!("{long} s of {seconds} at the {place}, {rate}/s, {dispersion}");
                let trial = load(rate, dispersion, seconds, &[(at, long, 0.0)], 7 + percent);
                let stalls = found(&trial);
                let at_end = place != "middle";
                // At an end less than a second may be workers that come and go.
                if long < if at_end { 1.1 } else { 0.5 } {
                    continue;
                }
                // In the little that is left of a bursty load more may look slow.
                let stops = stalls.events.iter().filter(|s| s.kind == StallKind::FullStop);
                let [stop] = &stops.collect::<Vec<_>>()[..] else { panic!("{what}: {stalls:?}") };
                assert!((stop.seconds - long).abs() < 0.35, "{what}: {stop:?}");
                assert!((stop.began_s - at).abs() < 0.25, "{what}: {stop:?}");
                let truth = long / seconds as f64;
                assert!((stalls.lost_share - truth).abs() < 0.03, "{what}: {}", stalls.lost_share);
                assert!((stalls.longest_silence_s.unwrap() - long).abs() < 0.35, "{what}");
            }
        }
    }
}

#[test]
fn stops_that_make_nine_tenths_of_a_load_are_all_found() {
    let stops: Vec<Notch> = (0..6).map(|n| (0.7 + 7.0 * f64::from(n), 6.3, 0.0)).collect();
    let stalls = found(&load(1_000.0, 1.0, 43, &stops, 11));
    assert_eq!(stalls.events.len(), 6, "{stalls:?}");
    assert!((stalls.lost_share - 37.8 / 43.0).abs() < 0.03, "{}", stalls.lost_share);
}

#[test]
fn a_silence_that_nobody_waited_in_is_none() {
    // Eight workers who think for five seconds, all at the same time; then the same with arrivals that wait.
    let mut trial = load(1_000.0, 1.0, 60, &[], 12);
    for (n, interval) in trial.intervals.iter_mut().enumerate() {
        if n % 6 != 0 {
            interval.slots.fill(0);
            interval.in_flight = 0;
        }
    }
    trial.arrival = ArrivalRecord::closed(5.0, "closed, 5s think time");
    let stalls = found(&trial);
    assert!(stalls.events.is_empty(), "{stalls:?}");
    trial.intervals.iter_mut().for_each(|i| i.backlog = 5);
    assert_eq!(found(&trial).events.len(), 10);
    // Most workers had finished; only one was still at work.
    let mut trial = load(2_000.0, 1.0, 20, &[(12.0, 8.0, 0.0)], 13);
    trial.intervals[12..].iter_mut().for_each(|i| i.in_flight = 1);
    let stalls = found(&trial);
    assert!(stalls.events.is_empty(), "{stalls:?}");
    assert!(stalls.notes.iter().any(|n| n.starts_with("slow to its end")), "{:?}", stalls.notes);
}

#[test]
fn events_that_take_long_make_no_standstill() {
    // Sixteen workers, each inside a statement of five seconds: all end within a third of a second.
    let mut trial = of_slots(&vec![0; 6_000]);
    for (n, interval) in trial.intervals.iter_mut().enumerate() {
        if n % 5 == 4 {
            (0..16).for_each(|worker| interval.slots[50 + worker * 2] = 1);
        }
    }
    let mut service = crate::recorder::new_histogram();
    service.record_n(5 * SECOND, 192).unwrap();
    trial.service = vec![service];
    let stalls = found(&trial);
    assert!(stalls.events.is_empty(), "{stalls:?}");
}

#[test]
fn lines_that_could_not_be_written_are_a_gap_and_no_silence() {
    // The disk of the run folder is full from 20 s to 24 s; the server went on.
    let mut trial = load(2_000.0, 1.0, 60, &[(40.0, 2.0, 0.0)], 14);
    let whole = found(&trial).lost_share;
    trial.intervals.drain(20..24);
    let stalls = found(&trial);
    let [stop] = &stalls.events[..] else { panic!("{stalls:?}") };
    assert!((stop.began_s - 40.0).abs() < 0.05, "{stop:?}");
    assert!((stalls.longest_silence_s.unwrap() - 2.0).abs() < 0.05);
    assert!((stalls.lost_share - whole * 60.0 / 56.0).abs() < 0.002, "{}", stalls.lost_share);
    assert!(
        stalls.notes.iter().any(|n| n.contains("4.00 s of the load are not in the run folder"))
    );
    // The same where only intervals were kept, and where nothing else is wrong.
    trial.intervals.retain(|i| !(40..42).contains(&(i.began_ns / SECOND)));
    trial.intervals.iter_mut().for_each(|i| i.slots.clear());
    assert!(found(&trial).events.is_empty(), "{:?}", found(&trial));
}

#[test]
fn no_stall_is_shorter_than_what_can_be_told() {
    for seed in 0..40 {
        let truth = [(20.0, 0.12, 0.02), (40.0, 0.13, 0.1), (60.0, 0.4, 0.45)];
        let stalls = found(&load(5_000.0, 1.0, 90, &truth, 200 + seed));
        let resolution = stalls.resolution_s.unwrap();
        for event in &stalls.events {
            assert!(event.seconds > resolution - 1e-9, "{event:?}, resolution {resolution}");
        }
    }
}

#[test]
fn what_a_short_load_can_show() {
    // Few events: slow spells can't be told at all, stops only if they are long.
    let stalls = found(&load(45.0, 1.0, 8, &[], 15));
    assert_eq!(stalls.resolution_s, None, "{stalls:?}");
    assert!(stalls.full_stop_s.is_some_and(|s| s <= 2.0), "{stalls:?}");
    let stalls = found(&load(5.0, 1.0, 8, &[], 16));
    assert_eq!((stalls.resolution_s, stalls.full_stop_s), (None, None), "{stalls:?}");
    let stalls = found(&load(5_000.0, 1.0, 5, &[], 17));
    assert!(stalls.resolution_s.is_some_and(|s| s < 0.5), "{stalls:?}");
}

#[test]
fn what_lies_before_t0_does_not_count() {
    let trial = load(2_000.0, 1.0, 60, &[(5.0, 0.5, 0.0), (40.0, 0.5, 0.0)], 3);
    assert_eq!(found(&trial).events.len(), 2);
    let late = find_stalls(&RunRecord::default(), &trial, Some(20.0)).unwrap();
    assert_eq!(late.events.len(), 1);
    assert!((late.events[0].began_s - 40.0).abs() < 0.05);
    // But no warming looks like a standstill.
    let stood = load(2_000.0, 1.0, 60, &[(5.0, 8.0, 0.0)], 3);
    let stalls = find_stalls(&RunRecord::default(), &stood, Some(20.0)).unwrap();
    assert_eq!(stalls.events.len(), 1);
    assert!((stalls.lost_share - 8.0 / 60.0).abs() < 0.01, "{}", stalls.lost_share);
    assert_eq!(find_stalls(&RunRecord::default(), &trial, Some(59.0)), None);
    assert_eq!(find_stalls(&RunRecord::default(), &Trial::default(), None), None);
}

#[test]
fn a_drifting_rate_is_no_stall() {
    let mut rng = Rng::new(9, 0, 0);
    let rise = |n: u32| (1.0 + f64::from(n) / 3_000.0) * 10.0;
    let slots: Vec<u32> =
        (0..30_000).map(|n| (rise(n) * (0.5 + rng.uniform_fraction())) as u32).collect();
    let stalls = found(&of_slots(&slots));
    assert!(stalls.events.is_empty() && stalls.dips == 0, "{stalls:?}");
}

#[test]
fn events_that_hang_together_are_stuck() {
    let mut trial = load(2_000.0, 1.0, 60, &[], 4);
    for interval in &mut trial.intervals {
        let mut response = crate::recorder::new_histogram();
        response.record_n(2_000_000, 1_990).unwrap();
        response.record_n(9_000_000, 10).unwrap();
        interval.response = (&response).into();
    }
    assert!(found(&trial).events.is_empty());
    let mut response = crate::recorder::new_histogram();
    response.record_n(2_000_000, 1_996).unwrap();
    response.record_n(3 * SECOND, 4).unwrap();
    trial.intervals[30].response = (&response).into();
    let stalls = found(&trial);
    let [stuck] = &stalls.events[..] else { panic!("{stalls:?}") };
    assert_eq!(stuck.kind, StallKind::Stuck);
    // Three seconds to the end of the interval 30 to 31: under way from 28 to 30 for certain.
    assert!((stuck.began_s - 28.0).abs() < 0.01 && (stuck.seconds - 2.0).abs() < 0.01);
    // Two of eight workers are too few.
    let mut response = crate::recorder::new_histogram();
    response.record_n(2_000_000, 1_998).unwrap();
    response.record_n(3 * SECOND, 2).unwrap();
    trial.intervals[30].response = (&response).into();
    assert!(found(&trial).events.is_empty());
}

/// 150 s of updates with a redo log of 64 MiB, as sysbench's lines per second: a folder without slots.
#[test]
fn furious_flushing_by_the_second() {
    let text = include_str!("../../../../../tests/data/stalls/furious.txt");
    let rate = |line: &str| line.split_once(" tps: ")?.1.split(' ').next()?.parse::<f64>().ok();
    let interval = |(n, rate): (usize, f64)| IntervalRecord {
        began_ns: n as u64 * SECOND,
        ended_ns: (n as u64 + 1) * SECOND,
        events: vec![rate.round() as u64],
        ..IntervalRecord::default()
    };
    let intervals: Vec<_> = text.lines().filter_map(rate).enumerate().map(interval).collect();
    assert_eq!(intervals.len(), 150);
    let trial = Trial { ended_ns: 150 * SECOND, intervals, ..Trial::default() };
    let stalls = found(&trial);
    assert_eq!(stalls.events.len(), 20);
    assert_eq!(stalls.events.iter().map(|e| e.seconds).sum::<f64>(), 22.0);
    assert!((stalls.lost_share - 0.097).abs() < 0.001, "{}", stalls.lost_share);
    let period = stalls.period_s.unwrap();
    assert!((4.0..=4.3).contains(&period), "{period}");
    assert!((stalls.slowest_by_median.unwrap() - 0.10).abs() < 0.005);
    assert!(stalls.notes.iter().any(|n| n.contains("have a rhythm")), "{:?}", stalls.notes);
    assert!(stalls.notes.iter().any(|n| n.contains("kept no hundredths")), "{:?}", stalls.notes);
    let words = stalls_text(&stalls).unwrap();
    assert!(words.starts_with("20 stalls, one every 4.1"), "{words}");
    assert!(words.ends_with("9.69 % of the work lost"), "{words}");
}

/// 57 s of such a run with counters polled each 50 ms; every `keep`th poll is kept as a sample.
fn polled(keep: usize) -> (RunRecord, Trial) {
    let text = include_str!("../../../../../tests/data/stalls/furious_poll.tsv");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    let rows: Vec<Vec<f64>> =
        lines.map(|l| l.split('\t').map(|cell| cell.parse().unwrap()).collect()).collect();
    let at = |row: &[f64]| ((row[0] - rows[0][0]) * 1e9) as u64;
    let interval = |pair: &[Vec<f64>]| IntervalRecord {
        began_ns: at(&pair[0]),
        ended_ns: at(&pair[1]),
        events: vec![(pair[1][2] - pair[0][2]) as u64],
        ..IntervalRecord::default()
    };
    let intervals: Vec<_> = rows.windows(2).map(interval).collect();
    let sample = |row: &Vec<f64>| SampleRecord {
        probe: "status".to_owned(),
        began_ns: at(row),
        ended_ns: at(row),
        numbers: names[2..].iter().map(|n| (*n).to_owned()).zip(row[2..].iter().copied()).collect(),
        ..SampleRecord::default()
    };
    let samples = rows.iter().step_by(keep).map(sample).collect();
    let ended_ns = at(rows.last().unwrap());
    let trial = Trial { ended_ns, intervals, workers: 4, ..Trial::default() };
    (RunRecord { samples, ..RunRecord::default() }, trial)
}

#[test]
fn furious_flushing_is_the_checkpoint_by_its_counters() {
    let (run, trial) = polled(1);
    let stalls = find_stalls(&run, &trial, None).unwrap();
    assert!((14..=18).contains(&stalls.events.len()), "{stalls:?}");
    assert!((0.11..=0.17).contains(&stalls.lost_share), "{}", stalls.lost_share);
    let cause = &stalls.causes[0];
    assert_eq!(cause.id, "CHECKPOINT");
    assert!(cause.share >= 0.85, "{cause:?}");
    assert!(cause.evidence.contains("Innodb_buffer_pool_pages_flushed"), "{cause:?}");
    let flushed = |c: &&InsideOutside| c.counter == "Innodb_buffer_pool_pages_flushed/s";
    let flushed = stalls.counters.iter().find(flushed).expect("it differs most");
    assert!(flushed.z > 20.0 && flushed.inside > 10.0 * flushed.outside, "{flushed:?}");
    // The same again gives the same.
    assert_eq!(find_stalls(&run, &trial, None).unwrap(), stalls);
}

#[test]
fn a_sample_a_second_still_names_the_checkpoint() {
    for keep in [4, 20] {
        let (run, trial) = polled(keep);
        let stalls = find_stalls(&run, &trial, None).unwrap();
        assert_eq!(stalls.causes.first().map(|c| c.id), Some("CHECKPOINT"), "{keep}: {stalls:?}");
    }
}

#[test]
fn counters_that_have_nothing_to_do_with_it_are_no_cause() {
    // The counters of another time: turned by a third of the run.
    let (mut run, trial) = polled(1);
    let turn = run.samples.len() / 3;
    let numbers: Vec<_> = run.samples.iter().map(|s| s.numbers.clone()).collect();
    for (n, sample) in run.samples.iter_mut().enumerate() {
        sample.numbers = numbers[(n + turn) % numbers.len()].clone();
    }
    let stalls = find_stalls(&run, &trial, None).unwrap();
    assert!(stalls.causes.is_empty(), "{:?}", stalls.causes);
}
