//! A hot set on disk: lines of JSON. The first tells version and origin, each index has one, the last tells that
//! nothing is missing. Packed by zstd where the name ends in `.zst`. Page lists are written as differences.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::{HotSet, Origin};
use crate::plan::{Mistake, Mistakes};

/// Version of the form that we write; we read all up to it.
pub const FORMAT_VERSION: u32 = 1;

/// First bytes of what zstd packs.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// zstd's own default; more takes longer and saves little.
const LEVEL: i32 = 3;

#[derive(Serialize, Deserialize)]
struct Head {
    sweat_hot_set: u32,
    origin: Origin,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct Foot {
    /// How many indexes there are.
    end: u64,
}

/// Writes a hot set. The file appears whole or not at all.
///
/// # Errors
/// When it can't be written.
pub fn write(hot: &HotSet, path: &Path) -> anyhow::Result<u64> {
    let name = path.file_name().with_context(|| format!("{} is no file name", path.display()))?;
    let beside =
        path.with_file_name(format!(".{}.{}.part", name.to_string_lossy(), std::process::id()));
    let packed = path.extension().is_some_and(|e| e == "zst");
    let written = write_to(hot, &beside, packed).and_then(|bytes| {
        std::fs::rename(&beside, path)?;
        Ok(bytes)
    });
    written.map_err(|error| {
        // What is there of it is of no use to anybody.
        let _ = std::fs::remove_file(&beside);
        let full = error.kind() == io::ErrorKind::StorageFull;
        let error = anyhow::Error::new(error).context(format!("write {}", path.display()));
        if full {
            error.context("the disk is full, nothing was kept of the hot set")
        } else {
            error
        }
    })
}

/// Whether a hot set could be written there: better known before a server is troubled.
///
/// # Errors
/// When it could not.
pub fn can_write(path: &Path) -> anyhow::Result<()> {
    let beside = beside(path)?;
    anyhow::ensure!(!path.is_dir(), "write {}: it is a folder", path.display());
    File::create(&beside).with_context(|| format!("write {}", path.display()))?;
    std::fs::remove_file(&beside).with_context(|| format!("remove {}", beside.display()))
}

/// Where a file is written until it is whole.
fn beside(path: &Path) -> anyhow::Result<PathBuf> {
    let name = path.file_name().with_context(|| format!("{} is no file name", path.display()))?;
    let part = format!(".{}.{}.part", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(part))
}

fn write_to(hot: &HotSet, path: &Path, packed: bool) -> io::Result<u64> {
    let file = File::create(path)?;
    let buffered = BufWriter::new(&file);
    if packed {
        let mut pack = zstd::Encoder::new(buffered, LEVEL)?;
        lines(hot, &mut pack)?;
        pack.finish()?.flush()?;
    } else {
        let mut plain = buffered;
        lines(hot, &mut plain)?;
        plain.flush()?;
    }
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn lines(hot: &HotSet, out: &mut dyn Write) -> io::Result<()> {
    let head = Head {
        sweat_hot_set: FORMAT_VERSION,
        origin: hot.origin.clone(),
        notes: hot.notes.clone(),
    };
    line(&head, out)?;
    for index in &hot.indexes {
        line(index, out)?;
    }
    line(&Foot { end: hot.indexes.len() as u64 }, out)
}

fn line(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Reads a hot set, packed or not.
///
/// # Errors
/// When it can't be read, is no hot set, is newer than us or not whole.
pub fn read(path: &Path) -> anyhow::Result<HotSet> {
    let of = || format!("read the hot set {}", path.display());
    let mut file = BufReader::new(File::open(path).with_context(of)?);
    let packed = file.fill_buf().with_context(of)?.starts_with(ZSTD);
    let read = if packed {
        read_from(&mut BufReader::new(zstd::Decoder::with_buffer(file).with_context(of)?))
    } else {
        read_from(&mut file)
    };
    read.map_err(|why| {
        Mistakes(vec![Mistake {
            place: path.display().to_string(),
            why,
            hint: Some("`sweat warm hotset save FILE` writes one".to_owned()),
        }])
        .into()
    })
}

/// Longest line that is taken for a hot set's, bytes: an index of 16 TiB, all of it hot.
const LINE: u64 = 1 << 33;

/// Reads a hot set; what is wrong with it, in words.
fn read_from(mut source: &mut dyn BufRead) -> Result<HotSet, String> {
    let mut number = 0;
    let mut text = String::new();
    let mut next = |text: &mut String| -> Result<bool, String> {
        text.clear();
        number += 1;
        let length = (&mut source).take(LINE).read_line(text);
        length.map(|n| n > 0).map_err(|e| format!("line {number}: {e}"))
    };
    next(&mut text)?;
    let head: Head = serde_json::from_str(&text).map_err(|_| "it is no hot set".to_owned())?;
    if head.sweat_hot_set > FORMAT_VERSION {
        return Err(format!(
            "its form is version {}, this sweat reads up to {FORMAT_VERSION}",
            head.sweat_hot_set
        ));
    }
    let mut hot = HotSet {
        format_version: head.sweat_hot_set,
        origin: head.origin,
        indexes: Vec::new(),
        notes: head.notes,
    };
    while next(&mut text)? {
        let place = hot.indexes.len() + 2;
        let broken = |e: serde_json::Error| format!("line {place}: {e}");
        if text.starts_with("{\"end\":") {
            let foot: Foot = serde_json::from_str(&text).map_err(broken)?;
            let whole = foot.end == hot.indexes.len() as u64;
            return if whole { Ok(hot) } else { Err("lines are missing in it".to_owned()) };
        }
        hot.indexes.push(serde_json::from_str(&text).map_err(broken)?);
    }
    Err("its end is missing: it was cut off".to_owned())
}

/// Page lists as differences: `{"numbers":"7 1*63 -5","places":"0 1*64"}` is the pages 7 to 70 and 65 at the places 0
/// to 64; `1*63` is sixty-three times the difference 1.
pub(super) mod pages {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[derive(Serialize, Deserialize)]
    struct Coded {
        numbers: String,
        places: String,
    }

    /// Most pages of one index: 4 TiB of 16 KiB each.
    const MOST: u64 = 1 << 28;

    pub(in crate::warm::hotset) fn serialize<S: Serializer>(
        pages: &[(u32, u64)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        Coded {
            numbers: code(pages.iter().map(|(number, _)| i128::from(*number))),
            places: code(pages.iter().map(|(_, place)| i128::from(*place))),
        }
        .serialize(to)
    }

    pub(in crate::warm::hotset) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(u32, u64)>, D::Error> {
        let coded = Coded::deserialize(from)?;
        let numbers = decode(&coded.numbers).map_err(D::Error::custom)?;
        let places = decode(&coded.places).map_err(D::Error::custom)?;
        if numbers.len() != places.len() {
            return Err(D::Error::custom("as many pages as places are wanted"));
        }
        let pair = |(number, place): (i128, i128)| {
            let number = u32::try_from(number).map_err(|_| D::Error::custom("no page number"))?;
            Ok((number, u64::try_from(place).map_err(|_| D::Error::custom("no place"))?))
        };
        numbers.into_iter().zip(places).map(pair).collect()
    }

    fn code(values: impl Iterator<Item = i128>) -> String {
        let mut text = String::new();
        let mut run: Option<(i128, u64)> = None;
        let mut last = 0;
        let mut end = |run: Option<(i128, u64)>| {
            let Some((step, times)) = run else { return };
            if !text.is_empty() {
                text.push(' ');
            }
            text += &step.to_string();
            if times > 1 {
                text += &format!("*{times}");
            }
        };
        for value in values {
            let step = value - std::mem::replace(&mut last, value);
            match &mut run {
                Some((same, times)) if *same == step => *times += 1,
                _ => end(run.replace((step, 1))),
            }
        }
        end(run);
        text
    }

    fn decode(text: &str) -> Result<Vec<i128>, String> {
        let mut values = Vec::new();
        let mut last: i128 = 0;
        for word in text.split_ascii_whitespace() {
            let wrong = || format!("`{word}` is no difference");
            let (step, times) = word.split_once('*').unwrap_or((word, "1"));
            let step: i64 = step.parse().map_err(|_| wrong())?;
            let times: u64 = times.parse().map_err(|_| wrong())?;
            if times > MOST - values.len() as u64 {
                return Err("more pages than an index can have".to_owned());
            }
            for _ in 0..times {
                last += i128::from(step);
                values.push(last);
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm::hotset::{HotIndex, KeyColumn, KeyRange};
    use proptest::prelude::*;

    fn hot(pages: Vec<(u32, u64)>) -> HotSet {
        let index = HotIndex {
            database: "shop".to_owned(),
            table: "we`ird \"x".to_owned(),
            index: "PRIMARY".to_owned(),
            key: vec![KeyColumn { name: "id".to_owned(), ..KeyColumn::default() }],
            ranges: vec![KeyRange { low: vec!["1".to_owned()], pages: 3, ..KeyRange::default() }],
            pages,
            ..HotIndex::default()
        };
        HotSet {
            format_version: FORMAT_VERSION,
            indexes: vec![index.clone(), HotIndex { pages: Vec::new(), ..index }],
            notes: vec!["a line\nof two".to_owned()],
            ..HotSet::default()
        }
    }

    #[test]
    fn what_is_written_is_read_packed_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let saved = hot((7..71).map(|n| (n, u64::from(n) - 7)).chain([(65, 900)]).collect());
        for name in ["hot", "hot.zst"] {
            let path = dir.path().join(name);
            let bytes = write(&saved, &path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
            assert_eq!(read(&path).unwrap(), saved);
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left beside");
        let text = std::fs::read_to_string(dir.path().join("hot")).unwrap();
        assert!(
            text.contains(r#""pages":{"numbers":"7 1*63 -5","places":"0 1*63 837"}"#),
            "{text}"
        );
    }

    #[test]
    fn what_is_not_whole_or_not_ours_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hot");
        write(&hot(vec![(1, 0)]), &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let why = |text: &str| read_from(&mut text.as_bytes()).unwrap_err();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(why(&lines[..3].join("\n")), "its end is missing: it was cut off");
        assert_eq!(why(&[lines[0], lines[1], lines[3]].join("\n")), "lines are missing in it");
        assert_eq!(why("1,2\n3,4\n"), "it is no hot set");
        assert_eq!(why(""), "it is no hot set");
        let newer = text.replace("\"sweat_hot_set\":1", "\"sweat_hot_set\":9");
        assert!(why(&newer).contains("version 9"));
        let wild = text.replace("\"numbers\":\"1\"", "\"numbers\":\"1*99999999999\"");
        assert!(why(&wild).starts_with("line 2"), "{}", why(&wild));
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        std::fs::create_dir(&path).unwrap();
        let error = format!("{:#}", write(&hot(Vec::new()), &path).unwrap_err());
        assert!(error.contains("write") && error.contains("folder"), "{error}");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    proptest! {
        #[test]
        fn any_pages_survive(
            pages in prop::collection::vec((any::<u32>(), 0..u64::MAX / 2), 0..50),
        ) {
            let mut out = Vec::new();
            let saved = hot(pages);
            lines(&saved, &mut out).unwrap();
            prop_assert_eq!(read_from(&mut out.as_slice()).unwrap(), saved);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let head = b"{\"sweat_hot_set\":1,\"origin\":{}}\n";
            let _ = read_from(&mut bytes.as_slice());
            let _ = read_from(&mut [&head[..], &bytes].concat().as_slice());
        }
    }
}
