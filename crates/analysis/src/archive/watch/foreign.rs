//! Samples of the status that other tools took: folders of pt-stalk (`*-mysqladmin`), and the hourly files of capture scripts
//! (`*-sec-status-*-status`), as data.

use std::io;
use std::path::{Path, PathBuf};

use super::WatchEvent;
use crate::archive::recorded_names::WatchEventKind;
use crate::archive::types::SampleRecord;
use crate::base::calendar::days_from_civil;
use crate::base::kernel::local_time;

/// End of the names of pt-stalk's files with the status, and of those of capture scripts.
const STALK: &str = "-mysqladmin";
const CLASSIC: &str = "-status";
/// In the middle of the latter.
pub(super) const CLASSIC_MIDDLE: &str = "-sec-status-";
/// The number that tells a status from anything else, and the one that tells the time of pt-stalk's samples.
const QUERIES: &str = "Queries";
const UPTIME: &str = "Uptime";
const SECOND_NS: u64 = 1_000_000_000;

/// What another tool sampled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignWatch {
    /// Who took the samples, and of what.
    pub title: String,
    /// Each with the number of the stretch that it belongs to; its times are nanoseconds since 1970.
    pub samples: Vec<(u64, SampleRecord)>,
    /// Whether nothing can be said of the time between two stretches.
    pub is_apart: bool,
    /// Why samples were taken, where the tool says.
    pub events: Vec<WatchEvent>,
    /// What could not be read.
    pub damage: Vec<String>,
}

/// Reads a folder, or one file, of such a tool; `None` if it is none.
///
/// # Errors
/// When the folder can't be read.
pub fn read_foreign_watch(path: &Path) -> io::Result<Option<ForeignWatch>> {
    let mut files: Vec<PathBuf> = match path.is_dir() {
        true => std::fs::read_dir(path)?.flatten().map(|entry| entry.path()).collect(),
        false => vec![path.to_owned()],
    };
    files.sort();
    let named = |is_meant: &dyn Fn(&str) -> bool| -> Vec<PathBuf> {
        let meant = files.iter().filter(|file| is_meant(&file_name(file)));
        meant.cloned().collect()
    };
    let stalked = named(&|name| name.ends_with(STALK));
    let captured = named(&|name| name.ends_with(CLASSIC) && name.contains(CLASSIC_MIDDLE));
    let mut found = ForeignWatch::default();
    if !stalked.is_empty() {
        found.title = format!("samples of pt-stalk in {}", path.display());
        found.is_apart = true;
        (1..).zip(&stalked).for_each(|(stretch, file)| found.add_stalked(stretch, file));
    } else if !captured.is_empty() {
        found.title = format!("files of a capture script in {}", path.display());
        captured.iter().for_each(|file| found.add_captured(file));
    } else {
        return Ok(None);
    }
    Ok(Some(found))
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

impl ForeignWatch {
    fn read(&mut self, path: &Path) -> Option<String> {
        let read = std::fs::read(path);
        let told = |error: &io::Error| self.damage.push(format!("{}: {error}", path.display()));
        read.inspect_err(told).ok().map(|text| String::from_utf8_lossy(&text).into_owned())
    }

    /// A collection of pt-stalk: a table of the status each second, from the time in its name on.
    fn add_stalked(&mut self, stretch: u64, path: &Path) {
        let name = file_name(path);
        let prefix = name.strip_suffix(STALK).unwrap_or_default();
        let Some(began_s) = stalk_time(prefix) else {
            self.damage.push(format!("{name}: there is no time in its name"));
            return;
        };
        let Some(text) = self.read(path) else { return };
        let began_ns = began_s.saturating_mul(SECOND_NS);
        let mut tables: Vec<SampleRecord> = Vec::new();
        for line in text.lines() {
            let mut cells = line.split('|').map(str::trim).skip(1);
            let (Some(name), Some(value)) = (cells.next(), cells.next()) else { continue };
            if name == "Variable_name" {
                tables.push(SampleRecord::default());
            } else if let (Some(table), Ok(value)) = (tables.last_mut(), value.parse()) {
                table.numbers.insert(name.to_owned(), value);
            }
        }
        let uptime = |table: &SampleRecord| table.numbers.get(UPTIME).copied();
        let first = tables.first().and_then(uptime);
        for (place, table) in tables.into_iter().enumerate() {
            // Without its own clock a table is a second later than the one before.
            let later = uptime(&table).zip(first).map(|(now, first)| now - first);
            let later_s = later.filter(|later| *later >= 0.0).unwrap_or(place as f64);
            let later_ns = (later_s * SECOND_NS as f64) as u64;
            self.add_sample(stretch, began_ns.saturating_add(later_ns), table);
        }
        let reason = path.with_file_name(format!("{prefix}-trigger"));
        let reason = std::fs::read_to_string(reason).unwrap_or_default();
        if let Some(line) = reason.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            let (kind, text) = (WatchEventKind::Incident, line.to_owned());
            self.events.push(WatchEvent { unix_ns: began_ns, kind, text });
        }
    }

    /// An hour of a capture script: samples behind lines `TS`. Of several such lines in a row the last one counts.
    fn add_captured(&mut self, path: &Path) {
        let Some(text) = self.read(path) else { return };
        let mut open: Option<(u64, SampleRecord)> = None;
        for line in text.lines() {
            if let Some(stamp) = line.strip_prefix("TS ") {
                if let Some((at, sample)) = open.take() {
                    self.add_sample(1, at, sample);
                }
                open = read_stamp(stamp);
            } else if let Some((_, sample)) = &mut open {
                sample.numbers.extend(read_number(line));
            }
        }
        if let Some((at, sample)) = open {
            self.add_sample(1, at, sample);
        }
    }

    fn add_sample(&mut self, stretch: u64, at_ns: u64, sample: SampleRecord) {
        if !sample.numbers.contains_key(QUERIES) {
            return;
        }
        let times = SampleRecord { planned_ns: at_ns, began_ns: at_ns, ended_ns: at_ns, ..sample };
        self.samples.push((stretch, times));
    }
}

/// A name and its number.
pub(super) fn read_number(line: &str) -> Option<(String, f64)> {
    let mut words = line.split_whitespace();
    let (name, value) = (words.next()?, words.next()?.parse().ok()?);
    Some((name.to_owned(), value))
}

/// `1795301385.031722158 2026-11-21 22:49:45 ... load average: 0.61, 0.65, 0.43`
pub(super) fn read_stamp(text: &str) -> Option<(u64, SampleRecord)> {
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    let mut sample = SampleRecord::default();
    let load = text.split("load average:").nth(1).and_then(|rest| rest.split(',').next());
    if let Some(load) = load.and_then(|load| load.trim().parse().ok()) {
        sample.numbers.insert("load.over_1_min".to_owned(), load);
    }
    (seconds > 0.0).then_some(((seconds * 1e9) as u64, sample))
}

/// `2026_11_22_22_10_05`, in this machine's time zone, as seconds since 1970.
fn stalk_time(text: &str) -> Option<u64> {
    let parts: Vec<i64> = text.split('_').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [year, month, day, hour, minute, second] = parts[..] else { return None };
    let is_time = (1970..=9999).contains(&year) && (1..=12).contains(&month);
    let is_time = is_time && (1..=31).contains(&day) && (0..24).contains(&hour);
    if !is_time || ![minute, second].iter().all(|part| (0..=60).contains(part)) {
        return None;
    }
    let as_utc = days_from_civil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second;
    let offset = |unix_s: i64| Some(local_time(u64::try_from(unix_s).ok()?)?.utc_offset_s);
    // Twice: near a change of the clock the first offset may be that of the other side.
    let near = as_utc - offset(as_utc)?;
    u64::try_from(as_utc - offset(near)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(found: &ForeignWatch) -> Vec<(u64, u64, f64)> {
        let of = |(stretch, sample): &(u64, SampleRecord)| {
            (*stretch, sample.planned_ns / SECOND_NS, sample.numbers[QUERIES])
        };
        found.samples.iter().map(of).collect()
    }

    #[test]
    fn collections_of_pt_stalk_have_the_time_of_their_name_and_of_the_servers_clock() {
        let dir = tempfile::tempdir().unwrap();
        let table = |queries: u32, uptime: u32| {
            format!(
                "+---+---+\n| Variable_name | Value |\n+---+---+\n| Queries | {queries} |\n\
                 | Ssl_version |  |\n| Uptime | {uptime} |\n+---+---+\n\n"
            )
        };
        let write = |name: &str, text: String| std::fs::write(dir.path().join(name), text).unwrap();
        write("2026_11_22_22_10_05-mysqladmin", table(100, 50) + &table(200, 52));
        write("2026_11_22_23_00_00-mysqladmin", table(900, 3000));
        write("2026_11_22_22_10_05-trigger", "Threads_running=30\n\n".to_owned());
        write("2026_11_22_22_10_05-df", "TS 1.0\n".to_owned());
        write("notes-mysqladmin", String::new());
        let found = read_foreign_watch(dir.path()).unwrap().unwrap();
        let first = stalk_time("2026_11_22_22_10_05").unwrap();
        let second = stalk_time("2026_11_22_23_00_00").unwrap();
        assert_eq!(second - first, 2995);
        let expected = [(1, first, 100.0), (1, first + 2, 200.0), (2, second, 900.0)];
        assert_eq!(numbers(&found), expected);
        assert!(found.is_apart && found.damage.len() == 1, "{:?}", found.damage);
        assert_eq!(found.events[0].text, "Threads_running=30");
        assert_eq!(found.events[0].unix_ns, first * SECOND_NS);
    }

    #[test]
    fn times_beyond_reason_are_damage() {
        let dir = tempfile::tempdir().unwrap();
        let last = i64::MAX;
        for name in [&format!("{last}_1_1_1_1_1"), "2026_13_1_1_1_1", "2026_1_1_1_-1_1"] {
            std::fs::write(dir.path().join(format!("{name}-mysqladmin")), "").unwrap();
        }
        let table = |uptime: f64| {
            format!("| Variable_name | Value |\n| Queries | 1 |\n| Uptime | {uptime} |\n")
        };
        let text = table(1.0) + &table(1e300);
        std::fs::write(dir.path().join("9999_12_31_23_59_59-mysqladmin"), text).unwrap();
        let found = read_foreign_watch(dir.path()).unwrap().unwrap();
        assert_eq!((found.damage.len(), found.samples.len()), (3, 2), "{:?}", found.damage);
    }

    #[test]
    fn files_of_capture_scripts_are_read_and_stamps_without_a_sample_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let text = "TS 1795385405.5 2026-11-22 22:10:05  up 1 min, load average: 0.61, 0.65, 0.43\n\
                    Variable_name\tValue\nQueries\t10\nSsl_cipher\t\n\
                    TS 1795385410.0 x\nTS 1795385415.0 x\nQueries\t30\n";
        let path = dir.path().join("5-sec-status-2026-11-22_22-status");
        std::fs::write(&path, text).unwrap();
        std::fs::write(dir.path().join("5-sec-status-2026-11-22_22-processlist"), "TS 1 x")
            .unwrap();
        for path in [dir.path(), path.as_path()] {
            let found = read_foreign_watch(path).unwrap().unwrap();
            assert_eq!(numbers(&found), [(1, 1_795_385_405, 10.0), (1, 1_795_385_415, 30.0)]);
            assert_eq!(found.samples[0].1.numbers["load.over_1_min"], 0.61);
            assert!(!found.is_apart);
        }
        assert_eq!(read_foreign_watch(&dir.path().join("nosuch")).unwrap(), None);
    }
}
