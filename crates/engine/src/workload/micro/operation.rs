//! What an operation is: what is made ready for a round of it, what is timed, how many rows must come of it, what is put away.

/// How many rows something has, by the rows of the largest table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowCount {
    /// So many, however large the tables are.
    Exactly(u64),
    /// As many as the largest table has.
    All,
    /// One in so many of them.
    OneIn(u64),
}

impl RowCount {
    /// The number, where the largest table has so many rows.
    pub(super) fn with_rows(self, rows: u64) -> u64 {
        match self {
            RowCount::Exactly(count) => count,
            RowCount::All => rows,
            RowCount::OneIn(parts) => rows / parts,
        }
    }
}

/// One part of what is timed. Its text may have holes: see [`super::template`].
#[derive(Clone, Copy, Debug)]
pub(super) enum TimedStep {
    /// A session is opened; what follows goes to it, and it is closed with the unit.
    Connect,
    /// A statement that gives so many rows.
    Read(&'static str, RowCount),
    /// A statement that changes so many rows.
    Write(&'static str, RowCount),
    /// A statement of which nothing is counted.
    Run(&'static str),
    /// `LOAD DATA LOCAL` of a text with so many rows.
    LoadText(&'static str, u64),
}

impl TimedStep {
    /// The statement; none where a session is opened.
    pub(super) fn sql(&self) -> Option<&'static str> {
        match self {
            TimedStep::Connect => None,
            TimedStep::Read(sql, _)
            | TimedStep::Write(sql, _)
            | TimedStep::Run(sql)
            | TimedStep::LoadText(sql, _) => Some(sql),
        }
    }

    /// Rows that it gives or changes.
    pub(super) fn row_count(&self) -> RowCount {
        match self {
            TimedStep::Read(_, count) | TimedStep::Write(_, count) => *count,
            TimedStep::LoadText(_, count) => RowCount::Exactly(*count),
            TimedStep::Connect | TimedStep::Run(_) => RowCount::Exactly(0),
        }
    }
}

/// A statement around a round, which is not timed.
#[derive(Clone, Copy, Debug)]
pub(super) enum RoundStep {
    /// Once.
    Once(&'static str),
    /// Once for each unit of the round, with its number.
    Each(&'static str),
}

/// When statements are prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreparedUse {
    /// They are not: each is sent as text.
    Never,
    /// Before the round.
    Once,
    /// In each unit, and closed in it.
    EachTime,
}

/// A row of the table of operations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    /// What it is called.
    pub name: &'static str,
    /// Which ones belong together.
    pub group: &'static str,
    /// Before a round.
    pub before: &'static [RoundStep],
    /// One unit: what is counted and timed.
    pub unit: &'static [TimedStep],
    /// After a round.
    pub after: &'static [RoundStep],
    /// When its statements are prepared.
    pub prepared: PreparedUse,
    /// Units in a round at scale 1.
    pub count: u64,
    /// Most units in a round: there is nothing more to do then, or it would be another thing.
    pub most: RowCount,
    /// What a server may answer that does not do this at all, and why it does not.
    pub refusals: &'static [(u16, &'static str)],
}

impl Operation {
    /// Rows that a unit gives or changes.
    pub(super) fn unit_rows(&self, rows: u64) -> u64 {
        self.unit.iter().map(|step| step.row_count().with_rows(rows)).sum()
    }

    /// Whether its statements go to sessions of their own, whose threads nobody knows.
    pub(super) fn opens_sessions(&self) -> bool {
        self.unit.iter().any(|step| matches!(step, TimedStep::Connect))
    }

    /// The unit in one line.
    pub(super) fn unit_text(&self) -> String {
        let text = |step: &TimedStep| step.sql().unwrap_or("(connect)").to_owned();
        self.unit.iter().map(text).collect::<Vec<_>>().join("; ")
    }
}
