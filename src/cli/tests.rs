//! The command line as a whole.

use super::*;

fn commands(command: &Command, path: &str, see: &mut dyn FnMut(&str, &Command)) {
    for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
        let path = format!("{path} {}", sub.get_name());
        see(&path, sub);
        commands(sub, &path, see);
    }
}

#[test]
fn clap_finds_no_contradiction() {
    program().debug_assert();
}

#[test]
fn every_help_ends_with_examples() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    let mut program = program();
    program.build();
    commands(&program, "sweat", &mut |path, command| {
        seen += 1;
        let help = command.clone().render_help().to_string();
        let Some((_, examples)) = help.split_once("\nExamples:\n") else {
            wrong.push(format!("{path} --help has no examples"));
            return;
        };
        if !examples.lines().any(|line| line.trim_start().starts_with(path)) {
            wrong.push(format!("no example under {path} --help begins with `{path}`"));
        }
    });
    assert!(seen >= 1);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
