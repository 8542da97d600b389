//! Reads node types from files, or from the world for commands that read graphs without registering them.

use std::path::Path;

use rhythm::Rhythm;
use rhythm_graph::{NodeType, Registry, codes, compile};
use serde_json::{Value, json};

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;

/// Reads the node types of a JSON file: one type or a list. A schema may be in a file beside it.
pub fn read(path: &str) -> CliResult<Vec<NodeType>> {
    let wrong = |reason: String| CliError::BadWorkflow { path: path.to_owned(), reason };
    let text: Value =
        serde_json::from_str(&input::read_text(path)?).map_err(|error| wrong(error.to_string()))?;
    let several = if text.is_array() { text } else { json!([text]) };
    let mut kinds: Vec<NodeType> =
        serde_json::from_value(several).map_err(|error| wrong(error.to_string()))?;
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    for kind in &mut kinds {
        for (_, schema, reference) in kind.schema_slots() {
            let Some(file) = reference.take_if(|reference| schema.is_none() && is_file(reference)) else {
                continue;
            };
            let file = folder.join(file).display().to_string();
            let bad = |error: serde_json::Error| CliError::BadWorkflow {
                path: file.clone(),
                reason: error.to_string(),
            };
            *schema = Some(serde_json::from_str(&input::read_text(&file)?).map_err(bad)?);
        }
    }
    Ok(kinds)
}

/// Whether a reference is a file: it is neither a hash nor a URL.
fn is_file(reference: &str) -> bool {
    !reference.starts_with("sha256:") && !reference.contains("://")
}

/// Returns the node types that graphs may use: those of the files, else those of the world if a graph uses a
/// type that is not built in.
pub async fn registry<'s>(
    settings: &Settings,
    files: &[String],
    mut graphs: impl Iterator<Item = &'s str>,
) -> CliResult<Registry> {
    let mut registry = Registry::default();
    for path in files {
        for kind in read(path)? {
            let wrong = |reason: String| CliError::BadWorkflow { path: path.clone(), reason };
            registry.add(kind).map_err(|bad| wrong(bad.to_string()))?;
        }
    }
    if !files.is_empty() || !graphs.any(has_further_types) || !may_be_read(&settings.world) {
        return Ok(registry);
    }
    let builder = Rhythm::builder().world(settings.world.clone()).tenant(settings.tenant.clone());
    // A command that only reads a graph must not migrate the database.
    let types = match builder.auto_migrate(false).open().await {
        Ok(rhythm) => rhythm.client().node_types().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match types {
        Ok(types) => Ok(types),
        Err(reason) => {
            settings.output.note(format!(
                "the node types of the world cannot be read ({reason}); `--types FILE` names them instead"
            ));
            Ok(registry)
        }
    }
}

fn has_further_types(source: &str) -> bool {
    let compiled = compile(source, &Default::default());
    compiled.errors().any(|error| error.code == codes::UNKNOWN_TYPE.id)
}

/// Whether the world can be opened without creating it: a missing SQLite file would be created.
fn may_be_read(world: &str) -> bool {
    world.strip_prefix("sqlite:").is_none_or(|path| Path::new(path).is_file())
}
