//! What a write would read: a SELECT with its own FROM, WHERE, ORDER and LIMIT, and look-ups in the indexes it would
//! change. Made by slicing the statement's own bytes; what is not known in full has none.
//! Never knows: sessions' state, load. Start reading at `read_half`, then `probes` in `probe.rs`.
//! To add a form of write: its arm in `WriteClauses::of`, and what is read of it in `halves`.

mod clauses;
mod indexes;
mod lookups;
#[cfg(test)]
mod tests;

pub use indexes::{IndexCatalog, IndexedTable, TableIndex};
pub use lookups::index_lookups;

use super::read_only::statement::TokenizedStatement;
use super::read_only::{self, AllowList, FilterDecision};
use clauses::WriteClauses;

/// The SELECT that finds the rows which a write would change, or which it would take: for UPDATE and DELETE of all
/// forms, INSERT and REPLACE of a SELECT. `None` where there is none, or it may not be sent.
pub fn read_half(statement: &[u8], allowed: &AllowList) -> Option<Vec<u8>> {
    // Filtered once, as the filter goes over all readings again: in each it would be the square of them.
    filtered_statement(in_every_reading(statement, build_read_half)?, allowed)
}

/// What all readings of a statement agree on.
fn in_every_reading<T: PartialEq>(
    statement: &[u8],
    of: impl Fn(&TokenizedStatement<'_>) -> Option<T>,
) -> Option<T> {
    let mut found = None;
    for variant in read_only::tokenize_all_modes(statement).ok()? {
        let one = of(&TokenizedStatement::new(statement, variant).ok()?)?;
        match &found {
            None => found = Some(one),
            Some(other) if *other == one => {}
            Some(_) => return None,
        }
    }
    found
}

/// A statement of ours, as the filter lets it through.
fn filtered_statement(half: Vec<u8>, allowed: &AllowList) -> Option<Vec<u8>> {
    match read_only::filter_statement(&half, allowed) {
        FilterDecision::Read(sent) => Some(sent.into_owned()),
        _ => None,
    }
}

fn build_read_half(s: &TokenizedStatement<'_>) -> Option<Vec<u8>> {
    let parts = WriteClauses::from_statement(s)?;
    let pieces = match &parts {
        WriteClauses::Update { with, refs, tail, .. }
        | WriteClauses::Delete { with, refs, tail, .. } => {
            vec![
                s.slice_tokens(with),
                &b"SELECT * FROM"[..],
                s.slice_tokens(refs),
                s.slice_tokens(tail),
            ]
        }
        WriteClauses::Insert { select: Some(select), .. } => vec![s.slice_tokens(select)],
        WriteClauses::Insert { .. } => return None,
    };
    let pieces: Vec<&[u8]> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
    Some(pieces.join(&b' '))
}
