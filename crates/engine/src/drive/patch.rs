//! Sends a patch to a run and waits for the run's decision.

use std::time::Duration;

use rhythm_core::{RunId, Status, WorkflowKind};

use crate::client::Client;
use crate::error::EngineError;
use crate::patches::{Considered, PatchRun, RunPatch, WouldRefuse, patch_of, unreadable_program};

/// Result of a patch that was sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Sent {
    /// The run has considered it: adopted, or refused with the reason.
    Considered(Box<RunPatch>),
    /// The run has failed; it considers the patch when it is reopened.
    Kept,
}

/// Sends a patch and waits until its run has considered it. Fails if the run is no graph, if it ends without
/// considering the patch, or if it does not decide within `patience`; the patch stays in its inbox then.
pub async fn patch_run(
    client: &Client,
    run: &RunId,
    patch: PatchRun,
    patience: Duration,
) -> Result<Sent, EngineError> {
    let picture = client.picture(run).await?;
    if picture.summary.kind != WorkflowKind::Graph {
        return Err(EngineError::NotPatchable(format!("run {run}")));
    }
    let wanted = client.load(&patch.operations).await?;
    if let Some(WouldRefuse { code, message }) = unreadable_program(client, &picture.row, &wanted).await? {
        return Err(EngineError::PatchRefused { of: format!("the patch of run {run}"), code, message });
    }
    let mut wakeups = client.world().wakeups().runs;
    let id = client.patch(run, patch).await?;
    let until = tokio::time::Instant::now() + patience;
    let mut pause = Duration::from_millis(2);
    loop {
        let status = client.picture(run).await?.summary.status;
        match patch_of(client, run, &id).await? {
            Considered::Told(patch) => {
                let same = client.load(&patch.operations).await.is_ok_and(|text| is_same(&text, &wanted));
                return match same {
                    true => Ok(Sent::Considered(patch)),
                    false => Err(EngineError::KeyConflict(id.to_string())),
                };
            }
            Considered::Failed => {
                return Err(EngineError::PatchRefused {
                    of: format!("the patch of run {run}"),
                    code: "run_failed".to_owned(),
                    message: "the run failed with it".to_owned(),
                });
            }
            // The status was read first: a run that had ended by then considers nothing any more.
            Considered::NotYet if status == Status::Failed => return Ok(Sent::Kept),
            Considered::NotYet if status.is_final() => return Err(EngineError::Ended(run.to_string())),
            Considered::NotYet => {}
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_millis(250)),
            _ = wakeups.changed() => {}
            () = tokio::time::sleep_until(until) => {
                return Err(EngineError::Unconsidered { run: run.to_string(), seconds: patience.as_secs() });
            }
        }
    }
}

/// Returns whether two JSON texts mean the same value.
fn is_same(one: &str, other: &str) -> bool {
    let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    one == other || (value(one).is_some() && value(one) == value(other))
}
