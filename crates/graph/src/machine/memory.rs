//! The state of a run between messages. Nodes are named by id, because a patch may change their index.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use rhythm_core::command::Command;
use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_core::payload::{BlobRef, Payload};
use rhythm_core::program::{ProgramError, Snapshot};
use rhythm_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::approval::Question;
use super::filter::Sifting;
use super::parallel::Fan;
use super::route::Routing;
use super::values::{Moved, ValueId, Values};
use crate::ir::Graph;

/// Snapshot format this build writes.
pub const FORMAT: u32 = 2;
/// Oldest snapshot format this build reads.
const OLDEST: u32 = 1;

pub type NodeId = Arc<str>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub stage: Stage,
    /// Number of the last command.
    pub commands: u64,
    /// Number of the last token, which equals the tokens ever emitted.
    pub tokens: u64,
    /// Tokens emitted and not consumed.
    pub counter: u64,
    /// The run's inputs.
    pub inputs: ValueId,
    /// Tokens not consumed yet, in order. Between messages there are some only when one step was not enough.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    pub queued: VecDeque<Token>,
    /// Tokens at joins, in order of arrival.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parked: BTreeMap<NodeId, Vec<Token>>,
    /// Visits that have not ended, by the number of their first token.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub open: BTreeMap<u64, Visit>,
    /// Number of passes of each loop in progress.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub passes: BTreeMap<NodeId, u32>,
    /// Number of approvals each node has requested.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub asked: BTreeMap<NodeId, u32>,
    /// Patches that agents sent on their own, by the approval that decides whether to adopt them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub proposals: BTreeMap<CommandId, Proposal>,
    /// Output of each node from the last time it ended.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub done: BTreeMap<NodeId, Done>,
    /// Nodes at which a path has ended.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub ends: BTreeSet<NodeId>,
    /// Work that can be undone, in the order it was done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undo: Vec<Undo>,
    pub values: Values,
    /// Timer for the run's time limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<CommandId>,
    /// Timer that fires at once, so that the queued tokens continue in another step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub more: Option<CommandId>,
    /// Id of the last message from outside that was consumed, to detect a repeated delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_outside: Option<String>,
    /// Replaces the program's graph after a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub patched: Option<Box<Patched>>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Nothing has happened yet.
    #[default]
    Fresh,
    Running,
    Undoing(Box<Undoing>),
    Ended,
}

/// A token that flows between nodes. Its number is its id within the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Token {
    pub id: u64,
    /// Absent for the tokens a run begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<NodeId>,
    pub to: NodeId,
    pub hop: u32,
    pub at: Timestamp,
    pub value: ValueId,
}

/// One execution of a node: the tokens it took, and what it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Visit {
    pub node: NodeId,
    /// Contains at least one token.
    pub tokens: Vec<Token>,
    /// The tokens were joined, so the input is `{dependency: output}`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub joined: bool,
    /// The tokens are no longer counted: a node consumes them before it asks a person.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub consumed: bool,
    pub since: Timestamp,
    /// Its config as resolved when it began, kept for a retry of a child or for compensation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<ValueId>,
    pub wait: Wait,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wait {
    /// The visit has just begun.
    Nothing,
    Task(CommandId),
    Child {
        child: CommandId,
        /// Fires when the child has taken too long.
        timer: Option<CommandId>,
        /// Number of this attempt, from 1.
        attempt: u32,
    },
    /// Waits before a child is retried.
    Pause {
        timer: CommandId,
        attempt: u32,
    },
    Timer(CommandId),
    /// A delay longer than the node's time limit. The timer fires at that limit.
    InVain(CommandId),
    Signal {
        signal: CommandId,
        name: String,
        timer: Option<CommandId>,
    },
    Fan(Fan),
    Person(Question),
    /// A sandbox decides whether one of the items is kept.
    Sifting(Sifting),
    /// The visit has its result; a sandbox decides where it goes.
    Routing(Routing),
    /// The limit of concurrent tasks of its type is reached.
    Turn,
    /// The visit has failed and begins again when an operator says so.
    Held {
        held: CommandId,
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    pub value: ValueId,
    pub completed_at: Timestamp,
    pub duration_ms: u64,
    pub attempt: u32,
}

/// A patch that waits for a person's decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The agent's node.
    pub node: NodeId,
    /// `{operations, reason}`
    pub patch: ValueId,
}

/// A result with a compensator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    pub node: NodeId,
    pub value: ValueId,
    /// The node's config at that time. Absent when its compensator was added later, or when an older build
    /// wrote the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<ValueId>,
}

/// Compensation in progress: the work is undone in reverse order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undoing {
    /// Absent when the run was cancelled or had completed.
    pub failure: Option<Failure>,
    /// The run had completed, and completes again afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completed: bool,
    /// The compensator that is running.
    pub task: CommandId,
    pub node: NodeId,
    /// The result that it undoes, and the config of that visit.
    pub value: ValueId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<ValueId>,
    /// Work that could not be undone, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<(NodeId, Failure)>,
    /// The same work, kept for a later request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<Undo>,
}

/// The document and graph after a patch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Patched {
    pub document: Value,
    pub graph: Graph,
}

impl Memory {
    /// Returns the memory from before the message.
    pub fn before(snapshot: Option<&Snapshot>) -> Result<Self, ProgramError> {
        snapshot.map_or_else(|| Ok(Self::default()), Self::load)
    }

    pub fn load(snapshot: &Snapshot) -> Result<Self, ProgramError> {
        if !(OLDEST..=FORMAT).contains(&snapshot.format) {
            return Err(ProgramError::UnknownFormat { found: snapshot.format, known: FORMAT });
        }
        serde_json::from_slice(snapshot.open()?).map_err(|error| ProgramError::BadSnapshot(error.to_string()))
    }

    /// Drops unused values, moves large ones to blobs when there are many, and returns the snapshot with the
    /// moved contents.
    pub fn save(&mut self) -> (Snapshot, Moved) {
        let named = self.named();
        self.values.keep(&named);
        let moved = self.values.make_room();
        (Snapshot::seal(FORMAT, serde_json::to_vec(self).expect("memory always serialises")), moved)
    }

    /// Calls `found` with every blob the snapshot refers to.
    pub fn each_blob(&self, found: &mut impl FnMut(&BlobRef)) {
        self.values.blobs().for_each(&mut *found);
        let mut failures: Vec<&Failure> = Vec::new();
        if let Stage::Undoing(undoing) = &self.stage {
            failures.extend(undoing.failure.iter().chain(undoing.left.iter().map(|(_, failure)| failure)));
        }
        for visit in self.open.values() {
            if let Wait::Fan(fan) = &visit.wait {
                failures.extend(fan.failures());
                fan.stored().for_each(&mut *found);
            }
        }
        for payload in
            failures.iter().flat_map(|failure| failure.data.iter().chain(failure.fields.as_deref()))
        {
            if let Payload::Blob(blob) = payload {
                found(blob);
            }
        }
    }

    fn named(&self) -> BTreeSet<ValueId> {
        let visited = self.open.values().flat_map(|visit| &visit.tokens);
        let tokens = self.queued.iter().chain(self.parked.values().flatten()).chain(visited);
        let mut named: BTreeSet<ValueId> = tokens.map(|token| token.value).collect();
        named.insert(self.inputs);
        named.extend(self.done.values().map(|done| done.value));
        named.extend(self.proposals.values().map(|proposal| proposal.patch));
        let mut undo: Vec<&Undo> = self.undo.iter().collect();
        if let Stage::Undoing(undoing) = &self.stage {
            named.insert(undoing.value);
            named.extend(undoing.config);
            undo.extend(&undoing.again);
        }
        for undo in undo {
            named.insert(undo.value);
            named.extend(undo.config);
        }
        for visit in self.open.values() {
            named.extend(visit.config);
            match &visit.wait {
                Wait::Fan(fan) => named.extend(fan.values()),
                Wait::Routing(routing) => drop(named.insert(routing.value)),
                Wait::Sifting(sifting) => named.extend(sifting.values()),
                Wait::Person(question) => named.extend(question.value()),
                _ => {}
            }
        }
        named
    }

    /// Clears the memory of an ended run, except the counters that the history is checked against: a
    /// cancelled run leaves tokens. A run whose work can still be undone keeps everything needed for that.
    pub fn end(&mut self) {
        if !self.undo.is_empty() {
            self.stage = Stage::Ended;
            (self.wall, self.more) = (None, None);
            self.passes.clear();
            self.asked.clear();
            return;
        }
        let (commands, tokens, counter) = (self.commands, self.tokens, self.counter);
        *self = Self { stage: Stage::Ended, commands, tokens, counter, ..Self::default() };
    }

    /// Returns whether the run has no tokens, visits or proposals left.
    pub fn is_idle(&self) -> bool {
        self.queued.is_empty() && self.parked.is_empty() && self.open.is_empty() && self.proposals.is_empty()
    }

    /// Returns the `parallel` node that waits for this command.
    pub fn fan_of(&self, command: CommandId) -> Option<&Fan> {
        self.open.values().find_map(|visit| match &visit.wait {
            Wait::Fan(fan) if fan.open.contains_key(&command) => Some(fan),
            _ => None,
        })
    }

    /// Returns the number of tasks and children under way.
    pub fn under_way(&self) -> usize {
        let under_way = |wait: &Wait| match wait {
            Wait::Fan(fan) => fan.open.len(),
            Wait::Task(_) | Wait::Child { .. } | Wait::Routing(_) | Wait::Sifting(_) => 1,
            _ => 0,
        };
        self.open.values().map(|visit| under_way(&visit.wait)).sum()
    }

    /// Returns the visit that waits for this command.
    pub fn visit_of(&self, command: CommandId) -> Option<u64> {
        self.open.iter().find(|(_, visit)| visit.wait.awaits(command)).map(|(number, _)| *number)
    }
}

impl Wait {
    pub fn awaits(&self, command: CommandId) -> bool {
        match self {
            // Most visits wait for a task, and this is called for each of them, so this case avoids a list.
            Self::Task(task) => *task == command,
            Self::Fan(fan) => fan.awaits(command),
            wait => wait.commands().contains(&command),
        }
    }

    /// Returns every command number that it expects an answer for.
    pub fn commands(&self) -> Vec<CommandId> {
        let some = |first: CommandId, second: &Option<CommandId>| {
            std::iter::once(first).chain(*second).collect::<Vec<_>>()
        };
        match self {
            Self::Nothing | Self::Turn => Vec::new(),
            Self::Task(task) => vec![*task],
            Self::Timer(timer) | Self::InVain(timer) => vec![*timer],
            Self::Child { child, timer, .. } => some(*child, timer),
            Self::Pause { timer, .. } => vec![*timer],
            Self::Signal { signal, timer, .. } => some(*signal, timer),
            Self::Fan(fan) => fan.open.keys().copied().chain(fan.timers()).collect(),
            Self::Person(question) => question.commands(),
            Self::Routing(routing) => vec![routing.task],
            Self::Sifting(sifting) => vec![sifting.task],
            Self::Held { held, .. } => vec![*held],
        }
    }

    pub fn timers(&self) -> Vec<CommandId> {
        match self {
            Self::Timer(timer) | Self::InVain(timer) | Self::Pause { timer, .. } => vec![*timer],
            Self::Fan(fan) => fan.timers().collect(),
            Self::Child { timer, .. } | Self::Signal { timer, .. } => timer.iter().copied().collect(),
            Self::Person(question) => question.timers().collect(),
            Self::Nothing
            | Self::Turn
            | Self::Task(_)
            | Self::Sifting(_)
            | Self::Routing(_)
            | Self::Held { .. } => Vec::new(),
        }
    }

    /// Returns the commands that cancel the tasks and children it waits for.
    pub fn stops(&self) -> Vec<Command> {
        match self {
            Self::Task(task) => vec![Command::CancelTask(*task)],
            Self::Routing(routing) => vec![Command::CancelTask(routing.task)],
            Self::Sifting(sifting) => vec![Command::CancelTask(sifting.task)],
            Self::Child { child, .. } => vec![Command::CancelChild(*child)],
            Self::Fan(fan) => fan.stops(),
            Self::Nothing
            | Self::Turn
            | Self::Timer(_)
            | Self::InVain(_)
            | Self::Pause { .. }
            | Self::Signal { .. }
            | Self::Person(_)
            | Self::Held { .. } => Vec::new(),
        }
    }
}
