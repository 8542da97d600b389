use std::collections::BTreeSet;

use clap::Args;
use rhythm_core::{Timestamp, WorkflowKind};
use rhythm_engine::world::{Definition, VersionRow};
use rhythm_flow::check::Mention;
use rhythm_flow::front_matter::Failures;
use rhythm_flow::{Settings as FrontMatter, examine};
use rhythm_graph::Graph;
use rhythm_graph::ir::{Config, NodeKind};
use serde_json::{Value, json};

use super::versions::{all, definition, short_version};
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::count;
use crate::session::Session;
use crate::times::{exact, relative};

/// Show a workflow: its settings, the tasks it calls, its versions and its source
#[derive(Debug, Args)]
pub struct Show {
    /// Its name, also with a version: order@3
    workflow: String,
    /// This version instead of the current one: its number, its hash or the beginning of it, or a tag
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
}

/// Contents of a source: its settings and the names it uses.
struct Contents {
    settings: FrontMatter,
    tasks: Vec<String>,
    workflows: Vec<String>,
    signals: Vec<String>,
}

impl Show {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let definition = definition(&session, &self.workflow, self.version.as_deref()).await?;
        let versions = all(&session, &definition.workflow).await?;
        let shown = versions.iter().find(|row| row.version == definition.version);
        let contents = Contents::of(&definition);
        if session.out.is_json() {
            return session.out.json(&json!({
                "workflow": definition.workflow,
                "version": definition.version,
                "number": shown.map(|row| row.number),
                "kind": definition.kind,
                "current": shown.is_some_and(|row| row.current),
                "registered_at": shown.map(|row| row.registered_at),
                "open_runs": shown.map(|row| row.open_runs),
                "settings": contents.settings_json(),
                "tasks": contents.tasks,
                "workflows": contents.workflows,
                "signals": contents.signals,
                "versions": versions,
                "source": definition.source,
            }));
        }
        tell(&session, &definition, shown, versions.len(), &contents).await
    }
}

impl Contents {
    fn of(definition: &Definition) -> Self {
        let mut contents = Self {
            settings: FrontMatter::default(),
            tasks: Vec::new(),
            workflows: Vec::new(),
            signals: Vec::new(),
        };
        if definition.kind == WorkflowKind::Graph {
            contents.read_graph(definition);
        }
        if definition.kind == WorkflowKind::Flow {
            let examined = examine(&definition.source, false);
            contents.settings = examined.settings;
            contents.tasks = names(&examined.checked.task_names);
            contents.workflows = names(&examined.checked.workflow_names);
            contents.signals = names(&examined.checked.signal_names);
        }
        contents
    }

    fn read_graph(&mut self, definition: &Definition) {
        let Ok(graph) = serde_json::from_slice::<Graph>(&definition.compiled) else { return };
        let (mut tasks, mut workflows, mut signals) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for node in &graph.nodes {
            let config = |key: &str| match &node.config {
                Config::Inline(config) => config.get(key).and_then(Value::as_str).map(str::to_owned),
                Config::Unresolved(_) => None,
            };
            tasks.extend(node.task.clone());
            match node.kind {
                NodeKind::Child => workflows.extend(config("workflow")),
                NodeKind::Parallel => {
                    workflows.extend(config("workflow"));
                    tasks.extend(config("task"));
                }
                NodeKind::Signal => signals.extend(config("name")),
                _ => {}
            }
        }
        self.settings.description = graph.metadata.description;
        self.settings.input = graph.inputs;
        self.tasks = tasks.into_iter().collect();
        self.workflows = workflows.into_iter().collect();
        self.signals = signals.into_iter().collect();
    }

    fn settings_json(&self) -> Value {
        let settings = &self.settings;
        json!({
            "description": settings.description,
            "queue": settings.queue,
            "timeout": settings.timeout.map(|length| length.to_string()),
            "retries": settings.retries,
            "schedule": settings.schedule.as_ref().map(|cron| cron.text()),
            "input": settings.input,
            "failures": if settings.failures == Failures::Values { "values" } else { "throw" },
        })
    }
}

/// Returns each name once, in alphabetical order.
fn names(mentions: &[Mention]) -> Vec<String> {
    let names: BTreeSet<String> = mentions.iter().map(|mention| mention.name.clone()).collect();
    names.into_iter().collect()
}

async fn tell(
    session: &Session,
    definition: &Definition,
    shown: Option<&VersionRow>,
    versions: usize,
    contents: &Contents,
) -> CliResult {
    let now = session.now().await?;
    let settings = &contents.settings;
    let time = |at: Timestamp| format!("{} ({})", exact(at), relative(now, at));
    let state = if shown.is_some_and(|row| row.current) { "current" } else { "not current" };
    let version = short_version(&definition.version);
    let number = shown.map(|row| format!("{}, ", row.number)).unwrap_or_default();
    session.out.details(&[
        ("workflow", format!("{} ({})", definition.workflow, definition.kind.as_str())),
        ("version", format!("{number}{version} ({state}, of {})", count(versions as u64, "version"))),
        ("registered", shown.map(|row| time(row.registered_at)).unwrap_or_default()),
        ("open runs", shown.map(|row| row.open_runs.to_string()).unwrap_or_default()),
        ("description", settings.description.clone().unwrap_or_default()),
        ("schedule", settings.schedule.as_ref().map(|cron| cron.text().to_owned()).unwrap_or_default()),
        ("queue", settings.queue.clone().unwrap_or_default()),
        ("timeout", settings.timeout.map(|length| length.to_string()).unwrap_or_default()),
        ("retries", settings.retries.as_ref().map(|policy| json!(policy).to_string()).unwrap_or_default()),
        ("failures", if settings.failures == Failures::Values { "values" } else { "" }.to_owned()),
        ("input", settings.input.as_ref().map(Value::to_string).unwrap_or_default()),
        ("tasks", contents.tasks.join(", ")),
        ("workflows", contents.workflows.join(", ")),
        ("signals", contents.signals.join(", ")),
    ])?;
    session.out.raw("\n")?;
    definition.source.lines().try_for_each(|line| session.out.line(line))
}
