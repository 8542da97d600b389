//! The intermediate form: a graph after every check, as it is stored beside its source and as the machine runs it.
//!
//! Nodes stand in the order of the source and are addressed by their index. Whatever two spellings exist for something
//! in a document, there is one of it here. Only the compiler makes these.

use std::collections::BTreeMap;

use rhythm_core::retry::RetryPolicy;
use rhythm_core::task::{DEFAULT_QUEUE, OnExhausted};
use rhythm_core::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::node_type::NodeType;

/// The version of this form. A run keeps the one it started with, so older ones stay readable.
pub const FORMAT: u32 = 1;

/// The place of a node in [`Graph::nodes`].
pub type NodeIndex = usize;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    pub format: u32,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// A JSON Schema for the inputs of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Value>,
    /// It may lack a terminal node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub endless: bool,
    pub nodes: Vec<Node>,
    /// Content that was put inline, by its reference: a patched document is compiled with the same.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, Value>,
    /// The registered types of its nodes, as they were when it was compiled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, NodeType>,
}

/// What people call it; nothing here has an effect on a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Of one run. What is absent has no limit but those of the whole system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// The length of one token's path; an entry node is at 0.
    pub max_hops: u32,
    /// Tokens one result may emit.
    pub max_fanout: u32,
    /// From the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<Millis>,
    /// Of one payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_hops: 100, max_fanout: 10, wall_time: None, max_bytes: None }
    }
}

/// What becomes of a node whose condition cannot be evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConditionError {
    /// The condition is not met.
    #[default]
    NotMet,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub id: String,
    /// A text for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(rename = "type")]
    pub kind: NodeKind,
    /// The task a worker does for it; nothing for a node that needs none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default = "default_queue", skip_serializing_if = "is_default_queue")]
    pub queue: String,
    #[serde(default, skip_serializing_if = "Config::is_empty")]
    pub config: Config,
    /// Those a join waits for, in order: declared dependencies, then senders of further incoming edges. Never the sender
    /// of a loop-back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<NodeIndex>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait_for_all: bool,
    /// Where its tokens go unless a branch or a loop decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<NodeIndex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looping: Option<Loop>,
    /// Where a rejected approval leads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejection_path: Vec<NodeIndex>,
    /// Where a failure leads once it is final; absent: the run fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_path: Option<Vec<NodeIndex>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_exhausted: OnExhausted,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_condition_error: OnConditionError,
    /// Absent: that of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// Of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: NodeLimits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensator: Option<Compensator>,
    /// The only nodes it may emit to, whoever decides; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_emit_to: Option<Vec<NodeIndex>>,
    /// Tokens one result of this node may emit, if fewer than the run's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_fanout: Option<u32>,
    /// Patches this node asks for are put before a person first.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requires_approval: bool,
    /// The only tools its agent may use; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<Human>,
    /// Its handler gets what the nodes before gave.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requires_context: bool,
    /// Its task is built in, and takes the config as its input.
    #[serde(default, skip_serializing_if = "is_default")]
    pub config_is_input: bool,
    /// As written: it is the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_config: Option<Value>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_entry: bool,
    /// It has no way to emit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_terminal: bool,
    /// Its place in the topological order, loop-backs left out; no two nodes have the same.
    pub rank: u32,
    /// Of the source, from 1.
    pub line: u32,
}

/// What a node is. `function` and `hitl` are `task` and `human`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    Task,
    Http,
    Agent,
    Human,
    Transform,
    Filter,
    Aggregate,
    Conditional,
    Loop,
    Parallel,
    Child,
    Delay,
    Signal,
    /// Of the registry: its task has its name.
    Registered(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Config {
    Inline(Value),
    /// Content that was not there when the graph was compiled: `cas://sha256:..`.
    Unresolved(String),
}

impl Default for Config {
    fn default() -> Self {
        Self::Inline(Value::Object(Map::new()))
    }
}

impl Config {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Inline(Value::Object(map)) if map.is_empty())
    }
}

/// Who decides where tokens go instead of the dependents. Conditions are as written, with content references put inline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Branch {
    Conditional {
        rules: Vec<Rule>,
        #[serde(default)]
        default: Vec<NodeIndex>,
    },
    AgentDriven {
        #[serde(default)]
        available_next_nodes: Vec<NodeIndex>,
        #[serde(default)]
        default: Vec<NodeIndex>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub condition: Value,
    pub next_nodes: Vec<NodeIndex>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Loop {
    /// Absent: always again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Value>,
    pub max_iterations: u32,
    /// The node itself or an earlier one.
    pub loop_back_to: NodeIndex,
    /// Absent: the branch, else the dependents. Empty: the path ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_path: Option<Vec<NodeIndex>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeout_path: Vec<NodeIndex>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub check_condition_first: bool,
    /// A rejection is a pass like any other. Graphs of older builds lack this: there it leads to the rejection path alone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hears_rejections: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeLimits {
    /// Over all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
    /// A token that comes further is refused, if fewer than the run's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hops: Option<u32>,
}

/// The task that undoes what a node has done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compensator {
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
}

/// The question a `human` node puts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Human {
    /// Nobody named: everybody who may decide at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// Absent: it waits for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(skip_serializing_if = "is_default")]
    pub escalation_policy: EscalationPolicy,
    /// In the order of their times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<Escalation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_ui_url: Option<String>,
    /// An approval by timeout is recorded as one. Graphs of older builds lack this: there it is recorded as a timeout.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout_approves: bool,
}

/// What a timeout means. `auto_approve_after_timeout` is `auto_approve`, `auto_reject` is `reject`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EscalationPolicy {
    AutoApprove,
    #[default]
    Reject,
    Escalate,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Escalation {
    /// From the moment the question was put.
    pub after: Millis,
    pub approvers: Vec<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn default_queue() -> String {
    DEFAULT_QUEUE.to_owned()
}

fn is_default_queue(queue: &str) -> bool {
    queue == DEFAULT_QUEUE
}

impl Metadata {
    fn is_empty(&self) -> bool {
        is_default(self)
    }
}

/// One way tokens can leave a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// To the dependents.
    Next,
    /// By the rule of this number.
    Rule(usize),
    /// No rule was true, or the agent named nobody.
    Default,
    /// To those the agent may choose from.
    Choice,
    Break,
    Timeout,
    LoopBack,
    Rejection,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit<'a> {
    pub kind: ExitKind,
    pub to: &'a [NodeIndex],
}

impl Node {
    /// How long one wait of it may take, whether that is for an attempt or for all of them.
    pub fn patience(&self) -> Option<Millis> {
        self.timeout.into_iter().chain(self.limits.deadline).min()
    }

    /// Every way tokens can leave it, empty ones too. Lists nothing can use are left out: dependents beside a branch, and
    /// both behind a loop that says where it breaks to.
    pub fn exits(&self) -> Vec<Exit<'_>> {
        let mut exits = Vec::new();
        let mut exit = |kind, to| exits.push(Exit { kind, to });
        if let Some(looping) = &self.looping {
            exit(ExitKind::LoopBack, std::slice::from_ref(&looping.loop_back_to));
            exit(ExitKind::Timeout, &looping.timeout_path);
        }
        let breaks = self.looping.as_ref().and_then(|looping| looping.break_path.as_deref());
        match (breaks, &self.branch) {
            (Some(path), _) => exit(ExitKind::Break, path),
            (None, None) => exit(ExitKind::Next, &self.dependents),
            (None, Some(Branch::Conditional { rules, default })) => {
                rules.iter().enumerate().for_each(|(n, rule)| exit(ExitKind::Rule(n), &rule.next_nodes));
                exit(ExitKind::Default, default);
            }
            (None, Some(Branch::AgentDriven { available_next_nodes, default })) => {
                exit(ExitKind::Choice, available_next_nodes);
                exit(ExitKind::Default, default);
            }
        }
        exit(ExitKind::Rejection, &self.rejection_path);
        exit(ExitKind::Error, self.error_path.as_deref().unwrap_or_default());
        exits
    }

    /// Every node any of its lists names, whether that list can be used or not; where its loop goes back to is left out.
    pub fn mentions(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let back = self.looping.as_ref().map(|looping| looping.loop_back_to);
        let rules = match &self.branch {
            Some(Branch::Conditional { rules, default }) => {
                rules.iter().flat_map(|rule| &rule.next_nodes).chain(default).copied().collect()
            }
            Some(Branch::AgentDriven { available_next_nodes, default }) => {
                available_next_nodes.iter().chain(default).copied().collect()
            }
            None => Vec::new(),
        };
        let all = self.exits().into_iter().flat_map(|exit| exit.to.iter().copied()).chain(rules);
        all.chain(self.dependents.iter().copied()).filter(move |target| Some(*target) != back)
    }

    /// Every node it can emit to, some perhaps twice. Where its loop goes back to is left out, whichever exit leads there:
    /// these are the ways forward.
    pub fn targets(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        let back = self.looping.as_ref().map(|looping| looping.loop_back_to);
        let all = self.exits().into_iter().flat_map(|exit| exit.to.iter().copied());
        all.filter(move |target| Some(*target) != back)
    }
}

impl Graph {
    pub fn find(&self, id: &str) -> Option<NodeIndex> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// Where runs begin, in the order of the source.
    pub fn entries(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_entry).map(|(index, _)| index)
    }

    /// All nodes from first to last, loop-backs left out.
    pub fn in_order(&self) -> Vec<NodeIndex> {
        let mut order: Vec<NodeIndex> = (0..self.nodes.len()).collect();
        order.sort_by_key(|index| self.nodes[*index].rank);
        order
    }
}
