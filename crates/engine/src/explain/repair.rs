//! Failures that only another version of the flow repairs: names the version and the command.

use rhythm_core::{Status, WorkflowKind};
use rhythm_flow::runtime_error::codes;

use super::Reason;
use crate::client::Client;
use crate::world::*;

/// Failures caused by the program itself, whatever its tasks answer.
const BUGS: [&str; 7] = [
    codes::TYPE_ERROR,
    codes::PROPERTY_NOT_FOUND,
    codes::UNDEFINED_VARIABLE,
    codes::NOT_A_FUNCTION,
    codes::WRONG_ARG_COUNT,
    codes::WRONG_ARG_TYPE,
    codes::NUMBER_ERROR,
];
/// Number of characters of a hash that identify a version.
const HASH: usize = 12;

/// Names the version that is current now, or says that one has to be registered first.
pub async fn tell(client: &Client, picture: &Picture, reason: &mut Reason) {
    let summary = &picture.summary;
    let is_bug = picture.failure.as_ref().is_some_and(|failure| BUGS.contains(&failure.code.as_str()));
    let is_flow = summary.kind == WorkflowKind::Flow && summary.status == Status::Failed;
    if !is_bug || !is_flow || reason.code != "failed" {
        return;
    }
    let (run, workflow) = (&summary.id, summary.workflow.clone());
    let query = DefinitionQuery { tenant: client.tenant().clone(), workflow, version: None };
    // If the definition cannot be read, the explanation is given without this.
    let current = client.world().definition(query).await.ok().flatten();
    let next = current.filter(|current| current.version != summary.version);
    let Some(next) = next else {
        reason.moves_when = format!(
            "the flow is repaired and registered, and the run gets that version (`rhythm runs retry {run} --version VERSION`); \
             or somebody tries it again as it is"
        );
        return;
    };
    let hash = next.version.as_str();
    let hash: String = hash.strip_prefix("sha256:").unwrap_or(hash).chars().take(HASH).collect();
    reason.moves_when =
        "the run gets the version that is current now, if that repairs it, or somebody tries it again as it is"
            .to_owned();
    reason.command = Some(format!("rhythm runs retry {run} --version {hash}"));
}
