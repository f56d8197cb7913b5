//! Text into HTML. Names and errors come from servers and files: nothing reaches the page but through here.

/// Text as content or as the value of a quoted attribute.
pub(crate) fn escape_html(raw: &str) -> String {
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
pub(super) fn sentence_html(raw: &str) -> String {
    let mut out = String::new();
    for (place, part) in escape_html(raw).split('`').enumerate() {
        if place > 0 {
            out.push_str(if place % 2 == 1 { "<code>" } else { "</code>" });
        }
        out.push_str(&unbroken_numbers(part));
    }
    // An odd number of back quotes would leave the element open.
    if raw.matches('`').count() % 2 == 1 {
        out.push_str("</code>");
    }
    out
}

/// The spaces inside a grouped number (`20 000`) become narrow ones that do not break.
pub(super) fn unbroken_numbers(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut grouped = false;
    for (place, word) in text.split(' ').enumerate() {
        let digits = word.chars().take_while(char::is_ascii_digit).count();
        let mut rest = word[digits..].chars().skip_while(|c| *c == '.');
        let ends = rest.next().is_none_or(|c| !c.is_alphanumeric());
        if place > 0 {
            out.push(if grouped && digits == 3 && ends { '\u{202f}' } else { ' ' });
        }
        out.push_str(word);
        let number = word.trim_start_matches(['-', '(', '+']);
        grouped = (1..=3).contains(&number.len()) && number.chars().all(|c| c.is_ascii_digit());
    }
    out
}

/// JSON inside a script element: nothing in it may end it.
pub(super) fn script_json(value: &serde_json::Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(
            escape_html(r#"<a b="c" d='e'>&"#),
            "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;"
        );
        assert_eq!(escape_html("a\u{0}\u{1b}[2J"), "a\u{fffd}\u{fffd}[2J");
        let inside = script_json(&serde_json::json!({ "a": "</script><script>" }));
        assert!(!inside.contains('<'), "{inside}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&inside).unwrap()["a"],
            "</script><script>"
        );
    }

    #[test]
    fn sentences_have_names_and_whole_numbers() {
        assert_eq!(sentence_html("`scan` 20 000 events"), "<code>scan</code> 20\u{202f}000 events");
        assert_eq!(sentence_html("`<b>`"), "<code>&lt;b&gt;</code>");
        assert_eq!(
            unbroken_numbers("p99 404 µs, (1 234 567)"),
            "p99 404 µs, (1\u{202f}234\u{202f}567)"
        );
        assert_eq!(
            unbroken_numbers("7 events, 30 40.5 -3 000."),
            "7 events, 30 40.5 -3\u{202f}000."
        );
        assert_eq!(sentence_html("odd ` one"), "odd <code> one</code>");
    }
}
