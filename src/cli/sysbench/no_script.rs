//! Scripts in a build without Lua: what is missing is said.

use std::path::PathBuf;

use super::FAILED;
use super::reader::SysbenchWords;
use super::settings::CommonSettings;
use crate::base::Stop;

/// A script as it was named.
pub(super) struct ScriptTest<'a> {
    pub(super) source: String,
    pub(super) words: &'a SysbenchWords,
    pub(super) typed: &'a [String],
    pub(super) settings: &'a CommonSettings,
    pub(super) stop: &'a Stop,
}

/// The script at this path.
pub(super) fn path_source(path: PathBuf) -> String {
    path.display().to_string()
}

/// A script on standard input.
pub(super) fn run_input(
    words: &SysbenchWords,
    typed: &[String],
    settings: &CommonSettings,
    stop: &Stop,
) -> u8 {
    if std::io::Read::read(&mut std::io::stdin(), &mut [0]).is_ok_and(|length| length == 0) {
        return 0;
    }
    ScriptTest { source: "stdin".to_owned(), words, typed, settings, stop }.run()
}

impl ScriptTest<'_> {
    /// Says that there is no Lua.
    pub(super) fn run(&self) -> u8 {
        let ScriptTest { source, words, typed, settings, stop } = self;
        let _ = (words, typed, stop);
        settings.console.print_fatal(&format!("{source}: this build was made without Lua"));
        FAILED
    }
}
