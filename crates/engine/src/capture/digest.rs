//! What is left of a statement without its literals: the statements that have it in common are one class.

use super::lexer::is_dash_comment;

/// Longest digest, in bytes; what follows makes no difference.
const LONGEST: usize = 1000;

/// Writes the digest of a statement: literals become `?`, lists of them one `?`, blanks and comments one blank.
/// Not a parser: it must be cheap, and never wrong in a way that matters.
pub fn write_digest(statement: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut at = 0;
    while at < statement.len() && out.len() < LONGEST {
        let rest = &statement[at..];
        at += match rest[0] {
            quote @ (b'\'' | b'"') => {
                put_literal(out);
                quoted_length(rest, quote)
            }
            b'`' => {
                let length = quoted_length(rest, b'`');
                out.extend_from_slice(&rest[..length]);
                length
            }
            b if b.is_ascii_whitespace() => {
                put_blank(out);
                1
            }
            b'#' => skip_as_blank(out, line_length(rest)),
            b'-' if is_dash_comment(rest) => skip_as_blank(out, line_length(rest)),
            b'/' if rest.starts_with(b"/*") && !matches!(rest.get(2), Some(b'!' | b'+')) => {
                let end = rest.windows(2).skip(2).position(|w| w == b"*/");
                skip_as_blank(out, end.map_or(rest.len(), |end| end + 4))
            }
            b if b.is_ascii_digit() && !out.last().is_some_and(is_name) => {
                put_literal(out);
                number_length(rest)
            }
            b'.' if rest.get(1).is_some_and(u8::is_ascii_digit)
                && !out.last().is_some_and(|b| is_name(b) || *b == b'`') =>
            {
                put_literal(out);
                number_length(rest)
            }
            b => {
                if matches!(b, b',' | b')' | b'=' | b'<' | b'>') && out.last() == Some(&b' ') {
                    out.pop();
                }
                out.push(b.to_ascii_lowercase());
                if out.ends_with(b"(?),(?)") {
                    out.truncate(out.len() - 4);
                }
                1
            }
        };
    }
    out.truncate(out.trim_ascii_end().len());
}

fn skip_as_blank(out: &mut Vec<u8>, length: usize) -> usize {
    put_blank(out);
    length
}

/// A blank, unless there is none needed.
fn put_blank(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b' ' | b',' | b'(' | b'=' | b'<' | b'>')) {
        out.push(b' ');
    }
}

/// A `?`; one that follows another in a list, or a sign, is swallowed.
fn put_literal(out: &mut Vec<u8>) {
    let signed = [&b"=-"[..], b"(-", b",-", b"<-", b">-", b"=+", b" -"];
    if signed.iter().any(|sign| out.ends_with(sign)) {
        out.pop();
    }
    if out.ends_with(b"?,") {
        out.pop();
    } else {
        out.push(b'?');
    }
}

fn is_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..)
}

fn number_length(rest: &[u8]) -> usize {
    let mut end = 1;
    while let Some(b) = rest.get(end) {
        let exponent = matches!(rest[end - 1], b'e' | b'E') && matches!(b, b'+' | b'-');
        if !(is_name(b) || *b == b'.' || exponent && !rest.starts_with(b"0x")) {
            break;
        }
        end += 1;
    }
    end
}

fn line_length(rest: &[u8]) -> usize {
    rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len())
}

/// Length of a quoted text with its quotes; all that is left if it has no end.
pub(super) fn quoted_length(text: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while let Some(b) = text.get(at) {
        match b {
            b'\\' if quote != b'`' => at += 1,
            b if *b == quote && text.get(at + 1) == Some(&quote) => at += 1,
            b if *b == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> String {
        let mut out = b"old".to_vec();
        write_digest(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn literals_and_layout_make_no_difference() {
        let one = of("SELECT * FROM t WHERE id = 17 AND name='a''b\\'c'");
        assert_eq!(one, "select * from t where id=? and name=?");
        assert_eq!(of("select  *\n from T where id=-4 /* hi */ and name = \"x\" "), one);
        assert_eq!(of("select * from t where id = 1.5e-3 and name = 0xff"), one);
    }

    #[test]
    fn lists_of_any_length_are_one_class() {
        assert_eq!(of("select 1 from t where a in (1, 2,3)"), "select ? from t where a in (?)");
        assert_eq!(of("insert into t values (1,'a'),(2,'b')"), "insert into t values (?)");
        assert_eq!(of("insert into t values (3, 4)"), "insert into t values (?)");
    }

    #[test]
    fn names_with_digits_stay() {
        assert_eq!(of("select t1.c2 from `db 1`.t1"), "select t1.c2 from `db 1`.t1");
        assert_ne!(of("select a from sbtest1"), of("select a from sbtest2"));
    }

    #[test]
    fn comments_that_mean_something_stay() {
        assert_eq!(of("select /*+ x */ a"), "select /*+ x */ a");
        assert_eq!(of("select a -- b\n, c"), "select a,c");
        assert_eq!(of("select a # b"), "select a");
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_digest(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut out = Vec::new();
            write_digest(&text, &mut out);
            prop_assert!(out.len() <= text.len() + 1);
        }

        #[test]
        fn numbers_never_show(a in any::<i64>(), b in any::<u32>()) {
            let text = of(&format!("select c from t where id={a} or k in ({b}, {a})"));
            prop_assert_eq!(text, "select c from t where id=? or k in (?)");
        }
    }
}
