//! The known name that was probably meant.

use super::Mistake;

/// The candidate nearest to `word`, if one is near: at most one typo per three letters of what both do not begin with
/// in common, or the one that alone begins with it.
pub fn nearest_name<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    let all: Vec<&str> = candidates.into_iter().collect();
    let best = all
        .iter()
        .filter_map(|c| count_typos(&word, &c.to_ascii_lowercase()).map(|typos| (typos, *c)))
        .min_by_key(|(typos, _)| *typos);
    if let Some((_, name)) = best {
        return Some(name);
    }
    let mut begins = all.iter().filter(|c| word.len() >= 3 && c.starts_with(&word));
    begins.next().filter(|_| begins.next().is_none()).copied()
}

/// What to do about a word that is none of the names, if one is near.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest_name(word, names).map(|near| format!("did you mean {near}?"))
}

/// What to do about a word that is none of the names: the nearest, or all of them.
pub fn nearest_or_all<'a>(
    word: &str,
    names: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> String {
    let names = names.into_iter();
    did_you_mean(word, names.clone()).unwrap_or_else(|| names.collect::<Vec<_>>().join(", "))
}

/// The mistake of a name that none of the known ones is.
pub fn unknown_name<'a>(
    what: &str,
    name: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Mistake {
    let all = || format!("one of {}", names.clone().collect::<Vec<_>>().join(", "));
    let hint = did_you_mean(name, names.clone()).unwrap_or_else(all);
    Mistake::new(name, format!("no such {what}")).hint(hint)
}

/// Typos between two names, if they are few. Whole words at the beginning that are the same tell nothing:
/// `innodb_foo` is no more like `innodb_cmp` than `foo` is like `cmp`.
fn count_typos(word: &str, candidate: &str) -> Option<usize> {
    let (mut a, mut b) = (word, candidate);
    while let (Some((x, rest_of_a)), Some((y, rest_of_b))) = (a.split_once('_'), b.split_once('_'))
    {
        if x != y {
            break;
        }
        (a, b) = (rest_of_a, rest_of_b);
    }
    let typos = edit_distance(a, b);
    (typos <= (a.chars().count() / 3).max(1)).then_some(typos)
}

/// Insertions, deletions, changes and swaps of neighbours between two words (optimal string alignment).
fn edit_distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        rows[i][0] = i;
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_typos() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("tables", "tables"), 0);
        assert_eq!(edit_distance("tabels", "tables"), 1);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["tables", "table-size", "threads", "time"];
        assert_eq!(nearest_name("tabels", names), Some("tables"));
        assert_eq!(nearest_name("Threads", names), Some("threads"));
        assert_eq!(nearest_name("thr", names), Some("threads"));
        assert_eq!(nearest_name("tab", names), None);
        assert_eq!(nearest_name("banana", names), None);
        let settings = ["innodb_cmp", "innodb_buffer_pool_size", "max_connections"];
        assert_eq!(nearest_name("innodb_foo", settings), None);
        assert_eq!(
            nearest_name("innodb_bufer_pool_size", settings),
            Some("innodb_buffer_pool_size")
        );
        assert_eq!(
            nearest_name("inodb_buffer_pool_size", settings),
            Some("innodb_buffer_pool_size")
        );
        assert_eq!(nearest_name("max_connectons", settings), Some("max_connections"));
    }
}
