//! The history of a run: one row for each message it consumed and for each effect of that message.

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, codes};
use crate::id::{CommandId, MessageId, RunId, Version};
use crate::message::{
    Actor, ApprovalDecided, Cancel, ChildCompleted, ChildFailed, Compensate, Message, MessageBody, Patched,
    Replay, SignalReceived, Start, TaskCompleted, TaskFailed, TimerFired, VersionChanged,
};
use crate::payload::Payload;
use crate::time::{Millis, Timestamp};

/// One row of a run's history.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Row number: 1, 2, 3 ... without gaps.
    pub seq: u64,
    pub at: Timestamp,
    /// Number of the row of the message that caused this one. Absent for messages and for operator actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// Id of the message, when this row is a consumed message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    pub actor: Actor,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    #[serde(flatten, with = "flat")]
    pub data: EventData,
}

macro_rules! event_types {
    ($($(#[$doc:meta])* $variant:ident($body:ty) = $name:literal,)*) => {
        /// The content of a history row. The variant's name in snake case is the row's type; its content is
        /// the row's data.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum EventData {
            $($(#[$doc])* $variant($body),)*
        }

        impl EventData {
            /// All row types.
            pub const TYPES: &'static [&'static str] = &[$($name),*];

            /// Returns the row's type.
            pub fn kind(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }
        }
    };
}

event_types! {
    WorkflowStarted(Start) = "workflow_started",
    WorkflowCompleted(Completed) = "workflow_completed",
    WorkflowFailed(Failed) = "workflow_failed",
    WorkflowCancelled(Cancel) = "workflow_cancelled",
    CancelRequested(Cancel) = "cancel_requested",
    DeadlineReached(Nothing) = "deadline_reached",
    CompensationRequested(Compensate) = "compensation_requested",
    ReplayRequested(Replay) = "replay_requested",
    VersionChanged(VersionChanged) = "version_changed",
    Reopened(Reopened) = "reopened",
    StepScheduled(StepScheduled) = "step_scheduled",
    StepCompleted(TaskCompleted) = "step_completed",
    StepFailed(TaskFailed) = "step_failed",
    /// One failed attempt that will be retried. Listed with the history, never part of the fold.
    StepRetrying(StepRetrying) = "step_retrying",
    TimerScheduled(TimerScheduled) = "timer_scheduled",
    TimerFired(TimerFired) = "timer_fired",
    SignalRequested(SignalRequested) = "signal_requested",
    SignalReceived(SignalReceived) = "signal_received",
    SignalSent(SignalSent) = "signal_sent",
    ParallelStarted(Group) = "parallel_started",
    ParallelCompleted(Group) = "parallel_completed",
    ChildStarted(ChildStarted) = "child_started",
    ChildCompleted(ChildCompleted) = "child_completed",
    ChildFailed(ChildFailed) = "child_failed",
    Marker(Marker) = "marker",
    Log(Log) = "log",
    Paused(Note) = "paused",
    Resumed(Note) = "resumed",
    Patched(Patched) = "patched",
    Forked(Forked) = "forked",
    PatchAdopted(PatchAdopted) = "patch_adopted",
    PatchRefused(PatchRefused) = "patch_refused",
    NodeConsumed(NodeToken) = "node_consumed",
    NodeEmitted(NodeToken) = "node_emitted",
    ApprovalCreated(ApprovalCreated) = "approval_created",
    ApprovalEscalated(ApprovalEscalated) = "approval_escalated",
    /// A decision by a message, or by the run itself when the wait timed out or was called off.
    ApprovalDecided(ApprovalDecided) = "approval_decided",
    ConditionEvaluated(ConditionEvaluated) = "condition_evaluated",
    Warning(Warning) = "warning",
}

/// Content of a row without data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

/// The run completed with this output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    pub output: Payload,
}

/// The run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub failure: Failure,
}

/// Reason an operator gave for a pause or a resume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// An operator reopened a run that had ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reopened {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// New time limit in milliseconds, counted from the reopening.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
}

/// The run requested a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepScheduled {
    pub task: CommandId,
    pub name: String,
    /// Text shown to people beside the task's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Index, from 0, of the list item this task works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    pub queue: String,
    pub input: Payload,
}

/// An attempt of a task failed; the next one starts at `next_at`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRetrying {
    pub task: CommandId,
    pub attempt: u32,
    pub failure: Failure,
    pub next_at: Timestamp,
}

/// The run started a timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerScheduled {
    pub timer: CommandId,
    pub fire_at: Timestamp,
    /// Text shown to people in place of the number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The run began to wait for a signal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRequested {
    pub name: String,
    /// Text shown to people beside the signal's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// The run sent a signal to another run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSent {
    pub signal: CommandId,
    pub to: RunId,
    pub name: String,
}

/// A group of commands that run in parallel started or completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub group: CommandId,
    pub members: Vec<CommandId>,
}

/// The run started a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildStarted {
    pub child: CommandId,
    pub run: RunId,
    pub workflow: String,
    /// Text shown to people beside the workflow's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Index, from 0, of the list item this child works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    pub input: Payload,
}

/// A named point in the history, set by the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    pub name: String,
    #[serde(default)]
    pub data: Payload,
}

/// A log line of the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    pub message: String,
    #[serde(default)]
    pub data: Payload,
}

/// The run was forked from another one, whose history up to `at_seq` it starts with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    pub from: RunId,
    pub at_seq: u64,
}

/// One token that a node consumed or emitted, with the run's token counter before and after. `from` and `to`
/// of the emitted tokens, in row order, are the path of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeToken {
    /// Token number: 1, 2, 3 ... within its run.
    pub token: u64,
    /// Absent for the tokens a run begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub to: String,
    /// Number of nodes on the token's path so far.
    pub hop: u32,
    /// `emit:<token>` or `consume:<token>`, unique within a run.
    pub op_key: String,
    pub counter_before: u64,
    pub counter_after: u64,
    /// For a consumed token: the first of the tokens that its node consumed together, so each execution has
    /// one number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u64>,
    /// For a consumed token: the command that the node issued, if any. The answer has a row of its own
    /// (`task:<command>`); the tokens emitted together with this row carry that answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
    /// For the first token emitted with a value that the run computed itself: that value, which no other row
    /// holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// A run adopted a patch and continues with another graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchAdopted {
    /// Author of the patch: `user:ann` or `agent:<node>`.
    pub author: String,
    pub reason: String,
    pub operations: Payload,
    /// Patch that undoes this one when applied to the patched document.
    pub inverse: Payload,
}

/// A run refused a patch and keeps its graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchRefused {
    pub author: String,
    /// Reason given for the patch.
    pub reason: String,
    pub operations: Payload,
    pub code: String,
    /// Reason for the refusal.
    pub message: String,
}

/// The run asked people for a decision.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalCreated {
    pub approval: CommandId,
    pub node: String,
    #[serde(default)]
    pub approvers: Vec<String>,
    #[serde(default)]
    pub payload: Payload,
    /// Number of times the node has asked, this time included. Absent where a node asks once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u32>,
    /// Time at which the run stops waiting for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_ui_url: Option<String>,
}

/// An approval was escalated: from now on these approvers decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalEscalated {
    pub approval: CommandId,
    pub approvers: Vec<String>,
}

/// A condition of a node was evaluated. `reason` says why it could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionEvaluated {
    pub node: String,
    pub condition: String,
    pub result: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A warning for operators. It does not change the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub code: String,
    pub message: String,
}

impl EventData {
    /// Returns the row's data as JSON text.
    pub fn to_json(&self) -> String {
        // Externally tagged: {"<type>":<data>}. The data is the text between the first colon and the last
        // brace.
        let tagged = serde_json::to_string(self).expect("events always serialise");
        tagged[self.kind().len() + 4..tagged.len() - 1].to_owned()
    }

    /// Builds the row content from [`Self::kind`] and [`Self::to_json`]. Fails for an unknown type and for
    /// data that does not fit the type.
    pub fn from_parts(kind: &str, data: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&format!("{{\"{kind}\":{data}}}"))
    }

    /// Drops the item number when the written row has none, because it was written before list items were
    /// numbered. Replay compares the two rows.
    pub fn as_old_as(mut self, written: &Self) -> Self {
        match (&mut self, written) {
            (Self::StepScheduled(own), Self::StepScheduled(row)) if row.item.is_none() => own.item = None,
            (Self::ChildStarted(own), Self::ChildStarted(row)) if row.item.is_none() => own.item = None,
            _ => {}
        }
        self
    }

    /// Returns the history row of a consumed message.
    pub fn of_message(body: &MessageBody) -> Self {
        match body.clone() {
            MessageBody::Start(body) => Self::WorkflowStarted(body),
            MessageBody::TaskCompleted(body) => Self::StepCompleted(body),
            MessageBody::TaskFailed(body) => Self::StepFailed(body),
            MessageBody::TimerFired(body) => Self::TimerFired(body),
            MessageBody::Signal(body) => Self::SignalReceived(body),
            MessageBody::ChildCompleted(body) => Self::ChildCompleted(body),
            MessageBody::ChildFailed(body) => Self::ChildFailed(body),
            MessageBody::Cancel(body) => Self::CancelRequested(body),
            MessageBody::DeadlineReached => Self::DeadlineReached(Nothing {}),
            MessageBody::ApprovalDecided(body) => Self::ApprovalDecided(body),
            MessageBody::Patch(body) => Self::Patched(body),
            MessageBody::Compensate(body) => Self::CompensationRequested(body),
            MessageBody::Replay(body) => Self::ReplayRequested(body),
            MessageBody::VersionChanged(body) => Self::VersionChanged(body),
        }
    }
}

impl Event {
    /// Returns the message this row records, or `None` when the row records no message.
    pub fn to_message(&self) -> Option<Message> {
        let body = match self.data.clone() {
            EventData::WorkflowStarted(body) => MessageBody::Start(body),
            EventData::StepCompleted(body) => MessageBody::TaskCompleted(body),
            EventData::StepFailed(body) => MessageBody::TaskFailed(body),
            EventData::TimerFired(body) => MessageBody::TimerFired(body),
            EventData::SignalReceived(body) => MessageBody::Signal(body),
            EventData::ChildCompleted(body) => MessageBody::ChildCompleted(body),
            EventData::ChildFailed(body) => MessageBody::ChildFailed(body),
            EventData::CancelRequested(body) => MessageBody::Cancel(body),
            EventData::DeadlineReached(_) => MessageBody::DeadlineReached,
            EventData::ApprovalDecided(body) => MessageBody::ApprovalDecided(body),
            EventData::Patched(body) => MessageBody::Patch(body),
            EventData::CompensationRequested(body) => MessageBody::Compensate(body),
            EventData::ReplayRequested(body) => MessageBody::Replay(body),
            EventData::VersionChanged(body) => MessageBody::VersionChanged(body),
            _ => return None,
        };
        Some(Message {
            id: self.message.clone()?,
            at: self.at,
            actor: self.actor.clone(),
            trace: self.trace.clone(),
            body,
        })
    }

    /// Returns why the run ended without its program, when this row is the warning that records it.
    pub fn why_without_program(&self) -> Option<&str> {
        match &self.data {
            EventData::Warning(warning) if warning.code == codes::ENDED_WITHOUT_PROGRAM => {
                Some(&warning.message)
            }
            _ => None,
        }
    }
}

/// JSON form of an event: `type` and `data` beside its other fields.
mod flat {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
    use serde_json::value::RawValue;

    use super::EventData;

    #[derive(Serialize)]
    struct Out<'a> {
        r#type: &'a str,
        data: serde_json::Value,
    }

    #[derive(Deserialize)]
    struct In {
        r#type: String,
        data: serde_json::Value,
    }

    pub fn serialize<S: Serializer>(event: &EventData, serializer: S) -> Result<S::Ok, S::Error> {
        let data = serde_json::from_str(&event.to_json()).unwrap_or_default();
        Out { r#type: event.kind(), data }.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EventData, D::Error> {
        let parts = In::deserialize(deserializer)?;
        let data: Box<RawValue> = serde_json::value::to_raw_value(&parts.data).map_err(D::Error::custom)?;
        EventData::from_parts(&parts.r#type, data.get()).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_and_data_come_back() {
        let event = EventData::StepScheduled(StepScheduled {
            task: CommandId(3),
            name: "charge".into(),
            queue: "default".into(),
            label: None,
            item: None,
            input: Payload::parse("{\"$blob\": [1.0]}".into()).unwrap(),
        });
        let json = event.to_json();
        assert_eq!(
            json,
            r#"{"task":3,"name":"charge","queue":"default","input":{"$json":{"$blob": [1.0]}}}"#
        );
        assert_eq!(EventData::from_parts(event.kind(), &json).unwrap(), event);
    }

    #[test]
    fn an_unknown_type_is_refused() {
        assert!(EventData::from_parts("step_teleported", "{}").is_err());
    }

    #[test]
    fn the_names_of_the_table_are_those_of_the_enum() {
        for kind in EventData::TYPES {
            // A wrong body gives another error than an unknown variant.
            let error = EventData::from_parts(kind, "true").unwrap_err().to_string();
            assert!(!error.contains("unknown variant"), "{kind}: {error}");
        }
    }

    #[test]
    fn an_event_shows_its_type_and_data_in_json() {
        let event = Event {
            seq: 1,
            at: Timestamp(5),
            cause: None,
            message: Some(MessageId::start()),
            actor: Actor::system(),
            trace: None,
            data: EventData::WorkflowStarted(Start { input: Payload::null() }),
        };
        let json = serde_json::to_string(&event).unwrap();
        assert_eq!(
            json,
            r#"{"seq":1,"at":5,"message":"start","actor":"system","type":"workflow_started","data":{"input":null}}"#
        );
        assert_eq!(serde_json::from_str::<Event>(&json).unwrap(), event);
        assert_eq!(event.to_message().unwrap().body, MessageBody::Start(Start { input: Payload::null() }));
    }
}
