//! Initialised data folders, made once per server program and copied for every new sandbox.
//!
//! A template is built in a folder of its own and renamed when it is whole, under a lock per template, so a
//! half-made one is never seen. Its name is a hash of everything that shapes it.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use anyhow::Context as _;
use rustix::fs::FlockOperation;
use rustix::process::Signal;

use crate::base::Stop;
use crate::client;
use crate::server::{Settings, datadir, remove_folder};

use super::arguments::{self, SandboxPaths};
use super::home::{HomeFolders, make_private_folder, socket_path};
use super::process::{self, ChildPolicy, ProcessId, wait_until};
use super::program::ServerProgram;
use super::{diagnosis, ready, validate};

/// Counts up when templates are made differently, so that old ones are not used any more.
const EDITION: u32 = 2;
/// Longest time for one step of making a template.
const PATIENCE: Duration = Duration::from_secs(120);
/// The file beside the data that says what a template is made of.
const RECIPE: &str = "recipe";

/// Makes `datadir` (which must not exist) an initialised data folder.
///
/// # Errors
/// When the server can't be made to initialise one.
pub(super) fn fill_datadir(
    program: &ServerProgram,
    settings: &Settings,
    home: &HomeFolders,
    datadir: &Path,
    stop: &Stop,
) -> anyhow::Result<()> {
    let initial = arguments::initial_settings(settings);
    let recipe = template_recipe(program, &initial)?;
    make_private_folder(&home.templates)?;
    let name = format!("{:016x}", fnv1a_hash(recipe.as_bytes()));
    let template = home.templates.join(&name);
    let _lock = lock_template(&home.templates.join(format!("{name}.lock")), stop)?;
    let whole = std::fs::read_to_string(template.join(RECIPE)).is_ok_and(|text| text == recipe);
    if !whole {
        let fresh = home.templates.join(format!(".{name}.{}", std::process::id()));
        remove_folder(&fresh)?;
        let built = build_template(program, &initial, &fresh, &recipe, stop);
        if let Err(e) = built {
            let _ = std::fs::remove_dir_all(&fresh);
            return Err(e.context("make an initialized data folder"));
        }
        remove_folder(&template)?;
        std::fs::rename(&fresh, &template).context("put the template in its place")?;
        remove_older(program, &home.templates, &name);
    }
    datadir::copy_folder(&template.join("data"), datadir, stop).context("copy the template")?;
    Ok(())
}

/// Everything that shapes a template, as text.
fn template_recipe(program: &ServerProgram, initial: &Settings) -> anyhow::Result<String> {
    let meta = program.binary.metadata().context("look at the server program")?;
    let mut text = format!(
        "edition {EDITION}\nprogram {}\nbinary {}\nsize {}\nmodified {}.{}\nversion {}\n",
        program.path.display(),
        program.binary.display(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec(),
        program.text
    );
    for (name, value) in initial {
        text += &format!("setting {name}={value}\n");
    }
    Ok(text)
}

/// FNV-1a, 64 bits: the same on every machine and in every version of ours.
fn fnv1a_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Waits for the lock of a template: somebody else may be making it.
fn lock_template(path: &Path, stop: &Stop) -> anyhow::Result<File> {
    let file = File::create(path).with_context(|| format!("make {}", path.display()))?;
    let mut failed = None;
    let done = wait_until(PATIENCE, || {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return true,
            Err(rustix::io::Errno::WOULDBLOCK) => {}
            Err(e) => failed = Some(e),
        }
        failed.is_some() || stop.is_set()
    });
    if let Some(e) = failed {
        return Err(e).with_context(|| format!("lock {}", path.display()));
    }
    if stop.is_set() {
        return Err(client::Error::Abandoned.into());
    }
    anyhow::ensure!(done, "another sweat has held {} for too long", path.display());
    Ok(file)
}

/// Removes templates that older files of the same program made, unless somebody uses them right now.
fn remove_older(program: &ServerProgram, templates: &Path, keep: &str) {
    let mine = format!("program {}\n", program.path.display());
    let version = format!("version {}\n", program.text);
    for entry in std::fs::read_dir(templates).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        let Ok(text) = std::fs::read_to_string(path.join(RECIPE)) else { continue };
        if name == keep || name.starts_with('.') || !text.contains(&mine) || text.contains(&version)
        {
            continue;
        }
        let lock_path = templates.join(format!("{name}.lock"));
        let Ok(lock) = File::create(&lock_path) else { continue };
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn build_template(
    program: &ServerProgram,
    initial: &Settings,
    folder: &Path,
    recipe: &str,
    stop: &Stop,
) -> anyhow::Result<()> {
    make_private_folder(folder)?;
    make_private_folder(&folder.join("tmp"))?;
    if program.is_mariadb() {
        bootstrap_mariadb(program, initial, folder, stop)?;
    } else {
        initialize_mysql(program, initial, folder, stop)?;
    }
    let data = folder.join("data");
    // Each copy makes its own identity, and none loads a pool that was dumped elsewhere.
    for file in ["auto.cnf", "ib_buffer_pool", "server.pid"] {
        let _ = std::fs::remove_file(data.join(file));
    }
    std::fs::write(folder.join(RECIPE), recipe).context("write the template's recipe")
}

/// MariaDB: its SQL files fed to a server that reads statements instead of serving.
fn bootstrap_mariadb(
    program: &ServerProgram,
    initial: &Settings,
    folder: &Path,
    stop: &Stop,
) -> anyhow::Result<()> {
    let data = folder.join("data");
    make_private_folder(&data)?;
    let sql = folder.join("bootstrap.sql");
    write_bootstrap_sql(program, &sql)?;
    let mut args = arguments::base_arguments(program, &data);
    args.extend([
        "--bootstrap".to_owned(),
        format!("--tmpdir={}", folder.join("tmp").display()),
        "--log-warnings=0".to_owned(),
        "--enforce-storage-engine=".to_owned(),
        "--max-allowed-packet=8M".to_owned(),
    ]);
    args.extend(initial.iter().map(|(name, value)| arguments::to_option(name, value)));
    let input = File::open(&sql).context("open the statements")?;
    run_to_end(program, &args, Some(input), &folder.join("out"), stop)
}

/// The statements that make the system tables: the server's own files, with an account `root@localhost` that has
/// no password and no anonymous accounts.
fn write_bootstrap_sql(program: &ServerProgram, sql: &Path) -> anyhow::Result<()> {
    const FILES: [&str; 3] = ["system_tables", "performance_tables", "system_tables_data"];
    let share = find_sql_folder(program)?;
    let read = |stem: &str| {
        ["mysql", "mariadb"]
            .iter()
            .find_map(|product| std::fs::read(share.join(format!("{product}_{stem}.sql"))).ok())
            .with_context(|| format!("read {}/*_{stem}.sql", share.display()))
    };
    // In this mode the server takes each line for a statement.
    let mut text = b"create database mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n".to_vec();
    for stem in FILES {
        text.extend(read(stem)?);
        text.push(b'\n');
    }
    if let Ok(sys) = read("sys_schema") {
        text.extend(sys);
        text.extend(b"\nuse mysql;\n");
    }
    text.extend(
        b"delete from global_priv where user = '' or user = 'root' and host <> 'localhost';\n\
          delete from proxies_priv where host <> 'localhost';\n\
          delete from db where user = '';\n",
    );
    let mut file = File::create(sql).context("write the statements")?;
    file.write_all(&text).context("write the statements")
}

/// The folder that holds MariaDB's SQL files. The program says where its own things are: those of another version,
/// installed beside it, make tables that it can't use.
fn find_sql_folder(program: &ServerProgram) -> anyhow::Result<PathBuf> {
    let defaults = validate::list_defaults(program)?;
    let value = |name: &str| {
        let found = defaults.iter().find(|(known, _)| known == name)?;
        Some(PathBuf::from(&found.1)).filter(|path| path.is_absolute())
    };
    let messages = value("lc_messages_dir");
    let beside_charsets = value("character_sets_dir").and_then(|p| Some(p.parent()?.to_owned()));
    let root = value("basedir");
    let shares = ["share/mysql", "share/mariadb", "share"];
    let in_root = shares.iter().filter_map(|share| Some(root.as_ref()?.join(share)));
    let folders: Vec<PathBuf> =
        messages.into_iter().chain(beside_charsets).chain(in_root).collect();
    let holds = |folder: &PathBuf| {
        ["mysql", "mariadb"]
            .iter()
            .any(|product| folder.join(format!("{product}_system_tables.sql")).exists())
    };
    folders.iter().find(|folder| holds(folder)).cloned().ok_or_else(|| {
        let places: Vec<String> = folders.iter().map(|path| path.display().to_string()).collect();
        anyhow::anyhow!(
            "the SQL files that make the system tables of {} {} are in none of the folders that {} \
             names: {}\n\
             hint: install the package mariadb-server whole, or give the server's own file with \
             --server if this is a script around it",
            program.product.name(),
            program.version,
            program.path.display(),
            places.join(", ")
        )
    })
}

/// MySQL: it initialises itself, and is started and stopped once because the first start is the slowest.
fn initialize_mysql(
    program: &ServerProgram,
    initial: &Settings,
    folder: &Path,
    stop: &Stop,
) -> anyhow::Result<()> {
    let mut args = arguments::base_arguments(program, &folder.join("data"));
    args.push("--initialize-insecure".to_owned());
    args.push(format!("--log-error={}", folder.join("server.err").display()));
    args.extend(initial.iter().map(|(name, value)| arguments::to_option(name, value)));
    run_to_end(program, &args, None, &folder.join("out"), stop)?;
    let socket = socket_path(folder)?;
    let places = SandboxPaths { dir: folder.to_owned(), socket, port: None };
    let result = start_and_stop(program, initial, &places, stop);
    if places.socket.parent() != Some(folder) {
        let _ = std::fs::remove_file(&places.socket);
        let _ = std::fs::remove_file(places.socket.with_extension("lock"));
        let _ = places.socket.parent().map(std::fs::remove_dir);
    }
    result
}

fn start_and_stop(
    program: &ServerProgram,
    initial: &Settings,
    places: &SandboxPaths,
    stop: &Stop,
) -> anyhow::Result<()> {
    let out = File::create(places.output_file()).context("make a file for the server's words")?;
    let args = arguments::serve_arguments(program, places, initial);
    let mut child = process::spawn_server(&program.path, &args, ChildPolicy::Kill, None, out)?;
    let up = wait_until(PATIENCE, || {
        stop.is_set()
            || !matches!(child.try_wait(), Ok(None))
            || ready::sends_greeting(&places.socket)
    });
    let alive = matches!(child.try_wait(), Ok(None));
    if stop.is_set() || !alive || !up {
        kill_child(&mut child);
        return Err(template_error("the new server did not start", places, stop));
    }
    if let Some(id) = ProcessId::from_pid(child.id()) {
        id.send_signal(Signal::TERM);
    }
    if wait_until(PATIENCE, || !matches!(child.try_wait(), Ok(None))) {
        return Ok(());
    }
    kill_child(&mut child);
    Err(template_error("the new server did not stop", places, stop))
}

/// Runs the server to its end.
fn run_to_end(
    program: &ServerProgram,
    args: &[String],
    input: Option<File>,
    out: &Path,
    stop: &Stop,
) -> anyhow::Result<()> {
    let words = File::create(out).context("make a file for the server's words")?;
    let mut child = process::spawn_server(&program.path, args, ChildPolicy::Kill, input, words)?;
    let ended = wait_until(PATIENCE, || stop.is_set() || !matches!(child.try_wait(), Ok(None)));
    let good = ended && child.try_wait().ok().flatten().is_some_and(|status| status.success());
    if good {
        return Ok(());
    }
    kill_child(&mut child);
    let folder = out.parent().unwrap_or(out).to_owned();
    let places = SandboxPaths { dir: folder, socket: PathBuf::new(), port: None };
    Err(template_error("the server does not initialize its data", &places, stop))
}

fn template_error(what: &str, places: &SandboxPaths, stop: &Stop) -> anyhow::Error {
    if stop.is_set() {
        return client::Error::Abandoned.into();
    }
    let mut words = diagnosis::read_tail(&places.output_file(), 20);
    words.extend(diagnosis::read_tail(&places.error_log(), 20));
    diagnosis::startup_error(what, &words)
}

fn kill_child(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}
