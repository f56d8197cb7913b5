//! Which server: the flags that every mysql client has, as a group for every command that talks to one.
//! Layers, each over the one before: environment, option files, command line.

mod apply;
mod hosts;

pub(super) use apply::{ENVIRONMENT, apply_option, library_address};
pub(super) use hosts::{HostPlace, HostRule};

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::base::units::ByteSize;
use crate::plan::{AddressPlan, Mistake, Mistakes, Protocol, SandboxPlan, TargetPlan};

use super::arguments::{switch_flag, value_flag};
use super::argv::{TypedPassword, quote_word};
use super::context::CliContext;
use super::{option_file, prompt};

/// Flags whose text goes into the address, in the order of the help: name, short, value, help.
const FLAGS: &[(&str, Option<char>, &str, &str)] = &[
    ("host", Some('h'), "HOST", "Host of the server; localhost means its socket"),
    ("port", Some('P'), "PORT", "TCP port [default: 3306]"),
    ("user", Some('u'), "USER", "Account [default: that of the system]"),
    ("socket", Some('S'), "PATH", "Unix socket"),
    ("database", Some('D'), "NAME", "Database"),
    ("protocol", None, "tcp|socket", "Connect in this way only"),
    ("ssl-mode", None, "MODE", "TLS: disabled, preferred, required, verify_ca, verify_identity"),
    ("ssl-ca", None, "FILE", "Certificate authority to trust, PEM"),
    ("ssl-capath", None, "DIR", "Folder of authorities to trust, PEM"),
    ("ssl-cert", None, "FILE", "Client certificate, PEM"),
    ("ssl-key", None, "FILE", "Client key, PEM"),
    ("connect-timeout", None, "SECONDS", "Give up connecting after this time"),
    (
        "control-timeout",
        None,
        "SECONDS",
        "Give up waiting for an answer outside the load [default: 30]",
    ),
    ("server-public-key-path", None, "FILE", "The server's RSA public key, PEM"),
];

/// Flags without a value that go into the address: name, help.
const SWITCHES: &[(&str, &str)] = &[
    ("get-server-public-key", "Fetch the server's RSA key if there is no TLS"),
    ("enable-cleartext-plugin", "Allow sending the password in clear text"),
];

/// Flags that say which option files are read: name, value, help.
const FILE_FLAGS: &[(&str, Option<&str>, &str)] = &[
    ("defaults-file", Some("FILE"), "Read only this option file"),
    ("defaults-extra-file", Some("FILE"), "Read this option file, too"),
    ("defaults-group-suffix", Some("TEXT"), "Also read groups with this suffix"),
    ("no-defaults", None, "Read no option files"),
    ("login-path", Some("NAME"), "Read this group of ~/.mylogin.cnf"),
    ("no-login-paths", None, "Do not read ~/.mylogin.cnf"),
];

/// Names that sysbench has for the same flags.
const ALIASES: &[(&str, &str)] = &[
    ("host", "mysql-host"),
    ("port", "mysql-port"),
    ("user", "mysql-user"),
    ("socket", "mysql-socket"),
    ("database", "mysql-db"),
    ("ssl-mode", "mysql-ssl"),
];

/// Heading of the group in the help.
pub(super) const HEADING: &str = "Server";
/// Heading of the flags of a throw-away server.
pub(super) const SANDBOX_HEADING: &str = "Throw-away server";

/// The smallest buffer pool that servers start with.
const LEAST_POOL_BYTES: u64 = 6 << 20;

/// Adds the flags of a server that runs already.
pub(super) fn add_address_flags(mut command: Command) -> Command {
    for (name, short, value, help) in FLAGS {
        let mut arg = value_flag(*name, *value).help_heading(HEADING).help(*help);
        // Those with a letter are for every day; the others stand in `sweat help connecting`.
        arg = short.map_or(arg.clone().hide_short_help(true), |c| arg.short(c));
        for (_, alias) in ALIASES.iter().filter(|(of, _)| of == name) {
            arg = arg.alias(*alias);
        }
        command = command.arg(arg);
        if *name == "user" {
            command = command.arg(password_flag());
        }
    }
    for (name, help) in SWITCHES {
        let arg = switch_flag(*name).help(*help).hide_short_help(true);
        command = command.arg(arg.help_heading(HEADING));
    }
    for (name, value, help) in FILE_FLAGS {
        let arg =
            Arg::new(*name).long(*name).help(*help).help_heading(HEADING).hide_short_help(true);
        command = command.arg(match value {
            Some(value) => arg.value_name(*value),
            None => arg.action(ArgAction::SetTrue),
        });
    }
    command
}

/// The flag as the help shows it. `argv` has taken its value away before clap sees it.
fn password_flag() -> Arg {
    switch_flag("password")
        .short('p')
        .help_heading(HEADING)
        .help("Ask for the password, or -pSECRET without a blank")
}

/// Adds the flags of a throw-away server as the target.
pub(super) fn add_sandbox_flags(command: Command) -> Command {
    let with = |arg: Arg| arg.help_heading(SANDBOX_HEADING);
    let names: Vec<&str> = FLAGS.iter().map(|f| f.0).filter(|n| *n != "database").collect();
    command.args(
        [
            switch_flag("sandbox")
                .conflicts_with_all(names)
                .help("Start a server for this run, and remove it afterwards"),
            value_flag("server", "PATH")
                .requires("sandbox")
                .help("Its mariadbd or mysqld [default: the one installed]"),
            value_flag("set", "NAME=VALUE")
                .action(ArgAction::Append)
                .requires("sandbox")
                .help("A setting of it; may be repeated"),
            value_flag("pool", "SIZE")
                .requires("sandbox")
                .help("Size of its buffer pool, as in 256M"),
        ]
        .map(with),
    )
}

/// The flags with which this command was told its server, to be shown in advice: ` -h db1 -u bench -p`. Never a password.
pub(super) fn typed_flags(args: &ArgMatches, context: &CliContext) -> String {
    let mut text = String::new();
    for (name, short, ..) in FLAGS {
        if let Some(value) = args.get_one::<String>(name) {
            let flag = short.map_or(format!("--{name}"), |short| format!("-{short}"));
            // Of several hosts the advice is for one: the message names it.
            let value = if *name == "host" && value.contains(',') { "HOST" } else { value };
            text += &format!(" {flag} {}", quote_word(value));
        }
        if *name == "user" && !matches!(context.password, TypedPassword::Absent) {
            text += " -p";
        }
    }
    for (name, value, _) in FILE_FLAGS {
        let is_typed = args.value_source(name) == Some(ValueSource::CommandLine);
        match (is_typed, value) {
            (true, None) => text += &format!(" --{name}"),
            (true, Some(_)) => {
                let value = args.get_one::<String>(name).map(String::as_str).unwrap_or_default();
                text += &format!(" --{name}={}", quote_word(value));
            }
            (false, _) => {}
        }
    }
    text
}

/// Whether the words name a server at all, or option files to find it in.
pub(super) fn is_server_named(args: &ArgMatches) -> bool {
    let named = FLAGS.iter().any(|(name, ..)| args.contains_id(name));
    let typed = |name: &str| args.value_source(name) == Some(ValueSource::CommandLine);
    named || args.get_flag("sandbox") || FILE_FLAGS.iter().any(|(name, ..)| typed(name))
}

/// The target that the words name, a throw-away server or an address. What a plan file names stands over option
/// files and environment, and under the words.
///
/// # Errors
/// All mistakes together.
pub(super) fn resolve_target(
    args: &ArgMatches,
    context: &CliContext,
    planned: &TargetPlan,
    rule: HostRule,
) -> anyhow::Result<TargetPlan> {
    if args.get_flag("sandbox") {
        return Ok(TargetPlan::Sandbox(parse_sandbox(args)?));
    }
    let unnamed = TargetPlan::Address(AddressPlan::default());
    let planned = if matches!(planned, TargetPlan::None) { &unnamed } else { planned };
    overlay_target(args, context, planned, rule)
}

/// The target of a plan, with the words typed over it. A plan without one has none unless words name it: option
/// files alone must not decide which server is used.
///
/// # Errors
/// All mistakes together.
pub(super) fn overlay_target(
    args: &ArgMatches,
    context: &CliContext,
    planned: &TargetPlan,
    rule: HostRule,
) -> anyhow::Result<TargetPlan> {
    let typed = FLAGS.iter().any(|(name, ..)| args.contains_id(name));
    let plan = match planned {
        TargetPlan::Address(plan) => plan,
        planned if !typed => return Ok(planned.clone()),
        TargetPlan::None | TargetPlan::Sandbox(_) => &AddressPlan::default(),
    };
    let plan = resolve_over_plan(plan, args, context)?;
    hosts::check_hosts(&plan, rule)?;
    Ok(TargetPlan::Address(plan))
}

/// What `--server`, `--set` and `--pool` say.
///
/// # Errors
/// All mistakes together.
pub(super) fn parse_sandbox(args: &ArgMatches) -> Result<SandboxPlan, Mistakes> {
    let mut mistakes = Vec::new();
    let mut plan = SandboxPlan {
        server: args.get_one::<String>("server").map(PathBuf::from),
        ..SandboxPlan::default()
    };
    for setting in args.get_many::<String>("set").into_iter().flatten() {
        match setting.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                plan.settings.push((name.to_owned(), value.to_owned()));
            }
            _ => mistakes.push(
                Mistake::new("--set", format!("`{setting}` has no `=`"))
                    .hint("as in --set innodb_io_capacity=2000"),
            ),
        }
    }
    match args.get_one::<String>("pool").map(|text| text.parse()).transpose() {
        Ok(Some(ByteSize::TimesPool(_))) => {
            mistakes.push(Mistake::new("--pool", "the pool can't be a multiple of itself"));
        }
        Ok(Some(ByteSize::Bytes(bytes @ ..LEAST_POOL_BYTES))) => {
            let why = format!("{bytes} bytes are less than InnoDB starts with");
            mistakes.push(Mistake::new("--pool", why).hint("at least 6M, as in 256M"));
        }
        Ok(pool) => plan.pool = pool,
        Err(e) => mistakes.push(Mistake::new("--pool", e.to_string())),
    }
    if mistakes.is_empty() { Ok(plan) } else { Err(Mistakes(mistakes)) }
}

/// The address of one server that environment, option files and words name together; asks for the password if told to.
///
/// # Errors
/// All mistakes together; or when the password can't be asked for.
pub(super) fn resolve_address(
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<AddressPlan> {
    let plan = resolve_over_plan(&AddressPlan::default(), args, context)?;
    hosts::check_hosts(&plan, HostRule::One)?;
    Ok(plan)
}

/// The same with the address of a plan file below the words typed, and as many servers as are named.
fn resolve_over_plan(
    planned: &AddressPlan,
    args: &ArgMatches,
    context: &CliContext,
) -> anyhow::Result<AddressPlan> {
    let mut plan = AddressPlan::default();
    let mut mistakes = Vec::new();
    for (variable, name) in apply::ENVIRONMENT {
        if let Ok(value) = std::env::var(variable) {
            apply::apply_option(&mut plan, variable, name, &value, &mut mistakes);
        }
    }
    let found = option_file::read_option_files(&option_file_choice(args));
    found.warnings.iter().for_each(|warning| context.print_message(&format!("warning: {warning}")));
    mistakes.extend(found.mistakes);
    for option in &found.options {
        apply::apply_option(&mut plan, &option.place, &option.name, &option.value, &mut mistakes);
    }
    apply::overlay_address(&mut plan, planned);
    let below = plan.clone();
    apply_flags(&mut plan, args, &mut mistakes);
    if let Some(hosts) = plan.host.take() {
        match HostPlace::parse_list(&hosts) {
            Ok(places) => plan = server_plans(places, &below, &plan, args, &mut mistakes),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    Mistakes::check(mistakes)?;
    let password = match &context.password {
        TypedPassword::Absent => return Ok(plan),
        TypedPassword::Skipped => None,
        TypedPassword::Given(secret) => Some(secret.clone()),
        TypedPassword::Ask(_) => Some(prompt::ask_password(&context.stop)?),
    };
    plan.others.iter_mut().for_each(|other| other.password.clone_from(&password));
    plan.password = password;
    Ok(plan)
}

/// The address of each server: what holds for all, with what option files say of it alone between files and words.
fn server_plans(
    places: Vec<HostPlace>,
    below: &AddressPlan,
    all: &AddressPlan,
    args: &ArgMatches,
    mistakes: &mut Vec<Mistake>,
) -> AddressPlan {
    let choice = option_file_choice(args);
    let mut plans = places.into_iter().map(|place| {
        let groups = place.option_groups(all.port);
        let found = option_file::read_host_groups(&choice, &groups);
        let mut plan = all.clone();
        if !found.is_empty() {
            plan = below.clone();
            for option in &found {
                apply::apply_option(
                    &mut plan,
                    &option.place,
                    &option.name,
                    &option.value,
                    mistakes,
                );
            }
            // What is wrong with the words was told when they were read for all.
            apply_flags(&mut plan, args, &mut Vec::new());
        }
        place.put_into(&mut plan);
        plan
    });
    let mut first = plans.next().expect("a list has a first part");
    first.others = plans.collect();
    first
}

/// Which option files to read, by words and environment.
fn option_file_choice(args: &ArgMatches) -> option_file::OptionFileChoice {
    let text = |name: &str| args.get_one::<String>(name).cloned();
    let path = |name: &str| text(name).map(PathBuf::from);
    let usual = option_file::OptionFileChoice::from_environment();
    option_file::OptionFileChoice {
        only: path("defaults-file"),
        extra: path("defaults-extra-file"),
        suffix: text("defaults-group-suffix").or(usual.suffix),
        none: args.get_flag("no-defaults"),
        login_path: text("login-path"),
        no_login_paths: args.get_flag("no-login-paths"),
        ..usual
    }
}

/// Lays the words typed over the plan.
fn apply_flags(plan: &mut AddressPlan, args: &ArgMatches, mistakes: &mut Vec<Mistake>) {
    for (name, ..) in FLAGS {
        if let Some(value) = args.get_one::<String>(name) {
            apply::apply_option(plan, &format!("--{name}"), name, value, mistakes);
        }
    }
    for (name, _) in SWITCHES {
        if args.get_flag(name) {
            apply::apply_option(plan, &format!("--{name}"), name, "on", mistakes);
        }
    }
    // As in the mariadb client: a port or socket typed alone says how to connect, whatever option files name.
    let said = |name: &str| args.contains_id(name);
    if !said("host") && !said("protocol") {
        match (said("port"), said("socket")) {
            (true, false) => plan.protocol = Some(Protocol::Tcp),
            (false, true) => plan.protocol = Some(Protocol::Socket),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Secret;

    #[test]
    fn typed_flags_can_be_pasted_and_hold_no_password() {
        let command = add_address_flags(Command::new("x").disable_help_flag(true));
        let words = ["x", "-h", "db 1", "--user=bench", "-S/run/s", "--no-defaults"];
        let args = command.try_get_matches_from(words).unwrap();
        let given = TypedPassword::Given(Secret::new("hush"));
        let flags =
            typed_flags(&args, &CliContext::from_process(given, String::new(), Default::default()));
        assert_eq!(flags, " -h 'db 1' -u bench -p -S /run/s --no-defaults");
    }

    #[test]
    fn a_pool_that_no_server_starts_with_is_a_mistake() {
        let pool = |size: &str| {
            let command = add_address_flags(Command::new("x").disable_help_flag(true));
            let command = add_sandbox_flags(command);
            let words = ["x", "--sandbox", "--pool", size];
            parse_sandbox(&command.try_get_matches_from(words).unwrap())
        };
        assert!(pool("6M").is_ok());
        let Mistakes(wrong) = pool("12").unwrap_err();
        assert_eq!(wrong[0].hint.as_deref(), Some("at least 6M, as in 256M"));
    }
}
