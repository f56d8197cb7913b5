//! The two packets that a client writes before it is logged in: the wish for TLS, and its answer to the greeting.

use super::CHUNK;
use super::constants::{CapabilityFlags, MariadbCapabilities};
use super::encode::write_lenenc_int;

/// Character set of a session: utf8mb4_general_ci, which every server has.
pub(in crate::client::mysql) const UTF8: u8 = 45;
/// latin1_swedish_ci.
pub(in crate::client::mysql) const LATIN1: u8 = 8;
/// Largest payload that we say we take.
const MOST_PAYLOAD: u32 = 1 << 30;

/// What an answer to a greeting holds.
#[derive(Clone, Copy, Debug)]
pub(in crate::client::mysql) struct LoginPacket<'a> {
    /// What both sides can do.
    pub(in crate::client::mysql) capabilities: CapabilityFlags,
    /// What both sides can do of MariaDB's own.
    pub(in crate::client::mysql) extended: MariadbCapabilities,
    /// Number of the collation in which texts are sent and wanted.
    pub(in crate::client::mysql) character_set: u8,
    /// The account's name.
    pub(in crate::client::mysql) user: &'a str,
    /// What shows that we know the password.
    pub(in crate::client::mysql) proof: &'a [u8],
    /// Default database.
    pub(in crate::client::mysql) database: Option<&'a str>,
    /// Login method that the proof is for.
    pub(in crate::client::mysql) method: &'a str,
    /// How the server's own lists shall name us.
    pub(in crate::client::mysql) attributes: &'a [(&'a str, &'a str)],
}

/// Writes the wish to go on in TLS.
pub(in crate::client::mysql) fn write_tls_request(
    out: &mut Vec<u8>,
    capabilities: CapabilityFlags,
    extended: MariadbCapabilities,
    character_set: u8,
) {
    write_head(out, capabilities, extended, CHUNK as u32, character_set);
}

/// Writes the answer to a greeting. Database, method and attributes are left out where the capabilities do not say that they
/// are there.
pub(in crate::client::mysql) fn write_login(out: &mut Vec<u8>, login: &LoginPacket<'_>) {
    let has = |flag| login.capabilities.contains(flag);
    write_head(out, login.capabilities, login.extended, MOST_PAYLOAD, login.character_set);
    write_zero_terminated(out, login.user);
    if has(CapabilityFlags::PLUGIN_AUTH_LENENC_CLIENT_DATA) {
        write_lenenc_bytes(out, login.proof);
    } else {
        // One byte for the length: a server of before 5.6.7, whose proofs have 20 bytes.
        let proof = &login.proof[..login.proof.len().min(255)];
        out.push(proof.len() as u8);
        out.extend_from_slice(proof);
    }
    if has(CapabilityFlags::CONNECT_WITH_DB) {
        write_zero_terminated(out, login.database.unwrap_or_default());
    }
    if has(CapabilityFlags::PLUGIN_AUTH) {
        write_zero_terminated(out, login.method);
    }
    if has(CapabilityFlags::CONNECT_ATTRS) {
        let mut all = Vec::new();
        for (name, value) in login.attributes {
            write_lenenc_bytes(&mut all, name.as_bytes());
            write_lenenc_bytes(&mut all, value.as_bytes());
        }
        write_lenenc_bytes(out, &all);
    }
}

/// What both packets begin with: capabilities, largest payload, character set, 19 zeros, MariaDB's capabilities.
fn write_head(
    out: &mut Vec<u8>,
    capabilities: CapabilityFlags,
    extended: MariadbCapabilities,
    most_payload: u32,
    character_set: u8,
) {
    out.extend_from_slice(&capabilities.bits().to_le_bytes());
    out.extend_from_slice(&most_payload.to_le_bytes());
    out.push(character_set);
    out.extend_from_slice(&[0; 19]);
    out.extend_from_slice(&extended.bits().to_le_bytes());
}

/// A zero ends the text, so one inside it would begin another field.
fn write_zero_terminated(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().take_while(|byte| *byte != 0));
    out.push(0);
}

fn write_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    write_lenenc_int(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: LoginPacket<'_> = LoginPacket {
        capabilities: CapabilityFlags::all(),
        extended: MariadbCapabilities::CACHE_METADATA,
        character_set: LATIN1,
        user: "u",
        proof: b"pp",
        database: Some("db"),
        method: "native",
        attributes: &[("_os", "linux"), ("a", "")],
    };

    #[test]
    fn a_wish_for_tls_is_32_bytes() {
        let mut out = Vec::new();
        let capabilities = CapabilityFlags::SSL | CapabilityFlags::PROTOCOL_41;
        write_tls_request(&mut out, capabilities, MariadbCapabilities::CACHE_METADATA, UTF8);
        let expected =
            [&[0, 10, 0, 0, 0xFF, 0xFF, 0xFF, 0, 45][..], &[0; 19], &[16, 0, 0, 0]].concat();
        assert_eq!(out, expected);
    }

    #[test]
    fn an_answer_with_everything() {
        let mut out = Vec::new();
        write_login(&mut out, &LOGIN);
        assert_eq!(out[4..9], [0, 0, 0, 0x40, 8]);
        assert_eq!(out[28..32], [16, 0, 0, 0]);
        assert_eq!(out[32..], *b"u\0\x02ppdb\0native\0\x0d\x03_os\x05linux\x01a\0");
    }

    #[test]
    fn what_the_capabilities_do_not_name_is_left_out() {
        let mut out = Vec::new();
        let capabilities = CapabilityFlags::PROTOCOL_41 | CapabilityFlags::SECURE_CONNECTION;
        write_login(&mut out, &LoginPacket { capabilities, ..LOGIN });
        assert_eq!(out[32..], *b"u\0\x02pp");
        // A long proof needs a length of more than one byte.
        let (mut out, proof) = (Vec::new(), [7; 300]);
        write_login(&mut out, &LoginPacket { proof: &proof, ..LOGIN });
        assert_eq!(out[34..37], [0xFC, 44, 1]);
        assert_eq!(out[37..337], proof);
    }
}
