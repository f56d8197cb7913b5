//! Statements without their secrets. MariaDB writes passwords into its logs as they were typed.

use std::borrow::Cow;

use memchr::memmem;

use super::digest::quoted;
use super::lexer::is_dash_comment;

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
/// First words of statements about accounts and other servers: whatever text follows a word above is a secret there.
const ACCOUNTS: &[&str] = &["set", "alter", "create", "grant", "change", "start"];
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
    String::from_utf8_lossy(&without_secrets(text.as_bytes())).into_owned()
}

/// A statement with its secrets hidden, other bytes as they are.
pub(super) fn without_secrets(statement: &[u8]) -> Cow<'_, [u8]> {
    let lower = statement.to_ascii_lowercase();
    let found = SECRET.iter().filter_map(|word| memmem::find(&lower, word.as_bytes())).min();
    let Some(first) = found else { return Cow::Borrowed(statement) };
    let verb = verb(&lower);
    let is_account = ACCOUNTS.iter().any(|word| verb == word.as_bytes());
    let mut out = Vec::with_capacity(statement.len());
    let mut at = 0;
    while let Some(step) = statement[at..].iter().position(|b| b"'\"`#-/".contains(b)) {
        let open = at + step;
        out.extend_from_slice(&statement[at..open]);
        let rest = &statement[open..];
        let (length, is_text) = token(rest);
        let near = &lower[open.saturating_sub(NEAR)..open];
        let is_near = || SECRET.iter().any(|word| memmem::find(near, word.as_bytes()).is_some());
        if is_text && open > first && (is_account || is_near()) {
            out.extend_from_slice(HIDDEN.as_bytes());
        } else {
            out.extend_from_slice(&rest[..length]);
        }
        at = open + length;
    }
    out.extend_from_slice(&statement[at..]);
    Cow::Owned(out)
}

/// The first word of a statement.
fn verb(lower: &[u8]) -> &[u8] {
    let mut rest = lower.trim_ascii_start();
    while rest.first().is_some_and(|b| b"#-/".contains(b)) {
        let (length, _) = token(rest);
        rest = rest[length..].trim_ascii_start();
        if let Some(code) = rest.strip_prefix(b"*!") {
            let digits = code.iter().take_while(|b| b.is_ascii_digit()).count();
            rest = code[digits..].trim_ascii_start();
        }
    }
    let length = rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
    &rest[..length]
}

/// Length of what begins with a quote or may begin a comment, and whether it is a text. What a server runs of a comment
/// is code.
fn token(rest: &[u8]) -> (usize, bool) {
    let to = |found: Option<usize>, more: usize| found.map_or(rest.len(), |at| at + more);
    match rest[0] {
        b'\'' | b'"' => (quoted(rest, rest[0]), true),
        b'`' => (to(memchr::memchr(b'`', &rest[1..]), 2), false),
        b'#' => (to(memchr::memchr(b'\n', rest), 1), false),
        b'-' if is_dash_comment(rest) => (to(memchr::memchr(b'\n', rest), 1), false),
        b'/' if rest.starts_with(b"/*") && !matches!(rest.get(2), Some(b'!' | b'M')) => {
            (to(memmem::find(&rest[2..], b"*/"), 4), false)
        }
        _ => (1, false),
    }
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
            "CHANGE REPLICATION SOURCE TO SOURCE_USER='u', SOURCE_PASSWORD = \"hunter2\"",
            "/* it's */ SET PASSWORD = 'hunter2'",
            "-- don't\nset password = 'hunter2'",
            "/*!50000 SET PASSWORD = 'hunter2' */",
            "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (USER 'u', PASSWORD 'hunter2')",
            "SET PASSWORD FOR 'someone with a long name'@'a.host.with.a.long.name' = 'hunter2'",
            "alter user u identified by '1' replace 'hunter2'",
            "START REPLICA USER='u' PASSWORD='hunter2'",
            "update `it's` set password = 'hunter2'",
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
        for text in ["select 'password' from t", "insert into t values ('\\\\', 'x') -- password"] {
            assert_eq!(without_secrets(text.as_bytes()), text.as_bytes());
        }
        assert_eq!(&*without_secrets(b"\xff password='x' \xfe"), b"\xff password='<secret>' \xfe");
        assert_eq!(of("é identified by 'ü'"), "é identified by '<secret>'");
    }

    #[test]
    fn a_cut_secret_is_hidden_too() {
        assert_eq!(redacted(b"identified by 'hunter2'", 18), "identified by '<secret>' ...");
    }
}
