//! The tables: how they are made, what is in them, and whether those that are there serve.

use anyhow::Context as _;

use crate::base::Stop;
use crate::base::random::Rng;
use crate::plan::{Mistake, Mistakes};
use crate::target::{Session, Target};
use crate::workload::fill::{self, Expected, Sheet, Source};
use crate::workload::{Job, Progress, Reach};

use super::Plot;
use super::content::{C_LENGTH, PAD_LENGTH, write_groups};
use super::options::Settings;
use super::statement::Statement;

/// Columns of a table.
pub(super) const COLUMNS: &[Expected] =
    &[("id", "int", None), ("k", "int", None), ("c", "char", Some(120)), ("pad", "char", Some(60))];

/// Names of the tables.
pub(super) fn names(tables: u64) -> Vec<String> {
    (1..=tables).map(|n| format!("sbtest{n}")).collect()
}

/// The tables as something to fill.
pub(super) struct Tables<'a> {
    settings: &'a Settings,
    names: Vec<String>,
    rows: u64,
    seed: u64,
}

impl Tables<'_> {
    pub(super) fn new(settings: &Settings, rows: u64, seed: u64) -> Tables<'_> {
        let seed = if settings.seed == 0 { seed } else { settings.seed };
        Tables { settings, names: names(settings.tables), rows, seed }
    }
}

impl Source for Tables<'_> {
    fn tables(&self) -> &[String] {
        &self.names
    }
    fn columns(&self) -> &[Expected] {
        COLUMNS
    }
    fn rows(&self) -> u64 {
        self.rows
    }
    fn create(&self, table: usize) -> String {
        let Settings { auto_inc, secondary, engine, table_options, .. } = self.settings;
        let key = if *secondary { "KEY xid" } else { "PRIMARY KEY" };
        let auto = if *auto_inc { " AUTO_INCREMENT" } else { "" };
        format!(
            "CREATE TABLE {} (id INTEGER NOT NULL{auto}, k INTEGER NOT NULL DEFAULT '0', \
             c CHAR(120) NOT NULL DEFAULT '', pad CHAR(60) NOT NULL DEFAULT '', {key} (id)) \
             ENGINE = {engine} {table_options}",
            self.names[table]
        )
    }
    fn auto_increment(&self) -> bool {
        self.settings.auto_inc
    }
    fn index(&self, table: usize) -> Option<(String, String)> {
        let name = format!("k_{}", table + 1);
        let sql = format!("CREATE INDEX {name} ON {} (k)", self.names[table]);
        self.settings.create_secondary.then_some((name, sql))
    }
    fn row(&self, table: usize, row: u64, sheet: &mut Sheet) {
        let rng = &mut Rng::new(self.seed, table as u64, row);
        sheet.number(row);
        sheet.number(self.settings.ids.next(rng));
        sheet.text(C_LENGTH, |out| write_groups(rng, out));
        sheet.text(PAD_LENGTH, |out| write_groups(rng, out));
    }
}

/// Looks before the load whether the tables serve, and how many statements may be prepared.
pub(super) fn check(plot: &Plot, stop: &Stop) -> anyhow::Result<()> {
    let mut session = plot.target.connect(stop)?;
    fill::database(&mut session)?;
    let names = names(plot.settings.tables);
    let found = fill::look_up(&mut session, &names)?;
    let (mut mistakes, mut sizes) = (Vec::new(), Vec::new());
    for name in &names {
        let mistake = match found.get(name) {
            None => Some(lacking(plot, name, "does not exist".to_owned())),
            Some(columns) if !fill::fit(columns, COLUMNS) => {
                Some(fill::misfit(name, columns, COLUMNS))
            }
            Some(_) => {
                let rows = highest_id(&mut session, name)?;
                sizes.push(rows);
                lacks_rows(plot, name, rows)
            }
        };
        mistakes.extend(mistake);
    }
    if !mistakes.is_empty() {
        return Err(Mistakes(shorten(mistakes)).into());
    }
    settle_size(plot, &names, &sizes);
    let number = |text: Option<String>| text.and_then(|t| t.parse().ok());
    let most = number(session.scalar("SELECT @@max_prepared_stmt_count")?);
    let taken = session.rows("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")?;
    let taken = taken.rows.into_iter().next().and_then(|row| row.into_iter().nth(1)).flatten();
    let taken = number(taken.map(|v| String::from_utf8_lossy(&v).into_owned()));
    if let (Some(most), Some(taken)) = (most, taken) {
        let _ = plot.allowed.set((most, taken));
    }
    Ok(())
}

/// The highest id of a table: it tells about how many rows there are, and costs nothing to find.
fn highest_id(session: &mut Session, name: &str) -> anyhow::Result<u64> {
    let highest = session.scalar(&format!("SELECT MAX(id) FROM {name}"));
    let highest = highest.with_context(|| format!("look at {name}"))?;
    let highest: i64 = highest.and_then(|t| t.parse().ok()).unwrap_or(0);
    Ok(u64::try_from(highest).unwrap_or(0))
}

/// Whether a table has about the rows asked for.
fn lacks_rows(plot: &Plot, name: &str, rows: u64) -> Option<Mistake> {
    let changes_rows = plot.texts.iter().any(|(s, _)| {
        matches!(s, Statement::Delete | Statement::InsertNew) && plot.texts.len() == 1
    });
    let asked = plot.settings.table_size;
    let enough = match plot.settings.is_size_told {
        true => rows >= asked - asked / 10,
        false => rows > 0,
    };
    (!changes_rows && !enough).then(|| lacking(plot, name, format!("has {rows} rows, not {asked}")))
}

/// Takes the size from the tables unless it was told, and notes what part of them the load reaches. A load that only adds
/// rows looks for none.
fn settle_size(plot: &Plot, names: &[String], sizes: &[u64]) {
    let only_adds = plot.texts.iter().all(|(s, _)| *s == Statement::InsertNew);
    let smallest = sizes.iter().copied().min().unwrap_or(0);
    let largest = sizes.iter().copied().zip(names).max_by_key(|(rows, _)| *rows);
    let Some((rows_there, table)) = largest.filter(|_| smallest > 0 && !only_adds) else { return };
    if !plot.settings.is_size_told {
        let _ = plot.as_found.set(plot.settings.with_size(smallest));
    }
    let rows = plot.in_effect().table_size;
    let reached: u64 = sizes.iter().map(|there| rows.min(*there)).sum();
    let share = reached as f64 / sizes.iter().sum::<u64>() as f64;
    let _ = plot.reach.set(Reach { table: table.clone(), rows, rows_there, share });
}

fn lacking(plot: &Plot, table: &str, why: String) -> Mistake {
    let hint = format!(
        "sweat bench {} prepare --tables={} --table-size={}",
        plot.name, plot.settings.tables, plot.settings.table_size
    );
    Mistake { place: format!("table {table}"), why, hint: Some(hint) }
}

/// Keeps the first mistakes, and says how many more there are.
fn shorten(mut mistakes: Vec<Mistake>) -> Vec<Mistake> {
    const SHOWN: usize = 3;
    let more = mistakes.len().saturating_sub(SHOWN);
    mistakes.truncate(SHOWN);
    if more > 0 {
        mistakes.push(Mistake {
            place: "tables".to_owned(),
            why: format!("{more} more with something amiss"),
            hint: None,
        });
    }
    mistakes
}

/// Drops those of the tables that are ours.
pub(super) fn drop_tables(
    target: &Target,
    names: &[String],
    columns: &[Expected],
    job: &mut Job<'_>,
) -> anyhow::Result<()> {
    let mut session = target.connect(job.stop)?;
    session.allow_long_statements();
    let total = names.len() as u64;
    fill::drop_ours(&mut session, names, columns, &mut |done| {
        (job.progress)(Progress { label: "drop tables".to_owned(), done, total, unit: "tables" });
    })
}
