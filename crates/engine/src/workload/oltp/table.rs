//! The tables: how they are made, what is in them, and whether those that are there serve.

use anyhow::Context as _;

use crate::base::Stop;
use crate::base::random::Rng;
use crate::client::{Session, Target};
use crate::plan::{Mistake, Mistakes};
use crate::workload::fill::{self, ExpectedColumn, FillSource, HarmlessWrite, RowBuffer};
use crate::workload::{DataJob, DataReach, JobProgress};

use super::OltpWorkload;
use super::content::{C_LENGTH, PAD_LENGTH, write_groups};
use super::options::{OltpSettings, SIZE_OPTION};
use super::statement::OltpStatement;

/// Columns of a table.
pub(super) const COLUMNS: &[ExpectedColumn<'static>] =
    &[("id", "int", None), ("k", "int", None), ("c", "char", Some(120)), ("pad", "char", Some(60))];

/// Names of the tables.
pub(super) fn table_names(tables: u64) -> Vec<String> {
    (1..=tables).map(|n| format!("sbtest{n}")).collect()
}

/// The tables as something to fill.
pub(super) struct OltpTables<'a> {
    settings: &'a OltpSettings,
    names: Vec<String>,
    rows: u64,
    seed: u64,
}

impl OltpTables<'_> {
    pub(super) fn new(settings: &OltpSettings, rows: u64, seed: u64) -> OltpTables<'_> {
        let seed = if settings.seed == 0 { seed } else { settings.seed };
        OltpTables { settings, names: settings.table_names(), rows, seed }
    }
}

impl FillSource for OltpTables<'_> {
    fn table_names(&self) -> &[String] {
        &self.names
    }
    fn expected_columns(&self) -> Vec<ExpectedColumn<'_>> {
        COLUMNS.to_vec()
    }
    fn rows_per_table(&self) -> u64 {
        self.rows
    }
    fn create_table_sql(&self, table: usize) -> String {
        let OltpSettings { auto_inc, secondary, engine, table_options, .. } = self.settings;
        let key = if *secondary { "KEY xid" } else { "PRIMARY KEY" };
        let auto = if *auto_inc { " AUTO_INCREMENT" } else { "" };
        format!(
            "CREATE TABLE {} (id INTEGER NOT NULL{auto}, k INTEGER NOT NULL DEFAULT '0', \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', {key} (id)) \
             ENGINE = {engine} {table_options}",
            self.names[table]
        )
    }
    fn is_auto_increment(&self) -> bool {
        self.settings.auto_inc
    }
    fn create_index_sql(&self, table: usize) -> Option<(String, String)> {
        let name = format!("k_{}", table + 1);
        let sql = format!("CREATE INDEX {name} ON {} (k)", self.names[table]);
        self.settings.create_secondary.then_some((name, sql))
    }
    fn write_row(&self, table: usize, row: u64, row_buffer: &mut RowBuffer) {
        let rng = &mut Rng::new(self.seed, table as u64, row);
        row_buffer.push_number(row);
        row_buffer.push_number(self.settings.ids.next_key(rng));
        row_buffer.push_text(C_LENGTH, |out| write_groups(rng, out));
        row_buffer.push_text(PAD_LENGTH, |out| write_groups(rng, out));
    }
}

/// Looks before the load whether the tables on this server serve, and how many statements may be prepared.
pub(super) fn check_tables(
    workload: &OltpWorkload,
    server: &Target,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut session = server.connect(stop)?;
    fill::current_database(&mut session)?;
    let names = workload.settings.table_names();
    let found = fill::read_columns(&mut session, &names)?;
    let (mut mistakes, mut sizes) = (Vec::new(), Vec::new());
    for name in &names {
        let mistake = match found.get(name) {
            None => Some(table_mistake(workload, name, "does not exist".to_owned())),
            Some(columns) if !fill::columns_match(columns, COLUMNS) => {
                Some(fill::column_mismatch(name, columns, COLUMNS))
            }
            Some(_) => {
                let rows = highest_id(&mut session, name)?;
                sizes.push(rows);
                lacks_rows(workload, name, rows)
            }
        };
        mistakes.extend(mistake);
    }
    if !mistakes.is_empty() {
        return Err(Mistakes(truncate_mistakes(mistakes)).into());
    }
    for name in &names {
        let writes = harmless_writes(workload, name);
        if let Some(mistake) = fill::check_write_access(&mut session, name, &writes)? {
            return Err(mistake.into());
        }
    }
    settle_size(workload, &names, &sizes);
    let number = |text: Option<String>| text.and_then(|t| t.parse().ok());
    let most = number(session.query_scalar("SELECT @@max_prepared_stmt_count")?);
    let taken = session.query_rows("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")?;
    let taken = taken.rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    let taken = number(taken.map(|v| String::from_utf8_lossy(&v).into_owned()));
    if let (Some(most), Some(taken)) = (most, taken) {
        let _ = workload.allowed.set((most, taken));
    }
    Ok(())
}

/// What the load does to a table, as statements that find no row; none for a load that only reads.
fn harmless_writes(workload: &OltpWorkload, name: &str) -> Vec<HarmlessWrite> {
    use OltpStatement::{Delete, IndexUpdate, Insert, InsertNew, NonIndexUpdate};
    let has = |kinds: &[OltpStatement]| workload.texts.iter().any(|(s, _)| kinds.contains(s));
    [
        (
            has(&[IndexUpdate, NonIndexUpdate]),
            ("UPDATE", format!("UPDATE {name} SET k = k, c = c WHERE 1 = 0")),
        ),
        (has(&[Delete]), ("DELETE", format!("DELETE FROM {name} WHERE 1 = 0"))),
        (
            has(&[Insert, InsertNew]),
            (
                "INSERT",
                format!(
                    "INSERT INTO {name} (id, k, c, pad) SELECT 0, 0, '', '' FROM DUAL WHERE 1 = 0"
                ),
            ),
        ),
    ]
    .into_iter()
    .filter_map(|(is_sent, write)| is_sent.then_some(write))
    .collect()
}

/// The highest id of a table: it tells about how many rows there are, and costs nothing to find.
fn highest_id(session: &mut Session, name: &str) -> anyhow::Result<u64> {
    let highest = session.query_scalar(&format!("SELECT MAX(id) FROM {name}"));
    let highest = highest.with_context(|| format!("look at {name}"))?;
    let highest: i64 = highest.and_then(|t| t.parse().ok()).unwrap_or(0);
    Ok(u64::try_from(highest).unwrap_or(0))
}

/// Whether a table has about the rows asked for.
fn lacks_rows(workload: &OltpWorkload, name: &str, rows: u64) -> Option<Mistake> {
    let changes_rows = workload.texts.iter().any(|(s, _)| {
        matches!(s, OltpStatement::Delete | OltpStatement::InsertNew) && workload.texts.len() == 1
    });
    let asked = workload.settings.table_size;
    let enough = match workload.settings.is_size_told {
        true => rows >= asked - asked / 10,
        false => rows > 0,
    };
    (!changes_rows && !enough)
        .then(|| table_mistake(workload, name, format!("has {rows} rows, not {asked}")))
}

/// Takes the size from the tables unless it was told, and notes what part of them the load reaches. A load that only adds
/// rows looks for none.
fn settle_size(workload: &OltpWorkload, names: &[String], sizes: &[u64]) {
    let only_adds = workload.texts.iter().all(|(s, _)| *s == OltpStatement::InsertNew);
    let smallest = sizes.iter().copied().min().unwrap_or(0);
    let largest = sizes.iter().copied().zip(names).max_by_key(|(rows, _)| *rows);
    let Some((rows_there, table)) = largest.filter(|_| smallest > 0 && !only_adds) else { return };
    if !workload.settings.is_size_told {
        let _ = workload.as_found.set(workload.settings.with_size(smallest));
    }
    let rows = workload.effective_settings().table_size;
    let reached: u64 = sizes.iter().map(|there| rows.min(*there)).sum();
    let share = reached as f64 / sizes.iter().sum::<u64>() as f64;
    let options = vec![(SIZE_OPTION.to_owned(), rows.to_string())];
    let table = table.clone();
    let _ = workload.reach.set(DataReach { table, rows, rows_there, share, options });
}

fn table_mistake(workload: &OltpWorkload, table: &str, why: String) -> Mistake {
    let hint = format!(
        "sweat bench {} prepare --tables={} --table-size={}",
        workload.name, workload.settings.tables, workload.settings.table_size
    );
    Mistake::new(format!("table {table}"), why).hint(hint)
}

/// Keeps the first mistakes, and says how many more there are.
fn truncate_mistakes(mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    const SHOWN: usize = 3;
    let more = mistakes.len().saturating_sub(SHOWN);
    mistakes.truncate(SHOWN);
    if more > 0 {
        mistakes.push(Mistake::new("tables", format!("{more} more tables with mistakes")));
    }
    mistakes
}

/// Drops those of the tables that are ours.
pub(super) fn drop_tables(
    target: &Target,
    names: &[String],
    columns: &[ExpectedColumn<'_>],
    job: &mut DataJob<'_>,
) -> anyhow::Result<()> {
    let mut session = target.connect(job.stop)?;
    session.allow_long_statements();
    let total = names.len() as u64;
    fill::drop_matching_tables(&mut session, names, columns, &mut |done| {
        (job.progress)(JobProgress {
            label: "drop tables".to_owned(),
            done,
            total,
            unit: "tables",
        });
    })
}
