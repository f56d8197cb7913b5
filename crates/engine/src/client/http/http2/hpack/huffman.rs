//! The code of texts in header blocks (RFC 7541, appendix B). Codes are canonical, so their lengths say all.

/// Bits of the code of each byte, and of the end, which never comes.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30,
    28, 28, 28, 28, 28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7,
    7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22,
    22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22,
    23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21,
    23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26,
    27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24,
    20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27,
    28, 27, 27, 27, 27, 27, 26, 30,
];
/// The end of a text.
const END: u16 = 256;
/// Longest code.
const LONGEST: usize = 30;
/// Bits that are looked up at once.
const SHORT: usize = 8;

/// Symbols by code: what decoding needs.
struct CodeTables {
    /// Symbol and length by the first bits; length 0 where the code is longer.
    short: [(u8, u8); 1 << SHORT],
    /// By length: the first code, how many there are, and where their symbols begin.
    first: [u32; LONGEST + 1],
    count: [u32; LONGEST + 1],
    start: [usize; LONGEST + 1],
    symbols: [u16; 257],
}

static TABLES: CodeTables = make_tables();

const fn make_tables() -> CodeTables {
    let mut tables = CodeTables {
        short: [(0, 0); 1 << SHORT],
        first: [0; LONGEST + 1],
        count: [0; LONGEST + 1],
        start: [0; LONGEST + 1],
        symbols: [0; 257],
    };
    let (mut length, mut code, mut place) = (1, 0u32, 0);
    while length <= LONGEST {
        tables.first[length] = code;
        tables.start[length] = place;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                tables.symbols[place] = symbol as u16;
                if length <= SHORT {
                    let mut entry = (code as usize) << (SHORT - length);
                    let end = entry + (1 << (SHORT - length));
                    while entry < end {
                        tables.short[entry] = (symbol as u8, length as u8);
                        entry += 1;
                    }
                }
                tables.count[length] += 1;
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    tables
}

/// Decodes a text.
///
/// # Errors
/// When it isn't one.
pub(super) fn decode_text(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let mut rest = bytes.iter();
    // Bits to come, the next at the top.
    let (mut bits, mut count) = (0u64, 0usize);
    loop {
        while count <= 56 {
            let Some(byte) = rest.next() else { break };
            bits |= u64::from(*byte) << (56 - count);
            count += 8;
        }
        if count < 8 && bits.leading_ones() as usize >= count {
            return Ok(());
        }
        let (symbol, length) = match TABLES.short[(bits >> (64 - SHORT)) as usize] {
            (_, 0) => find_long(bits),
            (symbol, length) => (u16::from(symbol), usize::from(length)),
        };
        if length > count || symbol == END {
            return Err(BROKEN);
        }
        out.push(symbol as u8);
        bits <<= length;
        count -= length;
    }
}

const BROKEN: &str = "a text of the header block is broken";

fn find_long(bits: u64) -> (u16, usize) {
    for length in SHORT + 1..=LONGEST {
        let place = ((bits >> (64 - length)) as u32).wrapping_sub(TABLES.first[length]);
        if place < TABLES.count[length] {
            return (TABLES.symbols[TABLES.start[length] + place as usize], length);
        }
    }
    (END, LONGEST)
}

/// Encodes a text: for tests only, as requests are sent without the code.
#[cfg(test)]
pub(super) fn encode_text(text: &[u8]) -> Vec<u8> {
    let (mut out, mut bits, mut count) = (Vec::new(), 0u64, 0usize);
    for byte in text {
        let length = usize::from(LENGTHS[usize::from(*byte)]);
        let order = LENGTHS[..usize::from(*byte)].iter();
        let place = order.filter(|other| usize::from(**other) == length).count();
        bits = bits << length | u64::from(TABLES.first[length] + place as u32);
        count += length;
        while count >= 8 {
            out.push((bits >> (count - 8)) as u8);
            count -= 8;
        }
    }
    if count > 0 {
        out.push((bits << (8 - count)) as u8 | (0xFF >> count) as u8);
    }
    out
}
