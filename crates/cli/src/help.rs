//! Additions to clap's `--help`: commands in groups, and examples. A test parses every example.

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Groups of commands by purpose. A command without a group is listed last.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Write workflows", &["run", "check", "fmt", "test", "graph", "workflows", "node-types", "artifacts"]),
    ("Start and do work", &["start", "worker", "tasks", "schedules", "approvals"]),
    ("Look and repair", &["explain", "verify", "runs", "dead", "workers", "queues", "db"]),
    ("More", &["bench", "completions"]),
];

/// Examples of each command.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "run",
        &[
            "rhythm run order.flow --input '{\"id\": 7}'",
            "rhythm run --resume 0197c2f1-7a30-7000-8000-000000000001",
        ],
    ),
    ("check", &["rhythm check order.flow", "rhythm check workflows --strict"]),
    ("fmt", &["rhythm fmt order.flow", "rhythm fmt --check workflows"]),
    ("test", &["rhythm test order.scenario.yaml", "rhythm test tests --three-ways --filter refund"]),
    ("graph", &["rhythm graph order.graph.yaml"]),
    (
        "start",
        &[
            "rhythm start order --input @order.json --key order-7",
            "rhythm start order --input '{\"id\": 7}' --wait",
            "rhythm start order@3",
        ],
    ),
    ("worker", &["rhythm worker", "rhythm worker --queue mail:5 --queue default"]),
    ("explain", &["rhythm explain RUN", "rhythm explain FLOW007"]),
    ("verify", &["rhythm verify RUN"]),
    (
        "runs list",
        &["rhythm runs list --status failed", "rhythm runs list --workflow order --label customer=ann"],
    ),
    ("runs show", &["rhythm runs show RUN"]),
    ("runs events", &["rhythm runs events RUN"]),
    ("runs path", &["rhythm runs path RUN"]),
    ("runs at", &["rhythm runs at RUN 12"]),
    ("runs fork", &["rhythm runs fork RUN --at 12"]),
    ("runs patch", &["rhythm runs patch RUN @patch.json --reason 'the old address is gone'"]),
    ("runs patches", &["rhythm runs patches RUN"]),
    ("runs signal", &["rhythm runs signal RUN approve --payload '{\"by\": \"ann\"}'"]),
    ("runs cancel", &["rhythm runs cancel RUN --reason 'ordered twice'"]),
    ("runs pause", &["rhythm runs pause RUN"]),
    ("runs resume", &["rhythm runs resume RUN"]),
    ("runs retry", &["rhythm runs retry RUN"]),
    ("runs compensate", &["rhythm runs compensate RUN"]),
    ("runs dismiss", &["rhythm runs dismiss RUN"]),
    ("runs delete", &["rhythm runs delete RUN --yes"]),
    (
        "tasks enqueue",
        &[
            "rhythm tasks enqueue echo --input '{\"hello\": \"world\"}' --wait",
            "rhythm tasks enqueue mail --delay 10m --priority 5",
        ],
    ),
    ("tasks list", &["rhythm tasks list --queue mail"]),
    ("tasks show", &["rhythm tasks show TASK"]),
    ("tasks cancel", &["rhythm tasks cancel TASK"]),
    ("tasks failed", &["rhythm tasks failed", "rhythm tasks failed --run RUN"]),
    ("dead list", &["rhythm dead list"]),
    ("dead show", &["rhythm dead show TASK"]),
    ("dead requeue", &["rhythm dead requeue TASK"]),
    ("dead discard", &["rhythm dead discard TASK"]),
    ("approvals list", &["rhythm approvals list"]),
    ("approvals show", &["rhythm approvals show RUN/3"]),
    ("approvals approve", &["rhythm approvals approve RUN/3 --comment 'fine with me'"]),
    ("approvals reject", &["rhythm approvals reject RUN/3 --comment 'too expensive'"]),
    ("approvals link", &["rhythm approvals link RUN/3 --for ann"]),
    ("workers", &["rhythm workers"]),
    ("queues list", &["rhythm queues list"]),
    ("queues pause", &["rhythm queues pause mail"]),
    ("queues resume", &["rhythm queues resume mail"]),
    ("workflows list", &["rhythm workflows list"]),
    ("workflows register", &["rhythm workflows register order.flow", "rhythm workflows register workflows"]),
    ("workflows show", &["rhythm workflows show order", "rhythm workflows show order@2"]),
    ("workflows versions", &["rhythm workflows versions order"]),
    ("workflows diff", &["rhythm workflows diff order@2 order@3", "rhythm workflows diff order 1f2e 9a0b"]),
    ("workflows tag", &["rhythm workflows tag live order", "rhythm workflows tag live order@3"]),
    ("workflows tags", &["rhythm workflows tags"]),
    ("workflows patch", &["rhythm workflows patch order @patch.json --reason 'a second check'"]),
    ("workflows patches", &["rhythm workflows patches order"]),
    ("workflows pause", &["rhythm workflows pause order"]),
    ("workflows resume", &["rhythm workflows resume order"]),
    ("node-types list", &["rhythm node-types list"]),
    ("node-types show", &["rhythm node-types show http"]),
    ("node-types register", &["rhythm node-types register score.json"]),
    ("node-types remove", &["rhythm node-types remove score"]),
    ("artifacts put", &["rhythm artifacts put order.schema.json"]),
    ("artifacts list", &["rhythm artifacts list"]),
    ("artifacts show", &["rhythm artifacts show sha256:1f2e"]),
    ("artifacts remove", &["rhythm artifacts remove sha256:1f2e"]),
    ("schedules list", &["rhythm schedules list"]),
    ("schedules show", &["rhythm schedules show nightly"]),
    (
        "schedules add",
        &[
            "rhythm schedules add nightly --cron '0 3 * * *' --workflow report",
            "rhythm schedules add tick --cron '*/5 * * * *' --task echo",
        ],
    ),
    ("schedules remove", &["rhythm schedules remove nightly"]),
    ("schedules pause", &["rhythm schedules pause nightly"]),
    ("schedules resume", &["rhythm schedules resume nightly"]),
    ("db migrate", &["rhythm db migrate"]),
    ("db status", &["rhythm db status"]),
    ("db doctor", &["rhythm db doctor"]),
];

/// Returns the command with its groups and examples.
pub fn command() -> Command {
    let root = with_examples(Cli::command(), "");
    let groups = groups(&root);
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    ))
}

fn with_examples(command: Command, path: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let mut command = command;
    for name in names {
        let inner = if path.is_empty() { name.clone() } else { format!("{path} {name}") };
        command = command.mut_subcommand(name, |command| with_examples(command, &inner));
    }
    let Some((_, examples)) = EXAMPLES.iter().find(|(name, _)| *name == path) else { return command };
    let lines: Vec<String> = examples.iter().map(|example| format!("  {example}")).collect();
    let examples =
        format!("{}\n{}", if lines.len() == 1 { "Example:" } else { "Examples:" }, lines.join("\n"));
    let before = command.get_after_help().map(|text| format!("{text}\n\n")).unwrap_or_default();
    command.after_help(format!("{before}{examples}"))
}

fn groups(root: &Command) -> String {
    let visible: Vec<&Command> = root.get_subcommands().filter(|command| !command.is_hide_set()).collect();
    let width = visible.iter().map(|command| command.get_name().len()).max().unwrap_or_default();
    let grouped = |name: &str| GROUPS.iter().any(|(_, names)| names.contains(&name));
    let line = |command: &Command| {
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let first = about.lines().next().unwrap_or_default();
        format!("  {:width$}  {first}\n", command.get_name())
    };
    let mut text = String::new();
    for (place, (title, names)) in GROUPS.iter().enumerate() {
        text.push_str(&format!("{title}:\n"));
        let named =
            names.iter().filter_map(|name| visible.iter().find(|command| command.get_name() == *name));
        named.for_each(|command| text.push_str(&line(command)));
        if place + 1 == GROUPS.len() {
            visible
                .iter()
                .filter(|it| !grouped(it.get_name()))
                .for_each(|command| text.push_str(&line(command)));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits a line into words as a shell does.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in line.chars() {
            match letter {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                letter => {
                    if let Some(word) = words.last_mut() {
                        word.push(letter);
                    }
                }
            }
        }
        words
    }

    #[test]
    fn every_example_is_understood_and_belongs_to_a_command() {
        for (path, examples) in EXAMPLES {
            for example in *examples {
                let parsed = command().try_get_matches_from(words(example));
                assert!(parsed.is_ok(), "{example}: {}", parsed.unwrap_err());
                assert!(example.starts_with(&format!("rhythm {path}")), "{path}: {example}");
            }
        }
    }

    #[test]
    fn every_command_has_an_example() {
        fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
            for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
                let name = format!("{path} {}", inner.get_name()).trim().to_owned();
                match inner.has_subcommands() {
                    true => leaves(inner, &name, found),
                    false => found.push(name),
                }
            }
        }
        let mut found = Vec::new();
        leaves(&Cli::command(), "", &mut found);
        // The benchmarks differ in nothing but their name, and `start` has the examples of `runs start`.
        let exempt = |name: &str| name.starts_with("bench") || matches!(name, "completions" | "runs start");
        let without: Vec<&String> = found
            .iter()
            .filter(|name| !exempt(name) && !EXAMPLES.iter().any(|(path, _)| path == name))
            .collect();
        assert!(without.is_empty(), "without an example in help.rs: {without:?}");
    }

    #[test]
    fn the_first_help_shows_commands_in_groups() {
        let help = command().render_help().to_string();
        for part in ["Write workflows:\n  run ", "Look and repair:\n  explain ", "\nMore:\n  bench "] {
            assert!(help.contains(part), "{part}: {help}");
        }
        assert!(!help.contains("sandbox") && !help.contains("\nCommands:"), "{help}");
    }
}
