//! What to answer when a server asks who we are: one arm per login method, and where a password may go.
//! Never knows: sockets, packets' framing, how an answer is computed (`scrambles`, `parsec`, `rsa_encryption`).
//! To add a method: an arm in `first_answer`, and one in `next_answer` if the server may ask further.

use super::parsec;
use super::rsa_encryption::encrypt_password;
use super::scrambles::{scramble_native, scramble_sha256, sign_ed25519};

/// Asks the server for its RSA key: `caching_sha2_password`.
const ASK_KEY_CACHING: u8 = 2;
/// Asks the server for its RSA key: `sha256_password`.
const ASK_KEY_SHA256: u8 = 1;

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
            "mysql_native_password" | "" => Ok(scramble_native(password, nonce)),
            "caching_sha2_password" => Ok(scramble_sha256(password, nonce)),
            "sha256_password" if password.is_empty() => Ok(vec![0]),
            "sha256_password" if self.is_encrypted => Ok(zero_terminated(password)),
            // Of a socket this method thinks no better than of a network: without TLS it wants RSA.
            "sha256_password" => match self.server_key {
                Some(key) => encrypt_password(&zero_terminated(password), nonce, key),
                None if self.trusts_sent_key() => Ok(vec![ASK_KEY_SHA256]),
                None => Err(WITHOUT_KEY.into()),
            },
            "client_ed25519" if nonce.len() == 32 => Ok(sign_ed25519(password, nonce)),
            "client_ed25519" => Err("the server's nonce is not 32 bytes long".into()),
            "unix_socket" | "auth_socket" => Ok(Vec::new()),
            "mysql_clear_password" if !self.clear_allowed => Err(
                "the server asks for the password in clear text; --enable-cleartext-plugin allows \
                 that over TLS or a socket"
                    .into(),
            ),
            "mysql_clear_password" if !self.is_private() => {
                Err("the server asks for the password in clear text, and others could read it; \
                     use --ssl-mode=REQUIRED or a socket"
                    .into())
            }
            "mysql_clear_password" => Ok(zero_terminated(password)),
            "mysql_old_password" => {
                Err("passwords from before MySQL 4.1 are unsafe and not supported".into())
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
                Some(key) => encrypt_password(&zero_terminated(password), nonce, key).map(Some),
                None if self.ask_key => Ok(Some(vec![ASK_KEY_CACHING])),
                None => Err(WITHOUT_KEY.into()),
            },
            ("caching_sha2_password" | "sha256_password", key) if self.trusts_sent_key() => {
                encrypt_password(&zero_terminated(password), nonce, key).map(Some)
            }
            ("parsec", salt) => parsec::sign_nonces(password, nonce, salt).map(Some),
            _ => Err(format!("unexpected answer from the server during {method}")),
        }
    }
}

const WITHOUT_KEY: &str = "the server asks for the whole password, and others could read it on \
                           this connection; use --ssl-mode=REQUIRED, or --get-server-public-key \
                           on a network you trust, or --server-public-key-path";

fn zero_terminated(password: &[u8]) -> Vec<u8> {
    [password, &[0]].concat()
}
