//! What the text columns hold: groups of eleven digits with dashes between them.

use crate::base::random::Rng;

/// Characters of `c`: ten groups.
pub(super) const C_LENGTH: usize = 119;
/// Characters of `pad`: five groups.
pub(super) const PAD_LENGTH: usize = 59;

const GROUP: usize = 11;
const GROUP_NUMBERS: u64 = 100_000_000_000;

/// Two digits each: 00 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut n = 0;
    while n < 100 {
        pairs[n] = [b'0' + (n / 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    pairs
};

/// Fills `out` with random groups; its length is a whole number of groups with dashes between them.
pub(super) fn write_groups(rng: &mut Rng, out: &mut [u8]) {
    for group in out.chunks_mut(GROUP + 1) {
        let number = ((u128::from(rng.next_u64()) * u128::from(GROUP_NUMBERS)) >> 64) as u64;
        write_digits(number, group);
        if let Some(dash) = group.get_mut(GROUP) {
            *dash = b'-';
        }
    }
}

/// Writes eleven digits.
#[inline]
fn write_digits(number: u64, out: &mut [u8]) {
    let mut high = (number / 1_000_000) as u32;
    let mut low = (number % 1_000_000) as u32;
    for at in [9, 7, 5] {
        out[at..at + 2].copy_from_slice(&PAIRS[(low % 100) as usize]);
        low /= 100;
    }
    for at in [3, 1] {
        out[at..at + 2].copy_from_slice(&PAIRS[(high % 100) as usize]);
        high /= 100;
    }
    out[0] = b'0' + high as u8;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eleven_digits_of_any_number() {
        for number in [0, 1, 99, 1_000_000, 12_345_678_901, 99_999_999_999] {
            let mut out = [0; 11];
            write_digits(number, &mut out);
            assert_eq!(std::str::from_utf8(&out).unwrap(), format!("{number:011}"));
        }
    }

    #[test]
    fn groups_have_the_shape_and_use_all_digits() {
        let mut rng = Rng::new(1, 2, 3);
        let mut digits = [0_u32; 10];
        for length in [C_LENGTH, PAD_LENGTH] {
            for _ in 0..100 {
                let mut out = vec![0; length];
                write_groups(&mut rng, &mut out);
                for (at, byte) in out.iter().enumerate() {
                    if at % 12 == 11 {
                        assert_eq!(*byte, b'-');
                    } else {
                        digits[usize::from(byte - b'0')] += 1;
                    }
                }
            }
        }
        let all: u32 = digits.iter().sum();
        assert_eq!(all, 100 * 15 * 11);
        assert!(digits.iter().all(|&n| n.abs_diff(all / 10) < 250), "{digits:?}");
    }
}
