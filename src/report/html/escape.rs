//! Text into HTML. Names and errors come from servers and files: nothing reaches the page but through here.

/// Text as content or as the value of a quoted attribute.
pub(super) fn text(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() && c != '\n' && c != '\t' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A sentence: escaped, `names` in code, and no line break inside a grouped number.
pub(super) fn sentence(raw: &str) -> String {
    let mut out = String::new();
    for (place, part) in text(raw).split('`').enumerate() {
        if place > 0 {
            out.push_str(if place % 2 == 1 { "<code>" } else { "</code>" });
        }
        out.push_str(&unbroken(part));
    }
    // An odd number of back quotes would leave the element open.
    if raw.matches('`').count() % 2 == 1 {
        out.push_str("</code>");
    }
    out
}

/// A space between two digits becomes a narrow one that does not break.
pub(super) fn unbroken(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let digit =
        |place: Option<usize>| place.and_then(|p| chars.get(p)).is_some_and(char::is_ascii_digit);
    let join = |(place, c): (usize, &char)| {
        let grouped = *c == ' ' && digit(place.checked_sub(1)) && digit(Some(place + 1));
        if grouped { '\u{202f}' } else { *c }
    };
    chars.iter().enumerate().map(join).collect()
}

/// JSON inside a script element: nothing in it may end it.
pub(super) fn json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(text(r#"<a b="c" d='e'>&"#), "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;");
        assert_eq!(text("a\u{0}\u{1b}[2J"), "a\u{fffd}\u{fffd}[2J");
        let inside = json(&serde_json::json!({ "a": "</script><script>" }));
        assert!(!inside.contains('<'), "{inside}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&inside).unwrap()["a"],
            "</script><script>"
        );
    }

    #[test]
    fn sentences_have_names_and_whole_numbers() {
        assert_eq!(sentence("`scan` 20 000 events"), "<code>scan</code> 20\u{202f}000 events");
        assert_eq!(sentence("`<b>`"), "<code>&lt;b&gt;</code>");
        assert_eq!(sentence("odd ` one"), "odd <code> one</code>");
    }
}
