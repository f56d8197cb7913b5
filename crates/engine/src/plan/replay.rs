//! What is asked of a replay beyond the load: what becomes of writes, and when statements begin.

/// What becomes of statements that would write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WritesPlan {
    /// Left out: on a replica the applier warms what they touch.
    #[default]
    Drop,
    /// Their read half is sent: a SELECT of the rows that they would find.
    Where,
    /// The read half, and a look-up in every index that they would change.
    Probe,
    /// Sent as they are; only on a server that the user named in words.
    Execute,
}

impl WritesPlan {
    /// All of them, as typed.
    pub const WORDS: &'static [&'static str] = &["drop", "where", "probe", "execute"];

    /// The one of this word.
    pub fn from_word(word: &str) -> Option<WritesPlan> {
        let all = [WritesPlan::Drop, WritesPlan::Where, WritesPlan::Probe, WritesPlan::Execute];
        WritesPlan::WORDS.iter().position(|known| *known == word).map(|at| all[at])
    }
}

/// When the statements of a replay begin. A constant or Poisson rate is an arrival of the load, not one of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimingPlan {
    /// As far apart as recorded, so many times as fast; 1 for as recorded.
    Recorded {
        /// 2 for twice as fast.
        speed: f64,
    },
    /// Each session's statements one right after the other.
    Fast,
}

impl Default for TimingPlan {
    fn default() -> TimingPlan {
        TimingPlan::Recorded { speed: 1.0 }
    }
}
