//! Rows against clause 4.3.3 and the consistency conditions of clause 3.3.2, in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::*;

const WAREHOUSE: u32 = 3;

/// All rows of a table for one warehouse, as texts.
fn table_rows(seed: u64, table: TpccTable) -> Vec<Vec<String>> {
    let mut maker = RowMaker::new(LoadRecord::from_seed(seed));
    let mut tabbed = TabbedRows::default();
    let mut rows = 0;
    for group in 0..group_count(table) {
        rows += maker.write_group(table, WAREHOUSE, group, &mut tabbed);
    }
    let text = String::from_utf8(tabbed.bytes).unwrap();
    let list: Vec<Vec<String>> =
        text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect();
    assert_eq!(list.len(), rows as usize);
    let columns = table.shape().columns.len();
    assert!(list.iter().all(|row| row.len() == columns), "{table:?}: {columns} columns");
    list
}

/// Where a column stands.
fn column(table: TpccTable, name: &str) -> usize {
    table.shape().columns.iter().position(|(column, _)| *column == name).unwrap()
}

/// A column's values.
fn values<'a>(
    table: TpccTable,
    rows: &'a [Vec<String>],
    name: &str,
) -> impl Iterator<Item = &'a str> {
    let at = column(table, name);
    rows.iter().map(move |row| row[at].as_str())
}

/// The same as whole numbers; amounts without their point.
fn numbers(table: TpccTable, rows: &[Vec<String>], name: &str) -> Vec<i64> {
    values(table, rows, name).map(|text| text.replace('.', "").parse().unwrap()).collect()
}

fn assert_range(table: TpccTable, rows: &[Vec<String>], name: &str, least: i64, most: i64) {
    let numbers = numbers(table, rows, name);
    let (low, high) = (*numbers.iter().min().unwrap(), *numbers.iter().max().unwrap());
    assert!(least <= low && high <= most, "{name}: {low} to {high}");
    let slack = (most - least) / 100;
    assert!(low - least <= slack && most - high <= slack, "{name} ends early: {low} to {high}");
}

/// Texts of letters and digits of these lengths, of about the mean length.
fn assert_lengths(table: TpccTable, rows: &[Vec<String>], name: &str, least: usize, most: usize) {
    let mut sum = 0;
    for text in values(table, rows, name) {
        assert!((least..=most).contains(&text.len()), "{name}: {text}");
        assert!(text.bytes().all(|b| b.is_ascii_alphanumeric()), "{name}: {text}");
        sum += text.len();
    }
    let mean = sum as f64 / rows.len() as f64;
    let middle = (least + most) as f64 / 2.0;
    assert!(rows.len() < 1000 || (mean - middle).abs() < middle / 50.0, "{name}: mean {mean}");
}

/// A share of rows within 5 % of a tenth.
fn assert_tenth(count: usize, of: usize, what: &str) {
    assert!((95 * of..=105 * of).contains(&(count * 1000)), "{what}: {count} of {of}");
}

#[test]
fn items_and_stock_are_as_specified() {
    let table = TpccTable::Item;
    let rows = table_rows(1, table);
    assert_eq!(numbers(table, &rows, "i_id"), (1..=100_000).collect::<Vec<_>>());
    assert_range(table, &rows, "i_im_id", 1, 10_000);
    assert_range(table, &rows, "i_price", 100, 10_000);
    assert_lengths(table, &rows, "i_name", 14, 24);
    assert_lengths(table, &rows, "i_data", 26, 50);
    let original = values(table, &rows, "i_data").filter(|text| text.contains("ORIGINAL"));
    assert_tenth(original.count(), rows.len(), "ORIGINAL");

    let table = TpccTable::Stock;
    let rows = table_rows(1, table);
    assert_eq!(numbers(table, &rows, "s_i_id"), (1..=100_000).collect::<Vec<_>>());
    assert_range(table, &rows, "s_quantity", 10, 100);
    for district in 1..=10 {
        assert_lengths(table, &rows, &format!("s_dist_{district:02}"), 24, 24);
    }
    assert_lengths(table, &rows, "s_data", 26, 50);
    let original = values(table, &rows, "s_data").filter(|text| text.contains("ORIGINAL"));
    assert_tenth(original.count(), rows.len(), "ORIGINAL");
    for name in ["s_ytd", "s_order_cnt", "s_remote_cnt"] {
        assert!(values(table, &rows, name).all(|text| text == "0"));
    }
}

#[test]
fn customers_are_as_specified() {
    let table = TpccTable::Customer;
    let rows = table_rows(2, table);
    assert_eq!(rows.len(), 30_000);
    let ids: BTreeSet<_> =
        rows.iter().map(|row| (row[0].clone(), row[1].clone(), row[2].clone())).collect();
    assert_eq!(ids.len(), rows.len());
    for (name, least, most) in [("c_first", 8, 16), ("c_street_1", 10, 20), ("c_city", 10, 20)] {
        assert_lengths(table, &rows, name, least, most);
    }
    assert_lengths(table, &rows, "c_state", 2, 2);
    assert_lengths(table, &rows, "c_data", 300, 500);
    assert_range(table, &rows, "c_discount", 0, 5_000);
    assert!(values(table, &rows, "c_phone").all(|p| p.len() == 16 && p.parse::<u64>().is_ok()));
    let is_zip = |zip: &str| zip.len() == 9 && zip.ends_with("11111") && zip.parse::<u64>().is_ok();
    assert!(values(table, &rows, "c_zip").all(is_zip));
    for (name, value) in [
        ("c_middle", "OE"),
        ("c_credit_lim", "50000.00"),
        ("c_balance", "-10.00"),
        ("c_ytd_payment", "10.00"),
        ("c_payment_cnt", "1"),
        ("c_delivery_cnt", "0"),
    ] {
        assert!(values(table, &rows, name).all(|text| text == value), "{name}");
    }
    let bad = values(table, &rows, "c_credit").filter(|text| *text == "BC").count();
    assert_eq!(bad, rows.len() / 10);
    let names: Vec<&str> = values(table, &rows, "c_last").collect();
    assert_eq!((names[0], names[371], names[999]), ("BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING"));
    // The first thousand have each name once; the others favour some names.
    let first: BTreeSet<_> = names[..1000].iter().collect();
    assert_eq!(first.len(), 1000);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for district in names.chunks(3000) {
        district[1000..].iter().for_each(|name| *counts.entry(*name).or_default() += 1);
    }
    let mut counts: Vec<usize> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let hottest: usize = counts[..100].iter().sum();
    assert!((5_000..12_000).contains(&hottest), "of 20,000: {hottest}");
}

#[test]
fn orders_and_lines_fit_each_other() {
    let (orders, lines) = (TpccTable::Orders, TpccTable::OrderLine);
    let order_rows = table_rows(3, orders);
    let line_rows = table_rows(3, lines);
    let mut districts: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    let of = numbers(orders, &order_rows, "o_d_id");
    for (district, customer) in of.iter().zip(numbers(orders, &order_rows, "o_c_id")) {
        districts.entry(*district).or_default().insert(customer);
    }
    let everybody: BTreeSet<i64> = (1..=3000).collect();
    assert_eq!(districts.len(), 10);
    assert!(districts.values().all(|customers| *customers == everybody), "each customer once");
    let first = |district: usize| numbers(orders, &order_rows, "o_c_id")[3000 * district];
    assert_ne!((first(0), first(1)), (first(2), first(3)), "districts differ");
    assert_range(orders, &order_rows, "o_ol_cnt", 5, 15);
    assert_range(lines, &line_rows, "ol_amount", 0, 999_999);
    assert_range(lines, &line_rows, "ol_i_id", 1, 100_000);
    assert_lengths(lines, &line_rows, "ol_dist_info", 24, 24);
    assert!((297_000..=303_000).contains(&line_rows.len()), "{}", line_rows.len());

    // Conditions 4 and 6: as many lines as the order says, numbered from 1.
    let mut next = line_rows.iter();
    for order in &order_rows {
        let count: u32 = order[column(orders, "o_ol_cnt")].parse().unwrap();
        let is_open = order[column(orders, "o_carrier_id")] == "\\N";
        let id: u32 = order[column(orders, "o_id")].parse().unwrap();
        assert_eq!(is_open, id >= 2101);
        for number in 1..=count {
            let line = next.next().unwrap();
            assert_eq!(line[..3], order[..3]);
            assert_eq!(line[column(lines, "ol_number")], number.to_string());
            // Condition 7.
            let delivered = &line[column(lines, "ol_delivery_d")];
            assert_eq!(delivered == "\\N", is_open);
            assert!(is_open || *delivered == order[column(orders, "o_entry_d")]);
            assert_eq!(line[column(lines, "ol_amount")] == "0.00", !is_open);
        }
    }
    assert!(next.next().is_none());

    // Conditions 2, 3, 5 and 11: the new orders are those from 2101 on.
    let table = TpccTable::NewOrder;
    let rows = table_rows(3, table);
    let open: Vec<_> = order_rows
        .iter()
        .filter(|order| order[column(orders, "o_carrier_id")] == "\\N")
        .map(|order| order[..3].to_vec())
        .collect();
    assert_eq!(rows, open);
    let district = table_rows(3, TpccTable::District);
    assert_eq!(district.len(), 10);
    assert!(values(TpccTable::District, &district, "d_next_o_id").all(|next| next == "3001"));
}

/// Conditions 1, 8, 9, 10 and 12. Delivered lines have no amount, so a balance is what was paid.
#[test]
fn amounts_add_up() {
    let (districts, history) = (TpccTable::District, TpccTable::History);
    let warehouse = table_rows(4, TpccTable::Warehouse);
    let district_rows = table_rows(4, districts);
    let history_rows = table_rows(4, history);
    let w_ytd = numbers(TpccTable::Warehouse, &warehouse, "w_ytd")[0];
    let d_ytd = numbers(districts, &district_rows, "d_ytd");
    assert_eq!(w_ytd, d_ytd.iter().sum::<i64>());
    let paid = numbers(history, &history_rows, "h_amount");
    assert_eq!(w_ytd, paid.iter().sum::<i64>());
    for (district, ytd) in (1..=10).zip(d_ytd) {
        let of = numbers(history, &history_rows, "h_d_id");
        let sum: i64 = of.iter().zip(&paid).filter(|(d, _)| **d == district).map(|(_, a)| a).sum();
        assert_eq!(sum, ytd);
    }
    let lines = table_rows(4, TpccTable::OrderLine);
    let delivered: i64 = lines
        .iter()
        .filter(|line| line[column(TpccTable::OrderLine, "ol_delivery_d")] != "\\N")
        .map(|line| line[column(TpccTable::OrderLine, "ol_amount")].replace('.', ""))
        .map(|amount| amount.parse::<i64>().unwrap())
        .sum();
    assert_eq!(delivered, 0);
    // One payment of 10.00 each, which the tests of customers compare with balance and total.
    let payers: BTreeSet<_> = history_rows.iter().map(|row| row[..3].to_vec()).collect();
    assert_eq!((payers.len(), paid.len()), (30_000, 30_000));
    assert!(paid.iter().all(|amount| *amount == 1_000));
    for (table, rows, prefix) in
        [(TpccTable::Warehouse, &warehouse, "w"), (districts, &district_rows, "d")]
    {
        assert_lengths(table, rows, &format!("{prefix}_name"), 6, 10);
        let tax = numbers(table, rows, &format!("{prefix}_tax"));
        assert!(tax.iter().all(|tax| (0..=2000).contains(tax)), "{tax:?}");
    }
    assert_lengths(history, &history_rows, "h_data", 12, 24);
}

#[test]
fn a_row_depends_on_nothing_but_seed_table_and_key() {
    let mut maker = RowMaker::new(LoadRecord::from_seed(5));
    let mut row = |table, warehouse, group| {
        let mut tabbed = TabbedRows::default();
        maker.write_group(table, warehouse, group, &mut tabbed);
        tabbed.bytes
    };
    let keys = [(1, 0), (2, 0), (1, 2999), (1, 3000), (7, 29_999)];
    for table in [TpccTable::Customer, TpccTable::Orders, TpccTable::OrderLine] {
        let forward: Vec<_> = keys.map(|(warehouse, group)| row(table, warehouse, group)).into();
        for ((warehouse, group), first) in keys.iter().zip(&forward).rev() {
            assert_eq!(row(table, *warehouse, *group), *first);
        }
        assert_eq!(forward.iter().collect::<BTreeSet<_>>().len(), keys.len(), "all differ");
    }
    assert_ne!(table_rows(1, TpccTable::Warehouse), table_rows(2, TpccTable::Warehouse));
}

/// Random letters and digits carry close to six bits each: a compressor finds nothing else in them.
#[test]
fn texts_do_not_compress() {
    use std::io::Write as _;
    let mut maker = RowMaker::new(LoadRecord::from_seed(6));
    let mut tabbed = TabbedRows::default();
    for group in 0..2000 {
        maker.write_group(TpccTable::Stock, 1, group, &mut tabbed);
    }
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(&tabbed.bytes).unwrap();
    let packed = packed.finish().unwrap().len();
    assert!(packed * 10 > tabbed.bytes.len() * 7, "{packed} of {}", tabbed.bytes.len());
}
