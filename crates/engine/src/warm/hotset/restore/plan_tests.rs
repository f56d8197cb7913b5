use super::*;
use crate::warm::hotset::{HotSetOrigin, KeyColumn};

fn column(name: &str, data_type: &str) -> CatalogColumn {
    let text = data_type.contains("char");
    CatalogColumn {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        charset: text.then(|| "utf8mb4".to_owned()),
        collation: text.then(|| "utf8mb4_general_ci".to_owned()),
        ..CatalogColumn::default()
    }
}

fn table() -> CatalogTable {
    CatalogTable {
        database: "shop".to_owned(),
        name: "orders".to_owned(),
        columns: vec![column("id", "bigint"), column("city", "varchar"), column("pad", "char")],
        indexes: vec![
            CatalogIndex::of_columns("PRIMARY", &["id"]),
            CatalogIndex::of_columns("k", &["city"]),
        ],
        ..CatalogTable::default()
    }
}

fn hot(name: &str, key: &[&str], ranges: &[(u64, u64, u64)]) -> HotIndex {
    let literal = |n: &u64| vec![n.to_string().parse().unwrap(); key.len()];
    HotIndex {
        database: "shop".to_owned(),
        table: "orders".to_owned(),
        index: name.to_owned(),
        space: 7,
        index_id: 40,
        file_pages: 100,
        key: key
            .iter()
            .map(|c| KeyColumn { name: (*c).to_owned(), ..KeyColumn::default() })
            .collect(),
        ranges: ranges
            .iter()
            .map(|(low, high, heat)| KeyRange {
                low: literal(low),
                last: literal(low),
                high: literal(high),
                pages: 1,
                heat: *heat,
            })
            .collect(),
        ..HotIndex::default()
    }
}

fn set(indexes: Vec<HotIndex>) -> HotSet {
    HotSet {
        origin: HotSetOrigin { page_bytes: 16_384, ..HotSetOrigin::default() },
        indexes,
        ..HotSet::default()
    }
}

fn place(index: &str, table: &str, file_pages: u64) -> IndexLocations {
    let place = IndexLocation { index: index.to_owned(), table: table.to_owned(), file_pages };
    IndexLocations::from([((7, 40), place)])
}

fn is_same(hot: &HotSet, layout: &IndexLocations, page_bytes: u64) -> bool {
    match_indexes(hot, &[table()], layout, page_bytes, &mut Vec::new())[0].is_same
}

fn way(hot: HotIndex) -> ReadScope {
    match_indexes(&set(vec![hot]), &[table()], &IndexLocations::new(), 16_384, &mut Vec::new())
        .remove(0)
        .way
}

#[test]
fn pages_are_where_they_were_only_if_all_numbers_and_names_agree() {
    let one = set(vec![hot("PRIMARY", &["id"], &[])]);
    assert!(is_same(&one, &place("PRIMARY", "shop/orders", 100), 16_384));
    assert!(is_same(&one, &place("PRIMARY", "shop/orders", 300), 16_384), "a file may grow");
    assert!(!is_same(&one, &place("PRIMARY", "shop/orders", 99), 16_384));
    assert!(!is_same(&one, &place("PRIMARY", "shop/orders", 100), 8_192));
    assert!(!is_same(&one, &place("k", "shop/orders", 100), 16_384));
    assert!(!is_same(&one, &place("PRIMARY", "shop/people", 100), 16_384));
    assert!(!is_same(&one, &IndexLocations::new(), 16_384));
}

#[test]
fn what_is_gone_is_said_and_what_has_changed_is_scanned() {
    let mut notes = Vec::new();
    let gone = HotIndex { table: "people".to_owned(), ..hot("PRIMARY", &["id"], &[]) };
    let all = set(vec![gone, hot("nope", &["city"], &[])]);
    assert!(match_indexes(&all, &[table()], &IndexLocations::new(), 16_384, &mut notes).is_empty());
    assert_eq!(
        notes,
        [
            "shop.people.PRIMARY is left out: there is no such table",
            "shop.orders.nope is left out: there is no such index to read",
        ]
    );
    assert_eq!(way(hot("k", &["city", "id"], &[(1, 2, 0)])), ReadScope::Keys);
    let ReadScope::Whole(why) = way(hot("k", &["pad", "id"], &[(1, 2, 0)])) else {
        panic!("changed")
    };
    assert_eq!(why, "its key has other columns here: city, not pad");
    let mut other = hot("k", &["city", "id"], &[(1, 2, 0)]);
    other.key[0].collation = Some("utf8mb4_0900_ai_ci".to_owned());
    let ReadScope::Whole(why) = way(other) else { panic!("other order") };
    assert!(why.starts_with("city is ordered by utf8mb4_general_ci here"), "{why}");
    let whole = HotIndex { whole: Some("compressed".to_owned()), ..hot("k", &["city"], &[]) };
    assert_eq!(way(whole), ReadScope::Whole("compressed".to_owned()));
}

#[test]
fn the_hottest_comes_first_and_an_index_goes_together_within_a_slice() {
    let all = set(vec![
        hot("PRIMARY", &["id"], &[(10, 20, 0), (50, 60, 2), (70, 80, 90)]),
        hot("k", &["city", "id"], &[(5, 6, 1)]),
    ]);
    let found = match_indexes(&all, &[table()], &IndexLocations::new(), 16_384, &mut Vec::new());
    let refs: Vec<&IndexMatch<'_>> = found.iter().collect();
    let made = build_tasks(&refs, u64::MAX);
    assert_eq!(made.iter().map(|t| (t.unit, t.pages)).collect::<Vec<_>>(), [(0, 3), (1, 1)]);
    assert_eq!(
        made[0].condition,
        "((`id` > 10 OR `id` = 10) AND `id` < 20) OR ((`id` > 50 OR `id` = 50) AND `id` < 60) \
         OR ((`id` > 70 OR `id` = 70) AND `id` < 80)"
    );
    let one_by_one = build_tasks(&refs, 1);
    assert_eq!(one_by_one.iter().map(|t| t.unit).collect::<Vec<_>>(), [0, 1, 0, 0]);
    let marks: std::collections::HashSet<_> = one_by_one.iter().map(|t| t.mark.unwrap()).collect();
    assert_eq!(marks.len(), 4, "each piece has its own mark");
    assert_eq!(build_tasks(&refs, 1), one_by_one, "and the same in the next run");
}

#[test]
fn on_the_same_pages_only_hot_leaves_are_touched() {
    let all = set(vec![hot("PRIMARY", &["id"], &[(10, 20, 0), (50, 60, 2)])]);
    let layout = place("PRIMARY", "shop/orders", 100);
    let found = match_indexes(&all, &[table()], &layout, 16_384, &mut Vec::new());
    let made = build_tasks(&found.iter().collect::<Vec<_>>(), u64::MAX);
    assert_eq!(made[0].condition, "(`id` > 10 AND `id` < 11) OR (`id` > 50 AND `id` < 51)");
    let looked = sample_statements(found.iter());
    assert_eq!(looked.len(), 2);
    assert!(
        looked[1].ends_with("FORCE INDEX (`PRIMARY`) WHERE `id` > 50 AND `id` < 51"),
        "{looked:?}"
    );
}

#[test]
fn many_ranges_keep_the_order_of_heat_by_slices() {
    let ranges: Vec<_> = (0..10_000).map(|i| (i * 7_919 % 10_000, i, i)).collect();
    let all = set(vec![hot("PRIMARY", &["id"], &ranges)]);
    let found = match_indexes(&all, &[table()], &IndexLocations::new(), 16_384, &mut Vec::new());
    let made = build_tasks(&found.iter().collect::<Vec<_>>(), u64::MAX);
    assert_eq!(made.iter().map(|t| t.pages).sum::<u64>(), 10_000);
    assert!(made.len() >= 300 && made.iter().all(|t| t.pages <= RANGES as u64));
}

#[test]
fn the_mark_of_a_text_is_the_published_one() {
    assert_eq!(text_hash(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(text_hash("a"), 0xaf63_dc4c_8601_ec8c);
}
