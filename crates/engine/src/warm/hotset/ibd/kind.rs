//! Columns of a key: how their values lie in a page, and what they are.

use super::record::FieldLength;
use crate::warm::catalog::CatalogColumn;

/// What a value is, so that it can be written in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Integer {
        signed: bool,
    },
    Year,
    Float,
    Double,
    Decimal {
        digits: usize,
        fraction: usize,
    },
    Date,
    /// Digits of the fraction of a second, as in the next two.
    Datetime {
        fraction: usize,
    },
    Timestamp {
        fraction: usize,
    },
    Time {
        fraction: usize,
    },
    Bits,
    Text {
        charset: String,
        padded: bool,
    },
    Bytes,
    Inet4,
    Inet6,
    /// Lies in the page, but no value of it says where it stands in the index.
    Unwritten(&'static str),
}

/// A column as it lies in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredColumn {
    pub kind: ValueKind,
    pub length: FieldLength,
}

/// Longest column whose values may always be as long as it is, bytes.
const LONGEST_FIXED: usize = 768;

impl StoredColumn {
    /// How a column lies in a page.
    ///
    /// # Errors
    /// Why that is not known, in words.
    pub(super) fn from_column(column: &CatalogColumn) -> Result<StoredColumn, String> {
        let (numbers, list) = parse_type_arguments(&column.full_type);
        let number = |at: usize| numbers.get(at).copied();
        let fixed = |kind, length| Ok(StoredColumn { kind, length: FieldLength::Fixed(length) });
        let signed = !column.full_type.contains("unsigned");
        let integer = |length| fixed(ValueKind::Integer { signed }, length);
        if column.full_type.contains("mariadb-5.3") {
            return Err("a time in MariaDB 5.3's format".to_owned());
        }
        let fraction = number(0).unwrap_or(0).min(6);
        let fraction_bytes = fraction.div_ceil(2);
        match column.data_type.as_str() {
            "tinyint" => integer(1),
            "smallint" => integer(2),
            "mediumint" => integer(3),
            "int" => integer(4),
            "bigint" => integer(8),
            "year" => fixed(ValueKind::Year, 1),
            "float" => fixed(ValueKind::Float, 4),
            "double" => fixed(ValueKind::Double, 8),
            "decimal" => {
                let (digits, fraction) = (number(0).unwrap_or(10), number(1).unwrap_or(0));
                let length = decimal_bytes(digits, fraction).ok_or("an unknown kind of decimal")?;
                fixed(ValueKind::Decimal { digits, fraction }, length)
            }
            "date" => fixed(ValueKind::Date, 3),
            "datetime" => fixed(ValueKind::Datetime { fraction }, 5 + fraction_bytes),
            "timestamp" => fixed(ValueKind::Timestamp { fraction }, 4 + fraction_bytes),
            "time" => fixed(ValueKind::Time { fraction }, 3 + fraction_bytes),
            "bit" => fixed(ValueKind::Bits, number(0).unwrap_or(1).div_ceil(8)),
            "enum" => {
                let unwritten = ValueKind::Unwritten("enum, which SQL orders by its names");
                fixed(unwritten, if list < 256 { 1 } else { 2 })
            }
            "set" => {
                let bytes = list.div_ceil(8);
                let unwritten = ValueKind::Unwritten("set, which SQL orders by its words");
                fixed(unwritten, if bytes > 4 { 8 } else { bytes.max(1) })
            }
            "binary" => match number(0).unwrap_or(1) {
                length @ 0..=LONGEST_FIXED => fixed(ValueKind::Bytes, length),
                _ => Ok(StoredColumn {
                    kind: ValueKind::Bytes,
                    length: FieldLength::Own { long: true },
                }),
            },
            "varbinary" => {
                let long = number(0).unwrap_or(0) > 255;
                Ok(StoredColumn { kind: ValueKind::Bytes, length: FieldLength::Own { long } })
            }
            "char" | "varchar" => text_column(column, number(0).unwrap_or(1)),
            "inet4" => fixed(ValueKind::Inet4, 4),
            "inet6" => fixed(ValueKind::Inet6, 16),
            "uuid" => fixed(ValueKind::Unwritten("uuid, whose order is not known"), 16),
            other => Err(format!("the type {other}")),
        }
    }
}

/// Text lies as long as it is, except for CHAR in character sets whose characters are all of one length.
fn text_column(column: &CatalogColumn, characters: usize) -> Result<StoredColumn, String> {
    let charset = column.charset.clone().ok_or("text without a character set")?;
    let bytes = usize::try_from(column.bytes).map_err(|_| "very long text")?;
    let most = bytes.checked_div(characters).unwrap_or(1);
    let least = match charset.as_str() {
        "ucs2" | "utf16" | "utf16le" => 2,
        "utf32" => 4,
        _ => 1,
    };
    let is_char = column.data_type == "char";
    let length = if is_char && least == most && bytes <= LONGEST_FIXED {
        FieldLength::Fixed(bytes)
    } else {
        FieldLength::Own { long: bytes > 255 }
    };
    // Spaces behind the text of a CHAR are not part of it; of wider characters they are left, which does no harm.
    Ok(StoredColumn { kind: ValueKind::Text { charset, padded: is_char && least == 1 }, length })
}

/// Numbers between the brackets of a type, and how many words if there are words: `decimal(10,2)`, `enum('a','b')`.
fn parse_type_arguments(full_type: &str) -> (Vec<usize>, usize) {
    let inside = full_type.split_once('(').map_or("", |(_, rest)| rest);
    let end = if inside.starts_with('\'') { inside.rfind(')') } else { inside.find(')') };
    let inside = &inside[..end.unwrap_or(0)];
    let numbers = inside.split(',').filter_map(|n| n.trim().parse().ok()).collect();
    // A quote inside a word is written twice, so words end at a quote before a comma or the end.
    let (mut words, mut quoted) = (0, false);
    for c in inside.chars() {
        match c {
            '\'' => quoted = !quoted,
            ',' if !quoted => words += 1,
            _ => {}
        }
    }
    (numbers, words + 1)
}

/// Bytes of nine digits or less.
pub(super) const DIGIT_BYTES: [usize; 10] = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];

/// Bytes of a decimal.
fn decimal_bytes(digits: usize, fraction: usize) -> Option<usize> {
    let whole = digits.checked_sub(fraction).filter(|_| digits <= 65)?;
    let bytes = |digits: usize| digits / 9 * 4 + DIGIT_BYTES[digits % 9];
    Some(bytes(whole) + bytes(fraction))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stored(full_type: &str, charset: Option<&str>, bytes: u64) -> StoredColumn {
        let data_type = full_type.split(['(', ' ']).next().unwrap().to_owned();
        let charset = charset.map(str::to_owned);
        let full_type = full_type.to_owned();
        StoredColumn::from_column(&CatalogColumn {
            data_type,
            full_type,
            charset,
            bytes,
            ..CatalogColumn::default()
        })
        .unwrap()
    }

    #[test]
    fn lengths_are_those_of_innodb() {
        let fixed = |t: &str| match stored(t, None, 0).length {
            FieldLength::Fixed(n) => n,
            FieldLength::Own { .. } => panic!("{t}"),
        };
        assert_eq!(fixed("mediumint(8) unsigned"), 3);
        assert_eq!(fixed("decimal(20,4)"), 10);
        assert_eq!(fixed("decimal(65,30)"), 30);
        assert_eq!(fixed("datetime"), 5);
        assert_eq!(fixed("datetime(3)"), 7);
        assert_eq!(fixed("timestamp(6)"), 7);
        assert_eq!(fixed("time(1)"), 4);
        assert_eq!(fixed("bit(9)"), 2);
        assert_eq!(fixed("enum('a','b''),(c','d')"), 1);
        assert_eq!(fixed(&format!("enum({})", vec!["'x,y'"; 256].join(","))), 2);
        assert_eq!(fixed(&format!("set({})", vec!["'x'"; 33].join(","))), 8);
        assert_eq!(fixed("binary(16)"), 16);
    }

    #[test]
    fn text_lies_by_its_character_set() {
        assert_eq!(stored("char(10)", Some("latin1"), 10).length, FieldLength::Fixed(10));
        assert_eq!(
            stored("char(10)", Some("utf8mb4"), 40).length,
            FieldLength::Own { long: false }
        );
        assert_eq!(
            stored("char(100)", Some("utf8mb4"), 400).length,
            FieldLength::Own { long: true }
        );
        assert_eq!(stored("char(10)", Some("ucs2"), 20).length, FieldLength::Fixed(20));
        assert_eq!(
            stored("varchar(255)", Some("latin1"), 255).length,
            FieldLength::Own { long: false }
        );
        assert_eq!(
            stored("varchar(256)", Some("latin1"), 256).length,
            FieldLength::Own { long: true }
        );
        assert_eq!(stored("varbinary(300)", None, 300).length, FieldLength::Own { long: true });
    }

    #[test]
    fn what_is_not_known_is_said() {
        let column = |t: &str, full: &str| CatalogColumn {
            data_type: t.to_owned(),
            full_type: full.to_owned(),
            ..CatalogColumn::default()
        };
        assert_eq!(
            StoredColumn::from_column(&column("point", "point")).unwrap_err(),
            "the type point"
        );
        let old = column("datetime", "datetime /* mariadb-5.3 */");
        assert!(StoredColumn::from_column(&old).unwrap_err().contains("5.3"));
    }
}
