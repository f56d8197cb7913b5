use super::*;

fn found() -> StatementFindings {
    let class = StatementClass {
        digest: "select * from t where id=?".to_owned(),
        example: "select * from t\nwhere id=7 /* </script><b> */".to_owned(),
        database: Some("shop".to_owned()),
        count: 12_000,
        errors: 3,
        total_s: Some(6.0),
        share: Some(0.75),
        p50_s: Some(0.0004),
        p95_s: Some(0.001),
        p99_s: Some(0.002),
        max_s: Some(0.5),
        rows_sent: Some(12_000),
        rows_examined: Some(24_000),
        rows_affected: Some(0),
        first_unix_s: Some(1_795_245_129.0),
        last_unix_s: Some(1_795_245_189.5),
    };
    let bare = StatementClass {
        digest: "commit".to_owned(),
        example: "commit".to_owned(),
        count: 4,
        ..StatementClass::default()
    };
    StatementFindings {
        tool_version: "0.1.0".to_owned(),
        sources: vec!["slow.log".to_owned()],
        bytes: 5 << 20,
        records: 12_010,
        statements: 12_004,
        possible: 7,
        total_s: Some(8.0),
        classes_in_all: 2,
        classes: vec![class, bare],
        notes: vec!["6 records are commands".to_owned()],
    }
}

fn written(name: &str) -> String {
    let (_, write) = STATEMENT_FORMATS.iter().find(|(known, _)| *known == name).unwrap();
    let mut text = Vec::new();
    write(&found(), &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn text_fits_the_page_and_says_what_is_known() {
    let text = written("text");
    assert!(
        text.starts_with(
            "12 004 statements (7 of them only possible) in 2 classes, 8.00 s in all, \
             5.00\nMiB of log\n"
        ),
        "{text}"
    );
    assert!(text.contains("75") && text.contains("example  select * from t where id=7"));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn json_has_null_for_what_is_not_known() {
    let value: serde_json::Value = serde_json::from_str(&written("json")).unwrap();
    assert_eq!(value["classes"][0]["count"], 12_000);
    assert_eq!(value["classes"][0]["first"], "2026-11-21T07:12:09.000Z");
    assert!(value["classes"][1]["p50_s"].is_null());
}

#[test]
fn nothing_in_a_statement_becomes_markup() {
    let page = written("html");
    assert!(!page.contains("</script><b>"), "{page}");
    assert!(page.contains("&lt;/script&gt;&lt;b&gt;"));
    let heads = page.matches("<th scope=\"col\"").count();
    let first = page.split("<tbody>").nth(1).unwrap().split("</tr>").next().unwrap();
    assert_eq!(first.matches("<td").count() + 1, heads, "a head for each cell: {first}");
}
