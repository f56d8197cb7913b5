//! A server we may talk to: address, identity, session, wire, dialect, error classes.
//! Never knows: workloads, load, reports.
//! Start reading at `Target::open_session` in `target.rs`, then `Session::run` in `session.rs`, down through
//! `packets.rs` to `client::transport` (bytes). What packets mean is in `wire/`, as pure functions.
//! To add a login method: an arm in `auth.rs`, what it computes in `scrambles.rs`. To add a server version: a row in `dialect.rs`.

mod auth;
mod captured;
mod control_plane;
mod dialect;
mod error;
mod identity;
mod login;
mod packets;
mod parsec;
mod pipeline;
pub mod preflight;
mod removed_instruments;
mod row_reader;
mod rsa_encryption;
mod scrambles;
mod session;
mod session_limits;
mod target;
#[cfg(test)]
mod tests;
mod value_sort;
mod wire;

pub use captured::{CapturableStatement, CapturedResult, CapturedResults};
pub use control_plane::{ResultSet, TextRow};
pub use dialect::{Feature, FeatureKind};
pub use error::{Error, is_retryable};
pub use identity::{ServerIdentity, ServerProduct, ServerVersion};
pub use pipeline::StatementPipeline;
pub use removed_instruments::{RemovedInstrument, quote_instruments};
pub use row_reader::{RowReader, RowValue};
pub use session::{ParameterValue, PreparedStatement, ROWS_COUNTER, Session, StatementReply};
pub use session_limits::SessionLimits;
pub use target::Target;
pub use value_sort::ValueSort;
