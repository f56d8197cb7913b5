//! Which errors of a server an event outlives: the numbers that sysbench's users give in `mysql-ignore-errors`.

use super::ErrorPolicy;
use crate::plan::Mistake;
use crate::recorder::{EventError, EventErrorKind};

/// Numbers that say that a connection is gone, as clients know them.
const LOST: [u16; 4] = [2006, 2011, 2013, 2055];
/// What sysbench ignores unless it is told: deadlocks, changed rows, lock waits that timed out.
const IGNORED_BY_SYSBENCH: [u16; 3] = [1213, 1020, 1205];

/// What errors mean for a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ErrorRule {
    /// Each fails its event, and the load goes on.
    #[default]
    CountAll,
    /// After each the event runs again.
    RestartAll,
    /// After these the event runs again; any other ends the load.
    Restart(Vec<u16>),
}

impl ErrorRule {
    /// What holds in sysbench where nobody says.
    pub fn of_sysbench() -> ErrorRule {
        ErrorRule::Restart(IGNORED_BY_SYSBENCH.to_vec())
    }

    /// Reads the value of an option: numbers separated by commas, or `all`.
    ///
    /// # Errors
    /// When there is something else.
    pub fn from_option(option: &str, text: &str) -> Result<ErrorRule, Mistake> {
        match text.trim() {
            "" => return Ok(ErrorRule::CountAll),
            "all" => return Ok(ErrorRule::RestartAll),
            _ => {}
        }
        let numbers = text.split(',').map(str::trim).filter(|number| !number.is_empty());
        let numbers: Result<Vec<u16>, _> = numbers.map(str::parse).collect();
        numbers.map(ErrorRule::Restart).map_err(|_| {
            Mistake::new(format!("--{option}"), format!("`{text}` is not a list of numbers"))
                .hint("as in 1213,1020,1205, or all")
        })
    }

    /// What this error means.
    pub(super) fn policy(&self, error: EventError) -> ErrorPolicy {
        match (self, error.kind) {
            (ErrorRule::CountAll, _) => ErrorPolicy::CountEvent,
            (ErrorRule::RestartAll, EventErrorKind::Server) => ErrorPolicy::RestartEvent,
            (ErrorRule::Restart(numbers), EventErrorKind::Server)
                if numbers.contains(&error.code) =>
            {
                ErrorPolicy::RestartEvent
            }
            // The session is opened again first, so the event that follows is another one.
            (ErrorRule::RestartAll, _) => ErrorPolicy::CountEvent,
            (ErrorRule::Restart(numbers), EventErrorKind::Lost)
                if LOST.iter().any(|lost| numbers.contains(lost)) =>
            {
                ErrorPolicy::CountEvent
            }
            (ErrorRule::Restart(_), _) => ErrorPolicy::FailLoad,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(kind: EventErrorKind, code: u16) -> EventError {
        EventError { kind, code }
    }

    fn read(text: &str) -> Result<ErrorRule, Mistake> {
        ErrorRule::from_option("mysql-ignore-errors", text)
    }

    #[test]
    fn numbers_restart_and_all_others_end_the_load() {
        use EventErrorKind::{Lost, Server};
        let rule = read("1213, 1205").unwrap();
        assert_eq!(rule.policy(error(Server, 1213)), ErrorPolicy::RestartEvent);
        assert_eq!(rule.policy(error(Server, 1062)), ErrorPolicy::FailLoad);
        assert_eq!(rule.policy(error(Lost, 104)), ErrorPolicy::FailLoad);
        let rule = read("2013").unwrap();
        assert_eq!(rule.policy(error(Lost, 104)), ErrorPolicy::CountEvent);
        let rule = read("all").unwrap();
        assert_eq!(rule.policy(error(Server, 1062)), ErrorPolicy::RestartEvent);
        let rule = read("").unwrap();
        assert_eq!(rule.policy(error(Server, 1062)), ErrorPolicy::CountEvent);
        assert!(read("deadlock").is_err());
    }
}
