//! The login path file of the mysql clients, `~/.mylogin.cnf`: an option file under a thin veil.
//!
//! Four unused bytes, twenty key bytes that fold by XOR into an AES-128 key, then line by line: the length
//! (32 bits, little-endian) and the line, AES-128-ECB with PKCS #7 padding.

use aes::Aes128;
use aes::cipher::{Array, BlockCipherDecrypt, KeyInit};

/// Unused bytes at the start.
const UNUSED: usize = 4;
/// Key bytes after them.
const KEY: usize = 20;
/// Bytes of a cipher block.
const BLOCK: usize = 16;
/// Longest line that any client writes, with room to spare.
const LONGEST: usize = 64 << 10;

/// The option file inside.
///
/// # Errors
/// Why the bytes are no login path file.
pub(super) fn decode_login_file(bytes: &[u8]) -> Result<String, String> {
    let short = || "it is truncated".to_owned();
    let key_bytes = bytes.get(UNUSED..UNUSED + KEY).ok_or_else(short)?;
    let mut key = [0; BLOCK];
    for (i, byte) in key_bytes.iter().enumerate() {
        key[i % BLOCK] ^= byte;
    }
    let cipher = Aes128::new(&Array::from(key));
    let mut text = Vec::new();
    let mut rest = &bytes[UNUSED + KEY..];
    while !rest.is_empty() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let length = u32::from_le_bytes(*length) as usize;
        if length == 0 || length % BLOCK != 0 || length > LONGEST {
            return Err("it is not a login path file".to_owned());
        }
        let line = after.get(..length).ok_or_else(short)?;
        text.extend(decode_line(&cipher, line)?);
        rest = &after[length..];
    }
    String::from_utf8(text).map_err(|_| "it does not contain text".to_owned())
}

fn decode_line(cipher: &Aes128, line: &[u8]) -> Result<Vec<u8>, String> {
    let mut plain = Vec::with_capacity(line.len());
    for chunk in line.chunks_exact(BLOCK) {
        let mut block = Array::from(<[u8; BLOCK]>::try_from(chunk).expect("chunks are exact"));
        cipher.decrypt_block(&mut block);
        plain.extend_from_slice(&block);
    }
    let pad = usize::from(plain.last().copied().unwrap_or(0));
    let sound = (1..=BLOCK).contains(&pad)
        && plain[plain.len() - pad..].iter().all(|b| usize::from(*b) == pad);
    if !sound {
        return Err("its key does not fit its lines".to_owned());
    }
    plain.truncate(plain.len() - pad);
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Made with `openssl enc -aes-128-ecb`, not with our own code.
    const FILE: &[u8] = include_bytes!("../../tests/data/login/mylogin.cnf");

    #[test]
    fn a_file_reads_as_it_was_written() {
        let text = decode_login_file(FILE).unwrap();
        assert_eq!(
            text,
            "[client]\nuser = \"anna\"\npassword = \"s3cr#t \\\"x\\\"\"\n\
             [replica]\nhost = \"db2.example\"\nport = 3307\n"
        );
    }

    #[test]
    fn a_damaged_file_is_refused() {
        assert!(decode_login_file(&FILE[..10]).is_err());
        assert!(decode_login_file(&FILE[..FILE.len() - 1]).is_err());
        let mut other_key = FILE.to_vec();
        other_key[5] ^= 1;
        assert!(decode_login_file(&other_key).is_err());
        assert!(decode_login_file(b"[client]\nuser=root\npassword=in plain text\n").is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode_login_file(&bytes);
        }
    }
}
