//! What a write would read: a SELECT with its own FROM, WHERE, ORDER and LIMIT, and look-ups in the indexes it would
//! change. Made by slicing the statement's own bytes; what is not known in full has none.
//! Never knows: sessions' state, load. Start reading at `read_half`, then `probes` in `probe.rs`.
//! To add a form of write: its arm in `Parts::of`, and what is read of it in `halves`.

mod indexes;
mod parts;
mod probe;
#[cfg(test)]
mod tests;

pub use indexes::{Index, Indexes, Table};
pub use probe::probes;

use super::read_only::statement::Statement;
use super::read_only::{self, Allowed, Ruling};
use parts::Parts;

/// The SELECT that finds the rows which a write would change, or which it would take: for UPDATE and DELETE of all
/// forms, INSERT and REPLACE of a SELECT. `None` where there is none, or it may not be sent.
pub fn read_half(statement: &[u8], allowed: &Allowed) -> Option<Vec<u8>> {
    in_every_reading(statement, |s| half(s).and_then(|half| checked(half, allowed)))
}

/// What all readings of a statement agree on.
fn in_every_reading<T: PartialEq>(
    statement: &[u8],
    of: impl Fn(&Statement<'_>) -> Option<T>,
) -> Option<T> {
    let mut found = None;
    for variant in read_only::readings(statement).ok()? {
        let one = of(&Statement::new(statement, variant).ok()?)?;
        match &found {
            None => found = Some(one),
            Some(other) if *other == one => {}
            Some(_) => return None,
        }
    }
    found
}

/// A statement of ours, as the filter lets it through.
fn checked(half: Vec<u8>, allowed: &Allowed) -> Option<Vec<u8>> {
    match read_only::rule(&half, allowed) {
        Ruling::Read(sent) => Some(sent.into_owned()),
        _ => None,
    }
}

fn half(s: &Statement<'_>) -> Option<Vec<u8>> {
    let parts = Parts::of(s)?;
    let pieces = match &parts {
        Parts::Update { with, refs, tail, .. } | Parts::Delete { with, refs, tail, .. } => {
            vec![s.slice(with), &b"SELECT * FROM"[..], s.slice(refs), s.slice(tail)]
        }
        Parts::Insert { select: Some(select), .. } => vec![s.slice(select)],
        Parts::Insert { .. } => return None,
    };
    let pieces: Vec<&[u8]> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
    Some(pieces.join(&b' '))
}
