//! Scripts in a build without Lua: what is missing is said.

use std::path::Path;

use super::reader::SysbenchWords;
use super::settings::CommonSettings;
use super::{FAILED, OK};
use crate::base::Stop;

/// A script on standard input.
pub(super) fn run_input(
    _: &SysbenchWords,
    _: &[String],
    settings: &CommonSettings,
    _: &Stop,
) -> u8 {
    match std::io::Read::read(&mut std::io::stdin(), &mut [0]) {
        Ok(0) => OK,
        _ => refuse_script("stdin", settings),
    }
}

/// A script in a file.
pub(super) fn run_script(
    path: &Path,
    _: &SysbenchWords,
    _: &[String],
    settings: &CommonSettings,
    _: &Stop,
) -> u8 {
    refuse_script(&path.display().to_string(), settings)
}

fn refuse_script(script: &str, settings: &CommonSettings) -> u8 {
    settings.console.print_fatal(&format!("{script}: this build was made without Lua"));
    FAILED
}
