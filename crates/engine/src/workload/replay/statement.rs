//! What is played: a statement of the log, on its own.

use std::sync::Arc;

use super::stats::{DigestClass, RecordedOutcome};
use crate::recorder::ClassId;

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplayEventKind {
    Connect,
    Read,
    Set,
    Transaction,
    ReadHalf,
    Probe,
    Write,
}

impl ReplayEventKind {
    /// All, as classes of the load's events.
    pub(super) const ALL: &'static [(ReplayEventKind, &'static str)] = &[
        (ReplayEventKind::Connect, "connect"),
        (ReplayEventKind::Read, "read"),
        (ReplayEventKind::Set, "set"),
        (ReplayEventKind::Transaction, "transaction"),
        (ReplayEventKind::ReadHalf, "read_half"),
        (ReplayEventKind::Probe, "probe"),
        (ReplayEventKind::Write, "write"),
    ];

    pub(super) fn class_id(self) -> ClassId {
        let at = ReplayEventKind::ALL.iter().position(|(sort, _)| *sort == self);
        ClassId(at.expect("all are listed") as u16)
    }
}

/// A statement to send.
pub(super) struct ReplayStatement {
    pub(super) text: Box<[u8]>,
    pub(super) sort: ReplayEventKind,
    /// Where its figures go; none for what we send besides.
    pub(super) class: Option<Arc<DigestClass>>,
    pub(super) before: RecordedOutcome,
    /// Default database that it needs, if it is known.
    pub(super) database: Option<Arc<[u8]>>,
    /// It holds bytes that are no text of the session's character set.
    pub(super) is_binary: bool,
    /// When it was recorded, microseconds since 1970, if it shall be told so.
    pub(super) now_us: Option<u64>,
    /// Its place in the file.
    pub(super) number: u64,
    /// When it is due, microseconds from the begin of the log.
    pub(super) at_us: u64,
}

impl ReplayStatement {
    /// Memory that it takes, about.
    pub(super) fn memory_bytes(&self) -> usize {
        self.text.len() + size_of::<ReplayStatement>()
    }
}
