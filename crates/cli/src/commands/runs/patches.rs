use clap::Args;
use rhythm_engine::error::EngineError;
use rhythm_engine::patches::{Link, PatchOutcome, RunPatch, chain};
use serde_json::json;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Words, short};
use crate::session::Session;
use crate::times::{exact, relative};
use crate::unified_diff;

/// List the patches a run has considered: who sent each, why, and what became of it
#[derive(Debug, Args)]
pub struct Patches {
    run: String,
    /// Show one of them: what it changed, or would have changed
    #[arg(long, value_name = "N")]
    diff: Option<usize>,
}

impl Patches {
    pub async fn run(self, settings: Settings) -> CliResult {
        let session = Session::read(&settings).await?;
        let run = session.client.find_run(&self.run).await?;
        if let Some(number) = self.diff {
            let links = chain(&session.client, &run).await?;
            let link = links.into_iter().find(|link| link.patch.number == number);
            let unknown = EngineError::UnknownPatch { of: format!("run {run}"), number };
            return show(&session, link.ok_or(unknown)?).await;
        }
        let mut patches = session.client.patches(&run).await?;
        for patch in &mut patches {
            *patch = loaded(&session, patch.clone()).await?;
        }
        let now = session.now().await?;
        let words = Words {
            columns: &["PATCH", "OUTCOME", "WHEN", "AUTHOR", "REASON", "OPERATIONS"],
            none: "the run has considered no patches; `rhythm runs patch` sends one",
        };
        session.out.list(patches, words, |patch| {
            vec![
                patch.number.to_string(),
                short(&told(patch), 80),
                relative(now, patch.at),
                patch.author.clone(),
                short(&patch.reason, 40),
                short(patch.operations.text().unwrap_or("(large)"), 60),
            ]
        })
    }
}

fn outcome(patch: &RunPatch) -> String {
    match &patch.outcome {
        PatchOutcome::Adopted { .. } => "adopted".to_owned(),
        PatchOutcome::Refused { code, .. } => format!("refused: {code}"),
    }
}

/// Returns the outcome, with the reason of a refusal.
fn told(patch: &RunPatch) -> String {
    match &patch.outcome {
        PatchOutcome::Adopted { .. } => outcome(patch),
        PatchOutcome::Refused { because, .. } => format!("{}: {because}", outcome(patch)),
    }
}

/// Loads the operations of a patch that are stored as blobs.
async fn loaded(session: &Session, mut patch: RunPatch) -> CliResult<RunPatch> {
    patch.operations = session.loaded(patch.operations).await?;
    if let PatchOutcome::Adopted { inverse } = &mut patch.outcome {
        *inverse = session.loaded(inverse.clone()).await?;
    }
    Ok(patch)
}

async fn show(session: &Session, link: Link) -> CliResult {
    let patch = loaded(session, link.patch).await?;
    let (from, to) = (format!("before patch {}", patch.number), format!("after patch {}", patch.number));
    let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
    let diff = link
        .after
        .as_ref()
        .map(|after| unified_diff::diff((&from, &pretty(&link.before)), (&to, &pretty(after))));
    if session.out.is_json() {
        return session.out.json(&json!({ "patch": patch, "diff": diff }));
    }
    let because = match &patch.outcome {
        PatchOutcome::Refused { because, .. } => because.clone(),
        PatchOutcome::Adopted { .. } => String::new(),
    };
    session.out.details(&[
        ("patch", format!("{} ({})", patch.number, outcome(&patch))),
        ("because", because),
        ("author", patch.author.clone()),
        ("reason", patch.reason.clone()),
        ("at", exact(patch.at)),
        ("operations", patch.operations.text().unwrap_or_default().to_owned()),
    ])?;
    match diff {
        Some(diff) => unified_diff::tell(&session.out, &diff),
        None => session.out.line("it cannot be applied to the document the run had"),
    }
}
