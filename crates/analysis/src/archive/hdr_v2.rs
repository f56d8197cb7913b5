//! HdrHistogram's format V2, compressed: filled cells in and out, as the interval log holds them. The library's own writer and reader
//! take a full histogram of a quarter of a MiB each, and a load of many statements has dozens in every interval.

use std::io::Read as _;

use flate2::read::ZlibDecoder;
use flate2::{Compress, Compression, FlushCompress, Status};

use crate::recorder::{DIGITS, HIGHEST_NS, LOWEST_NS, SparseHistogram};

/// First bytes of a histogram, and of a compressed one.
const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED_COOKIE: u32 = 0x1c84_9314;
/// What stands before the counts.
const HEADER_BYTES: usize = 40;
/// Longer than any histogram of ours is unpacked.
const MOST_BYTES: u64 = 1 << 20;
/// A number's first bytes hold seven bits each, its ninth all eight.
const SEVEN_BITS: u64 = 0x7f;
const LONGEST_NUMBER: usize = 9;

/// Packs one histogram after the other, in memory that is used again.
pub(super) struct HistogramPacker {
    compress: Compress,
    plain: Vec<u8>,
    packed: Vec<u8>,
}

impl HistogramPacker {
    pub(super) fn new() -> HistogramPacker {
        let compress = Compress::new(Compression::default(), true);
        HistogramPacker { compress, plain: Vec::new(), packed: Vec::new() }
    }

    /// A histogram, packed.
    pub(super) fn pack(&mut self, histogram: &SparseHistogram) -> &[u8] {
        self.write_plain(histogram);
        self.compress.reset();
        self.packed.clear();
        self.packed.extend_from_slice(&COMPRESSED_COOKIE.to_be_bytes());
        self.packed.extend_from_slice(&[0; 4]);
        loop {
            let done = self.compress.total_in() as usize;
            self.packed.reserve(self.plain.len() / 2 + 64);
            let rest = &self.plain[done..];
            let packed = self.compress.compress_vec(rest, &mut self.packed, FlushCompress::Finish);
            if packed.expect("nothing was left of the last one") == Status::StreamEnd {
                break;
            }
        }
        let length = (self.packed.len() - 8) as u32;
        self.packed[4..8].copy_from_slice(&length.to_be_bytes());
        &self.packed
    }

    fn write_plain(&mut self, histogram: &SparseHistogram) {
        let out = &mut self.plain;
        out.clear();
        out.extend_from_slice(&COOKIE.to_be_bytes());
        // The length, which is known at the end, and the offset of the first cell.
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&u32::from(DIGITS).to_be_bytes());
        out.extend_from_slice(&LOWEST_NS.to_be_bytes());
        out.extend_from_slice(&HIGHEST_NS.to_be_bytes());
        out.extend_from_slice(&1f64.to_be_bytes());
        let mut next = 0;
        for (index, count) in histogram.indexed_cells() {
            match (index - next) as i64 {
                0 => {}
                1 => write_number(out, 0),
                zeros => write_number(out, -zeros),
            }
            write_number(out, i64::try_from(count).unwrap_or(i64::MAX));
            next = index + 1;
        }
        let length = (out.len() - HEADER_BYTES) as u32;
        out[4..8].copy_from_slice(&length.to_be_bytes());
    }
}

/// Counts are positive; a negative number says how many empty cells follow.
fn write_number(out: &mut Vec<u8>, number: i64) {
    let mut left = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 1..LONGEST_NUMBER {
        if left <= SEVEN_BITS {
            break;
        }
        out.push(0x80 | (left & SEVEN_BITS) as u8);
        left >>= 7;
    }
    out.push(left as u8);
}

/// The cells of a packed histogram.
///
/// # Errors
/// Why it is none of ours.
pub(super) fn unpack_histogram(bytes: &[u8]) -> Result<SparseHistogram, &'static str> {
    const NONE: &str = "no histogram";
    let (head, packed) = bytes.split_first_chunk::<8>().ok_or(NONE)?;
    if head[4..] != (packed.len() as u32).to_be_bytes() {
        return Err("length of the histogram");
    }
    if head[..4] != COMPRESSED_COOKIE.to_be_bytes() {
        return Err(NONE);
    }
    let mut plain = Vec::new();
    ZlibDecoder::new(packed).take(MOST_BYTES).read_to_end(&mut plain).map_err(|_| NONE)?;
    let (head, counts) = plain.split_first_chunk::<HEADER_BYTES>().ok_or(NONE)?;
    let mut expected = [0; HEADER_BYTES];
    expected[..4].copy_from_slice(&COOKIE.to_be_bytes());
    expected[4..8].copy_from_slice(&(counts.len() as u32).to_be_bytes());
    expected[12..16].copy_from_slice(&u32::from(DIGITS).to_be_bytes());
    expected[16..24].copy_from_slice(&LOWEST_NS.to_be_bytes());
    expected[24..32].copy_from_slice(&HIGHEST_NS.to_be_bytes());
    expected[32..].copy_from_slice(&1f64.to_be_bytes());
    if head[..12] != expected[..12] || head[32..] != expected[32..] {
        return Err(NONE);
    }
    if head[12..32] != expected[12..32] {
        return Err("other bounds than ours: they don't add");
    }
    read_cells(counts).ok_or(NONE)
}

fn read_cells(mut counts: &[u8]) -> Option<SparseHistogram> {
    let (mut histogram, mut index) = (SparseHistogram::default(), 0usize);
    while !counts.is_empty() {
        match read_number(&mut counts)? {
            0 => index += 1,
            zeros @ ..0 => index = index.checked_add(zeros.unsigned_abs() as usize)?,
            count => {
                if !histogram.push_cell(index, count as u64) {
                    return None;
                }
                index += 1;
            }
        }
    }
    Some(histogram)
}

fn read_number(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for place in 0..LONGEST_NUMBER {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let is_last = place == LONGEST_NUMBER - 1;
        let bits = if is_last { u64::from(*byte) } else { u64::from(*byte) & SEVEN_BITS };
        number |= bits << (7 * place);
        if *byte & 0x80 == 0 || is_last {
            break;
        }
    }
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
    use proptest::prelude::*;

    use super::*;
    use crate::recorder::Histogram;

    fn unpack_by_library(bytes: &[u8]) -> Histogram {
        Deserializer::new().deserialize(&mut &*bytes).expect("the library reads it")
    }

    proptest! {
        #[test]
        fn the_library_writes_the_same_and_reads_it(
            values in proptest::collection::vec((0u64..4_000_000_000_000, 1u64..1 << 40), 0..200)
        ) {
            let mut sparse = SparseHistogram::default();
            values.iter().for_each(|(ns, count)| sparse.record_n(*ns, *count));
            let mut packer = HistogramPacker::new();
            // The second one must not see what is left of the first.
            packer.pack(&SparseHistogram::from(vec![(5, 7), (1 << 40, u64::MAX)]));
            let packed = packer.pack(&sparse).to_vec();
            let mut expected = Vec::new();
            let full = match sparse.is_empty() {
                true => crate::recorder::new_histogram(),
                false => sparse.to_histogram(),
            };
            V2DeflateSerializer::new().serialize(&full, &mut expected).unwrap();
            if !sparse.is_empty() {
                prop_assert_eq!(&packed, &expected);
            }
            prop_assert_eq!(&SparseHistogram::from(&unpack_by_library(&packed)), &sparse);
            prop_assert_eq!(&unpack_histogram(&packed).unwrap(), &sparse);
            prop_assert_eq!(&unpack_histogram(&expected).unwrap(), &sparse);
            // What is cut anywhere is refused.
            for to in 0..packed.len() {
                prop_assert!(unpack_histogram(&packed[..to]).is_err());
            }
        }

        #[test]
        fn any_number_comes_back(number in any::<i64>()) {
            let mut bytes = Vec::new();
            write_number(&mut bytes, number);
            let mut rest = &bytes[..];
            prop_assert_eq!(read_number(&mut rest), Some(number));
            prop_assert!(rest.is_empty());
        }

        #[test]
        fn junk_has_no_cells_beyond_the_last(junk in prop::collection::vec(any::<u8>(), 0..99)) {
            if let Some(found) = read_cells(&junk) {
                prop_assert!(found.max_ns() <= HIGHEST_NS.next_power_of_two());
            }
        }
    }
}
