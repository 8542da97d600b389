use std::path::Path;

use clap::{Args, ValueEnum};
use rhythm_core::WorkflowKind;
use rhythm_core::flow::drawing::{draw, to_dot, to_mermaid, to_svg};
use rhythm_core::flow::examine;
use serde_json::json;

use crate::commands::workflows::versions::definition;
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::flow_files;
use crate::input;
use crate::session::Session;

/// Draw a workflow: what it waits for, where it branches, loops and ends
#[derive(Debug, Args)]
#[command(after_help = "\
What only computes is left out. `rhythm graph order.flow --format svg > order.svg` makes a picture for a browser; \
Mermaid is shown by many Markdown viewers, DOT is for Graphviz.")]
pub struct Graph {
    /// A .flow file, or the name of a registered workflow
    #[arg(value_name = "FILE|NAME")]
    target: String,
    #[arg(long, default_value = "mermaid")]
    format: Form,
    /// Of a registered workflow: this version instead of the current one
    #[arg(long, value_name = "HASH")]
    version: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Mermaid,
    Dot,
    Svg,
}

impl Graph {
    pub async fn run(self, settings: Settings) -> CliResult {
        let (file, source) = self.read(&settings).await?;
        let examined = examine(&source, false);
        if examined.checked.has_errors() {
            settings.output.complain(&flow_files::rendered(
                &self.target,
                &source,
                &examined.checked.diagnostics,
            ));
            return Err(CliError::Refused(format!("{} cannot be drawn", self.target)));
        }
        let name = examined.settings.name.unwrap_or(file);
        let drawing = draw(&name, &examined.file, &source);
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

    /// The name it has without front matter, and the source.
    async fn read(&self, settings: &Settings) -> CliResult<(String, String)> {
        if self.target.ends_with(".flow") || Path::new(&self.target).is_file() {
            if self.version.is_some() {
                return Err(CliError::BadValue(
                    "--version is for registered workflows, not for files".into(),
                ));
            }
            let stem = Path::new(&self.target).file_stem().unwrap_or_default().to_string_lossy().into_owned();
            return Ok((stem, input::read_text(&self.target)?));
        }
        let session = Session::open(settings).await?;
        let found = definition(&session, &self.target, self.version.as_deref()).await?;
        match found.kind {
            WorkflowKind::Flow => Ok((found.workflow, found.source)),
            kind => Err(CliError::BadValue(format!(
                "{} is a {}: only flows are drawn",
                self.target,
                kind.as_str()
            ))),
        }
    }
}
