//! Why a server did not start: the last lines that it wrote, and what they mean.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::ExitStatus;

use crate::plan::Mistake;

/// Bytes of a log that are looked at.
const TAIL: u64 = 64 << 10;
/// Lines that are quoted.
const QUOTED: usize = 12;

/// A known cause: words of the log (any of them, in lower case), what they mean, what to do.
struct KnownCause {
    words: &'static [&'static str],
    why: &'static str,
    hint: &'static str,
}

impl KnownCause {
    /// Whether a line of a log, in lower case, has one of its words.
    fn is_told_by(&self, lower: &[String]) -> bool {
        lower.iter().any(|line| self.words.iter().any(|word| line.contains(word)))
    }
}

/// A server that did not start, for a cause that its log tells.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub(super) struct StartupError {
    text: String,
    /// Somebody else has its port: it may start on another one.
    pub(super) is_port_in_use: bool,
}

const PORT_IN_USE: KnownCause = KnownCause {
    words: &["address already in use"],
    why: "its port is in use",
    hint: "start it again: another port is chosen",
};

/// Known causes, the more special ones first.
const CAUSES: &[KnownCause] = &[
    KnownCause {
        words: &["secure-file-priv"],
        why: "its folder for files (secure_file_priv) does not exist",
        hint: "leave secure_file_priv unset, or set it to a folder that exists",
    },
    KnownCause {
        words: &["run mysqld as root"],
        why: "it refuses to run as root",
        hint: "run sweat as another user",
    },
    PORT_IN_USE,
    KnownCause {
        words: &["can't lock aria control file", "unable to lock"],
        why: "another server has the same data folder open",
        hint: "see `sweat sandbox list`, and stop the other one",
    },
    KnownCause {
        words: &["no space left on device", "disk is full"],
        why: "the disk is full",
        hint: "make room, or choose another disk with $SWEAT_HOME",
    },
    KnownCause {
        words: &["io_setup", "aio-max-nr"],
        why: "the system allows no more asynchronous I/O",
        hint: "raise fs.aio-max-nr, or use --set innodb_use_native_aio=0",
    },
    KnownCause {
        words: &["cannot allocate memory for the buffer pool"],
        why: "there is not enough memory for the buffer pool",
        hint: "use a smaller --pool",
    },
    KnownCause {
        words: &["too many open files"],
        why: "its limit of open files is too low",
        hint: "raise the limit with `ulimit -n`",
    },
    KnownCause {
        words: &["permission denied"],
        why: "it can't read or write a file of ours: a security profile (AppArmor, SELinux) may \
              restrict it to its usual folders",
        hint: "see `aa-status` and the system's log; run a copy of the program with --server, \
               or have the profile set to complain",
    },
    KnownCause {
        words: &["error while loading shared libraries"],
        why: "it needs libraries that are missing",
        hint: "install the server's whole package, or name another program with --server",
    },
];

/// Settings that the server did not understand, in its own words.
const UNKNOWN: &[&str] =
    &["unknown variable '", "unknown option '", "ambiguous option '", "unknown suffix '"];
const VALUE: &[&str] = &["error while setting value '", "invalid value for", "wrong value for"];

/// The last lines of a file, oldest first.
pub(super) fn read_tail(path: &Path, lines: usize) -> Vec<String> {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut bytes = Vec::new();
        file.take(TAIL).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    all[all.len().saturating_sub(lines)..].iter().map(|line| (*line).to_owned()).collect()
}

/// The error for a server that ended while it should have started, from what it wrote.
pub(super) fn startup_error(what: &str, lines: &[String]) -> anyhow::Error {
    let quoted = quote_lines(lines);
    if let Some(line) =
        lines.iter().find(|line| contains_any(line, UNKNOWN) || contains_any(line, VALUE))
    {
        return Mistake::new(
            format!("--set {}", unknown_setting(line).unwrap_or_default()).trim_end().to_owned(),
            format!("the server doesn't accept this setting; it says:\n{quoted}"),
        )
        .hint("see `mariadbd --help --verbose` for its settings")
        .into();
    }
    let lower: Vec<String> = lines.iter().map(|line| line.to_lowercase()).collect();
    match CAUSES.iter().find(|cause| cause.is_told_by(&lower)) {
        Some(KnownCause { why, hint, .. }) => StartupError {
            text: format!("{what}: {why}; its last words:\n{quoted}\nhint: {hint}"),
            is_port_in_use: PORT_IN_USE.is_told_by(&lower),
        }
        .into(),
        None if lines.is_empty() => anyhow::anyhow!("{what}, and printed nothing"),
        None => anyhow::anyhow!("{what}; its last words:\n{quoted}"),
    }
}

/// How a server ended that nobody stopped: `was killed by signal 9 (SIGKILL)`.
pub(super) fn describe_exit(status: ExitStatus) -> String {
    const NAMES: &[(i32, &str)] = &[
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL; the kernel does that where memory runs out"),
        (11, "SIGSEGV"),
        (15, "SIGTERM"),
        (25, "SIGXFSZ: a file grew beyond the limit"),
    ];
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = NAMES.iter().find(|(number, _)| *number == signal);
            let name = name.map_or(String::new(), |(_, name)| format!(" ({name})"));
            format!("was killed by signal {signal}{name}")
        }
        (None, Some(0)) => "was shut down by another program".to_owned(),
        (None, code) => format!("ended by itself, with exit code {}", code.unwrap_or(-1)),
    }
}

/// The last complaints; all of the last lines where there are none.
fn quote_lines(lines: &[String]) -> String {
    let is_complaint = |line: &&String| !line.contains("[Note]") && !line.contains("[System]");
    let complaints: Vec<&String> = lines.iter().filter(is_complaint).collect();
    let all = || lines.iter().collect();
    let shown: Vec<&String> = if complaints.is_empty() { all() } else { complaints };
    let from = shown.len().saturating_sub(QUOTED);
    shown[from..].iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

fn contains_any(line: &str, phrases: &[&str]) -> bool {
    let line = line.to_lowercase();
    phrases.iter().any(|phrase| line.contains(phrase))
}

/// The setting that a complaint is about: `... unknown variable 'innodb_foo=1'.`
fn unknown_setting(line: &str) -> Option<String> {
    let lower = line.to_lowercase();
    let at = UNKNOWN[..3].iter().find_map(|p| lower.find(p).map(|at| at + p.len()))?;
    let quoted = line.get(at..)?.split('\'').next()?;
    Some(quoted.trim_start_matches('-').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_server_ended_is_told_by_its_signal_or_code() {
        let words = |raw| describe_exit(ExitStatus::from_raw(raw));
        assert_eq!(words(11), "was killed by signal 11 (SIGSEGV)");
        assert!(words(9).starts_with("was killed by signal 9 (SIGKILL"));
        assert_eq!(words(64), "was killed by signal 64");
        assert_eq!(words(1 << 8), "ended by itself, with exit code 1");
        assert!(words(0).contains("another program"));
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn an_unknown_setting_is_named_and_the_log_is_quoted() {
        let error = startup_error(
            "ended",
            &lines(
                "[Note] Starting\n[ERROR] mariadbd: unknown variable 'innodb_foo=1'\n[ERROR] Bye",
            ),
        );
        let mistake = error.downcast_ref::<Mistake>().unwrap();
        assert_eq!(mistake.place, "--set innodb_foo=1");
        assert!(mistake.why.contains("| [ERROR] mariadbd: unknown variable"), "{}", mistake.why);
        assert!(!mistake.why.contains("Starting"), "{}", mistake.why);
        let mysql = "[ERROR] [MY-000068] [Server] unknown option '--bogus'.";
        let error = startup_error("ended", &lines(mysql));
        assert_eq!(error.downcast_ref::<Mistake>().unwrap().place, "--set bogus");
    }

    #[test]
    fn known_causes_have_a_hint_and_unknown_ones_the_words_only() {
        let full = startup_error(
            "ended",
            &lines("InnoDB: Error number 28 means 'No space left on device'"),
        );
        assert!(format!("{full:#}").contains("the disk is full"));
        assert!(format!("{full:#}").contains("\nhint: make room"));
        assert!(!full.downcast_ref::<StartupError>().unwrap().is_port_in_use);
        let taken = "[ERROR] Can't start server: Bind on TCP/IP port. Got error: 98: \
                     Address already in use";
        let taken = startup_error("ended", &lines(taken));
        assert!(taken.downcast_ref::<StartupError>().unwrap().is_port_in_use, "{taken:#}");
        let other = startup_error("ended", &lines("[ERROR] the moon is in the wrong place"));
        assert!(!format!("{other:#}").contains("hint"));
        assert!(format!("{other:#}").contains("| [ERROR] the moon"));
        assert!(format!("{:#}", startup_error("ended", &[])).contains("printed nothing"));
    }

    #[test]
    fn the_tail_is_the_last_lines_oldest_first() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.err");
        std::fs::write(&path, "1\n\n2\n3\n").unwrap();
        assert_eq!(read_tail(&path, 2), ["2", "3"]);
        assert_eq!(read_tail(&dir.path().join("none"), 2), Vec::<String>::new());
    }
}
