//! The numbers of the C library's `random()` as a program gets them that sets no seed, so that generated statements are those
//! that mysqlslap generates. An additive feedback generator of degree 31: o(n) = o(n - 3) + o(n - 31), modulo 2^32, without
//! its lowest bit; its first 31 values come from a linear congruential generator modulo 2^31 - 1, and 310 are thrown away.

use std::collections::VecDeque;

/// Values that the next one depends on.
const DEGREE: usize = 31;
const SEPARATION: usize = 3;
/// Values thrown away at the start.
const WARM_UP: usize = 10 * DEGREE;
const FIRST_SEED: u32 = 1;

/// `random()` from its start.
#[derive(Clone, Debug)]
pub(super) struct LibcRandom {
    last: VecDeque<u32>,
}

impl LibcRandom {
    pub(super) fn new() -> LibcRandom {
        let mut state = vec![FIRST_SEED];
        for _ in 1..DEGREE {
            let last = u64::from(*state.last().expect("the seed is there"));
            state.push((last * 16_807 % 0x7fff_ffff) as u32);
        }
        // The feedback begins at the fourth value.
        state.rotate_left(SEPARATION);
        let mut random = LibcRandom { last: state.into() };
        for _ in 0..WARM_UP {
            random.next_number();
        }
        random
    }

    /// The next number, 31 bits.
    pub(super) fn next_number(&mut self) -> u32 {
        let next = self.last[0].wrapping_add(self.last[DEGREE - SEPARATION]);
        self.last.pop_front();
        self.last.push_back(next);
        next >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_c_library() {
        let mut random = LibcRandom::new();
        let first: Vec<u32> = (0..5).map(|_| random.next_number()).collect();
        assert_eq!(
            first,
            [1_804_289_383, 846_930_886, 1_681_692_777, 1_714_636_915, 1_957_747_793]
        );
        let mut random = LibcRandom::new();
        assert_eq!((0..128).map(|_| random.next_number()).last(), Some(822_890_675));
    }
}
