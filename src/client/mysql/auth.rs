//! What to answer when a server asks who we are: one arm per login method, and where a password may go.
//! Never knows: sockets, packets' framing, how MariaDB's parsec is computed (`parsec`).
//! To add a method: an arm in `first_answer`, and one in `next_answer` if the server may ask further.

use mysql_common::crypto::rsa::{GetRandom, Pkcs1OaepPadding, PublicKey};
use mysql_common::num_bigint::BigUint;
use mysql_common::scramble::{create_response_for_ed25519, scramble_native, scramble_sha256};

use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::pki_types::pem::PemObject;

use super::parsec;
use super::wire::packet::FieldReader;

/// Asks the server for its RSA key: `caching_sha2_password`.
const ASK_KEY_CACHING: u8 = 2;
/// Asks the server for its RSA key: `sha256_password`.
const ASK_KEY_SHA256: u8 = 1;
/// Bytes that the padding of RSA needs.
const PADDING: usize = 42;

/// What a login has to show, and over what kind of connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Credentials<'a> {
    /// The password; empty if there is none.
    pub(super) password: &'a str,
    /// Bytes go over TLS.
    pub(super) is_encrypted: bool,
    /// The connection is a socket of this machine, where nobody can listen or stand between.
    pub(super) is_socket: bool,
    /// `mysql_clear_password` was allowed.
    pub(super) clear_allowed: bool,
    /// The server's RSA key, if a file was given.
    pub(super) server_key: Option<&'a [u8]>,
    /// The server may be asked for its RSA key.
    pub(super) ask_key: bool,
}

impl Credentials<'_> {
    /// Whether nobody can listen.
    fn is_private(&self) -> bool {
        self.is_encrypted || self.is_socket
    }

    /// Whether a key that the server sends is the server's own: asked for in words, or nobody stands between.
    fn trusts_sent_key(&self) -> bool {
        self.ask_key || self.is_socket
    }

    /// The first answer to a method.
    pub(super) fn first_answer(&self, method: &str, nonce: &[u8]) -> Result<Vec<u8>, String> {
        let password = self.password.as_bytes();
        match method {
            "mysql_native_password" | "" => {
                let scramble = scramble_native(nonce, password);
                Ok(scramble.map(|s| s.to_vec()).unwrap_or_default())
            }
            "caching_sha2_password" => {
                Ok(scramble_sha256(nonce, password).map(|s| s.to_vec()).unwrap_or_default())
            }
            "sha256_password" if password.is_empty() => Ok(vec![0]),
            "sha256_password" if self.is_encrypted => Ok(zero_terminated(password)),
            // Of a socket this method thinks no better than of a network: without TLS it wants RSA.
            "sha256_password" => match self.server_key {
                Some(key) => encrypt_password(password, nonce, key),
                None if self.trusts_sent_key() => Ok(vec![ASK_KEY_SHA256]),
                None => Err(WITHOUT_KEY.into()),
            },
            "client_ed25519" if nonce.len() == 32 => {
                Ok(create_response_for_ed25519(password, nonce).to_vec())
            }
            "client_ed25519" => Err("the server's nonce is not 32 bytes long".into()),
            "unix_socket" | "auth_socket" => Ok(Vec::new()),
            "mysql_clear_password" if !self.clear_allowed => Err(
                "the server wants the password as it is; --enable-cleartext-plugin allows that \
                 over TLS or a socket"
                    .into(),
            ),
            "mysql_clear_password" if !self.is_private() => {
                Err("the server wants the password as it is, and anyone could listen; use \
                 --ssl-mode=REQUIRED or a socket"
                    .into())
            }
            "mysql_clear_password" => Ok(zero_terminated(password)),
            "mysql_old_password" => {
                Err("passwords of before MySQL 4.1 are not safe and not supported".into())
            }
            // An empty packet asks for salt and rounds.
            "parsec" if nonce.len() == parsec::NONCE => Ok(Vec::new()),
            "parsec" => Err("the server's nonce is not 32 bytes long".into()),
            "dialog"
            | "auth_gssapi_client"
            | "authentication_ldap_sasl_client"
            | "authentication_webauthn_client"
            | "authentication_kerberos_client" => Err(format!(
                "the login method {method} is not supported; use an account with another \
                 (mysql_native_password, ed25519, caching_sha2_password)"
            )),
            _ => Err(format!("the login method {method} is not known")),
        }
    }

    /// The answer to what a server says further on; `None` if it wants none.
    pub(super) fn next_answer(
        &self,
        method: &str,
        nonce: &[u8],
        more: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        let password = self.password.as_bytes();
        match (method, more) {
            ("caching_sha2_password", [3]) => Ok(None),
            ("caching_sha2_password", [4]) if self.is_private() => {
                Ok(Some(zero_terminated(password)))
            }
            ("caching_sha2_password", [4]) => match self.server_key {
                Some(key) => encrypt_password(password, nonce, key).map(Some),
                None if self.ask_key => Ok(Some(vec![ASK_KEY_CACHING])),
                None => Err(WITHOUT_KEY.into()),
            },
            ("caching_sha2_password" | "sha256_password", key) if self.trusts_sent_key() => {
                encrypt_password(password, nonce, key).map(Some)
            }
            ("parsec", salt) => parsec::sign_nonces(password, nonce, salt).map(Some),
            _ => Err(format!("the server said something unknown during {method}")),
        }
    }
}

const WITHOUT_KEY: &str = "the server wants the whole password, and over this connection anyone \
    could listen; use --ssl-mode=REQUIRED, or --get-server-public-key on a network you trust, \
    or --server-public-key-path";

fn zero_terminated(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}

/// The password mixed with the nonce, under the server's key.
fn encrypt_password(password: &[u8], nonce: &[u8], key: &[u8]) -> Result<Vec<u8>, String> {
    if nonce.is_empty() {
        return Err("the server's nonce is empty".into());
    }
    let (modulus, exponent) = parse_rsa_key(key).ok_or("the server's RSA key can't be read")?;
    let mut mixed = zero_terminated(password);
    if mixed.len() + PADDING > modulus.len() {
        return Err("the password is too long for the server's RSA key".into());
    }
    for (byte, random) in mixed.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= random;
    }
    let number = BigUint::from_bytes_be;
    let key = PublicKey::new(number(&modulus), number(&exponent));
    Ok(key.encrypt_block(mixed, Pkcs1OaepPadding::new(GetRandom)))
}

/// Modulus and exponent of an RSA key in PEM, if they are of a sound size.
fn parse_rsa_key(pem: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
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
    fits.then(|| (modulus.to_vec(), exponent.to_vec()))
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
