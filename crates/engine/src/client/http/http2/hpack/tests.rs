//! The standard's own examples, and blocks that break its rules.

use proptest::prelude::*;

use super::huffman::{decode_text, encode_text};
use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |two: &[u8]| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

fn decode(decoder: &mut BlockDecoder, block: &[u8]) -> Result<Vec<String>, &'static str> {
    let mut found = Vec::new();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    decoder.decode_block(block, |name, value| {
        found.push(format!("{}: {}", text(name), text(value)));
    })?;
    Ok(found)
}

/// RFC 7541, C.4: requests, with the code of texts and a table that grows.
#[test]
fn requests_of_the_standard_are_decoded() {
    let mut decoder = BlockDecoder::default();
    let first = bytes("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff");
    let start = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"];
    assert_eq!(decode(&mut decoder, &first).unwrap(), start);
    assert_eq!(decoder.table_size(), (1, 57));
    let second = bytes("8286 84be 5886 a8eb 1064 9cbf");
    let mut all = start.to_vec();
    all.push("cache-control: no-cache");
    assert_eq!(decode(&mut decoder, &second).unwrap(), all);
    assert_eq!(decoder.table_size(), (2, 110));
    let third = bytes("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf");
    let fields = [
        ":method: GET",
        ":scheme: https",
        ":path: /index.html",
        ":authority: www.example.com",
        "custom-key: custom-value",
    ];
    assert_eq!(decode(&mut decoder, &third).unwrap(), fields);
    assert_eq!(decoder.table_size(), (3, 164));
}

/// RFC 7541, C.6: replies, with a table of 256 bytes from which the oldest go.
#[test]
fn replies_of_the_standard_are_decoded() {
    let mut decoder = BlockDecoder::default();
    let mut first = vec![0x3F, 0xE1, 0x01];
    first.extend(bytes(
        "4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 \
         2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3",
    ));
    let date = "date: Mon, 21 Oct 2013 20:13:21 GMT";
    let place = "location: https://www.example.com";
    let expected = [":status: 302", "cache-control: private", date, place];
    assert_eq!(decode(&mut decoder, &first).unwrap(), expected);
    assert_eq!(decoder.table_size(), (4, 222));
    let expected = [":status: 307", "cache-control: private", date, place];
    assert_eq!(decode(&mut decoder, &bytes("4883 640e ffc1 c0bf")).unwrap(), expected);
    assert_eq!(decoder.table_size(), (4, 222));
    let third = bytes(
        "88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab \
         77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f \
         9587 3160 65c0 03ed 4ee5 b106 3d50 07",
    );
    let cookie = "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
    let expected = [
        ":status: 200",
        "cache-control: private",
        "date: Mon, 21 Oct 2013 20:13:22 GMT",
        place,
        "content-encoding: gzip",
        cookie,
    ];
    assert_eq!(decode(&mut decoder, &third).unwrap(), expected);
    assert_eq!(decoder.table_size(), (3, 215));
}

#[test]
fn what_is_written_is_read() {
    let fields = [
        (":method", "GET"),
        (":method", "DELETE"),
        (":path", "/a?b=1"),
        ("authorization", "Bearer x"),
        ("x-own", ""),
        ("cookie", ""),
    ];
    let mut block = Vec::new();
    for (name, value) in fields {
        write_block_field(name, value, FieldPrivacy::Secret, &mut block);
    }
    assert_eq!(block[0], 0x82);
    let long = "v".repeat(1000);
    write_block_field("x-long", &long, FieldPrivacy::Open, &mut block);
    let read = decode(&mut BlockDecoder::default(), &block).unwrap();
    let mut expected: Vec<String> = fields.iter().map(|(n, v)| format!("{n}: {v}")).collect();
    expected.push(format!("x-long: {long}"));
    assert_eq!(read, expected);
}

#[test]
fn broken_blocks_are_refused() {
    for (hex, why) in [
        ("80", NO_SUCH_FIELD),
        ("be", NO_SUCH_FIELD),
        ("7e 00", NO_SUCH_FIELD),
        ("ff ff ff ff ff ff", "too large"),
        ("48 83 64", CUT),
        ("48 7f", CUT),
        ("48 84 ff ff ff ff", "broken"),
        ("48 81 00", "broken"),
        ("82 20", "where it may not"),
        ("3f e2 1f", "where it may not"),
    ] {
        let found = decode(&mut BlockDecoder::default(), &bytes(hex)).unwrap_err();
        assert!(found.contains(why), "{hex}: {found}");
    }
    let many = vec![0x82; 200];
    assert_eq!(decode(&mut BlockDecoder::default(), &many), Err("the head is too long"));
}

#[test]
fn a_table_holds_what_it_may_and_no_more() {
    let mut decoder = BlockDecoder::default();
    for n in 0..10_000 {
        let mut block = vec![0x40];
        write_text(&format!("name-{n}"), &mut block);
        write_text(&"v".repeat(n % 300), &mut block);
        decode(&mut decoder, &block).unwrap();
        assert!(decoder.table_size().1 <= TABLE_BYTES);
        let last = decode(&mut decoder, &[0x80 | 62]).unwrap();
        assert!(last[0].starts_with(&format!("name-{n}: ")));
    }
    let mut block = vec![0x40];
    write_text("n", &mut block);
    write_text(&"v".repeat(TABLE_BYTES), &mut block);
    decode(&mut decoder, &block).unwrap();
    assert_eq!(decoder.table_size(), (0, 0));
}

proptest! {
    #[test]
    fn texts_come_back(text: Vec<u8>) {
        let mut out = Vec::new();
        decode_text(&encode_text(&text), &mut out).unwrap();
        prop_assert_eq!(out, text);
    }

    #[test]
    fn no_block_breaks_it(blocks: Vec<Vec<u8>>) {
        let mut decoder = BlockDecoder::default();
        for block in blocks {
            let _ = decode(&mut decoder, &block);
            prop_assert!(decoder.table_size().1 <= TABLE_BYTES);
        }
    }
}
