//! The words of sysbench 0.4 and 0.5: tests that 1.0 does not have any more, and what their options are called now.

use std::path::Path;

use super::lookup::{Benchmark, native_name};
use super::reader::{SysbenchWords, TestOptions};

/// Old names of options, and today's.
const RENAMED: &[(&str, &str)] = &[
    ("oltp-table-size", "table-size"),
    ("oltp-tables-count", "tables"),
    ("oltp-range-size", "range-size"),
    ("oltp-point-selects", "point-selects"),
    ("oltp-simple-ranges", "simple-ranges"),
    ("oltp-sum-ranges", "sum-ranges"),
    ("oltp-order-ranges", "order-ranges"),
    ("oltp-distinct-ranges", "distinct-ranges"),
    ("oltp-index-updates", "index-updates"),
    ("oltp-non-index-updates", "non-index-updates"),
    ("oltp-skip-trx", "skip-trx"),
    ("oltp-auto-inc", "auto-inc"),
    ("oltp-secondary", "secondary"),
    ("oltp-dist-type", "rand-type"),
    ("oltp-dist-iter", "rand-spec-iter"),
    ("oltp-dist-pct", "rand-spec-pct"),
    ("oltp-dist-res", "rand-spec-res"),
    ("mysql-table-engine", "mysql-storage-engine"),
];
/// Scripts of 0.5, and the workloads that do the same.
const SCRIPTS: &[(&str, &str)] = &[
    ("oltp", "oltp_read_write"),
    ("oltp_simple", "oltp_point_select"),
    ("select", "oltp_point_select"),
    ("insert", "oltp_insert"),
    ("delete", "oltp_delete"),
    ("update_index", "oltp_update_index"),
    ("update_non_index", "oltp_update_non_index"),
    ("bulk_insert", "bulk_insert"),
    ("select_random_points", "select_random_points"),
    ("select_random_ranges", "select_random_ranges"),
    ("parallel_prepare", "oltp_read_write"),
];
/// Modes of `fileio` that were typed as tests.
const FILE_MODES: [&str; 6] = ["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"];

/// A test of before 1.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LegacyTest {
    /// The same today; a workload of statements may become another one by its options.
    pub(super) benchmark: Benchmark,
    /// Options that its name stands for.
    pub(super) values: Vec<(String, String)>,
    /// Whether it is of 0.4: one table without a number, 10,000 events, no limit of time.
    pub(super) is_first: bool,
}

/// The test of before 1.0 that was named, if it is one.
pub(super) fn find_legacy(words: &SysbenchWords) -> Option<LegacyTest> {
    let test = words.test.as_deref()?;
    if FILE_MODES.contains(&test) {
        let values = vec![("file-test-mode".to_owned(), test.to_owned())];
        let benchmark = Benchmark::System("fileio");
        return Some(LegacyTest { benchmark, values, is_first: false });
    }
    let native = |name: &str| native_name(name).map(|name| Benchmark::Native(name, None));
    if test == "oltp" {
        let benchmark = native("oltp_read_write")?;
        return Some(LegacyTest { benchmark, values: Vec::new(), is_first: true });
    }
    let path = Path::new(test);
    let is_old_place = path.parent().is_some_and(|folder| folder.ends_with("db"));
    if !is_old_place || path.exists() || path.extension().is_some_and(|end| end != "lua") {
        return None;
    }
    let stem = path.file_stem()?.to_str()?;
    let (_, name) = SCRIPTS.iter().find(|(old, _)| *old == stem)?;
    Some(LegacyTest { benchmark: native(name)?, values: Vec::new(), is_first: false })
}

impl LegacyTest {
    /// The workload under these options, and its options by today's names.
    pub(super) fn translate(
        &self,
        options: &TestOptions,
    ) -> (Option<&'static str>, Vec<(String, String)>) {
        let mut values = self.values.clone();
        for (name, value) in options.plain_values() {
            let renamed = RENAMED.iter().find(|(old, _)| *old == name);
            let is_old = name.starts_with("oltp-") || name == "mysql-engine-trx";
            match renamed {
                Some((_, new)) => values.push(((*new).to_owned(), value)),
                None if is_old => {}
                None => values.push((name, value)),
            }
        }
        if self.is_first {
            let table = options.plain_value("oltp-table-name");
            values.push(("table-name".to_owned(), table.unwrap_or_else(|| "sbtest".to_owned())));
        }
        let Benchmark::Native(name, _) = self.benchmark else { return (None, values) };
        let told = |name: &str| options.plain_value(name).unwrap_or_default();
        let today = match (told("oltp-test-mode").as_str(), told("oltp-nontrx-mode").as_str()) {
            ("simple", _) | ("nontrx", "" | "select") => "oltp_point_select",
            ("nontrx", "update_key") => "oltp_update_index",
            ("nontrx", "update_nokey") => "oltp_update_non_index",
            ("nontrx", "insert") => "oltp_insert",
            ("nontrx", "delete") => "oltp_delete",
            _ if name == "oltp_read_write" && told("oltp-read-only") == "on" => "oltp_read_only",
            _ => name,
        };
        (native_name(today), values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::sysbench::option_table::OptionGroup;

    type Translated = (Option<&'static str>, Vec<(String, String)>);

    fn legacy(line: &str) -> Option<Translated> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let words = SysbenchWords::from_args(&args).unwrap();
        let test = find_legacy(&words)?;
        let groups = |group| matches!(group, OptionGroup::Legacy | OptionGroup::Oltp);
        Some(test.translate(&words.take_test_options(groups).unwrap()))
    }

    #[test]
    fn the_words_of_a_book_name_what_they_did() {
        let (name, values) =
            legacy("--test=oltp --oltp-table-size=1000000 --oltp-read-only=on run").unwrap();
        assert_eq!(name, Some("oltp_read_only"));
        let text: Vec<String> = values.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(text, ["table-size=1000000", "table-name=sbtest"]);
        let (name, _) =
            legacy("--test=oltp --oltp-test-mode=nontrx --oltp-nontrx-mode=insert run").unwrap();
        assert_eq!(name, Some("oltp_insert"));
        let (name, values) =
            legacy("--test=/opt/sysbench/tests/db/oltp.lua --oltp-tables-count=8 run").unwrap();
        assert_eq!((name, values.len()), (Some("oltp_read_write"), 1));
        assert_eq!(legacy("--test=seqwr prepare").unwrap().1[0].1, "seqwr");
        assert!(legacy("oltp_read_only run").is_none());
        assert!(legacy("--test=/x/own.lua run").is_none());
    }
}
