//! Takes the hot set of a live server: the pages in its pool in the order of heat, and the keys that they hold.
//!
//! The server is asked for its LRU lists once, which is all it has to do; keys are read from its files, where those
//! can be read. Nothing is changed on the server.
//! Start reading at [`save`].

mod places;
mod pool;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use anyhow::Context;

use super::file::MOST_PAGES;
use super::ibd::{Hot, RANGE_LEAVES, Shape, Tablespace, ranges};
use super::{FORMAT_VERSION, HotIndex, HotSet, Origin};
use crate::base::{Clock, Nanos, RealClock, Stop};
use crate::target::{Error, Session};
use crate::warm::catalog::{self, HIDDEN, Table};
use crate::warm::gauge::status_text;
use crate::warm::inventory::quoted_name;
use crate::warm::{Choice, Scene, Warmth, breaking_off, gauge, guarded, open};
use crate::workload::Progress;
use places::{Files, Places};
use pool::Pool;

/// How to save.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SavePlan {
    /// Databases and tables; all of the users if empty.
    pub tables: Vec<Choice>,
    /// How much of what is in the pool.
    pub most: Most,
    /// A copy of the server's data folder; its own, if it can be read here, if `None`.
    pub datadir: Option<PathBuf>,
    /// Most leaves of one range; 0 for as many as are good for reading them.
    pub range_leaves: u64,
    /// How long to watch how many accesses to pages there are per second; not at all if 0.
    pub watch: Nanos,
}

/// How much of what is in the pool to save, the hottest first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Most {
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
pub struct Saved {
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
pub fn save(plan: &SavePlan, scene: &mut Scene<'_>) -> anyhow::Result<Saved> {
    let (clock, stop) = (scene.clock, scene.stop.clone());
    guarded(clock, &stop, |abandon| run(plan, scene, abandon))
}

fn run(plan: &SavePlan, scene: &mut Scene<'_>, abandon: &Stop) -> anyhow::Result<Saved> {
    let mut session = open(scene.target, abandon)?;
    let warmth = gauge(&mut session)?;
    let clock = scene.clock;
    let accesses_per_s = accesses(&mut session, plan.watch, clock, scene.stop)?;
    let began = clock.now();
    let pages = warmth.pages_data;
    (scene.progress)(Progress { label: "look".to_owned(), done: 0, total: pages, unit: "pages" });
    let id = session.id();
    let looked = breaking_off(scene.target, clock, scene.stop, id, || pool::look(&mut session));
    let pool = match looked {
        Ok(pool) => pool,
        Err(Error::Server { .. } | Error::Abandoned) if scene.stop.is_set() => {
            return Ok(Saved { cut: true, ..Saved::default() });
        }
        Err(error) => return Err(refused(error)),
    };
    let look_seconds = clock.now().since(began).seconds();
    // Not before the look: it has the server read the first page of every index.
    let catalog = catalog::read(&mut session, &plan.tables)?;
    let places = Places::read(&mut session)?;
    let files = Files::find(&mut session, scene.target, plan.datadir.as_deref())?;
    let origin = Origin { accesses_per_s, ..origin(&mut session, &warmth, clock)? };
    let mut notes = catalog.notes;
    let groups = Groups::of(&pool, &catalog.tables, plan.most, &mut notes);
    let mut taker = Taker {
        tables: &catalog.tables,
        places: &places,
        files: &files,
        range_leaves: plan.range_leaves,
        stop: scene.stop,
        clock,
        saved: Saved { look_seconds, pages_in_pool: groups.pages, ..Saved::default() },
    };
    let began = clock.now();
    let total = groups.all.len() as u64;
    let mut indexes = Vec::new();
    for (done, group) in groups.all.iter().enumerate() {
        let label = format!("{}.{}", group.database, group.table);
        (scene.progress)(Progress { label, done: done as u64, total, unit: "indexes" });
        if scene.stop.is_set() {
            return Ok(Saved { cut: true, ..taker.saved });
        }
        indexes.push(taker.index(group));
    }
    let mut saved = taker.saved;
    saved.keys_seconds = clock.now().since(began).seconds();
    saved.cut = scene.stop.is_set();
    saved.hot = HotSet { format_version: FORMAT_VERSION, origin, indexes, notes };
    Ok(saved)
}

/// What to say about a server that does not show its pool.
fn refused(error: Error) -> anyhow::Error {
    match error {
        Error::Server { code: 1227 | 1142, .. } => anyhow::Error::new(error)
            .context("the account may not see what is in the pool: it needs the privilege PROCESS"),
        other => anyhow::Error::new(other).context("look at the pool"),
    }
}

fn origin(session: &mut Session, warmth: &Warmth, clock: RealClock) -> anyhow::Result<Origin> {
    let rows = session
        .rows(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
             ('server_uuid', 'hostname', 'port', 'version')",
        )
        .context("ask the server who it is")?;
    let pairs: BTreeMap<String, String> = (0..rows.rows.len())
        .filter_map(|row| Some((rows.text(row, 0)?.to_lowercase(), rows.text(row, 1)?)))
        .collect();
    let value = |name: &str| pairs.get(name).cloned().unwrap_or_default();
    let server = match value("server_uuid") {
        none if none.is_empty() => format!("{}:{}", value("hostname"), value("port")),
        uuid => uuid,
    };
    Ok(Origin {
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
fn accesses(
    session: &mut Session,
    watch: Nanos,
    clock: RealClock,
    stop: &Stop,
) -> anyhow::Result<Option<f64>> {
    let mut count = || -> anyhow::Result<Option<f64>> {
        let text = status_text(session, "Innodb_buffer_pool_read_requests")
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
    let rate = before
        .zip(after)
        .map(|(before, after)| (after - before).max(0.0) / ended.since(began).seconds().max(1e-9));
    Ok(rate.filter(|_| !stop.is_set()))
}

/// Longest sleep without a look at the stop flag.
const NAP: Nanos = Nanos(50_000_000);

/// The pages of one index.
#[derive(Debug, Default)]
struct Group {
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
struct Groups {
    /// The index with the hottest pages on average first.
    all: Vec<Group>,
    /// Index pages of the chosen tables in the pool.
    pages: u64,
}

/// Kinds of pages that hold values too long for their row.
const LONG: &[&str] = &["BLOB", "ZBLOB", "ZBLOB2", "LOB_FIRST", "LOB_DATA", "LOB_INDEX"];

impl Groups {
    fn of(pool: &Pool, tables: &[Table], most: Most, notes: &mut Vec<String>) -> Groups {
        let known: HashSet<(&str, &str)> =
            tables.iter().map(|t| (t.database.as_str(), t.name.as_str())).collect();
        let names: Vec<_> = pool
            .names
            .iter()
            .map(|(table, index)| {
                let (database, table, partition) = quoted_name(table)?;
                let ours = known.contains(&(database.as_str(), table.as_str()));
                ours.then(|| (database, table, partition, index.clone()))
            })
            .collect();
        let ours = |seen: &pool::Seen| seen.name.and_then(|at| names[at as usize].as_ref());
        let pages = pool.pages.iter().filter(|seen| ours(seen).is_some()).count() as u64;
        let most = match most {
            Most::All => pages,
            Most::Share(share) => (pages as f64 * share).ceil() as u64,
            Most::Pages(most) => most,
        };
        if pages.min(most) > MOST_PAGES {
            notes.push(format!(
                "a hot set holds {MOST_PAGES} pages at most: the {} coldest are left out",
                pages.min(most) - MOST_PAGES
            ));
        }
        let most = most.min(MOST_PAGES);
        let mut groups: HashMap<(u32, u32), Group> = HashMap::new();
        let mut place = 0;
        for seen in &pool.pages {
            let (Some(at), Some(name)) = (seen.name, ours(seen)) else { continue };
            let group = groups.entry((seen.space, at)).or_insert_with(|| Group {
                database: name.0.clone(),
                table: name.1.clone(),
                partition: name.2.clone(),
                index: name.3.clone(),
                space: seen.space,
                ..Group::default()
            });
            group.resident.insert(seen.page);
            if place < most {
                group.hot.push((seen.page, place));
            }
            place += 1;
        }
        let mut all: Vec<Group> = groups.into_values().filter(|g| !g.hot.is_empty()).collect();
        all.sort_by(|a, b| a.heat().total_cmp(&b.heat()).then(a.hot[0].1.cmp(&b.hot[0].1)));
        left_out(pool, notes);
        Groups { all, pages }
    }
}

/// Says which pages in the pool are no hot pages to us.
fn left_out(pool: &Pool, notes: &mut Vec<String>) {
    if !pool.in_motion {
        notes.push(
            "the pool was never full since the server started, so its order is that of first use \
             rather than of heat"
                .to_owned(),
        );
    }
    let unnamed = pool.pages.iter().filter(|seen| seen.name.is_none()).count();
    if unnamed > 0 {
        notes.push(format!(
            "{unnamed} index pages in the pool are left out: the server does not say whose they \
             are, as with tables that nobody has used since it started"
        ));
    }
    let long: u64 = LONG.iter().filter_map(|kind| pool.others.get(*kind)).sum();
    if long > 0 {
        notes.push(format!("{long} pages of long values outside of their rows are left out"));
    }
}

impl Group {
    /// Mean place of its hot pages.
    fn heat(&self) -> f64 {
        let sum: f64 = self.hot.iter().map(|(_, place)| *place as f64).sum();
        sum / self.hot.len().max(1) as f64
    }
}

/// Makes indexes of a hot set from their pages.
struct Taker<'a> {
    tables: &'a [Table],
    places: &'a Places,
    files: &'a Files,
    range_leaves: u64,
    stop: &'a Stop,
    clock: RealClock,
    saved: Saved,
}

impl Taker<'_> {
    fn index(&mut self, group: &Group) -> HotIndex {
        let named = |t: &&Table| t.database == group.database && t.name == group.table;
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
            Some(table) => self.keys(table, group, &mut index),
            None => Err("the catalog does not know its table".to_owned()),
        };
        if let Err(why) = taken {
            index.ranges.clear();
            index.whole = Some(why);
        }
        index
    }

    /// Finds the keys of an index.
    fn keys(&mut self, table: &Table, group: &Group, index: &mut HotIndex) -> Result<(), String> {
        let name = (group.database.as_str(), group.table.as_str(), group.partition.as_str());
        let lies = self.places.index_of(group.space, name, &group.index);
        let named = |name: &str| table.indexes.iter().find(|i| i.name == name);
        let rows = match lies.and_then(|lies| self.places.clustered(lies)) {
            Some(name) => named(name),
            None => table.clustered(),
        };
        index.clustered = group.index == HIDDEN || rows.is_some_and(|i| i.name == group.index);
        index.index_id = lies.map_or(0, |lies| lies.root.index_id);
        let shape = Shape::of(table, &group.index, rows)?;
        index.key = shape.columns.clone();
        let file = self.places.spaces.get(&group.space).and_then(|space| space.file.as_deref());
        let file = file.ok_or("the server does not say which file it lies in")?;
        let path = self.files.path(file)?;
        let mut space = Tablespace::open(&path, group.space, self.clock)
            .map_err(|error| format!("its file can't be used: {error:#}"))?;
        index.file_pages = index.file_pages.max(space.pages());
        // MySQL's catalog leaves out the partitions.
        let root = lies.map(|lies| lies.root).or_else(|| space.root_among(&group.resident));
        let root = root.ok_or("nothing says where it begins")?;
        index.index_id = root.index_id;
        let places: HashMap<u32, u64> = group.hot.iter().copied().collect();
        let hot = Hot {
            places: &places,
            resident: &group.resident,
            most: if self.range_leaves == 0 { RANGE_LEAVES } else { self.range_leaves },
        };
        let found = ranges(&mut space, root, &shape, &hot, self.stop);
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
    use pool::Seen;

    fn pool(pages: &[(u32, Option<u32>)]) -> Pool {
        let seen = |(i, (space, name)): (usize, &(u32, Option<u32>))| Seen {
            space: *space,
            page: 100 + i as u32,
            name: *name,
        };
        let names = [("`a`.`t`", "k"), ("`mysql`.`user`", "PRIMARY"), ("`a`.`t`", "PRIMARY")];
        Pool {
            pages: pages.iter().enumerate().map(seen).collect(),
            names: names.iter().map(|(t, i)| ((*t).to_owned(), (*i).to_owned())).collect(),
            others: BTreeMap::from([("UNDO_LOG".to_owned(), 5), ("LOB_DATA".to_owned(), 3)]),
            in_motion: false,
        }
    }

    fn tables() -> Vec<Table> {
        let (database, name) = ("a".to_owned(), "t".to_owned());
        vec![Table { database, name, ..Table::default() }]
    }

    #[test]
    fn pages_are_grouped_by_index_and_places_count_what_is_ours() {
        let pool = pool(&[(7, Some(0)), (1, Some(1)), (7, Some(2)), (7, None), (7, Some(0))]);
        let mut notes = Vec::new();
        let groups = Groups::of(&pool, &tables(), Most::All, &mut notes);
        assert_eq!(groups.pages, 3);
        let told: Vec<_> = groups.all.iter().map(|g| (g.index.as_str(), &g.hot[..])).collect();
        assert_eq!(told, [("k", &[(100, 0), (104, 2)][..]), ("PRIMARY", &[(102, 1)][..])]);
        assert_eq!(notes.len(), 3);
        assert!(notes[0].starts_with("the pool was never full"));
        assert!(notes[1].starts_with("1 index pages") && notes[2].starts_with("3 pages of long"));
    }

    #[test]
    fn only_the_hottest_are_taken_but_all_are_known() {
        let pool = pool(&[(7, Some(0)), (7, Some(2)), (7, Some(0)), (7, Some(2))]);
        let taken = |most| {
            let groups = Groups::of(&pool, &tables(), most, &mut Vec::new());
            let hot: usize = groups.all.iter().map(|g| g.hot.len()).sum();
            (hot, groups.all[0].resident.len())
        };
        assert_eq!(taken(Most::Share(0.5)), (2, 2));
        assert_eq!(taken(Most::Share(0.6)), (3, 2));
        assert_eq!(taken(Most::Pages(1)), (1, 2));
        assert_eq!(taken(Most::Pages(99)), (4, 2));
    }
}
