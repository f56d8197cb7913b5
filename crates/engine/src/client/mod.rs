//! Clients of servers we may talk to. `transport` carries bytes (TCP, unix socket, TLS; on a reactor or blocking) and knows no
//! protocol; `mysql` and `http` speak one each over it, `nats` one over a socket of its own. Another protocol is a folder
//! beside them.
//! Never knows: workloads, load, reports. Start reading in `mysql/mod.rs` or `http/mod.rs`.

mod http;
mod mysql;
#[cfg(feature = "agents")]
mod nats;
mod transport;

pub use http::{
    BodySize, FieldPrivacy, FramedRequest, Http2Connection, HttpConnection, HttpFault, HttpOrigin,
    HttpUrl, OriginSetup, ReplyField, ReplyLimits, ReplyScan, ReplySink, ReplySummary,
    ScanProgress, SharedLine, WebTls, scan_frames, write_block_field,
};
pub use mysql::preflight;
pub use mysql::{
    CapturableStatement, CapturedResult, CapturedResults, Error, Feature, FeatureKind,
    ParameterValue, PreparedStatement, ROWS_COUNTER, RemovedInstrument, ResultSet, RowReader,
    RowValue, ServerIdentity, ServerProduct, ServerVersion, Session, SessionLimits,
    StatementPipeline, StatementReply, Target, TextRow, ValueSort, is_retryable, quote_instruments,
};
#[cfg(feature = "agents")]
pub use nats::{
    NatsAddress, NatsConnection, NatsError, NatsEvent, NatsMessage, NatsOptions, NkeySeed,
    scan_nats_frames,
};
