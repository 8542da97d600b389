//! What graphs add: which node a task is for, which nodes were executed, what people decide, and patches that ride on a
//! node's result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhythm_core::event::ApprovalCreated;
use rhythm_core::graph::condition::SANDBOX_TASK;
use rhythm_core::graph::ir::NodeKind;
use rhythm_core::graph::machine::{Waiting, WaitingFor};
use rhythm_core::graph::{Graph, GraphProgram};
use rhythm_core::message::{ApprovalDecided, Message, MessageBody, Patched};
use rhythm_core::{
    Actor, CommandId, Event, EventData, Failure, MessageId, Payload, RunId, TaskId, Version, WorkflowKind,
};
use rhythm_engine::error::EngineError;
use rhythm_engine::world::*;
use rhythm_sandbox::{Request, here};
use serde_json::{Value, json};

use super::{Act, Stage};
use crate::file::{Decision, Patch, Scenario};
use crate::script::{Answer, seconds};
use crate::stand_in;

const JQ_TASK: &str = "rhythm.jq";
const TIMEOUT: &str = "timeout";

/// What is known of the graphs that are played.
#[derive(Default)]
pub struct Graphs {
    programs: BTreeMap<(String, Version), Option<Arc<GraphProgram>>>,
    decisions: BTreeMap<String, Vec<Decision>>,
    /// Those that have not ridden on a result yet.
    patches: Vec<Patch>,
    roles: BTreeMap<TaskId, Role>,
    /// Tokens of visits that were begun: no execution is counted twice.
    begun: BTreeSet<(RunId, u64)>,
    /// Nodes that have asked people.
    asking: BTreeSet<String>,
    /// Approvals the scenario says nothing about.
    undecided: BTreeSet<(RunId, CommandId)>,
    pub patch_rejected: bool,
}

/// What a task is to a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The work of a node.
    Work(String),
    /// One item of a `parallel` node.
    Item(String),
    /// A condition that is asked outside.
    Condition,
    /// It undoes what a node has done.
    Compensation,
}

/// A graph's run between messages.
pub struct Standing {
    pub graph: Graph,
    pub waiting: Vec<Waiting>,
}

impl Graphs {
    pub fn new(scenario: &Scenario) -> Self {
        let (decisions, patches) = (scenario.decisions.clone(), scenario.patches.clone());
        Self { decisions, patches, ..Self::default() }
    }

    /// A node that was executed while the patch after it stayed behind, as nobody outside was ever asked.
    pub fn without_ride(&self, executed: &[String]) -> Option<&str> {
        let works =
            |node: &str| self.roles.values().any(|role| matches!(role, Role::Work(name) if name == node));
        let mut left = self.patches.iter().map(|patch| patch.after.as_str());
        left.find(|node| {
            executed.iter().any(|name| name == node) && !works(node) && !self.asking.contains(*node)
        })
    }
}

impl Stage {
    /// Nothing for runs of other kinds, and for those that have not begun.
    pub(super) async fn standing(&mut self, run: &RunId) -> Result<Option<Standing>, EngineError> {
        let picture = self.client.picture(run).await?;
        let row = &picture.row;
        let Some(snapshot) = row.state.snapshot.as_ref().filter(|_| row.kind == WorkflowKind::Graph) else {
            return Ok(None);
        };
        let key = (row.workflow.clone(), row.version.clone());
        if !self.graphs.programs.contains_key(&key) {
            let (workflow, version) = (row.workflow.clone(), Some(row.version.clone()));
            let query = DefinitionQuery { tenant: row.tenant.clone(), workflow, version };
            let found = self.world.definition(query).await?;
            let program = found.and_then(|found| stand_in::program(&found).ok()).map(Arc::new);
            self.graphs.programs.insert(key.clone(), program);
        }
        let Some(Some(program)) = self.graphs.programs.get(&key) else { return Ok(None) };
        let (graph, waiting) = (program.graph_of(snapshot).ok(), program.waiting(snapshot).ok());
        Ok(graph.zip(waiting).map(|(graph, waiting)| Standing { graph, waiting }))
    }

    /// Notes what nodes did since the last look, and asks people what they are asked.
    pub(super) async fn watch_graph(&mut self, run: &RunId, rows: &[Event]) -> Result<(), EngineError> {
        let Some(standing) = self.standing(run).await? else { return Ok(()) };
        self.count_visits(run, rows, &standing.graph);
        for row in rows {
            match &row.data {
                EventData::ApprovalCreated(asked) => self.ask(run, asked),
                EventData::PatchRefused(_) => self.graphs.patch_rejected = true,
                _ => {}
            }
        }
        for wait in &standing.waiting {
            let Some(first) = wait.tokens.first().filter(|_| !matches!(wait.what, WaitingFor::Join(_)))
            else {
                continue;
            };
            let known = self.graphs.begun.contains(&(run.clone(), *first));
            self.graphs.begun.extend(wait.tokens.iter().map(|token| (run.clone(), *token)));
            // Attempts of a task are counted when they are made.
            let is_work = wait.what == WaitingFor::Task && !is_parallel(&standing.graph, &wait.node);
            if !known && !is_work {
                self.executed(run, &wait.node);
            }
        }
        Ok(())
    }

    /// Visits that began and ended between two looks: their tokens are consumed, and nobody has seen them wait.
    fn count_visits(&mut self, run: &RunId, rows: &[Event], graph: &Graph) {
        let mut joined: Option<(&str, Vec<&str>)> = None;
        for row in rows {
            let moved = match &row.data {
                EventData::NodeConsumed(moved) => moved,
                _ => {
                    joined = None;
                    continue;
                }
            };
            if !self.graphs.begun.insert((run.clone(), moved.token)) {
                joined = None;
                continue;
            }
            // Tokens a join takes together are of different senders, all of them its dependencies.
            let from = moved.from.as_deref().unwrap_or_default();
            let waits = graph.find(&moved.to).map(|place| &graph.nodes[place]).is_some_and(|node| {
                let sender = graph.find(from);
                node.wait_for_all && sender.is_some_and(|sender| node.dependencies.contains(&sender))
            });
            match &mut joined {
                Some((node, senders)) if waits && *node == moved.to && !senders.contains(&from) => {
                    senders.push(from);
                    continue;
                }
                _ => joined = waits.then(|| (moved.to.as_str(), vec![from])),
            }
            self.executed(run, &moved.to);
        }
    }

    /// An execution, seen by a graph's own order only when it is one of its own nodes.
    pub(super) fn executed(&mut self, run: &RunId, name: &str) {
        match *run == self.run || !self.is_graph {
            true => self.order.push(name.to_owned()),
            false => *self.further.entry(name.to_owned()).or_insert(0) += 1,
        }
    }

    /// Plans the decision for this visit. Nobody who is to be late needs to say so where there is a timer.
    fn ask(&mut self, run: &RunId, asked: &ApprovalCreated) {
        self.graphs.asking.insert(asked.node.clone());
        let visit = asked.visit.map_or(0, |visit| visit.saturating_sub(1) as usize);
        let Some(decision) = self.graphs.decisions.get(&asked.node).and_then(|all| all.get(visit)).cloned()
        else {
            self.graphs.undecided.insert((run.clone(), asked.approval));
            return;
        };
        let is_timeout = decision.decision == TIMEOUT;
        if is_timeout && asked.timeout_at.is_some() {
            return;
        }
        let by = if is_timeout { "system".to_owned() } else { decision.by };
        let body = MessageBody::ApprovalDecided(ApprovalDecided {
            approval: asked.approval,
            decision: decision.decision,
            by: by.clone(),
            comments: decision.comments,
            data: Payload::of(&decision.data).unwrap_or_default(),
        });
        let at = self.start.plus(seconds(decision.at)).max(self.clock.now());
        let message =
            Message { id: MessageId::approval(asked.approval), at, actor: Actor(by), trace: None, body };
        self.plan(at, Act::Decide { run: run.clone(), node: asked.node.clone(), message });
    }

    /// Whether all that could still happen is that people are late whom the scenario says nothing about: it is over then, and
    /// they are what the run waits for.
    pub(super) async fn only_people_are_late(&mut self) -> Result<bool, EngineError> {
        if self.graphs.undecided.is_empty() {
            return Ok(false);
        }
        for run in self.seen.keys().cloned().collect::<Vec<_>>() {
            let picture = self.client.picture(&run).await?;
            let standing = self.standing(&run).await?;
            let waits = standing.iter().flat_map(|standing| &standing.waiting);
            let theirs = waits.filter(|wait| {
                let approval = wait.command.filter(|_| wait.what == WaitingFor::Approval);
                approval.is_some_and(|approval| self.graphs.undecided.contains(&(run.clone(), approval)))
            });
            let theirs: BTreeSet<CommandId> = theirs.flat_map(|wait| wait.timers.iter().copied()).collect();
            let other = |timer: &TimerRow| !timer.timer.is_some_and(|timer| theirs.contains(&timer));
            if picture.timers.iter().any(other)
                || picture.tasks.iter().any(|task| task.state == TaskState::Delayed)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn known_role(&self, task: &ClaimedTask) -> Option<&Role> {
        self.graphs.roles.get(&task.id)
    }

    pub(super) async fn role_of(&mut self, task: &ClaimedTask) -> Result<Option<Role>, EngineError> {
        if let Some(role) = self.graphs.roles.get(&task.id) {
            return Ok(Some(role.clone()));
        }
        let Some((run, number)) = &task.run else { return Ok(None) };
        let Some(standing) = self.standing(run).await? else { return Ok(None) };
        let Some(wait) = standing.waiting.iter().find(|wait| wait.command == Some(*number)) else {
            return Ok(None);
        };
        let role = match wait.what {
            WaitingFor::Routing => Role::Condition,
            WaitingFor::Compensation => Role::Compensation,
            _ if is_parallel(&standing.graph, &wait.node) => Role::Item(wait.node.clone()),
            _ => Role::Work(wait.node.clone()),
        };
        self.graphs.roles.insert(task.id.clone(), role.clone());
        Ok(Some(role))
    }

    /// How an attempt for a graph ends, and whose execution it is.
    pub(super) async fn graph_answer(
        &mut self,
        role: &Role,
        task: &ClaimedTask,
    ) -> Result<Option<Answer>, EngineError> {
        let run = task.run.as_ref().map_or_else(|| self.run.clone(), |(run, _)| run.clone());
        Ok(match role {
            Role::Condition => Some(self.evaluate(task).await?),
            Role::Work(node) => {
                self.executed(&run, node);
                match task.name == JQ_TASK && !self.script.names(node) {
                    true => Some(self.evaluate(task).await?),
                    false => self.script.next(node),
                }
            }
            Role::Item(node) => {
                *self.further.entry(task.name.clone()).or_insert(0) += 1;
                let name = if self.script.names(&task.name) { &task.name } else { node };
                self.script.next(name)
            }
            // Undoing is not what most scenarios are about: it succeeds unless they say something else.
            Role::Compensation if !self.script.names(&task.name) => Some(Answer::default()),
            Role::Compensation => {
                self.executed(&run, &task.name);
                self.script.next(&task.name)
            }
        })
    }

    /// Programs and filters are computed here and now.
    async fn evaluate(&self, task: &ClaimedTask) -> Result<Answer, EngineError> {
        let input: Value = serde_json::from_str(&self.client.load(&task.input).await?).unwrap_or_default();
        let language = if task.name == SANDBOX_TASK { "program" } else { "jq" };
        let mut request = input;
        if let Some(fields) = request.as_object_mut() {
            fields.insert("language".to_owned(), json!(language));
        }
        let asked = serde_json::from_value::<Request>(request);
        Ok(match asked.map_err(|error| error.to_string()).map(here::evaluate) {
            Ok(Ok(value)) => Answer::given(&value),
            Ok(Err(error)) => Answer::failed(error.failure()),
            Err(problem) => Answer::failed(Failure::permanent("BAD_INPUT", problem)),
        })
    }

    /// Delivers the patches that ride on this node's result, just before it.
    pub(super) async fn patch_before(&mut self, run: &RunId, node: &str) -> Result<(), EngineError> {
        let (riding, others): (Vec<Patch>, Vec<Patch>) =
            std::mem::take(&mut self.graphs.patches).into_iter().partition(|patch| patch.after == node);
        self.graphs.patches = others;
        if riding.is_empty() {
            return Ok(());
        }
        let standing = self.standing(run).await?;
        let is_agent = standing.is_some_and(|standing| kind(&standing.graph, node) == Some(&NodeKind::Agent));
        let author = if is_agent { format!("agent:{node}") } else { "scenario".to_owned() };
        for patch in riding {
            self.planned += 1;
            let operations = Payload::of(&patch.operations).unwrap_or_default();
            let body = MessageBody::Patch(Patched { operations, reason: "it rides on a result".into() });
            let (id, at) = (MessageId::new(format!("patch:{}", self.planned)), self.clock.now());
            let message = Message { id, at, actor: Actor(author.clone()), trace: None, body };
            self.deliver_to(run, message, 0).await?;
        }
        Ok(())
    }

    /// An agent's patch that a person has to see first travels inside the answer.
    pub(super) async fn with_patch(
        &mut self,
        task: &ClaimedTask,
        result: Result<Payload, Failure>,
    ) -> Result<Result<Payload, Failure>, EngineError> {
        let (Some((run, _)), Some(Role::Work(node)), Ok(output)) =
            (&task.run, self.graphs.roles.get(&task.id).cloned(), &result)
        else {
            return Ok(result);
        };
        let mut riding = self.graphs.patches.iter().filter(|patch| patch.after == node);
        let (first, second) = (riding.next().cloned(), riding.next());
        if let (Some(patch), None) = (first, second) {
            let standing = self.standing(run).await?;
            let asks = standing.is_some_and(|standing| {
                let place = standing.graph.find(&node);
                place.is_some_and(|place| standing.graph.nodes[place].requires_approval)
            });
            let answer = output.text().and_then(|text| serde_json::from_str::<Value>(text).ok());
            if let Some(Value::Object(mut fields)) = answer.filter(|_| asks) {
                fields.insert("patch".to_owned(), json!({"operations": patch.operations}));
                self.graphs.patches.retain(|patch| patch.after != node);
                return Ok(Ok(Payload::of(&fields).unwrap_or_default()));
            }
        }
        self.patch_before(run, &node).await?;
        Ok(result)
    }
}

impl Standing {
    /// Open approvals by their nodes; where nobody is asked, the kinds of what is waited for.
    pub fn names(&self) -> Vec<String> {
        let approvals = self.waiting.iter().filter(|wait| wait.what == WaitingFor::Approval);
        let approvals: BTreeSet<String> = approvals.map(|wait| wait.node.clone()).collect();
        if !approvals.is_empty() {
            return approvals.into_iter().collect();
        }
        let kinds = self.waiting.iter().map(|wait| match wait.what {
            WaitingFor::Task | WaitingFor::Routing | WaitingFor::Compensation => "task",
            WaitingFor::Child => "child",
            WaitingFor::Timer => "timer",
            WaitingFor::Signal(_) => "signal",
            WaitingFor::Approval => "approval",
            WaitingFor::Join(_) => "join",
        });
        kinds.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
    }
}

fn kind<'g>(graph: &'g Graph, node: &str) -> Option<&'g NodeKind> {
    graph.find(node).map(|place| &graph.nodes[place].kind)
}

fn is_parallel(graph: &Graph, node: &str) -> bool {
    kind(graph, node) == Some(&NodeKind::Parallel)
}
