//! How fast a log is parsed, and nothing else done with it: `cargo bench --bench parse -- LOG [TIMES]`. Prints a line of
//! JSON for each time: bytes, records, and CPU seconds of this one thread, which other work on the machine does not
//! lengthen as it does the time on the wall.
#![expect(clippy::print_stdout, reason = "printing is all it is for")]

use std::hint::black_box;
use std::path::PathBuf;

use rustix::time::{ClockId, clock_gettime};
use sweat::capture::{LogFlow, LogParser, source};

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let Some(path) = words.first().map(PathBuf::from) else {
        println!("usage: cargo bench --bench parse -- LOG [TIMES]");
        return;
    };
    let times = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(3_u32);
    for _ in 0..times {
        let mut file = source::open_source(&path).expect("the log can be opened");
        let mut log = LogParser::default();
        let began = cpu_s();
        log.read_source(&mut *file, &mut |record| {
            black_box(record);
            LogFlow::Continue(())
        })
        .expect("it is a log");
        let cpu_s = cpu_s() - began;
        let tally = log.tally();
        println!(
            "{{\"bytes\": {}, \"records\": {}, \"skipped_bytes\": {}, \"cpu_s\": {cpu_s:.4}}}",
            tally.bytes, tally.records, tally.skipped_bytes
        );
    }
}
