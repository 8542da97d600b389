use clap::Args;
use rhythm_core::Version;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::{Definition, DefinitionQuery, VersionRow};

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::{exact, relative};

/// List the versions of a workflow: when each was registered, which is current, how many runs still use it
#[derive(Debug, Args)]
pub struct Versions {
    workflow: String,
}

impl Versions {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let rows = all(&session, &self.workflow).await?;
        let now = session.now().await?;
        let words = Words { columns: &["VERSION", "STATE", "REGISTERED (UTC)", "", "OPEN RUNS"], none: "" };
        session.out.list(rows, words, |row| {
            vec![
                short_version(&row.version),
                if row.current { "current" } else { "" }.to_owned(),
                exact(row.registered_at),
                relative(now, row.registered_at),
                row.open_runs.to_string(),
            ]
        })
    }
}

/// All versions of a workflow, of which there is at least one.
pub async fn all(session: &Session, workflow: &str) -> CliResult<Vec<VersionRow>> {
    let rows = session.rhythm.world().versions(session.client.tenant(), workflow).await?;
    match rows.is_empty() {
        true => Err(EngineError::UnknownWorkflow(workflow.to_owned()).into()),
        false => Ok(rows),
    }
}

/// Enough of a version to name it.
pub fn short_version(version: &Version) -> String {
    short(version.as_str(), 20)
}

/// One version by its hash, or the beginning of it; the current one when none is named.
pub async fn definition(session: &Session, workflow: &str, version: Option<&str>) -> CliResult<Definition> {
    let version = match version {
        Some(prefix) => Some(find(session, workflow, prefix).await?),
        None => None,
    };
    let (tenant, name) = (session.client.tenant().clone(), workflow.to_owned());
    let found =
        session.rhythm.world().definition(DefinitionQuery { tenant, workflow: name, version }).await?;
    Ok(found.ok_or_else(|| EngineError::UnknownWorkflow(workflow.to_owned()))?)
}

/// A version by the beginning of its hash.
pub async fn find(session: &Session, workflow: &str, prefix: &str) -> CliResult<Version> {
    let rows = all(session, workflow).await?;
    let wanted = prefix.trim_end_matches('…');
    let hash = wanted.strip_prefix("sha256:").unwrap_or(wanted);
    let fits = |row: &&VersionRow| {
        let full = row.version.as_str();
        !hash.is_empty() && full.strip_prefix("sha256:").unwrap_or(full).starts_with(hash)
    };
    let mut found = rows.iter().filter(fits);
    match (found.next(), found.next()) {
        (Some(row), None) => Ok(row.version.clone()),
        (None, _) => {
            Err(EngineError::UnknownVersion { workflow: workflow.to_owned(), version: prefix.to_owned() }
                .into())
        }
        (Some(_), Some(_)) => Err(CliError::BadValue(format!(
            "several versions of {workflow} begin with {prefix}: write more of it"
        ))),
    }
}
