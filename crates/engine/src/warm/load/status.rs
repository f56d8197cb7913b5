//! What the server says about a dump or load of its list, in its own words.

/// How far a dump or load is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::warm) enum DumpLoadState {
    /// None has begun since the start.
    Idle,
    /// Under way; pages done and in all where the text has them.
    Running(Option<(u64, u64)>),
    /// Through.
    Completed,
    /// Broken off because somebody asked.
    Aborted,
    /// Failed, with the server's words.
    Failed(String),
}

impl DumpLoadState {
    /// Reads the text of `Innodb_buffer_pool_load_status` or `..._dump_status`.
    pub(in crate::warm) fn from_status(text: &str) -> DumpLoadState {
        let lower = text.to_ascii_lowercase();
        let has = |word| lower.contains(word);
        if lower.is_empty() || has("not started") {
            DumpLoadState::Idle
        } else if has("completed") {
            DumpLoadState::Completed
        } else if has("abort") || has("interrupted") {
            DumpLoadState::Aborted
        } else if has("cannot") || has("error") || has("bogus") {
            DumpLoadState::Failed(text.to_owned())
        } else {
            DumpLoadState::Running(parse_fraction(&lower))
        }
    }

    /// Whether it is over, one way or another.
    pub(in crate::warm) fn has_ended(&self) -> bool {
        matches!(self, DumpLoadState::Completed | DumpLoadState::Aborted | DumpLoadState::Failed(_))
    }
}

/// `loaded 2049/30357 pages`: the word that is two numbers with a slash between.
fn parse_fraction(text: &str) -> Option<(u64, u64)> {
    text.split_whitespace().find_map(|word| {
        let (done, total) = word.trim_end_matches(',').split_once('/')?;
        Some((done.parse().ok()?, total.parse().ok()?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_both_products_are_understood() {
        let cases = [
            ("", DumpLoadState::Idle),
            ("Loading of buffer pool not started", DumpLoadState::Idle),
            ("Dumping of buffer pool not started", DumpLoadState::Idle),
            (
                "Loading buffer pool(s) from /var/lib/mysql/ib_buffer_pool",
                DumpLoadState::Running(None),
            ),
            ("Loaded 2049/30357 pages", DumpLoadState::Running(Some((2049, 30357)))),
            ("Dumping buffer pool(s) to /srv/8/ib_buffer_pool", DumpLoadState::Running(None)),
            ("Dumping buffer pool 3/8, page 17/900", DumpLoadState::Running(Some((3, 8)))),
            ("Buffer pool(s) load completed at 261121 10:17:49", DumpLoadState::Completed),
            ("Buffer pool(s) dump completed at 261121  9:17:49", DumpLoadState::Completed),
            ("Buffer pool(s) load aborted on request", DumpLoadState::Aborted),
        ];
        for (text, state) in cases {
            assert_eq!(DumpLoadState::from_status(text), state, "{text}");
        }
        for text in [
            "Cannot open '/x/ib_buffer_pool' for reading: No such file or directory",
            "Error parsing '/x/ib_buffer_pool', unable to load buffer pool (stage 1)",
        ] {
            assert_eq!(DumpLoadState::from_status(text), DumpLoadState::Failed(text.to_owned()));
        }
    }

    #[test]
    fn a_path_with_digits_is_no_fraction() {
        assert_eq!(parse_fraction("loading buffer pool(s) from /srv/8/9b/x"), None);
        assert_eq!(parse_fraction("loaded 1/2 pages"), Some((1, 2)));
    }
}
