//! The blobs that a commit refers to: in its history rows, its messages and its snapshot. A world checks them
//! in the transaction that writes the commit, so that no collector removes them in between.

use std::collections::BTreeSet;

use crate::event::{
    ApprovalCreated, ChildStarted, Completed, EventData, Failed, Log, Marker, NodeToken, PatchAdopted,
    PatchRefused, StepRetrying, StepScheduled,
};
use crate::failure::Failure;
use crate::message::{
    ApprovalDecided, ChildCompleted, ChildFailed, Compensate, MessageBody, Patched, SignalReceived, Start,
    TaskCompleted, TaskFailed, VersionChanged,
};
use crate::payload::Payload;
use crate::program::{Program, ProgramError, Snapshot};

/// Hashes of blobs.
pub type Refs = BTreeSet<String>;

/// Adds the blobs of one history row.
pub fn of_event(data: &EventData, refs: &mut Refs) {
    match data {
        EventData::WorkflowStarted(Start { input })
        | EventData::StepScheduled(StepScheduled { input, .. })
        | EventData::ChildStarted(ChildStarted { input, .. }) => of_payload(input, refs),
        EventData::WorkflowCompleted(Completed { output })
        | EventData::StepCompleted(TaskCompleted { output, .. })
        | EventData::ChildCompleted(ChildCompleted { output, .. }) => of_payload(output, refs),
        EventData::WorkflowFailed(Failed { failure })
        | EventData::StepFailed(TaskFailed { failure, .. })
        | EventData::StepRetrying(StepRetrying { failure, .. })
        | EventData::ChildFailed(ChildFailed { failure, .. }) => of_failure(failure, refs),
        EventData::CompensationRequested(Compensate { failure, .. }) => {
            failure.iter().for_each(|failure| of_failure(failure, refs));
        }
        EventData::SignalReceived(SignalReceived { payload, .. })
        | EventData::ApprovalCreated(ApprovalCreated { payload, .. }) => of_payload(payload, refs),
        EventData::Marker(Marker { data, .. })
        | EventData::Log(Log { data, .. })
        | EventData::ApprovalDecided(ApprovalDecided { data, .. }) => of_payload(data, refs),
        EventData::Patched(Patched { operations, .. })
        | EventData::PatchRefused(PatchRefused { operations, .. }) => of_payload(operations, refs),
        EventData::PatchAdopted(PatchAdopted { operations, inverse, .. }) => {
            of_payload(operations, refs);
            of_payload(inverse, refs);
        }
        EventData::NodeConsumed(NodeToken { payload, .. })
        | EventData::NodeEmitted(NodeToken { payload, .. }) => {
            payload.iter().for_each(|payload| of_payload(payload, refs));
        }
        EventData::VersionChanged(changed) => of_change(changed, refs),
        EventData::WorkflowCancelled(_)
        | EventData::CancelRequested(_)
        | EventData::DeadlineReached(_)
        | EventData::ReplayRequested(_)
        | EventData::Reopened(_)
        | EventData::TimerScheduled(_)
        | EventData::TimerFired(_)
        | EventData::SignalRequested(_)
        | EventData::SignalSent(_)
        | EventData::ParallelStarted(_)
        | EventData::ParallelCompleted(_)
        | EventData::Paused(_)
        | EventData::Resumed(_)
        | EventData::Forked(_)
        | EventData::ApprovalEscalated(_)
        | EventData::ConditionEvaluated(_)
        | EventData::Warning(_) => {}
    }
}

/// Adds the blobs of a message.
pub fn of_message(body: &MessageBody, refs: &mut Refs) {
    match body {
        MessageBody::Start(Start { input }) => of_payload(input, refs),
        MessageBody::TaskCompleted(TaskCompleted { output, .. })
        | MessageBody::ChildCompleted(ChildCompleted { output, .. }) => of_payload(output, refs),
        MessageBody::TaskFailed(TaskFailed { failure, .. })
        | MessageBody::ChildFailed(ChildFailed { failure, .. }) => of_failure(failure, refs),
        MessageBody::Signal(SignalReceived { payload, .. }) => of_payload(payload, refs),
        MessageBody::ApprovalDecided(ApprovalDecided { data, .. }) => of_payload(data, refs),
        MessageBody::Patch(Patched { operations, .. }) => of_payload(operations, refs),
        MessageBody::Compensate(Compensate { failure, .. }) => {
            failure.iter().for_each(|failure| of_failure(failure, refs));
        }
        MessageBody::VersionChanged(changed) => of_change(changed, refs),
        MessageBody::TimerFired(_)
        | MessageBody::Cancel(_)
        | MessageBody::DeadlineReached
        | MessageBody::Replay(_) => {}
    }
}

fn of_change(changed: &VersionChanged, refs: &mut Refs) {
    let input = changed.position.as_ref().and_then(|moved| moved.input.as_ref());
    input.iter().for_each(|input| of_payload(input, refs));
}

/// Adds the blobs of a failure.
pub fn of_failure(failure: &Failure, refs: &mut Refs) {
    failure.data.iter().chain(failure.fields.as_deref()).for_each(|payload| of_payload(payload, refs));
}

/// Adds the blob of a payload, if it is one.
pub fn of_payload(payload: &Payload, refs: &mut Refs) {
    if let Payload::Blob(blob) = payload {
        refs.insert(blob.hash.clone());
    }
}

/// Adds the blobs that `after` refers to and `before` does not. The world has checked the others already: the
/// snapshot that is being replaced holds them until the commit. Fails when the program cannot read the
/// snapshot.
pub fn new_in_snapshot(
    program: &dyn Program,
    before: Option<&Snapshot>,
    after: Option<&Snapshot>,
    refs: &mut Refs,
) -> Result<(), ProgramError> {
    let Some(after) = after else { return Ok(()) };
    let old = before.map(|before| named(&before.bytes)).unwrap_or_default();
    let mut new = named(&after.bytes);
    new.retain(|hash| !old.contains(hash));
    if new.is_empty() {
        return Ok(());
    }
    // A user's value may look like a reference, so the program decides which ones are real.
    let held = program.blob_refs(after)?.into_iter().map(|blob| blob.hash);
    refs.extend(held.filter(|hash| new.contains(hash.as_bytes())));
    Ok(())
}

/// Returns the hashes that follow the tag of a reference, whether a program or a user wrote it.
fn named(bytes: &[u8]) -> BTreeSet<&[u8]> {
    const TAG: &[u8] = b"blob\":\"";
    const HASH: usize = "sha256:".len() + 64;
    let behind_dollars = bytes.split(|byte| *byte == b'$').skip(1);
    behind_dollars.filter_map(|text| text.strip_prefix(TAG)?.get(..HASH)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Event;
    use crate::payload::BlobRef;

    /// Checks that the reference is found in every row that can hold a value. A new row type must be added in
    /// both places.
    #[test]
    fn every_row_that_holds_a_value_tells_its_blob() {
        let blob = BlobRef::of(b"content");
        let value = serde_json::to_value(&blob).unwrap();
        let failure = serde_json::json!({"code": "C", "message": "m", "data": value});
        let fields = serde_json::json!({"code": "C", "message": "m", "fields": value});
        let rows = [
            ("workflow_started", serde_json::json!({"input": value})),
            ("workflow_completed", serde_json::json!({"output": value})),
            ("workflow_failed", serde_json::json!({"failure": failure})),
            ("workflow_failed", serde_json::json!({"failure": fields})),
            ("compensation_requested", serde_json::json!({"reason": "", "failure": failure})),
            ("step_scheduled", serde_json::json!({"task": 1, "name": "t", "queue": "q", "input": value})),
            ("step_completed", serde_json::json!({"task": 1, "attempt": 1, "output": value})),
            ("step_failed", serde_json::json!({"task": 1, "failure": failure})),
            ("step_retrying", serde_json::json!({"task": 1, "attempt": 1, "failure": failure, "next_at": 1})),
            ("signal_received", serde_json::json!({"name": "s", "payload": value})),
            ("child_started", serde_json::json!({"child": 1, "run": "r", "workflow": "w", "input": value})),
            ("child_completed", serde_json::json!({"child": 1, "output": value})),
            ("child_failed", serde_json::json!({"child": 1, "failure": failure})),
            ("marker", serde_json::json!({"name": "m", "data": value})),
            ("log", serde_json::json!({"message": "m", "data": value})),
            ("patched", serde_json::json!({"operations": value, "reason": ""})),
            (
                "patch_adopted",
                serde_json::json!({"author": "", "reason": "", "operations": [], "inverse": value}),
            ),
            (
                "patch_adopted",
                serde_json::json!({"author": "", "reason": "", "operations": value, "inverse": []}),
            ),
            (
                "patch_refused",
                serde_json::json!({"author": "", "reason": "", "operations": value, "code": "", "message": ""}),
            ),
            (
                "node_emitted",
                serde_json::json!({"token": 1, "to": "n", "hop": 1, "op_key": "", "counter_before": 0,
                    "counter_after": 1, "payload": value}),
            ),
            ("approval_created", serde_json::json!({"approval": 1, "node": "n", "payload": value})),
            (
                "approval_decided",
                serde_json::json!({"approval": 1, "decision": "approve", "by": "ann", "data": value}),
            ),
        ];
        for (kind, data) in rows {
            let data = EventData::from_parts(kind, &data.to_string()).unwrap();
            let mut refs = Refs::new();
            of_event(&data, &mut refs);
            assert_eq!(refs, Refs::from([blob.hash.clone()]), "{kind}");
            let row = Event {
                seq: 1,
                at: crate::time::Timestamp(0),
                cause: None,
                message: Some("m".into()),
                actor: crate::message::Actor::system(),
                trace: None,
                data,
            };
            if let Some(message) = row.to_message() {
                let mut refs = Refs::new();
                of_message(&message.body, &mut refs);
                assert_eq!(refs, Refs::from([blob.hash.clone()]), "{kind} as a message");
            }
        }
    }
}
