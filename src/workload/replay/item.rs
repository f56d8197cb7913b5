//! What is played: a statement of the log, on its own.

use std::sync::Arc;

use super::book::{Before, Class};
use crate::recorder::ClassId;

/// What an event does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Connect,
    Read,
    Set,
    Transaction,
    ReadHalf,
    Probe,
    Write,
}

impl Sort {
    /// All, as classes of the load's events.
    pub(super) const ALL: &'static [(Sort, &'static str)] = &[
        (Sort::Connect, "connect"),
        (Sort::Read, "read"),
        (Sort::Set, "set"),
        (Sort::Transaction, "transaction"),
        (Sort::ReadHalf, "read_half"),
        (Sort::Probe, "probe"),
        (Sort::Write, "write"),
    ];

    pub(super) fn class(self) -> ClassId {
        let at = Sort::ALL.iter().position(|(sort, _)| *sort == self);
        ClassId(at.expect("all are listed") as u16)
    }
}

/// A statement to send.
pub(super) struct Item {
    pub(super) text: Box<[u8]>,
    pub(super) sort: Sort,
    /// Where its figures go; none for what we send besides.
    pub(super) class: Option<Arc<Class>>,
    pub(super) before: Before,
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

impl Item {
    /// Memory that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.text.len() + size_of::<Item>()
    }
}
