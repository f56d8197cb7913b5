//! What the hourly files of a capture script show of a moment: the look of each kind that is nearest to it, as it was
//! written.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use super::classic::PARTS;
use super::foreign::{CLASSIC_MIDDLE, file_name, read_number, read_stamp};
use crate::archive::types::SampleRecord;

/// Most bytes of one look that are kept.
const MOST_BYTES: usize = 16 << 20;

/// The looks nearest to a moment, one of each kind of file in a folder, or of those beside one file; each with its time,
/// nanoseconds since 1970. A look further away than `reach_ns` is none.
///
/// # Errors
/// When a file can't be read.
pub fn read_classic_looks(
    path: &Path,
    at_unix_ns: u64,
    reach_ns: u64,
) -> io::Result<Vec<(u64, SampleRecord)>> {
    let dir = if path.is_dir() { path } else { path.parent().unwrap_or(path) };
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
    files.sort();
    let mut looks = Vec::new();
    for part in PARTS {
        let mut nearest: Option<(u64, String)> = None;
        let is_meant = |name: &str| name.ends_with(part) && name.contains(CLASSIC_MIDDLE);
        for file in files.iter().filter(|file| is_meant(&file_name(file))) {
            for_each_look(file, &mut |unix_ns, text| {
                let distance = unix_ns.abs_diff(at_unix_ns);
                let is_nearer =
                    nearest.as_ref().is_none_or(|(known, _)| distance < known.abs_diff(at_unix_ns));
                if is_nearer && distance <= reach_ns && !text.trim().is_empty() {
                    nearest = Some((unix_ns, text.to_owned()));
                }
            })?;
        }
        let kind = part.trim_start_matches('-');
        looks.extend(nearest.map(|(unix_ns, text)| (unix_ns, look_record(kind, unix_ns, &text))));
    }
    Ok(looks)
}

/// Each look of a file, with its time. Of several lines `TS` in a row the last one counts.
fn for_each_look(file: &Path, take: &mut dyn FnMut(u64, &str)) -> io::Result<()> {
    let mut reader = BufReader::new(File::open(file)?);
    let (mut line, mut text, mut open) = (Vec::new(), String::new(), None);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let words = String::from_utf8_lossy(&line);
        if let Some(stamp) = words.strip_prefix("TS ") {
            if let Some(unix_ns) = open.take() {
                take(unix_ns, &text);
            }
            text.clear();
            open = read_stamp(stamp).map(|(unix_ns, _)| unix_ns);
        } else if text.len() + words.len() <= MOST_BYTES {
            text += &words;
        }
        line.clear();
    }
    if let Some(unix_ns) = open {
        take(unix_ns, &text);
    }
    Ok(())
}

/// A look: its numbers if it is a list of them, else its text.
fn look_record(kind: &str, unix_ns: u64, text: &str) -> SampleRecord {
    let is_list = text.starts_with("Variable_name");
    let numbers = text.lines().filter(|_| is_list).filter_map(read_number).collect();
    SampleRecord {
        probe: kind.to_owned(),
        planned_ns: unix_ns,
        began_ns: unix_ns,
        ended_ns: unix_ns,
        numbers,
        text: (!is_list).then(|| text.trim_end().to_owned()),
        ..SampleRecord::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_look_of_each_kind_of_file_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let write = |hour: u32, part: &str, text: &str| {
            let name = format!("5-sec-status-2026-11-22_{hour}{part}");
            std::fs::write(dir.path().join(name), text).unwrap();
        };
        write(
            22,
            "-status",
            "TS 100.0 x\nVariable_name\tValue\nQueries\t7\nVersion\tx\nTS 105.0 x\n",
        );
        write(23, "-status", "TS 200.5 x\nVariable_name\tValue\nQueries\t9\n");
        write(
            22,
            "-processlist",
            "TS 101.0 x\n*** 1. row ***\nId: 3\nTS 109.0\nTS 110.0 x\nId: 4\n",
        );
        write(22, "-innodbstatus", "no stamp\nTS wrong\nlost\n");
        std::fs::write(dir.path().join("mysql-variables"), "TS 1.0\n").unwrap();
        let s = 1_000_000_000;
        let looks = |path: &Path, at_s: u64| {
            let found = read_classic_looks(path, at_s * s, 60 * s).unwrap();
            found.into_iter().map(|(at, look)| (at / s, look)).collect::<Vec<_>>()
        };
        let found = looks(dir.path(), 104);
        let kinds: Vec<_> = found.iter().map(|(at, look)| (*at, look.probe.as_str())).collect();
        assert_eq!(kinds, [(100, "status"), (101, "processlist")]);
        assert_eq!(found[0].1.numbers, [("Queries".to_owned(), 7.0)].into());
        assert_eq!(found[1].1.text.as_deref(), Some("*** 1. row ***\nId: 3"));
        // A file stands for those beside it; of two stamps in a row the last one counts.
        let one = dir.path().join("5-sec-status-2026-11-22_23-status");
        let found = looks(&one, 160);
        assert_eq!(found.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [200, 110]);
        assert_eq!(found[1].1.text.as_deref(), Some("Id: 4"));
        assert!(looks(dir.path(), 1000).is_empty());
    }
}
