//! The text of an option file, line by line.

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OptionFileLine {
    /// `[client]`
    Group(String),
    /// `name = value`
    Option {
        /// Name with dashes, without `loose-`.
        name: String,
        /// Value without its quotes, escapes resolved; `None` for a name alone.
        value: Option<String>,
    },
    /// `!include file`
    Include(String),
    /// `!includedir folder`
    IncludeDir(String),
    /// Nothing we know, and why.
    Wrong(&'static str),
}

/// The lines that say something, with their numbers from 1.
pub(super) fn parse_lines(text: &str) -> Vec<(usize, OptionFileLine)> {
    let mut in_group = false;
    let mut lines = Vec::new();
    for (number, text) in text.lines().enumerate() {
        let Some(mut line) = parse_line(text.trim()) else { continue };
        match line {
            OptionFileLine::Group(_) => in_group = true,
            OptionFileLine::Option { .. } if !in_group => {
                line = OptionFileLine::Wrong("an option before any [group]")
            }
            _ => {}
        }
        lines.push((number + 1, line));
    }
    lines
}

fn parse_line(line: &str) -> Option<OptionFileLine> {
    if line.is_empty() || line.starts_with(['#', ';']) {
        return None;
    }
    if let Some(path) = line.strip_prefix("!includedir") {
        return Some(OptionFileLine::IncludeDir(path.trim().to_owned()));
    }
    if let Some(path) = line.strip_prefix("!include") {
        return Some(OptionFileLine::Include(path.trim().to_owned()));
    }
    if line.starts_with('!') {
        return Some(OptionFileLine::Wrong("neither !include nor !includedir"));
    }
    if let Some(group) = line.strip_prefix('[') {
        let end = group.find(']');
        return Some(end.map_or(OptionFileLine::Wrong("a group without its `]`"), |end| {
            OptionFileLine::Group(group[..end].trim().to_owned())
        }));
    }
    let line = without_comment(line).trim_end();
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(unquote(value.trim()))),
        None => (line, None),
    };
    let name = name.replace('_', "-");
    let name = name.strip_prefix("loose-").unwrap_or(&name).to_owned();
    Some(if name.is_empty() {
        OptionFileLine::Wrong("a value without a name")
    } else {
        OptionFileLine::Option { name, value }
    })
}

/// The line up to a `#` that stands outside quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) if !escaped => quote = Some(c),
            (c, Some(q)) if c == q && !escaped => quote = None,
            ('#', None) => return &line[..at],
            _ => {}
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

/// Takes a pair of quotes off, and resolves escapes.
fn unquote(value: &str) -> String {
    let inner = ['"', '\'']
        .iter()
        .find_map(|q| value.strip_prefix(*q).and_then(|v| v.strip_suffix(*q)))
        .unwrap_or(value);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\x08'),
            Some('s') => out.push(' '),
            Some(c @ ('"' | '\'' | '\\')) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn option(line: &str) -> (String, Option<String>) {
        match parse_line(line) {
            Some(OptionFileLine::Option { name, value }) => (name, value),
            other => panic!("{line}: {other:?}"),
        }
    }

    fn value(line: &str) -> String {
        option(line).1.unwrap()
    }

    /// The expectations are what `mariadb --print-defaults` 10.11 makes of the same lines.
    #[test]
    fn values_are_read_as_the_clients_read_them() {
        assert_eq!(value("user = a b  # c"), "a b");
        assert_eq!(value("password='x#y'#z"), "x#y");
        assert_eq!(value(r"database=a\sb\q"), r"a b\q");
        assert_eq!(value("socket = /tmp/a b # c"), "/tmp/a b");
        assert_eq!(value("host=\"a'b"), "\"a'b");
        assert_eq!(value(r#"password="a\"b\\""#), r#"a"b\"#);
        assert_eq!(value("password="), "");
        assert_eq!(value("password=a=b"), "a=b");
        assert_eq!(option("loose_ssl_ca=x").0, "ssl-ca");
        assert_eq!(option("skip-ssl"), ("skip-ssl".to_owned(), None));
    }

    #[test]
    fn groups_includes_and_nonsense_are_told_apart() {
        let text = "\
# comment
; comment

[ client ]
user=a
!include /etc/other.cnf
!includedir /etc/my.cnf.d/
[open
!exclude
=1
";
        let expected = [
            (4, OptionFileLine::Group("client".to_owned())),
            (5, OptionFileLine::Option { name: "user".to_owned(), value: Some("a".to_owned()) }),
            (6, OptionFileLine::Include("/etc/other.cnf".to_owned())),
            (7, OptionFileLine::IncludeDir("/etc/my.cnf.d/".to_owned())),
            (8, OptionFileLine::Wrong("a group without its `]`")),
            (9, OptionFileLine::Wrong("neither !include nor !includedir")),
            (10, OptionFileLine::Wrong("a value without a name")),
        ];
        assert_eq!(parse_lines(text), expected);
        assert_eq!(
            parse_lines("user=a"),
            [(1, OptionFileLine::Wrong("an option before any [group]"))]
        );
    }

    proptest! {
        #[test]
        fn a_quoted_value_survives(text in "[^\\x00-\\x1f\\x7f\\\\\"]{0,30}") {
            prop_assert_eq!(value(&format!("password=\"{text}\"")), text);
        }
        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = parse_lines(&text);
        }
    }
}
