//! The pages in the server's pool in the order of its LRU lists, the hottest first.

use std::collections::{BTreeMap, HashMap};

use crate::client::{Error, Session, TextRow};
use crate::warm::pool_status::column_text;

/// A page of an index in the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PoolPage {
    pub space: u32,
    pub page: u32,
    /// Which of the names is its table and index; `None` if the server does not know.
    pub name: Option<u32>,
}

/// The pool, looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PoolSnapshot {
    /// Pages of indexes, the hottest first.
    pub pages: Vec<PoolPage>,
    /// Tables and indexes as the server names them.
    pub names: Vec<(String, String)>,
    /// Pages of other kinds, by kind.
    pub others: BTreeMap<String, u64>,
    /// Pages were evicted since the server started. Until then it leaves pages where they were put first.
    pub in_motion: bool,
}

/// Place 0 is the end of the list that is evicted next.
const LOOK: &str = "SELECT POOL_ID, LRU_POSITION, SPACE, PAGE_NUMBER, PAGE_TYPE, TABLE_NAME, \
    INDEX_NAME, FREE_PAGE_CLOCK FROM information_schema.INNODB_BUFFER_PAGE_LRU";

/// Looks at every page of the pool.
pub(super) fn read_pool(session: &mut Session) -> Result<PoolSnapshot, Error> {
    let mut lists = LruLists::default();
    session.for_each_row(LOOK, &mut |row| lists.add_row(&row))?;
    Ok(lists.into_snapshot())
}

/// The lists of all pool instances, as they come.
#[derive(Default)]
struct LruLists {
    /// Instance, place from the cold end, page.
    pages: Vec<(u32, u64, PoolPage)>,
    names: HashMap<(String, String), u32>,
    lengths: HashMap<u32, u64>,
    others: BTreeMap<String, u64>,
    in_motion: bool,
}

impl LruLists {
    fn add_row(&mut self, row: &TextRow) {
        let number = |at| column_text(row, at).and_then(|v| v.parse::<u64>().ok());
        let small = |at| number(at).and_then(|n| u32::try_from(n).ok());
        let (Some(list), Some(place)) = (small(0), number(1)) else { return };
        let length = self.lengths.entry(list).or_default();
        *length = (*length).max(place + 1);
        self.in_motion |= number(7).is_some_and(|clock| clock > 0);
        let kind = column_text(row, 4).unwrap_or_default();
        let (Some(space), Some(page), "INDEX") = (small(2), small(3), kind.as_str()) else {
            *self.others.entry(kind).or_default() += 1;
            return;
        };
        let name = column_text(row, 5).zip(column_text(row, 6)).map(|name| {
            let next = self.names.len() as u32;
            *self.names.entry(name).or_insert(next)
        });
        self.pages.push((list, place, PoolPage { space, page, name }));
    }

    /// One list, the hottest first. Instances have lists of their own, of about equal age from end to end: what is
    /// as far from the hot end, by the list's length, is taken for as hot.
    fn into_snapshot(mut self) -> PoolSnapshot {
        let lengths = std::mem::take(&mut self.lengths);
        let from_hot = |list: u32, place: u64| {
            let length = lengths.get(&list).copied().unwrap_or(1);
            (length - 1 - place) as f64 / length as f64
        };
        self.pages
            .sort_by(|a, b| from_hot(a.0, a.1).total_cmp(&from_hot(b.0, b.1)).then(a.0.cmp(&b.0)));
        let mut names = vec![(String::new(), String::new()); self.names.len()];
        for (name, at) in self.names {
            names[at as usize] = name;
        }
        let pages = self.pages.into_iter().map(|(_, _, seen)| seen).collect();
        PoolSnapshot { pages, names, others: self.others, in_motion: self.in_motion }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(list: u32, place: u64, page: u32, kind: &str, names: Option<(&str, &str)>) -> TextRow {
        let text = |t: &str| Some(t.as_bytes().to_vec());
        vec![
            text(&list.to_string()),
            text(&place.to_string()),
            text("7"),
            text(&page.to_string()),
            text(kind),
            names.and_then(|n| text(n.0)),
            names.and_then(|n| text(n.1)),
            text(if place > 2 { "5" } else { "0" }),
        ]
    }

    #[test]
    fn lists_of_several_instances_are_merged_by_their_length() {
        let mut lists = LruLists::default();
        for place in 0..4 {
            lists.add_row(&row(0, place, 10 + place as u32, "INDEX", Some(("`a`.`t`", "PRIMARY"))));
        }
        for place in 0..2 {
            lists.add_row(&row(1, place, 20 + place as u32, "INDEX", None));
        }
        lists.add_row(&row(1, 2, 99, "UNDO_LOG", None));
        lists.add_row(&row(1, 3, 98, "UNDO_LOG", None));
        let pool = lists.into_snapshot();
        assert!(pool.in_motion);
        let pages: Vec<u32> = pool.pages.iter().map(|p| p.page).collect();
        assert_eq!(pages, [13, 12, 11, 21, 10, 20]);
        assert_eq!(pool.names, [("`a`.`t`".to_owned(), "PRIMARY".to_owned())]);
        assert_eq!((pool.pages[0].name, pool.pages[3].name), (Some(0), None));
        assert_eq!(pool.others, BTreeMap::from([("UNDO_LOG".to_owned(), 2)]));
    }
}
