//! What the rounds of one combination of engine and clients come to: what mysqlslap prints as a block, and what it never
//! knew.

use std::collections::BTreeMap;

use crate::recorder::{EventErrorKind, Histogram, Recording, new_histogram};

/// Rounds with the same engine and as many clients.
#[derive(Clone, Debug, Default)]
pub struct SlapBlock {
    /// The engine's name; empty if none was named.
    pub engine: String,
    /// Clients of each round; 0 if there was no round.
    pub clients: usize,
    /// Statements that each client was to run; once [`SlapBlock::lower_to_what_was_run`] was called, at most what it ran.
    pub queries_per_client: u64,
    /// Length of each round, from the first connect to the last close, milliseconds.
    pub rounds_ms: Vec<u64>,
    /// Statements that were run in all rounds, with or without an error.
    pub queries: u64,
    /// Of these, those that failed.
    pub failed: u64,
    /// Sessions that could not be opened.
    pub unopened: u64,
    classes: Vec<(String, Histogram, u64)>,
    causes: BTreeMap<u16, SlapError>,
}

/// One sort of error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlapError {
    /// The server's number, or the operating system's for a lost connection; 0 where there is none.
    pub code: u16,
    /// How often.
    pub count: u64,
    /// Its words, the first time.
    pub text: String,
}

/// How long statements of one sort took.
#[derive(Clone, Debug, PartialEq)]
pub struct StatementLatency {
    /// The statement, without its values.
    pub name: String,
    /// How many ended without an error.
    pub queries: u64,
    /// How many failed.
    pub failed: u64,
    /// Median, milliseconds; 0 where none ended without an error.
    pub p50_ms: f64,
    /// 95th percentile, milliseconds.
    pub p95_ms: f64,
    /// 99th percentile, milliseconds.
    pub p99_ms: f64,
    /// Longest, milliseconds.
    pub max_ms: f64,
}

impl SlapBlock {
    /// A block without a round.
    pub fn new(engine: &str, clients: usize, queries_per_client: u64) -> SlapBlock {
        let engine = engine.to_owned();
        SlapBlock { engine, clients, queries_per_client, ..SlapBlock::default() }
    }

    /// Adds a round: its length, and its load, of whose classes the first `query_classes` are statements.
    pub fn add_round(&mut self, seconds: f64, recording: &Recording, query_classes: usize) {
        self.add_time(seconds);
        for (n, totals) in recording.total.classes.iter().enumerate() {
            let name = recording.class_names.get(n).cloned().unwrap_or_default();
            if self.classes.len() <= n {
                self.classes.push((name, new_histogram(), 0));
            }
            let (_, response, failed) = &mut self.classes[n];
            totals.response.add_to(response);
            *failed += totals.failed.len();
            if n < query_classes {
                self.queries += totals.response.len() + totals.failed.len();
                self.failed += totals.failed.len();
            }
        }
        for error in &recording.errors {
            let text = match error.error.kind {
                EventErrorKind::Server | EventErrorKind::Check => error.first_text.clone(),
                EventErrorKind::Lost => format!("connection lost: {}", error.first_text),
                EventErrorKind::Protocol => format!("malformed reply: {}", error.first_text),
            };
            self.add_cause(error.error.code, error.count, text);
        }
        for unopened in &recording.unopened {
            self.add_unopened(1, &unopened.why);
        }
    }

    /// Adds a round in which no session could be opened.
    pub fn add_empty_round(&mut self, seconds: f64, why: &str) {
        self.add_time(seconds);
        self.add_unopened(self.clients as u64, why);
    }

    /// What the clients that could connect ran each, on average and rounded down.
    pub fn run_per_client(&self) -> u64 {
        let sessions = self.clients as u64 * self.rounds_ms.len() as u64;
        self.queries.checked_div(sessions.saturating_sub(self.unopened)).unwrap_or(0)
    }

    /// Takes back what was planned for each client and not run: the load was ended early, or lost its server.
    pub fn lower_to_what_was_run(&mut self) {
        self.queries_per_client = self.queries_per_client.min(self.run_per_client());
    }

    /// Whether anything failed.
    pub fn has_errors(&self) -> bool {
        !self.causes.is_empty()
    }

    /// Errors, those that came most often first.
    pub fn errors(&self) -> Vec<&SlapError> {
        let mut causes: Vec<&SlapError> = self.causes.values().collect();
        causes.sort_by_key(|cause| std::cmp::Reverse(cause.count));
        causes
    }

    /// Latencies of the sorts of statements that were run, and of COMMITs and connects in between.
    pub fn latencies(&self) -> Vec<StatementLatency> {
        let used = self.classes.iter().filter(|(_, response, failed)| response.len() + failed > 0);
        let latency = |(name, response, failed): &(String, Histogram, u64)| {
            let at = |share| response.value_at_quantile(share).min(response.max()) as f64 / 1e6;
            StatementLatency {
                name: name.clone(),
                queries: response.len(),
                failed: *failed,
                p50_ms: at(0.5),
                p95_ms: at(0.95),
                p99_ms: at(0.99),
                max_ms: response.max() as f64 / 1e6,
            }
        };
        used.map(latency).collect()
    }

    /// Mean, shortest and longest round, milliseconds; zeros where there was none.
    pub fn round_times_ms(&self) -> [u64; 3] {
        let sum: u64 = self.rounds_ms.iter().sum();
        let mean = sum.checked_div(self.rounds_ms.len() as u64).unwrap_or(0);
        let least = self.rounds_ms.iter().min().copied().unwrap_or(0);
        [mean, least, self.rounds_ms.iter().max().copied().unwrap_or(0)]
    }

    /// Adds a round of which only the length is known.
    pub fn add_time(&mut self, seconds: f64) {
        self.rounds_ms.push((seconds * 1000.0) as u64);
    }

    fn add_unopened(&mut self, count: u64, why: &str) {
        self.unopened += count;
        // `log in to ... as ...: 1049 Unknown database 'x'`, `server error 1049 (42000): Unknown ...`
        let (code, text) = numbered_text(why);
        self.add_cause(code, count, text);
    }

    fn add_cause(&mut self, code: u16, count: u64, text: String) {
        let cause = self.causes.entry(code).or_insert(SlapError { code, count: 0, text });
        cause.count += count;
    }
}

/// Takes the number of a server's error out of its words.
fn numbered_text(why: &str) -> (u16, String) {
    let number_at = |at: usize| {
        let (number, rest) = why[at..].split_once(' ')?;
        Some((number.parse().ok()?, rest.to_owned()))
    };
    let places = std::iter::once(0).chain(why.match_indices(": ").map(|(at, _)| at + 2));
    places.filter_map(number_at).next().unwrap_or_else(|| (0, why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_milliseconds_and_their_mean_too() {
        let mut block = SlapBlock::default();
        assert_eq!(block.round_times_ms(), [0, 0, 0]);
        for seconds in [0.0029, 0.0041, 0.0049] {
            block.add_time(seconds);
        }
        assert_eq!(block.round_times_ms(), [3, 2, 4]);
    }

    #[test]
    fn what_was_planned_and_not_run_is_not_told_as_run() {
        let block = |planned: u64, queries: u64, unopened: u64| {
            let mut block = SlapBlock::new("", 4, planned);
            block.add_time(1.0);
            block.add_time(1.0);
            (block.queries, block.unopened) = (queries, unopened);
            block.lower_to_what_was_run();
            block.queries_per_client
        };
        // What is left of the division is run by the first clients, and not told.
        assert_eq!(block(25, 206, 0), 25);
        assert_eq!(block(25_000_000, 87, 0), 10);
        // Clients without a session ran nothing, and the others all.
        assert_eq!(block(25, 75, 5), 25);
        assert_eq!((block(25, 0, 0), block(25, 0, 8), block(0, 80, 0)), (0, 0, 0));
    }

    #[test]
    fn a_session_that_was_refused_is_an_error_with_its_number() {
        let mut block = SlapBlock::new("", 3, 0);
        block.add_empty_round(1.0, "log in to unix /s as root: 1049 Unknown database 'x: 5 y'");
        let text = "Unknown database 'x: 5 y'".to_owned();
        assert_eq!(block.errors(), [&SlapError { code: 1049, count: 3, text }]);
        assert_eq!((block.unopened, block.queries), (3, 0));
        assert_eq!(numbered_text("1064 near 'a'"), (1064, "near 'a'".to_owned()));
        assert_eq!(numbered_text("it is gone"), (0, "it is gone".to_owned()));
    }
}
