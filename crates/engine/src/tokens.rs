//! Where the tokens of a graph's run are, the way they came, and how far each node is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rhythm_core::{CommandId, Event, EventData, RunId, Snapshot, Status, Timestamp, WorkflowKind};
use rhythm_graph::machine::{Waiting, WaitingFor, codes};
use rhythm_graph::{Graph, GraphProgram};
use rhythm_syntax::drawing::State;
use serde::Serialize;

use crate::client::Client;
use crate::definitions::graph::load;
use crate::error::EngineError;
use crate::patches::last_graph;
use crate::world::*;

/// A graph's run between messages.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The run's own once it was patched.
    pub graph: Graph,
    /// Tokens emitted and not consumed.
    pub counter: u64,
    pub places: Vec<Place>,
}

/// A node where something is under way or waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    pub node: String,
    /// Of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Of the source.
    pub line: u32,
    pub waits_for: WaitsFor,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<CommandId>,
    /// The item of the node's list it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    pub since: Option<Timestamp>,
    pub tokens: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitsFor {
    Task,
    Child,
    Timer,
    Signal(String),
    Approval,
    /// The answer about a condition.
    Condition,
    /// Tokens of other senders.
    Join {
        here: Vec<String>,
        missing: Vec<String>,
    },
    /// What undoes the node's work.
    Compensation,
    /// A task of this type of node to end: no more of them may be under way in the run.
    Turn(String),
    /// Somebody to try the node again that failed with this.
    Held(String),
}

/// One token, from where it was emitted to where it was consumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hop {
    pub token: u64,
    /// Absent for those a run begins with.
    pub from: Option<String>,
    pub to: String,
    pub hop: u32,
    pub at: Timestamp,
    /// Absent while it is on its way, waits or is worked on.
    pub consumed_at: Option<Timestamp>,
    /// What could not be evaluated when its way was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Nothing for other kinds of workflows, for runs that have not begun, and where the version cannot be read here.
pub async fn standing(client: &Client, row: &RunRow) -> Result<Option<Standing>, EngineError> {
    let Some(program) = program(client, row).await? else { return Ok(None) };
    Ok(row.state.snapshot.as_ref().and_then(|snapshot| stands(&program, snapshot)))
}

/// The nodes of a run whose work could still be undone, the last first; none of other kinds of workflows.
pub async fn undoable(client: &Client, row: &RunRow) -> Result<Vec<String>, EngineError> {
    let (Some(program), Some(snapshot)) = (program(client, row).await?, &row.state.snapshot) else {
        return Ok(Vec::new());
    };
    program.undoable(snapshot).map_err(|error| WorldError::Corrupt(error.to_string()).into())
}

async fn program(client: &Client, row: &RunRow) -> Result<Option<GraphProgram>, EngineError> {
    if row.kind != WorkflowKind::Graph {
        return Ok(None);
    }
    let (tenant, workflow, version) = (row.tenant.clone(), row.workflow.clone(), Some(row.version.clone()));
    let found = client.world().definition(DefinitionQuery { tenant, workflow, version }).await?;
    Ok(found.and_then(|definition| load(&definition).ok()))
}

fn stands(program: &GraphProgram, snapshot: &Snapshot) -> Option<Standing> {
    let graph = program.graph_of(snapshot).ok()?;
    let waiting = program.waiting(snapshot).ok()?;
    let places = waiting.into_iter().map(|wait| place(&graph, wait)).collect();
    Some(Standing { counter: program.counter(snapshot).ok()?, places, graph })
}

fn place(graph: &Graph, wait: Waiting) -> Place {
    let Waiting { node, what, command, item, tokens, since, .. } = wait;
    let known = graph.find(&node).map(|place| &graph.nodes[place]);
    let waits_for = match what {
        WaitingFor::Task => WaitsFor::Task,
        WaitingFor::Child => WaitsFor::Child,
        WaitingFor::Timer => WaitsFor::Timer,
        WaitingFor::Signal(name) => WaitsFor::Signal(name),
        WaitingFor::Approval => WaitsFor::Approval,
        WaitingFor::Routing => WaitsFor::Condition,
        WaitingFor::Compensation => WaitsFor::Compensation,
        WaitingFor::Turn(kind) => WaitsFor::Turn(kind),
        WaitingFor::Held(why) => WaitsFor::Held(why),
        WaitingFor::Join(here) => {
            let dependencies = known.map(|node| node.dependencies.as_slice()).unwrap_or_default();
            let names = dependencies.iter().map(|sender| graph.nodes[*sender].id.clone());
            WaitsFor::Join { missing: names.filter(|name| !here.contains(name)).collect(), here }
        }
    };
    let label = known.and_then(|node| node.label.clone());
    Place { line: known.map_or(0, |node| node.line), label, node, waits_for, command, item, since, tokens }
}

/// The way a run's tokens took, in the order they were emitted.
pub async fn path(client: &Client, run: &RunId) -> Result<Vec<Hop>, EngineError> {
    Ok(hops(&client.history(run).await?))
}

fn hops(history: &[Event]) -> Vec<Hop> {
    let mut hops = BTreeMap::new();
    // Of the last transition of each node that chose.
    let mut notes: BTreeMap<String, (Option<u64>, String)> = BTreeMap::new();
    for row in history {
        if let Some(told) = unclear_of(row) {
            notes.insert(told.node.clone(), (row.cause, told.to_string()));
        }
        match &row.data {
            EventData::NodeEmitted(moved) => {
                let (token, from, to) = (moved.token, moved.from.clone(), moved.to.clone());
                let told = from.as_ref().and_then(|from| notes.get(from));
                let note = told.filter(|(cause, _)| *cause == row.cause).map(|(_, note)| note.clone());
                let (hop, at) = (moved.hop, row.at);
                hops.insert(token, Hop { token, from, to, hop, at, consumed_at: None, note });
            }
            EventData::NodeConsumed(moved) => {
                if let Some(hop) = hops.get_mut(&moved.token) {
                    hop.consumed_at = Some(row.at);
                }
            }
            _ => {}
        }
    }
    hops.into_values().collect()
}

/// A condition of a graph that could not be evaluated, and was not met therefore.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unclear {
    pub node: String,
    /// `rule 2`, `loop`, or `item 7` of a filter.
    pub condition: String,
    pub reason: String,
    pub at: Timestamp,
}

impl fmt::Display for Unclear {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { node, condition, reason, .. } = self;
        write!(to, "{condition} of node {node} cannot be evaluated and is not met: {reason}")
    }
}

/// What an event says of a condition, if it could not be evaluated.
pub fn unclear_of(row: &Event) -> Option<Unclear> {
    let EventData::ConditionEvaluated(told) = &row.data else { return None };
    let (node, condition, reason) = (told.node.clone(), told.condition.clone(), told.reason.clone());
    (!reason.is_empty()).then_some(Unclear { node, condition, reason, at: row.at })
}

/// Those of a run, in order.
pub async fn unclear(client: &Client, run: &RunId) -> Result<Vec<Unclear>, EngineError> {
    Ok(client.history(run).await?.iter().filter_map(unclear_of).collect())
}

/// How far a run is with each node of its graph, by index.
pub async fn states(
    client: &Client,
    picture: &Picture,
) -> Result<Option<(Graph, Vec<Option<State>>)>, EngineError> {
    let Some(Standing { mut graph, places, .. }) = standing(client, &picture.row).await? else {
        return Ok(None);
    };
    if picture.summary.status.is_final() {
        graph = last_graph(client, &picture.row).await?;
    }
    let hops = path(client, &picture.summary.id).await?;
    let visited: BTreeSet<&str> =
        hops.iter().filter(|hop| hop.consumed_at.is_some()).map(|hop| hop.to.as_str()).collect();
    let status = picture.summary.status;
    let code = picture.failure.as_ref().map(|failure| failure.code.as_str()).unwrap_or_default();
    let failed = codes::failed_node(code);
    let is_held = |command: Option<CommandId>| {
        let task = command.map(|number| picture.summary.id.task(number));
        picture.tasks.iter().any(|row| row.state == TaskState::Held && Some(&row.id) == task.as_ref())
    };
    let state = |id: &str| {
        let open = places.iter().filter(|place| place.node == id && !status.is_final());
        let open = open.map(|place| match place.waits_for {
            WaitsFor::Held(_) => State::Held,
            WaitsFor::Task if is_held(place.command) => State::Held,
            WaitsFor::Task | WaitsFor::Child | WaitsFor::Condition | WaitsFor::Compensation => State::Running,
            _ => State::Waiting,
        });
        match open.min() {
            _ if failed == Some(id) => Some(State::Failed),
            Some(state) => Some(state),
            None if visited.contains(id) => Some(State::Done),
            None if status == Status::Completed => Some(State::Skipped),
            None => None,
        }
    };
    let states = graph.nodes.iter().map(|node| state(&node.id)).collect();
    Ok(Some((graph, states)))
}
