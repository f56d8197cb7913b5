//! The user's defaults file: what holds where neither flags nor a plan say otherwise.

use std::path::PathBuf;

use toml::de::DeTable;

use super::CONSENT;
use super::document::{MistakeCollector, PlanSection};
use crate::plan::{MOST_WORKERS, Mistake, nearest_or_all};

/// What holds where neither flags nor a plan say otherwise; what is absent is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DefaultSettings {
    /// Caveats that the user knows of.
    pub allow: Option<Vec<String>>,
    /// Where run folders are.
    pub runs_dir: Option<PathBuf>,
    /// Sessions of a load.
    pub threads: Option<usize>,
    /// How a result is shown.
    pub format: Option<String>,
}

/// Names that defaults may hold, which this room doesn't know.
#[derive(Clone, Copy, Debug)]
pub struct KnownNames<'a> {
    /// Ids of caveats.
    pub caveats: &'a [&'static str],
    /// Formats of results.
    pub formats: &'a [&'static str],
}

/// Reads a defaults file.
///
/// # Errors
/// All mistakes together, each with its line: keys and values that are not known.
pub fn defaults_from_toml(
    text: &str,
    known: &KnownNames<'_>,
) -> Result<DefaultSettings, Vec<Mistake>> {
    let complaints = MistakeCollector::new(text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in errors {
        let at = error.span().map_or(0, |s| s.start);
        complaints.add_mistake(at, "", error.message().trim().to_owned(), None);
    }
    if complaints.has_mistakes() {
        return Err(complaints.into_mistakes());
    }
    let root = PlanSection::from_root(&complaints, document.get_ref());
    let found = DefaultSettings {
        allow: root.read_texts("allow").map(|ids| read_ids(&root, &ids, known)),
        runs_dir: root.read_text("runs-dir").map(PathBuf::from),
        threads: root.read_count("threads", 1, MOST_WORKERS).map(|n| n as usize),
        format: root.read_text("format"),
    };
    if let Some(Err(mistake)) = found.format.as_deref().map(|name| known_format(name, known)) {
        root.add_mistake("format", &mistake.why, mistake.hint);
    }
    root.check_unknown_keys();
    drop(root);
    let mistakes = complaints.into_mistakes();
    if mistakes.is_empty() { Ok(found) } else { Err(mistakes) }
}

fn read_ids(root: &PlanSection<'_>, typed: &[String], known: &KnownNames<'_>) -> Vec<String> {
    let mut ids = Vec::new();
    for id in typed {
        match known_id(id, known) {
            Ok(id) => ids.push(id),
            Err(mistake) => root.add_mistake("allow", &mistake.why, mistake.hint),
        }
    }
    ids
}

/// A format as it is known.
///
/// # Errors
/// When there is none of that name.
pub fn known_format(typed: &str, known: &KnownNames<'_>) -> Result<String, Mistake> {
    if known.formats.contains(&typed) {
        return Ok(typed.to_owned());
    }
    let hint = nearest_or_all(typed, known.formats.iter().copied());
    Err(Mistake::new("format", format!("`{typed}` is not known")).hint(hint))
}

/// A caveat's id as it is known.
///
/// # Errors
/// When no caveat has it, or it is a word of consent, which must be typed with each command.
pub fn known_id(typed: &str, known: &KnownNames<'_>) -> Result<String, Mistake> {
    if CONSENT.contains(&typed) {
        let why = format!("`{typed}` is consent to change a server and can't be a default");
        return Err(Mistake::new("allow", why).hint(format!("type --allow {typed} each time")));
    }
    let id = typed.to_uppercase();
    if known.caveats.contains(&id.as_str()) {
        return Ok(id);
    }
    let hint = match crate::plan::did_you_mean(&id, known.caveats.iter().copied()) {
        Some(near) => near,
        None => "`sweat explain` lists all ids".to_owned(),
    };
    Err(Mistake::new("allow", format!("no caveat is named {typed}")).hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: KnownNames<'_> =
        KnownNames { caveats: &["NOISE", "SAME-HOST"], formats: &["text", "json"] };

    #[test]
    fn what_is_set_is_read_and_the_rest_is_absent() {
        let text = "allow = [\"same-host\"]\nthreads = 8\n";
        let found = defaults_from_toml(text, &KNOWN).unwrap();
        assert_eq!(found.allow.unwrap(), ["SAME-HOST"]);
        assert_eq!((found.threads, found.runs_dir, found.format), (Some(8), None, None));
        assert_eq!(defaults_from_toml("", &KNOWN), Ok(DefaultSettings::default()));
    }

    #[test]
    fn each_mistake_has_its_line() {
        let text =
            "thread = 8\nallow = [\"NOIZE\", \"set-global\"]\nformat = \"yaml\"\nthreads = 0";
        let mistakes = defaults_from_toml(text, &KNOWN).unwrap_err();
        let places: Vec<&str> = mistakes.iter().map(|m| m.place.as_str()).collect();
        let wanted = ["line 1: thread", "line 2: allow", "line 2: allow", "line 3: format"];
        assert_eq!(places, [&wanted[..], &["line 4: threads"]].concat());
        assert_eq!(mistakes[0].hint.as_deref(), Some("did you mean threads?"));
        assert!(mistakes[2].why.contains("consent"), "{}", mistakes[2].why);
        assert!(defaults_from_toml("= 5", &KNOWN).is_err());
    }
}
