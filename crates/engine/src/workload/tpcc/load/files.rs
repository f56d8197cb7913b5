//! The rows as files, for other loaders: one per table and warehouse, as `LOAD DATA` reads them by default.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;

use super::super::load_record::LoadRecord;
use super::super::options::TpccSettings;
use super::super::rows::RowMaker;
use super::lock_shared;
use super::sender::UnitRows;
use super::units::{LoadUnit, all_units};
use crate::plan::Mistake;
use crate::workload::{DataJob, JobProgress};

/// The file by which a folder is known as ours; it holds the seed.
const SEED_FILE: &str = "tpcc.seed";

/// Name of a unit's file.
fn file_name(unit: LoadUnit) -> String {
    match unit.warehouse {
        0 => format!("{}.tsv", unit.table.shape().name),
        warehouse => format!("{}.{warehouse}.tsv", unit.table.shape().name),
    }
}

fn folder_mistake(dir: &Path, why: impl Into<String>, hint: &str) -> anyhow::Error {
    Mistake::new(format!("--csv={}", dir.display()), why).hint(hint).into()
}

/// The seed of the files in a folder, made or known as ours.
fn settle_folder(dir: &Path, settings: &TpccSettings, seed: u64) -> anyhow::Result<u64> {
    let name = dir.join(SEED_FILE);
    match fs::read_to_string(&name) {
        Ok(text) => {
            let there = text.trim().parse().map_err(|_| {
                let why = format!("{SEED_FILE} in it is not ours");
                folder_mistake(dir, why, "name another folder")
            })?;
            match settings.data_seed {
                Some(asked) if asked != there => {
                    let why = format!("its files come from seed {there}, not {asked}");
                    Err(folder_mistake(dir, why, "leave out --data-seed, or name another folder"))
                }
                _ => Ok(there),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(dir).with_context(|| format!("make {}", dir.display()))?;
            let mut entries =
                fs::read_dir(dir).with_context(|| format!("read {}", dir.display()))?;
            if entries.next().is_some() {
                let why = "it holds files that are not ours";
                return Err(folder_mistake(dir, why, "name an empty folder or a new one"));
            }
            let seed = settings.data_seed.unwrap_or(seed);
            let file = OpenOptions::new().write(true).create_new(true).open(&name);
            file.and_then(|mut file| writeln!(file, "{seed}"))
                .with_context(|| format!("write {}", name.display()))?;
            Ok(seed)
        }
        Err(error) => Err(error).with_context(|| format!("read {}", name.display())),
    }
}

/// Writes the files that are not there yet.
///
/// # Errors
/// When the folder holds something else, or a file can't be written.
pub(super) fn write_files(
    dir: &Path,
    settings: &TpccSettings,
    job: &mut DataJob<'_>,
) -> anyhow::Result<()> {
    let record = LoadRecord::from_seed(settle_folder(dir, settings, job.seed)?);
    let all = all_units(settings.prepared_warehouses());
    let total: u64 = all.iter().map(|unit| unit.nominal_rows()).sum();
    let missing: Vec<(LoadUnit, PathBuf)> = all
        .into_iter()
        .map(|unit| (unit, dir.join(file_name(unit))))
        .filter(|(_, path)| !path.exists())
        .collect();
    let to_do: u64 = missing.iter().map(|(unit, _)| unit.nominal_rows()).sum();
    let report = |label: &str, done| JobProgress { label: label.into(), done, total, unit: "rows" };
    (job.progress)(report("files there", total - to_do));
    let next = AtomicUsize::new(0);
    let progress = Mutex::new((total - to_do, &mut *job.progress));
    let stop = job.stop;
    let run = || -> anyhow::Result<()> {
        let mut maker = RowMaker::new(record.clone());
        while !stop.is_set() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((unit, path)) = missing.get(at) else { break };
            let mut told = 0;
            let name = file_name(*unit);
            let mut on_rows = |rows: u64| {
                let rows = rows.min(unit.nominal_rows());
                let mut progress = lock_shared(&progress);
                progress.0 += rows - told;
                told = rows;
                let done = progress.0;
                (progress.1)(report(&name, done));
            };
            write_file(path, &mut UnitRows::new(&mut maker, *unit, stop, &mut on_rows))
                .with_context(|| format!("write {}", path.display()))?;
            on_rows(unit.nominal_rows());
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> =
            (1..job.threads.min(missing.len())).map(|_| scope.spawn(run)).collect();
        let own = run();
        let joined = others.into_iter().map(|thread| thread.join().unwrap_or(Ok(())));
        joined.fold(own, |first, next| first.and(next))
    })
    .or_else(|error| if stop.is_set() { Ok(()) } else { Err(error) })
}

/// Writes a file beside its place, and puts it there once it is whole.
fn write_file(path: &Path, rows: &mut UnitRows<'_>) -> io::Result<()> {
    let part = path.with_extension("tsv.part");
    let written = File::create(&part)
        .and_then(|mut file| io::copy(rows, &mut file))
        .and_then(|_| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Stop;
    use crate::plan::Options;
    use crate::workload::tpcc::options::option_specs;

    fn write_all(dir: &Path, threads: usize, given: &[(&str, &str)]) -> anyhow::Result<()> {
        let given: Vec<_> = given.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let options = Options::from_given(&option_specs(), &given).unwrap();
        let settings = TpccSettings::from_options(&options).unwrap();
        let (stop, progress) = (&Stop::new(), &mut |_| {});
        write_files(dir, &settings, &mut DataJob { threads, seed: 5, stop, progress })
    }

    #[test]
    fn nothing_is_overwritten_and_what_is_missing_comes_back_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let files = dir.path().join("a/b");
        write_all(&files, 3, &[]).unwrap();
        let read = |name: &str| fs::read(files.join(name)).unwrap();
        assert_eq!(fs::read_dir(&files).unwrap().count(), 10);
        let district = read("district.1.tsv");
        assert_eq!(String::from_utf8_lossy(&district).lines().count(), 10);
        assert_eq!(String::from_utf8_lossy(&read("item.tsv")).lines().count(), 100_000);
        fs::remove_file(files.join("district.1.tsv")).unwrap();
        fs::write(files.join("warehouse.1.tsv"), "kept").unwrap();
        write_all(&files, 1, &[("data-seed", "5")]).unwrap();
        assert_eq!((read("district.1.tsv"), &*read("warehouse.1.tsv")), (district, &b"kept"[..]));
        let other = write_all(&files, 1, &[("data-seed", "6")]).unwrap_err().to_string();
        assert!(other.contains("seed 5, not 6"), "{other}");
        let foreign = write_all(dir.path(), 1, &[]).unwrap_err().to_string();
        assert!(foreign.contains("not ours"), "{foreign}");
    }
}
