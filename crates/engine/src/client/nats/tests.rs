//! The protocol without a server; `tests/it/agents.rs` has one.

use proptest::prelude::*;

use super::frame::{FrameParser, NatsFrame};
use super::*;

fn frames(pieces: &[&[u8]]) -> Result<Vec<NatsFrame>, String> {
    let (mut parser, mut found) = (FrameParser::default(), Vec::new());
    for piece in pieces {
        parser.add_bytes(piece);
        while let Some(frame) = parser.next_frame()? {
            found.push(frame);
        }
    }
    Ok(found)
}

fn message(subject: &str, payload: &[u8]) -> NatsFrame {
    NatsFrame::Message(NatsMessage { subject: subject.to_owned(), payload: payload.to_vec() })
}

#[test]
fn frames_come_out_however_the_bytes_are_cut() {
    let text =
        b"PING\r\nMSG a.b 1 5\r\nx\r\ny!\r\n+OK\r\nMSG c 2 _INBOX.1 0\r\n\r\n-ERR 'no'\r\nPONG\r\n";
    let expected = vec![
        NatsFrame::Ping,
        message("a.b", b"x\r\ny!"),
        NatsFrame::Okay,
        message("c", b""),
        NatsFrame::Complaint("no".to_owned()),
        NatsFrame::Pong,
    ];
    for cut in 0..text.len() {
        assert_eq!(frames(&[&text[..cut], &text[cut..]]).unwrap(), expected, "{cut}");
    }
    let info =
        frames(&[b"INFO {\"max_payload\":9,\"tls_required\":true,\"nonce\":\"n\",\"x\":[1]}\r\n"]);
    let [NatsFrame::Info(info)] = &info.unwrap()[..] else { panic!("it is an info") };
    assert_eq!((info.max_payload, info.tls_required), (9, true));
    assert_eq!(info.nonce.as_deref(), Some("n"));
}

#[test]
fn what_is_no_nats_is_refused() {
    let long = vec![b'x'; 70 << 10];
    let all: [&[u8]; 6] = [
        b"HTTP/1.1 200 OK\r\n",
        b"MSG a 1 99999999999\r\n",
        b"MSG a 1 -1\r\n",
        b"MSG a\r\n",
        b"MSG a 1 1\r\nxyz",
        b"INFO {\r\n",
    ];
    for bytes in all.into_iter().chain([long.as_slice()]) {
        frames(&[bytes]).unwrap_err();
    }
}

proptest! {
    #[test]
    fn hostile_bytes_end_in_words(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = frames(&[b"MSG ", &bytes]);
        let _ = frames(&[&bytes]);
    }
}

#[test]
fn addresses_are_read_as_people_write_them() {
    let read = |text| NatsAddress::parse(text).map(|a| (a.to_string(), a.is_loopback()));
    for (text, shown, loopback) in [
        ("nats://127.0.0.1:4223", "nats://127.0.0.1:4223", true),
        ("nats://localhost", "nats://localhost:4222", true),
        ("tls://n1.example/", "tls://n1.example:4222", false),
        ("[::1]:5000", "nats://[::1]:5000", true),
        ("10.0.0.7", "nats://10.0.0.7:4222", false),
        // A name is not believed.
        ("127.0.0.1.example.com", "nats://127.0.0.1.example.com:4222", false),
    ] {
        assert_eq!(read(text).unwrap(), (shown.to_owned(), loopback), "{text}");
    }
    for text in ["", "http://x", "nats://", "nats://x:0", "nats://x:70000", "[::1]4", "a b"] {
        assert!(read(text).is_err(), "{text}");
    }
    let secret = read("nats://bob:hush@x").unwrap_err().to_string();
    assert!(!secret.contains("hush"), "{secret}");
}

/// The pair of keys in the documentation of NATS.
#[test]
fn keys_are_those_of_nats() {
    let seed = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";
    let key = NkeySeed::parse(seed).unwrap();
    let public = "UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4";
    assert_eq!(key.public_key(), public);
    let signature = key.sign_nonce("PXoWU7zWAMt75FY");
    assert!(signature.len() == 86 && !signature.contains(['+', '/', '=']), "{signature}");
    let fresh = NkeySeed::generate().unwrap();
    let again = NkeySeed::parse(fresh.seed_text().reveal()).unwrap();
    assert_eq!(again.public_key(), fresh.public_key());
    assert!(fresh.seed_text().reveal().starts_with("SU") && fresh.public_key().starts_with('U'));
    for wrong in ["", "SU", public, &seed[1..], &seed.replace('Q', "R"), "SUAC1"] {
        assert!(NkeySeed::parse(wrong).is_err(), "{wrong}");
    }
    let replaced = seed.replace("SSL", "SSM");
    assert!(NkeySeed::parse(&replaced).unwrap_err().contains("checksum"));
}

#[test]
fn a_key_file_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a1.nk");
    let key = NkeySeed::generate().unwrap();
    std::fs::write(&path, format!("# a1\n{}\n", key.seed_text().reveal())).unwrap();
    let mode = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o644);
    assert!(NkeySeed::read_file(&path).unwrap_err().to_string().contains("chmod 600"));
    mode(0o600);
    assert_eq!(NkeySeed::read_file(&path).unwrap().public_key(), key.public_key());
}

#[test]
fn frames_mean_the_same_in_pieces() {
    let sent = b"INFO {\"max_payload\":9}\r\nMSG a.b 1 2\r\nok\r\nPING\r\n\
                 MSG a 1 r 0\r\n\r\n-ERR 'no'\r\nX\r\n";
    let whole = super::scan_nats_frames(sent, sent.len());
    assert_eq!((whole.len(), whole[5].as_str()), (6, "it does not speak NATS"), "{whole:?}");
    for piece in 1..sent.len() {
        assert_eq!(super::scan_nats_frames(sent, piece), whole, "{piece}");
    }
}
