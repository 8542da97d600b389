use clap::{Args, ValueEnum};
use rhythm_core::WorkflowKind;
use rhythm_engine::definitions::{Content, beside};
use rhythm_engine::tokens::states;
use rhythm_flow::{drawing, examine};
use rhythm_graph::{Compiled, Context, Graph as Ir, compile};
use rhythm_syntax::drawing::{Drawing, State, to_dot, to_mermaid, to_svg};
use serde_json::json;

use crate::commands::workflows::versions::definition;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::node_type_files;
use crate::session::Session;
use crate::workflow_files::{self, kind_of};

/// Draw a workflow: what it waits for, where it branches, loops and ends
#[derive(Debug, Args)]
#[command(after_help = "\
What only computes is left out of flows. `rhythm graph order.flow --format svg > order.svg` makes a picture for a browser; \
Mermaid is shown by many Markdown viewers, DOT is for Graphviz. With --run the graph is the run's own, each node with how \
far the run is with it.")]
pub struct Graph {
    /// A .flow or .graph.yaml file, or the name of a registered workflow, also with a version: order@3
    #[arg(value_name = "FILE|NAME", required_unless_present = "run")]
    target: Option<String>,
    #[arg(long, default_value = "mermaid")]
    format: Form,
    /// Of a registered workflow: this version instead of the current one; its number, hash or tag
    #[arg(long, value_name = "VERSION")]
    version: Option<String>,
    /// Draw the graph of this run and where it is
    #[arg(long, value_name = "RUN", conflicts_with = "version")]
    run: Option<String>,
    /// JSON files with the node types that graphs may use beside the built-in ones [default: those of the world]
    #[arg(long, value_name = "FILE")]
    types: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Mermaid,
    Dot,
    Svg,
}

/// A workflow to draw.
struct Source {
    name: String,
    kind: WorkflowKind,
    text: String,
}

impl Graph {
    pub async fn run(self, settings: Settings) -> CliResult {
        let (name, drawing) = match &self.run {
            Some(run) => drawn_run(&settings, run).await?,
            None => self.drawn(&settings).await?,
        };
        let (form, text) = match self.format {
            Form::Mermaid => ("mermaid", to_mermaid(&drawing)),
            Form::Dot => ("dot", to_dot(&drawing)),
            Form::Svg => {
                let too_large =
                    |error| CliError::BadValue(format!("{error}; use --format dot with Graphviz"));
                ("svg", to_svg(&drawing).map_err(too_large)?)
            }
        };
        match settings.output.is_json() {
            true => settings.output.json(&json!({ "workflow": name, "format": form, "text": text })),
            false => settings.output.raw(&text),
        }
    }

    async fn drawn(&self, settings: &Settings) -> CliResult<(String, Drawing)> {
        let target = self.target.as_deref().unwrap_or_default();
        let Source { name, kind, text } = self.read(settings, target).await?;
        let diagnostics = match kind {
            WorkflowKind::Graph => {
                let registry =
                    node_type_files::registry(settings, &self.types, std::iter::once(text.as_str())).await?;
                let content = match workflow_files::is_file(target) {
                    true => beside::content(workflow_files::folder(target), &text),
                    false => Content::new(),
                };
                let look = |reference: &str| content.get(reference).cloned();
                let context = Context { registry: &registry, content: &look, ..Context::default() };
                let Compiled { graph, diagnostics } = compile(&text, &context);
                if let Some(graph) = graph {
                    return Ok(draw_graph(name, &graph, &[]));
                }
                diagnostics
            }
            _ => {
                let examined = examine(&text, false);
                if !examined.checked.has_errors() {
                    let name = examined.settings.name.unwrap_or(name);
                    let drawing = drawing::draw(&name, &examined.file, &text);
                    return Ok((name, drawing));
                }
                examined.checked.diagnostics
            }
        };
        settings.output.complain(&workflow_files::rendered(target, &text, &diagnostics));
        Err(CliError::Refused(format!("{target} cannot be drawn")))
    }

    /// Reads the workflow: its source, its kind, and the name it has if the source does not name it.
    async fn read(&self, settings: &Settings, target: &str) -> CliResult<Source> {
        if workflow_files::is_file(target) {
            if self.version.is_some() {
                return Err(CliError::BadValue(
                    "--version is for registered workflows, not for files".into(),
                ));
            }
            let (name, kind) = (workflow_files::stem(target), kind_of(target));
            return Ok(Source { name, kind, text: input::read_text(target)? });
        }
        let session = Session::read(settings).await?;
        let found = definition(&session, target, self.version.as_deref()).await?;
        match found.kind {
            WorkflowKind::Flow | WorkflowKind::Graph => {
                Ok(Source { name: found.workflow, kind: found.kind, text: found.source })
            }
            kind => Err(CliError::BadValue(format!(
                "{target} is a {}: only flows and graphs are drawn",
                kind.as_str()
            ))),
        }
    }
}

fn draw_graph(name: String, graph: &Ir, states: &[Option<State>]) -> (String, Drawing) {
    let name = graph.metadata.name.clone().unwrap_or(name);
    let drawing = rhythm_graph::drawing::draw(&name, graph, states);
    (name, drawing)
}

async fn drawn_run(settings: &Settings, run: &str) -> CliResult<(String, Drawing)> {
    let session = Session::read(settings).await?;
    let picture = session.client.picture(&session.client.find_run(run).await?).await?;
    match states(&session.client, &picture).await? {
        Some((graph, states)) => Ok(draw_graph(picture.summary.workflow, &graph, &states)),
        None => Err(CliError::BadValue(match picture.summary.kind {
            WorkflowKind::Graph if picture.row.state.snapshot.is_none() => {
                format!("run {run} has no tokens: `rhythm explain {run}` says why")
            }
            WorkflowKind::Graph => format!("the graph of run {run} cannot be read here"),
            kind => format!("run {run} is a {}: only runs of graphs have a state to draw", kind.as_str()),
        })),
    }
}
