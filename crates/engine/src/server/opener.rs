//! Opens a page with the desktop's program for that: the one process here that is no server's. It is in this room because
//! no other starts processes.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;

use super::sandbox::build_command;
use crate::base::{Clock as _, Nanos, RealClock};

/// The desktop's own opener.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
/// Stands for the page in `$BROWSER`.
const PLACE: &str = "%s";
/// An opener that has not failed after so long has worked: some are the browser itself.
const PATIENCE: Nanos = Nanos(1_500_000_000);
/// Between two looks at it.
const LOOK: Nanos = Nanos(20_000_000);

/// Opens a page: with the first of `$BROWSER` that works, or else with the desktop's opener, where there is a display.
///
/// # Errors
/// In words, why nothing was opened.
pub fn open_page(page: &Path) -> Result<(), String> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let commands = opener_commands(page, &variable)?;
    let mut why = String::new();
    for command in &commands {
        match start_opener(command) {
            Ok(()) => return Ok(()),
            Err(reason) => why = format!("{}: {reason}", command[0].to_string_lossy()),
        }
    }
    Err(why)
}

/// What to try, in this order: programs and their words.
fn opener_commands(
    page: &Path,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<Vec<OsString>>, String> {
    if let Some(browsers) = variable("BROWSER") {
        let browsers = browsers.to_string_lossy().into_owned();
        let found: Vec<_> =
            browsers.split(':').filter_map(|browser| browser_command(browser, page)).collect();
        return if found.is_empty() {
            Err("$BROWSER names no program".to_owned())
        } else {
            Ok(found)
        };
    }
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| variable(name).is_some());
    if !has_display && !cfg!(target_os = "macos") {
        return Err("there is no display".to_owned());
    }
    Ok(vec![vec![OPENER.into(), page.into()]])
}

/// One of the commands in `$BROWSER`: the page stands where `%s` does, or else behind it.
fn browser_command(browser: &str, page: &Path) -> Option<Vec<OsString>> {
    let page = page.as_os_str();
    let mut words: Vec<OsString> = browser
        .split_whitespace()
        .map(|word| match word.split_once(PLACE) {
            Some((before, after)) => [before.as_ref(), page, after.as_ref()].into_iter().collect(),
            None => word.into(),
        })
        .collect();
    if words.is_empty() {
        return None;
    }
    if !browser.contains(PLACE) {
        words.push(page.to_owned());
    }
    Some(words)
}

/// Starts a program that is not ours to wait for: in a group of its own, so that Ctrl-C does not reach it.
fn start_opener(words: &[OsString]) -> Result<(), String> {
    let mut command = build_command(Path::new(&words[0]));
    command.args(&words[1..]).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such program".to_owned(),
        _ => error.to_string(),
    })?;
    let clock = RealClock::start_now();
    while clock.now() < PATIENCE {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("failed with {status}")),
            Ok(None) => drop(clock.sleep_until(clock.now() + LOOK)),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(set: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let variable =
            |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, v)| v.into());
        let found = opener_commands(Path::new("/r/a b.html"), &variable)?;
        let text = |words: Vec<OsString>| {
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join("|")
        };
        Ok(found.into_iter().map(text).collect())
    }

    #[test]
    fn the_browser_that_is_named_comes_before_the_desktop() {
        let display = ("WAYLAND_DISPLAY", "wayland-0");
        assert_eq!(
            commands(&[display, ("BROWSER", "my browser --new=%s:w3m")]).unwrap(),
            ["my|browser|--new=/r/a b.html", "w3m|/r/a b.html"]
        );
        assert_eq!(commands(&[display]).unwrap(), [format!("{OPENER}|/r/a b.html")]);
        assert!(commands(&[("BROWSER", ":")]).is_err());
    }

    #[test]
    #[cfg(not(target_os = "macos"))]
    fn without_a_display_nothing_is_started() {
        assert_eq!(commands(&[]).unwrap_err(), "there is no display");
        let why = start_opener(&["/no/such/opener".into()]).unwrap_err();
        assert_eq!(why, "there is no such program");
        assert!(start_opener(&["false".into()]).unwrap_err().starts_with("failed with"));
        assert_eq!(start_opener(&["true".into()]), Ok(()));
    }
}
