//! A server's log in a table, read over SQL.

use anyhow::Context;

use super::{Feed, Got, On};
use crate::base::{Nanos, Stop};
use crate::capture::table_log::{TableKind, TableLog, TablePlace};
use crate::target::{Session, Target};

/// A server's log in a table. Which of the two is on, the server tells.
pub(super) struct Table {
    session: Session,
    log: TableLog,
    is_general: bool,
}

impl Table {
    pub(super) fn open(target: &Target, mark: Option<&str>, stop: &Stop) -> anyhow::Result<Table> {
        let mut session = target.connect(stop).context("read the log of the active server")?;
        let rows = session
            .rows(
                "SELECT @@GLOBAL.log_output, @@GLOBAL.slow_query_log, @@GLOBAL.general_log, \
                   @@GLOBAL.long_query_time",
            )
            .context("ask where the active server writes its logs")?;
        let value = |at| rows.text(0, at).unwrap_or_default();
        anyhow::ensure!(
            value(0).to_ascii_uppercase().contains("TABLE"),
            "{} does not write its logs into tables (log_output = {})\n\
             hint: there, SET GLOBAL log_output = 'TABLE', slow_query_log = 1, \
             long_query_time = 0; \
             or read its log file with --from FILE, or from afar with `sweat ship`",
            target.describe(),
            value(0)
        );
        let is_on = |at| value(at) == "1" || value(at) == "ON";
        let is_slow = is_on(1);
        anyhow::ensure!(
            is_slow || is_on(2),
            "{} writes no log\nhint: there, SET GLOBAL slow_query_log = 1, long_query_time = 0",
            target.describe()
        );
        let kind = if is_slow { TableKind::Slow } else { TableKind::General };
        let mut log = TableLog::open(&mut session, kind).context("read the log's table")?;
        let place = mark.and_then(|mark| mark.strip_prefix(kind_word(!is_slow)));
        match place.and_then(TablePlace::parse) {
            Some(place) => log.resume(place),
            None => log.skip_to_end(&mut session).context("read the log's table")?,
        }
        Ok(Table { session, log, is_general: !is_slow })
    }
}

/// What marks of this kind begin with.
fn kind_word(is_general: bool) -> &'static str {
    if is_general { "general " } else { "slow " }
}

impl Feed for Table {
    fn poll(&mut self, on: On<'_>) -> anyhow::Result<Got> {
        let look = self.log.look(&mut self.session, on).context("read the log's table")?;
        Ok(if look.has_more { Got::More } else { Got::Idle })
    }
    fn mark(&self) -> Option<String> {
        Some(format!("{}{}", kind_word(self.is_general), self.log.place()))
    }
    fn caveat(&self) -> Option<String> {
        self.log.caveat().map(str::to_owned)
    }
    fn pause(&self) -> Nanos {
        Nanos(200_000_000)
    }
}
