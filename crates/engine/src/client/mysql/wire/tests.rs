use proptest::prelude::*;

use super::encode::write_lenenc_int;
use super::packet::{self, ErrorPacket, FieldReader, OkPacket};
use super::reply::{LONGEST_WHOLE, ReplyScanner, ScanStep};
use super::{CHUNK, ProtocolError, encode};
use crate::client::mysql::{ParameterValue, PreparedStatement, StatementReply};

/// A packet with its header.
fn framed(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    out.push(sequence);
    out.extend_from_slice(payload);
    out
}

/// Packets numbered from 1.
fn reply(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (index, payload) in payloads.iter().enumerate() {
        out.extend_from_slice(&framed(index as u8 + 1, payload));
    }
    out
}

fn ok(first: u8, affected: u64, status: u16) -> Vec<u8> {
    let mut out = vec![first];
    write_lenenc_int(&mut out, affected);
    write_lenenc_int(&mut out, 0);
    out.extend_from_slice(&status.to_le_bytes());
    out.extend_from_slice(&[1, 0]);
    out
}

const COLUMN: &[u8] =
    b"\x03def\x00\x00\x00\x01c\x00\x0c\x2d\x00\x04\x00\x00\x00\xfd\x00\x00\x00\x00\x00";

/// Feeds bytes split at the given places; what is left over comes again, as a channel does it.
fn feed(
    scan: &mut ReplyScanner,
    bytes: &[u8],
    splits: &[usize],
) -> Result<ScanStep, ProtocolError> {
    let mut cuts: Vec<usize> = splits.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.push(bytes.len());
    cuts.sort_unstable();
    let (mut left, mut from) = (Vec::new(), 0);
    for to in cuts {
        left.extend_from_slice(&bytes[from..to]);
        from = to;
        let (used, step) = scan.feed_bytes(&left)?;
        left.drain(..used);
        assert!(left.len() < LONGEST_WHOLE + 4, "left over: {}", left.len());
        if step != ScanStep::More {
            assert!(from == bytes.len() && left.is_empty(), "the reply ended too early");
            return Ok(step);
        }
    }
    Ok(ScanStep::More)
}

fn whole(bytes: &[u8], no_eof: bool) -> (Result<ScanStep, ProtocolError>, StatementReply) {
    let mut scan = ReplyScanner::new(1, no_eof);
    let result = feed(&mut scan, bytes, &[]);
    (result, scan.reply())
}

#[test]
fn a_reply_without_rows() {
    let (step, found) = whole(&reply(&[ok(0, 300, 2)]), true);
    assert_eq!(step, Ok(ScanStep::Done));
    assert_eq!(found, StatementReply { affected: 300, warnings: 1, ..StatementReply::default() });
}

#[test]
fn rows_are_counted_with_and_without_eof_packets() {
    let rows = [b"\x011".to_vec(), b"\xfb".to_vec(), b"\x03abc".to_vec()];
    let mut packets = vec![vec![1], COLUMN.to_vec()];
    packets.extend(rows.clone());
    packets.push(ok(0xFE, 0, 2));
    let (step, found) = whole(&reply(&packets), true);
    assert_eq!((step, found.rows), (Ok(ScanStep::Done), 3));

    let mut packets = vec![vec![1], COLUMN.to_vec(), vec![0xFE, 0, 0, 2, 0]];
    packets.extend(rows.clone());
    packets.push(vec![0xFE, 5, 0, 2, 0]);
    let (step, found) = whole(&reply(&packets), false);
    assert_eq!((step, found.rows, found.warnings), (Ok(ScanStep::Done), 3, 5));

    // MariaDB says with a second byte whether it sends columns.
    let mut packets = vec![vec![1, 0]];
    packets.extend(rows.clone());
    packets.push(ok(0xFE, 0, 2));
    assert_eq!(whole(&reply(&packets), true).1.rows, 3);
    packets.splice(0..1, [vec![1, 1], COLUMN.to_vec()]);
    assert_eq!(whole(&reply(&packets), true).1.rows, 3);
}

#[test]
fn several_results_make_one_reply() {
    let packets =
        [ok(0, 2, 8), vec![1], COLUMN.to_vec(), b"\x011".to_vec(), ok(0xFE, 0, 8), ok(0, 3, 0)];
    let (step, found) = whole(&reply(&packets), true);
    assert_eq!((step, found.rows, found.affected), (Ok(ScanStep::Done), 1, 5));
    assert_eq!(whole(&reply(&packets[..5]), true).0, Ok(ScanStep::More));
}

#[test]
fn an_error_ends_the_reply_wherever_it_comes() {
    let error = b"\xff\x1e\x04#42S22no such column".to_vec();
    for packets in [
        vec![error.clone()],
        vec![vec![1], error.clone()],
        vec![vec![1], COLUMN.to_vec(), b"\x011".to_vec(), error.clone()],
    ] {
        let bytes = reply(&packets);
        let mut scan = ReplyScanner::new(1, true);
        let Ok(ScanStep::Refused { from, to, parting: false }) = feed(&mut scan, &bytes, &[])
        else {
            panic!("no error seen");
        };
        assert_eq!((&bytes[from..to], to), (&error[..], bytes.len()));
    }
    let refusal = packet::parse_error(&error).unwrap();
    assert_eq!(refusal, ErrorPacket { code: 1054, state: b"42S22", text: b"no such column" });
    // A server that closes the session says so out of turn.
    let step = ReplyScanner::new(1, true).feed_bytes(&framed(0, &error)).unwrap().1;
    assert!(matches!(step, ScanStep::Refused { parting: true, .. }));
    // Before there is a login an error has no state.
    let refusal = packet::parse_error(b"\xff\x10\x04Too many connections").unwrap();
    assert_eq!(
        (refusal.code, refusal.state, refusal.text),
        (1040, &b""[..], &b"Too many connections"[..])
    );
}

#[test]
fn a_wish_for_a_file_is_seen() {
    assert_eq!(whole(&reply(&[b"\xfb/etc/passwd".to_vec()]), true).0, Ok(ScanStep::File));
}

#[test]
fn a_row_of_many_packets_is_one_row_and_needs_no_room() {
    // 0xFF_FFFF bytes, then 0 bytes: only the headers matter.
    for last in [0, 5] {
        let mut scan = ReplyScanner::new(1, true);
        let mut row = b"\xfe".to_vec();
        row.resize(CHUNK, b'x');
        let mut bytes = reply(&[vec![1], COLUMN.to_vec()]);
        bytes.extend_from_slice(&framed(3, &row));
        bytes.extend_from_slice(&framed(4, &vec![0xFF; last]));
        bytes.extend_from_slice(&framed(5, &ok(0xFE, 0, 0)));
        let mut left = Vec::new();
        let mut step = ScanStep::More;
        for piece in bytes.chunks(100_000) {
            left.extend_from_slice(piece);
            let (used, now) = scan.feed_bytes(&left).unwrap();
            left.drain(..used);
            assert!(left.len() < 200);
            step = now;
        }
        assert_eq!((step, scan.reply().rows), (ScanStep::Done, 1));
    }
}

#[test]
fn nonsense_is_refused() {
    let absurd = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff".to_vec();
    let too_long = vec![0; LONGEST_WHOLE + 1];
    let cases: [(&str, Vec<u8>); 8] = [
        ("empty packet", framed(1, &[])),
        ("out of order", framed(2, &ok(0, 0, 0))),
        ("row out of order", [reply(&[vec![1], COLUMN.to_vec()]), framed(9, b"\x011")].concat()),
        ("short ok", framed(1, &[0, 1])),
        ("no columns", framed(1, &[0xFC, 0, 0])),
        ("absurd columns", framed(1, &absurd)),
        ("long ok", framed(1, &too_long)),
        ("null columns", framed(1, &[0xFC])),
    ];
    for (name, bytes) in cases {
        assert!(whole(&bytes, true).0.is_err(), "{name}");
    }
    // A number of rows or changes that only a liar sends does not overflow.
    let lies = [ok(0, u64::MAX, 8), ok(0, u64::MAX, 0)];
    assert_eq!(whole(&reply(&lies), true).1.affected, u64::MAX);
}

#[test]
fn a_greeting_of_each_product() {
    let maria = b"\x0a5.5.5-10.11.14-MariaDB\0\x2a\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\
        \xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ijklmnopqrst\0mysql_native_password\0";
    let greeting = packet::parse_greeting(maria).unwrap();
    assert_eq!((greeting.id, &greeting.nonce[..]), (42, &b"abcdefghijklmnopqrst"[..]));
    assert_eq!(greeting.plugin, "mysql_native_password");
    assert_eq!((greeting.extended.bits(), greeting.collation), (0x1d, 0x2d));
    let mysql = b"\x0a9.7.0\0\x08\0\0\0abcdefgh\0\xff\xff\xff\x02\0\
        \xff\xdf\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0";
    let greeting = packet::parse_greeting(mysql).unwrap();
    assert_eq!((greeting.extended.bits(), greeting.collation), (0, 0xff));
    assert_eq!((&greeting.version[..], &greeting.plugin[..]), ("9.7.0", "caching_sha2_password"));
    for end in 0..maria.len() - 24 {
        assert!(packet::parse_greeting(&maria[..end]).is_err(), "cut at {end}");
    }
    assert!(packet::parse_greeting(b"HTTP/1.1 400 Bad Request\r\n\r\n").is_err());
    // A length of the nonce that a signed byte can't hold.
    let mut liar = maria.to_vec();
    liar[24 + 4 + 8 + 1 + 7] = 0x80;
    assert!(packet::parse_greeting(&liar).is_err());
}

#[test]
fn a_switch_of_the_login_method() {
    let (name, nonce) = packet::parse_auth_switch(b"\xfenative\0abcdefghijklmnopqrst\0").unwrap();
    assert_eq!((&name[..], &nonce[..]), ("native", &b"abcdefghijklmnopqrst"[..]));
    // A nonce of 32 bytes has no zero behind it, but may end in one.
    let long = [&b"\xfeclient_ed25519\0"[..], &[7; 31], &[0]].concat();
    let (name, nonce) = packet::parse_auth_switch(&long).unwrap();
    assert_eq!((&name[..], nonce.len(), nonce[31]), ("client_ed25519", 32, 0));
    assert_eq!(packet::parse_auth_switch(b"\xfe").unwrap().0, "mysql_old_password");
    assert_eq!(packet::parse_auth_switch(b"\xfex").unwrap(), ("x".to_owned(), Vec::new()));
}

#[test]
fn an_execution_as_the_protocol_wants_it() {
    let mut out = Vec::new();
    let statement = PreparedStatement { id: 7, parameters: 5 };
    let values = [
        ParameterValue::Int(-2),
        ParameterValue::Null,
        ParameterValue::Uint(3),
        ParameterValue::Bytes(b"ab"),
        ParameterValue::Double(1.0),
    ];
    encode::write_execute(&mut out, &statement, &values).unwrap();
    let mut expected = vec![50, 0, 0, 0, 0x17, 7, 0, 0, 0, 0, 1, 0, 0, 0, 0b10, 1];
    expected.extend([8, 0, 6, 0, 8, 0x80, 253, 0, 5, 0]);
    expected.extend((-2_i64).to_le_bytes());
    expected.extend(3_u64.to_le_bytes());
    expected.extend(*b"\x02ab");
    expected.extend(1.0_f64.to_le_bytes());
    expected[0] = (expected.len() - 4) as u8;
    assert_eq!(out, expected);
    assert!(encode::write_execute(&mut Vec::new(), &statement, &values[1..]).is_err());
}

#[test]
fn long_payloads_are_split() {
    for (length, packets) in [(CHUNK - 1, 1), (CHUNK, 2), (CHUNK + 1, 2), (2 * CHUNK, 3)] {
        let payload: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
        let mut out = Vec::new();
        assert_eq!(encode::write_payload(&mut out, &payload, 254), 254_u8.wrapping_add(packets));
        let mut joined = Vec::new();
        let mut rest = &out[..];
        for index in 0..packets {
            let (size, sequence) = super::parse_header(rest.first_chunk().unwrap());
            assert_eq!(sequence, 254_u8.wrapping_add(index));
            joined.extend_from_slice(&rest[4..4 + size]);
            rest = &rest[4 + size..];
        }
        assert!(rest.is_empty() && joined == payload);
    }
}

#[test]
fn text_rows_and_column_names() {
    assert_eq!(packet::parse_column_name(COLUMN), Ok("c".to_owned()));
    let row = packet::parse_text_row(b"\x01a\xfb\x00", 3).unwrap();
    assert_eq!(row, [Some(b"a".to_vec()), None, Some(Vec::new())]);
    assert!(packet::parse_text_row(b"\x01a\x01", 2).is_err());
    assert!(packet::parse_text_row(b"\x01a\x01b", 1).is_err());
    assert!(packet::parse_text_row(b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff", 1).is_err());
}

prop_compose! {
    /// A well-formed reply: some results, each with rows or without.
    fn replies()(results in prop::collection::vec(
        (1_u8..5, prop::collection::vec(0_usize..600, 0..6), 0_u64..70_000), 1..5
    )) -> (Vec<u8>, StatementReply) {
        let mut packets = Vec::new();
        let mut found = StatementReply::default();
        let count = results.len();
        for (index, (columns, rows, affected)) in results.into_iter().enumerate() {
            let status = if index + 1 < count { 8 } else { 0 };
            found.warnings += 1;
            if rows.is_empty() {
                packets.push(ok(0, affected, status));
                found.affected += affected;
                continue;
            }
            packets.push(vec![columns]);
            packets.extend((0..columns).map(|_| COLUMN.to_vec()));
            for length in rows {
                let mut row = Vec::new();
                write_lenenc_int(&mut row, length as u64);
                row.resize(row.len() + length, 0xFE);
                packets.push(row);
                found.rows += 1;
            }
            packets.push(ok(0xFE, 0, status));
        }
        (reply(&packets), found)
    }
}

proptest! {
    #[test]
    fn a_reply_means_the_same_however_it_is_split(
        (bytes, expected) in replies(),
        splits in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let mut scan = ReplyScanner::new(1, true);
        prop_assert_eq!(feed(&mut scan, &bytes, &splits), Ok(ScanStep::Done));
        prop_assert_eq!(scan.reply(), expected);
        for cut in 0..bytes.len() {
            prop_assert_eq!(feed(&mut ReplyScanner::new(1, true), &bytes[..cut], &[]),
            Ok(ScanStep::More));
        }
    }

    #[test]
    fn no_bytes_make_anything_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        no_eof in any::<bool>(),
    ) {
        let _ = ReplyScanner::new(1, no_eof).feed_bytes(&bytes);
        let _ = ReplyScanner::new(1, no_eof).feed_bytes(&framed(1, &bytes));
        let rows = [reply(&[vec![1], COLUMN.to_vec()]), framed(3, &bytes)].concat();
        let _ = ReplyScanner::new(1, no_eof).feed_bytes(&rows);
        let _ = packet::parse_greeting(&bytes);
        let _ = packet::parse_greeting(&[b"\x0a8.0\0".to_vec(), bytes.clone()].concat());
        let _ = (packet::parse_error(&bytes), packet::parse_ok(&bytes), packet::parse_eof(&bytes));
        let _ = (packet::parse_auth_switch(&bytes), packet::parse_prepare_ok(&bytes),
        packet::parse_column_name(&bytes));
        let _ = (packet::parse_text_row(&bytes, 3), packet::parse_text_row(&bytes, usize::MAX));
    }

    #[test]
    fn packed_numbers_come_back(number in any::<u64>(), shift in 0_u32..64) {
        let number = number >> shift;
        let mut out = Vec::new();
        write_lenenc_int(&mut out, number);
        let mut fields = FieldReader(&out);
        prop_assert_eq!(fields.read_lenenc_int(), Ok(Some(number)));
        prop_assert!(fields.0.is_empty());
    }

    #[test]
    fn the_short_way_through_an_ok_packet_is_the_long_way(
        affected in 0_u64..600, id in 0_u64..600, status in any::<u16>(), warnings in any::<u16>(),
    ) {
        let mut out = vec![0];
        write_lenenc_int(&mut out, affected);
        write_lenenc_int(&mut out, id);
        out.extend_from_slice(&status.to_le_bytes());
        out.extend_from_slice(&warnings.to_le_bytes());
        let done = OkPacket { affected, last_insert_id: id, status, warnings };
        prop_assert_eq!(packet::parse_ok(&out), Ok(done));
    }
}
