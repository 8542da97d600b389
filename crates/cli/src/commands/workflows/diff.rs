use std::path::Path;

use clap::Args;
use rhythm_engine::definitions::beside::gather;
use rhythm_graph::document;
use serde_json::json;
use similar::{ChangeTag, TextDiff};

use super::versions::{definition, numbered, short_version};
use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;
use crate::{unified_diff, workflow_files};

/// Show what changed between two versions of a workflow, or between a version and a file
#[derive(Debug, Args)]
#[command(after_help = "\
A and B are numbers of versions, hashes or the beginnings of them, tags, moves of tags (main@v3), or files. Without B, A is \
compared with the current version. `order@2 order@3` is short for `order 2 3`.")]
pub struct Diff {
    /// Its name; NAME@VERSION is the name and A
    workflow: String,
    /// A version, a tag or a file
    #[arg(value_name = "A")]
    from: Option<String>,
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
        let (workflow, from, to) = self.sides()?;
        let from = side(&session, workflow, Some(from)).await?;
        let to = side(&session, workflow, to).await?;
        let (from, to) = in_one_form(from, to);
        let diff = TextDiff::from_lines(&from.source, &to.source);
        let unified = unified_diff::diff((&from.name, &from.source), (&to.name, &to.source));
        if session.out.is_json() {
            let changed =
                |tag: ChangeTag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
            return session.out.json(&json!({
                "workflow": workflow, "from": from.name, "to": to.name, "same": from.source == to.source,
                "added": changed(ChangeTag::Insert), "removed": changed(ChangeTag::Delete), "diff": unified,
            }));
        }
        if unified.is_empty() {
            return session.out.line(format!("{} and {} are the same", from.name, to.name));
        }
        unified_diff::tell(&session.out, &unified)
    }
}

impl Diff {
    /// Returns the workflow's name, A and B, in both notations. Fails if three versions are named.
    fn sides(&self) -> CliResult<(&str, &str, Option<&str>)> {
        match (self.workflow.split_once('@'), &self.from, &self.to) {
            (Some((workflow, from)), to, None) => Ok((workflow, from, to.as_deref())),
            (Some(_), _, Some(_)) => Err(CliError::Usage("name two versions, not three".to_owned())),
            (None, Some(from), to) => Ok((&self.workflow, from, to.as_deref())),
            (None, None, _) => Err(CliError::Usage("name a version or a file to compare with".to_owned())),
        }
    }
}

/// Converts both sides to JSON if only one is JSON: patched graphs are stored as JSON, whatever their
/// original form.
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

/// Reads one side. A name that looks like a file is a file, unless a tag has that name; versions contain
/// neither a dot nor a slash. A graph from a file gets the hashes of the files beside it, as registered
/// versions have them.
async fn side(session: &Session, workflow: &str, given: Option<&str>) -> CliResult<Side> {
    let is_tag = match given {
        Some(tag) => session.client.tagged(tag).await.is_ok(),
        None => false,
    };
    if let Some(path) =
        given.filter(|path| !is_tag && (path.contains(['.', '/']) || Path::new(path).is_file()))
    {
        let source = input::read_text(path)?;
        let gathered = gather(workflow_files::folder(path), &source);
        let source = gathered.map(|gathered| gathered.source).unwrap_or(source);
        return Ok(Side { name: path.to_owned(), source });
    }
    let found = definition(session, workflow, given).await?;
    let number = session.client.number_of(workflow, &found.version).await?;
    let tag = given.filter(|_| is_tag).map(|tag| format!(" {tag}")).unwrap_or_default();
    let name =
        format!("{}{tag} {}", numbered(workflow, number, &found.version), short_version(&found.version));
    Ok(Side { name, source: found.source })
}
