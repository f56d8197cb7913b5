//! From the text of a file to its spec: dictionaries, tables and values. All mistakes together, each with its line.

use super::formula::{Formula, OwnedScalar};
use super::formula_parser::{is_name_char, is_name_start, parse_formula};
use super::pieces::{LONGEST_TEXT, parse_law, parse_length, parse_moment, parse_template};
use super::read_steps::{read_sessions, read_transactions};
use super::spec::{
    ColumnSpec, DataSource, DataSpec, DrawMode, LawSpec, LengthSpec, MixSpec, NamedFormula,
    PickOrder, RuleSpec, SetSpec, TableSpec, ValueSpec, YcsbKeyForm,
};
use crate::base::RealClock;
use crate::base::units::ByteSize;
use crate::plan::{Mistake, PlanSection, read_document};

/// The format that is read.
const FORMAT: u64 = 1;
/// Letters of a text that names none.
const LETTERS: &str = "a-z";
/// Deepest nesting of mixtures.
const DEEPEST: usize = 8;

/// Reads a file.
///
/// # Errors
/// All mistakes together, in the order of the text.
pub(super) fn read_spec(text: &str) -> Result<MixSpec, Vec<Mistake>> {
    read_document(text, |root| {
        if root.read_count("format", FORMAT, FORMAT).is_none() && !root.has_key("format") {
            let hint = format!("begin the file with format = {FORMAT}");
            root.add_mistake("format", "the file does not say its format", Some(hint));
        }
        root.read_text("about");
        let spec = MixSpec {
            sets: read_sets(&root.read_section("set")),
            data: read_data(&root.read_section("data")),
            tables: read_tables(&root.read_section("table")),
            values: read_values(&root.read_section("value")),
            transactions: read_transactions(&root.read_section("transaction")),
            sessions: read_sessions(&root.read_section("session")),
        };
        if spec.transactions.is_empty() {
            let hint = "as in [transaction.read] with steps = [ {sql = \"..\"} ]";
            root.add_mistake("transaction", "there is nothing to run", Some(hint.to_owned()));
        }
        root.check_unknown_keys();
        spec
    })
}

/// Complains about a name that could not be written as `:name`.
pub(super) fn check_name(section: &PlanSection<'_>, name: &str) {
    if !name.starts_with(is_name_start) || !name.chars().all(is_name_char) {
        let hint = "letters, digits and _, as in product_id";
        section.add_own_mistake(&format!("`{name}` is not a name"), Some(hint.to_owned()));
    }
}

pub(super) fn read_sets(section: &PlanSection<'_>) -> Vec<SetSpec> {
    let pairs = section.read_pairs().into_iter();
    pairs
        .map(|(name, text, _)| SetSpec {
            value: OwnedScalar::from_typed(
                &text.replace('_', if is_number(&text) { "" } else { "_" }),
            ),
            name,
        })
        .collect()
}

/// Whether a text is a number as TOML writes them: `90_000`.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
        && text[1..].chars().all(|c| c.is_ascii_digit() || c == '_')
}

/// A formula under this key.
pub(super) fn read_formula(section: &PlanSection<'_>, key: &'static str) -> Option<NamedFormula> {
    parse_formula_of(section, key, &section.read_text(key)?)
}

/// The same of a text that was read there.
pub(super) fn parse_formula_of(
    section: &PlanSection<'_>,
    key: &'static str,
    text: &str,
) -> Option<NamedFormula> {
    match parse_formula(text) {
        Ok(formula) => Some(formula),
        Err(why) => {
            section.add_mistake(key, &why, None);
            None
        }
    }
}

pub(super) fn read_data(section: &PlanSection<'_>) -> Vec<DataSpec> {
    let read = |(name, data): (String, PlanSection<'_>)| {
        check_name(&data, &name);
        let list = data.read_texts("list");
        let file = data.read_text("file");
        let query = data.read_text("query");
        let given = [list.is_some(), file.is_some(), query.is_some()];
        if given.iter().filter(|is_given| **is_given).count() != 1 {
            let hint = "one of file, list and query";
            data.add_own_mistake("it has no source, or several", Some(hint.to_owned()));
        }
        if list.as_ref().is_some_and(Vec::is_empty) {
            data.add_mistake("list", "the list is empty", None);
        }
        let field = data.read_count("field", 1, 10_000);
        let delimiter = data.read_text("delimiter").unwrap_or_else(|| "\t".to_owned());
        let header = data.read_switch("header").unwrap_or(false);
        let source = match (list, file, query) {
            (Some(list), ..) => {
                DataSource::List(list.iter().map(|text| OwnedScalar::from_typed(text)).collect())
            }
            (_, Some(path), _) => DataSource::File { path, field, delimiter, header },
            (_, _, query) => DataSource::Query(query.unwrap_or_default()),
        };
        let spec = DataSpec {
            place: data.place_text(),
            every: data.read_count("every", 1, u64::MAX).unwrap_or(1),
            most: data.read_count("max", 1, 100_000_000).unwrap_or(1_000_000),
            name,
            source,
        };
        data.check_unknown_keys();
        spec
    };
    section.named_sections().into_iter().map(read).collect()
}

fn read_tables(section: &PlanSection<'_>) -> Vec<TableSpec> {
    let read = |(name, table): (String, PlanSection<'_>)| {
        check_name(&table, &name);
        let create = table.read_text("create");
        let fill = table.read_text("fill");
        if fill.as_deref().is_some_and(|fill| fill != "none") {
            let hint = "fill = \"none\", or leave it out";
            table.add_mistake("fill", "it is not known", Some(hint.to_owned()));
        }
        let columns = read_columns(&table.read_section("columns"));
        if create.is_some() != columns.is_empty() {
            let hint = "columns = { id = {type = \"bigint not null\", expr = \":row\"} }";
            let why = "it needs either columns or create";
            table.add_own_mistake(why, Some(hint.to_owned()));
        }
        let times_pool = match table.read_text("rows").map(|text| text.parse::<ByteSize>()) {
            Some(Ok(ByteSize::TimesPool(factor))) if factor > 0.0 => Some(factor),
            _ => None,
        };
        let rows = match times_pool {
            Some(_) => None,
            None => read_formula(&table, "rows"),
        };
        if rows.is_none() && create.is_none() && !table.has_key("rows") {
            table.add_own_mistake("it does not say how many rows", Some("rows = 1000".to_owned()));
        }
        let zero = Formula::Constant(OwnedScalar::Int(0));
        let spec = TableSpec {
            place: table.place_text(),
            rows: rows.unwrap_or(zero),
            times_pool,
            columns,
            key: table.read_text("key"),
            options: table.read_text("options"),
            create,
            after: table.read_texts("after").unwrap_or_default(),
            name,
        };
        table.check_unknown_keys();
        spec
    };
    section.named_sections().into_iter().map(read).collect()
}

fn read_columns(section: &PlanSection<'_>) -> Vec<ColumnSpec> {
    let read = |(name, column): (String, PlanSection<'_>)| {
        check_name(&column, &name);
        let sql_type = column.read_text("type").unwrap_or_default();
        if sql_type.is_empty() {
            let hint = "type = \"int not null\"";
            column.add_own_mistake("it has no type", Some(hint.to_owned()));
        }
        // A column that the server fills in has a type and nothing else.
        let is_own = RULE_KEYS.iter().any(|key| column.has_key(key));
        let value = is_own.then(|| read_value(name.clone(), &column)).flatten();
        column.check_unknown_keys();
        ColumnSpec { name, sql_type, value }
    };
    section.named_sections().into_iter().map(read).collect()
}

pub(super) fn read_values(section: &PlanSection<'_>) -> Vec<ValueSpec> {
    let read = |(name, value): (String, PlanSection<'_>)| {
        check_name(&value, &name);
        if name == "row" {
            value.add_own_mistake("`row` is the number of a table's row", None);
        }
        let spec = read_value(name, &value);
        value.check_unknown_keys();
        spec
    };
    section.named_sections().into_iter().filter_map(read).collect()
}

/// Keys that each name a rule.
const RULE_KEYS: [&str; 14] = [
    "int",
    "real",
    "text",
    "pattern",
    "template",
    "pick",
    "unique",
    "uuid",
    "time",
    "of",
    "expr",
    "hash",
    "ycsb",
    "ycsb-text",
];

fn read_value(name: String, section: &PlanSection<'_>) -> Option<ValueSpec> {
    let null_share = section.read_number("null").unwrap_or(0.0);
    if !(0.0..=1.0).contains(&null_share) {
        let hint = "a share, as in 0.05";
        section.add_mistake("null", "it is not between 0 and 1", Some(hint.to_owned()));
    }
    let modes =
        [("event", DrawMode::Event), ("use", DrawMode::Use), ("session", DrawMode::Session)];
    let mode = section.read_choice("draw", &modes).unwrap_or_default();
    let rule = read_rule(section, 0)?;
    Some(ValueSpec { name, place: section.place_text(), mode, null_share, rule })
}

fn read_rule(section: &PlanSection<'_>, depth: usize) -> Option<RuleSpec> {
    let given: Vec<&str> = RULE_KEYS.iter().filter(|key| section.has_key(key)).copied().collect();
    let [key] = given[..] else {
        let why = match given.is_empty() {
            true => "it has no rule".to_owned(),
            false => format!("it has several rules: {}", given.join(", ")),
        };
        let hint = format!("one of {}", RULE_KEYS.join(", "));
        section.add_own_mistake(&why, Some(hint));
        return None;
    };
    match key {
        "int" => read_int(section),
        "real" => read_real(section),
        "text" => read_text_rule(section),
        "pattern" => Some(RuleSpec::Pattern(section.read_text("pattern")?)),
        "template" => read_template(section),
        "pick" => read_pick(section),
        "unique" => read_unique(section),
        "uuid" => {
            let versions = [("4", 4), ("7", 7)];
            section.read_choice("uuid", &versions).map(|version| RuleSpec::Uuid { version })
        }
        "time" => read_time_range(section),
        "of" => read_mixture(section, depth),
        "expr" => read_formula(section, "expr").map(RuleSpec::Computed),
        "ycsb" => {
            let forms = [
                ("java", YcsbKeyForm::Java),
                ("go", YcsbKeyForm::Go),
                ("ordered", YcsbKeyForm::Ordered),
            ];
            let form = section.read_choice("keys", &forms).unwrap_or(YcsbKeyForm::Java);
            let number = read_formula(section, "ycsb")?;
            Some(RuleSpec::YcsbKey { number, form })
        }
        "ycsb-text" => Some(RuleSpec::YcsbText {
            key: read_formula(section, "ycsb-text")?,
            prefix: section.read_text("prefix").unwrap_or_else(|| "field".to_owned()),
            field: read_formula(section, "field")?,
            length: section.read_count("length", 1, LONGEST_TEXT)?,
        }),
        _ => read_formula(section, "hash").map(RuleSpec::Hash),
    }
}

/// `by`, uniform without it.
fn read_law(section: &PlanSection<'_>) -> (LawSpec, bool) {
    let law = section.read_text("by").map(|text| parse_law(&text));
    let scatter = section.read_switch("scatter").unwrap_or(false);
    match law {
        Some(Ok(law)) => (law, scatter),
        Some(Err((why, hint))) => {
            section.add_mistake("by", &why, Some(hint));
            (LawSpec::Uniform, scatter)
        }
        None => (LawSpec::Uniform, scatter),
    }
}

/// A pair of formulas, the lower and the upper end of a range.
fn read_range(
    section: &PlanSection<'_>,
    key: &'static str,
) -> Option<(NamedFormula, NamedFormula)> {
    let texts = section.read_texts(key)?;
    let [low, high] = &texts[..] else {
        let hint = format!("{key} = [1, 100]");
        section.add_mistake(key, "a range has two ends", Some(hint));
        return None;
    };
    let (low, high) = (parse_formula_of(section, key, low)?, parse_formula_of(section, key, high)?);
    if let (Some(a), Some(b)) = (low.as_constant(), high.as_constant()) {
        let (a, b) = (a.borrow_scalar().to_real(), b.borrow_scalar().to_real());
        if a.zip(b).is_none_or(|(a, b)| a > b) {
            let why = format!("the range from {} to {} is empty", texts[0], texts[1]);
            section.add_mistake(key, &why, Some("the lower end comes first".to_owned()));
            return None;
        }
    }
    Some((low, high))
}

fn read_int(section: &PlanSection<'_>) -> Option<RuleSpec> {
    let (law, scatter) = read_law(section);
    let is_scrambled = matches!(law, LawSpec::Scrambled { .. });
    if is_scrambled && scatter {
        section.add_mistake("scatter", "a scrambled law scatters by itself", None);
    }
    let among = match section.has_key("among") {
        true => read_formula(section, "among"),
        false => None,
    };
    if among.is_some() && !is_scrambled {
        let hint = "by = \"scrambled\"".to_owned();
        section.add_mistake("among", "it belongs to a scrambled law", Some(hint));
    }
    let (low, high) = read_range(section, "int")?;
    Some(RuleSpec::Int { low, high, law, scatter, among })
}

fn read_real(section: &PlanSection<'_>) -> Option<RuleSpec> {
    let digits = section.read_count("digits", 0, 15).map(|digits| digits as u8);
    let (low, high) = read_range(section, "real")?;
    Some(RuleSpec::Real { low, high, digits })
}

fn read_text_rule(section: &PlanSection<'_>) -> Option<RuleSpec> {
    let text = section.read_section("text");
    let length = text.read_list_or_text("length");
    let length = match length.as_deref().map(parse_length) {
        Some(Ok(length)) => Some(length),
        Some(Err(why)) => {
            text.add_mistake("length", &why, None);
            None
        }
        None => None,
    };
    if !text.has_key("length") && text.is_present() {
        text.add_own_mistake("it has no length", Some("text = {length = [1, 20]}".to_owned()));
    }
    let letters = text.read_text("letters");
    let words = text.read_text("words");
    text.check_unknown_keys();
    let length = length?;
    if let Some(data) = words {
        return Some(RuleSpec::Words { length, data });
    }
    let letters = expand_letters(letters.as_deref().unwrap_or(LETTERS));
    if letters.is_empty() || !letters.is_ascii() {
        text.add_mistake("letters", "they are not ASCII letters", Some("a-zA-Z0-9".to_owned()));
        return None;
    }
    Some(RuleSpec::Letters { length, letters })
}

/// `a-z0` as letters: a to z, and 0.
fn expand_letters(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut letters = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at..] {
            [low, b'-', high, ..] if low <= high => {
                letters.extend(low..=high);
                at += 3;
            }
            _ => {
                letters.push(bytes[at]);
                at += 1;
            }
        }
    }
    letters
}

fn read_template(section: &PlanSection<'_>) -> Option<RuleSpec> {
    match parse_template(&section.read_text("template")?) {
        Ok(parts) => Some(RuleSpec::Template(parts)),
        Err(why) => {
            section.add_mistake("template", &why, Some("as in user{row:08}".to_owned()));
            None
        }
    }
}

fn read_pick(section: &PlanSection<'_>) -> Option<RuleSpec> {
    let (law, scatter) = read_law(section);
    let orders = [
        ("random", PickOrder::Random),
        ("sequence", PickOrder::Sequence),
        ("shared", PickOrder::Shared),
    ];
    let order = section.read_choice("order", &orders).unwrap_or(PickOrder::Random);
    let data = section.read_text("pick")?;
    Some(RuleSpec::Pick { data, law, scatter, order })
}

fn read_unique(section: &PlanSection<'_>) -> Option<RuleSpec> {
    let unique = section.read_section("unique");
    let steps = [("workers", false), ("shared", true)];
    let is_shared = unique.read_choice("step", &steps).unwrap_or(false);
    let from = match unique.has_key("from") {
        true => read_formula(&unique, "from")?,
        false => Formula::Constant(OwnedScalar::Int(1)),
    };
    unique.check_unknown_keys();
    Some(RuleSpec::Unique { from, is_shared })
}

fn read_time_range(section: &PlanSection<'_>) -> Option<RuleSpec> {
    let texts = section.read_texts("time")?;
    let now_s = (RealClock::start_now().origin_unix_ns() / 1_000_000_000) as i64;
    let moments: Result<Vec<i64>, String> =
        texts.iter().map(|text| parse_moment(text, now_s)).collect();
    match moments.as_deref() {
        Ok([low, high]) if low <= high => Some(RuleSpec::Time { low: *low, high: *high }),
        Ok(_) => {
            let hint = "time = [\"2024-01-01\", \"2024-12-31 23:59:59\"]";
            section.add_mistake("time", "it is not a range of time", Some(hint.to_owned()));
            None
        }
        Err(why) => {
            section.add_mistake("time", why, None);
            None
        }
    }
}

fn read_mixture(section: &PlanSection<'_>, depth: usize) -> Option<RuleSpec> {
    if depth > DEEPEST {
        section.add_mistake("of", "it is nested too deeply", None);
        return None;
    }
    let mut rules = Vec::new();
    for (weight, part) in section.read_weighted_sections("of") {
        if !(weight > 0.0 && weight.is_finite()) {
            let hint = "a weight is above 0";
            section.add_mistake("of", &format!("{weight} is out of range"), Some(hint.to_owned()));
        }
        let rule = read_rule(&part, depth + 1);
        part.check_unknown_keys();
        rules.extend(rule.map(|rule| (weight, rule)));
    }
    (!rules.is_empty()).then_some(RuleSpec::Mixture(rules))
}

/// The longest text that a rule gives, bytes; for the size of a row.
pub(super) fn longest_text(rule: &RuleSpec) -> u64 {
    match rule {
        RuleSpec::Letters { length, .. } | RuleSpec::Words { length, .. } => match length {
            LengthSpec::Between(_, most) => *most,
            LengthSpec::LogNormal { median, .. } => (median * 8.0).min(LONGEST_TEXT as f64) as u64,
        },
        RuleSpec::Pattern(pattern) => pattern.len() as u64,
        RuleSpec::YcsbText { length, .. } => *length,
        RuleSpec::Template(parts) => 64 * parts.len() as u64,
        RuleSpec::Mixture(rules) => {
            rules.iter().map(|(_, rule)| longest_text(rule)).max().unwrap_or(0)
        }
        RuleSpec::Pick { .. } => 256,
        _ => 40,
    }
}
