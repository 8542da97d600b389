use clap::Args;
use rhythm_core::Version;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::{Definition, DefinitionQuery, VersionRow};

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::{exact, relative};

/// List the versions of a workflow: their numbers, when each was registered, which is current, how many runs still use it
#[derive(Debug, Args)]
pub struct Versions {
    workflow: String,
}

impl Versions {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let rows = all(&session, &self.workflow).await?;
        let now = session.now().await?;
        let words =
            Words { columns: &["NUMBER", "VERSION", "STATE", "REGISTERED (UTC)", "", "OPEN RUNS"], none: "" };
        session.out.list(rows, words, |row| {
            vec![
                row.number.to_string(),
                short_version(&row.version),
                if row.current { "current" } else { "" }.to_owned(),
                exact(row.registered_at),
                relative(now, row.registered_at),
                row.open_runs.to_string(),
            ]
        })
    }
}

/// Returns all versions of a workflow. Fails if it has none.
pub async fn all(session: &Session, workflow: &str) -> CliResult<Vec<VersionRow>> {
    let rows = session.rhythm.world().versions(session.client.tenant(), workflow).await?;
    match rows.is_empty() {
        true => Err(EngineError::UnknownWorkflow(workflow.to_owned()).into()),
        false => Ok(rows),
    }
}

/// Returns a prefix of the hash that is long enough to name the version.
pub fn short_version(version: &Version) -> String {
    short(version.as_str(), 20)
}

/// Returns the name of a version that commands accept: `order@3`.
pub fn numbered(workflow: &str, number: Option<u64>, version: &Version) -> String {
    match number {
        Some(number) => format!("{workflow}@{number}"),
        None => format!("{workflow} {}", short_version(version)),
    }
}

/// Returns a version of a workflow, named after an @ or separately, or the current one. Fails if it does not
/// exist.
pub async fn definition(session: &Session, workflow: &str, version: Option<&str>) -> CliResult<Definition> {
    let client = &session.client;
    let (workflow, version) = match version {
        Some(name) => {
            let version = client.select_version(workflow, name).await?;
            (workflow.to_owned(), Some(version))
        }
        None => {
            let selected = client.select(workflow).await?;
            (selected.workflow, selected.version)
        }
    };
    let (tenant, name) = (client.tenant().clone(), workflow.clone());
    let found =
        session.rhythm.world().definition(DefinitionQuery { tenant, workflow: name, version }).await?;
    Ok(found.ok_or(EngineError::UnknownWorkflow(workflow))?)
}
