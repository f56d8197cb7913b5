//! Findings as people and programs read them.
//! Never knows: how numbers were made, servers.
//! To add one: a folder here, its line in `FORMATS`, a golden file (`report/tests.rs`).

pub mod ab;
mod csv;
mod data_verdicts;
mod dbt2;
mod html;
pub mod http_load;
mod json;
mod junit;
mod markdown;
pub mod openmetrics;
#[cfg(test)]
mod operation_samples;
mod order_entry;
mod overlay;
#[cfg(test)]
mod samples;
pub mod slap;
mod statements;
pub mod sysbench;
mod text;
pub mod tpcc_mysql;
mod watch;
mod ycsb;

pub use data_verdicts::{
    crash_rounds_json, crash_rounds_text, data_verdicts_json, data_verdicts_text,
};
pub use html::{inline_texts, live_page};
pub use overlay::{DifferingSetting, MULTI_RUN_FORMATS, write_side_by_side};
pub use statements::STATEMENT_FORMATS;
pub use text::{
    caveat_explanation_text, caveat_list_text, format_paragraph, shorten_cell, stall_cause_text,
    truncate_text,
};
pub use watch::{CLASSIC, WATCH_FORMATS, WATCH_ONLY_FORMATS, write_watch};

use std::io::{self, Write};

use sweat_analysis::{analysis, archive};
use sweat_engine::plan;

use crate::analysis::Findings;
use crate::archive::RunState;

/// All formats, in the order of `sweat report --help`.
pub const FORMATS: &[ReportFormat] = &[
    text::FORMAT,
    json::FORMAT,
    csv::FORMAT,
    csv::SUMMARY_FORMAT,
    html::FORMAT,
    markdown::FORMAT,
    junit::FORMAT,
    openmetrics::FORMAT,
    tpcc_mysql::FORMAT,
    dbt2::FORMAT,
    ycsb::FORMAT,
    ab::FORMAT,
];

/// Name of the page in a run folder.
pub const PAGE: &str = "report.html";

/// A way to show findings.
pub struct ReportFormat {
    /// Name on the command line.
    pub name: &'static str,
    /// One line for the help.
    pub about: &'static str,
    /// Why it can't show these findings, if it can't.
    refuse: fn(Findings<'_>) -> Option<String>,
    write: fn(Findings<'_>, ReportStyle, &mut dyn Write) -> io::Result<()>,
}

impl ReportFormat {
    /// Why this format can't show these findings; `None` where it can.
    pub fn refusal<'a>(&self, findings: impl Into<Findings<'a>>) -> Option<String> {
        (self.refuse)(findings.into())
    }

    /// The usual case: what was found can be shown, whatever it is.
    fn shows_all(_: Findings<'_>) -> Option<String> {
        None
    }

    /// The findings in this format.
    pub fn render<'a>(&self, findings: impl Into<Findings<'a>>, style: ReportStyle) -> Vec<u8> {
        let mut text = Vec::new();
        (self.write)(findings.into(), style, &mut text).expect("memory takes every write");
        text
    }
}

/// What the reader's screen can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportStyle {
    /// Whether colours may be used; they are never the only sign.
    pub colour: bool,
    /// How much the text for terminals says.
    pub detail: ReportDetail,
}

/// How much the text for terminals says. Other formats always say all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReportDetail {
    /// Three lines: the answer, the caveats by id, the run's folder.
    Short,
    /// One screen: the answer, its table, the caveats by id, the run's folder.
    #[default]
    Summary,
    /// All that there is to say.
    Full,
}

/// The format of this name.
pub fn find_format(name: &str) -> Option<&'static ReportFormat> {
    FORMATS.iter().find(|format| format.name == name)
}

/// How far a run came, in one word.
fn state_word(state: RunState) -> &'static str {
    match state {
        RunState::Running => "running",
        RunState::Done => "done",
        RunState::Interrupted => "interrupted",
        RunState::Failed => "failed",
    }
}

#[cfg(test)]
mod tests;
