//! The interpreter of graphs: a snapshot in, one message applied, tokens moved until every node waits or none is left, a
//! snapshot out. Consuming tokens, the result of a node and what it emits are always one transition.

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

/// Codes a graph's runs end with, besides `node_failed:<id>`.
pub mod codes {
    pub const NODE_FAILED: &str = "node_failed";
    /// With `:<id>`: a condition of the node could not be evaluated, and it says `on_condition_error: fail`.
    pub const CONDITION_ERROR: &str = "condition_error";
    pub const UNAUTHORIZED_ROUTE: &str = "unauthorized_route";
    pub const MAX_HOPS: &str = "exceeded_max_hops";
    pub const MAX_FANOUT: &str = "exceeded_max_fanout";
    pub const MAX_BYTES: &str = "exceeded_max_bytes";
    pub const DEADLINE: &str = "deadline_exceeded";
    /// A config that names what is not there; the type of a node's failure.
    pub const UNRESOLVABLE: &str = "unresolvable_reference";
    /// A config that says something no node can do; the type of a node's failure.
    pub const BAD_CONFIG: &str = "bad_config";
    /// An input that the registered type of a node does not take; the type of a node's failure.
    pub const BAD_INPUT: &str = "bad_input";
    /// An answer that the registered type of a node does not give; the type of a node's failure.
    pub const BAD_OUTPUT: &str = "bad_output";
    /// A person did not answer in time; the type of a node's failure.
    pub const APPROVAL_TIMEOUT: &str = "approval_timeout";
    /// Something could not be undone: a warning, and how a run fails that had not failed before.
    pub const COMPENSATION_FAILED: &str = "compensation_failed";

    /// The node a run failed at, by its code.
    pub fn failed_node(code: &str) -> Option<&str> {
        let (what, node) = code.split_once(':')?;
        [NODE_FAILED, CONDITION_ERROR].contains(&what).then_some(node)
    }
}

/// A compiled graph, ready to be stepped.
#[derive(Clone)]
pub struct GraphProgram {
    plan: Arc<Plan>,
    /// What patches are applied to.
    document: Arc<Value>,
    compile: Compiler,
    /// Those of this graph: what a patch has left as it was is not compiled again.
    conditions: Conditions,
}

impl fmt::Debug for GraphProgram {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_tuple("GraphProgram").field(&self.plan.graph).finish()
    }
}

impl GraphProgram {
    /// Takes a compiled form with the document it was compiled from, and who compiles patched ones.
    pub fn new(graph: Graph, document: Value, compile: Compiler) -> Result<Self, ProgramError> {
        let mut conditions = Conditions::default();
        let plan = Arc::new(Plan::new(graph, &mut conditions)?);
        Ok(Self { plan, document: Arc::new(document), compile, conditions })
    }

    /// Reads a stored compiled form and its source. Patches may use the types of the registry, and those the graph uses.
    pub fn load(compiled: &[u8], source: &str, registry: &Registry) -> Result<Self, ProgramError> {
        let graph: Graph = serde_json::from_slice(compiled)
            .map_err(|error| ProgramError::BadDefinition(error.to_string()))?;
        let document = document::read(source).map_err(|wrong| ProgramError::BadDefinition(wrong.title))?;
        Self::new(graph, document.to_json(), patch::compiler(registry.clone()))
    }

    pub fn graph(&self) -> &Graph {
        &self.plan.graph
    }

    /// The graph a run goes by: its own once it was patched.
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

/// Why a transition does not go on.
enum Stop {
    /// The run fails.
    Failed(Box<Failure>),
    /// It has to look inside these.
    NeedBlobs(Vec<BlobRef>),
}

type Stopped<T = ()> = Result<T, Stop>;

impl Stop {
    fn failed<T>(code: &str, message: impl Into<String>) -> Stopped<T> {
        Err(Self::Failed(Box::new(Failure::permanent(code, message))))
    }
}

/// One transition as it happens.
struct Machine<'a> {
    program: &'a GraphProgram,
    plan: Arc<Plan>,
    input: StepInput<'a>,
    memory: Memory,
    /// Values that were looked into.
    read: BTreeMap<ValueId, Arc<Value>>,
    /// Nodes begun in this step.
    begun: usize,
    /// Its work is done, but where it leads the run may not go.
    unrouted: Option<Visit>,
    /// What the run says for ever, once it has taken back what it did.
    mark: Option<&'static str>,
    commands: Vec<Command>,
    events: Vec<EventData>,
    /// Contents the events refer to.
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
    /// The message means nothing to this run.
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

    /// What can be undone is, before the run ends. Otherwise all is as it was before the message: whoever opens the run
    /// again delivers it anew.
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
            // That nobody decided in time stays true, whatever came of it.
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
        // Every task of a graph answers to a node, and what a node is told it deals with.
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

    /// What people know the nodes by that wait for signals.
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

    /// Nodes the memory names are in the plan: that was seen when it was loaded, and patches are held to it.
    fn place(&self, node: &str) -> NodeIndex {
        self.plan.place(node).expect("a run is only ever at nodes of its graph")
    }
}

#[cfg(test)]
mod tests;
