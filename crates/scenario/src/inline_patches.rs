//! Patches that a node's result brings along. They are applied in the transition of that result, before the
//! result itself.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rhythm_core::message::{Message, MessageBody, Patched};
use rhythm_core::program::Session;
use rhythm_core::{
    Actor, CommandId, EventData, MessageId, Payload, Program, ProgramError, Progress, RunId, Snapshot, Step,
    StepInput, Transition,
};
use rhythm_graph::ir::NodeKind;
use rhythm_graph::machine::{Waiting, WaitingFor};
use rhythm_graph::{Graph, GraphProgram};

use crate::file::{Patch, Scenario};

/// Patches that have not been applied yet, in the order of the scenario.
pub struct Rides {
    left: Mutex<Vec<(usize, Patch)>>,
    run: RunId,
    /// Nodes of the run under test. Its children get only patches of other nodes.
    own: OnceLock<Vec<String>>,
}

impl Rides {
    pub fn of(scenario: &Scenario, run: RunId) -> Self {
        let left = Mutex::new(scenario.patches.iter().cloned().enumerate().collect());
        Self { left, run, own: OnceLock::new() }
    }

    pub fn are_about(&self, nodes: Vec<String>) {
        self.own.get_or_init(|| nodes);
    }

    /// Returns the nodes that the run under test had at its start.
    pub fn own(&self) -> &[String] {
        self.own.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Removes and returns the patches of this node.
    pub fn take(&self, node: &str) -> Vec<Patch> {
        let riding = self.left().extract_if(.., |(_, patch)| patch.after == node).collect::<Vec<_>>();
        riding.into_iter().map(|(_, patch)| patch).collect()
    }

    /// Returns the nodes whose patches have not been applied yet.
    pub fn nodes(&self) -> Vec<String> {
        self.left().iter().map(|(_, patch)| patch.after.clone()).collect()
    }

    fn left(&self) -> MutexGuard<'_, Vec<(usize, Patch)>> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A graph whose results may bring patches along.
pub struct InlinePatches {
    pub program: GraphProgram,
    pub rides: Arc<Rides>,
}

impl Program for InlinePatches {
    fn step(&self, input: StepInput<'_>) -> Result<Step, ProgramError> {
        let mut before = Before::default();
        loop {
            let snapshot = before.snapshot.as_ref().or(input.snapshot);
            let input = StepInput { snapshot, ..input };
            let transition = match self.program.step(input)? {
                Step::Transition(transition) => transition,
                more => return Ok(more),
            };
            let next = self.riding(&before, input, &transition)?;
            let Some((number, patch)) = next else { return Ok(self.whole(before, transition)) };
            let message = self.message(input, number, &patch)?;
            match self.program.step(StepInput { message: &message, ..input })? {
                // The patch itself ended the run.
                Step::Transition(last) if last.progress != Progress::Waiting => {
                    before.applied.push(number);
                    return Ok(self.whole(before, last));
                }
                Step::Transition(transition) => before.add(number, transition),
                more => return Ok(more),
            }
        }
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }

    fn session<'a>(&'a self, _: &Snapshot) -> Option<Box<dyn Session + 'a>> {
        None
    }
}

/// Transitions of the patches that come before the message.
#[derive(Default)]
struct Before {
    snapshot: Option<Snapshot>,
    applied: Vec<usize>,
    made: Vec<Transition>,
}

impl Before {
    fn add(&mut self, number: usize, transition: Transition) {
        self.snapshot = Some(transition.snapshot.clone());
        self.applied.push(number);
        self.made.push(transition);
    }

    /// Joins all transitions into one.
    fn then(self, last: Transition) -> Transition {
        let Some(first) = self.made.into_iter().reduce(join) else { return last };
        match last.progress {
            // A failure undoes the effects of the patches, but their events stay in the history.
            Progress::Failed(_) => Transition { events: [first.events, last.events].concat(), ..last },
            _ => join(first, last),
        }
    }
}

fn join(first: Transition, then: Transition) -> Transition {
    Transition {
        commands: [first.commands, then.commands].concat(),
        events: [first.events, then.events].concat(),
        blobs: [first.blobs, then.blobs].concat(),
        ..then
    }
}

impl InlinePatches {
    /// What came of it all: those that were applied do not ride again.
    fn whole(&self, before: Before, last: Transition) -> Step {
        self.rides.left().retain(|(number, _)| !before.applied.contains(number));
        Step::Transition(before.then(last))
    }

    /// Returns the first patch that this message brings and that has not been applied yet.
    fn riding(
        &self,
        before: &Before,
        input: StepInput<'_>,
        after: &Transition,
    ) -> Result<Option<(usize, Patch)>, ProgramError> {
        let mut left = self.rides.left().clone();
        left.retain(|(number, patch)| !before.applied.contains(number) && self.concerns(input, &patch.after));
        if left.is_empty() {
            return Ok(None);
        }
        let waiting = |snapshot: Option<&Snapshot>| {
            snapshot.map_or_else(|| Ok(Vec::new()), |snapshot| self.program.waiting(snapshot))
        };
        let results = Results {
            before: waiting(input.snapshot)?,
            after: waiting(Some(&after.snapshot))?,
            graph: self.graph(input.snapshot)?,
        };
        let nodes = results.of(&input.message.body, after);
        Ok(left.into_iter().find(|(_, patch)| nodes.contains(&patch.after)))
    }

    fn graph(&self, snapshot: Option<&Snapshot>) -> Result<Graph, ProgramError> {
        snapshot.map_or_else(|| Ok(self.program.graph().clone()), |snapshot| self.program.graph_of(snapshot))
    }

    fn concerns(&self, input: StepInput<'_>, node: &str) -> bool {
        input.facts.run == self.rides.run || !self.rides.own().iter().any(|known| known == node)
    }

    /// Builds the patch message. Its author is the agent if the node is one, else the scenario.
    fn message(&self, input: StepInput<'_>, number: usize, patch: &Patch) -> Result<Message, ProgramError> {
        let graph = self.graph(input.snapshot)?;
        let is_agent = graph.find(&patch.after).is_some_and(|at| graph.nodes[at].kind == NodeKind::Agent);
        let author = if is_agent { format!("agent:{}", patch.after) } else { "scenario".to_owned() };
        let operations = Payload::of(&patch.operations).unwrap_or_default();
        let body = MessageBody::Patch(Patched { operations, reason: "it rides on a result".into() });
        let id = MessageId::new(format!("patch:{number}"));
        Ok(Message { id, at: input.at, actor: Actor(author), trace: None, body })
    }
}

/// The waits of a run before and after a message.
struct Results {
    before: Vec<Waiting>,
    after: Vec<Waiting>,
    graph: Graph,
}

impl Results {
    /// Returns the nodes that get their result by this message.
    fn of(&self, body: &MessageBody, transition: &Transition) -> Vec<String> {
        let answered = self.answered(body);
        let mut nodes: Vec<String> = Vec::new();
        if let Some(wait) = answered
            && self.is_result(wait, body)
        {
            nodes.push(wait.node.clone());
        }
        // Exclude failures, which are no results, and nodes that already had a result and only learn their
        // route.
        let others: Vec<&Waiting> = self.before.iter().filter(|wait| !self.may_end(wait)).collect();
        let is_other = |token: u64| others.iter().any(|wait| wait.tokens.first() == Some(&token));
        for event in &transition.events {
            let EventData::NodeConsumed(moved) = event else { continue };
            let asks = self.kind(&moved.to) == Some(&NodeKind::Human);
            if !asks && !is_other(moved.visit.unwrap_or(moved.token)) {
                nodes.push(moved.to.clone());
            }
        }
        // A node that asks outside for its route has its result. A filter is different: it may ask about its
        // items first.
        let routing = self.after.iter().filter(|wait| {
            wait.what == WaitingFor::Routing
                && self.kind(&wait.node) != Some(&NodeKind::Filter)
                && !wait.tokens.first().is_some_and(|token| is_other(*token))
        });
        nodes.extend(routing.map(|wait| wait.node.clone()));
        nodes
    }

    fn answered(&self, body: &MessageBody) -> Option<&Waiting> {
        let by = |command: CommandId| {
            let mut waits = self.before.iter();
            waits.find(|wait| wait.command == Some(command) || wait.timers.contains(&command))
        };
        match body {
            MessageBody::TaskCompleted(done) => by(done.task),
            MessageBody::ChildCompleted(done) => by(done.child),
            MessageBody::ApprovalDecided(decided) => by(decided.approval),
            MessageBody::TimerFired(fired) => by(fired.timer),
            MessageBody::Signal(signal) => {
                let named =
                    |wait: &&Waiting| matches!(&wait.what, WaitingFor::Signal(name) if *name == signal.name);
                self.before.iter().filter(named).min_by_key(|wait| wait.command)
            }
            _ => None,
        }
    }

    /// Whether an answer to this wait is the node's result.
    fn is_result(&self, wait: &Waiting, body: &MessageBody) -> bool {
        let fired = matches!(body, MessageBody::TimerFired(_));
        match &wait.what {
            WaitingFor::Task | WaitingFor::Child => {
                !fired && self.kind(&wait.node) != Some(&NodeKind::Parallel)
            }
            WaitingFor::Signal(_) => !fired,
            WaitingFor::Timer => self.kind(&wait.node) == Some(&NodeKind::Delay),
            // After a timeout the node may ask other people before it gives up.
            WaitingFor::Approval => {
                let open = self.after.iter().any(|other| other.command == wait.command);
                self.kind(&wait.node) == Some(&NodeKind::Human) && !(fired && open)
            }
            WaitingFor::Routing
            | WaitingFor::Compensation
            | WaitingFor::Join(_)
            | WaitingFor::Turn(_)
            | WaitingFor::Held(_) => false,
        }
    }

    /// Whether the node gets its result only when its tokens are gone.
    fn may_end(&self, wait: &Waiting) -> bool {
        match wait.what {
            WaitingFor::Join(_) => true,
            WaitingFor::Routing => self.kind(&wait.node) == Some(&NodeKind::Filter),
            WaitingFor::Task | WaitingFor::Child => self.kind(&wait.node) == Some(&NodeKind::Parallel),
            _ => false,
        }
    }

    fn kind(&self, node: &str) -> Option<&NodeKind> {
        self.graph.find(node).map(|place| &self.graph.nodes[place].kind)
    }
}
