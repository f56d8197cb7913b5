//! Random texts of clause 4.3.2: letters and digits that no compression makes much smaller.

use super::sinks::FieldSink;
use crate::base::random::Rng;

/// The letters and digits, two of them twice so that six bits choose one.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789AB";
/// What a tenth of the items and of the stock contain.
pub(super) const ORIGINAL: &[u8] = b"ORIGINAL";

/// Fills a text with letters and digits.
#[inline]
pub(super) fn write_letters(rng: &mut Rng, out: &mut [u8]) {
    // Ten letters of six bits come from one number.
    for some in out.chunks_mut(10) {
        let mut bits = rng.next_u64();
        for letter in some {
            *letter = LETTERS[(bits & 63) as usize];
            bits >>= 6;
        }
    }
}

/// Fills a text with digits.
#[inline]
pub(super) fn write_digits(rng: &mut Rng, out: &mut [u8]) {
    for digit in out {
        *digit = b'0' + rng.uniform_below(10) as u8;
    }
}

/// An `a-string [least .. most]`.
#[inline]
pub(super) fn put_letters(sink: &mut impl FieldSink, rng: &mut Rng, least: usize, most: usize) {
    let length = rng.uniform_between(least as u64, most as u64) as usize;
    sink.put_text(length, |out| write_letters(rng, out));
}

/// An `a-string [26 .. 50]` that contains `ORIGINAL` anywhere in a tenth of the rows: I_DATA and S_DATA.
pub(super) fn put_data(sink: &mut impl FieldSink, rng: &mut Rng) {
    let length = rng.uniform_between(26, 50) as usize;
    let is_original = rng.uniform_below(10) == 0;
    sink.put_text(length, |out| {
        write_letters(rng, out);
        if is_original {
            let at = rng.uniform_between(0, (length - ORIGINAL.len()) as u64) as usize;
            out[at..at + ORIGINAL.len()].copy_from_slice(ORIGINAL);
        }
    });
}

/// Two streets, city, state and zip code (clause 4.3.2.7).
pub(super) fn put_address(sink: &mut impl FieldSink, rng: &mut Rng) {
    for _ in 0..3 {
        put_letters(sink, rng, 10, 20);
    }
    put_letters(sink, rng, 2, 2);
    sink.put_text(9, |out| {
        write_digits(rng, &mut out[..4]);
        out[4..].copy_from_slice(b"11111");
    });
}
