use std::path::Path;

use clap::Args;
use rhythm_core::graph::document;
use rhythm_engine::error::EngineError;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::versions::{definition, short_version};
use crate::config::Settings;
use crate::errors::CliResult;
use crate::input;
use crate::session::Session;
use crate::unified;

/// Show what changed between two versions of a workflow, or between a version and a file
#[derive(Debug, Args)]
#[command(after_help = "\
A and B are tags, hashes of versions or the beginnings of them, or files. Without B, A is compared with the current version.")]
pub struct Diff {
    workflow: String,
    /// A version, a tag or a file
    #[arg(value_name = "A")]
    from: String,
    /// A version, a tag or a file; the current version when it is left out
    #[arg(value_name = "B")]
    to: Option<String>,
}

struct Side {
    name: String,
    source: String,
}

impl Diff {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let from = side(&session, &self.workflow, Some(&self.from)).await?;
        let to = side(&session, &self.workflow, self.to.as_deref()).await?;
        let (from, to) = in_one_form(from, to);
        let diff = TextDiff::from_lines(&from.source, &to.source);
        let unified = unified::diff((&from.name, &from.source), (&to.name, &to.source));
        if session.out.is_json() {
            let changed =
                |tag: ChangeTag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
            return session.out.json(&json!({
                "workflow": self.workflow, "from": from.name, "to": to.name, "same": from.source == to.source,
                "added": changed(ChangeTag::Insert), "removed": changed(ChangeTag::Delete), "diff": unified,
            }));
        }
        if unified.is_empty() {
            return session.out.line(format!("{} and {} are the same", from.name, to.name));
        }
        unified::tell(&session.out, &unified)
    }
}

/// A graph that was patched is kept as JSON, whatever it was written in: beside another form both are shown as JSON.
fn in_one_form(from: Side, to: Side) -> (Side, Side) {
    let is_json = |side: &Side| side.source.trim_start().starts_with('{');
    let as_json = |side: &Side| {
        let tree = document::read(&side.source).ok()?;
        let source = serde_json::to_string_pretty(&tree.to_json()).ok()? + "\n";
        Some(Side { name: side.name.clone(), source })
    };
    let both = if is_json(&from) == is_json(&to) { None } else { as_json(&from).zip(as_json(&to)) };
    both.unwrap_or((from, to))
}

/// A tag is looked for first. What looks like a file is one otherwise: no version has a dot or a slash in it.
async fn side(session: &Session, workflow: &str, given: Option<&str>) -> CliResult<Side> {
    if let Some(tag) = given
        && let Ok((target, _)) = session.client.tagged(tag).await
    {
        if target.workflow != workflow {
            let (tag, workflow, of) = (tag.to_owned(), workflow.to_owned(), target.workflow);
            return Err(EngineError::WrongTag { tag, workflow, of }.into());
        }
        let definition = definition(session, workflow, Some(target.version.as_str())).await?;
        let name = format!("{workflow} {tag} {}", short_version(&definition.version));
        return Ok(Side { name, source: definition.source });
    }
    if let Some(path) = given.filter(|path| path.contains(['.', '/']) || Path::new(path).is_file()) {
        return Ok(Side { name: path.to_owned(), source: input::read_text(path)? });
    }
    let definition = definition(session, workflow, given).await?;
    Ok(Side { name: format!("{workflow} {}", short_version(&definition.version)), source: definition.source })
}
