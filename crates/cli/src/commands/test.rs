use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use rhythm_graph::NodeType;
use rhythm_scenario::{FileError, Options, Sandbox, Scenario, read_files, run_all};

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::node_type_files;

/// Play scenarios: workflows on a virtual clock, with scripted answers instead of tasks
#[derive(Debug, Args)]
#[command(after_help = "\
A scenario file is JSON or YAML: one scenario, a list, or {scenarios: [...]}. Nothing is started and nothing is waited \
for. With --output json every scenario is one object on a line of its own.")]
pub struct Test {
    /// Scenario files, or folders with them
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only scenarios whose name contains this
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Scenarios played side by side [default: as many as there are cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Another order of what happens at the same moment; 0 is the order of the script
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Also play each with its snapshot reloaded after every transition, and with every message delivered twice
    /// [default: when CI is set]
    #[arg(long)]
    three_ways: bool,
    /// JSON files with the node types that graphs may use beside the built-in ones [default: those of the world]
    #[arg(long, value_name = "FILE")]
    types: Vec<String>,
}

impl Test {
    pub async fn run(self, settings: Settings) -> CliResult {
        let out = settings.output;
        let began = Instant::now();
        let files = read_files(&self.paths).map_err(unreadable)?;
        let wanted = |scenario: &Scenario| {
            self.filter.as_ref().is_none_or(|text| scenario.name.contains(text.as_str()))
        };
        // With several files the name of a scenario is ambiguous, so show its file.
        let several = files.len() > 1;
        let (mut scenarios, mut places): (Vec<Scenario>, Vec<String>) = (Vec::new(), Vec::new());
        for (path, found) in files {
            for scenario in found.into_iter().filter(wanted) {
                places.push(if several { format!("{}: ", path.display()) } else { String::new() });
                scenarios.push(scenario);
            }
        }
        if scenarios.is_empty() {
            return Err(CliError::BadValue(match &self.filter {
                Some(filter) => format!("no scenario's name contains {filter:?}"),
                None => "there is no scenario in these files".to_owned(),
            }));
        }
        let mut places = places.into_iter();
        let in_ci = std::env::var_os("CI").is_some_and(|value| !value.is_empty() && value != "false");
        let three_ways = self.three_ways || in_ci;
        // One child for each scenario played at the same time, so that each has the limits of a real run.
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let sandbox = Sandbox::own_command(self.jobs.map_or_else(cores, NonZeroUsize::get));
        let untyped = scenarios.iter().filter(|scenario| scenario.node_types.is_empty());
        let graphs: Vec<String> = untyped.flat_map(Scenario::graphs).collect();
        let graphs = graphs.iter().map(String::as_str);
        let registry = node_type_files::registry(&settings, &self.types, graphs).await?;
        // The node types of a scenario replace common ones of the same name.
        for scenario in &mut scenarios {
            let known = |kind: &NodeType| scenario.node_types.iter().any(|own| own.name == kind.name);
            let others: Vec<NodeType> = registry.registered().filter(|kind| !known(kind)).cloned().collect();
            scenario.node_types.extend(others);
        }
        let options = Options { three_ways, jobs: self.jobs, seed: self.seed, sandbox };
        let (mut passed, mut failed) = (0_u64, 0_u64);
        let mut told = Ok(());
        run_all(&scenarios, &options, |report| {
            let place = places.next().unwrap_or_default();
            if report.passed {
                passed += 1
            } else {
                failed += 1
            }
            if told.is_err() {
                return;
            }
            told = if out.is_json() {
                serde_json::to_string(&report)
                    .map_err(|error| CliError::Output(error.to_string()))
                    .and_then(|line| out.raw(&format!("{line}\n")))
            } else if report.passed && out.is_quiet() {
                Ok(())
            } else {
                let word = if report.passed { "ok    " } else { "FAILED" };
                let problems = report.problems.iter().map(|problem| format!("        {problem}"));
                let notes = report.notes.iter().map(|note| format!("        note: {note}"));
                let place = if report.passed { "" } else { &place };
                let first = std::iter::once(format!("{word}  {place}{}", report.name));
                let lines = first.chain(problems).chain(notes);
                lines.into_iter().try_for_each(|line| out.line(line))
            };
        });
        told?;
        let closing = format!("{passed} passed, {failed} failed");
        if !out.is_json() {
            out.line(&closing)?;
            if !out.is_quiet() {
                out.note(format!("in {:.2} s", began.elapsed().as_secs_f64()));
            }
        }
        if failed > 0 { Err(CliError::TestsFailed) } else { Ok(()) }
    }
}

fn unreadable(error: FileError) -> CliError {
    if error.path.is_dir() {
        let endings = "scenario (.scenario.yaml, .yaml, .yml or .json)".to_owned();
        return CliError::EmptyFolder { path: error.path.display().to_string(), endings };
    }
    CliError::BadFile { path: error.path.display().to_string(), reason: error.problem }
}
