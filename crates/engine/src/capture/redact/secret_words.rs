//! Words that say that a secret may be near. Found in one pass over the bytes, whatever stands around them.
//! To add one: a line in `SIGNS`, and its spelling in `tests.rs`.

use std::ops::Range;

/// What must stand beside a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum WordBoundary {
    /// Anything: it may be a part of a name.
    None,
    /// No letter or digit; an underscore may, as in `user_pass`.
    Word,
    /// Nothing of a name.
    Name,
}

/// Words of at least three bytes, in small letters.
const SIGNS: &[(&[u8], WordBoundary)] = &[
    (b"identified", WordBoundary::None),
    (b"password", WordBoundary::None),
    (b"passwd", WordBoundary::None),
    (b"passphrase", WordBoundary::None),
    (b"passcode", WordBoundary::None),
    (b"pass", WordBoundary::Word),
    (b"pwd", WordBoundary::Word),
    (b"auth_string", WordBoundary::None),
    (b"authentication_string", WordBoundary::None),
    (b"credential", WordBoundary::None),
    (b"secret", WordBoundary::None),
    (b"private_key", WordBoundary::None),
    (b"priv_key", WordBoundary::None),
    // Functions: AES_ENCRYPT, DES_DECRYPT, ENCRYPT, ASYMMETRIC_ENCRYPT ..
    (b"crypt", WordBoundary::None),
    (b"asymmetric_", WordBoundary::None),
    (b"keyring_", WordBoundary::None),
    (b"encode", WordBoundary::Name),
    (b"decode", WordBoundary::Name),
    (b"kdf", WordBoundary::Name),
    // CONNECTION='mysql://user:password@host/..' of FEDERATED tables.
    (b"connection", WordBoundary::Name),
    (b"wsrep_", WordBoundary::None),
];
/// Words of statements whose text is put together by others, so that no word in it need be whole.
const COMPOSED: &[&[u8]] = &[b"prepare", b"immediate"];
/// Begins a URL's authority, in which a password may stand.
const AUTHORITY: &[u8] = b"://";
/// Names that are none of a secret, although they hold a sign.
const HARMLESS: &[&[u8]] = &[
    b"default_password_lifetime",
    b"disconnect_on_expired_password",
    b"old_passwords",
    b"password_expired",
    b"password_history",
    b"password_last_changed",
    b"password_lifetime",
    b"password_reuse_interval",
    b"wsrep_causal_reads",
    b"wsrep_on",
    b"wsrep_osu_method",
    b"wsrep_retry_autocommit",
    b"wsrep_sync_wait",
    b"wsrep_trx_fragment_size",
    b"wsrep_trx_fragment_unit",
];

/// For each of the first three bytes, which signs may have it there, by their place modulo 8.
const MASKS: [[u8; 256]; 3] = {
    let mut masks = [[0; 256]; 3];
    let mut sign = 0;
    while sign < SIGNS.len() + COMPOSED.len() + 1 {
        let word = if sign < SIGNS.len() {
            SIGNS[sign].0
        } else if sign < SIGNS.len() + COMPOSED.len() {
            COMPOSED[sign - SIGNS.len()]
        } else {
            AUTHORITY
        };
        let mut at = 0;
        while at < 3 {
            masks[at][word[at] as usize] |= 1 << (sign % 8);
            masks[at][word[at].to_ascii_uppercase() as usize] |= 1 << (sign % 8);
            at += 1;
        }
        sign += 1;
    }
    masks
};

/// The first sign in a text.
pub(super) fn find_secret_word(text: &[u8]) -> Option<Range<usize>> {
    candidate_offsets(text).find_map(|at| secret_word_at(text, at))
}

/// Whether a statement is to be read: it holds a sign, or is one whose text may be put together of pieces.
pub(super) fn may_hold_secret(statement: &[u8]) -> bool {
    let is_composed =
        |at| COMPOSED.iter().any(|word| is_at(statement, at, word, WordBoundary::Name));
    candidate_offsets(statement)
        .any(|at| secret_word_at(statement, at).is_some() || is_composed(at))
}

/// Places where a sign may begin, by its first bytes.
fn candidate_offsets(text: &[u8]) -> impl Iterator<Item = usize> {
    text.windows(3).enumerate().filter_map(|(at, window)| {
        let [a, b, c] = [0, 1, 2].map(|nth| MASKS[nth][usize::from(window[nth])]);
        (a & b & c != 0).then_some(at)
    })
}

fn secret_word_at(text: &[u8], at: usize) -> Option<Range<usize>> {
    let here = SIGNS.iter().find(|(word, border)| is_at(text, at, word, *border));
    match here {
        Some((word, _)) => Some(at..at + word.len()),
        None => holds_login(&text[at..]).then_some(at..at + AUTHORITY.len()),
    }
}

fn is_at(text: &[u8], at: usize, word: &[u8], border: WordBoundary) -> bool {
    let end = at + word.len();
    let is_same = text.get(at..end).is_some_and(|here| here.eq_ignore_ascii_case(word));
    let is_free = |byte: Option<&u8>| match border {
        WordBoundary::None => true,
        WordBoundary::Word => byte.is_none_or(|b| !b.is_ascii_alphanumeric()),
        WordBoundary::Name => {
            byte.is_none_or(|b| !b.is_ascii_alphanumeric() && !matches!(b, b'_' | b'$'))
        }
    };
    is_same
        && is_free(at.checked_sub(1).and_then(|before| text.get(before)))
        && is_free(text.get(end))
}

/// Whether `://user:password@` stands there.
fn holds_login(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(AUTHORITY) else { return false };
    let is_end = |b: &u8| matches!(b, b'/' | b'?' | b'#' | b'\'' | b'"') || b.is_ascii_whitespace();
    let authority = &rest[..rest.iter().position(is_end).unwrap_or(rest.len())];
    // A password may hold the signs that end an authority.
    let more = &rest[..rest.iter().position(|b| b"'\"".contains(b)).unwrap_or(rest.len())];
    let login = memchr::memchr(b'@', authority).map(|at| &authority[..at]).or_else(|| {
        let at = memchr::memchr(b'@', more)?;
        memchr::memchr(b':', authority).map(|_| &more[..at])
    });
    login.is_some_and(|login| login.contains(&b':'))
}

/// Whether a name, without its quotes, is that of something secret, or of a function that takes a secret.
pub(super) fn is_secret_name(name: &[u8]) -> bool {
    let is_harmless = || HARMLESS.iter().any(|known| name.eq_ignore_ascii_case(known));
    find_secret_word(name).is_some() && !is_harmless()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_found_where_they_stand() {
        let of = |text: &str| find_secret_word(text.as_bytes()).map(|range| text[range].to_owned());
        assert_eq!(of("select 1").as_deref(), None);
        assert_eq!(of("a PassWord b").as_deref(), Some("PassWord"));
        assert_eq!(of("user_pass").as_deref(), Some("pass"));
        for text in
            ["compass", "passenger", "connection_id()", "collation_connection", "pas", "decoder"]
        {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(of("connection='x'").as_deref(), Some("connection"));
        assert_eq!(of("'mysql://u:pw@h/d'").as_deref(), Some("://"));
        assert_eq!(of("'mysql://u:p/w@h/d'").as_deref(), Some("://"));
        for text in ["'http://a.b/c'", "'http://a.b:80/c'", "'http://a.b/c@d'", "http://u@h/"] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn every_sign_can_be_found() {
        for (word, _) in SIGNS {
            assert!(
                word.len() >= 3 && find_secret_word(word).is_some(),
                "{}",
                String::from_utf8_lossy(word)
            );
            assert!(!word.iter().any(u8::is_ascii_uppercase));
        }
        for name in HARMLESS {
            assert!(
                find_secret_word(name).is_some() && !is_secret_name(name),
                "it is harmless without us"
            );
        }
    }
}
