//! Statements of others without their passwords, and without the values in them.

use super::SampleValues;

/// Words after which a statement may show a password.
const SIGNS: &[&str] = &["identified", "password", "master_user", "source_user", "auth_string"];

/// Where the first sign of a password in a line ends.
fn password_sign_end(line: &str) -> Option<usize> {
    let lower = line.to_ascii_lowercase();
    SIGNS.iter().filter_map(|s| lower.find(s).map(|at| at + s.len())).min()
}

/// Cuts what follows the first sign of a password in a line.
pub(super) fn redact_line(line: &str) -> String {
    match password_sign_end(line) {
        Some(end) if end < line.len() => format!("{} (hidden)", &line[..end]),
        _ => line.to_owned(),
    }
}

/// The same for each line of a text. A statement of several lines may show its password in a later
/// one: all lines up to the next one that no statement could be part of (empty, or of dashes) are
/// hidden too.
pub(super) fn redact_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut hiding = false;
    for part in text.split_inclusive('\n') {
        let words = part.trim_end_matches('\n');
        let ends = words.is_empty() || words.starts_with("---") || words.starts_with("===");
        hiding &= !ends;
        if hiding {
            continue;
        }
        hiding = password_sign_end(words).is_some();
        out.push_str(&redact_line(words));
        out.push_str(&part[words.len()..]);
    }
    out
}

/// A statement without its values: quoted texts and numbers become `?`. A quote that the server cut off hides the rest.
pub(super) fn hide_values(statement: &str) -> String {
    let mut out = String::with_capacity(statement.len());
    let mut rest = statement;
    let mut after_word = false;
    while let Some(first) = rest.chars().next() {
        let bytes = match first {
            '\'' | '"' => {
                out.push('?');
                quoted_bytes(rest, first)
            }
            '`' => {
                let bytes = quoted_bytes(rest, first);
                out.push_str(&rest[..bytes]);
                bytes
            }
            digit if digit.is_ascii_digit() && !after_word => {
                out.push('?');
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len())
            }
            other => {
                out.push(other);
                other.len_utf8()
            }
        };
        after_word = first.is_alphanumeric() || matches!(first, '_' | '$' | '@');
        rest = &rest[bytes..];
    }
    out
}

/// Bytes of the quoted text that begins here, with both its quotes; all that is left where it does not end.
fn quoted_bytes(text: &str, quote: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote != '`' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + c.len_utf8();
        }
    }
    text.len()
}

/// Starts of lines of an InnoDB status that end the statement above them.
const AFTER_STATEMENT: &[&str] =
    &["---", "***", "===", "TABLE LOCK", "RECORD LOCKS", "Trx ", "TRANSACTION", "mysql tables"];

/// Hides the values in the statements and rows of an InnoDB status.
pub(super) fn hide_innodb_values(values: &mut SampleValues) {
    if let SampleValues::Text(text) = values {
        *text = hide_status_values(text);
    }
}

/// The same for its text: statements stand below the line of their thread, fields of rows as `hex ..; asc ..`.
pub(super) fn hide_status_values(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut in_statement = false;
    for part in text.split_inclusive('\n') {
        let line = part.trim_end_matches('\n');
        let ends = line.is_empty() || AFTER_STATEMENT.iter().any(|start| line.starts_with(start));
        in_statement &= !ends;
        match line.split_once("; hex ") {
            Some((field, _)) => out.push_str(&format!("{field}; hex (hidden)")),
            None if in_statement => out.push_str(&hide_values(line)),
            None => out.push_str(line),
        }
        out.push_str(&part[line.len()..]);
        in_statement |= line.contains(" thread id ") && line.contains("query id ");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn passwords_are_cut() {
        assert_eq!(
            redact_line("create user a IDENTIFIED BY 'x'"),
            "create user a IDENTIFIED (hidden)"
        );
        assert_eq!(redact_line("SET PASSWORD = 'x'"), "SET PASSWORD (hidden)");
        assert_eq!(redact_line("select 1"), "select 1");
        let many = "Query 7\nalter user u identified\nby 'x'\n---TRANSACTION 1\nselect 1\n";
        let safe = "Query 7\nalter user u identified\nby 'x'\n---TRANSACTION 1\nselect 1\n";
        assert_eq!(redact_text(many), safe.replace("by 'x'\n", ""));
        let two = "alter user u identified with x\nby 'x'\n\nok\n";
        assert_eq!(redact_text(two), "alter user u identified (hidden)\n\nok\n");
    }

    #[test]
    fn an_innodb_status_stays_as_it_is() {
        for raw in [
            include_str!("../../../../tests/data/probe/mariadb-10.11-innodb.txt"),
            include_str!("../../../../tests/data/probe/mysql-9.7-innodb.txt"),
        ] {
            assert_eq!(redact_text(raw), raw);
            assert_eq!(hide_status_values(raw), raw);
        }
    }

    #[test]
    fn values_are_hidden_and_names_stay() {
        for (raw, hidden) in [
            (
                "select * from t1 where a='x''y' and b=-12.5e3",
                "select * from t1 where a=? and b=-?",
            ),
            (r#"update `t 'q'` set c2="a\"b", d=0xFF"#, "update `t 'q'` set c2=?, d=?"),
            ("insert into t values ('cut", "insert into t values (?"),
            ("select @v1, x'4D', '\\\\', 'é' from a.b2", "select @v1, x?, ?, ? from a.b2"),
        ] {
            assert_eq!(hide_values(raw), hidden);
        }
        let raw = [
            "---TRANSACTION 421, ACTIVE 3 sec",
            "MySQL thread id 8, OS thread handle 14, query id 99 localhost root updating",
            "update t set a='secret'",
            "where id = 7",
            "------- TRX HAS BEEN WAITING 3 SEC",
            " 0: len 4; hex 80000007; asc     ;;",
            "RECORD LOCKS space id 5 page no 3",
        ];
        let raw = &raw.join("\n");
        let hidden = hide_status_values(raw);
        assert!(hidden.contains("update t set a=?\nwhere id = ?\n-------"), "{hidden}");
        assert!(hidden.contains(" 0: len 4; hex (hidden)\nRECORD LOCKS space id 5"), "{hidden}");
        assert!(hidden.contains("query id 99 localhost"), "{hidden}");
    }

    proptest! {
        #[test]
        fn any_text_is_taken(raw in "\\PC*(identified|PASSWORD)?\\PC*\n?\\PC*") {
            let _ = redact_text(&raw);
            let _ = hide_values(&raw);
            let _ = hide_status_values(&raw);
        }
    }
}
