//! A server's log in a table, read over SQL.

use anyhow::Context;

use super::{PollState, RecordCallback, StatementSource};
use crate::base::{Nanos, Stop};
use crate::capture::table_log::{TableKind, TableLog, TablePosition};
use crate::client::{Session, Target};

/// A server's log in a table. Which of the two is on, the server tells.
pub(super) struct LogTableSource {
    session: Session,
    log: TableLog,
    is_general: bool,
}

impl LogTableSource {
    pub(super) fn open_log(
        target: &Target,
        mark: Option<&str>,
        stop: &Stop,
    ) -> anyhow::Result<LogTableSource> {
        let mut session = target.connect(stop).context("read the log of the active server")?;
        let rows = session
            .query_rows(
                "SELECT @@GLOBAL.log_output, @@GLOBAL.slow_query_log, @@GLOBAL.general_log, \
                   @@GLOBAL.long_query_time",
            )
            .context("ask where the active server writes its logs")?;
        let value = |at| rows.text_value(0, at).unwrap_or_default();
        anyhow::ensure!(
            value(0).to_ascii_uppercase().contains("TABLE"),
            "{} does not write its logs into tables (log_output = {})\nhint: there, SET GLOBAL \
             log_output = 'TABLE', slow_query_log = 1, long_query_time = 0; or read its log file \
             with --from FILE, or from another machine with `sweat ship`",
            target.address_text(),
            value(0)
        );
        let is_on = |at| value(at) == "1" || value(at) == "ON";
        let is_slow = is_on(1);
        anyhow::ensure!(
            is_slow || is_on(2),
            "{} writes no log\nhint: there, SET GLOBAL slow_query_log = 1, long_query_time = 0",
            target.address_text()
        );
        let kind = if is_slow { TableKind::Slow } else { TableKind::General };
        let mut log = TableLog::open(&mut session, kind).context("read the log's table")?;
        let place = mark.and_then(|mark| mark.strip_prefix(mark_prefix(!is_slow)));
        match place.and_then(TablePosition::parse) {
            Some(place) => log.resume_at(place),
            None => log.skip_to_end(&mut session).context("read the log's table")?,
        }
        Ok(LogTableSource { session, log, is_general: !is_slow })
    }
}

/// What marks of this kind begin with.
fn mark_prefix(is_general: bool) -> &'static str {
    if is_general { "general " } else { "slow " }
}

impl StatementSource for LogTableSource {
    fn poll_records(&mut self, on: RecordCallback<'_>) -> anyhow::Result<PollState> {
        let look = self.log.poll_rows(&mut self.session, on).context("read the log's table")?;
        Ok(if look.has_more { PollState::More } else { PollState::Idle })
    }
    fn resume_mark(&self) -> Option<String> {
        Some(format!("{}{}", mark_prefix(self.is_general), self.log.current_position()))
    }
    fn caveat(&self) -> Option<String> {
        self.log.caveat().map(str::to_owned)
    }
    fn idle_delay(&self) -> Nanos {
        Nanos(200_000_000)
    }
}
