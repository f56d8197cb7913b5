//! Looks at the expressions before the load: whether the server knows them, whether it computes them each time, how many rounds of
//! each fill a statement.

use std::time::Duration;

use anyhow::Context as _;

use crate::base::reactor::block_on;
use crate::base::{Clock as _, Nanos, RealClock, Stop};
use crate::client::{self, Feature, ResultSet, ServerProduct, Session, Target, ValueSort};
use crate::plan::Mistake;

use super::expression_rows::{ExpressionRows, ROWS_BEGIN};
use super::sample_book::EvaluationTime;
use super::settings::ExpressionSettings;
use crate::workload::thread_clock::ThreadClock;

/// No statement of the search for the number of rounds may take longer.
const LONGEST_TRY: Duration = Duration::from_secs(5);
/// By how much a statement may be longer than it should before the server ends it.
const FUSE_FACTOR: u64 = 10;
/// The shortest limit: a busy server is no reason to end a statement.
const LEAST_FUSE: Nanos = Nanos(200_000_000);
/// Statements of full length whose shortest says what to expect.
const EXPECTED_TRIES: u32 = 3;
/// What a statement that took a smaller share of the expected time is: cut.
const CUT_SHARE: f64 = 0.5;
/// Most rounds of a statement.
const MOST_ROUNDS: u64 = 1_000_000_000_000;
/// Functions that MySQL 9.6 moved into a component.
const CLASSIC_HASHES: [&str; 3] = ["md5", "sha1", "sha"];
const LEFTOVERS: &str = "SELECT ID, USER, TIME FROM {processlist} \
    WHERE (INFO LIKE '/* sweat %*/ SELECT BENCHMARK(%' OR INFO LIKE '/* sweat %*/ {rows}%') \
    AND ID <> CONNECTION_ID()";
/// Ended by MariaDB's limit, by MySQL's.
const LIMIT_CODES: [u16; 2] = [1969, 3024];

/// The statements of a load.
#[derive(Debug, Default)]
pub(super) struct MeasuringPlan {
    /// Baselines first.
    pub slots: Vec<BenchmarkSlot>,
    /// Sent in each session before anything else.
    pub setup: Vec<String>,
    /// Makes the server end a statement that takes far too long; `None` where it can't.
    pub fuse: Option<String>,
    /// After how long it does.
    pub fuse_time: Nanos,
    /// Whether it is over rows, not in a loop.
    pub is_by_rows: bool,
    /// Why it is wall time that counts; `None` where it is CPU time.
    pub wall_reason: Option<&'static str>,
    /// What must be known of the expressions.
    pub notes: Vec<String>,
    /// Statements of ours that were under way before we began.
    pub leftovers: Option<String>,
}

/// A statement that is measured again and again.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BenchmarkSlot {
    pub name: String,
    pub sql: String,
    pub rounds: u64,
    /// What an evaluation should take.
    pub expected: EvaluationTime,
    /// Which slot is taken off; `None` for a baseline.
    pub baseline: Option<usize>,
}

impl BenchmarkSlot {
    /// Whether a statement that took so long ended before its time: nothing else tells, as a BENCHMARK() that was killed returns 0.
    pub(super) fn is_cut(&self, time: EvaluationTime) -> bool {
        match time.cpu_ns.zip(self.expected.cpu_ns) {
            Some((took, expected)) => took < expected * CUT_SHARE,
            None => time.wall_ns < self.expected.wall_ns * CUT_SHARE,
        }
    }
}

/// The statement. A SELECT on both products: MySQL's limit of execution time holds for nothing else.
pub(super) fn benchmark_statement(run: &str, rounds: &str, expr: &str) -> String {
    format!("/* sweat {run} */ SELECT BENCHMARK({rounds}, {expr})")
}

impl MeasuringPlan {
    /// Which slot is an expression, and which is its baseline.
    pub(super) fn measured(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.slots.iter().enumerate().filter_map(|(slot, found)| Some((slot, found.baseline?)))
    }

    /// Asks the server.
    ///
    /// # Errors
    /// When an expression can't be measured, or the server does not answer.
    pub(super) fn find(
        settings: &ExpressionSettings,
        target: &Target,
        stop: &Stop,
    ) -> anyhow::Result<MeasuringPlan> {
        let mut session = target.connect(stop)?;
        let identity = session.identity().clone();
        let mut plan = MeasuringPlan {
            leftovers: leftovers(&mut session),
            is_by_rows: settings.rows.is_some(),
            ..Default::default()
        };
        if !settings.effects {
            plan.setup.extend(identity.feature_text(Feature::ReadOnlySession).map(str::to_owned));
        }
        plan.setup.extend(settings.assignment.iter().map(|text| format!("SET {text}")));
        for statement in &plan.setup {
            session.run_command(statement).with_context(|| statement.clone())?;
        }
        match identity.limit_statement(LONGEST_TRY) {
            Some(limit) => drop(session.run_command(&limit)?),
            None => plan.notes.push("[LIMIT] this server can't limit statements".to_owned()),
        }
        let clock = match block_on(ThreadClock::find(&mut session))? {
            Ok(clock) => Some(clock),
            Err(why) => {
                plan.wall_reason = Some(why);
                None
            }
        };
        let loop_kind = match &settings.rows {
            Some(source) => LoopKind::Rows { source, count: count_rows(source, &mut session)? },
            None => LoopKind::Benchmark,
        };
        let mut search = RoundSearch {
            session: &mut session,
            clock,
            run: format!("{:x}", std::process::id()),
            per: settings.per.into(),
            loop_kind,
        };
        let mut sorts: Vec<ValueSort> = Vec::new();
        let mut measured = Vec::new();
        for expr in &settings.expressions {
            let sort = search.look_at(expr, &mut plan.notes)?;
            let sort = match settings.baseline {
                Some(_) => ValueSort::Text,
                None => settings.sort.unwrap_or(sort),
            };
            if !sorts.contains(&sort) {
                sorts.push(sort);
                let literal = settings.baseline.as_deref().unwrap_or(literal_of(sort));
                let name = format!("baseline {literal}");
                plan.slots.push(search.find_rounds(name, literal, None)?);
            }
            let literal = settings.baseline.as_deref().unwrap_or(literal_of(sort));
            plan.notes.extend(search.describe_access(expr, literal)?);
            measured.push((expr, sorts.iter().position(|s| *s == sort)));
        }
        for (expr, baseline) in measured {
            plan.slots.push(search.find_rounds(expr.clone(), expr, baseline)?);
        }
        let longest = plan.slots.iter().map(|s| s.expected.wall_ns * s.rounds as f64);
        let longest = Nanos(longest.fold(0.0, f64::max) as u64 * FUSE_FACTOR);
        plan.fuse_time = longest.max(LEAST_FUSE);
        plan.fuse = identity.limit_statement(plan.fuse_time.into());
        Ok(plan)
    }
}

/// A literal of the same type as the results.
fn literal_of(sort: ValueSort) -> &'static str {
    match sort {
        ValueSort::Int => "1",
        ValueSort::Real => "1.5e0",
        ValueSort::Decimal => "1.5",
        ValueSort::Text => "'x'",
    }
}

/// Statements of ours that other sessions run, in words. An account that may not look sees its own only.
fn leftovers(session: &mut Session) -> Option<String> {
    let table = session.identity().feature_text(Feature::Processlist)?;
    let asked = LEFTOVERS.replace("{processlist}", table).replace("{rows}", ROWS_BEGIN);
    let found = session.query_rows(&asked).ok()?;
    let of = |row: usize| {
        let value = |column| found.text_value(row, column).unwrap_or_default();
        format!("session {} of {} for {} s", value(0), value(1), value(2))
    };
    let list: Vec<String> = (0..found.rows.len()).map(of).collect();
    (!list.is_empty()).then(|| {
        format!(
            "[LEFTOVER] a statement of another sweat is still running: {}; if no session waits \
             for it, KILL QUERY ends it",
            list.join(", ")
        )
    })
}

/// Rows of a table, which must have some.
fn count_rows(source: &ExpressionRows, session: &mut Session) -> anyhow::Result<u64> {
    let name = match source {
        ExpressionRows::Generated(rows) => return Ok(*rows),
        ExpressionRows::Table(name) => name,
    };
    let place = "--through-rows";
    let counted = session.query_scalar(&format!("SELECT COUNT(*) FROM {name}"));
    let counted = counted.map_err(|error| Mistake::new(place, error.to_string()))?;
    match counted.and_then(|text| text.parse().ok()) {
        Some(rows) if rows > 0 => Ok(rows),
        _ => Err(Mistake::new(place, format!("the table {name} has no rows")).into()),
    }
}

/// What computes an expression again and again within a statement.
#[derive(Clone, Copy)]
enum LoopKind<'a> {
    /// BENCHMARK(), as often as fills the time.
    Benchmark,
    /// A sum over so many rows.
    Rows { source: &'a ExpressionRows, count: u64 },
}

impl LoopKind<'_> {
    fn statement(self, run: &str, rounds: u64, expr: &str) -> String {
        match self {
            LoopKind::Benchmark => benchmark_statement(run, &rounds.to_string(), expr),
            LoopKind::Rows { source, .. } => source.statement(run, expr),
        }
    }

    /// Rounds of a statement, where they are given.
    fn fixed_rounds(self) -> Option<u64> {
        match self {
            LoopKind::Benchmark => None,
            LoopKind::Rows { count, .. } => Some(count),
        }
    }
}

/// Finds how many rounds of an expression fill a statement.
struct RoundSearch<'a> {
    session: &'a mut Session,
    clock: Option<ThreadClock>,
    /// Stands in each statement, so that it can be found.
    run: String,
    per: Nanos,
    loop_kind: LoopKind<'a>,
}

impl RoundSearch<'_> {
    fn explain(&mut self, expr: &str) -> anyhow::Result<ResultSet> {
        let statement = self.loop_kind.statement("", 1, expr);
        let explained = self.session.query_rows(&format!("EXPLAIN FORMAT=TRADITIONAL {statement}"));
        explained.map_err(|error| self.explain_error(expr, error))
    }

    /// Says so where an expression makes the server read a table another way than the literal does.
    fn describe_access(&mut self, expr: &str, literal: &str) -> anyhow::Result<Option<String>> {
        let LoopKind::Rows { source: ExpressionRows::Table(_), .. } = self.loop_kind else {
            return Ok(None);
        };
        let index = |explained: &ResultSet| explained.text_value(0, explained.column_index("key")?);
        let (own, base) = (index(&self.explain(expr)?), index(&self.explain(literal)?));
        let name = |index: &Option<String>| match index {
            Some(index) => format!("by the index {index}"),
            None => "without an index".to_owned(),
        };
        Ok((own != base).then(|| {
            format!(
                "[ACCESS] {expr}: rows are read {}, those of the baseline {}; the difference is \
                 in the cost",
                name(&own),
                name(&base)
            )
        }))
    }

    /// Whether the server knows the expression, what it gives, whether it is computed each time.
    fn look_at(&mut self, expr: &str, notes: &mut Vec<String>) -> anyhow::Result<ValueSort> {
        let explained = self.explain(expr)?;
        let from = match self.loop_kind {
            LoopKind::Benchmark => String::new(),
            LoopKind::Rows { source, .. } => format!(" FROM {}", source.table_reference()),
        };
        let prepared = block_on(self.session.prepare_captured(&format!("SELECT ({expr}){from}")));
        let prepared = prepared.map_err(|error| self.explain_error(expr, error))?;
        let sort = prepared.first_value_sort().unwrap_or(ValueSort::Text);
        block_on(self.session.close_statement(prepared.prepared))?;
        notes.extend(describe_reads(expr, &explained));
        notes.extend(self.describe_functions(expr));
        Ok(sort)
    }

    /// Which functions of the expression are not the server's own: stored ones, and those that were loaded into it. What this
    /// account may not see is passed over.
    fn describe_functions(&mut self, expr: &str) -> Option<String> {
        let names = called_names(expr);
        if names.is_empty() {
            return None;
        }
        let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        let list = list.join(",");
        let loaded = match self.session.identity().product {
            ServerProduct::MariaDb => "SELECT name FROM mysql.func WHERE name",
            _ => "SELECT UDF_NAME FROM performance_schema.user_defined_functions WHERE UDF_NAME",
        };
        let stored = "SELECT ROUTINE_NAME FROM information_schema.ROUTINES \
            WHERE ROUTINE_TYPE = 'FUNCTION' AND ROUTINE_SCHEMA = DATABASE() AND ROUTINE_NAME";
        let mut found = Vec::new();
        for (asked, what) in [(stored, "a stored function"), (loaded, "a loadable function")] {
            let Ok(rows) = self.session.query_rows(&format!("{asked} IN ({list})")) else {
                continue;
            };
            let named = (0..rows.rows.len()).filter_map(|row| rows.text_value(row, 0));
            found.extend(named.map(|name| format!("{name} is {what}")));
        }
        (!found.is_empty()).then(|| format!("[UDF] {expr}: {}", found.join(", ")))
    }

    fn explain_error(&self, expr: &str, error: client::Error) -> anyhow::Error {
        let client::Error::Server { code, text, .. } = &error else { return error.into() };
        let text = format!("{code} {text}");
        let is_oracle = self.session.identity().product != ServerProduct::MariaDb;
        match code {
            // Without a database MySQL does not get as far as to say that there is no such function.
            1305 | 1046 if is_oracle && calls_classic_hash(expr) => {
                Mistake::new(expr, format!("[MISSING] {text}")).hint(
                    "MySQL has it in a component since 9.6: \
                     INSTALL COMPONENT 'file://component_classic_hashing'",
                )
            }
            1305 => Mistake::new(expr, format!("[MISSING] {text}"))
                .hint("is it spelled right, and in this database?"),
            1046 => Mistake::new(expr, text).hint("name one with -D"),
            code if LIMIT_CODES.contains(code) && self.loop_kind.fixed_rounds().is_some() => {
                Mistake::new(expr, "takes longer than 5 s for all rows").hint("use fewer rows")
            }
            _ => Mistake::new(expr, text),
        }
        .into()
    }

    /// The statement that takes about as long as it should.
    fn find_rounds(
        &mut self,
        name: String,
        expr: &str,
        baseline: Option<usize>,
    ) -> anyhow::Result<BenchmarkSlot> {
        let fixed = self.loop_kind.fixed_rounds();
        let mut rounds = fixed.unwrap_or(1);
        let next_rounds =
            |rounds, took, per| if fixed.is_some() { None } else { next_rounds(rounds, took, per) };
        let best = loop {
            let mut best = self.run_once(expr, rounds)?;
            if best.0 >= Nanos::from(LONGEST_TRY) && rounds == 1 {
                return Err(Mistake::new(expr, "one evaluation takes longer than 5 s")
                    .hint("`sweat bench queries` measures statements")
                    .into());
            }
            if next_rounds(rounds, best.0, self.per).is_none() {
                // One long statement may only have had to wait for a CPU.
                for _ in 1..EXPECTED_TRIES {
                    let (wall, cpu) = self.run_once(expr, rounds)?;
                    best = (best.0.min(wall), best.1.zip(cpu).map(|(a, b)| a.min(b)));
                }
            }
            match next_rounds(rounds, best.0, self.per) {
                Some(more) => rounds = more,
                None => break best,
            }
        };
        let per_round = |ns: u64| ns as f64 / rounds as f64;
        let expected =
            EvaluationTime { wall_ns: per_round(best.0.0), cpu_ns: best.1.map(per_round) };
        let sql = self.loop_kind.statement(&self.run, rounds, expr);
        Ok(BenchmarkSlot { name, sql, rounds, expected, baseline })
    }

    /// Wall time of a statement, and CPU time of its thread.
    fn run_once(&mut self, expr: &str, rounds: u64) -> anyhow::Result<(Nanos, Option<u64>)> {
        let sql = self.loop_kind.statement(&self.run, rounds, expr);
        let ran = || self.clock.as_ref().and_then(ThreadClock::ran_ns);
        let (before, clock) = (ran(), RealClock::start_now());
        let result = self.session.query_rows(&sql);
        let took = clock.now();
        let cpu = ran().zip(before).map(|(after, before)| after.saturating_sub(before));
        result.map_err(|error| self.explain_error(expr, error))?;
        Ok((took, cpu))
    }
}

/// Whether a function that may be in a component is called.
fn calls_classic_hash(expr: &str) -> bool {
    called_names(expr).iter().any(|name| CLASSIC_HASHES.contains(&&**name))
}

/// Words before a bracket, in lower case: functions, and a few words of SQL.
fn called_names(expr: &str) -> Vec<String> {
    let lower = expr.to_ascii_lowercase();
    let brackets = lower.match_indices('(').map(|(at, _)| lower[..at].trim_end());
    let last_word = |text: &str| {
        let word = text.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next();
        word.filter(|word| !word.is_empty()).map(str::to_owned)
    };
    let mut names: Vec<String> = brackets.filter_map(last_word).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// How many rounds to try after these took so long; `None` once they are enough.
fn next_rounds(rounds: u64, took: Nanos, per: Nanos) -> Option<u64> {
    if took.0.saturating_mul(10) >= per.0.saturating_mul(8) || rounds >= MOST_ROUNDS {
        return None;
    }
    // Most of a short statement is the way to the server and back: it says little of a round.
    let factor = (per.0 as f64 / took.0.max(1) as f64).clamp(1.25, 10.0);
    Some(((rounds as f64 * factor).ceil() as u64).clamp(rounds + 1, MOST_ROUNDS))
}

/// What a plan says of the expression's subqueries: BENCHMARK() keeps the result of one that depends on nothing.
fn describe_reads(expr: &str, explained: &ResultSet) -> Option<String> {
    let column = explained.column_index("select_type")?;
    let kinds = (1..explained.rows.len()).filter_map(|row| explained.text_value(row, column));
    // Rows that are made up are no subqueries of the expression.
    let made_up = ["PRIMARY", "DERIVED", "UNION", "UNION RESULT"];
    let kinds: Vec<String> = kinds.filter(|kind| !made_up.contains(&&**kind)).collect();
    let is_kept = |kind: &String| !kind.contains("DEPENDENT") && !kind.contains("UNCACHEABLE");
    match kinds.as_slice() {
        [] => None,
        kinds if kinds.iter().all(is_kept) => Some(format!(
            "[CACHED] {expr}: read once in a statement, not in each evaluation: this is the cost \
             of the kept result"
        )),
        _ => Some(format!(
            "[READS] {expr}: reads tables; `sweat bench queries` shows what a query costs"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_grow_until_they_fill_the_statement() {
        let (per, call_ns, round_ns) = (Nanos(50_000_000), 40_000, 7);
        let (mut rounds, mut tries) = (1, 0);
        while let Some(more) = next_rounds(rounds, Nanos(call_ns + round_ns * rounds), per) {
            (rounds, tries) = (more, tries + 1);
        }
        let took = call_ns + round_ns * rounds;
        assert!((40_000_000..=63_000_000).contains(&took), "{took} ns");
        assert!(tries < 12, "{tries}");
        assert_eq!(next_rounds(1, Nanos(60_000_000), per), None);
        assert_eq!(next_rounds(MOST_ROUNDS, Nanos(1), per), None, "a clock that stands");
    }

    #[test]
    fn calls_of_hashes_are_found() {
        for expr in ["md5(@x)", "length(SHA1 ('a'))", "1+sha(1)"] {
            assert!(calls_classic_hash(expr), "{expr}");
        }
        for expr in ["sha2(@x, 256)", "md5", "my_md5x(1)"] {
            assert!(!calls_classic_hash(expr), "{expr}");
        }
        assert_eq!(called_names("f(g (1), (2), F(3), 'x')"), ["f", "g"]);
    }

    #[test]
    fn a_statement_of_less_than_half_its_time_was_cut() {
        let slot = |cpu_ns| BenchmarkSlot {
            name: String::new(),
            sql: String::new(),
            rounds: 1,
            expected: EvaluationTime { wall_ns: 100.0, cpu_ns },
            baseline: None,
        };
        let time = |wall_ns, cpu_ns| EvaluationTime { wall_ns, cpu_ns };
        assert!(slot(Some(90.0)).is_cut(time(500.0, Some(44.0))), "it waited, and was killed");
        assert!(!slot(Some(90.0)).is_cut(time(40.0, Some(46.0))));
        assert!(slot(None).is_cut(time(49.0, None)));
        assert!(!slot(None).is_cut(time(51.0, None)));
    }

    #[test]
    fn a_subquery_that_depends_on_nothing_is_kept() {
        let explained = |kinds: &[&str]| ResultSet {
            columns: vec!["id".to_owned(), "select_type".to_owned()],
            rows: kinds.iter().map(|kind| vec![None, Some(kind.as_bytes().to_vec())]).collect(),
        };
        let said = |kinds: &[&str]| describe_reads("e", &explained(kinds)).unwrap_or_default();
        assert_eq!(said(&["SIMPLE"]), "");
        assert_eq!(said(&["PRIMARY", "PRIMARY", "DERIVED", "UNION"]), "");
        assert!(said(&["PRIMARY", "SUBQUERY"]).starts_with("[CACHED] e"));
        assert!(said(&["PRIMARY", "UNCACHEABLE SUBQUERY"]).starts_with("[READS] e"));
        assert!(said(&["PRIMARY", "SUBQUERY", "DEPENDENT SUBQUERY"]).starts_with("[READS] e"));
    }
}
