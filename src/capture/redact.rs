//! Statements without their secrets. MariaDB writes passwords into its logs as they were typed.

use super::digest::quoted;

/// Words behind which a quoted text is a secret.
const SECRET: &[&str] = &[
    "identified by",
    "identified with",
    "password",
    "authentication_string",
    "aes_encrypt",
    "aes_decrypt",
    "ssl_passphrase",
];
/// What stands in place of a secret.
const HIDDEN: &str = "'<secret>'";
/// So far behind such a word a text may stand: `password = password('x')`, `with ed25519 using password('x')`.
const NEAR: usize = 48;

/// A statement as text: secrets hidden, bytes that are no text replaced, and cut to `longest` bytes.
pub fn redacted(statement: &[u8], longest: usize) -> String {
    let cut = &statement[..statement.len().min(longest)];
    let text = String::from_utf8_lossy(cut);
    let mut out = hide(&text);
    if statement.len() > longest {
        out.push_str(" ...");
    }
    out
}

fn hide(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if !SECRET.iter().any(|word| lower.contains(word)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find(['\'', '"']) {
        let open = at + found;
        out.push_str(&text[at..open]);
        let rest = &text.as_bytes()[open..];
        let close = open + quoted(rest, rest[0]);
        let before = &lower[floor(&lower, open.saturating_sub(NEAR))..open];
        if SECRET.iter().any(|word| before.contains(word)) {
            out.push_str(HIDDEN);
        } else {
            out.push_str(&text[open..close]);
        }
        at = close;
    }
    out.push_str(&text[at..]);
    out
}

/// The nearest place at or before `at` where a letter begins.
fn floor(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        redacted(text.as_bytes(), 1_000)
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        for text in [
            "CREATE USER u@h IDENTIFIED BY 'hunter2'",
            "alter user u identified with ed25519 using password(\"hunter2\")",
            "SET PASSWORD FOR u = PASSWORD('hun''ter2')",
            "set password = 'hunter2'",
            "CHANGE MASTER TO MASTER_HOST='h', MASTER_PASSWORD='hunter2'",
            "grant select on *.* to u identified by 'hunter2",
            "select aes_encrypt(a, 'hunter2') from t",
        ] {
            let hidden = of(text);
            assert!(!hidden.contains("hunter2") && !hidden.contains("ter2"), "{hidden}");
            assert!(hidden.contains(HIDDEN), "{hidden}");
        }
    }

    #[test]
    fn other_texts_stay() {
        assert_eq!(of("select 'a', \"b\" from `c'd`"), "select 'a', \"b\" from `c'd`");
        let long = "x".repeat(2_000);
        assert_eq!(of(&long).len(), 1_004);
        assert_eq!(of("é identified by 'ü'"), "é identified by '<secret>'");
    }

    #[test]
    fn a_cut_secret_is_hidden_too() {
        assert_eq!(redacted(b"identified by 'hunter2'", 18), "identified by '<secret>' ...");
    }
}
