//! What a NATS server sends, from bytes. Lengths come from the server and are bounded.

use serde::Deserialize;

/// Longest line: `INFO` names all servers of a cluster.
const MOST_LINE_BYTES: usize = 64 << 10;
/// Largest message that is taken.
pub(super) const MOST_PAYLOAD_BYTES: usize = 4 << 20;

/// A message as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsMessage {
    /// Where it was sent.
    pub subject: String,
    /// Its content.
    pub payload: Vec<u8>,
}

/// What a server says of itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ServerInfo {
    /// Largest payload, bytes.
    pub(super) max_payload: u64,
    /// Whether it speaks only TLS.
    pub(super) tls_required: bool,
    /// Whether it can speak TLS.
    pub(super) tls_available: bool,
    /// What is to be signed with a key.
    pub(super) nonce: Option<String>,
    /// Its release.
    pub(super) version: String,
}

/// One thing that a server sends.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NatsFrame {
    /// Who it is.
    Info(ServerInfo),
    /// A message for us.
    Message(NatsMessage),
    /// It asks whether we are there.
    Ping,
    /// It is there.
    Pong,
    /// It took something.
    Okay,
    /// It complains.
    Complaint(String),
}

/// Takes bytes as they come, gives frames.
#[derive(Debug, Default)]
pub(super) struct FrameParser {
    bytes: Vec<u8>,
    /// Where what was not taken yet begins.
    at: usize,
}

impl FrameParser {
    /// Adds what was read.
    pub(super) fn add_bytes(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, if there is one.
    ///
    /// # Errors
    /// What is wrong with what was sent, in words; the connection is of no use then.
    pub(super) fn next_frame(&mut self) -> Result<Option<NatsFrame>, String> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().take(MOST_LINE_BYTES).position(|byte| *byte == b'\n') else {
            return if rest.len() < MOST_LINE_BYTES {
                Ok(None)
            } else {
                Err("a line without an end".into())
            };
        };
        let line = String::from_utf8_lossy(&rest[..end]);
        let line = line.trim_end_matches('\r');
        let (word, text) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let text = text.trim();
        let mut taken = end + 1;
        let frame = match word.to_ascii_uppercase().as_str() {
            "MSG" => {
                let head = read_head(text)?;
                let whole = taken + head.bytes + 2;
                let Some(body) = rest.get(taken..whole) else { return Ok(None) };
                let (payload, tail) = body.split_at(head.bytes);
                if tail != b"\r\n" {
                    return Err("a message without its end".into());
                }
                taken = whole;
                NatsFrame::Message(NatsMessage { subject: head.subject, payload: payload.to_vec() })
            }
            "PING" => NatsFrame::Ping,
            "PONG" => NatsFrame::Pong,
            "+OK" => NatsFrame::Okay,
            "-ERR" => NatsFrame::Complaint(text.trim_matches('\'').to_owned()),
            "INFO" => NatsFrame::Info(
                serde_json::from_str(text).map_err(|e| format!("what it says of itself: {e}"))?,
            ),
            _ => return Err("it does not speak NATS".into()),
        };
        self.at += taken;
        Ok(Some(frame))
    }
}

struct MessageHead {
    subject: String,
    bytes: usize,
}

/// `SUBJECT SID [REPLY] BYTES`
fn read_head(text: &str) -> Result<MessageHead, String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (subject, bytes) = match words[..] {
        [subject, _, bytes] | [subject, _, _, bytes] => (subject, bytes),
        _ => return Err("a message without a head".into()),
    };
    match bytes.parse() {
        Ok(bytes) if bytes <= MOST_PAYLOAD_BYTES => {
            Ok(MessageHead { subject: subject.to_owned(), bytes })
        }
        _ => Err(format!("a message of {bytes} bytes")),
    }
}
