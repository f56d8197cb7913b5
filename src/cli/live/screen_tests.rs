//! The view as text, against golden files. `UPDATE=1 cargo test screen` rewrites them.

use std::path::Path;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::widgets::Paragraph;

use super::*;
use crate::archive::SampleRecord;
use crate::base::Nanos;
use crate::plan::{LoadPlan, Objective};
use crate::recorder::{ClassTotals, Interval};

fn header() -> LoadHeader {
    let load = LoadPlan { workers: 8, time: Some(Duration::from_secs(30)), ..LoadPlan::default() };
    LoadHeader {
        kind: "oltp_read_write".to_owned(),
        load,
        server: "MariaDB 11.4.2".to_owned(),
        ..LoadHeader::default()
    }
}

/// An interval of a second with these response times, us, and so many failures.
fn interval(second: u64, latencies_us: impl Iterator<Item = u64>, failed: u64) -> Interval {
    let mut class = ClassTotals::default();
    latencies_us.for_each(|us| class.response.record(us * 1000));
    class.failed.record_n(1, failed);
    let [began, ended] = [second, second + 1].map(|s| Nanos(s * 1_000_000_000));
    Interval { classes: vec![class], in_flight: 8, ..Interval::empty(began, ended) }
}

/// Twelve seconds, slower and slower; in the ninth something fails.
fn stats() -> LiveStats {
    let mut stats = LiveStats::at_load_start(Nanos(0));
    for second in 0..12 {
        let times = (0..400 - 10 * second).map(|n| 900 + 7 * n + second * n * n / 50);
        let failed = if second == 8 { 3 } else { 0 };
        stats.add_interval(&interval(second, times, failed), Nanos(second * 50_000_000));
    }
    for at in [1, 2] {
        let numbers = [
            ("Threads_running", 5.0),
            ("Innodb_buffer_pool_pages_data", 700.0),
            ("Innodb_buffer_pool_pages_total", 8000.0),
            ("Questions", 5000.0 * f64::from(at)),
            ("cpu.busy_s", 2.0 * f64::from(at)),
        ];
        stats.add_sample(SampleRecord {
            probe: "status".to_owned(),
            ended_ns: u64::from(at as u32) * 1_000_000_000,
            numbers: numbers.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect(),
            ..SampleRecord::default()
        });
    }
    stats
}

fn screen(header: LoadHeader) -> LoadScreen {
    let mut screen = LoadScreen::new(header, false, true);
    screen.set_stats(&stats());
    screen
}

/// What a terminal of this size shows.
fn shown(screen: &LoadScreen, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let lines = screen.lines(width, height);
    assert!(lines.len() <= usize::from(height), "{} lines of {height}", lines.len());
    terminal.draw(|frame| frame.render_widget(Paragraph::new(lines), frame.area())).unwrap();
    let buffer = terminal.backend().buffer();
    let row = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| row(y).trim_end().to_owned() + "\n").collect()
}

/// Compares with the golden file, or rewrites it if asked.
fn golden(found: &str, file: &str) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/golden/live");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join(file), found).unwrap();
    }
    let wanted = std::fs::read_to_string(dir.join(file)).unwrap_or_default();
    assert_eq!(found, wanted, "{file}; UPDATE=1 rewrites it");
}

fn planned() -> LoadHeader {
    LoadHeader {
        step: "[  3/17] block 1, a: load".to_owned(),
        left_s: Some(150.0),
        objectives: vec![
            Objective::parse("", "p99 < 20ms").unwrap(),
            Objective::parse("", "errors < 0.01%").unwrap(),
        ],
        ..header()
    }
}

#[test]
fn a_terminal_of_80_by_24_shows_all_of_it() {
    golden(&shown(&screen(planned()), 80, 22), "80x22.txt");
}

#[test]
fn narrow_and_short_terminals_show_what_matters_most() {
    golden(&shown(&screen(planned()), 40, 8), "40x8.txt");
    golden(&shown(&screen(header()), 120, 12), "120x12.txt");
    for (width, height) in [(1, 1), (10, 2), (20, 5), (40, 3), (300, 60)] {
        shown(&screen(planned()), width, height);
        let mut helped = screen(planned());
        helped.toggle_help();
        shown(&helped, width, height);
    }
}

#[test]
fn help_lies_over_the_view() {
    let mut screen = screen(header());
    screen.toggle_help();
    golden(&shown(&screen, 80, 20), "help.txt");
    golden(&shown(&screen, 40, 10), "help-40x10.txt");
    screen.toggle_help();
    assert!(shown(&screen, 80, 20).contains("so far"));
}

#[test]
fn a_frozen_view_says_so_and_goes_on_where_the_load_is() {
    let mut screen = screen(header());
    screen.toggle_freeze();
    let before = shown(&screen, 80, 20);
    let mut later = stats();
    later.add_interval(&interval(12, std::iter::empty(), 0), Nanos(0));
    screen.set_stats(&later);
    assert_eq!(shown(&screen, 80, 20), before);
    assert!(before.contains("paused at 00:12: the load goes on   space go on"), "{before}");
    screen.toggle_freeze();
    let after = shown(&screen, 80, 20);
    assert!(after.contains("00:13 of 00:30"), "{after}");
    assert!(after.contains("caution  no event has ended for 1.00 s"), "{after}");
}

#[test]
fn a_load_that_ends_says_what_it_waits_for() {
    let mut screen = screen(header());
    assert!(screen.start_stopping() && !screen.start_stopping());
    let text = shown(&screen, 80, 20);
    assert!(text.trim_end().ends_with("stopping: waiting for 8 events"), "{text}");
    let fresh = LoadScreen::new(header(), true, false);
    assert!(shown(&fresh, 80, 20).contains("Ctrl-C ends the load"));
}

#[test]
fn tab_shows_one_pane_after_the_other() {
    let mut header = planned();
    header.ended_steps = vec!["[  1/17] restart                 1.20 s".to_owned()];
    let mut screen = screen(header);
    for file in ["pane-checks.txt", "pane-stalls.txt", "pane-steps.txt"] {
        screen.show_next_pane();
        golden(&shown(&screen, 80, 22), file);
        shown(&screen, 40, 18);
    }
    screen.show_next_pane();
    assert!(shown(&screen, 80, 22).contains("latency  to"));
    // One load has no steps.
    let mut alone = LoadScreen::new(self::header(), false, true);
    (0..3).for_each(|_| alone.show_next_pane());
    assert_eq!(alone.pane(), ScreenPane::Latency);
}

#[test]
fn agents_have_a_line_each() {
    let agent = |name: &str, behind: u64, lost: Option<&str>| AgentProgress {
        name: name.to_owned(),
        events_per_s: 1234.5,
        p99_s: Some(0.0012),
        behind,
        lost: lost.map(str::to_owned),
    };
    let mut screen = screen(header());
    screen.set_agents(&[agent("load-1", 0, None), agent("load-2", 1, None)]);
    assert!(shown(&screen, 80, 22).contains("agents   2 agents, none behind"));
    screen.set_agents(&[
        agent("load-1", 0, None),
        agent("load-2", 3, None),
        agent("far-away", 9, Some("nothing was heard of it for 15 s")),
    ]);
    (0..3).for_each(|_| screen.show_next_pane());
    golden(&shown(&screen, 80, 22), "pane-agents.txt");
    // Of many, those that are lost or behind are shown.
    let mut many: Vec<AgentProgress> = (0..99).map(|n| agent(&format!("a{n}"), 0, None)).collect();
    many[98].lost = Some("it left the load".to_owned());
    screen.set_agents(&many);
    let text = shown(&screen, 80, 22);
    assert!(text.contains("a98  lost: it left the load") && text.contains("more agents"), "{text}");
    screen.show_next_pane();
    assert_eq!(screen.pane(), ScreenPane::Latency);
}

#[test]
fn a_large_terminal_is_used() {
    golden(&shown(&screen(planned()), 120, 38), "120x38.txt");
}

#[test]
fn a_bar_needs_an_end() {
    let bar = |load: LoadPlan| {
        let screen = screen(LoadHeader { load, ..header() });
        let text = shown(&screen, 80, 22);
        text.lines().find(|line| line.starts_with("done ")).map(str::to_owned)
    };
    let time = Some(Duration::from_secs(30));
    let timed = bar(LoadPlan { time, ..LoadPlan::default() }).unwrap();
    assert!(timed.ends_with("40 %"), "{timed}");
    let counted = bar(LoadPlan { time, events: Some(5000), ..LoadPlan::default() }).unwrap();
    assert!(counted.ends_with("82 %"), "{counted}");
    for load in [
        LoadPlan { time, until_steady: true, ..LoadPlan::default() },
        LoadPlan { time: None, ..LoadPlan::default() },
    ] {
        assert_eq!(bar(load), None);
    }
}
