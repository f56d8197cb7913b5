//! Several prepared statements sent together, before the reply to the first is read: one packet round for all of them.
//! A server runs them in order and knows nothing of what belongs together, so one that fails does not keep it from running
//! those behind it: a COMMIT of changes must never be among them.

use super::captured::{CapturableStatement, CapturedResults, KEPT_INBOX};
use super::wire::encode;
use super::{ParameterValue, Session};
use crate::recorder::{EventError, Tally};

/// Statements to send together, in memory that is used again.
#[derive(Clone, Debug, Default)]
pub struct StatementPipeline {
    bytes: Vec<u8>,
    count: usize,
    /// One of them got another number of values than it has parameters.
    is_malformed: bool,
}

impl StatementPipeline {
    /// Forgets all statements.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
        self.is_malformed = false;
    }

    /// Adds a statement with its values.
    pub fn push(&mut self, statement: &CapturableStatement, values: &[ParameterValue<'_>]) {
        let written = encode::write_execute(&mut self.bytes, &statement.prepared, values);
        self.is_malformed |= written.is_err();
        self.count += 1;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl Session {
    /// Sends these statements together, and reads all their replies. Together they must be small enough for the buffers of two
    /// sockets: some tens of kilobytes. Each gives one result, in order. `statement_at` says which statement stands where.
    ///
    /// # Errors
    /// The first error and which statement it was of; those behind it were run all the same. The text of a server error is
    /// in `error_text`.
    pub async fn execute_pipelined<'s>(
        &mut self,
        tally: &mut Tally,
        pipeline: &StatementPipeline,
        statement_at: impl Fn(usize) -> &'s CapturableStatement,
        results: &mut CapturedResults,
    ) -> Result<(), (usize, EventError)> {
        self.start_statement().map_err(|error| (0, error))?;
        results.clear();
        let written = self.channel.send_packets(|out| match pipeline.is_malformed {
            true => encode::wrong_value_count(),
            false => {
                out.extend_from_slice(&pipeline.bytes);
                Ok(1)
            }
        });
        match written.await {
            Ok(bytes) => tally.bytes_sent += bytes as u64,
            Err(broken) => return Err((0, self.mark_broken(&broken))),
        }
        let mut first: Option<(usize, EventError, String)> = None;
        for place in 0..pipeline.count {
            self.channel.sequence = 1;
            let columns = statement_at(place).columns.as_slice();
            match self.read_captured(tally, results, Some(columns)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    if first.is_none() {
                        first = Some((place, error, self.error_text().to_owned()));
                    }
                    if !self.is_usable() {
                        break;
                    }
                }
                Err(broken) => return Err((place, self.mark_broken(&broken))),
            }
        }
        match first {
            None => {
                self.busy = false;
                // The next replies of a worker are about as long.
                self.channel.shrink_buffers_above(KEPT_INBOX);
                Ok(())
            }
            Some((place, error, text)) => {
                self.end_failed_statement(text);
                Err((place, error))
            }
        }
    }
}
