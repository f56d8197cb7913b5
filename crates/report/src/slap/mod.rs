//! The texts of mysqlslap's reports, for whoever reads them by program, and what it never had. Pure functions over plain data.
//! Never knows: how numbers were made, where a text goes.

mod formats;

pub use formats::{html_page, json_document};

use crate::analysis::{SlapBlock, StatementLatency};
use crate::text::shorten_cell;

/// Columns of a statement's name, so that a line fits a terminal.
const NAME_WIDTH: usize = 30;

/// The block of an engine and a number of clients.
pub fn block_text(block: &SlapBlock) -> String {
    let [mean, least, most] = block.round_times_ms().map(seconds_text);
    let engine = match block.engine.as_str() {
        "" => String::new(),
        name => format!("\tRunning for engine {name}\n"),
    };
    format!(
        "Benchmark\n{engine}\
         \tAverage number of seconds to run all queries: {mean} seconds\n\
         \tMinimum number of seconds to run all queries: {least} seconds\n\
         \tMaximum number of seconds to run all queries: {most} seconds\n\
         \tNumber of clients running queries: {}\n\
         \tAverage number of queries per client: {}\n\n",
        block.clients, block.queries_per_client
    )
}

/// The same as a line of values; `mix` is what the statements are called.
pub fn csv_line(block: &SlapBlock, mix: &str) -> String {
    let [mean, least, most] = block.round_times_ms().map(seconds_text);
    let SlapBlock { engine, clients, queries_per_client, .. } = block;
    format!("{engine},{mix},{mean},{least},{most},{clients},{queries_per_client}\n")
}

/// How long statements took, by sort.
pub fn latency_text(block: &SlapBlock) -> String {
    let latencies = block.latencies();
    if latencies.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "\t{:<NAME_WIDTH$} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
        "Latency of statements, ms", "number", "p50", "p95", "p99", "max"
    );
    latencies.iter().for_each(|latency| text += &latency_line(latency));
    text + "\n"
}

fn latency_line(latency: &StatementLatency) -> String {
    let name = shorten_cell(&latency.name, NAME_WIDTH);
    let StatementLatency { queries, p50_ms, p95_ms, p99_ms, max_ms, .. } = latency;
    let times: Vec<String> = [p50_ms, p95_ms, p99_ms, max_ms]
        .map(|ms| if *queries == 0 { "-".to_owned() } else { short_number(*ms) })
        .to_vec();
    let [p50, p95, p99, max] = times.as_slice() else { return String::new() };
    format!("\t{name:<NAME_WIDTH$} {queries:>7} {p50:>7} {p95:>7} {p99:>7} {max:>7}\n")
}

/// What failed, by number; nothing where nothing did.
pub fn errors_text(block: &SlapBlock, program: &str) -> String {
    let SlapBlock { failed, queries, unopened, clients, rounds_ms, .. } = block;
    let mut text = String::new();
    for error in block.errors() {
        let code = if error.code == 0 { String::new() } else { format!(" {}", error.code) };
        let times = times_text(error.count);
        text += &format!("{program}: error{code}: {} ({times})\n", error.text);
    }
    if *unopened > 0 {
        let sessions = clients * rounds_ms.len();
        text += &format!("{program}: {unopened} of {sessions} sessions could not be opened\n");
    }
    if !text.is_empty() {
        text += &format!("errors {failed} of {queries}\n");
    }
    text
}

pub(super) fn times_text(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

/// `0.088` for 88.
fn seconds_text(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

/// At most seven characters for up to a day.
fn short_number(ms: f64) -> String {
    match ms {
        ms if ms < 999.999 => format!("{ms:.3}"),
        ms if ms < 100_000.0 => format!("{ms:.1}"),
        _ => format!("{ms:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> SlapBlock {
        let mut block = SlapBlock::new("innodb", 8, 12);
        block.rounds_ms = vec![88, 90, 1_093];
        block
    }

    #[test]
    fn a_block_is_that_of_mysqlslap() {
        assert_eq!(
            block_text(&block()),
            "Benchmark\n\tRunning for engine innodb\n\
             \tAverage number of seconds to run all queries: 0.423 seconds\n\
             \tMinimum number of seconds to run all queries: 0.088 seconds\n\
             \tMaximum number of seconds to run all queries: 1.093 seconds\n\
             \tNumber of clients running queries: 8\n\
             \tAverage number of queries per client: 12\n\n"
        );
        let none = block_text(&SlapBlock::default());
        assert!(none.starts_with("Benchmark\n\tAverage number of seconds"), "{none}");
        assert!(none.contains("all queries: 0.000 seconds\n"), "{none}");
    }

    #[test]
    fn a_line_of_values_is_that_of_mysqlslap() {
        assert_eq!(csv_line(&block(), "mixed"), "innodb,mixed,0.423,0.088,1.093,8,12\n");
    }

    #[test]
    fn errors_are_named_with_their_number() {
        assert_eq!(errors_text(&block(), "mysqlslap"), "");
        let mut block = block();
        block.add_empty_round(1.0, "1049 Unknown database 'x'");
        assert_eq!(
            errors_text(&block, "mysqlslap"),
            "mysqlslap: error 1049: Unknown database 'x' (8 times)\n\
             mysqlslap: 8 of 32 sessions could not be opened\nerrors 0 of 0\n"
        );
    }

    #[test]
    fn a_line_of_a_latency_fits_a_terminal() {
        let latency = StatementLatency {
            name: "select ".repeat(20),
            queries: 12_345_678,
            failed: 0,
            p50_ms: 0.051,
            p95_ms: 999.9999,
            p99_ms: 12_345.678,
            max_ms: 3_600_000.0,
        };
        let line = latency_line(&latency);
        assert!(line.trim_end().chars().count() + 8 <= 80, "{line}");
        assert!(line.ends_with("   0.051  1000.0 12345.7 3600000\n"), "{line}");
    }
}
