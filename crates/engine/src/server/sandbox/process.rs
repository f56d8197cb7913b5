//! Processes: started so that they die with us, known by more than their number, ended with certainty.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal};
use serde::{Deserialize, Serialize};

use crate::base::{Clock as _, Nanos, RealClock};

/// Most open files a server is given: some versions allocate memory for each one allowed.
const OPEN_FILES: u64 = 1 << 20;

/// A process that can't be mistaken for another with the same number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started, in the words of the system.
    pub started: String,
    /// Which boot of the system it belongs to.
    pub boot: String,
}

impl ProcessId {
    /// The identity of a process that runs now.
    pub fn from_pid(pid: u32) -> Option<ProcessId> {
        Some(ProcessId { pid, started: start_time(pid)?, boot: boot_id() })
    }

    /// Our own.
    ///
    /// # Errors
    /// When the system doesn't tell.
    pub fn own_process() -> anyhow::Result<ProcessId> {
        ProcessId::from_pid(std::process::id()).context("read our own entry in the process table")
    }

    /// Whether this very process still runs.
    pub fn is_alive(&self) -> bool {
        ProcessId::from_pid(self.pid).is_some_and(|now| now == *self)
    }

    /// Sends a signal, to this very process or to none.
    pub fn send_signal(&self, signal: Signal) {
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else { return };
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
            // The descriptor holds the process before we look who it is, so the number can't change hands.
            if let Ok(fd) = pidfd_open(pid, PidfdFlags::empty()) {
                if self.is_alive() {
                    let _ = pidfd_send_signal(fd, signal);
                }
                return;
            }
        }
        if self.is_alive() {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    /// Waits until it has ended, for at most `limit`; says whether it has.
    pub fn wait_for_exit(&self, limit: Duration) -> bool {
        wait_until(limit, || !self.is_alive())
    }
}

/// Asks again and again, more and more rarely, until `done` or the time is over; says whether it was done.
pub(in crate::server) fn wait_until(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let clock = RealClock::start_now();
    let end = Nanos::from(limit);
    let mut pause = Nanos(1_000_000);
    loop {
        if done() {
            return true;
        }
        let now = clock.now();
        if now >= end {
            return false;
        }
        clock.sleep_until(now + pause);
        pause = Nanos((pause.0 * 5 / 4).min(20_000_000));
    }
}

/// When a process started; `None` if there is none, or only its remains wait to be collected.
#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in brackets may hold anything, also blanks and brackets.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let state = *fields.first()?;
    if matches!(state, "Z" | "X") { None } else { fields.get(19).map(|s| (*s).to_owned()) }
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<String> {
    let text =
        read_stdout(Path::new("/bin/ps"), &["-o", "stat=,lstart=", "-p", &pid.to_string()]).ok()?;
    let (state, start) = text.trim().split_once(' ')?;
    (!state.starts_with('Z')).then(|| start.trim().to_owned())
}

/// A name of this boot of the system.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|id| id.trim().to_owned())
        .unwrap_or_default()
}

/// A program with our environment, but for what is meant for us alone.
#[expect(clippy::disallowed_methods, reason = "the room server starts processes")]
pub(in crate::server) fn build_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if is_private_variable(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether a variable of the environment is for us alone: our own ones hold tokens, those of mysql's clients passwords;
/// whoever may look at a server's process sees its environment.
fn is_private_variable(name: &str) -> bool {
    let is_theirs = name.starts_with("MYSQL_") || name.starts_with("MARIADB_");
    name.starts_with("SWEAT_") || is_theirs && (name.ends_with("_PWD") || name.contains("PASSWORD"))
}

/// Runs a program for its words on standard output.
///
/// # Errors
/// When it can't be run or fails; with its last words.
pub(super) fn read_stdout(program: &Path, args: &[&str]) -> anyhow::Result<String> {
    let output =
        build_command(program).args(args).stdin(Stdio::null()).output().context("can't be run")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let last = words.lines().next_back().unwrap_or_default();
        anyhow::bail!("fails with {}: {last}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// What a program said before it ended.
#[derive(Debug)]
pub(super) struct ProgramOutput {
    /// On standard output.
    pub(super) words: String,
    /// On standard error.
    pub(super) errors: String,
}

/// Runs a program for its words, whether it ends well or not.
///
/// # Errors
/// When it can't be run.
pub(super) fn capture_output(program: &Path, args: &[String]) -> anyhow::Result<ProgramOutput> {
    let output =
        build_command(program).args(args).stdin(Stdio::null()).output().context("can't be run")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(ProgramOutput { words: text(&output.stdout), errors: text(&output.stderr) })
}

/// What becomes of a process when we end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum ChildPolicy {
    /// It is killed.
    Kill,
    /// It is asked to stop.
    Stop,
    /// It goes on.
    None,
}

/// Starts a server: in a session of its own, so that Ctrl-C doesn't reach it; tied to us; without our descriptors.
///
/// # Errors
/// When it can't be started.
pub(in crate::server) fn spawn_server(
    program: &Path,
    args: &[String],
    tie: ChildPolicy,
    input: Option<File>,
    out: File,
) -> anyhow::Result<Child> {
    let mut command = build_command(program);
    command
        .args(args)
        .current_dir("/")
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stderr(out.try_clone().context("share the file for the server's words")?)
        .stdout(out);
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec the closure makes plain system calls only: it doesn't allocate, lock or panic.
    #[expect(unsafe_code, reason = "the child must be tied to us before it becomes the server")]
    unsafe {
        command.pre_exec(move || prepare_child(tie, parent));
    }
    let (reply, answer) = channel();
    spawner_thread()?
        .send(SpawnRequest { command, reply })
        .map_err(|_| anyhow::anyhow!("the thread that starts servers is gone"))?;
    let child = answer.recv().context("wait for the thread that starts servers")?;
    child.with_context(|| format!("start {}", program.display()))
}

/// Runs in the child before it becomes the server.
fn prepare_child(tie: ChildPolicy, parent: Pid) -> io::Result<()> {
    rustix::process::setsid()?;
    raise_open_files();
    close_descriptors();
    apply_child_policy(tie, parent)
}

#[cfg(target_os = "linux")]
fn apply_child_policy(tie: ChildPolicy, parent: Pid) -> io::Result<()> {
    let signal = match tie {
        ChildPolicy::Kill => Signal::KILL,
        ChildPolicy::Stop => Signal::TERM,
        ChildPolicy::None => return Ok(()),
    };
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    // If we ended before the tie was made, nobody would ever pull it.
    if rustix::process::getppid() == Some(parent) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

#[cfg(not(target_os = "linux"))]
fn apply_child_policy(_tie: ChildPolicy, _parent: Pid) -> io::Result<()> {
    // No such tie here: the next start of sweat finds the orphan and ends it.
    Ok(())
}

/// Allows as many open files as the system lets us.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let current = Some(maximum.unwrap_or(OPEN_FILES).min(OPEN_FILES));
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

/// Sees to it that the server gets none of the descriptors that we have or were given, such as locks of a shell.
fn close_descriptors() {
    #[cfg(target_os = "linux")]
    {
        const CLOEXEC: libc::c_uint = 4;
        // SAFETY: marks descriptors as closing on exec; touches no memory.
        #[expect(unsafe_code, reason = "neither std nor rustix has close_range")]
        let done = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, CLOEXEC) };
        if done == 0 {
            return;
        }
    }
    for fd in 3..1024 {
        // SAFETY: sets a flag of a descriptor, or fails where there is none; touches no memory.
        #[expect(unsafe_code, reason = "the descriptors are not ours to own")]
        unsafe {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

struct SpawnRequest {
    command: Command,
    reply: Sender<io::Result<Child>>,
}

/// The thread that starts servers. It lives as long as we do: the kernel's tie between a child and its parent
/// is pulled when the **thread** ends that started the child.
fn spawner_thread() -> anyhow::Result<&'static Sender<SpawnRequest>> {
    static KEEPER: OnceLock<Result<Sender<SpawnRequest>, String>> = OnceLock::new();
    let keeper = KEEPER.get_or_init(|| {
        let (sender, jobs): (Sender<SpawnRequest>, Receiver<SpawnRequest>) = channel();
        std::thread::Builder::new()
            .name("servers".to_owned())
            .spawn(move || {
                for mut job in jobs {
                    let _ = job.reply.send(job.command.spawn());
                }
            })
            .map(|_| sender)
            .map_err(|e| e.to_string())
    });
    keeper.as_ref().map_err(|why| anyhow::anyhow!("start the thread that starts servers: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_more_than_its_number() {
        let own = ProcessId::own_process().unwrap();
        assert!(own.is_alive());
        let impostor = ProcessId { started: "1".to_owned(), ..own.clone() };
        assert!(!impostor.is_alive());
        let before_the_reboot = ProcessId { boot: "other".to_owned(), ..own };
        assert!(!before_the_reboot.is_alive());
    }

    #[test]
    fn a_process_that_outlives_the_thread_that_asked_for_it_still_lives_then_ends_by_signal() {
        let out = || File::create("/dev/null").unwrap();
        let sleep = Path::new("/bin/sleep");
        let mut child = std::thread::spawn(move || {
            spawn_server(sleep, &["30".to_owned()], ChildPolicy::Kill, None, out()).unwrap()
        })
        .join()
        .unwrap();
        let id = ProcessId::from_pid(child.id()).unwrap();
        assert!(
            !id.wait_for_exit(Duration::from_millis(50)),
            "died with the thread that asked for it"
        );
        let impostor = ProcessId { started: "1".to_owned(), ..id.clone() };
        impostor.send_signal(Signal::KILL);
        assert!(
            !id.wait_for_exit(Duration::from_millis(50)),
            "a signal for another process hit this one"
        );
        id.send_signal(Signal::KILL);
        assert!(id.wait_for_exit(Duration::from_secs(5)));
        child.wait().unwrap();
    }
}
