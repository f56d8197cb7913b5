//! Files of Super Smack: dictionaries become data and values, queries transactions, barrels the order of sessions.

use super::pgbench::split_outside;
use super::{MixText, name_of, quote};

/// A section: its kind, its name, its members.
struct SmackSection {
    kind: String,
    name: String,
    members: Vec<(String, String)>,
}

impl SmackSection {
    fn member(&self, key: &str) -> Option<&str> {
        self.members.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }
}

/// Reads a file.
///
/// # Errors
/// When its sections can't be told apart, or it has no query.
pub(super) fn read_smack(text: &str) -> Result<MixText, String> {
    let sections = split_sections(text)?;
    let mut mix = MixText::default();
    let of = |kind: &'static str| sections.iter().filter(move |s| s.kind == kind);
    for table in of("table") {
        add_table(table, &mut mix);
    }
    for dictionary in of("dictionary") {
        add_dictionary(dictionary, &mut mix);
    }
    let names: Vec<String> = of("dictionary").map(|d| d.name.clone()).collect();
    for query in of("query") {
        let sql = with_holes(query.member("query").unwrap_or_default(), &names, query);
        let class = query.member("type").unwrap_or(&query.name);
        mix.transactions.push(format!(
            "[transaction.{}]\nclass = {}\nsteps = [ {{sql = {}}} ]",
            name_of(&query.name),
            quote(class),
            quote(&sql)
        ));
    }
    if mix.transactions.is_empty() {
        return Err("there is no query in it".to_owned());
    }
    for client in of("client").filter(|client| client.member("query_barrel").is_some()) {
        let is_there = |name: &str| of("query").any(|query| query.name == name);
        add_barrel(client, &is_there, &mut mix);
    }
    for (key, value) in of("main").flat_map(|main| &main.members) {
        mix.add_note(format!("main: {key}{value} (say --threads and --events)"));
    }
    Ok(mix)
}

/// Cuts the file into sections. Comments begin with `//` or `#`; texts stand in double quotes.
fn split_sections(text: &str) -> Result<Vec<SmackSection>, String> {
    let words = split_words(text)?;
    let mut sections = Vec::new();
    let mut at = 0;
    while let Some((kind, _)) = words.get(at) {
        let has_name = words.get(at + 1).is_some_and(|(_, is_quoted)| *is_quoted);
        let name = if has_name { words[at + 1].0.clone() } else { String::new() };
        at += 1 + usize::from(has_name);
        if words.get(at).is_none_or(|(word, _)| word != "{") {
            return Err(format!("`{kind}` is not followed by a block"));
        }
        at += 1;
        let mut members = Vec::new();
        let mut member: Vec<&str> = Vec::new();
        loop {
            let Some((word, is_quoted)) = words.get(at) else {
                return Err(format!("the block of {kind} has no end"));
            };
            at += 1;
            match word.as_str() {
                "}" if !is_quoted => break,
                ";" if !is_quoted => {
                    if let Some((key, value)) = member.split_first() {
                        members.push(((*key).to_owned(), value.join(" ")));
                    }
                    member.clear();
                }
                word => member.push(word),
            }
        }
        sections.push(SmackSection { kind: kind.clone(), name, members });
    }
    Ok(sections)
}

/// Words, and whether they stood in quotes.
fn split_words(text: &str) -> Result<Vec<(String, bool)>, String> {
    let mut words: Vec<(String, bool)> = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let mut line = 1;
    while let Some(c) = chars.next() {
        line += usize::from(c == '\n');
        let ends = c.is_whitespace() || matches!(c, '{' | '}' | ';' | '"' | '#');
        let is_comment = c == '#' || c == '/' && chars.peek() == Some(&'/');
        if (ends || is_comment) && !word.is_empty() {
            words.push((std::mem::take(&mut word), false));
        }
        match c {
            _ if is_comment => while chars.next_if(|next| *next != '\n').is_some() {},
            '"' => {
                let mut quoted = String::new();
                loop {
                    match chars.next() {
                        None => return Err(format!("line {line}: a text has no end")),
                        Some('"') => break,
                        Some('\\') => quoted.extend(chars.next()),
                        Some(inner) => quoted.push(inner),
                    }
                }
                words.push((quoted, true));
            }
            '{' | '}' | ';' => words.push((c.to_string(), false)),
            c if c.is_whitespace() => {}
            c => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some((word, false)));
    Ok(words)
}

/// `$word`, in quotes or not, as `:word`.
fn with_holes(sql: &str, names: &[String], query: &SmackSection) -> String {
    let mut sql = sql.to_owned();
    if query.member("parsed") == Some("n") {
        return sql;
    }
    // Longer names first: one may begin like another.
    let mut names: Vec<&String> = names.iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    for name in names {
        let hole = format!(":{}", name_of(name));
        for form in [format!("'${name}'"), format!("\"${name}\""), format!("${name}")] {
            sql = sql.replace(&form, &hole);
        }
    }
    sql
}

fn add_dictionary(dictionary: &SmackSection, mix: &mut MixText) {
    let name = name_of(&dictionary.name);
    let source = dictionary.member("source").unwrap_or_default();
    let order = match dictionary.member("type") {
        Some("seq") => ", order = \"sequence\"",
        _ => "",
    };
    match (dictionary.member("type"), dictionary.member("source_type")) {
        (Some("unique"), _) | (_, Some("template")) => {
            let template = source.replace(['{', '}'], "");
            let template = match template.find('%') {
                Some(at) => {
                    let rest = &template[at + 1..];
                    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                    let width = if end > 0 { format!(":{}", &rest[..end]) } else { String::new() };
                    let tail = rest[end..].chars().skip(1).collect::<String>();
                    format!("{}{{{name}_number{width}}}{tail}", &template[..at])
                }
                None => format!("{template}{{{name}_number}}"),
            };
            mix.values.push(format!("{name}_number = {{unique = {{from = \"1\"}}}}"));
            mix.values.push(format!("{name} = {{template = {}}}", quote(&template)));
        }
        (_, Some("list")) => {
            let list: Vec<String> =
                source.split(',').filter(|word| !word.is_empty()).map(quote).collect();
            mix.data.push(format!("[data.{name}]\nlist = [{}]", list.join(", ")));
            mix.values.push(format!("{name} = {{pick = {}{order}}}", quote(&name)));
        }
        _ => {
            let delimiter = dictionary.member("delim").filter(|delimiter| !delimiter.is_empty());
            let cut = delimiter.map(|d| format!("\nfield = 1\ndelimiter = {}", quote(d)));
            let cut = cut.unwrap_or_else(|| "\ndelimiter = \"\"".to_owned());
            mix.data.push(format!("[data.{name}]\nfile = {}{cut}", quote(source)));
            mix.values.push(format!("{name} = {{pick = {}{order}}}", quote(&name)));
        }
    }
    if dictionary.member("file_size_equiv").is_some() {
        mix.add_note(format!("dictionary {name}: file_size_equiv (say every = N)"));
    }
}

fn add_barrel(client: &SmackSection, is_there: &dyn Fn(&str) -> bool, mix: &mut MixText) {
    let words: Vec<&str> =
        client.member("query_barrel").unwrap_or_default().split_whitespace().collect();
    let mut rounds = Vec::new();
    let mut at = 0;
    while let Some(count) = words.get(at) {
        if count.starts_with('-') {
            let pause = count.trim_start_matches('-').replace('.', "_");
            let name = format!("pause_{pause}");
            let time = quote(&format!("{}s", count.trim_start_matches('-')));
            let transaction = format!("[transaction.{name}]\nsteps = [ {{sleep = {time}}} ]");
            if !mix.transactions.contains(&transaction) {
                mix.transactions.push(transaction);
            }
            rounds.push(quote(&name));
            at += 1;
            continue;
        }
        let Some(query) = words.get(at + 1) else { break };
        at += 2;
        if is_there(query) {
            rounds.push(quote(&format!("{}*{count}", name_of(query))));
        } else {
            mix.add_note(format!("client {}: {query}, a query that is not there", client.name));
        }
    }
    let name = name_of(&client.name);
    mix.sessions.push(format!("[session.{name}]\norder = [{}]", rounds.join(", ")));
    for key in ["user", "pass", "host", "port", "db", "socket"] {
        if client.member(key).is_some() {
            mix.add_note(format!("client {name}: {key} (say -h, -u, -p, -D)"));
        }
    }
}

fn add_table(table: &SmackSection, mix: &mut MixText) {
    let name = name_of(&table.name);
    let create = table.member("create").unwrap_or_default();
    let columns = filled_columns(create, table.member("gen_data_file").unwrap_or_default());
    let Some((columns, keys)) = columns else {
        mix.tables.push(format!("[table.{name}]\ncreate = {}", quote(create)));
        mix.add_note(format!("table {name}: its rows"));
        return;
    };
    let rows = table.member("min_rows").and_then(|rows| rows.parse::<u64>().ok()).unwrap_or(1000);
    let key = match keys.is_empty() {
        true => String::new(),
        false => format!("key = {}\n", quote(&keys.join(", "))),
    };
    let columns = columns.join("\n");
    mix.tables
        .push(format!("[table.{name}]\nrows = {rows}\n{key}[table.{name}.columns]\n{columns}"));
}

/// Columns with rules, and keys, where the statement and the format of the data have as many fields.
fn filled_columns(create: &str, generator: &str) -> Option<(Vec<String>, Vec<String>)> {
    let begin = create.find('(')?;
    let end = create.rfind(')').filter(|end| *end > begin)?;
    let is_key = |part: &&str| {
        let word = part.split([' ', '(']).next().unwrap_or_default().to_ascii_lowercase();
        ["primary", "unique", "key", "index"].contains(&word.as_str())
    };
    let parts: Vec<&str> =
        split_outside(&create[begin + 1..end]).into_iter().map(str::trim).collect();
    let keys = parts.iter().copied().filter(is_key).map(str::to_owned).collect();
    let columns: Vec<&str> = parts.into_iter().filter(|part| !is_key(part)).collect();
    let format = generator.split_once("-f").map(|(_, format)| format.trim())?;
    let fields: Vec<&str> = format.trim_matches(['\'', '"']).split(',').collect();
    if fields.len() != columns.len() {
        return None;
    }
    let lines: Option<Vec<String>> = columns
        .iter()
        .zip(fields)
        .map(|(column, field)| {
            let (name, sql_type) = column.split_once(char::is_whitespace)?;
            let rule = field_rule(field)?;
            Some(format!("{} = {{type = {}, {rule}}}", name_of(name), quote(sql_type.trim())))
        })
        .collect();
    Some((lines?, keys))
}

/// The rule for `%12-12s`, `%n`, `%d`, or several of them in one field.
fn field_rule(field: &str) -> Option<String> {
    let mut template = String::new();
    let mut rest = field;
    while let Some(at) = rest.find('%') {
        template += &rest[..at];
        let spec = &rest[at + 1..];
        let end = spec.find(|c: char| c.is_ascii_alphabetic())?;
        let (width, kind) = (&spec[..end], &spec[end..=end]);
        let piece = match kind {
            "s" => format!("{{text:{}}}", width.split('-').next_back().unwrap_or("1")),
            "n" => "{row}".to_owned(),
            "d" => "{digits:9}".to_owned(),
            _ => return None,
        };
        template += &piece;
        rest = &spec[end + 1..];
    }
    template += rest;
    Some(match template.as_str() {
        "{row}" => "expr = \":row\"".to_owned(),
        "{digits:9}" => "int = [0, 2147483647]".to_owned(),
        template => format!("template = {}", quote(template)),
    })
}
