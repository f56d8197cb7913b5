//! Looks what of a hot set is in a server's pool: page by page where the pages are the same, by samples or by how full
//! an index is where they are not.

use std::collections::{HashMap, HashSet};

use super::restore::{
    IndexMatch, count_warm_reads, match_indexes, read_index_locations, read_resident_pages,
    read_tables, sample_statements,
};
use super::warmth::index_key;
use super::{HotSet, IndexPresence, PoolResidency};
use crate::client::Session;
use crate::warm::{PoolStatus, read_inventory};

/// How thoroughly to look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ResidencyOptions {
    /// The server may look at every page of its pool (about 2 us each); otherwise only what it counts anyway is used.
    pub pages: bool,
    /// Where page numbers differ, rows of the hot set are read one by one to see whether they are there; that reads
    /// those that are not. Otherwise an index is taken for as warm as it is full.
    pub rows: bool,
}

/// Looks what of a hot set is in the pool.
///
/// # Errors
/// When the server is gone.
pub fn read_residency(
    session: &mut Session,
    hot: &HotSet,
    pool: &PoolStatus,
    how: ResidencyOptions,
) -> anyhow::Result<PoolResidency> {
    let mut found = PoolResidency::default();
    let catalog = read_tables(session, hot)?;
    let places = read_index_locations(session, hot, &mut found.notes)?;
    let all = match_indexes(hot, &catalog, &places, pool.page_bytes, &mut found.notes);
    let (same, other): (Vec<&IndexMatch<'_>>, Vec<&IndexMatch<'_>>) =
        all.iter().partition(|one| one.is_same && how.pages);
    let spaces: HashSet<u32> = same.iter().map(|one| one.hot.space).collect();
    match read_resident_pages(session, &spaces) {
        Ok(pages) => {
            for one in &same {
                let own = one.hot.pages.iter().map(|(page, _)| *page);
                let there = own.filter(|page| pages.contains(&(one.hot.space, *page))).collect();
                found.indexes.insert(index_key(one.hot), IndexPresence::Pages(there));
            }
        }
        Err(error) => found.notes.push(format!("pages can't be told apart: {error:#}")),
    }
    let mut unknown = Vec::new();
    for one in other {
        let statements =
            if how.rows { sample_statements(std::iter::once(one)) } else { Vec::new() };
        if statements.is_empty() {
            unknown.push(one);
            continue;
        }
        let warm = count_warm_reads(session, &statements)? as u64;
        let sampled = statements.len() as u64;
        found.indexes.insert(index_key(one.hot), IndexPresence::Sampled { warm, sampled });
    }
    if !unknown.is_empty() {
        let seen = read_inventory(session, pool, false)?;
        let seen = match seen.lines.is_empty() && how.pages {
            true => read_inventory(session, pool, true)?,
            false => seen,
        };
        found.notes.extend(seen.notes);
        let name = |d: &str, t: &str, p: &str, i: &str| {
            (d.to_owned(), t.to_owned(), p.to_lowercase(), i.to_owned())
        };
        let cached: HashMap<_, u64> = seen
            .lines
            .iter()
            .map(|l| (name(&l.database, &l.table, &l.partition, &l.index), l.pages_cached))
            .collect();
        for one in unknown {
            let at = name(&one.hot.database, &one.hot.table, &one.hot.partition, &one.hot.index);
            let pages = cached.get(&at).copied().unwrap_or(0);
            found.indexes.insert(index_key(one.hot), IndexPresence::Filled(pages));
        }
    }
    Ok(found)
}
