use clap::Args;
use rhythm_core::Version;
use rhythm_engine::error::EngineError;
use rhythm_engine::patches::document_of;
use rhythm_engine::world::WorkflowPatch;
use serde_json::json;

use super::versions::{all, definition, numbered, short_version};
use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::{exact, relative};
use crate::unified_diff;

/// List the patches of a workflow: who made each, why, and between which versions
#[derive(Debug, Args)]
pub struct Patches {
    workflow: String,
    /// Show one of them: what it changed
    #[arg(long, value_name = "N")]
    diff: Option<u64>,
}

impl Patches {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        // Fails if the workflow does not exist, unlike a workflow without patches.
        let versions = all(&session, &self.workflow).await?;
        let name = |version: &Version| {
            let row = versions.iter().find(|row| row.version == *version);
            numbered(&self.workflow, row.map(|row| row.number), version)
        };
        let mut patches = session.client.workflow_patches(&self.workflow).await?;
        if let Some(number) = self.diff {
            let patch = patches.into_iter().find(|patch| patch.number == number);
            let of = format!("workflow {}", self.workflow);
            let unknown = EngineError::UnknownPatch { of, number: number as usize };
            return show(&session, &self.workflow, patch.ok_or(unknown)?).await;
        }
        for patch in &mut patches {
            *patch = loaded(&session, patch.clone()).await?;
        }
        let now = session.now().await?;
        let words = Words {
            columns: &["PATCH", "WHEN", "WHO", "TAG", "FROM", "TO", "WHY"],
            none: "the workflow was never patched; `rhythm workflows patch` does that",
        };
        session.out.list(patches, words, |patch| {
            vec![
                patch.number.to_string(),
                relative(now, patch.at),
                patch.actor.0.clone(),
                patch.tag.clone().unwrap_or_default(),
                name(&patch.base),
                name(&patch.version),
                short(&patch.reason, 60),
            ]
        })
    }
}

/// Loads the operations of a patch that are stored as blobs.
async fn loaded(session: &Session, mut patch: WorkflowPatch) -> CliResult<WorkflowPatch> {
    patch.operations = session.loaded(patch.operations).await?;
    patch.inverse = session.loaded(patch.inverse).await?;
    Ok(patch)
}

async fn show(session: &Session, workflow: &str, patch: WorkflowPatch) -> CliResult {
    let patch = loaded(session, patch).await?;
    let mut sides = Vec::new();
    for version in [&patch.base, &patch.version] {
        let definition = definition(session, workflow, Some(version.as_str())).await?;
        let text = serde_json::to_string_pretty(&document_of(&definition)?).unwrap_or_default() + "\n";
        sides.push((format!("{workflow} {}", short_version(version)), text));
    }
    let diff = unified_diff::diff((&sides[0].0, &sides[0].1), (&sides[1].0, &sides[1].1));
    if session.out.is_json() {
        return session.out.json(&json!({ "patch": patch, "diff": diff }));
    }
    session.out.details(&[
        ("patch", patch.number.to_string()),
        ("author", patch.actor.0.clone()),
        ("reason", patch.reason.clone()),
        ("at", exact(patch.at)),
        ("tag", patch.tag.clone().unwrap_or_default()),
        ("operations", patch.operations.text().unwrap_or_default().to_owned()),
    ])?;
    unified_diff::tell(&session.out, &diff)
}
