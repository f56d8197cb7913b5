//! The leaves of an index in the order of keys, with the first key of each, from the levels above them: the leaves
//! themselves are not read, so this costs one page in some hundreds.
//!
//! The file may be older than the pool, and is written while it is read. So every page above the leaves is checked:
//! index, level and place must be what its parent says. What can't be read is told as a gap.

use anyhow::{Context, bail};

use super::page::IndexPage;
use super::record::{KeyValues, RecordLayout};
use super::tablespace::Tablespace;
use crate::base::Stop;

/// Where an index is.
#[derive(Clone, Copy, Debug)]
pub(in crate::warm::hotset) struct IndexRoot {
    /// Page where the index begins.
    pub page: u32,
    /// Number of the index.
    pub index_id: u64,
}

/// What a walk meets, in the order of keys.
pub(super) enum WalkStep<'a> {
    /// A leaf and its first key; `None` for "from the begin".
    Leaf(u32, Option<KeyValues<'a>>),
    /// Leaves that were left out or can't be read, and their first key.
    Gap(Option<KeyValues<'a>>),
}

/// Tries to tell the size of the NULL marks by reading children: more of them tell no more.
const SAMPLES: usize = 6;

/// A walk over one index.
pub(super) struct IndexWalk<'w> {
    pub space: &'w mut Tablespace,
    pub root: IndexRoot,
    pub layout: RecordLayout,
    /// Which pages above the leaves are worth reading.
    pub wanted: &'w dyn Fn(u32) -> bool,
    pub stop: &'w Stop,
    /// Pages above the leaves that were met, read or not.
    pub inner: Vec<u32>,
    /// Pages that could not be read, and why the first of them.
    pub lost: (u64, Option<String>),
}

impl IndexWalk<'_> {
    /// Walks the index and tells its leaves.
    ///
    /// # Errors
    /// When the root can't be read or makes no sense.
    pub(super) fn visit_leaves(
        &mut self,
        told: &mut dyn FnMut(WalkStep<'_>),
    ) -> anyhow::Result<()> {
        let mut buffer = Vec::new();
        let page = self.space.read_page(self.root.page, &mut buffer)?;
        let head = *page.head();
        if head.index_id != self.root.index_id {
            bail!("its root belongs to index {}", head.index_id);
        }
        if head.level == 0 {
            told(WalkStep::Leaf(self.root.page, None));
            return Ok(());
        }
        if head.level > 60 {
            bail!("its root is of level {}", head.level);
        }
        let children = self.read_root_children(&page)?;
        self.inner.push(self.root.page);
        self.visit_level(&children, head.level, None, told);
        Ok(())
    }

    /// Children of the root, with NULL marks of the size with which they prove to be children. That size depends on how
    /// many columns could be NULL when the table was made: columns added or dropped in an instant don't change it.
    fn read_root_children(&mut self, root: &IndexPage<'_>) -> anyhow::Result<Vec<(LevelKey, u32)>> {
        let now = self.layout.null_bytes;
        let mut why = None;
        for bytes in std::iter::once(now).chain((0..=now + 4).filter(|b| *b != now)) {
            self.layout.null_bytes = bytes;
            match read_children(root, &self.layout)
                .and_then(|c| self.check_children(root, &c).map(|()| c))
            {
                Ok(children) => return Ok(children),
                Err(error) => why = why.or(Some(error)),
            }
        }
        Err(why.expect("at least one size was tried")).context("its root is not valid")
    }

    /// Whether some of these are children of the root.
    fn check_children(
        &mut self,
        root: &IndexPage<'_>,
        children: &[(LevelKey, u32)],
    ) -> anyhow::Result<()> {
        let step = children.len().div_ceil(SAMPLES).max(1);
        let mut buffer = Vec::new();
        for (_, child) in children.iter().step_by(step) {
            self.read_child(*child, root.head().level, &mut buffer)?;
        }
        Ok(())
    }

    /// Reads a page that should be a child of one of this level.
    fn read_child<'a>(
        &mut self,
        number: u32,
        level: u16,
        buffer: &'a mut Vec<u8>,
    ) -> anyhow::Result<IndexPage<'a>> {
        let page = self.space.read_page(number, buffer)?;
        let head = page.head();
        if head.index_id != self.root.index_id || head.level + 1 != level {
            bail!("page {number} is of level {} of index {}", head.level, head.index_id);
        }
        Ok(page)
    }

    /// Tells what is below the pages of one parent; `first` is the first key of the parent.
    fn visit_level(
        &mut self,
        children: &[(LevelKey, u32)],
        level: u16,
        first: Option<&LevelKey>,
        told: &mut dyn FnMut(WalkStep<'_>),
    ) {
        let mut buffer = Vec::new();
        for (key, child) in children {
            // The first key of a level may be anything below: what the parent says is nearer.
            let key = if key.is_lowest() { first } else { Some(key) };
            if level == 1 {
                told(WalkStep::Leaf(*child, key.map(LevelKey::to_values)));
                continue;
            }
            self.inner.push(*child);
            if self.stop.is_set() || !(self.wanted)(*child) {
                told(WalkStep::Gap(key.map(LevelKey::to_values)));
                continue;
            }
            let read = self.read_child(*child, level, &mut buffer);
            match read.and_then(|page| self::read_children(&page, &self.layout)) {
                Ok(below) => {
                    let key = key.cloned();
                    self.visit_level(&below, level - 1, key.as_ref(), told);
                }
                Err(error) => {
                    self.lost.0 += 1;
                    self.lost.1.get_or_insert(format!("{error:#}"));
                    told(WalkStep::Gap(key.map(LevelKey::to_values)));
                }
            }
        }
    }
}

/// A key that outlives its page; `None` stands for the begin of the level.
#[derive(Clone, Debug)]
struct LevelKey(Option<Vec<Option<Vec<u8>>>>);

impl LevelKey {
    fn is_lowest(&self) -> bool {
        self.0.is_none()
    }
    fn to_values(&self) -> KeyValues<'_> {
        self.0.iter().flatten().map(Option::as_deref).collect()
    }
}

/// Keys and numbers of the pages below one.
fn read_children(
    page: &IndexPage<'_>,
    layout: &RecordLayout,
) -> anyhow::Result<Vec<(LevelKey, u32)>> {
    let mut found = Vec::with_capacity(usize::from(page.head().records));
    for record in page.records() {
        let (values, child) = layout.read_key(&record).context("a key can't be read")?;
        let key = (!record.is_lowest())
            .then(|| values.iter().map(|v| v.map(<[u8]>::to_vec)).collect::<Vec<_>>());
        found.push((LevelKey(key), child));
    }
    if found.len() != usize::from(page.head().records) {
        bail!("{} of {} keys can be reached", found.len(), page.head().records);
    }
    Ok(found)
}
