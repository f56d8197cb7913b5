//! How a command ends: exit codes, and errors in words with a hint what to do.

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::base::StopReason;
use crate::plan::{Mistake, Mistakes, RefusedError};
use crate::{archive, client};

use super::argv::TypedPassword;
use super::context::CliContext;
use super::{foreign, help};

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandOutcome {
    /// 0: done.
    Done,
    /// 1: done, and a verdict that was asked for is negative, or the output could not be written.
    Negative,
    /// 2: the words or the input are wrong, or what was asked is refused: nothing was begun.
    Usage,
    /// 3: the target or server failed.
    Failed,
    /// 4: the run can't carry its claim, and `--strict` asked for that.
    Void,
    /// 5: whether what was asked holds can't be told.
    Unsure,
    /// 130: stopped by the user; what was measured is kept.
    Interrupted,
}

/// What the numbers mean, for manual pages.
pub(super) const EXIT_MEANINGS: &[(CommandOutcome, &str)] = &[
    (CommandOutcome::Done, "Done."),
    (
        CommandOutcome::Negative,
        "Done, and the answer is no: a check failed, or a comparison found it worse. \
         Also: standard output is closed or full.",
    ),
    (CommandOutcome::Usage, "Wrong arguments or input, or a refusal: nothing was started."),
    (CommandOutcome::Failed, "The server failed; what was measured until then is kept."),
    (CommandOutcome::Void, "With --strict: the result is void."),
    (CommandOutcome::Unsure, "No check failed, but one is unsure."),
    (CommandOutcome::Interrupted, "Interrupted; what was measured is kept."),
];

impl From<CommandOutcome> for ExitCode {
    fn from(exit: CommandOutcome) -> ExitCode {
        ExitCode::from(exit.exit_code())
    }
}

impl CommandOutcome {
    /// The number the shell sees.
    pub(super) fn exit_code(self) -> u8 {
        match self {
            CommandOutcome::Done => 0,
            CommandOutcome::Negative => 1,
            CommandOutcome::Usage => 2,
            CommandOutcome::Failed => 3,
            CommandOutcome::Void => 4,
            CommandOutcome::Unsure => 5,
            CommandOutcome::Interrupted => 130,
        }
    }
}

/// The reader of our standard output has gone: `sweat ... | head`. Not an error for anybody.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub(super) struct OutputClosed;

/// What should stand on standard output can't be written there.
#[derive(Debug, thiserror::Error)]
#[error("write to standard output: {0}")]
pub(super) struct OutputLost(pub(super) String);

/// An error that tells what to do about it; cause first, as in `error: {why}`, then `hint: {hint}`.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub(super) struct HintedError {
    /// What went wrong.
    pub(super) why: String,
    /// What to do.
    pub(super) hint: String,
}

/// Words that clap refused.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
struct UsageError {
    error: clap::Error,
    /// The command whose words they are, as in `sweat bench`.
    command: String,
}

/// A command without the one below it that it needs: its help.
#[derive(Debug, thiserror::Error)]
#[error("a command is missing")]
struct MissingCommand {
    help: String,
}

/// What to say of words that clap refused.
pub(super) fn explain_usage(error: clap::Error, words: &[OsString]) -> anyhow::Error {
    let texts: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mistakes = foreign::foreign_mistakes(&error, &texts);
    if !mistakes.is_empty() {
        return Mistakes(mistakes).into();
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return MissingCommand { help: help::named_help(words) }.into();
    }
    let program = super::built_program();
    let names: Vec<&str> = texts.iter().skip(1).map(String::as_str).collect();
    let (path, _) = help::named_command(&program, &names);
    let command = [&["sweat"], &path[..]].concat().join(" ");
    UsageError { error, command }.into()
}

/// Ends a command: says what went wrong, if anything, and gives the exit code.
pub(super) fn report_result(
    result: anyhow::Result<CommandOutcome>,
    context: &CliContext,
) -> CommandOutcome {
    let interrupted = context.stop.reason() == Some(StopReason::Interrupted);
    let error = match result {
        Ok(exit) => return exit,
        Err(error) => error,
    };
    if let Some(usage) = error.downcast_ref::<UsageError>() {
        return report_usage_error(usage, context);
    }
    if let Some(missing) = error.downcast_ref::<MissingCommand>() {
        context.print_message(missing.help.trim_end());
        return CommandOutcome::Usage;
    }
    if error.chain().any(|e| e.is::<OutputClosed>()) {
        return CommandOutcome::Done;
    }
    if interrupted && error.chain().any(is_abandoned) {
        context.print_message("interrupted");
        return CommandOutcome::Interrupted;
    }
    context.print_message(&error_text(&error));
    if interrupted { CommandOutcome::Interrupted } else { error_outcome(&error) }
}

/// The version goes to stdout, complaints to stderr with our word for a hint.
fn report_usage_error(usage: &UsageError, context: &CliContext) -> CommandOutcome {
    let error = &usage.error;
    if is_misplaced_password(error, &context.password) {
        context.print_message(
            "error: unexpected argument after -p\nhint: attach the password without a blank, as \
             in -pPASSWORD; -p alone asks for it",
        );
        return CommandOutcome::Usage;
    }
    let text = error.render().to_string();
    if !error.use_stderr() {
        return match context.print_output(&text) {
            Ok(()) => CommandOutcome::Done,
            Err(e) => report_result(Err(e), context),
        };
    }
    let _ = write!(std::io::stderr().lock(), "{}", usage_text(&text, &usage.command));
    CommandOutcome::Usage
}

/// What clap says, without the usage line, which names every flag that was typed as if it were required, and without
/// advice that helps nobody.
fn usage_text(text: &str, command: &str) -> String {
    let ends = ["\n\nUsage:", "\n\nFor more information"].map(|end| text.find(end));
    let end = ends.into_iter().flatten().min().unwrap_or(text.len());
    let said = text[..end].trim_end();
    let mut lines = said.split("\n  tip: ");
    let mut told = lines.next().unwrap_or_default().trim_end().to_owned();
    let hints: Vec<&str> = lines.filter(|hint| !hint.starts_with("to pass '")).collect();
    for hint in &hints {
        told += &format!("\nhint: {}", hint.trim_end());
    }
    if hints.is_empty() {
        told += &format!("\nhint: `{command} --help` lists what there is");
    }
    told + "\n"
}

/// Whether the words that are wrong are the one behind `-p`, which may be a password: it must not be shown.
fn is_misplaced_password(error: &clap::Error, password: &TypedPassword) -> bool {
    let TypedPassword::Ask(Some(meant)) = password else { return false };
    let wrong =
        [ContextKind::InvalidArg, ContextKind::InvalidSubcommand, ContextKind::InvalidValue];
    wrong.iter().any(|kind| match error.get(*kind) {
        Some(ContextValue::String(word)) => word == meant.reveal(),
        Some(ContextValue::Strings(words)) => words.iter().any(|word| word == meant.reveal()),
        _ => false,
    })
}

fn is_abandoned(error: &(dyn std::error::Error + 'static)) -> bool {
    matches!(error.downcast_ref::<client::Error>(), Some(client::Error::Abandoned))
}

/// Wrong usage or input and what is refused, or a target that failed.
fn error_outcome(error: &anyhow::Error) -> CommandOutcome {
    let is_refusal = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<Mistake>()
            || cause.is::<Mistakes>()
            || cause.is::<RefusedError>()
            || cause
                .downcast_ref::<archive::ArchiveError>()
                .is_some_and(archive::ArchiveError::is_refusal)
            || matches!(cause.downcast_ref(), Some(client::Error::TlsSetup(_)))
    };
    if error.chain().any(|cause| cause.is::<OutputLost>()) {
        return CommandOutcome::Negative;
    }
    // What is refused as context of an error (`no journal: No such file`) is no cause in the chain.
    if error.is::<RefusedError>() || error.chain().any(is_refusal) {
        CommandOutcome::Usage
    } else {
        CommandOutcome::Failed
    }
}

/// The error in words: every mistake on its own line, each with its hint.
fn error_text(error: &anyhow::Error) -> String {
    for cause in error.chain() {
        if let Some(Mistakes(list)) = cause.downcast_ref::<Mistakes>() {
            return mistakes_text(list);
        }
    }
    let mut told = None;
    let mut whys = Vec::new();
    for cause in error.chain() {
        let words = cause.to_string();
        let (why, hint) = match words.split_once("\nhint: ") {
            Some((why, hint)) => (why, Some(hint.to_owned())),
            None => (words.as_str(), None),
        };
        whys.push(why.to_owned());
        told = told.or(hint);
    }
    let why = whys.join(": ");
    match told.or_else(|| error.chain().find_map(error_hint)) {
        Some(hint) => format!("error: {why}\nhint: {hint}"),
        None => format!("error: {why}"),
    }
}

/// All mistakes, each with its hint; one that several in a row have in common stands once, below them.
fn mistakes_text(list: &[Mistake]) -> String {
    let mut lines = Vec::new();
    for (n, mistake) in list.iter().enumerate() {
        lines.push(format!("error: {mistake}"));
        let next = list.get(n + 1).and_then(|next| next.hint.as_ref());
        let hint = mistake.hint.as_ref().filter(|hint| next != Some(hint));
        lines.extend(hint.map(|hint| format!("hint: {hint}")));
    }
    lines.join("\n")
}

/// What to do about a cause, where we know.
fn error_hint(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(hinted) = cause.downcast_ref::<HintedError>() {
        return Some(hinted.hint.clone());
    }
    if let Some(mistake) = cause.downcast_ref::<Mistake>() {
        return mistake.hint.clone();
    }
    if let Some(error) = cause.downcast_ref::<archive::ArchiveError>() {
        return Some(error.hint().to_owned());
    }
    let error = cause.downcast_ref::<client::Error>()?;
    let by_flags = match error {
        client::Error::Connect { .. } => Some(
            "say where the server is with -h HOST -P PORT or -S SOCKET; \
             `sweat sandbox start` makes a throw-away one, and bench takes --sandbox",
        ),
        client::Error::Tls(_) | client::Error::TlsSetup(_) => {
            Some("see --ssl-mode, --ssl-ca and docs/connecting.md")
        }
        _ => None,
    };
    error.hint().or(by_flags).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Secret;
    use anyhow::Context as _;

    fn mistake(place: &str, hint: Option<&str>) -> Mistake {
        Mistake::new(place, "is wrong").maybe_hint(hint.map(str::to_owned))
    }

    #[test]
    fn mistakes_are_usage_and_all_are_shown() {
        let error = anyhow::Error::new(Mistakes(vec![
            mistake("--time", Some("try 5s")),
            mistake("--rate", None),
        ]))
        .context("read the plan");
        assert_eq!(error_outcome(&error), CommandOutcome::Usage);
        assert_eq!(
            error_text(&error),
            "error: --time: is wrong\nhint: try 5s\nerror: --rate: is wrong"
        );
    }

    #[test]
    fn a_hint_that_mistakes_share_stands_once() {
        let all = [mistake("a", Some("x")), mistake("b", Some("x")), mistake("c", Some("y"))];
        assert_eq!(
            mistakes_text(&all),
            "error: a: is wrong\nerror: b: is wrong\nhint: x\nerror: c: is wrong\nhint: y"
        );
    }

    #[test]
    fn what_is_refused_is_usage_also_as_context_of_an_error() {
        let refused = || RefusedError("nobody has allowed that\nhint: say --allow load".to_owned());
        let plain = anyhow::Error::new(refused()).context("load");
        let missing = std::io::Error::from(std::io::ErrorKind::NotFound);
        let outer = Err::<(), _>(missing).context(refused()).context("load").unwrap_err();
        for error in [plain, outer] {
            assert_eq!(error_outcome(&error), CommandOutcome::Usage, "{error:#}");
            let text = error_text(&error);
            assert!(text.starts_with("error: load: nobody has allowed that"), "{text}");
            assert!(text.ends_with("\nhint: say --allow load"), "{text}");
        }
        let path = std::path::PathBuf::from("/x");
        let none = archive::ArchiveError::NoRuns { path: path.clone() };
        assert_eq!(error_outcome(&none.into()), CommandOutcome::Usage);
        let why = std::io::ErrorKind::StorageFull.into();
        assert_eq!(
            error_outcome(&archive::ArchiveError::Write { path, why }.into()),
            CommandOutcome::Failed
        );
    }

    #[test]
    fn a_refused_login_has_a_hint_and_exit_3() {
        let login = client::Error::Login {
            address: "tcp db1:3306".to_owned(),
            user: "bob".to_owned(),
            code: 1045,
            text: "Access denied".to_owned(),
        };
        let error = Err::<(), _>(login).context("open the target").unwrap_err();
        assert_eq!(error_outcome(&error), CommandOutcome::Failed);
        let text = error_text(&error);
        assert!(text.starts_with("error: open the target: log in to tcp db1:3306 as bob: 1045"));
        assert!(text.contains("\nhint: check user and password"), "{text}");
    }

    #[test]
    fn a_refusal_of_our_own_has_no_number() {
        let (address, user) = ("tcp db1:3306".to_owned(), "bob".to_owned());
        let text = "the login method x is not known".to_owned();
        let login = client::Error::Login { address, user, code: 0, text };
        assert_eq!(
            login.to_string(),
            "log in to tcp db1:3306 as bob: the login method x is not known"
        );
    }

    #[test]
    fn refused_words_come_with_a_hint_and_without_a_usage_line() {
        let clap = "error: unexpected argument '--threds' found\n\n  tip: a similar argument \
                    exists: '--threads'\n\nUsage: sweat bench --host <HOST>\n\nFor more\n";
        assert_eq!(
            usage_text(clap, "sweat bench"),
            "error: unexpected argument '--threds' found\nhint: a similar argument exists: \
             '--threads'\n"
        );
        let clap = "error: unexpected argument '--x' found\n\n  tip: to pass '--x' as a value, \
                    use '-- --x'\n\nUsage: sweat bench\n";
        assert_eq!(
            usage_text(clap, "sweat bench"),
            "error: unexpected argument '--x' found\nhint: `sweat bench --help` lists what there \
             is\n"
        );
    }

    #[test]
    fn a_missing_value_is_told_without_advice_of_clap() {
        let program = super::super::root_command();
        let error = program.try_get_matches_from(["sweat", "bench", "null", "--time"]).unwrap_err();
        let text = usage_text(&error.render().to_string(), "sweat bench null");
        assert!(text.ends_with("supplied\nhint: `sweat bench null --help` lists what there is\n"));
    }

    #[test]
    fn a_word_that_may_be_a_password_is_known() {
        let command = clap::Command::new("sweat").arg(clap::Arg::new("x").long("x"));
        let wrong = |words: &[&str]| command.clone().try_get_matches_from(words).unwrap_err();
        let meant = |word: &str| TypedPassword::Ask(Some(Secret::new(word)));
        assert!(is_misplaced_password(&wrong(&["sweat", "hush"]), &meant("hush")));
        assert!(!is_misplaced_password(&wrong(&["sweat", "--nosuch"]), &meant("hush")));
        assert!(!is_misplaced_password(&wrong(&["sweat", "hush"]), &TypedPassword::Ask(None)));
        let program = command.subcommand(clap::Command::new("bench")).subcommand_required(true);
        let wrong = program.try_get_matches_from(["sweat", "hush"]).unwrap_err();
        assert!(is_misplaced_password(&wrong, &meant("hush")));
    }

    #[test]
    fn a_hint_may_stand_in_the_text_itself() {
        let error = anyhow::anyhow!("no server is installed\nhint: apt install mariadb-server")
            .context("start the sandbox");
        assert_eq!(
            error_text(&error),
            "error: start the sandbox: no server is installed\nhint: apt install mariadb-server"
        );
    }
}
