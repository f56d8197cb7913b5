//! The slow log switched on around a load, where nothing else tells which statements the load issues: with consent and a
//! journal, in a file of our own where we can read one, in the server's table otherwise.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context as _;

use super::run_context::RunContext;
use super::system::SystemUnderTest;
use crate::archive::DigestsRecord;
use crate::base::{Clock as _, Nanos, Stop};
use crate::client::Target;
use crate::plan::{AddressPlan, Plan};
use crate::probe::LogDigests;
use crate::server::journal::{Consent, LOGGING_FILE};
use crate::server::logging::{
    ALLOW, EnabledSlowLog, SlowLogRequest, free_bytes, read_slow_log_output,
};

/// What the server's disk must keep free.
const LEAST_FREE: u64 = 1 << 30;
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// The last statements are logged after their replies were sent.
const REST: Nanos = Nanos(50_000_000);

/// Whether the plan's user allows it.
pub(super) fn is_allowed(plan: &Plan) -> bool {
    plan.allow.iter().any(|word| word == ALLOW)
}

/// A log that is on. Dropping it puts everything back.
pub(super) struct StatementLog {
    target: Target,
    log: EnabledSlowLog,
    digests: LogDigests,
    /// The file of our own, and whether it goes with us: a log that was on before has its statements there.
    file: Option<(PathBuf, bool)>,
    guard: Option<DiskGuard>,
}

/// Who looks at the disk; says at its end whether it had to switch the log off.
type DiskGuard = (JoinHandle<bool>, Sender<()>);

impl StatementLog {
    /// Switches it on.
    ///
    /// # Errors
    /// When the server refuses; nothing stays changed then.
    pub(super) fn start(
        environment: &SystemUnderTest,
        run: &RunContext<'_>,
        is_first: bool,
    ) -> anyhow::Result<StatementLog> {
        let target = environment.target().context("there is no server")?;
        // Database and statement limits of the workload are not ours.
        let target = target.with_plan(&AddressPlan { database: None, ..target.plan().clone() })?;
        let consent = match environment.is_own() {
            true => Consent::for_own_server(),
            false => Consent::from_flag(&format!("--allow {ALLOW}")),
        };
        let place = read_slow_log_output(&mut target.connect(run.stop)?)?;
        let dir = run.run_dir();
        // A log that goes to the table alone stays there.
        let folder = place.file.parent().filter(|_| !place.is_on || place.is_file);
        let own_file = folder.and_then(|folder| own_file(&target, folder, &dir));
        let switch_on = |file: Option<PathBuf>| {
            let asked = SlowLogRequest {
                variables: vec![("long_query_time".to_owned(), "0".to_owned())],
                is_table: file.is_none(),
                file,
                journal: Some(dir.join(LOGGING_FILE)),
            };
            EnabledSlowLog::switch_on(&target, &consent, &asked, run.stop)
        };
        let mut opened = None;
        if let Some(path) = own_file {
            let on = switch_on(Some(path.clone()))?;
            match LogDigests::from_file(&path) {
                Ok(digests) => opened = Some((on, digests, Some(path))),
                // A server in a container has the same names for other folders.
                Err(_) => drop(on.put_back()?),
            }
        }
        let (on, digests, path) = match opened {
            Some(opened) => opened,
            None => {
                let on = switch_on(None)?;
                let digests = LogDigests::from_table(&mut target.connect(run.stop)?)
                    .context("read mysql.slow_log")?;
                (on, digests, None)
            }
        };
        if is_first {
            note_start(run, &on, path.as_deref());
        }
        let file = path.map(|path| (path, !on.was_on));
        let guard = file.as_ref().map(|(path, _)| watch_disk(path.clone(), target.clone()));
        Ok(StatementLog { target, log: on, digests, file, guard })
    }

    /// Puts everything back; the statements of the load.
    ///
    /// # Errors
    /// When something could not be put back.
    pub(super) fn stop(self, run: &RunContext<'_>) -> anyhow::Result<DigestsRecord> {
        run.clock.sleep_until(run.clock.now() + REST);
        let was_cut = self.guard.is_some_and(|(thread, done)| {
            drop(done);
            thread.join().unwrap_or(false)
        });
        let source = self.digests.source().to_owned();
        let was_on = self.log.was_on;
        let restored = self.log.put_back();
        if was_cut && was_on {
            set_log(&self.target, "ON", run.stop)?;
        }
        let found = match was_cut {
            true => {
                Err("the slow log was switched off: less than 1 GiB was free on the disk".into())
            }
            false => self.digests.read_statements(|| self.target.connect(run.stop)),
        };
        // What the user's own log would have had stays there.
        if let Some((path, true)) = &self.file {
            let _ = std::fs::remove_file(path);
        }
        restored?.left.iter().for_each(|left| run.add_note(left));
        Ok(match found {
            Ok(statements) => DigestsRecord { source, why_not: None, statements },
            Err(why) => DigestsRecord { source, why_not: Some(why), statements: Vec::new() },
        })
    }
}

fn set_log(target: &Target, value: &str, stop: &Stop) -> anyhow::Result<()> {
    let mut session = target.connect(stop)?;
    Ok(session.run_command(&format!("SET GLOBAL slow_query_log = '{value}'")).map(drop)?)
}

/// A file beside the server's own log that we shall be able to read; `None` where we shan't.
fn own_file(target: &Target, folder: &Path, run_dir: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt as _;
    let us = rustix::process::geteuid();
    let owner = std::fs::metadata(folder).ok()?.uid();
    let may_read = target.is_local() && (us.is_root() || us.as_raw() == owner);
    let has_room = free_bytes(&folder.join("log")).is_ok_and(|free| free > LEAST_FREE);
    let name = run_dir.file_name()?.to_str()?;
    (may_read && has_room).then(|| folder.join(format!("sweat-{name}.log")))
}

/// Switches the log off once the disk is nearly full.
fn watch_disk(path: PathBuf, target: Target) -> DiskGuard {
    let (done, over) = channel::<()>();
    let watch = move || {
        while over.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            let is_full = free_bytes(&path).is_ok_and(|free| free < LEAST_FREE);
            // A server that does not answer is asked again.
            if is_full && set_log(&target, "OFF", &Stop::new()).is_ok() {
                return true;
            }
        }
        false
    };
    (std::thread::spawn(watch), done)
}

fn note_start(run: &RunContext<'_>, on: &EnabledSlowLog, file: Option<&Path>) {
    run.add_note(&format!("the slow log is on during loads: {}", on.notes.join("; ")));
    let place = match file {
        Some(path) if on.was_on => path.display().to_string(),
        Some(_) => return,
        None => "mysql.slow_log".to_owned(),
    };
    let all = "all statements during loads are in";
    run.add_note(&match on.was_on {
        true => format!(
            "{all} {place}, those that your slow log would have, too; sessions opened meanwhile \
             keep long_query_time = 0 until they end"
        ),
        false => format!("{all} {place}, and stay there"),
    });
}
