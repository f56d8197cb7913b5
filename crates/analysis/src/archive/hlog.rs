//! Histograms of intervals in HdrHistogram's interval log, format V2, so that other HDR tools read
//! them. One line per interval, class and kind, empty ones left out; tags are `<class>/response`,
//! `/service`, `/failed`, `<step>/step` and `/failed-step` of steps inside events, and `lateness` and `unbegun`. Values are nanoseconds.

use std::io::Write as _;
use std::iter::Enumerate;
use std::slice::SplitInclusive;
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogIterator, IntervalLogWriterBuilder, LogEntry,
};

use super::hdr_v2::{HistogramPacker, unpack_histogram};
use crate::base::token::encode_base64;
use crate::recorder::{Interval, SparseHistogram};

/// Which of the histograms a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistogramKind {
    Response(usize),
    Service(usize),
    Failed(usize),
    Step(usize),
    FailedStep(usize),
    Lateness,
    Unbegun,
}

/// One histogram of the log.
pub(super) struct HistogramEntry {
    pub(super) part: HistogramKind,
    pub(super) histogram: SparseHistogram,
}

/// The first lines of a log. `origin_unix_ns` is the wall time that the lines' starts count from.
pub(super) fn header_lines(origin_unix_ns: u64) -> Vec<u8> {
    let origin = SystemTime::UNIX_EPOCH + Duration::from_nanos(origin_unix_ns);
    let mut out = Vec::new();
    IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("[Values and Interval_Max are nanoseconds, other times seconds]")
        .with_start_time(origin)
        .with_base_time(origin)
        .begin_log_with(&mut out, &mut V2DeflateSerializer::new())
        .expect("memory takes every byte");
    out.extend_from_slice(LEGEND);
    out
}

/// A histogram alone, as the log holds it: format V2, compressed, base64; empty if there is nothing in it.
pub fn hdr_base64(histogram: &SparseHistogram) -> String {
    match histogram.is_empty() {
        true => String::new(),
        false => encode_base64(HistogramPacker::new().pack(histogram)),
    }
}

const LEGEND: &[u8] =
    b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";

/// The lines of one interval, and how many they are.
pub(super) fn encode_interval(
    classes: &[String],
    steps: &[String],
    interval: &Interval,
) -> (Vec<u8>, usize) {
    let (mut out, mut count) = (Vec::new(), 0);
    let mut packer = HistogramPacker::new();
    let start_s = interval.began.to_seconds();
    let length_s = interval.length_s();
    let mut put = |tag: String, histogram: &SparseHistogram| {
        if !histogram.is_empty() {
            let packed = encode_base64(packer.pack(histogram));
            let max = histogram.max_ns() as f64;
            writeln!(out, "Tag={tag},{start_s:.3},{length_s:.3},{max:.3},{packed}")
                .expect("memory takes every byte");
            count += 1;
        }
    };
    for (name, class) in classes.iter().zip(&interval.classes) {
        let name = escape_tag(name);
        put(format!("{name}/response"), &class.response);
        put(format!("{name}/service"), &class.service);
        put(format!("{name}/failed"), &class.failed);
    }
    for (name, step) in steps.iter().zip(&interval.steps) {
        let name = escape_tag(name);
        put(format!("{name}/step"), &step.latency);
        put(format!("{name}/failed-step"), &step.failed);
    }
    put("lateness".to_owned(), &interval.lateness);
    put("unbegun".to_owned(), &interval.unbegun);
    (out, count)
}

/// A class name as a tag takes it: no comma, space or line end.
fn escape_tag(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            ',' | ' ' | '\r' | '\n' | '%' => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

type SplitLines<'a> = SplitInclusive<'a, u8, fn(&u8) -> bool>;

/// The whole lines of a log in order, read one at a time: an hour has thousands. Ends early where a line makes no sense.
pub(super) struct HistogramLines<'a> {
    names: Vec<String>,
    steps: Vec<String>,
    rest: Enumerate<SplitLines<'a>>,
    damage: Option<String>,
}

impl<'a> HistogramLines<'a> {
    /// Of a log's text.
    pub(super) fn new(classes: &[String], steps: &[String], text: &'a [u8]) -> HistogramLines<'a> {
        let is_end: fn(&u8) -> bool = |b| *b == b'\n';
        let escape = |names: &[String]| names.iter().map(|name| escape_tag(name)).collect();
        HistogramLines {
            names: escape(classes),
            steps: escape(steps),
            rest: text.split_inclusive(is_end).enumerate(),
            damage: None,
        }
    }

    /// What makes no sense in the rest of the log, if anything.
    pub(super) fn into_damage(mut self) -> Option<String> {
        self.by_ref().for_each(drop);
        self.damage
    }
}

impl Iterator for HistogramLines<'_> {
    type Item = HistogramEntry;

    fn next(&mut self) -> Option<HistogramEntry> {
        if self.damage.is_some() {
            return None;
        }
        let is_said = |line: &[u8]| matches!(line.first(), Some(b'#' | b'"')) || line == b"\n";
        let (number, line) = self.rest.by_ref().find(|(_, line)| !is_said(line))?;
        let found = match line.last() {
            Some(b'\n') => parse_entry([&self.names, &self.steps], line),
            _ => Err("cut"),
        };
        found
            .map_err(|why| {
                self.damage = Some(format!("histograms.hlog line {}: {why}", number + 1))
            })
            .ok()
    }
}

fn parse_entry(names: [&[String]; 2], line: &[u8]) -> Result<HistogramEntry, &'static str> {
    let Some(Ok(LogEntry::Interval(entry))) = IntervalLogIterator::new(line).next() else {
        return Err("no interval");
    };
    let tag = entry.tag().ok_or("no tag")?;
    let part = parse_tag(names, tag.as_str()).ok_or("unknown tag")?;
    let histogram = parse_hdr_base64(entry.encoded_histogram())?;
    Ok(HistogramEntry { part, histogram })
}

/// A histogram alone, as `hdr_base64` writes it.
///
/// # Errors
/// Why it is none.
pub fn parse_hdr_base64(text: &str) -> Result<SparseHistogram, &'static str> {
    unpack_histogram(&decode_base64(text).ok_or("not base64")?)
}

fn parse_tag([classes, steps]: [&[String]; 2], tag: &str) -> Option<HistogramKind> {
    match tag {
        "lateness" => return Some(HistogramKind::Lateness),
        "unbegun" => return Some(HistogramKind::Unbegun),
        _ => {}
    }
    let (name, kind) = tag.rsplit_once('/')?;
    let place_in = |names: &[String]| names.iter().position(|known| known == name);
    if let "step" | "failed-step" = kind {
        let step = place_in(steps)?;
        let of = if kind == "step" { HistogramKind::Step } else { HistogramKind::FailedStep };
        return Some(of(step));
    }
    let class = place_in(classes)?;
    match kind {
        "response" => Some(HistogramKind::Response(class)),
        "service" => Some(HistogramKind::Service(class)),
        "failed" => Some(HistogramKind::Failed(class)),
        _ => None,
    }
}

/// Standard base64 with padding; the crate that writes the log shows no decoder.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end().as_bytes();
    if text.len() % 4 != 0 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for (at, four) in text.chunks(4).enumerate() {
        let last = (at + 1) * 4 == text.len();
        let padding = four.iter().rev().take_while(|b| **b == b'=').count();
        if padding > 2 || padding > 0 && !last {
            return None;
        }
        let mut word = 0u32;
        for b in &four[..4 - padding] {
            let six = match b {
                b'A'..=b'Z' => b - b'A',
                b'a'..=b'z' => b - b'a' + 26,
                b'0'..=b'9' => b - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            word = word << 6 | u32::from(six);
        }
        word <<= 6 * padding;
        out.extend_from_slice(&word.to_be_bytes()[1..4 - padding]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn base64_knows_its_padding() {
        assert_eq!(decode_base64("").as_deref(), Some(&b""[..]));
        assert_eq!(decode_base64("Zg==").as_deref(), Some(&b"f"[..]));
        assert_eq!(decode_base64("Zm8=").as_deref(), Some(&b"fo"[..]));
        assert_eq!(decode_base64("Zm9vYmFy").as_deref(), Some(&b"foobar"[..]));
        assert_eq!(decode_base64("//+/").as_deref(), Some(&b"\xff\xff\xbf"[..]));
        for wrong in ["Z", "Zg=", "Z===", "Zg==Zg==", "Zm9 "] {
            assert_eq!(decode_base64(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn junk_is_refused_without_a_panic(junk in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut lines = HistogramLines::new(&["a".to_owned()], &[], &junk);
            prop_assert_eq!(lines.by_ref().count(), 0);
            let _ = lines.into_damage();
        }
    }
}
