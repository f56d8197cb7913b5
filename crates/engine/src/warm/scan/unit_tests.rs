use super::*;
use crate::warm::catalog::IndexPart;

fn column(name: &str, data_type: &str, nullable: bool) -> CatalogColumn {
    CatalogColumn {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        charset: data_type.contains("char").then(|| "utf8mb4".to_owned()),
        nullable,
        ..CatalogColumn::default()
    }
}

fn table() -> CatalogTable {
    CatalogTable {
        database: "shop".to_owned(),
        name: "or`ders".to_owned(),
        columns: vec![
            column("id", "bigint", false),
            column("city", "varchar", true),
            column("note", "text", true),
            column("maybe", "int", true),
            column("pad", "char", false),
        ],
        indexes: vec![
            CatalogIndex::of_columns("PRIMARY", &["id"]),
            CatalogIndex::of_columns("k", &["city", "id"]),
        ],
        ..CatalogTable::default()
    }
}

fn statements(table: &CatalogTable, blobs: BlobPolicy) -> Vec<String> {
    table_units(table, blobs, &mut Vec::new()).iter().map(|u| u.read_statement("")).collect()
}

#[test]
fn every_index_is_named_and_the_rows_are_read_by_a_column_in_no_index() {
    assert_eq!(
        statements(&table(), BlobPolicy::Leave),
        [
            "SELECT /* sweat warm */ COUNT(`pad`) FROM `shop`.`or``ders` FORCE INDEX (`PRIMARY`)",
            "SELECT /* sweat warm */ COUNT(`city`) FROM `shop`.`or``ders` FORCE INDEX (`k`)",
        ]
    );
}

#[test]
fn long_columns_are_read_only_when_asked() {
    let all = statements(&table(), BlobPolicy::Read);
    assert!(all[0].contains("COUNT(`pad`), SUM(LENGTH(`note`))"), "{}", all[0]);
    assert!(!all[1].contains("LENGTH"));
}

#[test]
fn a_table_without_any_key_is_read_without_an_index() {
    let mut table = table();
    table.indexes.clear();
    let units = table_units(&table, BlobPolicy::Leave, &mut Vec::new());
    assert_eq!(units.len(), 1);
    assert_eq!((units[0].index.as_str(), &units[0].first), (HIDDEN, &None));
    assert!(units[0].read_statement("").ends_with("`or``ders` USE INDEX ()"));
}

#[test]
fn each_partition_is_read_by_itself() {
    let mut table = table();
    table.partitions = vec!["p0".to_owned(), "p1".to_owned()];
    table.pages.insert(("p1".to_owned(), "k".to_owned()), 77);
    let units = table_units(&table, BlobPolicy::Leave, &mut Vec::new());
    assert_eq!(units.len(), 4);
    assert!(units[3].read_statement("").contains("PARTITION (`p1`) FORCE INDEX (`k`)"));
    assert_eq!((units[3].pages, units[1].pages), (77, 1));
}

#[test]
fn indexes_that_no_scan_reads_are_named() {
    let mut table = table();
    table.indexes.push(CatalogIndex {
        kind: "FULLTEXT".to_owned(),
        ..CatalogIndex::of_columns("f", &["note"])
    });
    table.indexes.push(CatalogIndex { ignored: true, ..CatalogIndex::of_columns("i", &["maybe"]) });
    let mut notes = Vec::new();
    assert_eq!(table_units(&table, BlobPolicy::Leave, &mut notes).len(), 2);
    assert_eq!(notes.len(), 2);
    assert!(notes[0].contains("or`ders.f is left out: a scan can't read a fulltext index"));
}

#[test]
fn a_cut_or_computed_first_part_keeps_the_index_in_one_piece() {
    let mut table = table();
    table.indexes[1].parts[0].cut = true;
    table.indexes.push(CatalogIndex {
        parts: vec![IndexPart { column: None, ..IndexPart::default() }],
        ..CatalogIndex::of_columns("expression", &[])
    });
    let units = table_units(&table, BlobPolicy::Leave, &mut Vec::new());
    assert!(units[1].first.is_none() && units[2].first.is_none());
    let (cut, expression) = (units[1].read_statement(""), units[2].read_statement(""));
    assert!(cut.contains("COUNT(*)") && cut.ends_with("WHERE `city` >= '' OR `city` IS NULL"));
    assert!(expression.contains("COUNT(*)") && expression.ends_with("(`expression`)"));
    table.indexes[1].parts[0].column = Some("note".to_owned());
    let mut notes = Vec::new();
    assert_eq!(self::table_units(&table, BlobPolicy::Leave, &mut notes).len(), 2);
    assert!(notes[0].contains("shop.or`ders.k is left out: reading it also reads"), "{notes:?}");
    assert_eq!(self::table_units(&table, BlobPolicy::Read, &mut notes).len(), 3);
}

#[test]
fn old_statistics_yield_to_the_size_of_the_files() {
    let mut table = table();
    table.pages.insert((String::new(), "PRIMARY".to_owned()), 1);
    table.pages.insert((String::new(), "k".to_owned()), 1);
    table.file_pages = Some(8_000);
    assert_eq!(table_units(&table, BlobPolicy::Leave, &mut Vec::new())[0].pages, 4_000);
    table.file_pages = Some(7);
    assert_eq!(table_units(&table, BlobPolicy::Leave, &mut Vec::new())[0].pages, 1);
}

#[test]
fn order_by_size_name_and_use() {
    let unit = |table: &str, index: &str, pages| ScanUnit {
        table: table.to_owned(),
        index: index.to_owned(),
        clustered: index == "PRIMARY",
        pages,
        ..table_units(&self::table(), BlobPolicy::Leave, &mut Vec::new())[0].clone()
    };
    let all = [unit("b", "k", 50), unit("a", "PRIMARY", 100), unit("a", "k", 70)];
    let names = |order, reads: &AccessCounts| {
        let mut units = all.to_vec();
        sort_units(&mut units, order, reads);
        units.iter().map(|u| format!("{}.{}", u.table, u.index)).collect::<Vec<_>>()
    };
    let none = AccessCounts::new();
    assert_eq!(names(ScanOrder::Size, &none), ["b.k", "a.k", "a.PRIMARY"]);
    assert_eq!(names(ScanOrder::Use, &none), ["b.k", "a.k", "a.PRIMARY"]);
    assert_eq!(names(ScanOrder::Name, &none), ["a.PRIMARY", "a.k", "b.k"]);
    let key = |t: &str, i: &str| ("shop".to_owned(), t.to_owned(), i.to_owned());
    let reads = AccessCounts::from([(key("a", "PRIMARY"), 1_000), (key("b", "k"), 100)]);
    assert_eq!(names(ScanOrder::Use, &reads), ["a.PRIMARY", "b.k", "a.k"]);
}
