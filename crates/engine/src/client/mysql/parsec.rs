//! MariaDB's login method `parsec` (11.6 and later): a password becomes an Ed25519 key by PBKDF2, the key signs what
//! both sides chose at random. The server keeps the public key only.

use std::num::NonZeroU32;

use ring::pbkdf2::{PBKDF2_HMAC_SHA512, derive};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::Ed25519KeyPair;

/// Bytes that the server chooses at random, and that we do.
pub(super) const NONCE: usize = 32;
/// The only way to make a key that there is: PBKDF2 with HMAC-SHA-512.
const PBKDF2: u8 = b'P';
/// Rounds of the key for 0; each step doubles them.
const ROUNDS: u32 = 1024;
/// Most steps, as the server's own clients have it: a hostile server must not keep us computing.
const MOST_STEPS: u8 = 3;

/// The answer to the server's salt: our random bytes and the signature of both sides' ones.
pub(super) fn sign_nonces(password: &[u8], nonce: &[u8], salt: &[u8]) -> Result<Vec<u8>, String> {
    let mut ours = [0; NONCE];
    SystemRandom::new().fill(&mut ours).map_err(|_| "the system gives no random bytes")?;
    sign_with(password, nonce, salt, &ours)
}

/// The same with given random bytes.
fn sign_with(
    password: &[u8],
    nonce: &[u8],
    salt: &[u8],
    ours: &[u8; NONCE],
) -> Result<Vec<u8>, String> {
    let (steps, salt) = match salt {
        [PBKDF2, steps @ 0..=MOST_STEPS, salt @ ..] if !salt.is_empty() => (*steps, salt),
        _ => return Err("the server derives parsec keys in an unknown way".into()),
    };
    let rounds = NonZeroU32::new(ROUNDS << steps).ok_or("no rounds")?;
    let mut seed = [0; 32];
    derive(PBKDF2_HMAC_SHA512, rounds, salt, password, &mut seed);
    let key = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(|e| e.to_string())?;
    let signature = key.sign(&[nonce, ours].concat());
    Ok([ours, signature.as_ref()].concat())
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, KeyPair as _, UnparsedPublicKey};

    use super::*;

    #[test]
    fn the_answer_is_a_signature_of_both_random_parts_by_the_key_of_the_password() {
        let (nonce, ours) = ([7; NONCE], [9; NONCE]);
        let salt = b"P\0abcdefghijklmnopqr";
        let answer = sign_with(b"secret", &nonce, salt, &ours).unwrap();
        assert_eq!(answer.len(), NONCE + 64);
        assert_eq!(answer[..NONCE], ours);
        let mut seed = [0; 32];
        derive(
            PBKDF2_HMAC_SHA512,
            NonZeroU32::new(1024).unwrap(),
            &salt[2..],
            b"secret",
            &mut seed,
        );
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let public = UnparsedPublicKey::new(&ED25519, key.public_key().as_ref());
        public.verify(&[nonce, ours].concat(), &answer[NONCE..]).unwrap();
        let other = sign_with(b"other", &nonce, salt, &ours).unwrap();
        assert!(public.verify(&[nonce, ours].concat(), &other[NONCE..]).is_err());
        let twice = sign_with(b"secret", &nonce, b"P\x01abcdefghijklmnopqr", &ours).unwrap();
        assert_ne!(twice, answer);
    }

    #[test]
    fn a_hostile_salt_is_refused_before_anything_is_computed() {
        for salt in [&b""[..], b"P", b"P\0", b"Q\0abc", b"P\x04abc", b"P\xffabc"] {
            assert!(sign_nonces(b"x", &[0; NONCE], salt).is_err(), "{salt:?}");
        }
    }
}
