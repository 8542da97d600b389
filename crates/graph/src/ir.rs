//! The intermediate form: a graph after every check. It is stored beside its source, and the machine runs it.
//!
//! Nodes are in the order of the source and are addressed by index. A document may have two spellings for
//! something; this form has one. Only the compiler creates graphs.

use std::collections::BTreeMap;

use rhythm_core::retry::RetryPolicy;
use rhythm_core::task::{DEFAULT_QUEUE, OnExhausted};
use rhythm_core::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::node_type::NodeType;

/// Version of this form. A run keeps the form it started with, so older versions stay readable.
pub const FORMAT: u32 = 1;

/// Index of a node in [`Graph::nodes`].
pub type NodeIndex = usize;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    pub format: u32,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: Limits,
    /// JSON Schema of a run's inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Value>,
    /// The graph may lack a terminal node.
    #[serde(default, skip_serializing_if = "is_default")]
    pub endless: bool,
    pub nodes: Vec<Node>,
    /// Content that was put inline, by its reference. A patched document is compiled with the same content.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, Value>,
    /// The registered types of its nodes, as they were at compile time.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub types: BTreeMap<String, NodeType>,
}

/// Name and description for people. It has no effect on a run.
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

/// Limits of one run. An absent limit falls back to the system's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Maximum length of one token's path; an entry node is at 0.
    pub max_hops: u32,
    /// Maximum number of tokens that one result may emit.
    pub max_fanout: u32,
    /// Time limit, counted from the start of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall_time: Option<Millis>,
    /// Maximum bytes of one payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_hops: 100, max_fanout: 10, wall_time: None, max_bytes: None }
    }
}

/// Behaviour of a node whose condition cannot be evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnConditionError {
    /// The condition counts as not met.
    #[default]
    NotMet,
    Fail,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Node {
    pub id: String,
    /// Text shown to people in place of the id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(rename = "type")]
    pub kind: NodeKind,
    /// Task that a worker does for this node. Absent for a node without a task of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(default = "default_queue", skip_serializing_if = "is_default_queue")]
    pub queue: String,
    #[serde(default, skip_serializing_if = "Config::is_empty")]
    pub config: Config,
    /// Nodes a join waits for, in order: declared dependencies, then senders of further incoming edges. Never
    /// the sender of a loop-back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<NodeIndex>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub wait_for_all: bool,
    /// Targets of its tokens unless a branch or a loop decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<NodeIndex>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looping: Option<Loop>,
    /// Targets after a rejected approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rejection_path: Vec<NodeIndex>,
    /// Targets after a final failure. Absent: the run fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_path: Option<Vec<NodeIndex>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_exhausted: OnExhausted,
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_condition_error: OnConditionError,
    /// Absent: the policy of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
    /// Time limit of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub limits: NodeLimits,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensator: Option<Compensator>,
    /// The only nodes it may emit to, whether the graph or an agent decides. Absent: any node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub can_emit_to: Option<Vec<NodeIndex>>,
    /// Maximum number of tokens that one result of this node may emit, if lower than the run's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_fanout: Option<u32>,
    /// A person must approve the patches that this node requests.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requires_approval: bool,
    /// The only tools its agent may use. Absent: any tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human: Option<Human>,
    /// Its handler also gets the outputs of earlier nodes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub requires_context: bool,
    /// Its task is built in and takes the config as its input.
    #[serde(default, skip_serializing_if = "is_default")]
    pub config_is_input: bool,
    /// Settings for the agent, unchanged from the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_config: Option<Value>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_entry: bool,
    /// It has no exit but a loop-back or an error path.
    #[serde(default, skip_serializing_if = "is_default")]
    pub is_terminal: bool,
    /// Position in the topological order without loop-backs; unique within the graph.
    pub rank: u32,
    /// Line of the source, from 1.
    pub line: u32,
}

/// Type of a node. `function` is read as `task`, and `hitl` as `human`.
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
    /// A type of the registry. Its task has the same name.
    Registered(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Config {
    Inline(Value),
    /// Reference to content that was missing at compile time: `cas://sha256:..`.
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

/// Decides where tokens go, in place of the dependents. Conditions are unchanged from the document, with
/// content references put inline.
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
    /// Absent: the loop always repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<Value>,
    pub max_iterations: u32,
    /// The node itself or an earlier one.
    pub loop_back_to: NodeIndex,
    /// Absent: the branch decides, else the dependents. Empty: the path ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub break_path: Option<Vec<NodeIndex>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub timeout_path: Vec<NodeIndex>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub check_condition_first: bool,
    /// A rejection counts as a pass of the loop. Graphs of older builds lack this field: there a rejection
    /// leads to the rejection path only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hears_rejections: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NodeLimits {
    /// Time limit over all attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Millis>,
    /// Maximum path length of a token that this node accepts, if lower than the run's limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hops: Option<u32>,
}

/// The task that undoes a node's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Compensator {
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPolicy>,
}

/// Settings of the approval that a `human` node requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Human {
    /// Empty: every person with the right to decide.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvers: Vec<String>,
    /// Absent: it waits for ever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    #[serde(skip_serializing_if = "is_default")]
    pub escalation_policy: EscalationPolicy,
    /// Escalation steps in the order of their times.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub escalation: Vec<Escalation>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_ui_url: Option<String>,
    /// An approval by timeout is recorded as an approval. Graphs of older builds lack this field: there it is
    /// recorded as a timeout.
    #[serde(skip_serializing_if = "is_default")]
    pub timeout_approves: bool,
}

/// Effect of a timeout. `auto_approve_after_timeout` is read as `auto_approve`, and `auto_reject` as
/// `reject`.
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
    /// Delay, counted from the creation of the approval.
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

/// A way for tokens to leave a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// To the dependents.
    Next,
    /// By the rule of this number.
    Rule(usize),
    /// No rule was true, or the agent chose no node.
    Default,
    /// To the nodes an agent may choose from.
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
    /// Returns the time limit of one wait of this node: the shorter of its attempt timeout and its deadline.
    pub fn patience(&self) -> Option<Millis> {
        self.timeout.into_iter().chain(self.limits.deadline).min()
    }

    /// Returns every way tokens can leave the node, including empty ones. Lists without effect are left out:
    /// dependents beside a branch, and both when a loop has a break path.
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

    /// Returns every node in its lists, including lists without effect, but not the target of its loop-back.
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

    /// Returns every node it can emit to going forward; a node may occur twice. The target of its loop-back
    /// is left out, even when another exit leads there.
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

    /// Returns the nodes where runs begin, in the order of the source.
    pub fn entries(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.nodes.iter().enumerate().filter(|(_, node)| node.is_entry).map(|(index, _)| index)
    }

    /// Returns all nodes in topological order, without loop-backs.
    pub fn in_order(&self) -> Vec<NodeIndex> {
        let mut order: Vec<NodeIndex> = (0..self.nodes.len()).collect();
        order.sort_by_key(|index| self.nodes[*index].rank);
        order
    }
}
