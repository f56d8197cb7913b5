//! Where a reader of a log is: enough to find the place again, also in a file that was renamed or copied since.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::str::FromStr;

/// Bytes of a file's begin by which it is known again.
pub(super) const BEGIN: usize = 1024;
/// Bytes before a place by which it is known again.
pub(super) const BEFORE: usize = 64;

/// What bytes look like: how many, and their FNV-1a.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fingerprint {
    length: usize,
    hash: u64,
}

impl Fingerprint {
    pub(super) fn from_bytes(bytes: &[u8]) -> Fingerprint {
        Fingerprint { length: bytes.len(), hash: fnv_hash(bytes) }
    }

    /// Whether these bytes begin so.
    pub(super) fn matches_start(self, bytes: &[u8]) -> bool {
        bytes.get(..self.length).is_some_and(|begin| fnv_hash(begin) == self.hash)
    }

    /// Whether a file has these bytes just before a place.
    fn matches_before(self, file: &File, offset: u64) -> bool {
        let Some(from) = offset.checked_sub(self.length as u64) else { return false };
        let mut bytes = vec![0; self.length];
        file.read_exact_at(&mut bytes, from).is_ok() && fnv_hash(&bytes) == self.hash
    }
}

pub(super) fn fnv_hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// A place in a log. Its text, as in a URL, is a word of letters, digits, `.`, `%` and `_`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogMark {
    pub(super) inode: u64,
    pub(super) offset: u64,
    pub(super) begin: Fingerprint,
    pub(super) before: Fingerprint,
    /// The default database there, as the log's last `use` says: `None` where there was none.
    pub database: Option<Vec<u8>>,
}

impl LogMark {
    /// Whether it is a place in this file, which begins with these bytes.
    pub(super) fn matches_file(&self, file: &File, begin: &[u8]) -> bool {
        self.begin.matches_start(begin) && self.before.matches_before(file, self.offset)
    }
}

/// Why a text is no mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is not a mark of a position in a log")]
pub struct MarkError;

const VERSION: &str = "1";
const NAMED: char = 'n';

impl fmt::Display for LogMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogMark { inode, offset, begin, before, database } = self;
        write!(f, "{VERSION}.{inode:x}.{offset:x}")?;
        for Fingerprint { length, hash } in [begin, before] {
            write!(f, ".{length:x}.{hash:x}")?;
        }
        f.write_str(".")?;
        if let Some(name) = database {
            write!(f, "{NAMED}")?;
            for byte in name {
                match byte {
                    b if b.is_ascii_alphanumeric() || *b == b'_' => {
                        write!(f, "{}", char::from(*b))?;
                    }
                    b => write!(f, "%{b:02x}")?,
                }
            }
        }
        Ok(())
    }
}

impl FromStr for LogMark {
    type Err = MarkError;

    fn from_str(text: &str) -> Result<LogMark, MarkError> {
        let parts: Vec<&str> = text.split('.').collect();
        let [VERSION, inode, offset, begin, begin_hash, before, before_hash, database] = parts[..]
        else {
            return Err(MarkError);
        };
        let hex = |text: &str| u64::from_str_radix(text, 16).map_err(|_| MarkError);
        let print = |length: &str, hash: &str, most: usize| {
            let length = usize::try_from(hex(length)?).map_err(|_| MarkError)?;
            let print = Fingerprint { length, hash: hex(hash)? };
            if length > most { Err(MarkError) } else { Ok(print) }
        };
        Ok(LogMark {
            inode: hex(inode)?,
            offset: hex(offset)?,
            begin: print(begin, begin_hash, BEGIN)?,
            before: print(before, before_hash, BEFORE)?,
            database: match database.strip_prefix(NAMED) {
                Some(name) => Some(percent_decode(name).ok_or(MarkError)?),
                None if database.is_empty() => None,
                None => return Err(MarkError),
            },
        })
    }
}

/// Undoes the `%xx` of a text.
pub(super) fn percent_decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_mark_survives_being_written(
            inode: u64, offset: u64, begin in proptest::collection::vec(any::<u8>(), 0..40),
            database: Option<Vec<u8>>,
        ) {
            let print = Fingerprint::from_bytes(&begin);
            let mark = LogMark { inode, offset, begin: print, before: print, database };
            let text = mark.to_string();
            prop_assert_eq!(text.parse(), Ok(mark));
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric() || b"._%".contains(&b)));
        }

        #[test]
        fn no_text_breaks_it(text: String) {
            let _ = text.parse::<LogMark>();
            let _ = format!("1.{text}").parse::<LogMark>();
        }
    }

    #[test]
    fn what_is_no_mark_is_refused() {
        for wrong in
            ["", "1", "1.1.1.1.1.1.1.x", "1.1.1.ffff.1.1.1.", "2.1.1.1.1.1.1.", "1.1.1.1.1.1.1.n%4"]
        {
            assert_eq!(wrong.parse::<LogMark>(), Err(MarkError), "{wrong}");
        }
    }
}
