//! A hot set on disk: lines of JSON. The first tells version and origin, each index has one, the last tells that
//! nothing is missing. Packed by zstd where the name ends in `.zst`. Page lists are written as differences.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::literal::MOST_COLUMNS;
use super::{HotIndex, HotSet, HotSetOrigin};
use crate::base::private;
use crate::base::zstd_codec::{HAS_ZSTD, WITHOUT_ZSTD, ZSTD_MARK, ZstdEncoder, ZstdReader};
use crate::plan::{Mistake, Mistakes};

/// Version of the form that we write; we read all up to it.
pub const FORMAT_VERSION: u32 = 1;

/// zstd's own default; more takes longer and saves little.
const LEVEL: i32 = 3;

#[derive(Serialize, Deserialize)]
struct HotSetHeader {
    sweat_hot_set: u32,
    origin: HotSetOrigin,
    #[serde(default)]
    notes: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct HotSetFooter {
    /// How many indexes there are.
    end: u64,
}

/// Writes a hot set. The file appears whole or not at all; nobody else may read it, as it holds values of keys.
///
/// # Errors
/// When it can't be written.
pub fn write_hot_set(hot: &HotSet, path: &Path) -> anyhow::Result<u64> {
    let packed = is_packed_name(path);
    let made = private::create_beside(path);
    let written = made.and_then(|(beside, file)| {
        let written = write_to_file(hot, &file, packed)
            .and_then(|bytes| std::fs::rename(&beside, path).map(|()| bytes));
        // What is there of it is of no use to anybody.
        written.inspect_err(|_| drop(std::fs::remove_file(&beside)))
    });
    written.map_err(|error| {
        let full = error.kind() == io::ErrorKind::StorageFull;
        let error = anyhow::Error::new(error).context(format!("write {}", path.display()));
        if full { error.context("the disk is full; the hot set was not saved") } else { error }
    })
}

/// Whether a hot set could be written there: better known before a server is troubled.
///
/// # Errors
/// When it could not.
pub fn check_writable(path: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(!path.is_dir(), "write {}: it is a folder", path.display());
    let can_pack = HAS_ZSTD || !is_packed_name(path);
    anyhow::ensure!(can_pack, "write {}: {WITHOUT_ZSTD}", path.display());
    let (beside, _) =
        private::create_beside(path).with_context(|| format!("write {}", path.display()))?;
    std::fs::remove_file(&beside).with_context(|| format!("remove {}", beside.display()))
}

fn is_packed_name(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "zst")
}

fn write_to_file(hot: &HotSet, file: &File, packed: bool) -> io::Result<u64> {
    let buffered = BufWriter::new(file);
    if packed {
        let mut pack = ZstdEncoder::new(buffered, LEVEL)?;
        write_lines(hot, &mut pack)?;
        pack.finish()?.flush()?;
    } else {
        let mut plain = buffered;
        write_lines(hot, &mut plain)?;
        plain.flush()?;
    }
    file.sync_all()?;
    Ok(file.metadata()?.len())
}

fn write_lines(hot: &HotSet, out: &mut dyn Write) -> io::Result<()> {
    let head = HotSetHeader {
        sweat_hot_set: FORMAT_VERSION,
        origin: hot.origin.clone(),
        notes: hot.notes.clone(),
    };
    write_line(&head, out)?;
    for index in &hot.indexes {
        write_line(index, out)?;
    }
    write_line(&HotSetFooter { end: hot.indexes.len() as u64 }, out)
}

fn write_line(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

/// Reads a hot set, packed or not.
///
/// # Errors
/// When it can't be read, is no hot set, is newer than us or not whole.
pub fn read_hot_set(path: &Path) -> anyhow::Result<HotSet> {
    let of = || format!("read the hot set {}", path.display());
    let file = File::open(path).with_context(of)?;
    let meta = file.metadata().with_context(of)?;
    let bytes = if meta.is_file() { meta.len() } else { MOST_STREAM_BYTES };
    let mut file = BufReader::new(file);
    let packed = file.fill_buf().with_context(of)?.starts_with(ZSTD_MARK);
    let read = if packed {
        let mut unpack = ZstdReader::with_buffer(file).with_context(of)?;
        unpack.window_log_max(MOST_WINDOW_LOG).with_context(of)?;
        let most = LEAST_UNPACKED_BYTES.saturating_add(bytes.saturating_mul(MOST_RATIO));
        parse_hot_set(&mut BufReader::new(unpack), most)
    } else {
        parse_hot_set(&mut file, bytes)
    };
    read.map_err(|why| {
        Mistakes(vec![
            Mistake::new(path.display().to_string(), why)
                .hint("`sweat warm hotset save FILE` writes one"),
        ])
        .into()
    })
}

/// What a pipe may bring, in bytes: a file's length bounds what a file may.
const MOST_STREAM_BYTES: u64 = 1 << 30;
/// A hot set unpacks to ten or twenty times its size; so many times, and a little more for the smallest, are read.
const MOST_RATIO: u64 = 100;
/// See there, bytes.
const LEAST_UNPACKED_BYTES: u64 = 4 << 20;
/// Memory that unpacking may take: 2 to this power of bytes.
const MOST_WINDOW_LOG: u32 = 25;
/// Most pages of a hot set, 256 GiB of 16 KiB each: they take 16 bytes of our memory each.
pub(super) const MOST_PAGES: u64 = 1 << 24;

/// Reads a hot set of no more than so many bytes; what is wrong with it, in words.
fn parse_hot_set(mut source: &mut dyn BufRead, most_bytes: u64) -> Result<HotSet, String> {
    let mut number = 0;
    let mut left = most_bytes;
    let mut text = String::new();
    let mut next = |text: &mut String| -> Result<bool, String> {
        text.clear();
        number += 1;
        let length = (&mut source).take(left.saturating_add(1)).read_line(text);
        let length = length.map_err(|e| format!("line {number}: {e}"))? as u64;
        left = left.checked_sub(length).ok_or(
            "it unpacks to more than a hot set of its size can \
                                            hold",
        )?;
        Ok(length > 0)
    };
    next(&mut text)?;
    let head: HotSetHeader =
        serde_json::from_str(&text).map_err(|_| "it is not a hot set".to_owned())?;
    if !(1..=FORMAT_VERSION).contains(&head.sweat_hot_set) {
        return Err(format!(
            "its format is version {}; this sweat reads versions up to {FORMAT_VERSION}",
            head.sweat_hot_set
        ));
    }
    head.origin.check_numbers()?;
    let mut hot = HotSet {
        format_version: head.sweat_hot_set,
        origin: head.origin,
        indexes: Vec::new(),
        notes: head.notes,
    };
    let mut pages = 0;
    while next(&mut text)? {
        let place = hot.indexes.len() + 2;
        let broken = |e: serde_json::Error| format!("line {place}: {e}");
        if text.starts_with("{\"end\":") {
            let foot: HotSetFooter = serde_json::from_str(&text).map_err(broken)?;
            let whole = foot.end == hot.indexes.len() as u64;
            return if whole { Ok(hot) } else { Err("lines are missing in it".to_owned()) };
        }
        let index: HotIndex = serde_json::from_str(&text).map_err(broken)?;
        index.check_limits().map_err(|why| format!("line {place}: {why}"))?;
        pages += index.pages.len() as u64;
        if pages > MOST_PAGES {
            return Err(format!("line {place}: more than {MOST_PAGES} pages in all"));
        }
        hot.indexes.push(index);
    }
    Err("its end is missing: it was cut off".to_owned())
}

/// Longest name, in bytes: 64 characters, and those of partitions with their subpartitions.
const MOST_NAME_BYTES: usize = 600;

impl HotSetOrigin {
    /// Whether its numbers can be numbers of a server.
    fn check_numbers(&self) -> Result<(), String> {
        let accesses = self.accesses_per_s.unwrap_or(0.0);
        if accesses.is_finite() && accesses >= 0.0 {
            return Ok(());
        }
        Err("line 1: accesses_per_s is below 0".to_owned())
    }
}

impl HotIndex {
    /// Whether its names and numbers can be those of an index: no more is believed of them.
    fn check_limits(&self) -> Result<(), String> {
        let own = [&self.database, &self.table, &self.partition, &self.index];
        let mut names = own.into_iter().chain(self.key.iter().map(|column| &column.name));
        if names.any(|name| name.len() > MOST_NAME_BYTES) {
            return Err("a name is longer than a server accepts".to_owned());
        }
        if self.key.len() > MOST_COLUMNS {
            return Err("its key has more columns than an index can have".to_owned());
        }
        let page_numbers = u64::from(u32::MAX);
        let counts = self.ranges.iter().map(|range| range.pages);
        if counts.chain([self.file_pages, self.index_pages]).any(|pages| pages > page_numbers) {
            return Err("more pages than a tablespace can have".to_owned());
        }
        let bounds = self.ranges.iter().flat_map(|range| [&range.low, &range.last, &range.high]);
        if bounds.map(Vec::len).any(|values| values > self.key.len()) {
            return Err("a bound has more values than the key has columns".to_owned());
        }
        Ok(())
    }
}

/// Page lists as differences: `{"numbers":"7 1*63 -5","places":"0 1*64"}` is the pages 7 to 70 and 65 at the places 0
/// to 64; `1*63` is sixty-three times the difference 1.
pub(super) mod pages {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    use super::MOST_PAGES;

    #[derive(Serialize, Deserialize)]
    struct CodedPages {
        numbers: String,
        places: String,
    }

    pub(in crate::warm::hotset) fn serialize<S: Serializer>(
        pages: &[(u32, u64)],
        to: S,
    ) -> Result<S::Ok, S::Error> {
        CodedPages {
            numbers: encode_values(pages.iter().map(|(number, _)| i128::from(*number))),
            places: encode_values(pages.iter().map(|(_, place)| i128::from(*place))),
        }
        .serialize(to)
    }

    pub(in crate::warm::hotset) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<(u32, u64)>, D::Error> {
        let coded = CodedPages::deserialize(from)?;
        let (numbers, places) = (count_values(&coded.numbers), count_values(&coded.places));
        let pages = numbers.map_err(D::Error::custom)?;
        if places.map_err(D::Error::custom)? != pages {
            return Err(D::Error::custom("as many pages as places are wanted"));
        }
        // Counted before, so that memory is taken only for what is there.
        let mut found = Vec::with_capacity(pages);
        let pairs = decode_values(&coded.numbers).zip(decode_values(&coded.places));
        for (number, place) in pairs {
            let number =
                u32::try_from(number).map_err(|_| D::Error::custom("not a page number"))?;
            let place = u64::try_from(place).map_err(|_| D::Error::custom("no place"))?;
            found.push((number, place));
        }
        Ok(found)
    }

    fn encode_values(values: impl Iterator<Item = i128>) -> String {
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

    /// How many values a text of differences has.
    fn count_values(text: &str) -> Result<usize, String> {
        let mut count = 0u64;
        for word in text.split_ascii_whitespace() {
            let (_, times) =
                parse_step(word).ok_or_else(|| "that is not a difference".to_owned())?;
            count = count.saturating_add(times);
            if count > MOST_PAGES {
                return Err("more pages than a hot set can have".to_owned());
            }
        }
        usize::try_from(count).map_err(|e| e.to_string())
    }

    /// The values of a text of differences.
    fn decode_values(text: &str) -> impl Iterator<Item = i128> + '_ {
        let steps = text.split_ascii_whitespace().filter_map(parse_step);
        let mut last: i128 = 0;
        steps.flat_map(|(step, times)| std::iter::repeat_n(step, times as usize)).map(move |step| {
            last += i128::from(step);
            last
        })
    }

    /// `-5`, or `1*63`: a difference, and how many times.
    fn parse_step(word: &str) -> Option<(i64, u64)> {
        let (step, times) = word.split_once('*').unwrap_or((word, "1"));
        Some((step.parse().ok()?, times.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warm::hotset::{KeyColumn, KeyLiteral, KeyRange};
    use proptest::prelude::*;

    fn hot(pages: Vec<(u32, u64)>) -> HotSet {
        let index = HotIndex {
            database: "shop".to_owned(),
            table: "we`ird \"x".to_owned(),
            index: "PRIMARY".to_owned(),
            key: vec![KeyColumn { name: "id".to_owned(), ..KeyColumn::default() }],
            ranges: vec![KeyRange {
                low: vec![KeyLiteral::from_integer(1)],
                pages: 3,
                ..KeyRange::default()
            }],
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
            let bytes = write_hot_set(&saved, &path).unwrap();
            assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes);
            assert_eq!(read_hot_set(&path).unwrap(), saved);
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
        write_hot_set(&hot(vec![(1, 0)]), &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let why = |text: &str| parse_hot_set(&mut text.as_bytes(), 1 << 20).unwrap_err();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(why(&lines[..3].join("\n")), "its end is missing: it was cut off");
        assert_eq!(why(&[lines[0], lines[1], lines[3]].join("\n")), "lines are missing in it");
        assert_eq!(why("1,2\n3,4\n"), "it is not a hot set");
        assert_eq!(why(""), "it is not a hot set");
        for other in [9, 0] {
            let text = text.replace("\"sweat_hot_set\":1", &format!("\"sweat_hot_set\":{other}"));
            assert!(why(&text).contains(&format!("version {other}; ")), "{}", why(&text));
        }
        let wild = text.replace("\"numbers\":\"1\"", "\"numbers\":\"1*99999999999\"");
        assert!(why(&wild).starts_with("line 2"), "{}", why(&wild));
    }

    #[test]
    fn a_bound_that_is_no_value_is_refused() {
        let mut out = Vec::new();
        write_lines(&hot(vec![(1, 0)]), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let with = |value: &str| text.replace("\"low\":[\"1\"]", &format!("\"low\":[{value}]"));
        let why = |text: &str| parse_hot_set(&mut text.as_bytes(), 1 << 20).unwrap_err();
        for evil in ["1) INTO OUTFILE '/var/tmp/x' -- ", "(select sleep(3))", "@@version"] {
            let said = why(&with(&format!("\"{evil}\"")));
            assert!(
                said.starts_with("line 2: ") && said.contains("not a value of a key"),
                "{said}"
            );
        }
        assert!(why(&with("1")).contains("expected a value of a key"), "{}", why(&with("1")));
        assert!(why(&with("\"1\",\"2\"")).contains("more values than the key has columns"));
        assert!(why(&with(&vec!["\"1\""; 65].join(","))).contains("than a key can have"));
    }

    #[test]
    fn names_and_counts_that_no_server_has_are_refused() {
        let refused = |change: fn(&mut HotIndex)| {
            let mut saved = hot(vec![(1, 0)]);
            change(&mut saved.indexes[0]);
            let mut out = Vec::new();
            write_lines(&saved, &mut out).unwrap();
            parse_hot_set(&mut out.as_slice(), 1 << 20).unwrap_err()
        };
        assert!(refused(|i| i.table = "t".repeat(601)).contains("name"));
        assert!(refused(|i| i.ranges[0].pages = u64::MAX).contains("more pages than"));
        assert!(refused(|i| i.key = vec![KeyColumn::default(); 65]).contains("more columns"));
    }

    #[cfg(feature = "zstd")]
    #[test]
    fn a_bomb_is_refused_before_it_is_large() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hot.zst");
        let mut text = Vec::new();
        write_lines(&hot(vec![(1, 0)]), &mut text).unwrap();
        let note = vec![b'x'; 64 << 20];
        let text = String::from_utf8(text).unwrap();
        let text = text.replace("a line\\nof two", std::str::from_utf8(&note).unwrap());
        std::fs::write(&path, zstd::encode_all(text.as_bytes(), 3).unwrap()).unwrap();
        let error = format!("{:#}", read_hot_set(&path).unwrap_err());
        assert!(error.contains("more than a hot set"), "{error}");
        // Runs of pages are a bomb as well, of a few bytes.
        let runs = |times: u64| {
            let text = String::from_utf8({
                let mut out = Vec::new();
                write_lines(&hot(vec![(1, 0)]), &mut out).unwrap();
                out
            });
            let text = text.unwrap().replace("\"1\",\"places\":\"0\"", &{
                format!("\"1*{times}\",\"places\":\"0*{times}\"")
            });
            parse_hot_set(&mut text.as_bytes(), 1 << 20)
        };
        assert_eq!(runs(3).unwrap().indexes[0].pages.len(), 3);
        assert!(runs(MOST_PAGES + 1).unwrap_err().contains("more pages than a hot set"));
    }

    #[test]
    fn nobody_else_may_read_it_and_no_link_is_followed() {
        use std::os::unix::fs::MetadataExt as _;
        let dir = tempfile::tempdir().unwrap();
        let (path, victim) = (dir.path().join("hot"), dir.path().join("victim"));
        std::fs::write(&victim, "precious").unwrap();
        // The name that files were written under before: anybody could know it.
        let known = dir.path().join(format!(".hot.{}.part", std::process::id()));
        std::os::unix::fs::symlink(&victim, &known).unwrap();
        check_writable(&path).unwrap();
        write_hot_set(&hot(vec![(1, 0)]), &path).unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        std::fs::create_dir(&path).unwrap();
        let error = format!("{:#}", write_hot_set(&hot(Vec::new()), &path).unwrap_err());
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
            write_lines(&saved, &mut out).unwrap();
            prop_assert_eq!(parse_hot_set(&mut out.as_slice(), 1 << 20).unwrap(), saved);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let head = b"{\"sweat_hot_set\":1,\"origin\":{}}\n";
            let _ = parse_hot_set(&mut bytes.as_slice(), 1 << 20);
            let _ = parse_hot_set(&mut [&head[..], &bytes].concat().as_slice(), 1 << 20);
        }
    }
}
