//! A page of an index: its head, and where its records begin. Any bytes will do: what is wrong ends the reading.

/// No page.
const NIL: u32 = u32::MAX;
/// Kinds of pages that hold an index.
const INDEX: u16 = 17855;
/// The root of a table to which columns were added in an instant (MariaDB).
const INSTANT_ROOT: u16 = 18;

/// What a page says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageHeader {
    /// Its number.
    pub number: u32,
    /// Its left neighbour in the same level, if any.
    pub before: Option<u32>,
    /// Its right neighbour in the same level, if any.
    pub after: Option<u32>,
    /// Number of its tablespace.
    pub space: u32,
    /// Rows or keys in it.
    pub records: u16,
    /// 0 for leaves.
    pub level: u16,
    /// Number of its index.
    pub index_id: u64,
    /// Whether records have the form COMPACT and DYNAMIC, else REDUNDANT.
    pub compact: bool,
}

/// A page of an index.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexPage<'a> {
    bytes: &'a [u8],
    head: PageHeader,
}

/// A record: where its first value begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageRecord<'a> {
    pub bytes: &'a [u8],
    /// Of its first value.
    pub origin: usize,
    pub compact: bool,
}

/// A number of two bytes.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// A number of four bytes.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl<'a> IndexPage<'a> {
    /// Reads a page's head.
    ///
    /// # Errors
    /// What the page is, if it is none of an index that can be read.
    pub(super) fn from_bytes(bytes: &'a [u8]) -> Result<IndexPage<'a>, &'static str> {
        let head = (|| {
            let kind = u16_at(bytes, 24)?;
            let number = |at| u32_at(bytes, at);
            let some = |page: u32| Some(page).filter(|p| *p != NIL);
            let head = PageHeader {
                number: number(4)?,
                before: some(number(8)?),
                after: some(number(12)?),
                space: number(34)?,
                records: u16_at(bytes, 54)?,
                level: u16_at(bytes, 64)?,
                index_id: u64::from(number(66)?) << 32 | u64::from(number(70)?),
                compact: u16_at(bytes, 42)? & 0x8000 != 0,
            };
            Some((kind, number(26)?, head))
        })();
        let (kind, key_version, head) = head.ok_or("the page is too short")?;
        match kind {
            INDEX | INSTANT_ROOT if key_version == 0 => Ok(IndexPage { bytes, head }),
            INDEX | INSTANT_ROOT | 15 | 16 | 37401 => Err("its pages are encrypted"),
            14 | 34354 => Err("its pages are compressed"),
            kind if kind & 0x8000 != 0 => Err("its pages are compressed"),
            0 if bytes.iter().all(|b| *b == 0) => Err("its pages are not on disk yet"),
            _ => Err("a page does not belong to an index"),
        }
    }

    /// What it says of itself.
    pub(super) fn head(&self) -> &PageHeader {
        &self.head
    }

    /// Whether an index begins here: only roots know where the index's pages are managed.
    pub(super) fn is_root(&self) -> bool {
        self.head.before.is_none()
            && self.head.after.is_none()
            && u32_at(self.bytes, 78).is_some_and(|page| page != 0)
    }

    /// Its records in the order of keys. Ends early where the chain is broken.
    pub(super) fn records(&self) -> impl Iterator<Item = PageRecord<'a>> + use<'a> {
        let (bytes, compact) = (self.bytes, self.head.compact);
        let (first, last) = if compact { (99, 112) } else { (101, 116) };
        let mut at = first;
        // A chain that runs in a circle ends as well.
        let mut left = u32::from(self.head.records);
        std::iter::from_fn(move || {
            let next = u16_at(bytes, at - 2)?;
            // Forward or back by so many bytes, or the place itself.
            at = if compact { (at + usize::from(next)) & 0xFFFF } else { usize::from(next) };
            left = left.checked_sub(1)?;
            let inside = at > last && at < bytes.len();
            inside.then_some(PageRecord { bytes, origin: at, compact })
        })
        .fuse()
    }
}

impl<'a> PageRecord<'a> {
    /// Whether it stands for everything before the first key of its level.
    pub(super) fn is_lowest(&self) -> bool {
        let back = if self.compact { 5 } else { 6 };
        self.origin.checked_sub(back).and_then(|at| self.bytes.get(at)).is_some_and(|b| b & 16 != 0)
    }
}
