//! Which instruments a pattern means, and what to say when it means none. Pure.

use crate::client::ServerIdentity;
use crate::plan::{Mistake, nearest_name};

/// Most instruments gathered at once: each costs, and a table of more is not read.
pub(super) const MOST: usize = 16;
/// Most names offered instead.
const OFFERED: usize = 5;

/// The last part of a name: what people call the instrument.
fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Those that a pattern means; see `find`.
pub(super) fn select_instruments(all: &[String], pattern: &str) -> Vec<String> {
    let pattern = pattern.trim().to_ascii_lowercase();
    if pattern.is_empty() {
        return Vec::new();
    }
    let which = |fits: &dyn Fn(&str) -> bool| -> Vec<String> {
        all.iter().filter(|name| fits(&name.to_ascii_lowercase())).cloned().collect()
    };
    if pattern.contains('%') {
        return which(&|name| matches_like(name.as_bytes(), pattern.as_bytes()));
    }
    let exact = which(&|name| name == pattern || last_part(name) == pattern);
    if exact.is_empty() { which(&|name| name.contains(&pattern)) } else { exact }
}

/// SQL's LIKE with `%` alone: names are full of `_`.
fn matches_like(text: &[u8], pattern: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'%', rest)) => (0..=text.len()).any(|skip| matches_like(&text[skip..], rest)),
        Some((first, rest)) => text.first() == Some(first) && matches_like(&text[1..], rest),
    }
}

/// Nothing fits: what there is instead, and since when this is gone, if we know.
pub(super) fn no_match_mistake(
    identity: &ServerIdentity,
    all: &[String],
    pattern: &str,
) -> Mistake {
    let word = last_part(pattern.trim_matches('%')).to_ascii_lowercase();
    let mut why = format!("{identity} has no such instrument");
    let mut offers = Vec::new();
    if let Some(gone) = identity.removed_instrument(&word) {
        why += &format!("; {}", gone.why);
        let there = gone.offers.iter().flat_map(|offer| select_instruments(all, offer));
        offers.extend(there);
    }
    if !offers.is_empty() {
        offers.dedup();
        return Mistake::new(mistake_place(pattern), why).hint(nearby_hint(&offers));
    }
    // The same thing under another class, as rwlock became sxlock in MySQL 5.7.
    let same: Vec<String> = all.iter().filter(|name| last_part(name) == word).cloned().collect();
    if !same.is_empty() {
        why += "; it has one with that name in another class";
        return Mistake::new(mistake_place(pattern), why).hint(nearby_hint(&same));
    }
    let near_names = similar_names(all, &word);
    let hint = if near_names.is_empty() {
        "SELECT NAME FROM performance_schema.setup_instruments lists all".to_owned()
    } else {
        nearby_hint(&near_names)
    };
    Mistake::new(mistake_place(pattern), why).hint(hint)
}

/// More fit than can be gathered.
pub(super) fn too_many_mistake(found: &[String], pattern: &str) -> Mistake {
    let some: Vec<&str> = found.iter().take(OFFERED).map(String::as_str).collect();
    Mistake::new(
        mistake_place(pattern),
        format!("{} instruments match; at most {MOST} can be gathered", found.len()),
    )
    .hint(format!("use more of the name; matches include {}", some.join(", ")))
}

fn mistake_place(pattern: &str) -> String {
    format!("--instrument {pattern}")
}

fn nearby_hint(names: &[String]) -> String {
    let some: Vec<&str> = names.iter().take(OFFERED).map(String::as_str).collect();
    format!("similar names: {}", some.join(", "))
}

/// Names that share most of a word's parts; one that is only mistyped comes first.
fn similar_names(all: &[String], word: &str) -> Vec<String> {
    let parts = |text: &str| -> Vec<String> {
        text.split(['_', '/', ':', '.']).filter(|p| p.len() > 2).map(str::to_owned).collect()
    };
    let wanted = parts(word);
    let shared = |name: &str| parts(name).iter().filter(|p| wanted.contains(p)).count();
    let mut found: Vec<&String> = all.iter().filter(|name| shared(last_part(name)) > 0).collect();
    // The more shared the better, then the shorter.
    found.sort_by_key(|name| (usize::MAX - shared(last_part(name)), name.len()));
    let typo = nearest_name(word, all.iter().map(|name| last_part(name)));
    let typo = typo.and_then(|typo| all.iter().find(|name| last_part(name) == typo));
    let mut list: Vec<String> = typo.into_iter().chain(found).cloned().collect();
    list.dedup();
    list.truncate(OFFERED);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<String> {
        [
            "wait/io/file/innodb/innodb_data_file",
            "wait/synch/mutex/innodb/buf_pool_mutex",
            "wait/synch/mutex/innodb/flush_list_mutex",
            "wait/synch/mutex/sql/LOCK_table_cache",
            "wait/synch/mutex/sql/THD::LOCK_thd_data",
            "wait/synch/sxlock/innodb/index_tree_rw_lock",
            "wait/synch/sxlock/innodb/hash_table_locks",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    #[test]
    fn a_pattern_is_a_name_its_end_a_part_or_like() {
        let names = |pattern| select_instruments(&all(), pattern);
        assert_eq!(names("wait/synch/mutex/innodb/buf_pool_mutex").len(), 1);
        assert_eq!(names("lock_table_cache"), ["wait/synch/mutex/sql/LOCK_table_cache"]);
        assert_eq!(names("mutex").len(), 4, "the class, and the ends of names");
        assert_eq!(names("wait/synch/%/innodb/%").len(), 4);
        assert_eq!(names("%_mutex").len(), 2);
        assert!(names("").is_empty() && names("nothing").is_empty());
    }

    #[test]
    fn what_is_gone_is_said_with_its_version_and_what_there_is() {
        let maria = ServerIdentity::from_greeting("10.11.14-MariaDB");
        let there: Vec<String> =
            all().into_iter().filter(|name| !name.ends_with("hash_table_locks")).collect();
        let mistake = no_match_mistake(&maria, &there, "hash_table_locks");
        assert!(mistake.why.contains("MariaDB 10.5"), "{mistake}");
        let hint = mistake.hint.unwrap();
        assert!(hint.contains("buf_pool_mutex") && hint.contains("index_tree_rw_lock"), "{hint}");
        let mysql = ServerIdentity::from_greeting("8.4.0");
        let mistake = no_match_mistake(&mysql, &all(), "wait/synch/rwlock/innodb/hash_table_locks");
        assert!(mistake.hint.unwrap().contains("sxlock/innodb/hash_table_locks"));
        let mistake = no_match_mistake(&mysql, &all(), "buf_pol_mutex");
        assert!(mistake.hint.unwrap().contains("buf_pool_mutex"));
        let mistake = no_match_mistake(&mysql, &all(), "xyz");
        assert!(mistake.hint.unwrap().contains("setup_instruments"));
    }

    #[test]
    fn too_many_are_counted() {
        let found: Vec<String> = (0..40).map(|n| format!("wait/synch/mutex/x/{n}")).collect();
        assert!(too_many_mistake(&found, "x").why.starts_with("40 instruments match"));
    }
}
