use proptest::prelude::*;

use super::*;

fn text(kind: &KeyKind, low: &str, high: &str, chunks: u64) -> Vec<String> {
    let keys = kind.keys_between(&low.as_bytes().to_vec(), &high.as_bytes().to_vec(), chunks);
    keys.into_iter().map(|k| String::from_utf8(k).unwrap()).collect()
}

fn utf8() -> KeyKind {
    KeyKind::Text { charset: "utf8mb4".to_owned(), folded: true }
}

#[test]
fn integers_are_cut_evenly_and_never_outside() {
    assert_eq!(text(&KeyKind::Integer, "0", "100", 4), ["25", "50", "75"]);
    assert_eq!(text(&KeyKind::Integer, "-10", "10", 2), ["0"]);
    assert_eq!(text(&KeyKind::Integer, "1", "3", 100), ["2"]);
    assert!(text(&KeyKind::Integer, "7", "7", 4).is_empty());
    let all = text(&KeyKind::Integer, "-9223372036854775808", "18446744073709551615", 2);
    assert_eq!(all, ["4611686018427387903"]);
}

#[test]
fn decimals_keep_enough_digits_and_no_exponent() {
    assert_eq!(text(&KeyKind::Number, "0", "1", 4), ["0.250", "0.500", "0.750"]);
    assert_eq!(text(&KeyKind::Number, "0.00001", "0.00002", 2), ["0.00001500"]);
    assert!(text(&KeyKind::Number, "1", "1", 4).is_empty());
}

#[test]
fn dates_know_the_calendar() {
    assert_eq!(text(&KeyKind::Moment, "2024-02-28", "2024-03-01", 2), ["2024-02-29"]);
    assert_eq!(text(&KeyKind::Moment, "1999-12-31", "2000-01-02", 2), ["2000-01-01"]);
    let noon = text(&KeyKind::Moment, "2024-01-01 00:00:00", "2024-01-02 00:00:00.5", 2);
    assert_eq!(noon, ["2024-01-01 12:00:00"]);
    assert_eq!(text(&KeyKind::Moment, "0000-00-00", "9999-12-31", 2).len(), 1);
}

#[test]
fn calendar_and_its_inverse_agree() {
    for days in (-800_000..3_000_000).step_by(997) {
        let (year, month, day) = civil_from_days(days);
        assert!((1..=12).contains(&month) && (1..=31).contains(&day));
        assert_eq!(days_from_civil(year, month, day), days);
    }
    assert_eq!(days_from_civil(1970, 1, 1), 0);
    assert_eq!(days_from_civil(2000, 2, 29), 11_016);
}

#[test]
fn texts_are_cut_after_what_they_share() {
    let keys = text(&utf8(), "user000001", "user999999", 4);
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|k| k.starts_with("user") && k.len() == 7), "{keys:?}");
    let sorted = keys.windows(2).all(|w| w[0] < w[1]);
    assert!(sorted, "{keys:?}");
}

#[test]
fn texts_that_begin_with_signs_or_foreign_letters_are_cut_too() {
    assert_eq!(text(&utf8(), "!a", "~z", 5).len(), 4);
    let keys = text(&utf8(), "яблоко", "ёлка", 3);
    assert_eq!(keys.len(), 1, "neighbours leave room for one: {keys:?}");
    assert!(text(&utf8(), "абв", "эюя", 5).len() >= 3);
}

#[test]
fn uuids_vary_where_the_server_sorts() {
    let v4 = text(&KeyKind::Uuid, "123e4567-e89b-42d3-a456-426614174000", "", 2);
    assert_eq!(v4, ["00000000-0000-4000-8000-800000000000"]);
    let v7 = text(&KeyKind::Uuid, "01890a5d-ac96-774b-bcce-b302099a8057", "", 2);
    assert_eq!(v7, ["80000000-0000-7000-8000-000000000000"]);
}

#[test]
fn ranges_leave_no_gap_between_them() {
    let k = |t: &str| t.as_bytes().to_vec();
    let kind = KeyKind::Integer;
    assert_eq!(key_condition(&kind, "k", None, Some(&k("5"))), "`k` < 5");
    assert_eq!(key_condition(&kind, "k", Some(&k("5")), Some(&k("9"))), "`k` >= 5 AND `k` < 9");
    assert_eq!(key_condition(&kind, "k", Some(&k("9")), None), "`k` >= 9");
    let text = KeyKind::Text { charset: "latin1".to_owned(), folded: false };
    assert_eq!(key_condition(&text, "a`b", Some(&k("é")), None), "`a``b` >= _latin1 x'C3A9'");
}

#[test]
fn kinds_follow_the_column() {
    let column = |data_type: &str, charset: Option<&str>| CatalogColumn {
        data_type: data_type.to_owned(),
        charset: charset.map(str::to_owned),
        ..CatalogColumn::default()
    };
    assert_eq!(KeyKind::from_column(&column("bigint", None)), Some(KeyKind::Integer));
    assert_eq!(KeyKind::from_column(&column("enum", Some("utf8mb4"))), None);
    assert_eq!(KeyKind::from_column(&column("varchar", Some("utf16"))), None);
    assert!(matches!(
        KeyKind::from_column(&column("char", Some("latin1"))),
        Some(KeyKind::Text { .. })
    ));
}

proptest! {
    #[test]
    fn hex_round_trips(bytes: Vec<u8>) {
        prop_assert_eq!(from_hex(to_hex(&bytes).as_bytes()), Some(bytes));
    }

    #[test]
    fn byte_strings_in_between_lie_in_between(mut a: Vec<u8>, mut b: Vec<u8>, chunks in 2u64..40) {
        if a > b {
            std::mem::swap(&mut a, &mut b);
        }
        let keys = KeyKind::Bytes.keys_between(&a, &b, chunks);
        prop_assert!(keys.len() < chunks as usize);
        let pad = |k: &KeyBytes| { let mut k = k.clone(); k.resize(k.len() + 64, 0); k };
        prop_assert!(keys.windows(2).all(|w| w[0] < w[1]));
        prop_assert!(keys.iter().all(|k| pad(k) > a && *k <= b || pad(k) <= pad(&b)));
    }

    #[test]
    fn no_text_makes_it_panic(a in "\\PC*", b in "\\PC*", chunks in 0u64..40) {
        for kind in [utf8(), KeyKind::Integer, KeyKind::Number, KeyKind::Moment, KeyKind::Uuid,
        KeyKind::Bytes] {
            let _ = kind.keys_between(&a.clone().into_bytes(), &b.clone().into_bytes(), chunks);
        }
    }
}
