//! Keys from InnoDB's files: which key each leaf of an index begins with, read from the levels above the leaves.
//! Never knows: sessions, what is hot for whom.
//! Start reading at `ranges.rs`, then `tree.rs`.

mod checksum;
mod kind;
mod page;
mod ranges;
mod record;
mod shape;
mod tablespace;
mod tree;
mod value;

pub(super) use ranges::{HotPages, RANGE_LEAVES, find_ranges};
pub(super) use shape::KeyShape;
pub(super) use tablespace::Tablespace;
pub(super) use tree::IndexRoot;

/// Reads a page as an index's, and its records as keys of several types, and counts what it finds: any bytes will do.
/// The door for tests that feed in rubbish.
#[doc(hidden)]
pub fn probe_page(bytes: &[u8]) -> usize {
    use kind::ValueKind;
    use record::{FieldLength, KeyField, RecordLayout};
    let whole = [false, true].map(|full| checksum::is_intact(bytes, full));
    let Ok(page) = page::IndexPage::from_bytes(bytes) else {
        return usize::from(whole[0] || whole[1]);
    };
    let field = |length, nullable| KeyField { length, nullable };
    let fields = [
        field(FieldLength::Fixed(4), false),
        field(FieldLength::Own { long: false }, true),
        field(FieldLength::Own { long: true }, true),
    ];
    let kinds = [
        ValueKind::Integer { signed: true },
        ValueKind::Bytes,
        ValueKind::Text { charset: "utf8mb4".to_owned(), padded: true },
    ];
    let mut found = 0;
    for null_bytes in 0..3 {
        for fields in [&fields[..1], &fields[..2], &fields[..]] {
            let layout = RecordLayout { fields: fields.to_vec(), null_bytes };
            // All records by the shortest key; of the others some, as long keys that overlap take seconds.
            let most = if null_bytes == 0 && fields.len() == 1 { usize::MAX } else { 32 };
            for record in page.records().take(most) {
                let Some((values, child)) = layout.read_key(&record) else { continue };
                let literals =
                    values.iter().zip(&kinds).map(|(v, kind)| value::to_literal(kind, *v));
                found += literals.flatten().count() + usize::from(child > 0 && record.is_lowest());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    /// A page that says it is one of an index.
    fn dressed(mut bytes: Vec<u8>, compact: bool) -> Vec<u8> {
        if bytes.len() > 100 {
            bytes[24..26].copy_from_slice(&17855u16.to_be_bytes());
            bytes[26..30].fill(0);
            bytes[42] = if compact { 0x80 } else { 0 };
            bytes[54..56].copy_from_slice(&40u16.to_be_bytes());
        }
        bytes
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            compact in any::<bool>(),
        ) {
            super::probe_page(&bytes);
            super::probe_page(&dressed(bytes, compact));
        }
    }
}
