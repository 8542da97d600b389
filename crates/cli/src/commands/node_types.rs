use clap::Subcommand;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::{Control, Controlled};
use rhythm_graph::{NodeType, Registry};
use serde::Serialize;
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::node_type_files;
use crate::output::Words;
use crate::session::Session;

/// The types nodes of graphs can have: built in, and registered
#[derive(Debug, Subcommand)]
pub enum NodeTypes {
    /// List the types
    List,
    /// Show one type with its schemas
    Show { name: String },
    /// Register types from JSON files, each with one type or a list of them
    #[command(after_help = "\
A type is {name, version, queue, display_name, description, icon, capabilities, config_schema, input_schema, \
output_schema}; only the name must be there. A schema may stand elsewhere: config_schema_ref and the others name content \
(sha256:..) or a file beside the type's. Its nodes are done by the task of its name on its queue. Workers can bring their types along \
instead. Graphs that are registered already keep the form their types had.")]
    Register {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
    },
    /// Remove a registered type; graphs that use it go on
    Remove { name: String },
}

#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    kind: NodeType,
    built_in: bool,
}

impl NodeTypes {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = match self {
            Self::List | Self::Show { .. } => Session::read(&settings).await?,
            _ => Session::open(&settings).await?,
        };
        match self {
            Self::List => list(&session).await,
            Self::Show { name } => {
                let registry = session.client.node_types().await?;
                let kind = registry.find(&name).ok_or_else(|| unknown(&registry, &name))?;
                session.out.json(&Row { built_in: is_built_in(kind), kind: kind.clone() })
            }
            Self::Register { files } => register(&session, &files).await,
            Self::Remove { name } => {
                let registry = session.client.node_types().await?;
                let kind = registry.find(&name).ok_or_else(|| unknown(&registry, &name))?;
                if is_built_in(kind) {
                    return Err(EngineError::Invalid(format!("{name} is built in and stays")).into());
                }
                session.client.control(Control::RemoveNodeType { name: name.clone() }).await?;
                let told = json!({ "node_type": name, "removed": true });
                session.out.done(format!("node type {name} is gone"), &told)
            }
        }
    }
}

async fn list(session: &Session) -> CliResult {
    let registry = session.client.node_types().await?;
    let rows = registry.all().map(|kind| Row { built_in: is_built_in(kind), kind: kind.clone() }).collect();
    let words = Words { columns: &["TYPE", "VERSION", "QUEUE", "FROM", "WHAT"], none: "no types" };
    session.out.list(rows, words, |row: &Row| {
        vec![
            row.kind.name.clone(),
            row.kind.version.clone(),
            row.kind.queue.clone(),
            if row.built_in { "built in" } else { "registered" }.to_owned(),
            match row.kind.description.is_empty() {
                true => row.kind.display_name.clone(),
                false => row.kind.description.clone(),
            },
        ]
    })
}

/// Registers node types. Reads and checks all files before it registers any.
async fn register(session: &Session, files: &[String]) -> CliResult {
    let mut kinds = Vec::new();
    let mut registry = Registry::default();
    for path in files {
        let wrong = |reason: String| CliError::BadWorkflow { path: path.clone(), reason };
        for kind in node_type_files::read(path)? {
            let kind = session.client.with_schemas(kind).await?;
            registry.add(kind.clone()).map_err(|bad| wrong(bad.to_string()))?;
            kinds.push(kind);
        }
    }
    let mut rows = Vec::new();
    for kind in kinds {
        let name = kind.name.clone();
        let changed = session.client.put_node_type(kind).await? == Controlled::Done;
        if !session.out.is_json() && !session.out.is_quiet() {
            let what = if changed { "registered" } else { "is as it was" };
            session.out.line(format!("node type {name} {what}"))?;
        }
        rows.push(json!({ "node_type": name, "changed": changed }));
    }
    match session.out.is_json() {
        true => session.out.json(&json!({ "rows": rows, "next": null })),
        false => Ok(()),
    }
}

fn is_built_in(kind: &NodeType) -> bool {
    Registry::built_in().find(&kind.name).is_some()
}

fn unknown(registry: &Registry, name: &str) -> EngineError {
    let advice = match registry.closest(name) {
        Some(known) => format!("did you mean {known}?"),
        None => "`rhythm node-types list` shows those there are".to_owned(),
    };
    EngineError::Invalid(format!("there is no node type {name}; {advice}"))
}
