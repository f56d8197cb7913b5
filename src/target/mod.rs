//! A server we may talk to: address, identity, session, wire, dialect, error classes.
//! Never knows: workloads, load, reports.

mod error;
mod identity;

pub use error::Error;
pub use identity::{Identity, Product, Version};

use crate::base::Stop;
use crate::plan::AddressPlan;
use crate::recorder::{EventError, Tally};

/// An address with everything needed to log in; opens sessions.
#[derive(Clone, Debug)]
pub struct Target {
    plan: AddressPlan,
}

impl Target {
    /// Resolves names and reads key files; doesn't connect.
    ///
    /// # Errors
    /// When a name can't be resolved or a file can't be read.
    pub fn new(plan: &AddressPlan) -> Result<Target, Error> {
        Ok(Target { plan: plan.clone() })
    }
    /// What was asked.
    pub fn plan(&self) -> &AddressPlan {
        &self.plan
    }
    /// Opens a blocking session for the control plane; waiting ends when `abandon` is set.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn connect(&self, abandon: &Stop) -> Result<Session, Error> {
        crate::base::reactor::block_on(self.open(abandon))
    }
    /// Opens a session for a worker: on a reactor's thread it attaches itself, elsewhere it blocks.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn open(&self, _abandon: &Stop) -> Result<Session, Error> {
        unimplemented!("wire session")
    }
    /// Whether the server runs on this machine, as far as the address tells.
    pub fn is_local(&self) -> bool {
        unimplemented!("address")
    }
}

/// One connection.
#[derive(Debug)]
pub struct Session {}

/// A statement prepared on one session.
#[derive(Clone, Copy, Debug)]
pub struct Prepared {
    /// The server's number for it.
    pub id: u32,
    /// Parameters.
    pub parameters: u16,
}

/// A parameter of a prepared statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// Signed.
    Int(i64),
    /// Unsigned.
    Uint(u64),
    /// Floating point.
    Double(f64),
    /// Text or binary.
    Bytes(&'a [u8]),
}

/// What a statement gave, all its results together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Rows received.
    pub rows: u64,
    /// Rows changed.
    pub affected: u64,
    /// Last number given out by AUTO_INCREMENT.
    pub last_insert_id: u64,
    /// Warnings.
    pub warnings: u16,
}

/// Rows of a control-plane statement, as text.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Column names.
    pub columns: Vec<String>,
    /// Values; `None` is NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

impl Session {
    /// Runs text, reads and forgets all results. Hot path: no allocation.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    pub async fn execute(&mut self, _tally: &mut Tally, _sql: &[u8]) -> Result<Reply, EventError> {
        unimplemented!("wire session")
    }
    /// Prepares a statement.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub async fn prepare(&mut self, _sql: &str) -> Result<Prepared, Error> {
        unimplemented!("wire session")
    }
    /// Runs a prepared statement, reads and forgets all results. Hot path: no allocation.
    ///
    /// # Errors
    /// The text of a server error is in `error_text`.
    pub async fn run(
        &mut self,
        _tally: &mut Tally,
        _statement: &Prepared,
        _values: &[Value<'_>],
    ) -> Result<Reply, EventError> {
        unimplemented!("wire session")
    }
    /// Says good-bye.
    pub async fn quit(&mut self) {}
    /// Text of the last server error.
    pub fn error_text(&self) -> &str {
        ""
    }
    /// The server's number for this connection.
    pub fn id(&self) -> u64 {
        0
    }
    /// Product and version.
    pub fn identity(&self) -> &Identity {
        unimplemented!("wire session")
    }
    /// Control plane, blocking: rows of one statement.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn rows(&mut self, _sql: &str) -> Result<Rows, Error> {
        unimplemented!("wire session")
    }
    /// Control plane, blocking: first column of the first row.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn scalar(&mut self, _sql: &str) -> Result<Option<String>, Error> {
        unimplemented!("wire session")
    }
    /// Control plane, blocking: a statement without rows.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn command(&mut self, _sql: &str) -> Result<Reply, Error> {
        unimplemented!("wire session")
    }
    /// Control plane, blocking: `LOAD DATA LOCAL INFILE` whose file is `data`. The only time a file is ever sent.
    ///
    /// # Errors
    /// As [`Error`] tells apart.
    pub fn load_local(
        &mut self,
        _sql: &str,
        _data: &mut dyn std::io::Read,
    ) -> Result<Reply, Error> {
        unimplemented!("wire session")
    }
}
