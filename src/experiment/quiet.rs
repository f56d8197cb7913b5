//! How quiet it is beside a load, and what the server wrote to its error log meanwhile.

use std::collections::BTreeSet;
use std::time::Duration;

use super::ground::Ground;
use super::keeper::Keeper;
use crate::archive::Counters;
use crate::plan::Plan;
use crate::probe::noise::{Care, Scene, look};

/// Loads shorter than this get a look that is shorter still.
const SHORT_LOAD: Duration = Duration::from_secs(5);
/// A look of less than a tenth of a second.
const GLANCE: Care = Care {
    quiet: Duration::from_millis(10),
    gap: Duration::from_millis(40),
    repeats: 5,
    repeat: Duration::from_millis(4),
};
/// The command whose loads follow each other in seconds; looks between them would be a tenth of its time.
const NEVER: &str = "demo";
/// Lines of an error log that are looked at, the last ones.
const LINES: usize = 2000;
/// Lines of it that are kept.
const KEPT: usize = 20;

/// How closely to look beside the loads of a plan; not at all for some.
pub(super) fn care(plan: &Plan, command: &str) -> Option<Care> {
    let short = plan.load.time.is_none_or(|time| time < SHORT_LOAD);
    match command {
        NEVER => None,
        _ if short => Some(GLANCE),
        _ => Some(Care::SHORT),
    }
}

/// One look, its numbers under this prefix. Flushed writes go to the run's folder.
pub(super) fn note(
    noise: &mut Counters,
    prefix: &str,
    care: &Care,
    pid: Option<u32>,
    keeper: &Keeper<'_>,
) {
    let dir = keeper.dir();
    let scene = Scene { pid, dir: Some(&dir) };
    let seen = look(care, &scene, keeper.clock, keeper.stop, &mut |_| {});
    noise.extend(seen.into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)));
}

/// What a server of our own had complained about when the run began.
pub(super) struct Complaints {
    known: BTreeSet<String>,
}

impl Complaints {
    /// Remembers what is in the log already.
    pub(super) fn so_far(ground: &mut Ground) -> Complaints {
        Complaints { known: lines(ground).iter().map(|line| plain(line).to_owned()).collect() }
    }

    /// Keeps what is new among the run's facts.
    pub(super) fn keep_new(&self, ground: &mut Ground, keeper: &Keeper<'_>) {
        let new = new(lines(ground), &self.known);
        if !new.is_empty() {
            keeper.writer().update(|meta| {
                meta.facts.insert("error_log".to_owned(), new.into());
            });
        }
    }
}

/// Errors and warnings at the end of the log.
fn lines(ground: &mut Ground) -> Vec<String> {
    let Some(control) = ground.control() else { return Vec::new() };
    control.error_log_tail(LINES).into_iter().filter(|line| is_complaint(line)).collect()
}

fn is_complaint(line: &str) -> bool {
    line.contains("[ERROR]") || line.contains("[Warning]")
}

/// Those that say something else than what is known, each once.
fn new(lines: Vec<String>, known: &BTreeSet<String>) -> Vec<String> {
    let mut seen = known.clone();
    lines.into_iter().filter(|line| seen.insert(plain(line).to_owned())).take(KEPT).collect()
}

/// A line without its time and thread.
fn plain(line: &str) -> &str {
    line.find('[').map_or(line, |at| &line[at..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::LoadPlan;

    #[test]
    fn new_complaints_are_those_with_other_words() {
        let old = "2026-11-21 12:00:00 0 [Warning] 'x' is deprecated";
        let again = "2026-11-21 12:09:09 7 [Warning] 'x' is deprecated";
        let grave = "2026-11-21 12:09:10 7 [ERROR] mariadbd: disk full";
        let known: BTreeSet<String> = [plain(old).to_owned()].into();
        let lines = [again, grave, grave].map(str::to_owned).to_vec();
        assert_eq!(new(lines, &known), [grave]);
        assert!(is_complaint(old) && !is_complaint("12:00 0 [Note] ready"));
    }

    #[test]
    fn looks_are_short_beside_short_loads() {
        let plan = |seconds: Option<u64>| Plan {
            load: LoadPlan { time: seconds.map(Duration::from_secs), ..LoadPlan::default() },
            ..Plan::default()
        };
        assert_eq!(care(&plan(Some(60)), "bench"), Some(Care::SHORT));
        assert_eq!(care(&plan(Some(1)), "bench"), Some(GLANCE));
        assert_eq!(care(&plan(None), "bench"), Some(GLANCE));
        assert_eq!(care(&plan(Some(60)), "demo"), None);
    }
}
