use super::*;
use crate::warm::catalog::Part;

fn column(name: &str, data_type: &str, nullable: bool) -> Column {
    Column {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        charset: data_type.contains("char").then(|| "utf8mb4".to_owned()),
        nullable,
        ..Column::default()
    }
}

fn index(name: &str, parts: &[&str]) -> Index {
    let part = |c: &&str| Part { column: Some((*c).to_owned()), ..Part::default() };
    Index {
        name: name.to_owned(),
        unique: name == "PRIMARY",
        kind: "BTREE".to_owned(),
        parts: parts.iter().map(part).collect(),
        ignored: false,
    }
}

fn table() -> Table {
    Table {
        database: "shop".to_owned(),
        name: "or`ders".to_owned(),
        columns: vec![
            column("id", "bigint", false),
            column("city", "varchar", true),
            column("note", "text", true),
            column("maybe", "int", true),
            column("pad", "char", false),
        ],
        indexes: vec![index("PRIMARY", &["id"]), index("k", &["city", "id"])],
        ..Table::default()
    }
}

fn statements(table: &Table, blobs: Blobs) -> Vec<String> {
    units(table, blobs, &mut Vec::new()).iter().map(|u| u.statement("")).collect()
}

#[test]
fn every_index_is_named_and_the_rows_are_read_by_a_column_in_no_index() {
    assert_eq!(
        statements(&table(), Blobs::Leave),
        [
            "SELECT /* sweat warm */ COUNT(`pad`) FROM `shop`.`or``ders` FORCE INDEX (`PRIMARY`)",
            "SELECT /* sweat warm */ COUNT(`city`) FROM `shop`.`or``ders` FORCE INDEX (`k`)",
        ]
    );
}

#[test]
fn long_columns_are_read_only_when_asked() {
    let all = statements(&table(), Blobs::Read);
    assert!(all[0].contains("COUNT(`pad`), SUM(LENGTH(`note`))"), "{}", all[0]);
    assert!(!all[1].contains("LENGTH"));
}

#[test]
fn a_table_without_any_key_is_read_without_an_index() {
    let mut table = table();
    table.indexes.clear();
    let units = units(&table, Blobs::Leave, &mut Vec::new());
    assert_eq!(units.len(), 1);
    assert_eq!((units[0].index.as_str(), &units[0].first), (HIDDEN, &None));
    assert!(units[0].statement("").ends_with("`or``ders` USE INDEX ()"));
}

#[test]
fn each_partition_is_read_by_itself() {
    let mut table = table();
    table.partitions = vec!["p0".to_owned(), "p1".to_owned()];
    table.pages.insert(("p1".to_owned(), "k".to_owned()), 77);
    let units = units(&table, Blobs::Leave, &mut Vec::new());
    assert_eq!(units.len(), 4);
    assert!(units[3].statement("").contains("PARTITION (`p1`) FORCE INDEX (`k`)"));
    assert_eq!((units[3].pages, units[1].pages), (77, 1));
}

#[test]
fn indexes_that_no_scan_reads_are_named() {
    let mut table = table();
    table.indexes.push(Index { kind: "FULLTEXT".to_owned(), ..index("f", &["note"]) });
    table.indexes.push(Index { ignored: true, ..index("i", &["maybe"]) });
    let mut notes = Vec::new();
    assert_eq!(units(&table, Blobs::Leave, &mut notes).len(), 2);
    assert_eq!(notes.len(), 2);
    assert!(notes[0].contains("or`ders.f is left out: no scan reads a fulltext index"));
}

#[test]
fn a_cut_or_computed_first_part_keeps_the_index_in_one_piece() {
    let mut table = table();
    table.indexes[1].parts[0].cut = true;
    table.indexes.push(Index {
        parts: vec![Part { column: None, ..Part::default() }],
        ..index("expression", &[])
    });
    let units = units(&table, Blobs::Leave, &mut Vec::new());
    assert!(units[1].first.is_none() && units[2].first.is_none());
    let (cut, expression) = (units[1].statement(""), units[2].statement(""));
    assert!(cut.contains("COUNT(*)") && cut.ends_with("WHERE `city` >= '' OR `city` IS NULL"));
    assert!(expression.contains("COUNT(*)") && expression.ends_with("(`expression`)"));
    table.indexes[1].parts[0].column = Some("note".to_owned());
    let mut notes = Vec::new();
    assert_eq!(self::units(&table, Blobs::Leave, &mut notes).len(), 2);
    assert!(notes[0].contains("shop.or`ders.k is left out: to read it means"), "{notes:?}");
    assert_eq!(self::units(&table, Blobs::Read, &mut notes).len(), 3);
}

#[test]
fn old_statistics_yield_to_the_size_of_the_files() {
    let mut table = table();
    table.pages.insert((String::new(), "PRIMARY".to_owned()), 1);
    table.pages.insert((String::new(), "k".to_owned()), 1);
    table.file_pages = Some(8_000);
    assert_eq!(units(&table, Blobs::Leave, &mut Vec::new())[0].pages, 4_000);
    table.file_pages = Some(7);
    assert_eq!(units(&table, Blobs::Leave, &mut Vec::new())[0].pages, 1);
}

#[test]
fn order_by_size_name_and_use() {
    let unit = |table: &str, index: &str, pages| Unit {
        table: table.to_owned(),
        index: index.to_owned(),
        clustered: index == "PRIMARY",
        pages,
        ..units(&self::table(), Blobs::Leave, &mut Vec::new())[0].clone()
    };
    let all = [unit("b", "k", 50), unit("a", "PRIMARY", 100), unit("a", "k", 70)];
    let names = |order, reads: &Reads| {
        let mut units = all.to_vec();
        arrange(&mut units, order, reads);
        units.iter().map(|u| format!("{}.{}", u.table, u.index)).collect::<Vec<_>>()
    };
    let none = Reads::new();
    assert_eq!(names(Order::Size, &none), ["b.k", "a.k", "a.PRIMARY"]);
    assert_eq!(names(Order::Use, &none), ["b.k", "a.k", "a.PRIMARY"]);
    assert_eq!(names(Order::Name, &none), ["a.PRIMARY", "a.k", "b.k"]);
    let key = |t: &str, i: &str| ("shop".to_owned(), t.to_owned(), i.to_owned());
    let reads = Reads::from([(key("a", "PRIMARY"), 1_000), (key("b", "k"), 100)]);
    assert_eq!(names(Order::Use, &reads), ["a.PRIMARY", "b.k", "a.k"]);
}
