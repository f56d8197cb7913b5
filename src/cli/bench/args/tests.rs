//! Words of a bench and the plan they make.

use super::*;

fn args(line: &str) -> ArgMatches {
    let line = line.split_whitespace();
    let matches =
        crate::cli::with_help(super::super::command()).try_get_matches_from(line).unwrap();
    matches.subcommand().map_or(matches.clone(), |(_, sub)| sub.clone())
}

fn plan_of(line: &str) -> Result<LoadPlan, Vec<String>> {
    let (mut load, mut mistakes) = (LoadPlan::default(), Vec::new());
    super::apply_load_flags(&mut load, &args(line), line.contains("queries"), &mut mistakes);
    if mistakes.is_empty() {
        Ok(load)
    } else {
        Err(mistakes.into_iter().map(|m| m.to_string()).collect())
    }
}

#[test]
fn a_load_without_words_has_one_worker_and_ten_seconds() {
    let load = plan_of("bench null").unwrap();
    assert_eq!((load.workers, load.time, load.events), (1, Some(TIME), None));
    assert_eq!(load.arrival, ArrivalPlan::default());
    assert_eq!(plan_of("bench queries --file=x").unwrap().time, None);
}

#[test]
fn sysbench_words_mean_what_they_mean_there() {
    let load =
        plan_of("bench null --threads=8 --time=0 --events=100 --rate=50 --report-interval=5")
            .unwrap();
    assert_eq!((load.workers, load.time, load.events), (8, None, Some(100)));
    assert_eq!(load.arrival, ArrivalPlan::Poisson { per_second: 50.0 });
    assert_eq!(load.interval, Duration::from_secs(5));
    assert_eq!(plan_of("bench null --rate=0").unwrap().arrival, ArrivalPlan::default());
    assert_eq!(plan_of("bench null --time=0").unwrap().time, None);
    assert_eq!(plan_of("bench null --events=7").unwrap().time, None);
}

#[test]
fn a_share_and_its_start_are_read() {
    let ahead = RealClock::start_now().origin_unix_ns() / 1_000_000_000 + 3600;
    let load = plan_of(&format!("bench null --share=2/3 --start-at=@{ahead}")).unwrap();
    assert_eq!(load.share.unwrap().to_string(), "2/3");
    assert_eq!(load.start_at_unix_ns, Some(ahead * 1_000_000_000));
    let why = |words: &str| plan_of(&format!("bench null {words}")).unwrap_err();
    assert_eq!(why("--share=4/3"), ["--share: there is no share 4 of 3"]);
    assert_eq!(why("--share=half"), ["--share: `half` is not a share"]);
    assert_eq!(why("--start-at=@1"), ["--start-at: it has passed"]);
    assert_eq!(why("--start-at=noon"), ["--start-at: `noon` is not a moment"]);
    let far = why(&format!("--start-at=@{}", ahead + 90_000));
    assert_eq!(far, ["--start-at: it is more than a day ahead"]);
}

#[test]
fn a_rate_has_its_units() {
    for (text, per_second) in
        [("20k/s", 20_000.0), ("20k", 20_000.0), ("1.5k/s", 1500.0), ("20000", 20_000.0)]
    {
        let load = plan_of(&format!("bench null --rate={text}")).unwrap();
        assert_eq!(load.arrival, ArrivalPlan::Poisson { per_second });
    }
    let constant = plan_of("bench null --rate=300/m --arrival=constant").unwrap();
    assert_eq!(constant.arrival, ArrivalPlan::Constant { per_second: 5.0 });
    for text in ["20q/s", "5/x", "nan"] {
        let mistakes = plan_of(&format!("bench null --rate={text}")).unwrap_err();
        assert_eq!(mistakes, [format!("--rate: `{text}` is not a rate like 500, 20k/s or 300/m")]);
    }
}

#[test]
fn stages_say_when_events_begin_and_when_the_load_ends() {
    let words = |line: &str| plan_of(&format!("bench null {line}"));
    let load = words("--stages=10s:0..500,1m:0.5k/s,10s:500..0 --arrival=constant").unwrap();
    let stages = RateStages::parse("10s:0..500, 1m:500, 10s:500..0").unwrap();
    let spacing = ArrivalSpacing::Constant;
    assert_eq!(load.arrival, ArrivalPlan::Stages { stages, spacing });
    assert_eq!(load.time, Some(Duration::from_secs(80)));
    assert_eq!(words("--stages=1s:5 --events=3").unwrap().events, Some(3));
    for (line, expected) in [
        ("--stages=1s:5 --time=9", "--time: the stages have times of their own"),
        ("--stages=1s:5 --time=0", "--time: the stages have times of their own"),
        ("--stages=1s:5 --rate=5", "--rate: both a rate and stages"),
        ("--stages=1s:5 --think=5ms", "--think: only a closed loop has think time"),
        ("--stages=1s:5 --until-steady", "--until-steady: a changing rate has no steady state"),
        ("--stages=1s:5 --arrival=bus", "--arrival: no such arrival"),
        ("--stages=", "--stages: there are no stages"),
        ("--stages=1s:5,", "--stages: stage 2 is empty"),
        (
            "--stages=1s:0..x",
            "--stages: stage 1, `1s:0..x`: `x` is not a rate like 500, 20k/s or 300/m",
        ),
    ] {
        assert_eq!(words(line).unwrap_err(), [expected], "{line}");
    }
}

#[test]
fn all_mistakes_are_told_together() {
    let words = "bench null --threads=0 --time=soon --rate=-1 --engine=steam --interval=1ms";
    let mistakes = plan_of(words).unwrap_err();
    assert_eq!(
        mistakes,
        [
            "--threads: 0 is out of range",
            "--time: `soon` is not a time like 5s, 200ms or 2m",
            "--rate: `-1` is not a rate like 500, 20k/s or 300/m",
            "--interval: it is too short",
            "--engine: no such engine",
        ]
    );
    let open = plan_of("bench null --rate=5 --think=1s").unwrap_err();
    assert_eq!(open, ["--think: only a closed loop has think time"]);
    assert_eq!(plan_of("bench null --arrival=constant").unwrap_err().len(), 1);
}

#[test]
fn a_workload_may_stand_behind_its_options() {
    let takes_value = |flag: &str| flag == "-u";
    let sort = |line: &str| -> String {
        let mut words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        move_workload_first(&mut words, &takes_value);
        words.join(" ".as_ref()).into_string().unwrap()
    };
    assert_eq!(
        sort("sweat bench --tables=4 -u null null run"),
        "sweat bench null --tables=4 -u null run"
    );
    assert_eq!(sort("sweat bench null -q"), "sweat bench null -q");
    assert_eq!(sort("sweat report null"), "sweat report null");
    assert_eq!(sort("sweat bench other --x null"), "sweat bench other --x null");
}
