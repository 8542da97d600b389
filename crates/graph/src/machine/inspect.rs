//! Reads information about a run from its snapshot, for people and for tests.

use rhythm_core::event::EventData;
use rhythm_core::id::CommandId;
use rhythm_core::payload::BlobRef;
use rhythm_core::program::{ProgramError, Snapshot, StepInput};
use rhythm_core::time::Timestamp;
use serde_json::Value;

use super::memory::{Memory, NodeId, Stage, Wait};
use super::{GraphProgram, Stop};
use crate::ir::Graph;
use crate::patch::{self, Changed, Refused, type_name};

/// One wait of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub node: String,
    pub what: WaitingFor,
    /// Absent for tokens at a join and for a visit that waits for its turn.
    pub command: Option<CommandId>,
    /// The list item the wait is about.
    pub item: Option<u64>,
    /// Tokens the visit consumed or, at a join, those that have arrived. Empty for a compensator.
    pub tokens: Vec<u64>,
    /// Timers that would end or change the wait without an answer.
    pub timers: Vec<CommandId>,
    pub since: Option<Timestamp>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingFor {
    Task,
    Child,
    Timer,
    Signal(String),
    Approval,
    /// A sandbox evaluates a condition.
    Routing,
    /// A join. Tokens of these senders have arrived.
    Join(Vec<String>),
    /// A compensator of the node.
    Compensation,
    /// A free slot of this type, whose limit of concurrent tasks is reached.
    Turn(String),
    /// An operator who lets the node begin again. Holds its failure.
    Held(String),
}

/// Events of a message before it failed its run.
#[derive(Clone, Debug, PartialEq)]
pub enum TakenBack {
    Events(Vec<EventData>),
    /// The message needs the contents of these blobs.
    NeedBlobs(Vec<BlobRef>),
}

impl GraphProgram {
    /// Returns the token events of a transition that failed the run. The history does not hold them, because
    /// such a transition restores the state from before. Returns no events for a message that does not fail
    /// the run.
    pub fn taken_back(&self, input: StepInput<'_>) -> Result<TakenBack, ProgramError> {
        let mut machine = self.machine(input)?;
        Ok(match machine.consume() {
            Err(Stop::NeedBlobs(blobs)) => TakenBack::NeedBlobs(blobs),
            Err(Stop::Failed(_)) => {
                if let Some(visit) = machine.unrouted.take() {
                    machine.consume_tokens(&visit, None);
                }
                TakenBack::Events(machine.events)
            }
            Ok(_) => TakenBack::Events(Vec::new()),
        })
    }

    /// Returns everything a run waits for, in the order of its tokens.
    pub fn waiting(&self, snapshot: &Snapshot) -> Result<Vec<Waiting>, ProgramError> {
        let memory = Memory::load(snapshot)?;
        let mut all = Vec::new();
        for visit in memory.open.values() {
            let tokens: Vec<u64> = visit.tokens.iter().map(|token| token.id).collect();
            let mut say_of = |what: WaitingFor, command, item: Option<usize>| {
                let (node, tokens, since) = (visit.node.to_string(), tokens.clone(), Some(visit.since));
                let (timers, item) = (visit.wait.timers(), item.map(|item| item as u64));
                all.push(Waiting { node, what, command, item, tokens, timers, since });
            };
            let mut say = |what: WaitingFor, command| say_of(what, command, None);
            match &visit.wait {
                Wait::Nothing => {}
                Wait::Turn => {
                    let graph =
                        memory.patched.as_ref().map_or_else(|| self.graph(), |patched| &patched.graph);
                    let kind = graph.find(&visit.node).map(|place| type_name(&graph.nodes[place].kind));
                    say(WaitingFor::Turn(kind.unwrap_or_default().to_owned()), None);
                }
                Wait::Task(task) => say(WaitingFor::Task, Some(*task)),
                Wait::Child { child, .. } => say(WaitingFor::Child, Some(*child)),
                Wait::Timer(timer) | Wait::InVain(timer) | Wait::Pause { timer, .. } => {
                    say(WaitingFor::Timer, Some(*timer));
                }
                Wait::Signal { name, signal, .. } => say(WaitingFor::Signal(name.clone()), Some(*signal)),
                Wait::Person(question) => say(WaitingFor::Approval, Some(question.approval)),
                Wait::Routing(routing) => say(WaitingFor::Routing, Some(routing.task)),
                Wait::Sifting(sifting) => say(WaitingFor::Routing, Some(sifting.task)),
                Wait::Held { held, why } => say(WaitingFor::Held(why.clone()), Some(*held)),
                Wait::Fan(fan) => {
                    for (command, item) in &fan.open {
                        let what = if fan.of_children { WaitingFor::Child } else { WaitingFor::Task };
                        say_of(what, Some(*command), Some(*item));
                    }
                    for (pause, item) in &fan.pauses {
                        say_of(WaitingFor::Timer, Some(*pause), Some(*item));
                    }
                }
            }
        }
        for (approval, proposal) in &memory.proposals {
            let (node, command) = (proposal.node.to_string(), Some(*approval));
            let (what, tokens, timers) = (WaitingFor::Approval, Vec::new(), Vec::new());
            all.push(Waiting { node, what, command, item: None, tokens, timers, since: None });
        }
        for (node, tokens) in &memory.parked {
            let senders =
                tokens.iter().filter_map(|token| token.from.as_deref()).map(str::to_owned).collect();
            let since = tokens.first().map(|token| token.at);
            let (node, what) = (node.to_string(), WaitingFor::Join(senders));
            let tokens = tokens.iter().map(|token| token.id).collect();
            all.push(Waiting { node, what, command: None, item: None, tokens, timers: Vec::new(), since });
        }
        if let Stage::Undoing(undoing) = &memory.stage {
            let (node, command) = (undoing.node.to_string(), Some(undoing.task));
            let (what, tokens, timers) = (WaitingFor::Compensation, Vec::new(), Vec::new());
            all.push(Waiting { node, what, command, item: None, tokens, timers, since: None });
        }
        Ok(all)
    }

    /// Returns the nodes whose work could still be undone, the last first.
    pub fn undoable(&self, snapshot: &Snapshot) -> Result<Vec<String>, ProgramError> {
        let memory = Memory::load(snapshot)?;
        let mut nodes: Vec<&NodeId> = Vec::new();
        if let Stage::Undoing(undoing) = &memory.stage {
            nodes.extend(undoing.again.iter().map(|undo| &undo.node));
            nodes.push(&undoing.node);
        }
        nodes.extend(memory.undo.iter().rev().map(|undo| &undo.node));
        Ok(nodes.into_iter().map(ToString::to_string).collect())
    }

    /// Returns the graph a run uses: its own after a patch, else the program's.
    pub fn graph_of(&self, snapshot: &Snapshot) -> Result<Graph, ProgramError> {
        let memory = Memory::load(snapshot)?;
        Ok(memory.patched.map_or_else(|| self.graph().clone(), |patched| patched.graph))
    }

    /// Returns the document a run uses, with the graph compiled from it.
    pub fn document_of(&self, snapshot: Option<&Snapshot>) -> Result<(Value, Graph), ProgramError> {
        let patched = Memory::before(snapshot)?.patched;
        Ok(match patched {
            Some(patched) => (patched.document, patched.graph),
            None => (Value::clone(&self.document), self.graph().clone()),
        })
    }

    /// Returns the document and graph that a patch would produce, independent of any run. Fails when the
    /// patch is refused.
    pub fn propose(
        &self,
        (document, graph): (&Value, &Graph),
        operations: &Value,
    ) -> Result<Changed, Refused> {
        patch::propose((document, graph), operations, &self.compile)
    }

    /// Returns the number of tokens emitted and not consumed.
    pub fn counter(&self, snapshot: &Snapshot) -> Result<u64, ProgramError> {
        Memory::load(snapshot).map(|memory| memory.counter)
    }
}
