//! Commands that are another program's command line in our own words: these are translated before they are read.

use std::ffi::OsString;
use std::io::Write as _;

use super::exit::CommandOutcome;

/// What the words of the other program come to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TranslatedCall {
    /// The command line in our own words, with the program's name.
    Own(Vec<OsString>),
    /// A text to print.
    Print(String),
    /// Words that can't be read.
    Wrong(String),
}

impl TranslatedCall {
    /// The words to go on with.
    ///
    /// # Errors
    /// How it ends, as all was said.
    pub(super) fn take_words(self, name: &str) -> Result<Vec<OsString>, CommandOutcome> {
        match self {
            TranslatedCall::Own(words) => Ok(words),
            TranslatedCall::Print(text) => {
                let _ = write!(std::io::stdout().lock(), "{text}");
                Err(CommandOutcome::Done)
            }
            TranslatedCall::Wrong(why) => {
                let hint = format!("`sweat {name} --help` lists what there is");
                let _ = writeln!(std::io::stderr().lock(), "error: {why}\nhint: {hint}");
                Err(CommandOutcome::Usage)
            }
        }
    }
}
