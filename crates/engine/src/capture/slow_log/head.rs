//! The lines before a statement: `# Time`, `# User@Host`, keys with values, `use`, `SET timestamp`. Keys are read
//! whatever they are, as each version brings new ones.

use super::super::log::line_count;
use super::super::session_modes::PLAIN_OK_BYTES;
use super::super::time;

/// What stands before a statement.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct RecordHead<'a> {
    /// Where the statement begins.
    pub(super) statement_at: usize,
    /// Lines before it.
    pub(super) lines: u64,
    /// Account that the session acts as.
    pub(super) user: &'a [u8],
    /// Where it comes from: the name, or the address if there is none.
    pub(super) host: &'a [u8],
    /// Whether there is a `# User@Host` at all.
    pub(super) has_user: bool,
    /// The session's number in its server.
    pub(super) session: Option<u64>,
    /// `Schema:`, where the log has it; empty for none.
    pub(super) schema: Option<&'a [u8]>,
    /// What `use` names, as written.
    pub(super) used: Option<&'a [u8]>,
    /// `# Time` with its date: microseconds since 1970.
    pub(super) noted_us: Option<u64>,
    /// Whether that has fractions of a second, as MySQL writes them: it is when the statement ended.
    pub(super) is_noted_end: bool,
    /// Whether its times are those of begins, as in MariaDB.
    pub(super) is_mariadb: bool,
    /// Whether a list of warnings has begun.
    has_warnings: bool,
    /// Whether there are texts that a client has a say in, and that are not marked off.
    pub(super) has_free_text: bool,
    /// Whether a `# Time` or a `# User@Host` says nothing that can be read.
    pub(super) is_odd: bool,
    /// `SET timestamp`: microseconds since 1970.
    pub(super) stamp_us: Option<u64>,
    /// `Start:`, microseconds since 1970.
    pub(super) start_us: Option<u64>,
    /// `Query_time`, microseconds.
    pub(super) took_us: Option<u64>,
    /// `Lock_time`, microseconds.
    pub(super) locked_us: Option<u64>,
    /// `Rows_sent`.
    pub(super) rows_sent: Option<u64>,
    /// `Rows_examined`.
    pub(super) rows_examined: Option<u64>,
    /// `Rows_affected`.
    pub(super) rows_affected: Option<u64>,
    /// `Bytes_sent`.
    pub(super) bytes_sent: Option<u64>,
    /// `Errno` or `Last_errno`.
    pub(super) errno: Option<u64>,
    /// Whether it ran inside a stored program.
    pub(super) is_inner: bool,
    /// Which keys stand in the lines that every record of a log has, in their order.
    pub(super) shape: u64,
}

/// What was found at a place.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "one per record, never kept; a box is an allocation")]
pub(super) enum HeadMatch<'a> {
    /// A head, whole.
    Head(RecordHead<'a>),
    /// The text ends before it does.
    Incomplete,
    /// Something else.
    Nothing,
}

/// Reads the head that begins at `at`. `is_all` says that no more text will come.
pub(super) fn read_head(text: &[u8], at: usize, is_all: bool) -> HeadMatch<'_> {
    let mut head = RecordHead::default();
    let mut at = at;
    let mut lines = 0;
    loop {
        let rest = &text[at..];
        let end = match memchr::memchr(b'\n', rest) {
            Some(end) => end,
            None if is_all => rest.len(),
            None => return HeadMatch::Incomplete,
        };
        let line = &rest[..end];
        let next = (at + end + 1).min(text.len());
        if line.first() == Some(&b'#') {
            if line.starts_with(b"# administrator command: ") || head.is_followed_by(line) {
                break;
            }
            head.read_line(line);
        } else if line.starts_with(b"SET ") && head.read_timestamp(line) {
            head.lines += 1;
            at = next;
            break;
        } else if line.starts_with(b"SET ") && is_insert_id_line(line) {
            // Old logs have no stamp behind the numbers; but a client may set them too, and then no statement follows.
            let after = text.get(next..).unwrap_or_default();
            if after.len() < 2 && !is_all {
                return HeadMatch::Incomplete;
            }
            if !after.is_empty() && !after.starts_with(b"# ") {
                head.lines += 1;
                at = next;
            }
            break;
        } else if line.starts_with(b"use ") && lines > 0 && head.used.is_none() {
            let Some(length) = use_length(rest, is_all) else { return HeadMatch::Incomplete };
            match length {
                0 => break,
                length => {
                    head.used = Some(&rest[4..length - 2]);
                    head.has_free_text |= memchr::memchr(b'\n', &rest[..length - 1]).is_some();
                    head.lines += line_count(&rest[..length]);
                    at += length;
                    lines += 1;
                    continue;
                }
            }
        } else if head.schema.is_some() && head.took_us.is_none() && holds_key(line) {
            // A database's name with a line's end in it.
            head.has_free_text = true;
            head.read_keys(line, false);
        } else if head.has_warnings {
            // A warning's text with a line's end in it?
            match is_warning(rest, is_all) {
                None => return HeadMatch::Incomplete,
                Some(true) => {}
                Some(false) => break,
            }
        } else {
            break;
        }
        lines += 1;
        head.lines += u64::from(end < rest.len());
        if at == next || next == text.len() && end == rest.len() {
            at = next;
            break;
        }
        at = next;
    }
    head.statement_at = at;
    if head.has_user || head.took_us.is_some() || head.noted_us.is_some() {
        HeadMatch::Head(head)
    } else {
        HeadMatch::Nothing
    }
}

fn is_user_line(line: &[u8]) -> bool {
    line.starts_with(b"# User@Host:") || line.starts_with(b"# User: ")
}

/// Whether the rest of a head follows, and no other one before. `None` where the text ends too soon to tell.
fn is_warning(rest: &[u8], is_all: bool) -> Option<bool> {
    let near = &rest[..rest.len().min(LONGEST_USE)];
    let find = |words: &[u8]| memchr::memmem::find(near, words);
    let other = [&b"\n# User@Host"[..], b"\n# User: "].into_iter().filter_map(find).min();
    match find(b"\nSET timestamp=") {
        Some(stamp) => Some(other.is_none_or(|other| other > stamp)),
        None => (is_all || other.is_some() || rest.len() >= LONGEST_USE).then_some(false),
    }
}

fn holds_key(line: &[u8]) -> bool {
    memchr::memmem::find(line, b"QC_").is_some() || memchr::memmem::find(line, b"errno:").is_some()
}

/// Longest name of a database in bytes, with `use` and quotes, and room to spare.
const LONGEST_USE: usize = 1_024;

/// Bytes that tell what stands behind `use`.
const LONGEST_NEXT: usize = super::ADMIN.len();

/// Length of `use NAME;` with its line's end; names may hold blanks, semicolons and ends of lines. 0 where it is a
/// statement: nothing of a head follows it. `None` where the text ends too soon.
fn use_length(rest: &[u8], is_all: bool) -> Option<usize> {
    const STAMP: &[u8] = b"SET ";
    for found in memchr::memmem::find_iter(rest, b";\n") {
        // However much of the log is here: what is this long is no name.
        if found > LONGEST_USE {
            return Some(0);
        }
        let next = &rest[found + 2..];
        if next.len() < LONGEST_NEXT && !is_all && !next.contains(&b'\n') {
            return None;
        }
        if next.starts_with(STAMP) {
            return Some(found + 2);
        }
        if is_user_line(next) || next.starts_with(b"# Time: ") || next.starts_with(super::ADMIN) {
            return Some(found + 2);
        }
        if next.is_empty() || next.starts_with(b"# ") {
            return Some(0);
        }
        // Old logs have no stamp; there a name of one line is all that can be told.
        if !rest[..found].contains(&b'\n') {
            return Some(found + 2);
        }
    }
    if is_all || rest.len() > LONGEST_USE + 2 { Some(0) } else { None }
}

impl<'a> RecordHead<'a> {
    /// Whether a line begins the next head: this one has had such a line, or what follows it.
    fn is_followed_by(&self, line: &[u8]) -> bool {
        self.has_user && is_user_line(line)
            || self.has_user && !self.has_free_text && line.starts_with(b"# Time:")
            || self.took_us.is_some() && !self.has_warnings && line.starts_with(b"# Query_time: ")
    }

    /// When the record was noted: its end where the log tells ends, as no client can set that; else what the session
    /// says.
    pub(super) fn time_us(&self) -> Option<u64> {
        let noted_us = self.noted_us.filter(|_| self.is_noted_end);
        noted_us.or(self.stamp_us).or(self.noted_us)
    }

    /// Whether the server could parse the statement, so that all its quotes and comments have an end: it found or gave
    /// rows, or says that there was no error.
    pub(super) fn proves_parse(&self) -> bool {
        let rows = [self.rows_sent, self.rows_examined, self.rows_affected];
        match self.errno {
            // A client may have written these lines.
            _ if self.has_free_text => false,
            Some(errno) => errno == 0,
            None => {
                rows.into_iter().flatten().any(|rows| rows > 0)
                    || self.bytes_sent == Some(PLAIN_OK_BYTES)
            }
        }
    }

    fn read_line(&mut self, line: &'a [u8]) {
        if let Some(value) = line.strip_prefix(b"# Time:") {
            self.noted_us = time::parse_time_us(value);
            self.is_noted_end = value.get(5) == Some(&b'-');
            if self.noted_us.is_none() {
                self.is_odd = true;
                // Some logs have both on one line.
                if let Some(at) = memchr::memmem::find(value, b"# User@Host: ") {
                    self.read_user_host(&value[at + 13..]);
                }
            }
        } else if let Some(value) = line.strip_prefix(b"# User@Host:") {
            self.is_odd |= value.trim_ascii().is_empty();
            self.read_user_host(value.strip_prefix(b" ").unwrap_or(value));
        } else if let Some(value) = line.strip_prefix(b"# User: ") {
            self.read_user_host(value);
        } else if line == b"# Warnings" {
            self.has_warnings = true;
            self.has_free_text = true;
        } else if self.has_warnings {
            // Texts, not keys.
        } else if line.starts_with(b"# explain: ") {
            self.has_free_text = true;
        } else if line.len() > 2 {
            self.read_keys(&line[2..], true);
        }
    }

    fn read_user_host(&mut self, value: &'a [u8]) {
        self.has_user = true;
        let rest;
        (self.user, self.host, rest) = parse_account(value);
        self.read_keys(rest, true);
    }

    /// `Key: value  Key: value`. A value ends at a blank; that of `Schema` at two, or where the next key begins.
    fn read_keys(&mut self, line: &'a [u8], counts: bool) {
        let mut rest = line.trim_ascii_start();
        let mut shape = self.shape;
        let mut is_kept = false;
        while let Some((key, after)) = split_at_colon(rest) {
            let value_at = blank_count(after);
            let value = &after[value_at..];
            // Two blanks and the next key: the value is empty.
            let is_empty = value_at != 1 && self::split_key(value).is_some();
            let end = match self.read_value(key, if is_empty { b"" } else { value }) {
                Some(end) => end,
                None if self::split_key(rest).is_none() => break,
                None if is_empty => 0,
                None => word_end(value),
            };
            is_kept |= matches!(key, b"Query_time" | b"Thread_id" | b"Id" | b"Rows_affected");
            // Begin, end and length of a key are enough to tell one server's heads from another's.
            let mark = [key[0], key[key.len() - 1], key.len() as u8, 0];
            shape = (shape ^ u64::from(u32::from_le_bytes(mark))).wrapping_mul(0x100_0000_01b3);
            rest = &value[end..];
            rest = &rest[blank_count(rest)..];
        }
        if is_kept && counts {
            self.shape = shape;
        }
    }

    /// Takes the value that a text begins with, and gives its length; `None` where we don't know the key.
    fn read_value(&mut self, key: &[u8], text: &'a [u8]) -> Option<usize> {
        let slot = match key {
            b"Id" | b"Thread_id" | b"Conn_ID" => {
                let (number, length) = leading_number(text);
                self.session = number.or(self.session);
                return Some(length);
            }
            b"Query_time" => return Some(leading_seconds_us(text, &mut self.took_us)),
            b"Lock_time" => return Some(leading_seconds_us(text, &mut self.locked_us)),
            b"Rows_sent" => &mut self.rows_sent,
            b"Rows_examined" => &mut self.rows_examined,
            b"Rows_affected" => &mut self.rows_affected,
            b"Bytes_sent" => &mut self.bytes_sent,
            b"Errno" | b"Last_errno" => &mut self.errno,
            b"Schema" | b"DB" => {
                let length = schema_end(text);
                // No name ends in a blank.
                self.schema = Some(text[..length].trim_ascii_end());
                return Some(length);
            }
            b"QC_hit" | b"Start" | b"Stored_routine" => {
                let length = word_end(text);
                match key {
                    b"QC_hit" => self.is_mariadb = true,
                    b"Start" => self.start_us = time::parse_time_us(&text[..length]),
                    _ => self.is_inner = length > 0,
                }
                return Some(length);
            }
            _ => return None,
        };
        let (number, length) = leading_number(text);
        *slot = number;
        Some(length)
    }

    /// `SET last_insert_id=5,insert_id=6,timestamp=1795245124.000123;`: whether it is that line.
    fn read_timestamp(&mut self, line: &[u8]) -> bool {
        let Some(mut rest) = line.strip_prefix(b"SET ").and_then(|l| l.strip_suffix(b";")) else {
            return false;
        };
        for name in [&b"last_insert_id="[..], b"insert_id="] {
            if let Some(after) = rest.strip_prefix(name) {
                let digits = after.iter().take_while(|b| b.is_ascii_digit()).count();
                match after[digits..].strip_prefix(b",") {
                    Some(after) if digits > 0 => rest = after,
                    _ => return false,
                }
            }
        }
        let Some(value) = rest.strip_prefix(b"timestamp=") else { return false };
        let Some(micros) = parse_seconds_us(value) else { return false };
        self.stamp_us = Some(micros);
        true
    }
}

/// `u[v] @ host [address]  Id: 7`: the account that a session acts as (in brackets; before them stands the one that was
/// authenticated), where it comes from, and the rest.
pub(in crate::capture) fn parse_account(value: &[u8]) -> (&[u8], &[u8], &[u8]) {
    let ends = memchr::memchr_iter(b'@', value);
    let is_end = |at: &usize| {
        at.checked_sub(1).is_some_and(|before| value[before] == b' ')
            && value.get(at + 1) == Some(&b' ')
    };
    let (account, rest) = match ends.into_iter().find(is_end) {
        Some(at) => (&value[..at - 1], &value[at + 2..]),
        None => (value, &[][..]),
    };
    let inner = account.strip_suffix(b"]").and_then(|a| {
        let open = memchr::memrchr(b'[', a)?;
        Some((&a[..open], &a[open + 1..]))
    });
    let user = match inner {
        Some((_, acts)) if !acts.is_empty() => acts,
        Some((outer, _)) => outer,
        None => account,
    };
    let Some(open) = memchr::memchr(b'[', rest) else { return (user, rest.trim_ascii(), &[]) };
    let close = memchr::memchr(b']', &rest[open..]).map_or(rest.len(), |at| open + at);
    let name = rest[..open].trim_ascii();
    let host = if name.is_empty() { &rest[open + 1..close] } else { name };
    (user, host, rest.get(close + 1..).unwrap_or_default())
}

/// `SET last_insert_id=5,insert_id=6;`: as a head's line without the time.
fn is_insert_id_line(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"SET ").and_then(|l| l.strip_suffix(b";")) else {
        return false;
    };
    rest.split(|b| *b == b',').all(|part| {
        let value = [&b"last_insert_id="[..], b"insert_id="];
        let value = value.iter().find_map(|name| part.strip_prefix(*name));
        value.is_some_and(|value| parse_number(value).is_some())
    })
}

/// Bytes that keys are made of.
const IN_KEY: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 256 {
        table[at] = (at as u8).is_ascii_alphanumeric() || at == b'_' as usize;
        at += 1;
    }
    table
};

/// A key at the begin, and what follows its colon.
fn split_key(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = rest.iter().position(|b| !IN_KEY[usize::from(*b)])?;
    (length > 0 && rest[length] == b':').then(|| (&rest[..length], &rest[length + 1..]))
}

/// What stands before the next colon, whether it is a key or not: to look is quicker than to know.
fn split_at_colon(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr::memchr(b':', rest)?;
    (colon > 0).then(|| (&rest[..colon], &rest[colon + 1..]))
}

fn blank_count(text: &[u8]) -> usize {
    text.iter().position(|b| *b != b' ').unwrap_or(text.len())
}

fn word_end(value: &[u8]) -> usize {
    memchr::memchr(b' ', value).unwrap_or(value.len())
}

/// A name may hold blanks: it ends at two of them, or at one, if a key follows.
fn schema_end(value: &[u8]) -> usize {
    let follows = |at: usize| split_key(value[at..].trim_ascii_start()).is_some();
    let first = word_end(value);
    if first < value.len() && follows(first) {
        return first;
    }
    memchr::memchr_iter(b' ', value)
        .find(|at| value.get(at + 1) == Some(&b' ') && follows(*at))
        .unwrap_or(value.len())
}

fn parse_number(value: &[u8]) -> Option<u64> {
    if value.is_empty() || value.len() > 19 {
        return None;
    }
    value.iter().try_fold(0_u64, |n, b| b.is_ascii_digit().then(|| n * 10 + u64::from(b - b'0')))
}

/// The number that a text begins with, if it is one up to a blank or the end, and the length of what stands there.
fn leading_number(text: &[u8]) -> (Option<u64>, usize) {
    let (number, length) = leading_digits(text);
    match text.get(length) {
        None | Some(b' ') if (1..=19).contains(&length) => (Some(number), length),
        _ => (None, word_end(text)),
    }
}

fn leading_digits(text: &[u8]) -> (u64, usize) {
    let (mut number, mut length) = (0_u64, 0);
    while let Some(digit) = text.get(length).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (number, length)
}

/// `12.000345` at the begin of a text as microseconds, and its length.
fn leading_seconds_us(text: &[u8], slot: &mut Option<u64>) -> usize {
    let (whole, point) = leading_digits(text);
    if let Some(part) = text.get(point..).and_then(|rest| rest.strip_prefix(b".")) {
        let (part, digits) = leading_digits(part);
        let length = point + 1 + digits;
        // As all servers write it.
        if digits == 6 && (1..=12).contains(&point) && matches!(text.get(length), None | Some(b' '))
        {
            *slot = Some(whole * 1_000_000 + part);
            return length;
        }
    }
    let length = word_end(text);
    *slot = parse_seconds_us(&text[..length]);
    length
}

/// `12.000345` as microseconds.
fn parse_seconds_us(value: &[u8]) -> Option<u64> {
    let (whole, part) = match memchr::memchr(b'.', value) {
        Some(at) => (&value[..at], &value[at + 1..]),
        None => (value, &[][..]),
    };
    let mut micros = parse_number(whole)?.checked_mul(1_000_000)?;
    let mut unit = 100_000;
    for digit in part {
        if !digit.is_ascii_digit() {
            return None;
        }
        micros += u64::from(digit - b'0') * unit;
        unit /= 10;
    }
    Some(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (RecordHead<'_>, &str) {
        let HeadMatch::Head(head) = read_head(text.as_bytes(), 0, true) else {
            panic!("no head in {text}")
        };
        let at = head.statement_at;
        (head, &text[at..])
    }

    #[test]
    fn mariadb() {
        let (head, statement) = read(
            "# Time: 261121  7:12:08\n# User@Host: u[v] @ localhost [127.0.0.1]\n\
             # Thread_id: 36  Schema: we ird; db  QC_hit: No\n\
             # Query_time: 1.000055  Lock_time: 0.000001  Rows_sent: 2  Rows_examined: 3\n\
             # Rows_affected: 4  Bytes_sent: 11\n#\n# explain: id\tselect_type\n#\n\
             use `we ird; db`;\nSET timestamp=1795245128;\n#hash: 1\nselect 1;\n",
        );
        assert_eq!(statement, "#hash: 1\nselect 1;\n");
        assert_eq!((head.user, head.host, head.session), (&b"v"[..], &b"localhost"[..], Some(36)));
        assert_eq!(head.schema, Some(&b"we ird; db"[..]));
        assert_eq!(head.used, Some(&b"`we ird; db`"[..]));
        assert_eq!((head.took_us, head.locked_us), (Some(1_000_055), Some(1)));
        assert_eq!((head.rows_sent, head.rows_examined), (Some(2), Some(3)));
        assert_eq!((head.rows_affected, head.bytes_sent), (Some(4), Some(11)));
        assert_eq!(head.stamp_us, Some(1_795_245_128_000_000));
    }

    #[test]
    fn mysql_with_extra_keys() {
        let (head, statement) = read(
            "# Time: 2026-11-21T07:12:09.637423Z\n\
             # User@Host: root[root] @  [10.0.0.7]  Id:    34\n\
             # Query_time: 0.000121  Lock_time: 0.000000 Rows_sent: 0  Rows_examined: 0 \
             Thread_id: 34 Errno: 1064 Killed: 0 Bytes_sent: 11  \
             Start: 2026-11-21T07:12:09.637302Z End: 2026-11-21T07:12:09.637423Z\n\
             use nl\ndb;\nSET timestamp=1795245129;\n# administrator command: Quit;\n",
        );
        assert_eq!(statement, "# administrator command: Quit;\n");
        assert_eq!((head.host, head.session), (&b"10.0.0.7"[..], Some(34)));
        assert_eq!(head.used, Some(&b"nl\ndb"[..]));
        assert_eq!(head.noted_us, Some(1_795_245_129_637_423));
        assert_eq!(head.start_us, Some(1_795_245_129_637_302));
        assert_eq!((head.errno, head.bytes_sent), (Some(1064), Some(11)));
    }

    #[test]
    fn old_ones_without_a_stamp_and_with_irregular_keys() {
        let (head, statement) = read(
            "# Time: 071015 21:43:52\n# User@Host: root[root] @ localhost []\n\
             # Thread_id: 3  Schema:  Last_errno: 0  Killed: 0\n\
             # Query_time: 2  Lock_time: 0  Rows_sent: 1  Rows_examined:5 \nuse test;\nselect 1;\n",
        );
        assert_eq!(statement, "select 1;\n");
        assert_eq!((head.schema, head.rows_examined), (Some(&b""[..]), Some(5)));
        assert_eq!((head.used, head.took_us), (Some(&b"test"[..]), Some(2_000_000)));
    }

    #[test]
    fn what_has_no_end_yet_waits_for_more() {
        let text = "# Time: 2026-11-21T07:12:09.637423Z\n# User@Host: u[u] @ h []  Id: 3\n";
        for cut in 1..text.len() {
            assert_eq!(
                read_head(&text.as_bytes()[..cut], 0, false),
                HeadMatch::Incomplete,
                "{cut}"
            );
        }
        assert_eq!(read_head(b"select 1;\n", 0, true), HeadMatch::Nothing);
    }
}
