//! Statements of others without their passwords.

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
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(raw in "\\PC*(identified|PASSWORD)?\\PC*\n?\\PC*") {
            let _ = redact_text(&raw);
        }
    }
}
