//! Writes `docs/reference/cli.md`; a test compares the two.

use clap::{Arg, Args, Command};

use crate::config::Settings;
use crate::errors::CliResult;
use crate::help;

/// Write the reference of all commands as Markdown
#[derive(Debug, Args)]
pub struct Reference {}

const HEADER: &str = "\
# The `rhythm` command

<!-- Written by `rhythm reference`; a test compares. Do not edit. -->

";

impl Reference {
    pub fn run(self, settings: Settings) -> CliResult {
        let mut root = help::command();
        root.build();
        let mut text = HEADER.to_owned();
        text.push_str(&format!("{}\n\n", about(&root)));
        if let Some(more) = root.get_after_help() {
            text.push_str(&format!("{more}\n\n"));
        }
        text.push_str("## Options of every command\n\n");
        text.push_str(&options(root.get_arguments().filter(|arg| arg.is_global_set())));
        text.push_str(
            "\nWith `--output json` an answer is one JSON document: listings are `{\"rows\": [...], \"next\": CURSOR}`, times \
             are milliseconds since 1970 (UTC), errors go to standard error as `{\"error\": {\"code\", \"message\", \
             \"help\"}}`.\n",
        );
        for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
            describe(command, "rhythm", &mut text);
        }
        settings.output.raw(&text)
    }
}

fn describe(command: &Command, above: &str, text: &mut String) {
    let name = format!("{above} {}", command.get_name());
    if command.get_name() == "help" {
        return;
    }
    if command.has_subcommands() {
        describe_shared(command, &name, text);
        for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
            describe(inner, &name, text);
        }
        return;
    }
    let places: Vec<&Arg> = command.get_positionals().collect();
    let usage: Vec<String> = places.iter().map(|arg| placeholder(arg)).collect();
    let usage = if usage.is_empty() { name.clone() } else { format!("{name} {}", usage.join(" ")) };
    text.push_str(&format!("\n## `{usage}`\n\n{}.\n", about(command).trim_end_matches('.')));
    if let Some(more) = command.get_after_help() {
        // Markdown shows lines indented by four as code.
        let more = more.to_string().replace(":\n  rhythm ", ":\n\n    rhythm ");
        let more = more.replace("\n  rhythm ", "\n    rhythm ");
        text.push_str(&format!("\n{}\n", more.trim_end()));
    }
    let own = |arg: &&Arg| !arg.is_global_set() && arg.get_id() != "help" && !arg.is_hide_set();
    let listed = options(command.get_arguments().filter(own));
    if !listed.is_empty() {
        text.push_str(&format!("\n{listed}"));
    }
}

/// Describes the options that all commands of a group share, other than the global ones.
fn describe_shared(group: &Command, name: &str, text: &mut String) {
    let shared = |arg: &&Arg| arg.is_global_set() && arg.get_help_heading().is_none();
    let listed = options(group.get_arguments().filter(shared));
    if !listed.is_empty() {
        text.push_str(&format!("\n## `{name}`\n\n{}. All of its commands take:\n\n{listed}", about(group)));
    }
}

fn about(command: &Command) -> String {
    command.get_about().map(ToString::to_string).unwrap_or_default()
}

fn placeholder(arg: &Arg) -> String {
    let names = arg.get_value_names().map(|names| names.join(" "));
    let name = names.unwrap_or_else(|| arg.get_id().to_string().to_uppercase());
    let many = arg.get_num_args().is_some_and(|count| count.max_values() > 1);
    let name = if many { format!("{name}...") } else { name };
    if arg.is_required_set() || !arg.is_positional() { name } else { format!("[{name}]") }
}

/// Returns a Markdown table of options.
fn options<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let mut rows = String::new();
    for arg in arguments {
        let mut form = match (arg.get_short(), arg.get_long()) {
            (Some(short), Some(long)) => format!("-{short}, --{long}"),
            (None, Some(long)) => format!("--{long}"),
            _ => placeholder(arg),
        };
        if arg.get_long().is_some() && arg.get_action().takes_values() {
            form.push_str(&format!(" {}", placeholder(arg)));
        }
        let mut help = arg.get_help().map(ToString::to_string).unwrap_or_default();
        if help.is_empty() && arg.is_positional() {
            continue;
        }
        let values: Vec<String> =
            arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect();
        if !values.is_empty() && arg.get_action().takes_values() {
            help.push_str(&format!(": {}", values.join(", ")));
        }
        let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
        if !default.is_empty() && arg.get_action().takes_values() {
            help.push_str(&format!(" (default `{}`)", default.join(",")));
        }
        rows.push_str(&format!("| `{form}` | {} |\n", help.replace('|', "\\|")));
    }
    if rows.is_empty() { rows } else { format!("| option | meaning |\n|---|---|\n{rows}") }
}
