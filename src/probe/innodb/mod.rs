//! `SHOW ENGINE INNODB STATUS` as text, every tenth tick. Its averages per second span the time
//! since anybody last asked, so readers must use totals only; above 1 MB the server cuts its list
//! of transactions.

use super::subject::text;
use super::{Kind, Missed, Probe, Rhythm, Subject, Values, redact};

/// The kind.
pub struct Innodb;

impl Kind for Innodb {
    fn name(&self) -> &'static str {
        "innodb"
    }
    fn about(&self) -> &'static str {
        "SHOW ENGINE INNODB STATUS as text, every tenth tick (needs PROCESS)"
    }
    fn rhythm(&self) -> Rhythm {
        Rhythm::Ticks(10)
    }
    fn asks_server(&self) -> bool {
        true
    }
    fn build(&self) -> Box<dyn Probe> {
        Box::new(Innodb)
    }
}

impl Probe for Innodb {
    fn sample(&mut self, subject: &mut Subject) -> Result<Values, Missed> {
        let rows = subject.rows(STATEMENT)?;
        match rows.rows.first() {
            Some(row) => Ok(Values::Text(redact::text(&text(row.get(2))))),
            None => Err(Missed::ForGood("the server has no InnoDB".to_owned())),
        }
    }
}

pub(super) const STATEMENT: &str = "SHOW ENGINE INNODB STATUS";
