//! A throw-away MariaDB or MySQL server in a private folder: on a socket, with its data copied from a template.
//! Start reading at `Sandbox::create`. Never knows: what it is for.

mod arguments;
mod control;
mod diagnosis;
mod home;
mod named;
mod port;
mod preflight;
mod process;
mod program;
mod ready;
mod registry;
mod template;
mod validate;

pub use home::HomeFolders;
pub(super) use home::{make_private_folder, random_hex};
pub use named::{client_arguments, destroy_named, exec_client, stop_named};
pub use process::ProcessId;
#[cfg(feature = "agents")]
pub(super) use process::spawn_server;
pub(super) use process::{ChildPolicy, build_command, wait_until};
pub use program::ServerProgram;
pub use registry::{SandboxMeta, list_sandboxes, remove_orphans};
pub use validate::validate_settings;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::Signal;

use crate::base::{Clock as _, RealClock, Stop, kernel};
use crate::client::{self, Target};
use crate::plan::{AddressPlan, Mistake, SandboxPlan, SslMode, SslPlan};
use crate::server::{ServerControl as _, Settings};

use arguments::SandboxPaths;
use diagnosis::StartupError;

/// Longest time until a server answers; it may have to recover its data first.
const START_LIMIT: Duration = Duration::from_secs(300);
/// Longest time for a clean stop.
const STOP_LIMIT: Duration = Duration::from_secs(300);

/// How long a sandbox lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lifetime {
    /// As long as the value; then it is killed and its folder removed.
    #[default]
    ThrowAway,
    /// The server as long as the value, its data until it is destroyed.
    Kept,
    /// Until it is stopped or destroyed by its name, also after we have ended.
    Detached,
}

/// How a sandbox is made, beside its plan.
#[derive(Clone, Debug)]
pub struct SandboxOptions {
    /// Where it lives.
    pub home: HomeFolders,
    /// Its name; a random one if not given.
    pub name: Option<String>,
    /// How long it lives.
    pub life: Lifetime,
    /// Set to give up waiting.
    pub stop: Stop,
}

/// A server of our own. Dropping it ends it as its [`Lifetime`] says.
#[derive(Debug)]
pub struct Sandbox {
    name: String,
    dir: PathBuf,
    datadir: PathBuf,
    program: ServerProgram,
    meta: SandboxMeta,
    target: Target,
    tcp: Option<AddressPlan>,
    life: Lifetime,
    child: Option<Child>,
    stop: Stop,
    ready_seconds: f64,
    _lock: File,
}

impl Sandbox {
    /// Makes a sandbox and starts it; it answers when this returns.
    ///
    /// # Errors
    /// When no server is installed, the plan asks for what this machine has not, or the server doesn't start.
    pub fn create(plan: &SandboxPlan, terms: &SandboxOptions) -> anyhow::Result<Sandbox> {
        let settings = settings_of_plan(plan)?;
        preflight::check_memory(&settings)?;
        preflight::check_open_files()?;
        let program = ServerProgram::find(plan.server.as_deref())?;
        let clock = RealClock::start_now();
        home::make_private_folder(&terms.home.sandboxes)?;
        preflight::check_disk(&terms.home.sandboxes)?;
        let name = match &terms.name {
            Some(name) => check_sandbox_name(name)?.to_owned(),
            None => home::random_hex(4)?,
        };
        let dir = terms.home.sandboxes.join(&name);
        if dir.exists() {
            return Err(Mistake::new(
                format!("--name {name}"),
                "a sandbox with this name already exists",
            )
            .hint("see `sweat sandbox list`")
            .into());
        }
        let mut sandbox = Sandbox::create_folder(name, dir, program, settings, terms)?;
        sandbox.meta.port = plan.tcp.then_some(0);
        let filled = template::fill_datadir(
            &sandbox.program,
            &sandbox.meta.settings,
            &terms.home,
            &sandbox.datadir,
            &terms.stop,
        );
        if let Err(e) = filled.and_then(|()| sandbox.start_server(&Settings::new())) {
            // Nobody has seen it yet, so nothing of it is worth keeping.
            sandbox.life = Lifetime::ThrowAway;
            return Err(e);
        }
        sandbox.ready_seconds = clock.now().to_seconds();
        Ok(sandbox)
    }

    /// Makes the folder, complete with its registration, and only then gives it its name.
    fn create_folder(
        name: String,
        dir: PathBuf,
        program: ServerProgram,
        settings: Settings,
        terms: &SandboxOptions,
    ) -> anyhow::Result<Sandbox> {
        let meta = SandboxMeta {
            format: 1,
            host: kernel::host_name(),
            program: program.path.clone(),
            version: program.text.clone(),
            settings,
            socket: home::socket_path(&dir)?,
            port: None,
            server: None,
            tool: Some(ProcessId::own_process()?),
            // Only what once was ready is worth keeping.
            keep: false,
        };
        let fresh = terms.home.sandboxes.join(format!(".{name}.{}", std::process::id()));
        home::make_private_folder(&fresh)?;
        home::make_private_folder(&fresh.join("tmp"))?;
        let lock = registry::try_lock(&fresh)?.context("lock a new folder")?;
        meta.write_to(&fresh)?;
        std::fs::rename(&fresh, &dir).with_context(|| format!("make {}", dir.display()))?;
        Sandbox::from_parts(name, dir, program, meta, terms, lock)
    }

    fn from_parts(
        name: String,
        dir: PathBuf,
        program: ServerProgram,
        meta: SandboxMeta,
        terms: &SandboxOptions,
        lock: File,
    ) -> anyhow::Result<Sandbox> {
        let target = Target::new(&address_plan(&meta))?;
        Ok(Sandbox {
            name,
            datadir: dir.join("data"),
            dir,
            program,
            meta,
            target,
            tcp: None,
            life: terms.life,
            child: None,
            stop: terms.stop.clone(),
            ready_seconds: 0.0,
            _lock: lock,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its server program.
    pub fn program(&self) -> &ServerProgram {
        &self.program
    }

    /// What the registry says of it.
    pub fn meta(&self) -> &SandboxMeta {
        &self.meta
    }

    /// How long it took from the wish to the first answer, seconds.
    pub fn ready_seconds(&self) -> f64 {
        self.ready_seconds
    }

    /// How to talk to it over its loopback port, if it has one and was started by this value.
    pub fn tcp_address(&self) -> Option<&AddressPlan> {
        self.tcp.as_ref()
    }

    /// Whether its server runs still.
    pub fn is_running(&mut self) -> bool {
        match &mut self.child {
            Some(child) => matches!(child.try_wait(), Ok(None)),
            None => self.meta.is_running(),
        }
    }

    /// Starts the server, opens its port if it has one, and writes down how long it may live.
    fn start_server(&mut self, settings: &Settings) -> anyhow::Result<()> {
        self.meta.tool = Some(ProcessId::own_process()?);
        self.launch_on_port(settings)?;
        let before = self.tcp.as_ref().and_then(|address| address.port);
        if let Some(port) = self.meta.port.filter(|port| before != Some(*port)) {
            self.tcp = Some(port::create_account(&self.target, &self.dir, port, &self.stop)?);
        }
        self.meta.keep = self.life != Lifetime::ThrowAway;
        if self.life == Lifetime::Detached {
            self.meta.tool = None;
        }
        self.meta.write_to(&self.dir)
    }

    /// Starts the server; on another port if somebody was faster to take the one that was free.
    fn launch_on_port(&mut self, settings: &Settings) -> anyhow::Result<()> {
        for _ in 0..3 {
            let Some(port) = self.meta.port else { break };
            self.meta.port = Some(port::choose_free(Some(port))?);
            match self.launch_server(settings) {
                Err(e) if e.downcast_ref::<StartupError>().is_some_and(|e| e.is_port_in_use) => {}
                other => return other,
            }
        }
        self.launch_server(settings)
    }

    /// Starts the server with its own settings and these, and waits until it answers.
    fn launch_server(&mut self, settings: &Settings) -> anyhow::Result<()> {
        let places = self.file_paths();
        let _ = std::fs::remove_file(&places.socket);
        let mut all = self.meta.settings.clone();
        all.extend(settings.iter().cloned());
        let args = arguments::serve_arguments(&self.program, &places, &all);
        let out =
            File::create(places.output_file()).context("make a file for the server's words")?;
        let tie = match self.life {
            Lifetime::ThrowAway => ChildPolicy::Kill,
            Lifetime::Kept => ChildPolicy::Stop,
            Lifetime::Detached => ChildPolicy::None,
        };
        let child = process::spawn_server(&self.program.path, &args, tie, None, out)?;
        self.meta.server = ProcessId::from_pid(child.id());
        self.child = Some(child);
        self.meta.write_to(&self.dir)?;
        let up = wait_until(START_LIMIT, || {
            self.stop.is_set() || !self.is_running() || ready::sends_greeting(&places.socket)
        });
        if self.stop.is_set() {
            self.kill();
            return Err(client::Error::Abandoned.into());
        }
        if up && self.is_running() {
            return Ok(());
        }
        let what =
            if up { "the server ended while it started" } else { "the server does not answer" };
        let error = diagnosis::startup_error(what, &self.error_log_tail(20));
        self.kill();
        Err(error)
    }

    fn file_paths(&self) -> SandboxPaths {
        self.meta.file_paths(&self.dir)
    }

    /// Ends the server at once; its data is as after a power cut.
    pub fn kill(&mut self) {
        if let Some(server) = self.meta.server.take() {
            server.send_signal(Signal::KILL);
            server.wait_for_exit(STOP_LIMIT);
        }
        self.reap_child();
    }

    /// Takes note that the server has ended.
    fn reap_child(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
        self.meta.server = None;
        let _ = self.meta.write_to(&self.dir);
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        match self.life {
            Lifetime::ThrowAway => {
                self.kill();
                registry::remove_files(&self.dir, Some(&self.meta.socket));
            }
            Lifetime::Kept => {
                let _ = self.stop();
                self.meta.tool = None;
                let _ = self.meta.write_to(&self.dir);
            }
            Lifetime::Detached => {}
        }
    }
}

/// The settings of a plan; the pool is one of them.
fn settings_of_plan(plan: &SandboxPlan) -> anyhow::Result<Settings> {
    let (settings, mistakes) = settings_and_mistakes(plan);
    fail_on_mistakes(mistakes).map(|()| settings)
}

/// The settings of a plan, and what is wrong with them by their names and shapes.
fn settings_and_mistakes(plan: &SandboxPlan) -> (Settings, Vec<Mistake>) {
    let mut mistakes = arguments::check_settings(&plan.settings);
    let mut settings = Settings::new();
    if let Some(pool) = plan.pool {
        match pool {
            crate::base::units::ByteSize::Bytes(bytes) => {
                settings.push(("innodb_buffer_pool_size".to_owned(), bytes.to_string()));
            }
            crate::base::units::ByteSize::TimesPool(_) => mistakes.push(
                Mistake::new("--pool", "a pool can't be given as a multiple of itself")
                    .hint("give bytes, as in --pool 256M"),
            ),
        }
    }
    settings.extend(plan.settings.iter().cloned());
    (settings, mistakes)
}

fn fail_on_mistakes(mistakes: Vec<Mistake>) -> anyhow::Result<()> {
    Ok(crate::plan::Mistakes::check(mistakes)?)
}

/// A name is a folder's name.
fn check_sandbox_name(name: &str) -> anyhow::Result<&str> {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.is_empty() && name.len() <= 40 && name.chars().all(good) {
        return Ok(name);
    }
    Err(Mistake::new(format!("--name {name}"), "is not a valid name for a sandbox")
        .hint("use letters, digits, - and _, at most 40")
        .into())
}

/// How to talk to a sandbox: its root account over the private socket.
fn address_plan(meta: &SandboxMeta) -> AddressPlan {
    AddressPlan {
        socket: Some(meta.socket.clone()),
        user: Some("root".to_owned()),
        ssl: SslPlan { mode: Some(SslMode::Disabled), ..SslPlan::default() },
        ..AddressPlan::default()
    }
}
