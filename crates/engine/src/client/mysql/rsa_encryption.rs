//! A password under the server's RSA key, as `sha256_password` and `caching_sha2_password` send it where anyone could listen:
//! RSAES-OAEP of PKCS #1 2.2 (RFC 8017, 7.1.1) with SHA-1, MGF1 and no label.
//! Never knows: when a key may be trusted (`auth`).

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA1_OUTPUT_LEN, digest};
use ring::rand::{SecureRandom as _, SystemRandom};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

use super::wire::packet::FieldReader;

/// Bytes that the padding needs: two digests, a zero, a one.
const PADDING: usize = 2 * SHA1_OUTPUT_LEN + 2;

/// The password mixed with the nonce, under the server's key, which is given in PEM.
pub(super) fn encrypt_password(
    password: &[u8],
    nonce: &[u8],
    key: &[u8],
) -> Result<Vec<u8>, String> {
    if nonce.is_empty() {
        return Err("the server's nonce is empty".into());
    }
    let key = parse_rsa_key(key).ok_or("the server's RSA key can't be read")?;
    if password.len() + PADDING > key.bytes {
        return Err("the password is too long for the server's RSA key".into());
    }
    let mixed: Vec<u8> =
        password.iter().zip(nonce.iter().cycle()).map(|(byte, random)| byte ^ random).collect();
    let mut seed = [0; SHA1_OUTPUT_LEN];
    SystemRandom::new().fill(&mut seed).map_err(|_| "the system gives no random bytes")?;
    Ok(key.raise(&pad_message(&mixed, &seed, key.bytes)))
}

/// The message padded to the length of the key, by the given random bytes; it must be shorter by `PADDING`.
fn pad_message(message: &[u8], seed: &[u8; SHA1_OUTPUT_LEN], length: usize) -> Vec<u8> {
    let mut padded = vec![0; length];
    let (head, data) = padded.split_at_mut(1 + SHA1_OUTPUT_LEN);
    head[1..].copy_from_slice(seed);
    data[..SHA1_OUTPUT_LEN].copy_from_slice(digest(&SHA1_FOR_LEGACY_USE_ONLY, b"").as_ref());
    let (filler, end) = data.split_at_mut(data.len() - message.len());
    filler[filler.len() - 1] = 1;
    end.copy_from_slice(message);
    apply_mask(data, &head[1..]);
    apply_mask(&mut head[1..], data);
    padded
}

/// Mixes bytes with MGF1 of a seed.
fn apply_mask(bytes: &mut [u8], seed: &[u8]) {
    for (counter, part) in (0_u32..).zip(bytes.chunks_mut(SHA1_OUTPUT_LEN)) {
        let mask = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[seed, &counter.to_be_bytes()].concat());
        part.iter_mut().zip(mask.as_ref()).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// Modulus and exponent.
struct RsaPublicKey {
    modulus: BoxedMontyParams,
    exponent: BoxedUint,
    /// Length of the modulus and of all that is encrypted.
    bytes: usize,
}

impl RsaPublicKey {
    /// Numbers in big-endian bytes, the first of which is not 0; `None` if the modulus is even, which no key's is.
    fn from_numbers(modulus: &[u8], exponent: &[u8]) -> Option<RsaPublicKey> {
        let number = |bytes: &[u8]| {
            let bits = u32::try_from(bytes.len().next_multiple_of(8) * 8).ok()?;
            BoxedUint::from_be_slice(bytes, bits).ok()
        };
        let odd = Option::from(Odd::new(number(modulus)?))?;
        Some(RsaPublicKey {
            modulus: BoxedMontyParams::new_vartime(odd),
            exponent: number(exponent)?,
            bytes: modulus.len(),
        })
    }

    /// The message, as a number below the modulus, to the power of the exponent.
    fn raise(&self, message: &[u8]) -> Vec<u8> {
        let precision = self.modulus.bits_precision();
        let number = BoxedUint::from_be_slice(message, precision)
            .expect("a padded message is as long as the modulus");
        let raised = BoxedMontyForm::new(number, self.modulus.clone()).pow(&self.exponent);
        let bytes = raised.retrieve().to_be_bytes();
        bytes[bytes.len() - self.bytes..].to_vec()
    }
}

/// Modulus and exponent of an RSA key in PEM, if they are of a sound size.
fn parse_rsa_key(pem: &[u8]) -> Option<RsaPublicKey> {
    let der = SubjectPublicKeyInfoDer::from_pem_slice(pem).ok()?;
    let mut outer = FieldReader(read_der_element(&mut FieldReader(&der), 0x30)?);
    read_der_element(&mut outer, 0x30)?;
    let bits = read_der_element(&mut outer, 0x03)?.strip_prefix(&[0])?;
    let mut numbers = FieldReader(read_der_element(&mut FieldReader(bits), 0x30)?);
    let modulus = read_der_element(&mut numbers, 0x02)?;
    let modulus = modulus.strip_prefix(&[0]).unwrap_or(modulus);
    let exponent = read_der_element(&mut numbers, 0x02)?;
    let fits = (64..=1024).contains(&modulus.len()) && modulus[0] >= 0x80;
    let fits = fits && (1..=8).contains(&exponent.len());
    if !fits {
        return None;
    }
    RsaPublicKey::from_numbers(modulus, exponent)
}

/// One element of DER with the given tag.
fn read_der_element<'a>(fields: &mut FieldReader<'a>, tag: u8) -> Option<&'a [u8]> {
    if fields.read_u8().ok()? != tag {
        return None;
    }
    let length = match fields.read_u8().ok()? {
        short @ 0..=0x7F => usize::from(short),
        long @ 0x81..=0x82 => {
            let bytes = fields.read_bytes(usize::from(long & 0x7F)).ok()?;
            bytes.iter().fold(0, |n, b| n << 8 | usize::from(*b))
        }
        _ => return None,
    };
    fields.read_bytes(length).ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::bytes_from_hex as bytes;
    use super::*;

    /// The example of RSA Laboratories for RSAES-OAEP (`pkcs-1v2-1-vec`, its first document).
    #[test]
    fn the_example_of_the_standard() {
        let modulus = bytes(concat!(
            "bbf82f090682ce9c2338ac2b9da871f7368d07eed41043a440d6b6f07454f51f",
            "b8dfbaaf035c02ab61ea48ceeb6fcd4876ed520d60e1ec4619719d8a5b8b807f",
            "afb8e0a3dfc737723ee6b4b7d93a2584ee6a649d060953748834b2454598394e",
            "e0aab12d7b61a51f527a9a41f6c1687fe2537298ca2a8f5946f8e5fd091dbdcb",
        ));
        let message = bytes("d436e99569fd32a7c8a05bbc90d32c49");
        let seed = bytes("aafd12f659cae63489b479e5076ddec2f06cb58f");
        let padded = pad_message(&message, &seed.try_into().unwrap(), modulus.len());
        let key = RsaPublicKey::from_numbers(&modulus, &[0x11]).unwrap();
        let expected = bytes(concat!(
            "1253e04dc0a5397bb44a7ab87e9bf2a039a33d1e996fc82a94ccd30074c95df7",
            "63722017069e5268da5d1c0b4f872cf653c11df82314a67968dfeae28def04bb",
            "6d84b1c31d654a1970e5783bd6eb96a024c2ca2f4a90fe9f2ef5c9c140e5bb48",
            "da9536ad8700c84fc9130adea74e558d51a74ddf85d8b50de96838d6063e0955",
        ));
        assert_eq!(key.raise(&padded), expected);
    }

    #[test]
    fn padding_can_be_taken_off_again_at_every_length() {
        let seed = [7; SHA1_OUTPUT_LEN];
        for length in [64, 65, 127, 128, 256, 512] {
            for room in [0, 1, length - PADDING] {
                let message = vec![0xA5; length - PADDING - room];
                let mut padded = pad_message(&message, &seed, length);
                assert_eq!((padded.len(), padded[0]), (length, 0));
                let (head, data) = padded.split_at_mut(1 + SHA1_OUTPUT_LEN);
                apply_mask(&mut head[1..], data);
                assert_eq!(head[1..], seed);
                apply_mask(data, &head[1..]);
                let nothing = bytes("da39a3ee5e6b4b0d3255bfef95601890afd80709");
                let expected = [&nothing[..], &vec![0; room], &[1], &message].concat();
                assert_eq!(data, expected);
            }
        }
    }

    #[test]
    fn moduli_of_any_length_keep_theirs_and_even_ones_are_refused() {
        for length in 64..=80 {
            let mut modulus = vec![0xFF; length];
            let key = RsaPublicKey::from_numbers(&modulus, &[1]).unwrap();
            let message = [&[0], &vec![9; length - 1][..]].concat();
            assert_eq!(key.raise(&message), message, "to the power of 1");
            let key = RsaPublicKey::from_numbers(&modulus, &[2]).unwrap();
            let small = [&vec![0; length - 1][..], &[12]].concat();
            assert_eq!(key.raise(&small)[length - 2..], [0, 144]);
            modulus[length - 1] = 0xFE;
            assert!(RsaPublicKey::from_numbers(&modulus, &[3]).is_none());
        }
    }
}
