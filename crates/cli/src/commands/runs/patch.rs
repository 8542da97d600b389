use std::time::Duration;

use clap::Args;
use rhythm_core::{Payload, RunId};
use rhythm_engine::drive::{Sent, patch_run};
use rhythm_engine::error::EngineError;
use rhythm_engine::patches::{PatchOutcome, PatchRun, RunPatch, preview, undo};
use serde_json::json;

use crate::config::Settings;
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;

/// Change the graph one run goes by, and say whether the run adopts that
#[derive(Debug, Args)]
#[command(after_help = "\
A patch is an RFC 6902 list over the document of the run's graph. The run checks it where its tokens are and adopts it \
whole, or refuses it with a code and goes on as it was; either is kept in its history with author and reason. A failed run \
keeps a patch and considers it when it is opened again. Exit code 0: adopted (or would be), 4: refused, 5: not considered \
in time.")]
pub struct Patch {
    run: String,
    /// The operations: JSON, @FILE, or - for standard input
    #[arg(value_name = "OPERATIONS", required_unless_present = "undo", conflicts_with = "undo")]
    operations: Option<String>,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["dry_run", "undo"])]
    reason: Option<String>,
    /// Undo this patch of the run, as `runs patches` numbers them
    #[arg(long, value_name = "N")]
    undo: Option<usize>,
    /// Say what would change, or why it would be refused; send nothing
    #[arg(long)]
    dry_run: bool,
    /// Makes a repeated call harmless: one id is one patch
    #[arg(long)]
    id: Option<String>,
    /// How long to wait for the run's answer
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    timeout: String,
}

impl Patch {
    pub async fn run(self, settings: Settings) -> CliResult {
        if self.reason.as_ref().is_some_and(|reason| reason.trim().is_empty()) {
            let needed = "--reason is empty: say why, the history keeps it";
            return Err(CliError::BadValue(needed.into()));
        }
        let patience = input::duration("--timeout", &self.timeout)?;
        let given = self.operations.as_deref();
        let given = given.map(|given| input::payload("OPERATIONS", Some(given))).transpose()?;
        let session = Session::open(&settings).await?;
        let run = session.client.find_run(&self.run).await?;
        let operations = match (given, self.undo) {
            (Some(given), _) => given,
            (None, Some(number)) => undo(&session.client, &run, number).await?,
            (None, None) => Payload::null(),
        };
        if self.dry_run {
            return tell_preview(&session, &run, operations).await;
        }
        let undoes = self.undo.map(|number| format!("undoes patch {number}"));
        let reason = self.reason.or(undoes).unwrap_or_default();
        let patch = PatchRun { operations, reason, id: self.id };
        let patience = Duration::from_millis(patience.as_u64());
        match patch_run(&session.client, &run, patch, patience).await? {
            Sent::Considered(patch) => tell(&session, &run, *patch),
            Sent::Kept => session.out.done(
                format!(
                    "run {run} has failed and keeps the patch; `rhythm runs retry {run}` lets it consider it"
                ),
                &json!({ "run": run, "outcome": "kept" }),
            ),
        }
    }
}

fn tell(session: &Session, run: &RunId, patch: RunPatch) -> CliResult {
    match &patch.outcome {
        PatchOutcome::Adopted { .. } => {
            let text = format!("run {run} has adopted patch {}", patch.number);
            session.out.done(text, &json!({ "run": run, "outcome": "adopted", "patch": patch }))
        }
        PatchOutcome::Refused { code, because } => Err(refused(run, code.clone(), because.clone())),
    }
}

fn refused(run: &RunId, code: String, message: String) -> CliError {
    EngineError::PatchRefused { of: format!("the patch of run {run}"), code, message }.into()
}

async fn tell_preview(session: &Session, run: &RunId, operations: Payload) -> CliResult {
    let preview = preview(&session.client, run, operations).await?;
    if let Some(would) = preview.refused {
        return Err(refused(run, would.code, would.message));
    }
    if session.out.is_json() {
        return session
            .out
            .json(&json!({ "run": run, "outcome": "would_be_adopted", "changes": preview.changes }));
    }
    session.out.line(match preview.changes.is_empty() {
        true => format!("run {run} would adopt it; it changes nothing"),
        false => format!("run {run} would adopt it:"),
    })?;
    preview.changes.lines().iter().try_for_each(|line| session.out.styled(&session.out.changed(line)))
}
