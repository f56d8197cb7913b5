//! YCSB's core workload as a mix. Names of properties and their defaults are YCSB's (Apache License 2.0).

use std::collections::BTreeMap;

use super::{MixText, quote};

/// Properties by name.
pub(in crate::workload::mix) type YcsbProperties = BTreeMap<String, String>;

/// Properties that shape a mix, with YCSB's defaults; zipfian is ours, as in its own files.
const KNOWN: [(&str, &str); 20] = [
    ("table", "usertable"),
    ("recordcount", "1000"),
    ("fieldcount", "10"),
    ("fieldlength", "100"),
    ("fieldnameprefix", "field"),
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
];
/// Properties that say what sweat's flags say, or nothing here.
const IGNORED: [&str; 6] =
    ["workload", "readallfields", "operationcount", "threadcount", "target", "maxexecutiontime"];

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
///
/// # Errors
/// When there are none.
pub(in crate::workload::mix) fn read_properties(text: &str) -> Result<YcsbProperties, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with(['#', '!']));
    let pairs = lines.filter_map(|line| line.split_once('='));
    let all: YcsbProperties =
        pairs.map(|(name, value)| owned_pair((name.trim(), value.trim()))).collect();
    let is_known = all.keys().any(|name| KNOWN.iter().any(|(known, _)| known == name));
    if is_known { Ok(all) } else { Err("it has no property of YCSB".to_owned()) }
}

/// The mix of these properties.
pub(in crate::workload::mix) fn write_mix(given: &YcsbProperties) -> MixText {
    let mut mix = MixText::default();
    for name in given.keys() {
        let is_known = KNOWN.iter().any(|(known, _)| known == name);
        if !is_known && !IGNORED.contains(&name.as_str()) {
            mix.add_note(format!("property `{name}`"));
        }
    }
    let text = |name: &str| {
        let default = KNOWN.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value);
        given.get(name).map_or(default, String::as_str).to_owned()
    };
    let number = |name: &str| text(name).parse::<f64>().unwrap_or(0.0);
    let table = super::name_of(&text("table"));
    let prefix = super::name_of(&text("fieldnameprefix"));
    let fields = (number("fieldcount") as u64).clamp(1, 1000);
    let length = number("fieldlength") as u64;
    mix.sets.push(format!("records = {}", (number("recordcount") as u64).max(1)));
    let key = |of: &str| match text("insertorder").as_str() {
        "ordered" => format!("template = \"user{{{of}}}\""),
        _ => format!("ycsb = \":{of}\", keys = {}", quote(&text("keys"))),
    };
    let row_key = key("number");
    let columns: String = (0..fields)
        .map(|n| format!("{prefix}{n} = {{type = \"text\", text = {{length = {length}}}}}\n"))
        .collect();
    mix.tables.push(format!(
        "[table.{table}]\nrows = \":records\"\nkey = \"primary key (ycsb_key)\"\n\
         [table.{table}.columns]\nycsb_key = {{type = \"varchar(64) not null\", {}}}\n{columns}",
        row_key.replace(":number", ":row - 1").replace("{number}", "{row}")
    ));
    if text("insertorder") == "ordered" {
        mix.add_note("insertorder=ordered: keys of rows begin at 1, not at 0");
    }
    let by = request_law(&text, &mut mix);
    let scan_by = match text("scanlengthdistribution").as_str() {
        "zipfian" => ", by = \"zipfian:0.99\"",
        _ => "",
    };
    let (least, most) = (text("minscanlength"), text("maxscanlength"));
    mix.values = vec![
        format!("number = {{int = [0, \":records - 1\"]{by}}}"),
        format!("key = {{{row_key}}}"),
        format!("fresh_number = {{unique = {{from = \"stored({table})\", step = \"shared\"}}}}"),
        format!("fresh = {{{}}}", key("fresh_number")),
        format!("field = {{int = [0, {}]}}", fields - 1),
        format!("words = {{text = {{length = {length}}}, draw = \"use\"}}"),
        format!("scan_length = {{int = [{least}, {most}]{scan_by}}}"),
    ];
    add_operations(&mut mix, (&table, &prefix), fields, &number);
    mix
}

/// How keys of requests are drawn.
fn request_law(text: &dyn Fn(&str) -> String, mix: &mut MixText) -> String {
    match text("requestdistribution").as_str() {
        "zipfian" => ", by = \"zipfian:0.99\", scatter = true".to_owned(),
        "latest" => ", by = \"latest:0.99\"".to_owned(),
        "uniform" => String::new(),
        "hotspot" => {
            let (keys, draws) = (text("hotspotdatafraction"), text("hotspotopnfraction"));
            format!(", by = \"hotspot:{keys}:{draws}\"")
        }
        "exponential" => {
            let (percentile, share) = (text("exponential.percentile"), text("exponential.frac"));
            format!(", by = \"exponential:{percentile}:{share}\"")
        }
        other => {
            mix.add_note(format!("requestdistribution={other}: keys are drawn evenly"));
            String::new()
        }
    }
}

/// A transaction for each operation that has a share.
fn add_operations(
    mix: &mut MixText,
    (table, prefix): (&str, &str),
    fields: u64,
    number: &dyn Fn(&str) -> f64,
) {
    let read = format!("select * from {table} where ycsb_key = :key");
    let read = format!("{{sql = {}, class = \"read\", expect = {{rows = \"1\"}}}}", quote(&read));
    let update = format!("update {table} set {prefix}{{{{field}}}} = :words where ycsb_key = :key");
    let update = format!("{{sql = {}, class = \"update\"}}", quote(&update));
    let holes = vec![":words"; fields as usize].join(", ");
    let insert = quote(&format!("insert into {table} values (:fresh, {holes})"));
    let scan = quote(&format!(
        "select * from {table} where ycsb_key >= :key order by ycsb_key limit :scan_length"
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
