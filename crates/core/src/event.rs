//! The history of a run: messages it consumed and what they caused, one row each.

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
    /// 1, 2, 3 ... without gaps.
    pub seq: u64,
    pub at: Timestamp,
    /// The row of the message that caused this one; absent for messages and for what operators do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// Set when this row is a consumed message.
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
        /// What happened. The variant's name in snake case is the row's type, its content the row's data.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum EventData {
            $($(#[$doc])* $variant($body),)*
        }

        impl EventData {
            /// Every type a history can hold.
            pub const TYPES: &'static [&'static str] = &[$($name),*];

            /// The row's type.
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
    /// One attempt of many; listed with the history, never part of the fold.
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
    /// A message, or what the run itself decided when nobody did.
    ApprovalDecided(ApprovalDecided) = "approval_decided",
    ConditionEvaluated(ConditionEvaluated) = "condition_evaluated",
    Warning(Warning) = "warning",
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nothing {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    pub output: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub failure: Failure,
}

/// What an operator did to a run, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// A run that had ended goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reopened {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// It ends after this time again, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepScheduled {
    pub task: CommandId,
    pub name: String,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The item of a list it is about, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    pub queue: String,
    pub input: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRetrying {
    pub task: CommandId,
    pub attempt: u32,
    pub failure: Failure,
    pub next_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerScheduled {
    pub timer: CommandId,
    pub fire_at: Timestamp,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalRequested {
    pub name: String,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignalSent {
    pub signal: CommandId,
    pub to: RunId,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    pub group: CommandId,
    pub members: Vec<CommandId>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildStarted {
    pub child: CommandId,
    pub run: RunId,
    pub workflow: String,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The item of a list it is about, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    pub input: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marker {
    pub name: String,
    #[serde(default)]
    pub data: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    pub message: String,
    #[serde(default)]
    pub data: Payload,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    pub from: RunId,
    pub at_seq: u64,
}

/// One token a node took or gave, with the run's counter before and after. `from` and `to` of the emitted ones, in the
/// order of their rows, are the path of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeToken {
    /// 1, 2, 3 ... within its run.
    pub token: u64,
    /// Absent for those a run begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub to: String,
    /// How many nodes its path has behind it.
    pub hop: u32,
    /// `emit:<token>` or `consume:<token>`: no run has two rows with the same.
    pub op_key: String,
    pub counter_before: u64,
    pub counter_after: u64,
    /// Of a consumed one: the first token of those its node took together, so one execution has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u64>,
    /// Of a consumed one: what the node had asked for, when it asked for anything. The answer to that is in a row of its own
    /// (`task:<command>`), and is what the tokens carry that were emitted with this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
    /// Of the first one that was emitted with a value the run has made itself: that value, which stands nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// A run goes on with another graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchAdopted {
    /// Who asked for it: `user:ann`, `agent:<node>`.
    pub author: String,
    pub reason: String,
    pub operations: Payload,
    /// What undoes it, as a patch of the patched document.
    pub inverse: Payload,
}

/// A run goes on as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatchRefused {
    pub author: String,
    /// Why it was asked for.
    pub reason: String,
    pub operations: Payload,
    pub code: String,
    /// Why it was refused.
    pub message: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalCreated {
    pub approval: CommandId,
    pub node: String,
    #[serde(default)]
    pub approvers: Vec<String>,
    #[serde(default)]
    pub payload: Payload,
    /// How often the node has asked, this time included; absent where a node asks once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visit: Option<u32>,
    /// When the run stops waiting for an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_ui_url: Option<String>,
}

/// Others may decide from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalEscalated {
    pub approval: CommandId,
    pub approvers: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionEvaluated {
    pub node: String,
    pub condition: String,
    pub result: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub code: String,
    pub message: String,
}

impl EventData {
    /// The row's data as JSON text.
    pub fn to_json(&self) -> String {
        // Externally tagged: {"<type>":<data>}; the data is what stands between the first colon and the end.
        let tagged = serde_json::to_string(self).expect("events always serialise");
        tagged[self.kind().len() + 4..tagged.len() - 1].to_owned()
    }

    /// The inverse of [`Self::kind`] and [`Self::to_json`]. An unknown type is an error, never dropped.
    pub fn from_parts(kind: &str, data: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(&format!("{{\"{kind}\":{data}}}"))
    }

    /// Leaves out what a row did not have that was written before the items of lists were numbered.
    pub fn as_old_as(mut self, written: &Self) -> Self {
        match (&mut self, written) {
            (Self::StepScheduled(own), Self::StepScheduled(row)) if row.item.is_none() => own.item = None,
            (Self::ChildStarted(own), Self::ChildStarted(row)) if row.item.is_none() => own.item = None,
            _ => {}
        }
        self
    }

    /// The history row of a consumed message.
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
    /// The message this row remembers, when it is one.
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

    /// Why the program took no part in the end of the run, on the row that says so.
    pub fn why_without_program(&self) -> Option<&str> {
        match &self.data {
            EventData::Warning(warning) if warning.code == codes::ENDED_WITHOUT_PROGRAM => {
                Some(&warning.message)
            }
            _ => None,
        }
    }
}

/// In JSON an event shows `type` and `data` beside its other fields.
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
            // A wrong body is another error than an unknown variant.
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
