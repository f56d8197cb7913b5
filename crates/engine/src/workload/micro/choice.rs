//! Which operations are run: by name, by group, with wildcards.

use super::operation::Operation;
use super::operations::{OPERATIONS, group_names};
use crate::plan::{Mistake, unknown_name};

/// Those that `only` names, or all, without those that `skip` names; in the order of the table.
///
/// # Errors
/// A word that names none, or none is left.
pub(super) fn choose_operations(
    only: &str,
    skip: &str,
) -> Result<Vec<&'static Operation>, Mistake> {
    let (only, skip) = (words("--only", only)?, words("--skip", skip)?);
    let is_named = |words: &[&str], one: &Operation| {
        words.iter().any(|word| is_match(word, one.name) || is_match(word, one.group))
    };
    let is_chosen =
        |one: &&Operation| (only.is_empty() || is_named(&only, one)) && !is_named(&skip, one);
    let chosen: Vec<&Operation> = OPERATIONS.iter().filter(is_chosen).collect();
    match chosen.is_empty() {
        false => Ok(chosen),
        true => Err(Mistake::new("--skip", "leaves no operation").hint("name fewer")),
    }
}

/// The words of a list, each of which names some operation.
fn words<'t>(flag: &str, list: &'t str) -> Result<Vec<&'t str>, Mistake> {
    let words: Vec<&str> = list.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    for word in &words {
        let names = OPERATIONS.iter().map(|one| one.name).chain(group_names());
        if !names.clone().any(|name| is_match(word, name)) {
            let unknown = unknown_name("operation", word, names);
            let near = unknown.hint.filter(|hint| hint.starts_with("did you mean"));
            let all =
                || format!("`sweat micro --list` shows them; groups: {}", group_names().join(", "));
            return Err(Mistake::new(flag, unknown.why + &format!(": {word}"))
                .hint(near.unwrap_or_else(all)));
        }
    }
    Ok(words)
}

/// Whether a pattern, in which `*` stands for anything, is this name.
fn is_match(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(left) = name.strip_prefix(start) else { return false };
    (0..=left.len()).any(|at| left.is_char_boundary(at) && is_match(rest, &left[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &str, skip: &str) -> Vec<&'static str> {
        choose_operations(only, skip).unwrap().iter().map(|one| one.name).collect()
    }

    #[test]
    fn names_groups_and_wildcards_choose() {
        assert_eq!(
            names("select_key, connect_*", ""),
            ["connect_select_1", "connect_select_row", "select_key"]
        );
        assert_eq!(names("update", "*_all, update_range"), ["update_key", "update_indexed"]);
        assert_eq!(names("", "").len(), OPERATIONS.len());
        assert_eq!(
            names("*rollback", "trx_delete*"),
            ["trx_insert_rollback", "trx_update_rollback"]
        );
    }

    #[test]
    fn a_word_that_names_none_is_a_mistake() {
        let mistake = choose_operations("selekt_key", "").unwrap_err();
        assert_eq!(mistake.place, "--only");
        assert!(mistake.hint.unwrap().contains("select_key"));
        let mistake = choose_operations("", "zzz*").unwrap_err();
        assert!(mistake.hint.unwrap().contains("sweat micro --list"));
        assert!(choose_operations("update", "update").is_err());
    }
}
