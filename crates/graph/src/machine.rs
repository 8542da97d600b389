//! The interpreter of graphs. Reads a snapshot, applies one message, moves tokens until every node waits or
//! no token is left, and writes a snapshot. Consuming tokens, the result of a node and its emitted tokens are
//! always one transition.

mod adopt_patch;
mod aggregate;
mod approval;
mod child;
mod consume;
mod decide;
mod execute;
mod fan_store;
mod figures;
mod filter;
mod inspect;
mod join;
mod look;
mod memory;
mod outcome;
mod parallel;
mod plan;
mod route;
mod session;
mod take_over;
mod token;
mod typed;
mod undo;
mod values;
mod verify_tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use rhythm_core::command::{Command, TimerSpec};
use rhythm_core::event::EventData;
use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_core::message::{MessageBody, VersionChanged};
use rhythm_core::payload::BlobRef;
use rhythm_core::program::{Program, ProgramError, Progress, Session, Snapshot, Step, StepInput, Transition};
use rhythm_core::run::{Blocked, Compensation};
use rhythm_core::time::Timestamp;
use serde_json::Value;

use super::condition::Conditions;
use super::document;
use super::ir::{Graph, NodeIndex};
use super::node_type::Registry;
use super::patch::{self, Compiler};

pub(super) use aggregate::impossible_figures;
pub(super) use execute::impossible_delay;
pub use inspect::{TakenBack, Waiting, WaitingFor};
pub use memory::FORMAT;
use memory::{Memory, Stage, Visit, Wait};
use plan::Plan;
use session::GraphSession;
use values::{Moved, ValueId};
pub use verify_tokens::{Miscount, recount};

/// Failure codes of runs of graphs, besides `node_failed:<id>`.
pub mod codes {
    pub const NODE_FAILED: &str = "node_failed";
    /// Followed by `:<id>`: a condition of the node could not be evaluated, and the node has
    /// `on_condition_error: fail`.
    pub const CONDITION_ERROR: &str = "condition_error";
    pub const UNAUTHORIZED_ROUTE: &str = "unauthorized_route";
    pub const MAX_HOPS: &str = "exceeded_max_hops";
    pub const MAX_FANOUT: &str = "exceeded_max_fanout";
    pub const MAX_BYTES: &str = "exceeded_max_bytes";
    pub const DEADLINE: &str = "deadline_exceeded";
    /// Type of a node's failure: its config refers to a missing value.
    pub const UNRESOLVABLE: &str = "unresolvable_reference";
    /// Type of a node's failure: its config asks for something no node can do.
    pub const BAD_CONFIG: &str = "bad_config";
    /// Type of a node's failure: its registered type does not accept this input.
    pub const BAD_INPUT: &str = "bad_input";
    /// Type of a node's failure: its registered type does not allow this output.
    pub const BAD_OUTPUT: &str = "bad_output";
    /// Type of a node's failure: no person answered in time.
    pub const APPROVAL_TIMEOUT: &str = "approval_timeout";
    /// Some work could not be undone. A warning, and the failure of a run that had not failed before.
    pub const COMPENSATION_FAILED: &str = "compensation_failed";

    /// Returns the node that a run failed at, from the failure's code.
    pub fn failed_node(code: &str) -> Option<&str> {
        let (what, node) = code.split_once(':')?;
        [NODE_FAILED, CONDITION_ERROR].contains(&what).then_some(node)
    }
}

/// A compiled graph, ready to be stepped.
#[derive(Clone)]
pub struct GraphProgram {
    plan: Arc<Plan>,
    /// The document that patches apply to.
    document: Arc<Value>,
    compile: Compiler,
    /// Compiled conditions of this graph. Conditions that a patch leaves unchanged are not compiled again.
    conditions: Conditions,
}

impl fmt::Debug for GraphProgram {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_tuple("GraphProgram").field(&self.plan.graph).finish()
    }
}

impl GraphProgram {
    /// Creates a program from a compiled graph, the document it was compiled from, and the compiler for
    /// patched documents. Fails when the graph cannot be prepared.
    pub fn new(graph: Graph, document: Value, compile: Compiler) -> Result<Self, ProgramError> {
        let mut conditions = Conditions::default();
        let plan = Arc::new(Plan::new(graph, &mut conditions)?);
        Ok(Self { plan, document: Arc::new(document), compile, conditions })
    }

    /// Reads a stored graph and its source. Patches may use the types of the registry and those the graph
    /// uses. Fails with `BadDefinition` when either cannot be read.
    pub fn load(compiled: &[u8], source: &str, registry: &Registry) -> Result<Self, ProgramError> {
        let graph: Graph = serde_json::from_slice(compiled)
            .map_err(|error| ProgramError::BadDefinition(error.to_string()))?;
        let document = document::read(source).map_err(|wrong| ProgramError::BadDefinition(wrong.title))?;
        Self::new(graph, document.to_json(), patch::compiler(registry.clone()))
    }

    pub fn graph(&self) -> &Graph {
        &self.plan.graph
    }

    /// Returns the plan a run uses: its own after a patch, else the program's. Fails when the snapshot names
    /// a node that the plan lacks.
    fn plan_of(&self, memory: &Memory) -> Result<Arc<Plan>, ProgramError> {
        let plan = match &memory.patched {
            Some(patched) => Arc::new(Plan::new(patched.graph.clone(), &mut self.conditions.clone())?),
            None => self.plan.clone(),
        };
        let visited = memory.open.values().map(|visit| &visit.node);
        let tokens = memory.queued.iter().chain(memory.parked.values().flatten());
        match visited.chain(tokens.map(|token| &token.to)).find(|node| plan.place(node).is_none()) {
            Some(lost) => Err(ProgramError::BadSnapshot(format!("there is no node {lost}"))),
            None => Ok(plan),
        }
    }

    fn machine<'a>(&'a self, input: StepInput<'a>) -> Result<Machine<'a>, ProgramError> {
        let memory = Memory::before(input.snapshot)?;
        let plan = self.plan_of(&memory)?;
        Ok(Machine::with(self, plan, input, memory))
    }
}

impl Program for GraphProgram {
    fn step(&self, input: StepInput<'_>) -> Result<Step, ProgramError> {
        let mut machine = self.machine(input)?;
        Ok(match machine.consume() {
            Ok(None) => Step::Transition(machine.unchanged()),
            Ok(Some(progress)) => Step::Transition(machine.finish(progress)),
            Err(Stop::NeedBlobs(blobs)) => Step::NeedBlobs(blobs),
            Err(Stop::Failed(failure)) => machine.fail(*failure)?,
        })
    }

    fn give_up(&self, input: StepInput<'_>, failure: &Failure) -> Result<Option<Step>, ProgramError> {
        if input.snapshot.is_none() {
            return Ok(None);
        }
        let machine = self.machine(input)?;
        match machine.memory.stage {
            Stage::Running if !machine.memory.undo.is_empty() => machine.fail(failure.clone()).map(Some),
            _ => Ok(None),
        }
    }

    fn blob_refs(&self, snapshot: &Snapshot) -> Result<Vec<BlobRef>, ProgramError> {
        let mut found = BTreeSet::new();
        Memory::load(snapshot)?.each_blob(&mut |blob| {
            found.insert(blob.clone());
        });
        Ok(found.into_iter().collect())
    }

    fn take_over(
        &self,
        before: &dyn Program,
        input: StepInput<'_>,
        _: &VersionChanged,
    ) -> Result<Step, ProgramError> {
        match before.as_any().downcast_ref::<Self>() {
            Some(before) => self.takes_over(before, input),
            None => {
                let message = "the other version is no graph".to_owned();
                Err(ProgramError::Misfit { code: "other_kind".to_owned(), message })
            }
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn session<'a>(&'a self, snapshot: &Snapshot) -> Option<Box<dyn Session + 'a>> {
        Some(Box::new(GraphSession::open(self, snapshot)?))
    }
}

/// Reasons that a transition stops.
enum Stop {
    /// The run fails.
    Failed(Box<Failure>),
    /// The transition needs the contents of these blobs.
    NeedBlobs(Vec<BlobRef>),
}

type Stopped<T = ()> = Result<T, Stop>;

impl Stop {
    fn failed<T>(code: &str, message: impl Into<String>) -> Stopped<T> {
        Err(Self::Failed(Box::new(Failure::permanent(code, message))))
    }
}

/// One transition in progress.
struct Machine<'a> {
    program: &'a GraphProgram,
    plan: Arc<Plan>,
    input: StepInput<'a>,
    memory: Memory,
    /// Values decoded in this transition.
    read: BTreeMap<ValueId, Arc<Value>>,
    /// Number of nodes begun in this step.
    begun: usize,
    /// A visit whose work is done but whose target the run's limits or permissions refuse.
    unrouted: Option<Visit>,
    /// The compensation mark that the run keeps after it has ended.
    mark: Option<&'static str>,
    commands: Vec<Command>,
    events: Vec<EventData>,
    /// Contents that the events refer to.
    blobs: Moved,
}

impl<'a> Machine<'a> {
    fn with(program: &'a GraphProgram, plan: Arc<Plan>, input: StepInput<'a>, memory: Memory) -> Self {
        let (read, commands, events, blobs) = (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
        let (begun, unrouted, mark) = (0, None, None);
        Self { program, plan, input, memory, read, begun, unrouted, mark, commands, events, blobs }
    }
}

impl Machine<'_> {
    /// Returns the transition for a message that has no effect on this run.
    fn unchanged(mut self) -> Transition {
        match self.input.snapshot {
            Some(snapshot) => {
                let awaiting = self.awaiting();
                self.transition(snapshot.clone(), awaiting, Progress::Waiting)
            }
            None => self.finish(Progress::Waiting),
        }
    }

    fn finish(mut self, progress: Progress) -> Transition {
        if matches!(progress, Progress::Completed(_)) {
            self.memory.end();
        }
        let awaiting = self.awaiting();
        let (snapshot, mut blobs) = self.memory.save();
        blobs.append(&mut self.blobs);
        Transition { blobs, ..self.transition(snapshot, awaiting, progress) }
    }

    /// Ends the transition with a failure. If some work can be undone, compensation starts first. Otherwise
    /// the state from before the message is restored, and an operator who reopens the run delivers the
    /// message again.
    fn fail(mut self, mut failure: Failure) -> Result<Step, ProgramError> {
        let before = Memory::before(self.input.snapshot)?;
        if !self.memory.undo.is_empty() {
            match self.begin_undo(&before, Some(failure)) {
                Ok(Progress::Failed(untouched)) => failure = untouched,
                Ok(progress) => return Ok(Step::Transition(self.finish(progress))),
                Err(Stop::NeedBlobs(blobs)) => return Ok(Step::NeedBlobs(blobs)),
                Err(Stop::Failed(other)) => failure = *other,
            }
        }
        (self.memory, self.mark) = (before, None);
        self.commands.clear();
        self.blobs.clear();
        self.events.retain(|event| match event {
            EventData::ConditionEvaluated(_) | EventData::Warning(_) => true,
            // A decision by timeout stays recorded whatever the outcome.
            EventData::ApprovalDecided(decided) => {
                decided.decision == approval::TIMEOUT || approval::is_automatic(decided)
            }
            _ => false,
        });
        Ok(Step::Transition(self.finish(Progress::Failed(failure))))
    }

    fn transition(
        &mut self,
        snapshot: Snapshot,
        awaiting: BTreeSet<String>,
        progress: Progress,
    ) -> Transition {
        let (commands, events) = (std::mem::take(&mut self.commands), std::mem::take(&mut self.events));
        // Every task of a graph belongs to a node, and the node always handles its failure.
        let read = match &self.input.message.body {
            MessageBody::TaskFailed(failed) => vec![failed.task],
            _ => Vec::new(),
        };
        let (labels, blobs) = (self.signal_labels(), Vec::new());
        Transition { snapshot, commands, events, awaiting, labels, progress, blobs, warned: false, read }
    }

    fn awaiting(&self) -> BTreeSet<String> {
        let under_way = matches!(self.memory.stage, Stage::Undoing(_)).then_some(Compensation::UNDER_WAY);
        if let Some(mark) = self.mark.or(under_way) {
            return BTreeSet::from([mark.to_owned()]);
        }
        let waits = self.memory.open.values().filter_map(|visit| match &visit.wait {
            Wait::Signal { name, .. } => Some(name.clone()),
            Wait::Person(question) => Some(format!("@approval:{}", question.approval)),
            Wait::Held { .. } => Some(Blocked::mark(&visit.node, visit.since)),
            _ => None,
        });
        let proposals = self.memory.proposals.keys().map(|approval| format!("@approval:{approval}"));
        waits.chain(proposals).collect()
    }

    /// Returns the labels of the nodes that wait for signals.
    fn signal_labels(&self) -> BTreeMap<String, String> {
        let waits = self.memory.open.values().rev().filter_map(|visit| match &visit.wait {
            Wait::Signal { name, .. } => {
                let node = self.plan.place(&visit.node).map(|place| self.plan.node(place))?;
                Some((name.clone(), node.label.clone()?))
            }
            _ => None,
        });
        waits.collect()
    }

    fn number(&mut self) -> CommandId {
        self.memory.commands += 1;
        CommandId(self.memory.commands)
    }

    fn timer(&mut self, fire_at: Timestamp) -> CommandId {
        self.timer_as(fire_at, None)
    }

    fn timer_as(&mut self, fire_at: Timestamp, label: Option<String>) -> CommandId {
        let timer = self.number();
        self.commands.push(Command::StartTimer(TimerSpec { timer, fire_at, label }));
        timer
    }

    /// Returns the index of a node. Memory only names nodes of the plan: loading checks that, and so does
    /// adopting a patch.
    fn place(&self, node: &str) -> NodeIndex {
        self.plan.place(node).expect("a run is only ever at nodes of its graph")
    }
}

#[cfg(test)]
mod tests;
