//! What the server says about a dump or load of its list, in its own words.

/// How far a dump or load is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::warm) enum State {
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

impl State {
    /// Reads the text of `Innodb_buffer_pool_load_status` or `..._dump_status`.
    pub(in crate::warm) fn read(text: &str) -> State {
        let lower = text.to_ascii_lowercase();
        let has = |word| lower.contains(word);
        if lower.is_empty() || has("not started") {
            State::Idle
        } else if has("completed") {
            State::Completed
        } else if has("abort") || has("interrupted") {
            State::Aborted
        } else if has("cannot") || has("error") || has("bogus") {
            State::Failed(text.to_owned())
        } else {
            State::Running(fraction(&lower))
        }
    }

    /// Whether it is over, one way or another.
    pub(in crate::warm) fn is_end(&self) -> bool {
        matches!(self, State::Completed | State::Aborted | State::Failed(_))
    }
}

/// `loaded 2049/30357 pages`: the word that is two numbers with a slash between.
fn fraction(text: &str) -> Option<(u64, u64)> {
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
            ("", State::Idle),
            ("Loading of buffer pool not started", State::Idle),
            ("Dumping of buffer pool not started", State::Idle),
            ("Loading buffer pool(s) from /var/lib/mysql/ib_buffer_pool", State::Running(None)),
            ("Loaded 2049/30357 pages", State::Running(Some((2049, 30357)))),
            ("Dumping buffer pool(s) to /srv/8/ib_buffer_pool", State::Running(None)),
            ("Dumping buffer pool 3/8, page 17/900", State::Running(Some((3, 8)))),
            ("Buffer pool(s) load completed at 261121 10:17:49", State::Completed),
            ("Buffer pool(s) dump completed at 261121  9:17:49", State::Completed),
            ("Buffer pool(s) load aborted on request", State::Aborted),
        ];
        for (text, state) in cases {
            assert_eq!(State::read(text), state, "{text}");
        }
        for text in [
            "Cannot open '/x/ib_buffer_pool' for reading: No such file or directory",
            "Error parsing '/x/ib_buffer_pool', unable to load buffer pool (stage 1)",
        ] {
            assert_eq!(State::read(text), State::Failed(text.to_owned()));
        }
    }

    #[test]
    fn a_path_with_digits_is_no_fraction() {
        assert_eq!(fraction("loading buffer pool(s) from /srv/8/9b/x"), None);
        assert_eq!(fraction("loaded 1/2 pages"), Some((1, 2)));
    }
}
