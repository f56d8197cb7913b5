//! Takes the hot set of a live server: the pages in its pool in the order of heat, and the keys that they hold.
//!
//! The server is asked for its LRU lists once, which is all it has to do; keys are read from its files, where those
//! can be read. Nothing is changed on the server.
//! Start reading at [`save_hot_set`].

mod innodb_catalog;
mod pool;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use anyhow::Context;

use super::file::MOST_PAGES;
use super::ibd::{HotPages, KeyShape, RANGE_LEAVES, Tablespace, find_ranges};
use super::{FORMAT_VERSION, HotIndex, HotSet, HotSetOrigin};
use crate::base::{Clock, Nanos, RealClock, Stop};
use crate::client::{Error, Session};
use crate::warm::catalog::{self, CatalogTable, HIDDEN};
use crate::warm::inventory::parse_quoted_name;
use crate::warm::pool_status::read_status_text;
use crate::warm::{
    PoolStatus, TableChoice, WarmContext, open_session, read_pool_status, with_abandon_flag,
    with_kill_on_stop,
};
use crate::workload::JobProgress;
use innodb_catalog::{DataFiles, InnodbCatalog};
use pool::PoolSnapshot;

/// How to save.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavePlan {
    /// Databases and tables; all of the users if empty.
    pub tables: Vec<TableChoice>,
    /// How much of what is in the pool.
    pub most: SaveLimit,
    /// A copy of the server's data folder; its own, if it can be read here, if `None`.
    pub datadir: Option<PathBuf>,
    /// Most leaves of one range; 0 for as many as are good for reading them.
    pub range_leaves: u64,
    /// How long to watch how many accesses to pages there are per second; not at all if 0.
    pub watch: Nanos,
}

/// How much of what is in the pool to save, the hottest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum SaveLimit {
    /// All of it.
    #[default]
    All,
    /// A share of the index pages in the pool, 0 to 1.
    Share(f64),
    /// So many pages.
    Pages(u64),
}

/// What was saved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SaveOutcome {
    /// The hot set.
    pub hot: HotSet,
    /// Index pages of the chosen tables that are in the pool.
    pub pages_in_pool: u64,
    /// Hot pages that no range covers, of indexes that have ranges.
    pub pages_missed: u64,
    /// What the look at the pool took the server.
    pub look_seconds: f64,
    /// What reading the keys took.
    pub keys_seconds: f64,
    /// Pages read from the files for that.
    pub pages_read: u64,
    /// Whether it was stopped before its end: then there is no hot set.
    pub cut: bool,
}

/// Takes the hot set of a server.
///
/// # Errors
/// When the server is gone or refuses: its LRU lists are shown to accounts with the privilege PROCESS only.
pub fn save_hot_set(plan: &SavePlan, context: &mut WarmContext<'_>) -> anyhow::Result<SaveOutcome> {
    let (clock, stop) = (context.clock, context.stop.clone());
    with_abandon_flag(clock, &stop, |abandon| run_save(plan, context, abandon))
}

fn run_save(
    plan: &SavePlan,
    context: &mut WarmContext<'_>,
    abandon: &Stop,
) -> anyhow::Result<SaveOutcome> {
    let mut session = open_session(context.target, abandon)?;
    let warmth = read_pool_status(&mut session)?;
    let clock = context.clock;
    let accesses_per_s = measure_access_rate(&mut session, plan.watch, clock, context.stop)?;
    let began = clock.now();
    let pages = warmth.pages_data;
    (context.progress)(JobProgress {
        label: "look".to_owned(),
        done: 0,
        total: pages,
        unit: "pages",
    });
    let id = session.id();
    let looked = with_kill_on_stop(context.target, clock, context.stop, id, || {
        pool::read_pool(&mut session)
    });
    let pool = match looked {
        Ok(pool) => pool,
        Err(Error::Server { .. } | Error::Abandoned) if context.stop.is_set() => {
            return Ok(SaveOutcome { cut: true, ..SaveOutcome::default() });
        }
        Err(error) => return Err(pool_access_error(error)),
    };
    let look_seconds = clock.now().since(began).to_seconds();
    // Not before the look: it has the server read the first page of every index.
    let catalog = catalog::read_catalog(&mut session, &plan.tables)?;
    let places = InnodbCatalog::read_catalog(&mut session)?;
    let files = DataFiles::locate_datadir(&mut session, context.target, plan.datadir.as_deref())?;
    let origin = HotSetOrigin { accesses_per_s, ..read_origin(&mut session, &warmth, clock)? };
    let mut notes = catalog.notes;
    let groups = PagesByIndex::from_pool(&pool, &catalog.tables, plan.most, &mut notes);
    let mut taker = HotIndexBuilder {
        tables: &catalog.tables,
        places: &places,
        files: &files,
        range_leaves: plan.range_leaves,
        stop: context.stop,
        clock,
        saved: SaveOutcome { look_seconds, pages_in_pool: groups.pages, ..SaveOutcome::default() },
    };
    let began = clock.now();
    let total = groups.all.len() as u64;
    let mut indexes = Vec::new();
    for (done, group) in groups.all.iter().enumerate() {
        let label = format!("{}.{}", group.database, group.table);
        (context.progress)(JobProgress { label, done: done as u64, total, unit: "indexes" });
        if context.stop.is_set() {
            return Ok(SaveOutcome { cut: true, ..taker.saved });
        }
        indexes.push(taker.build_index(group));
    }
    let mut saved = taker.saved;
    saved.keys_seconds = clock.now().since(began).to_seconds();
    saved.cut = context.stop.is_set();
    saved.hot = HotSet { format_version: FORMAT_VERSION, origin, indexes, notes };
    Ok(saved)
}

/// What to say about a server that does not show its pool.
fn pool_access_error(error: Error) -> anyhow::Error {
    match error {
        Error::Server { code: 1227 | 1142, .. } => anyhow::Error::new(error)
            .context("the account needs the privilege PROCESS to see what is in the pool"),
        other => anyhow::Error::new(other).context("look at the pool"),
    }
}

fn read_origin(
    session: &mut Session,
    warmth: &PoolStatus,
    clock: RealClock,
) -> anyhow::Result<HotSetOrigin> {
    let rows = session
        .query_rows(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
             ('server_uuid', 'hostname', 'port', 'version')",
        )
        .context("ask the server who it is")?;
    let pairs: BTreeMap<String, String> = (0..rows.rows.len())
        .filter_map(|row| Some((rows.text_value(row, 0)?.to_lowercase(), rows.text_value(row, 1)?)))
        .collect();
    let value = |name: &str| pairs.get(name).cloned().unwrap_or_default();
    let server = match value("server_uuid") {
        none if none.is_empty() => format!("{}:{}", value("hostname"), value("port")),
        uuid => uuid,
    };
    Ok(HotSetOrigin {
        product: session.identity().product.name().to_owned(),
        version: value("version"),
        server,
        saved_unix_s: clock.unix_ns(clock.now()) / 1_000_000_000,
        page_bytes: u32::try_from(warmth.page_bytes).unwrap_or(0),
        pool_pages: warmth.pages_total,
        accesses_per_s: None,
    })
}

/// Accesses to pages per second, from two looks at the server's counter; we do nothing on the server in between.
fn measure_access_rate(
    session: &mut Session,
    watch: Nanos,
    clock: RealClock,
    stop: &Stop,
) -> anyhow::Result<Option<f64>> {
    let mut count = || -> anyhow::Result<Option<f64>> {
        let text = read_status_text(session, "Innodb_buffer_pool_read_requests")
            .context("read how many accesses to pages there were")?;
        Ok(text.parse().ok())
    };
    if watch == Nanos(0) {
        return Ok(None);
    }
    let (began, before) = (clock.now(), count()?);
    while !stop.is_set() && clock.now().since(began) < watch {
        clock.sleep_until((clock.now() + NAP).min(began + watch));
    }
    let (ended, after) = (clock.now(), count()?);
    let rate = before.zip(after).map(|(before, after)| {
        (after - before).max(0.0) / ended.since(began).to_seconds().max(1e-9)
    });
    Ok(rate.filter(|_| !stop.is_set()))
}

/// Longest sleep without a look at the stop flag.
const NAP: Nanos = Nanos(50_000_000);

/// The pages of one index.
#[derive(Debug, Default)]
struct IndexPages {
    database: String,
    table: String,
    partition: String,
    index: String,
    space: u32,
    /// Hot pages with their places.
    hot: Vec<(u32, u64)>,
    /// All of its pages in the pool.
    resident: HashSet<u32>,
}

/// The pages in the pool by index.
#[derive(Debug, Default)]
struct PagesByIndex {
    /// The index with the hottest pages on average first.
    all: Vec<IndexPages>,
    /// Index pages of the chosen tables in the pool.
    pages: u64,
}

/// Kinds of pages that hold values too long for their row.
const LONG: &[&str] = &["BLOB", "ZBLOB", "ZBLOB2", "LOB_FIRST", "LOB_DATA", "LOB_INDEX"];

impl PagesByIndex {
    fn from_pool(
        pool: &PoolSnapshot,
        tables: &[CatalogTable],
        most: SaveLimit,
        notes: &mut Vec<String>,
    ) -> PagesByIndex {
        let known: HashSet<(&str, &str)> =
            tables.iter().map(|t| (t.database.as_str(), t.name.as_str())).collect();
        let names: Vec<_> = pool
            .names
            .iter()
            .map(|(table, index)| {
                let (database, table, partition) = parse_quoted_name(table)?;
                let ours = known.contains(&(database.as_str(), table.as_str()));
                ours.then(|| (database, table, partition, index.clone()))
            })
            .collect();
        let ours = |seen: &pool::PoolPage| seen.name.and_then(|at| names[at as usize].as_ref());
        let pages = pool.pages.iter().filter(|seen| ours(seen).is_some()).count() as u64;
        let most = match most {
            SaveLimit::All => pages,
            SaveLimit::Share(share) => (pages as f64 * share).ceil() as u64,
            SaveLimit::Pages(most) => most,
        };
        if pages.min(most) > MOST_PAGES {
            notes.push(format!(
                "a hot set holds {MOST_PAGES} pages at most: the {} coldest are left out",
                pages.min(most) - MOST_PAGES
            ));
        }
        let most = most.min(MOST_PAGES);
        let mut groups: HashMap<(u32, u32), IndexPages> = HashMap::new();
        let mut place = 0;
        for seen in &pool.pages {
            let (Some(at), Some(name)) = (seen.name, ours(seen)) else { continue };
            let group = groups.entry((seen.space, at)).or_insert_with(|| IndexPages {
                database: name.0.clone(),
                table: name.1.clone(),
                partition: name.2.clone(),
                index: name.3.clone(),
                space: seen.space,
                ..IndexPages::default()
            });
            group.resident.insert(seen.page);
            if place < most {
                group.hot.push((seen.page, place));
            }
            place += 1;
        }
        let mut all: Vec<IndexPages> = groups.into_values().filter(|g| !g.hot.is_empty()).collect();
        all.sort_by(|a, b| {
            a.mean_rank().total_cmp(&b.mean_rank()).then(a.hot[0].1.cmp(&b.hot[0].1))
        });
        note_left_out(pool, notes);
        PagesByIndex { all, pages }
    }
}

/// Says which pages in the pool are no hot pages to us.
fn note_left_out(pool: &PoolSnapshot, notes: &mut Vec<String>) {
    if !pool.in_motion {
        notes.push(
            "the pool has not been full since the server started, so its order is that of first \
             use, not of heat"
                .to_owned(),
        );
    }
    let unnamed = pool.pages.iter().filter(|seen| seen.name.is_none()).count();
    if unnamed > 0 {
        notes.push(format!(
            "{unnamed} index pages in the pool are left out: the server does not say which tables \
             they belong to, as with tables not used since it started"
        ));
    }
    let long: u64 = LONG.iter().filter_map(|kind| pool.others.get(*kind)).sum();
    if long > 0 {
        notes.push(format!("{long} pages of long values stored outside their rows are left out"));
    }
}

impl IndexPages {
    /// Mean place of its hot pages.
    fn mean_rank(&self) -> f64 {
        let sum: f64 = self.hot.iter().map(|(_, place)| *place as f64).sum();
        sum / self.hot.len().max(1) as f64
    }
}

/// Makes indexes of a hot set from their pages.
struct HotIndexBuilder<'a> {
    tables: &'a [CatalogTable],
    places: &'a InnodbCatalog,
    files: &'a DataFiles,
    range_leaves: u64,
    stop: &'a Stop,
    clock: RealClock,
    saved: SaveOutcome,
}

impl HotIndexBuilder<'_> {
    fn build_index(&mut self, group: &IndexPages) -> HotIndex {
        let named = |t: &&CatalogTable| t.database == group.database && t.name == group.table;
        let table = self.tables.iter().find(named);
        let size = (group.partition.clone(), group.index.clone());
        let mut index = HotIndex {
            database: group.database.clone(),
            table: group.table.clone(),
            partition: group.partition.clone(),
            index: group.index.clone(),
            space: group.space,
            file_pages: self.places.spaces.get(&group.space).map_or(0, |space| space.pages),
            index_pages: table.and_then(|t| t.pages.get(&size)).copied().unwrap_or(0),
            pages: group.hot.clone(),
            ..HotIndex::default()
        };
        let taken = match table {
            Some(table) => self.read_key_ranges(table, group, &mut index),
            None => Err("the catalog does not know its table".to_owned()),
        };
        if let Err(why) = taken {
            index.ranges.clear();
            index.whole = Some(why);
        }
        index
    }

    /// Finds the keys of an index.
    fn read_key_ranges(
        &mut self,
        table: &CatalogTable,
        group: &IndexPages,
        index: &mut HotIndex,
    ) -> Result<(), String> {
        let name = (group.database.as_str(), group.table.as_str(), group.partition.as_str());
        let lies = self.places.find_index(group.space, name, &group.index);
        let named = |name: &str| table.indexes.iter().find(|i| i.name == name);
        let rows = match lies.and_then(|lies| self.places.clustered_index(lies)) {
            Some(name) => named(name),
            None => table.clustered_index(),
        };
        index.clustered = group.index == HIDDEN || rows.is_some_and(|i| i.name == group.index);
        index.index_id = lies.map_or(0, |lies| lies.root.index_id);
        let shape = KeyShape::from_index(table, &group.index, rows)?;
        index.key = shape.columns.clone();
        let file = self.places.spaces.get(&group.space).and_then(|space| space.file.as_deref());
        let file = file.ok_or("the server does not say which file it lies in")?;
        let path = self.files.local_path(file)?;
        let mut space = Tablespace::open(&path, group.space, self.clock)
            .map_err(|error| format!("its file can't be used: {error:#}"))?;
        index.file_pages = index.file_pages.max(space.page_count());
        // MySQL's catalog leaves out the partitions.
        let root = lies.map(|lies| lies.root).or_else(|| space.find_root(&group.resident));
        let root = root.ok_or("its start is not known")?;
        index.index_id = root.index_id;
        let places: HashMap<u32, u64> = group.hot.iter().copied().collect();
        let hot = HotPages {
            places: &places,
            resident: &group.resident,
            most: if self.range_leaves == 0 { RANGE_LEAVES } else { self.range_leaves },
        };
        let found = find_ranges(&mut space, root, &shape, &hot, self.stop);
        self.saved.pages_read += space.pages_read;
        let found = found.map_err(|error| format!("its keys can't be read: {error:#}"))?;
        if found.ranges.is_empty() && found.inner < places.len() as u64 {
            let why = found.why.unwrap_or_else(|| "the file is older than the pool".to_owned());
            return Err(format!("none of its hot leaves is found in its file: {why}"));
        }
        self.saved.pages_missed += found.missed;
        index.ranges = found.ranges;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pool::PoolPage;

    fn pool(pages: &[(u32, Option<u32>)]) -> PoolSnapshot {
        let seen = |(i, (space, name)): (usize, &(u32, Option<u32>))| PoolPage {
            space: *space,
            page: 100 + i as u32,
            name: *name,
        };
        let names = [("`a`.`t`", "k"), ("`mysql`.`user`", "PRIMARY"), ("`a`.`t`", "PRIMARY")];
        PoolSnapshot {
            pages: pages.iter().enumerate().map(seen).collect(),
            names: names.iter().map(|(t, i)| ((*t).to_owned(), (*i).to_owned())).collect(),
            others: BTreeMap::from([("UNDO_LOG".to_owned(), 5), ("LOB_DATA".to_owned(), 3)]),
            in_motion: false,
        }
    }

    fn tables() -> Vec<CatalogTable> {
        let (database, name) = ("a".to_owned(), "t".to_owned());
        vec![CatalogTable { database, name, ..CatalogTable::default() }]
    }

    #[test]
    fn pages_are_grouped_by_index_and_places_count_what_is_ours() {
        let pool = pool(&[(7, Some(0)), (1, Some(1)), (7, Some(2)), (7, None), (7, Some(0))]);
        let mut notes = Vec::new();
        let groups = PagesByIndex::from_pool(&pool, &tables(), SaveLimit::All, &mut notes);
        assert_eq!(groups.pages, 3);
        let told: Vec<_> = groups.all.iter().map(|g| (g.index.as_str(), &g.hot[..])).collect();
        assert_eq!(told, [("k", &[(100, 0), (104, 2)][..]), ("PRIMARY", &[(102, 1)][..])]);
        assert_eq!(notes.len(), 3);
        assert!(notes[0].starts_with("the pool has not been full"));
        assert!(notes[1].starts_with("1 index pages") && notes[2].starts_with("3 pages of long"));
    }

    #[test]
    fn only_the_hottest_are_taken_but_all_are_known() {
        let pool = pool(&[(7, Some(0)), (7, Some(2)), (7, Some(0)), (7, Some(2))]);
        let taken = |most| {
            let groups = PagesByIndex::from_pool(&pool, &tables(), most, &mut Vec::new());
            let hot: usize = groups.all.iter().map(|g| g.hot.len()).sum();
            (hot, groups.all[0].resident.len())
        };
        assert_eq!(taken(SaveLimit::Share(0.5)), (2, 2));
        assert_eq!(taken(SaveLimit::Share(0.6)), (3, 2));
        assert_eq!(taken(SaveLimit::Pages(1)), (1, 2));
        assert_eq!(taken(SaveLimit::Pages(99)), (4, 2));
    }
}
