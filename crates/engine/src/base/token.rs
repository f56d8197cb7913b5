//! Words that nobody can guess, and digests as the web writes them.

use std::io;

use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};

use super::Secret;

/// Random bytes of a token: nobody guesses 128 bits.
const TOKEN_BYTES: usize = 16;
/// The letters of base64 (RFC 4648).
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A new token, hexadecimal.
///
/// # Errors
/// When the system gives no random bytes.
pub fn random_token() -> io::Result<Secret> {
    let mut bytes = [0; TOKEN_BYTES];
    let why = |_| io::Error::other("the system gives no random bytes");
    SystemRandom::new().fill(&mut bytes).map_err(why)?;
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Secret::new(digits.concat()))
}

/// The SHA-256 of a text in base64, as a content security policy names it.
pub fn sha256_base64(text: &str) -> String {
    encode_base64(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

/// Base64 with padding (RFC 4648).
pub fn encode_base64(bytes: &[u8]) -> String {
    let mut out = String::new();
    for three in bytes.chunks(3) {
        let at = |n: usize| u32::from(three.get(n).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for n in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * n) & 63) as usize];
            out.push(if n <= three.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        for (text, base64) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode_base64(text.as_bytes()), base64);
        }
        assert_eq!(sha256_base64(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        let (one, other) = (random_token().unwrap(), random_token().unwrap());
        assert!(one.reveal().len() == 32 && one != other);
    }
}
