//! Keys of NATS (nkeys): an Ed25519 key pair whose halves are written in base32 with a checksum. The server knows the public
//! halves only and has its visitors sign a nonce. The form is that of the Go module github.com/nats-io/nkeys.

use std::io;
use std::path::Path;

use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{Ed25519KeyPair, KeyPair as _};

use super::NatsError;
use crate::base::Secret;

/// First byte of what begins with `S`: a seed.
const SEED: u8 = 18 << 3;
/// First byte of what begins with `U`: a user.
const USER: u8 = 20 << 3;
/// Bytes of a key.
const KEY_BYTES: usize = 32;
/// The letters of base32 (RFC 4648).
const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The secret half of a user's key.
#[derive(Debug)]
pub struct NkeySeed {
    pair: Ed25519KeyPair,
    text: Secret,
}

impl NkeySeed {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> io::Result<NkeySeed> {
        let why = |_| io::Error::other("the system gives no random bytes");
        let mut key = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut key).map_err(why)?;
        let mut bytes = vec![SEED | USER >> 5, (USER & 31) << 3];
        bytes.extend_from_slice(&key);
        NkeySeed::parse(&with_checksum(bytes)).map_err(io::Error::other)
    }

    /// Reads the seed of a user; it begins with `SU`.
    ///
    /// # Errors
    /// What is wrong with it, without its text.
    pub fn parse(text: &str) -> Result<NkeySeed, &'static str> {
        let bytes = decode_base32(text).ok_or("it is not base32")?;
        let body = bytes.len().checked_sub(2).map(|at| bytes.split_at(at));
        let (body, sum) = body.ok_or("it is too short")?;
        if checksum(body).to_le_bytes() != sum {
            return Err("its checksum is wrong: a letter is missing or another");
        }
        let [first, second, key @ ..] = body else { return Err("it is too short") };
        // The kind of key lies across the two bytes.
        let kinds = (first & 248, (first & 7) << 5 | (second & 248) >> 3);
        if kinds != (SEED, USER) || key.len() != KEY_BYTES {
            return Err("it is not the seed of a user, which begins with SU");
        }
        let pair = Ed25519KeyPair::from_seed_unchecked(key).map_err(|_| "it is not a key")?;
        Ok(NkeySeed { pair, text: Secret::new(text) })
    }

    /// Reads the seed in a file: its line that begins with `SU`.
    ///
    /// # Errors
    /// When others than its owner may read the file, or no seed is in it.
    pub fn read_file(path: &Path) -> Result<NkeySeed, NatsError> {
        use std::os::unix::fs::MetadataExt as _;
        let fail = |why: &dyn std::fmt::Display| {
            NatsError::Setup(format!("key file {}: {why}", path.display()))
        };
        let meta = std::fs::metadata(path).map_err(|e| fail(&e))?;
        if meta.mode() & 0o077 != 0 {
            return Err(fail(&"others may read it; chmod 600 it"));
        }
        let text = std::fs::read_to_string(path).map_err(|e| fail(&e))?;
        let line = text.lines().map(str::trim).find(|line| line.starts_with("SU"));
        let line = line.ok_or_else(|| fail(&"no line of it begins with SU, as seeds do"))?;
        NkeySeed::parse(line).map_err(|why| fail(&why))
    }

    /// The seed itself, for its file only.
    pub fn seed_text(&self) -> &Secret {
        &self.text
    }

    /// The public half, as in `nats.conf`; it begins with `U`.
    pub fn public_key(&self) -> String {
        let mut bytes = vec![USER];
        bytes.extend_from_slice(self.pair.public_key().as_ref());
        with_checksum(bytes)
    }

    /// The signature of a nonce, base64 for URLs without padding.
    pub(super) fn sign_nonce(&self, nonce: &str) -> String {
        let signature = self.pair.sign(nonce.as_bytes());
        let letters = crate::base::token::encode_base64(signature.as_ref());
        letters.trim_end_matches('=').replace('+', "-").replace('/', "_")
    }
}

fn with_checksum(mut bytes: Vec<u8>) -> String {
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    encode_base32(&bytes)
}

/// CRC-16 of XMODEM: polynomial 0x1021, from 0.
fn checksum(bytes: &[u8]) -> u16 {
    let step = |sum: u16| if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 };
    bytes.iter().fold(0, |sum, byte| (0..8).fold(sum ^ u16::from(*byte) << 8, |sum, _| step(sum)))
}

fn encode_base32(bytes: &[u8]) -> String {
    let (mut out, mut bits, mut held) = (String::new(), 0_u32, 0);
    for byte in bytes {
        bits = bits << 8 | u32::from(*byte);
        held += 8;
        while held >= 5 {
            held -= 5;
            out.push(char::from(LETTERS[(bits >> held & 31) as usize]));
        }
    }
    if held > 0 {
        out.push(char::from(LETTERS[(bits << (5 - held) & 31) as usize]));
    }
    out
}

fn decode_base32(text: &str) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut held) = (Vec::new(), 0_u32, 0);
    for letter in text.bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        bits = bits << 5 | value as u32;
        held += 5;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}
