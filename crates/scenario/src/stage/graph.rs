//! The parts of playing that only graphs need: the node of a task, the executed nodes, and patches in an
//! agent's answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhythm_core::event::NodeToken;
use rhythm_core::program::StepInput;
use rhythm_core::{
    Blobs, CommandId, Event, EventData, Failure, Payload, RunId, TaskId, Version, WorkflowKind,
};
use rhythm_engine::error::EngineError;
use rhythm_engine::world::*;
use rhythm_graph::condition::SANDBOX_TASK;
use rhythm_graph::ir::NodeKind;
use rhythm_graph::machine::{TakenBack, Waiting, WaitingFor, codes};
use rhythm_graph::{Graph, GraphProgram};
use rhythm_sandbox::Request;
use serde_json::{Value, json};

use super::{Hint, Stage};
use crate::file::{Decision, Scenario};
use crate::script::Answer;

const JQ_TASK: &str = "rhythm.jq";

/// State of the graphs that are played.
#[derive(Default)]
pub struct Graphs {
    programs: BTreeMap<(String, Version), Option<Arc<GraphProgram>>>,
    pub decisions: BTreeMap<String, Vec<Decision>>,
    roles: BTreeMap<TaskId, Role>,
    /// First tokens of visits that began, so that no execution is counted twice.
    begun: BTreeSet<(RunId, u64)>,
    /// Children that were counted. Each is an attempt of its node.
    children: BTreeSet<(RunId, CommandId)>,
    /// Nodes with open visits in each run, until its compensation began.
    open: BTreeMap<RunId, BTreeSet<String>>,
    /// Length of `order` when a run's compensation began.
    undone_from: BTreeMap<RunId, usize>,
    /// Names of all nodes and compensators seen so far.
    pub nodes: BTreeSet<String>,
    /// Approvals without a scripted decision.
    pub undecided: BTreeSet<(RunId, CommandId)>,
    pub patch_rejected: bool,
}

/// Purpose of a task in a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The work of a node.
    Work(String),
    /// One item of a `parallel` node.
    Item(String),
    /// A condition evaluated outside of the engine.
    Condition,
    /// The compensation of a node.
    Compensation,
}

/// A graph run between messages: its graph and its waits.
pub struct Standing {
    pub graph: Graph,
    pub waiting: Vec<Waiting>,
}

impl Graphs {
    pub fn new(scenario: &Scenario) -> Self {
        Self { decisions: scenario.decisions.clone(), ..Self::default() }
    }
}

impl Stage {
    /// Returns `None` for runs of other kinds and for runs without a snapshot.
    pub(super) async fn standing(&mut self, run: &RunId) -> Result<Option<Standing>, EngineError> {
        let row = self.client.picture(run).await?.row;
        let (Some(program), Some(snapshot)) = (self.graph_program(&row).await?, &row.state.snapshot) else {
            return Ok(None);
        };
        let (graph, waiting) = (program.graph_of(snapshot).ok(), program.waiting(snapshot).ok());
        Ok(graph.zip(waiting).map(|(graph, waiting)| Standing { graph, waiting }))
    }

    async fn graph_program(&mut self, row: &RunRow) -> Result<Option<Arc<GraphProgram>>, EngineError> {
        if row.kind != WorkflowKind::Graph {
            return Ok(None);
        }
        let key = (row.workflow.clone(), row.version.clone());
        if !self.graphs.programs.contains_key(&key) {
            let (workflow, version) = (row.workflow.clone(), Some(row.version.clone()));
            let query = DefinitionQuery { tenant: row.tenant.clone(), workflow, version };
            let found = self.world.definition(query).await?;
            let program = found.and_then(|found| self.cast.program(&found).ok()).map(Arc::new);
            self.graphs.programs.insert(key.clone(), program);
        }
        Ok(self.graphs.programs.get(&key).cloned().flatten())
    }

    /// Records the nodes' progress since the last look, and plans the decisions of new approvals.
    pub(super) async fn watch_graph(&mut self, run: &RunId, rows: &[Event]) -> Result<(), EngineError> {
        let mut told = Vec::new();
        for row in rows {
            if matches!(row.data, EventData::WorkflowFailed(_)) {
                told.extend(self.taken_back(run, rows, row).await?);
            }
            told.push(row.data.clone());
        }
        let Some(standing) = self.standing(run).await? else {
            // A run that fails in its first transition has no snapshot.
            if self.client.picture(run).await?.row.kind == WorkflowKind::Graph {
                self.note_nodes(run, &told);
            }
            return Ok(());
        };
        for node in &standing.graph.nodes {
            let undone_by = node.compensator.iter().map(|compensator| &compensator.task);
            let names = undone_by.chain([&node.id]).filter(|name| !self.graphs.nodes.contains(*name));
            self.graphs.nodes.extend(names.cloned().collect::<Vec<_>>());
        }
        self.note_nodes(run, &told);
        for wait in &standing.waiting {
            let Some(first) = wait.tokens.first().filter(|_| !has_not_begun(wait)) else {
                continue;
            };
            let is_new = self.graphs.begun.insert((run.clone(), *first));
            let is_fan = is_parallel(&standing.graph, &wait.node);
            let counts = match (&wait.what, wait.command) {
                // Attempts of tasks are counted when they start.
                (WaitingFor::Task, _) => is_new && is_fan,
                (WaitingFor::Child, Some(child)) if !is_fan => {
                    self.graphs.children.insert((run.clone(), child))
                }
                _ => is_new,
            };
            if counts {
                self.executed(run, &wait.node);
            }
        }
        match standing.waiting.iter().any(|wait| wait.what == WaitingFor::Compensation) {
            true => drop(self.graphs.undone_from.entry(run.clone()).or_insert(self.order.len())),
            false => {
                let open = standing.waiting.iter().filter(|wait| !has_not_begun(wait));
                self.graphs.open.insert(run.clone(), open.map(|wait| wait.node.clone()).collect());
            }
        }
        Ok(())
    }

    fn note_nodes(&mut self, run: &RunId, told: &[EventData]) {
        let mut idle = None;
        for event in told {
            match event {
                EventData::NodeEmitted(moved) => idle = idle.or(without_config(moved)),
                // Visits that began and ended between two looks: they were never seen waiting.
                EventData::NodeConsumed(moved) => {
                    let visit = moved.visit.unwrap_or(moved.token);
                    let is_new = self.graphs.begun.insert((run.clone(), visit));
                    if is_new && idle.take_if(|node| *node == moved.to).is_none() {
                        self.executed(run, &moved.to);
                    }
                }
                EventData::ApprovalCreated(asked) => self.ask(run, asked),
                EventData::PatchRefused(refused) => {
                    self.graphs.patch_rejected = true;
                    let why = format!("{}: {}", refused.code, refused.message);
                    let hint = Hint::PatchRefused { author: refused.author.clone(), why };
                    if !self.hints.contains(&hint) {
                        self.hints.push(hint);
                    }
                }
                EventData::WorkflowFailed(failed) => self.failed_at_once(run, &failed.failure),
                _ => {}
            }
        }
    }

    /// Returns the events of nodes in the transition that failed a run. History does not have them: the nodes
    /// only routed or computed, and a later node failed.
    async fn taken_back(
        &mut self,
        run: &RunId,
        rows: &[Event],
        failed: &Event,
    ) -> Result<Vec<EventData>, EngineError> {
        let row = self.client.picture(run).await?.row;
        let cause = rows.iter().find(|row| Some(row.seq) == failed.cause);
        let (Some(program), Some(message)) =
            (self.graph_program(&row).await?, cause.and_then(Event::to_message))
        else {
            return Ok(Vec::new());
        };
        let (facts, mut blobs) = (row.facts(), Blobs::new());
        loop {
            let (snapshot, at) = (row.state.snapshot.as_ref(), failed.at);
            let input = StepInput { facts: &facts, snapshot, message: &message, at, blobs: &blobs };
            match program.taken_back(input) {
                Ok(TakenBack::NeedBlobs(wanted)) => {
                    for blob in wanted {
                        let content = self.world.read_blob(&row.tenant, &blob).await?;
                        blobs.insert(blob.hash, content);
                    }
                }
                Ok(TakenBack::Events(mut events)) => {
                    // Approvals and decisions about patches of that transition were undone too.
                    events.retain(|event| {
                        matches!(event, EventData::NodeConsumed(_) | EventData::NodeEmitted(_))
                    });
                    return Ok(events);
                }
                Err(_) => return Ok(Vec::new()),
            }
        }
    }

    /// Records a node that failed without waiting: its transition was undone, so only the failure's code
    /// names it.
    fn failed_at_once(&mut self, run: &RunId, failure: &Failure) {
        let node = codes::failed_node(&failure.code);
        let Some(node) = node.filter(|_| failure.kind != codes::UNRESOLVABLE) else { return };
        if self.graphs.open.get(run).is_some_and(|open| open.contains(node)) {
            return;
        }
        let undone =
            self.order.split_off(self.graphs.undone_from.get(run).copied().unwrap_or(self.order.len()));
        self.executed(run, node);
        self.order.extend(undone);
    }

    /// Records an execution. The `order` of a graph holds only its own nodes.
    pub(super) fn executed(&mut self, run: &RunId, name: &str) {
        match *run == self.run || !self.is_graph {
            true => self.order.push(name.to_owned()),
            false => *self.further.entry(name.to_owned()).or_insert(0) += 1,
        }
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

    /// Returns the end of an attempt for a graph, and records which node it was for.
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
            Role::Compensation => {
                self.executed(&run, &task.name);
                self.script.next(&task.name)
            }
        })
    }

    /// Evaluates a program or filter. It takes no virtual time.
    async fn evaluate(&self, task: &ClaimedTask) -> Result<Answer, EngineError> {
        let input: Value = serde_json::from_str(&self.client.load(&task.input).await?).unwrap_or_default();
        let language = if task.name == SANDBOX_TASK { "program" } else { "jq" };
        let mut request = input;
        if let Some(fields) = request.as_object_mut() {
            fields.insert("language".to_owned(), json!(language));
        }
        let request = match serde_json::from_value::<Request>(request) {
            Ok(request) => request,
            Err(problem) => {
                return Ok(Answer::failed(Failure::permanent("BAD_INPUT", problem.to_string())));
            }
        };
        Ok(match self.sandbox.evaluate(request).await {
            Ok(value) => Answer::given(&value),
            Err(error) => Answer::failed(error.failure()),
        })
    }

    /// Puts an agent's patch into its answer if a person must approve the patch first.
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
        let standing = self.standing(run).await?;
        let asks = standing.is_some_and(|standing| {
            let place = standing.graph.find(&node);
            place.is_some_and(|place| standing.graph.nodes[place].requires_approval)
        });
        let answer = output.text().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let Some(Value::Object(mut fields)) = answer.filter(|_| asks) else { return Ok(result) };
        // An answer can hold one patch, so join their operations.
        let operations = match self.rides.take(&node).as_slice() {
            [] => return Ok(result),
            [one] => one.operations.clone(),
            several => {
                several.iter().filter_map(|patch| patch.operations.as_array()).flatten().cloned().collect()
            }
        };
        fields.insert("patch".to_owned(), json!({"operations": operations}));
        Ok(Ok(Payload::of(&fields).unwrap_or_default()))
    }
}

impl Standing {
    /// Returns the nodes of open approvals. Without any, returns the kinds of the waits.
    pub fn names(&self) -> Vec<String> {
        let approvals = self.waiting.iter().filter(|wait| wait.what == WaitingFor::Approval);
        let approvals: BTreeSet<String> = approvals.map(|wait| wait.node.clone()).collect();
        if !approvals.is_empty() {
            return approvals.into_iter().collect();
        }
        let kinds = self.waiting.iter().map(|wait| match wait.what {
            WaitingFor::Task | WaitingFor::Routing | WaitingFor::Compensation => "task",
            WaitingFor::Held(_) => "held",
            WaitingFor::Turn(_) => "turn",
            WaitingFor::Child => "child",
            WaitingFor::Timer => "timer",
            WaitingFor::Signal(_) => "signal",
            WaitingFor::Approval => "approval",
            WaitingFor::Join(_) => "join",
        });
        kinds.collect::<BTreeSet<_>>().into_iter().map(str::to_owned).collect()
    }
}

fn has_not_begun(wait: &Waiting) -> bool {
    matches!(wait.what, WaitingFor::Join(_) | WaitingFor::Turn(_))
}

/// Returns the node that took its error path because its config could not be resolved. Its work has not
/// begun.
fn without_config(moved: &NodeToken) -> Option<String> {
    let given: Value = serde_json::from_str(moved.payload.as_ref()?.text()?).ok()?;
    let error = given.get("error").filter(|error| error["code"] == codes::UNRESOLVABLE)?;
    moved.from.clone().filter(|from| error["node"] == from.as_str())
}

fn kind<'g>(graph: &'g Graph, node: &str) -> Option<&'g NodeKind> {
    graph.find(node).map(|place| &graph.nodes[place].kind)
}

fn is_parallel(graph: &Graph, node: &str) -> bool {
    kind(graph, node) == Some(&NodeKind::Parallel)
}
