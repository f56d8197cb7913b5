//! Caveats explained to people who ask for their ids.

use std::io::{self, Write};

use super::write_paragraph;
use crate::analysis::{CauseRule, CaveatExplanation, caveat_explanations, stall_causes};

/// Widest id with the blanks behind it.
const ID_WIDTH: usize = 15;

/// What a caveat means, why it matters, what to do, and when it is raised; 80 columns, at most 20 lines.
pub fn caveat_explanation_text(one: &CaveatExplanation) -> String {
    render_text(|out| {
        writeln!(out, "{}: {}\n", one.id, one.title)?;
        write_paragraph(out, "Means     ", one.meaning)?;
        write_paragraph(out, "Matters   ", one.reason)?;
        write_paragraph(out, "To do     ", one.remedy)?;
        writeln!(out)?;
        for (level, when) in one.triggers() {
            write_paragraph(out, &format!("{:10}", level.as_str()), when)?;
        }
        Ok(())
    })
}

/// What a cause of stalls is, what to do about it, and what proves it; 80 columns.
pub fn stall_cause_text(one: &CauseRule) -> String {
    render_text(|out| {
        writeln!(out, "{}: a cause of stalls\n", one.id)?;
        write_paragraph(out, "Means     ", one.title)?;
        write_paragraph(out, "To do     ", one.remedy)?;
        write_paragraph(out, "Evidence  ", one.when)?;
        write_paragraph(
            out,
            "          ",
            "in half of the stalls, four times as often as outside, and more often than chance",
        )
    })
}

/// A line for each caveat, and the names of the causes of stalls: its id, and what it says in a few words.
pub fn caveat_list_text() -> String {
    render_text(|out| {
        for one in caveat_explanations() {
            writeln!(out, "{:ID_WIDTH$}{}", one.id, one.title)?;
        }
        let causes: Vec<&str> = stall_causes().iter().map(|cause| cause.id).collect();
        writeln!(out)?;
        write_paragraph(out, "Causes of stalls: ", &causes.join(", "))?;
        writeln!(out, "\n`sweat explain ID` says what it means, why it matters and what to do.")
    })
}

fn render_text(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut text = Vec::new();
    write(&mut text).expect("memory takes every write");
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::super::WIDTH;
    use super::*;

    #[test]
    fn explanations_fit_a_terminal() {
        for one in caveat_explanations() {
            let text = caveat_explanation_text(one);
            assert!(text.lines().count() <= 20, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
            assert!(text.starts_with(&format!("{}: ", one.id)), "{text}");
        }
        for one in stall_causes() {
            let text = stall_cause_text(one);
            assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        }
        let list = caveat_list_text();
        assert!(list.lines().all(|line| line.chars().count() <= WIDTH), "{list}");
        assert_eq!(list.lines().count(), caveat_explanations().len() + 5, "{list}");
        assert!(list.contains("\nWHOLE-SECONDS  the log has"), "{list}");
    }
}
