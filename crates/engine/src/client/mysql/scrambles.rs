//! What shows a server that we know a password without sending it: one function per login method.
//! Never knows: packets, when which method is right (`auth`).

use curve25519_dalek::scalar::clamp_integer;
use curve25519_dalek::{EdwardsPoint, Scalar};
use ring::digest::{Digest, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA512, digest};

/// `mysql_native_password`: SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))); nothing for no password.
pub(super) fn scramble_native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash = |bytes: &[u8]| digest(&SHA1_FOR_LEGACY_USE_ONLY, bytes);
    if password.is_empty() {
        return Vec::new();
    }
    let once = hash(password);
    let twice = hash(once.as_ref());
    xor_digests(once, hash(&[nonce, twice.as_ref()].concat()))
}

/// `caching_sha2_password`: SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce); nothing for no password.
pub(super) fn scramble_sha256(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash = |bytes: &[u8]| digest(&SHA256, bytes);
    if password.is_empty() {
        return Vec::new();
    }
    let once = hash(password);
    let twice = hash(once.as_ref());
    xor_digests(once, hash(&[twice.as_ref(), nonce].concat()))
}

fn xor_digests(left: Digest, right: Digest) -> Vec<u8> {
    left.as_ref().iter().zip(right.as_ref()).map(|(a, b)| a ^ b).collect()
}

/// MariaDB's `client_ed25519`: an Ed25519 signature of the nonce (RFC 8032, 5.1.6), but with the password itself in place of
/// the 32 bytes of a private key. That is why `ring`, which takes 32 bytes only, can't make it.
pub(super) fn sign_ed25519(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hashed = digest(&SHA512, password);
    let (low, high) = hashed.as_ref().split_at(32);
    let mut key = [0; 32];
    key.copy_from_slice(low);
    let secret = Scalar::from_bytes_mod_order(clamp_integer(key));
    let public = EdwardsPoint::mul_base(&secret).compress();
    let once = hash_to_scalar(&[high, nonce]);
    let point = EdwardsPoint::mul_base(&once).compress();
    let challenge = hash_to_scalar(&[point.as_bytes(), public.as_bytes(), nonce]);
    let answer = challenge * secret + once;
    [*point.as_bytes(), answer.to_bytes()].concat()
}

/// SHA-512 of the parts, as a number below the order of the curve's group.
fn hash_to_scalar(parts: &[&[u8]]) -> Scalar {
    let mut wide = [0; 64];
    wide.copy_from_slice(digest(&SHA512, &parts.concat()).as_ref());
    Scalar::from_bytes_mod_order_wide(&wide)
}

#[cfg(test)]
mod tests {
    use super::super::tests::bytes_from_hex as bytes;
    use super::*;

    /// Password and nonce of a login recorded from a real client: the answers are in the tests of mysql_common too.
    #[test]
    fn hashed_passwords_are_those_of_a_real_client() {
        let nonce = b"NR3HP:qIYa_9=db?Sd{`";
        let native = bytes("09cff8855e9e705340ff2270d8fb9fadba906b70");
        assert_eq!(scramble_native(b"G!ider27", nonce), native);
        let sha256 = bytes("4f97bbfd202401c42a69deaae53bda077ed7578563c1a80eb816c82119b68d2e");
        assert_eq!(scramble_sha256(b"G!ider27", nonce), sha256);
        assert!(scramble_native(b"", nonce).is_empty() && scramble_sha256(b"", nonce).is_empty());
    }

    /// RFC 8032, 7.1, tests 1 and 3: a password of 32 bytes is a private key like any other.
    #[test]
    fn signatures_are_those_of_the_standard() {
        let secret = bytes("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
        let expected = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590\
            a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        assert_eq!(sign_ed25519(&secret, b""), bytes(expected));
        let secret = bytes("c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7");
        let expected = "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d\
            16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a";
        assert_eq!(sign_ed25519(&secret, &bytes("af82")), bytes(expected));
    }

    /// Made by the reference code of Ed25519 in Python, with a password in place of the private key.
    #[test]
    fn a_password_may_have_any_length() {
        let nonce: Vec<u8> = (0..32).collect();
        let expected = "858c3614a00239024e454c29a305dae7d7baf2bd98a955a471f4073e0f2493506977f65994\
            29bdee04c48f686bc75ced330f5a01c5a3a440f485982ac111360a";
        assert_eq!(sign_ed25519(b"geheim", &nonce), bytes(expected));
        assert_eq!(sign_ed25519(b"", &nonce).len(), 64);
    }
}
