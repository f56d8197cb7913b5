//! Sandboxes by name: opened again, stopped, destroyed, connected to with the usual client.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Signal;

use crate::base::{Clock as _, RealClock};
use crate::plan::{Mistake, RefusedError, SandboxPlan};
use crate::server::{ServerControl as _, Settings};

use super::program::ServerProgram;
use super::registry::{self, SandboxMeta};
use super::{
    HomeFolders, Lifetime, Sandbox, SandboxOptions, check_sandbox_name, port, preflight, process,
    settings_of_plan,
};

/// How long a sweat that holds a sandbox gets to let go of it.
const PATIENCE: Duration = Duration::from_secs(60);

impl Sandbox {
    /// Opens a sandbox that is there, running or stopped, which no other sweat holds.
    ///
    /// # Errors
    /// When there is none of this name, or another sweat holds it.
    pub fn open(name: &str, terms: &SandboxOptions) -> anyhow::Result<Sandbox> {
        let (dir, meta) = find_sandbox(name, &terms.home)?;
        let Some(lock) = registry::try_lock(&dir)? else {
            let holder =
                meta.tool.as_ref().map_or(String::new(), |t| format!(" (process {})", t.pid));
            anyhow::bail!(RefusedError(format!(
                "the sandbox `{name}` is in use by another sweat{holder}"
            )));
        };
        let program = ServerProgram::find(Some(&meta.program))?;
        Sandbox::from_parts(name.to_owned(), dir, program, meta, terms, lock)
    }

    /// Opens a stopped sandbox and starts it, with other settings than before if any are given.
    ///
    /// # Errors
    /// As `open`; or when it runs already or doesn't start.
    pub fn resume(
        name: &str,
        plan: &SandboxPlan,
        terms: &SandboxOptions,
    ) -> anyhow::Result<Sandbox> {
        let settings = settings_of_plan(plan)?;
        preflight::check_memory(&settings)?;
        preflight::check_open_files()?;
        // A failure must not cost the data.
        let kept = SandboxOptions { life: Lifetime::Kept, ..terms.clone() };
        let mut sandbox = Sandbox::open(name, &kept)?;
        if sandbox.is_running() {
            sandbox.life = Lifetime::Detached;
            return Err(Mistake::new(format!("--name {name}"), "this sandbox is already running")
                .hint(format!("connect with `sweat sandbox connect {name}`"))
                .into());
        }
        super::fail_on_mistakes(sandbox.fixed_plan_mistakes(plan)?)?;
        if !settings.is_empty() {
            sandbox.meta.settings = settings;
        }
        sandbox.life =
            if terms.life == Lifetime::Detached { Lifetime::Detached } else { Lifetime::Kept };
        let clock = RealClock::start_now();
        sandbox.start_server(&Settings::new())?;
        sandbox.ready_seconds = clock.now().to_seconds();
        Ok(sandbox)
    }

    /// What a plan asks for that is made for good: a sandbox keeps its program and whether it has a port.
    fn fixed_plan_mistakes(&self, plan: &SandboxPlan) -> anyhow::Result<Vec<Mistake>> {
        let mistake = |place: &str, is: String| {
            Mistake::new(place, format!("can't be changed for an existing sandbox: {is}"))
                .hint("destroy it first, or choose another --name")
        };
        let mut mistakes = Vec::new();
        if let Some(path) = &plan.server {
            if ServerProgram::find(Some(path))?.path != self.program.path {
                let is = format!("it runs {}", self.program.path.display());
                mistakes.push(mistake("--server", is));
            }
        }
        if plan.tcp && self.meta.port.is_none() {
            mistakes.push(mistake("--tcp", "it has no port".to_owned()));
        }
        Ok(mistakes)
    }
}

/// Folder and registration of a sandbox.
fn find_sandbox(name: &str, home: &HomeFolders) -> anyhow::Result<(PathBuf, SandboxMeta)> {
    let dir = home.sandboxes.join(check_sandbox_name(name)?);
    if dir.is_dir() {
        return SandboxMeta::read_from(&dir).map(|meta| (dir, meta));
    }
    let names: Vec<String> =
        registry::list_sandboxes(home).into_iter().map(|(name, _)| name).collect();
    let hint = if names.is_empty() {
        "there are no sandboxes; start one with `sweat sandbox start`".to_owned()
    } else {
        format!("there are: {}", names.join(", "))
    };
    let why = "there is no sandbox with this name";
    Err(Mistake::new(name, why).hint(hint).into())
}

/// Stops the server of a sandbox cleanly and keeps its data; says whether it ran.
///
/// # Errors
/// When it doesn't stop.
pub fn stop_named(name: &str, terms: &SandboxOptions) -> anyhow::Result<bool> {
    let (dir, meta) = find_sandbox(name, &terms.home)?;
    release_sandbox(&dir, &meta, name)?;
    if !dir.exists() {
        // It was thrown away by the sweat that had it.
        return Ok(true);
    }
    let mut sandbox =
        Sandbox::open(name, &SandboxOptions { life: Lifetime::Detached, ..terms.clone() })?;
    let ran = sandbox.is_running() || meta.is_running();
    sandbox.stop()?;
    Ok(ran)
}

/// Ends a sandbox and removes everything of it.
///
/// # Errors
/// When it can't be ended or removed.
pub fn destroy_named(name: &str, terms: &SandboxOptions) -> anyhow::Result<()> {
    let (dir, meta) = find_sandbox(name, &terms.home)?;
    release_sandbox(&dir, &meta, name)?;
    if dir.exists() {
        let mut sandbox =
            Sandbox::open(name, &SandboxOptions { life: Lifetime::Detached, ..terms.clone() })?;
        sandbox.kill();
        registry::remove_files(&dir, Some(&meta.socket));
    }
    anyhow::ensure!(!dir.exists(), "{} can't be removed", dir.display());
    Ok(())
}

/// Asks the sweat that holds a sandbox to end, as Ctrl-C would.
fn release_sandbox(dir: &Path, meta: &SandboxMeta, name: &str) -> anyhow::Result<()> {
    let Some(tool) = meta.tool.as_ref().filter(|tool| tool.is_alive()) else { return Ok(()) };
    tool.send_signal(Signal::INT);
    let free = || !dir.exists() || matches!(registry::try_lock(dir), Ok(Some(_)));
    anyhow::ensure!(
        process::wait_until(PATIENCE, free),
        "the sweat that holds `{name}` (process {}) does not release it",
        tool.pid
    );
    Ok(())
}

/// The words that connect to a sandbox with the usual client.
pub fn client_arguments(dir: &Path, meta: &SandboxMeta) -> Vec<OsString> {
    let with = |flag: &str, path: &Path| {
        let mut word = OsString::from(flag);
        word.push(path);
        word
    };
    if meta.port.is_some() && port::option_file_path(dir).exists() {
        return vec![with("--defaults-file=", &port::option_file_path(dir))];
    }
    vec!["--no-defaults".into(), "--user=root".into(), with("--socket=", &meta.socket)]
}

/// Becomes the mariadb or mysql client, connected to a sandbox; comes back only if that fails.
///
/// # Errors
/// Always: no client is installed, or it can't be run.
pub fn exec_client(name: &str, more: &[OsString], home: &HomeFolders) -> anyhow::Result<()> {
    use std::os::unix::process::CommandExt as _;
    let (_, meta) = find_sandbox(name, home)?;
    anyhow::ensure!(
        meta.is_running(),
        RefusedError(format!(
            "the sandbox `{name}` is stopped\n\
             hint: start it with `sweat sandbox start --name {name} --detach`"
        ))
    );
    let names = ["mariadb", "mysql"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let client = names.iter().find_map(|client| {
        std::env::split_paths(&path).map(|folder| folder.join(client)).find(|file| file.is_file())
    });
    let Some(client) = client else {
        anyhow::bail!(
            "neither `mariadb` nor `mysql` is installed\n\
             hint: install the package mariadb-client; the socket is {}",
            meta.socket.display()
        );
    };
    // A password for another server, in the environment, would be taken for root's.
    let mut command = process::build_command(&client);
    command.args(["--no-defaults", "--user=root"]).arg("--socket").arg(&meta.socket).args(more);
    Err(command.exec()).with_context(|| format!("run {}", client.display()))
}
