//! Tells the program what `sweat --version` says: of a checkout also its commit, where git is there to ask.

use std::path::Path;
use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let of_commit = commit_text().map(|commit| format!(" ({commit})")).unwrap_or_default();
    println!("cargo::rustc-env=SWEAT_VERSION={version}{of_commit}");
    println!("cargo::rerun-if-changed=build.rs");
    for file in ["HEAD", "logs/HEAD"] {
        let path = ask_git(&["rev-parse", "--git-path", file]);
        if let Some(path) = path.filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// `68b0d74, 2026-11-22`; nothing if this is no checkout of our own, or there is no git.
fn commit_text() -> Option<String> {
    let top = ask_git(&["rev-parse", "--show-toplevel"])?;
    let is_own = Path::new(&top).canonicalize().ok()? == Path::new(".").canonicalize().ok()?;
    is_own.then(|| ask_git(&["log", "-1", "--format=%h, %cs"])).flatten()
}

#[expect(clippy::disallowed_methods, reason = "git is asked while building, not by the program")]
fn ask_git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
