//! YCSB's core workload as a mix. Names of properties and their defaults are YCSB's (Apache License 2.0).

use std::collections::BTreeMap;

use super::{MixText, quote};

/// Properties by name.
pub(in crate::workload::mix) type YcsbProperties = BTreeMap<String, String>;

/// Properties that shape a mix, with YCSB's defaults; zipfian is ours, as in its own files, and so is the number of operations.
const KNOWN: [(&str, &str); 29] = [
    ("table", "usertable"),
    ("recordcount", "1000"),
    ("insertstart", "0"),
    ("insertcount", ""),
    ("operationcount", "1000"),
    ("fieldcount", "10"),
    ("fieldlength", "100"),
    ("minfieldlength", "1"),
    ("fieldlengthdistribution", "constant"),
    ("fieldnameprefix", "field"),
    ("readallfields", "true"),
    ("writeallfields", "false"),
    ("readproportion", "0.95"),
    ("updateproportion", "0.05"),
    ("insertproportion", "0"),
    ("scanproportion", "0"),
    ("readmodifywriteproportion", "0"),
    ("requestdistribution", "zipfian"),
    ("minscanlength", "1"),
    ("maxscanlength", "1000"),
    ("scanlengthdistribution", "uniform"),
    ("insertorder", "hashed"),
    ("hotspotdatafraction", "0.2"),
    ("hotspotopnfraction", "0.8"),
    ("exponential.percentile", "95"),
    ("exponential.frac", "0.8571428571"),
    ("keys", "java"),
    ("dataintegrity", "false"),
    ("zeropadding", "1"),
];
/// Properties that say what sweat's flags say, or nothing here.
const IGNORED: [&str; 17] = [
    "workload",
    "readallfieldsbyname",
    "threadcount",
    "target",
    "maxexecutiontime",
    "core_workload_insertion_retry_limit",
    "core_workload_insertion_retry_interval",
    "measurementtype",
    "exporter",
    "exportfile",
    "label",
    "db",
    "dotransactions",
    "dropdata",
    "silence",
    "verbose",
    "command",
];

/// A property that is none of YCSB's core workload, and the one that may be meant. Those with a dot belong to a binding, to
/// measurements or to go-ycsb.
pub(in crate::workload::mix) fn unknown_property(
    given: &YcsbProperties,
) -> Option<(&str, Option<String>)> {
    let known = || KNOWN.iter().map(|(known, _)| *known).chain(IGNORED);
    let names = given.keys().map(String::as_str).filter(|name| !name.contains('.'));
    let mut wrong = names.filter(|name| !known().any(|known| known == *name));
    wrong.next().map(|name| (name, crate::plan::did_you_mean(name, known())))
}

/// Properties that are whole numbers, with the least and the most that they may be. A table has at most 1,000 fields here.
const WHOLE: [(&str, f64, f64); 9] = [
    ("recordcount", 1.0, MOST_COUNT),
    ("insertstart", 0.0, MOST_COUNT),
    ("insertcount", 1.0, MOST_COUNT),
    ("operationcount", 0.0, MOST_COUNT),
    ("fieldcount", 1.0, 1000.0),
    ("fieldlength", 0.0, MOST_COUNT),
    ("minfieldlength", 0.0, MOST_COUNT),
    ("minscanlength", 0.0, MOST_COUNT),
    ("maxscanlength", 1.0, MOST_COUNT),
];
/// Whole numbers up to here are exact as floating point numbers.
const MOST_COUNT: f64 = 9_007_199_254_740_992.0;
/// Properties that are true or false.
const SWITCHES: [&str; 3] = ["readallfields", "writeallfields", "dataintegrity"];

/// What is wrong with the value of a property, if anything is: a number that can't be read would be taken for another one.
pub(in crate::workload::mix) fn wrong_value(given: &YcsbProperties) -> Option<String> {
    let reason = |name: &str, text: &str| {
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        if let Some((_, least, most)) = WHOLE.iter().find(|(whole, ..)| *whole == name) {
            let is_whole =
                |number: &f64| number.fract() == 0.0 && (*least..=*most).contains(number);
            // Without a value it is the number of all records.
            let is_left_out = name == "insertcount" && text.is_empty();
            let is_right = is_left_out || number.as_ref().is_some_and(is_whole);
            return (!is_right).then(|| format!("is not a whole number from {least} to {most}"));
        }
        if name.ends_with("proportion") {
            let is_right = number.is_some_and(|number| number >= 0.0);
            return (!is_right).then(|| "is not a share from 0 on".to_owned());
        }
        let is_wrong = SWITCHES.contains(&name)
            && !["true", "false"].iter().any(|word| text.eq_ignore_ascii_case(word));
        is_wrong.then(|| "is neither true nor false".to_owned())
    };
    given.iter().find_map(|(name, text)| Some(format!("{name}: `{text}` {}", reason(name, text)?)))
}

/// Properties of the workloads A to F, beside the defaults.
pub(in crate::workload::mix) fn core_workload(letter: &str) -> Option<YcsbProperties> {
    let (read, update, other) = match letter {
        "a" => ("0.5", "0.5", None),
        "b" => ("0.95", "0.05", None),
        "c" => ("1", "0", None),
        "d" => ("0.95", "0", Some(("insertproportion", "0.05"))),
        "e" => ("0", "0", Some(("scanproportion", "0.95"))),
        "f" => ("0.5", "0", Some(("readmodifywriteproportion", "0.5"))),
        _ => return None,
    };
    let mut all: YcsbProperties =
        [("readproportion", read), ("updateproportion", update)].map(owned_pair).into();
    all.extend(other.map(owned_pair));
    match letter {
        "d" => all.extend([("requestdistribution", "latest")].map(owned_pair)),
        "e" => {
            all.extend([("insertproportion", "0.05"), ("maxscanlength", "100")].map(owned_pair));
        }
        _ => {}
    }
    Some(all)
}

fn owned_pair((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

/// Reads `name=value` lines.
pub fn parse_properties(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '!']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| owned_pair((name.trim(), value.trim()))).collect()
}

/// The same of a file of the core workload.
///
/// # Errors
/// When there are none, or what is wrong with one.
pub(in crate::workload::mix) fn read_properties(text: &str) -> Result<YcsbProperties, String> {
    let all = parse_properties(text);
    let is_known = all.keys().any(|name| KNOWN.iter().any(|(known, _)| known == name));
    match wrong_value(&all) {
        _ if !is_known => Err("it has no property of YCSB".to_owned()),
        Some(why) => Err(why),
        None => Ok(all),
    }
}

/// Numbers of the records that a table is loaded with and that requests ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::workload::mix) struct RecordRange {
    pub(in crate::workload::mix) first: u64,
    pub(in crate::workload::mix) count: u64,
}

impl RecordRange {
    /// By `insertstart` and `insertcount`: all of `recordcount` unless they say otherwise.
    pub(in crate::workload::mix) fn from_properties(given: &YcsbProperties) -> RecordRange {
        let number = |name: &str| given.get(name)?.parse::<f64>().ok().map(|number| number as u64);
        let first = number("insertstart").unwrap_or(0);
        let rest = number("recordcount").unwrap_or(1000).saturating_sub(first);
        RecordRange { first, count: number("insertcount").unwrap_or(rest).max(1) }
    }

    /// The number of the last one, as a mix computes it.
    fn last_formula(self) -> &'static str {
        if self.first > 0 { ":first + :records - 1" } else { ":records - 1" }
    }
}

/// The mix of these properties.
pub(in crate::workload::mix) fn write_mix(given: &YcsbProperties) -> MixText {
    let mut mix = MixText::default();
    note_unknown(given, &mut mix);
    let text = |name: &str| {
        let default = KNOWN.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        given.get(name).map_or(default, String::as_str).to_owned()
    };
    let number = |name: &str| text(name).parse::<f64>().unwrap_or(0.0);
    let table = super::name_of(&text("table"));
    let prefix = super::name_of(&text("fieldnameprefix"));
    let fields = (number("fieldcount") as u64).clamp(1, 1000);
    let length = field_length(&text, &mut mix);
    let range = RecordRange::from_properties(given);
    mix.sets.push(format!("records = {}", range.count));
    let (mut row_number, mut fresh_from) = (":row - 1".to_owned(), format!("stored({table})"));
    if range.first > 0 {
        mix.sets.push(format!("first = {}", range.first));
        row_number += " + :first";
        fresh_from = format!("max(:first + :records, {fresh_from})");
    }
    let keys = match text("insertorder").as_str() {
        "ordered" => "ordered".to_owned(),
        _ => text("keys"),
    };
    let key = |of: &str| format!("ycsb = \"{of}\", keys = {}", quote(&keys));
    let is_yes = |name: &str| text(name).eq_ignore_ascii_case("true");
    let is_checked = is_yes("dataintegrity");
    // What is stored of a key in a field: chosen anew, or what follows from both.
    let words = |key: &str, field: &str| match is_checked {
        true => format!(
            "ycsb-text = \"{key}\", prefix = {}, field = \"{field}\", length = {length}",
            quote(&prefix)
        ),
        false => format!("text = {{length = {length}}}"),
    };
    let column = |n: u64| {
        format!("{prefix}{n} = {{type = \"text\", {}}}\n", words(":ycsb_key", &n.to_string()))
    };
    mix.tables.push(table_section(&table, &key(&row_number), &mut (0..fields).map(column)));
    if text("zeropadding") != "1" {
        mix.add_note("zeropadding: keys have no zeros before them");
    }
    let inserts = number("insertproportion");
    mix.values = request_values(&text, range, inserts, &mut mix);
    if inserts > 0.0 {
        // Rows are counted before the load, which is not for nothing: only where there are new ones.
        mix.values.extend([
            format!("fresh_number = {{unique = {{from = \"{fresh_from}\", step = \"shared\"}}}}"),
            format!("fresh = {{{}}}", key(":fresh_number")),
        ]);
    }
    let draw = if is_checked { "" } else { ", draw = \"use\"" };
    mix.values.extend([
        format!("key = {{{}}}", key(":number")),
        format!("field = {{int = [0, {}]}}", fields - 1),
        format!("words = {{{}{draw}}}", words(":key", ":field")),
        scan_length(&text),
    ]);
    let checked = [("words", ":key"), ("fresh_words", ":fresh")];
    for (name, key) in &checked[..if inserts > 0.0 { 2 } else { 1 }] {
        let of = |n: u64| format!("{name}{n} = {{{}}}", words(key, &n.to_string()));
        mix.values.extend((0..fields).filter(|_| is_checked).map(of));
    }
    let shape = YcsbColumns {
        table: &table,
        prefix: &prefix,
        fields,
        reads_all: is_yes("readallfields"),
        writes_all: is_yes("writeallfields"),
        is_checked,
    };
    add_operations(&mut mix, &shape, &number);
    mix
}

/// Notes what is not carried.
fn note_unknown(given: &YcsbProperties, mix: &mut MixText) {
    for name in given.keys() {
        let is_known = KNOWN.iter().any(|(known, _)| known == name);
        if !is_known && !IGNORED.contains(&name.as_str()) {
            mix.add_note(format!("property `{name}`"));
        }
    }
}

/// The table, with the rule of its key and its other columns.
fn table_section(table: &str, key: &str, columns: &mut dyn Iterator<Item = String>) -> String {
    let columns: String = columns.collect();
    format!(
        "[table.{table}]\nrows = \":records\"\nkey = \"primary key (ycsb_key)\"\n\
         [table.{table}.columns]\nycsb_key = {{type = \"varchar(64) not null\", {key}}}\n\
         {columns}",
    )
}

/// How many rows a scan reads.
fn scan_length(text: &dyn Fn(&str) -> String) -> String {
    let by = match text("scanlengthdistribution").as_str() {
        "zipfian" => ", by = \"zipfian:0.99\"",
        _ => "",
    };
    let (least, most) = (text("minscanlength"), text("maxscanlength"));
    format!("scan_length = {{int = [{least}, {most}]{by}}}")
}

/// The length of a field, as a mix has it.
fn field_length(text: &dyn Fn(&str) -> String, mix: &mut MixText) -> String {
    let number = |name: &str| text(name).parse::<f64>().unwrap_or(0.0) as u64;
    let most = number("fieldlength");
    match text("fieldlengthdistribution").as_str() {
        "constant" => most.to_string(),
        "uniform" => format!("[{}, {most}]", number("minfieldlength").min(most)),
        other => {
            mix.add_note(format!("fieldlengthdistribution={other}: all fields have {most}"));
            most.to_string()
        }
    }
}

/// The number whose key is asked for, and what it needs. Numbers that are not stored yet are not drawn.
fn request_values(
    text: &dyn Fn(&str) -> String,
    range: RecordRange,
    inserts: f64,
    mix: &mut MixText,
) -> Vec<String> {
    let loaded = range.last_formula();
    let newest = if inserts > 0.0 { "last(fresh_number)" } else { loaded };
    let low = if range.first > 0 { "\":first\"" } else { "0" };
    let number = |high: &str, by: &str| format!("number = {{int = [{low}, \"{high}\"]{by}}}");
    let only = match text("requestdistribution").as_str() {
        "zipfian" => {
            let operations = text("operationcount").parse::<f64>().unwrap_or(0.0);
            let expected = (operations * inserts * 2.0) as u64;
            let law = if text("keys") == "go" { "scrambled:go" } else { "scrambled" };
            // The range of YCSB's generator has both its ends.
            let among = format!(", by = \"{law}\", among = \":records + {}\"", expected + 1);
            number(newest, &among)
        }
        "latest" => number(newest, ", by = \"latest:0.99\""),
        "uniform" => number(loaded, ""),
        "hotspot" => {
            let (keys, draws) = (text("hotspotdatafraction"), text("hotspotopnfraction"));
            number(loaded, &format!(", by = \"hotspot:{keys}:{draws}\""))
        }
        "exponential" => {
            let (percentile, share) = (text("exponential.percentile"), text("exponential.frac"));
            let by = format!("exponential:{percentile}:{share}");
            return vec![
                format!("age = {{int = [0, \":records - 1\"], by = \"{by}\"}}"),
                format!("number = {{expr = \"{newest} - :age\"}}"),
            ];
        }
        other => {
            mix.add_note(format!("requestdistribution={other}: keys are drawn evenly"));
            number(loaded, "")
        }
    };
    vec![only]
}

/// What statements need to know of the table.
struct YcsbColumns<'t> {
    table: &'t str,
    prefix: &'t str,
    fields: u64,
    reads_all: bool,
    writes_all: bool,
    /// Values follow from key and field, and are checked as they are read.
    is_checked: bool,
}

/// A transaction for each operation that has a share.
fn add_operations(mix: &mut MixText, shape: &YcsbColumns<'_>, number: &dyn Fn(&str) -> f64) {
    let YcsbColumns { table, prefix, fields, reads_all, writes_all, is_checked } = *shape;
    let one_field = format!("{prefix}{{{{field}}}}");
    let listed = |of: &dyn Fn(u64) -> String| (0..fields).map(of).collect::<Vec<_>>().join(", ");
    let words = |n: u64| if is_checked { format!(":words{n}") } else { ":words".to_owned() };
    let (read_fields, expected) = match (reads_all, is_checked) {
        (true, false) => ("*".to_owned(), String::new()),
        (false, false) => (one_field.clone(), String::new()),
        (true, true) => (listed(&|n| format!("{prefix}{n}")), listed(&|n| quote(&words(n)))),
        (false, true) => (one_field.clone(), quote(":words")),
    };
    let expected = match expected.as_str() {
        "" => String::new(),
        list => format!(", values = [{list}]"),
    };
    let read = format!("select {read_fields} from {table} where ycsb_key = :key");
    let read = quote(&read);
    let read = format!("{{sql = {read}, class = \"read\", expect = {{rows = \"1\"{expected}}}}}");
    let sets = match writes_all {
        false => format!("{one_field} = :words"),
        true => listed(&|n| format!("{prefix}{n} = {}", words(n))),
    };
    let update = format!("update {table} set {sets} where ycsb_key = :key");
    let update = format!("{{sql = {}, class = \"update\"}}", quote(&update));
    let fresh = |n: u64| if is_checked { format!(":fresh_words{n}") } else { words(n) };
    let holes = listed(&fresh);
    let insert = quote(&format!("insert into {table} values (:fresh, {holes})"));
    let scan = quote(&format!(
        "select {read_fields} from {table} where ycsb_key >= :key order by ycsb_key \
         limit :scan_length"
    ));
    for (property, class, steps) in [
        ("readproportion", "READ", read.clone()),
        ("updateproportion", "UPDATE", update.clone()),
        ("insertproportion", "INSERT", format!("{{sql = {insert}}}")),
        ("scanproportion", "SCAN", format!("{{sql = {scan}}}")),
        ("readmodifywriteproportion", "READ-MODIFY-WRITE", format!("{read}, {update}")),
    ] {
        let weight = number(property);
        if weight > 0.0 {
            let name = class.replace('-', "_");
            mix.transactions.push(format!(
                "[transaction.{name}]\nclass = \"{class}\"\nweight = {weight:?}\nbegin = false\n\
                 steps = [ {steps} ]"
            ));
        }
    }
}
