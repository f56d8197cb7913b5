//! Whether a page was read as it was written: InnoDB's checksums.

/// The polynomial of CRC-32C, bits reversed.
const POLYNOMIAL: u32 = 0x82F6_3B78;

/// Eight tables: eight bytes at a time.
const TABLES: [[u32; 256]; 8] = build_tables();

const fn build_tables() -> [[u32; 256]; 8] {
    let mut tables = [[0u32; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut byte = 0;
        while byte < 256 {
            let last = tables[table - 1][byte];
            tables[table][byte] = last >> 8 ^ tables[0][(last & 0xFF) as usize];
            byte += 1;
        }
        table += 1;
    }
    tables
}

/// CRC-32C of some bytes.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    let mut chunks = bytes.chunks_exact(8);
    for chunk in &mut chunks {
        let word = u64::from_le_bytes(chunk.try_into().expect("chunks have 8 bytes"));
        let word = (word ^ u64::from(crc)).to_le_bytes();
        crc = word.iter().zip(TABLES.iter().rev()).fold(0, |crc, (b, t)| crc ^ t[usize::from(*b)]);
    }
    for byte in chunks.remainder() {
        crc = crc >> 8 ^ TABLES[0][usize::from(crc as u8 ^ byte)];
    }
    !crc
}

/// What stands in place of a checksum where there is none.
const NONE: u32 = 0xDEAD_BEEF;
/// Bytes from the start that may change without the page: checksum, tablespace's flush position.
const PLACE: std::ops::Range<usize> = 4..26;
/// Where the page's own content begins.
const CONTENT: usize = 38;

/// Whether a page is as it was written. `full`: the form of MariaDB where the checksum is at the end.
pub(super) fn is_intact(page: &[u8], full: bool) -> bool {
    if page.len() < 64 {
        return false;
    }
    let word = |at: usize| {
        u32::from_be_bytes(page[at..at + 4].try_into().expect("four bytes were asked for"))
    };
    let end = page.len();
    if full {
        return word(end - 4) == crc32c(&page[..end - 4]);
    }
    // The low half of the log position stands at both ends: a torn write shows there.
    if word(20) != word(end - 4) {
        return false;
    }
    let (place, content) = (&page[PLACE], &page[CONTENT..end - 8]);
    match word(0) {
        NONE => true,
        stored => {
            stored == crc32c(place) ^ crc32c(content) || stored == legacy_checksum(place, content)
        }
    }
}

/// The checksum of servers before CRC-32C.
fn legacy_checksum(place: &[u8], content: &[u8]) -> u32 {
    let fold = |bytes: &[u8]| {
        bytes.iter().fold(0u64, |fold, byte| {
            let mixed = fold ^ u64::from(*byte) ^ 1_653_893_711;
            ((mixed << 8).wrapping_add(fold) ^ 1_463_735_687).wrapping_add(u64::from(*byte))
        })
    };
    fold(place).wrapping_add(fold(content)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_is_the_one_of_the_books() {
        assert_eq!(crc32c(b"123456789"), 0xE306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn a_changed_byte_is_seen_in_every_form() {
        let mut page: Vec<u8> = (0..4096u32).map(|i| (i * 7) as u8).collect();
        page[4092..].copy_from_slice(&[1, 2, 3, 4]);
        page[20..24].copy_from_slice(&[1, 2, 3, 4]);
        let crc = crc32c(&page[4..26]) ^ crc32c(&page[38..4088]);
        let fold = legacy_checksum(&page[4..26], &page[38..4088]);
        for stored in [crc, fold] {
            page[..4].copy_from_slice(&stored.to_be_bytes());
            assert!(is_intact(&page, false));
            page[2000] ^= 1;
            assert!(!is_intact(&page, false));
            page[2000] ^= 1;
        }
        let crc = crc32c(&page[..4092]);
        page[4092..].copy_from_slice(&crc.to_be_bytes());
        assert!(is_intact(&page, true));
        assert!(!is_intact(&page, false));
        page[100] ^= 0x80;
        assert!(!is_intact(&page, true));
        assert!(!is_intact(&[], true) && !is_intact(&[0; 10], false));
    }
}
