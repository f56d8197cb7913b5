//! The script that an option names: found, and read once, however often its options are asked for. What comes through a pipe is
//! there only once.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::commands::{ScriptInfo, read_script};
use super::settings::{ScriptError, ScriptSetup, ScriptSource};
use crate::plan::Mistake;

/// Where Debian keeps the scripts of sysbench.
const SCRIPT_DIRS: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];
/// The word for standard input, and where that is.
const STDIN: (&str, &str) = ("-", "/dev/stdin");

/// A script that was read.
#[derive(Clone, Debug)]
struct KnownScript {
    source: ScriptSource,
    /// Which file it was, and when it was changed: another one is read again. What came through a pipe stays.
    stamp: Option<(u64, i64, i64, u64)>,
    info: Option<ScriptInfo>,
}

/// Scripts by the words that named them.
static KNOWN: Mutex<BTreeMap<String, KnownScript>> = Mutex::new(BTreeMap::new());

/// What the script says of itself, from the same text as [`find_script`].
///
/// # Errors
/// When there is no such script, or it fails.
pub(super) fn script_info(script: &str) -> Result<ScriptInfo, Mistake> {
    let known = known_script(script)?;
    if let Some(info) = known.info {
        return Ok(info);
    }
    let setup = ScriptSetup {
        module_dirs: module_dirs(script),
        arguments: vec!["sysbench".to_owned(), script.to_owned()],
        // Scripts may refuse to be read without a command.
        command: Some("help".to_owned()),
        ..ScriptSetup::new(known.source.clone())
    };
    let failed = |error: ScriptError| Mistake::new(script, error.message);
    let info = read_script(&setup.silenced()).map_err(failed)?;
    keep_script(script, KnownScript { info: Some(info.clone()), ..known });
    Ok(info)
}

/// A file, a pipe, or a name of one of the scripts that sysbench brings.
///
/// # Errors
/// When there is none.
pub(super) fn find_script(script: &str) -> Result<ScriptSource, Mistake> {
    Ok(known_script(script)?.source)
}

/// Scripts often ask for others that lie beside them.
pub(super) fn module_dirs(script: &str) -> Vec<PathBuf> {
    let beside = Path::new(script).parent().filter(|dir| !dir.as_os_str().is_empty());
    let beside = beside.map(Path::to_owned);
    beside.into_iter().chain(SCRIPT_DIRS.map(PathBuf::from)).collect()
}

fn known_script(script: &str) -> Result<KnownScript, Mistake> {
    let known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner).get(script).cloned();
    if let Some(known) = known.as_ref().filter(|known| known.stamp.is_none()) {
        return Ok(known.clone());
    }
    let path = if script == STDIN.0 { Path::new(STDIN.1) } else { Path::new(script) };
    let found = match fs::metadata(path) {
        Ok(meta) if meta.is_file() && script != STDIN.0 => KnownScript {
            source: ScriptSource::Path(path.to_owned()),
            stamp: stamp(&meta),
            info: None,
        },
        Ok(meta) if !meta.is_dir() => {
            let text = fs::read_to_string(path)
                .map_err(|error| Mistake::new(format!("--script {script}"), error.to_string()))?;
            let name = if path == Path::new(STDIN.1) { "stdin" } else { script };
            let source = ScriptSource::Text { name: name.to_owned(), text };
            KnownScript { source, stamp: None, info: None }
        }
        _ => find_in_dirs(script)?,
    };
    if let Some(known) = known.filter(|known| known.stamp == found.stamp) {
        return Ok(known);
    }
    keep_script(script, found.clone());
    Ok(found)
}

fn keep_script(script: &str, known: KnownScript) {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(script.to_owned(), known);
}

fn stamp(meta: &Metadata) -> Option<(u64, i64, i64, u64)> {
    Some((meta.ino(), meta.mtime(), meta.mtime_nsec(), meta.len()))
}

/// A script that sysbench brings.
fn find_in_dirs(script: &str) -> Result<KnownScript, Mistake> {
    let there = SCRIPT_DIRS.iter().flat_map(|dir| {
        [Path::new(dir).join(script), Path::new(dir).join(format!("{script}.lua"))]
    });
    for path in there {
        if let Some(meta) = fs::metadata(&path).ok().filter(Metadata::is_file) {
            let stamp = stamp(&meta);
            return Ok(KnownScript { source: ScriptSource::Path(path), stamp, info: None });
        }
    }
    Err(Mistake::new(format!("--script {script}"), "there is no such file")
        .hint("name the script by its path, as in ./oltp_custom.lua"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_script_from_a_pipe_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let script = path.display().to_string();
        let text =
            "sysbench.cmdline.options = { depth = {\"how deep\", 7} }\nfunction event() end\n";
        let writer = std::thread::spawn(move || {
            fs::OpenOptions::new().write(true).open(path).unwrap().write_all(text.as_bytes())
        });
        for _ in 0..3 {
            assert_eq!(script_info(&script).unwrap().options[0].name, "depth");
        }
        let source = ScriptSource::Text { name: script.clone(), text: text.to_owned() };
        assert_eq!(find_script(&script).unwrap(), source);
        writer.join().unwrap().unwrap();
    }

    #[test]
    fn a_file_that_has_changed_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.lua");
        let script = path.display().to_string();
        for names in [&["a"][..], &["a", "bb"]] {
            let one = |name: &&str| format!("{name} = {{\"\", 1}}");
            let list: Vec<_> = names.iter().map(one).collect();
            fs::write(&path, format!("sysbench.cmdline.options = {{ {} }}", list.join(", ")))
                .unwrap();
            assert_eq!(script_info(&script).unwrap().options.len(), names.len());
        }
    }
}
