//! Compiles one node of the document. `edges.rs` connects it with the others.

use rhythm_core::label::{self, MAX_LABEL};
use rhythm_core::task::OnExhausted;
use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::{Diagnostic, excerpt};
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};
use serde_json::Value;

use super::report::given;
use super::{Compiler, Draft, keys};
use crate::codes;
use crate::ir::{Config, Human, Node, NodeIndex, NodeKind, NodeLimits, OnConditionError};
use crate::node_type::NodeType;

/// Task names of types that do not name a task. The `task` in an agent's config is an instruction for the
/// agent, not a task name.
pub const HTTP_TASK: &str = "http.request";
const AGENT_TASK: &str = "agent";
const JQ_TASK: &str = "rhythm.jq";

impl<'d, 'c> Compiler<'d, 'c> {
    pub(super) fn draft(&mut self, index: NodeIndex, tree: &'d Tree) -> Draft<'d> {
        self.report.keys(tree, keys::NODE, "a node");
        self.owner = Some(index);
        let id = self.names.id(index).unwrap_or_default();
        let kind = self.node_type(tree);
        let ir_kind = kind.map_or(NodeKind::Task, NodeType::kind);
        let found = self.config(tree);
        if let Some(config) = found.tree() {
            self.check_references(config);
            self.check_mistaken(&ir_kind, config);
        }
        if let Some(own) = given(tree, "agent_config") {
            self.check_mistaken(&ir_kind, own);
        }
        let routing_config =
            found.tree().filter(|_| matches!(ir_kind, NodeKind::Conditional | NodeKind::Loop));
        let branch = self.branch(tree, routing_config.filter(|_| ir_kind == NodeKind::Conditional));
        let looping = self.looping(index, tree, routing_config.filter(|_| ir_kind == NodeKind::Loop));
        let limits = self.node_limits(tree);
        let timeout = self.report.length(tree, "timeout");
        let asks = kind.is_some_and(NodeType::creates_approval);
        let human = asks.then(|| {
            if ir_kind != NodeKind::Human {
                return self.human(tree, None);
            }
            let human = self.human(tree, found.tree());
            // The person has no more time than the node.
            let timeout = [human.timeout, timeout, limits.deadline].into_iter().flatten().min();
            Human { timeout, ..human }
        });
        // These checks come after the readers of single keys, so that an error is not reported twice.
        if let Some(kind) = kind {
            self.check_config(kind, &found, tree);
            self.check_config_keys(kind, &found);
            self.check_words(kind, &found);
        }
        // The restrictions of an agent are on the node or in its `agent_config`.
        let bound = |key: &str| match given(tree, "agent_config") {
            Some(own) if given(tree, key).is_none() && given(own, key).is_some() => own,
            _ => tree,
        };
        let task = self.task(&ir_kind, tree, found.tree(), id);
        let config_is_input = takes_config(&ir_kind, found.tree(), task.as_deref());
        let mut node = Node {
            id: id.to_owned(),
            label: self.label(tree),
            task,
            queue: self.queue(tree, kind),
            config: self.prepared(&ir_kind, found.value(), found.tree()),
            kind: ir_kind,
            dependencies: Vec::new(),
            wait_for_all: false,
            dependents: self.targets(tree, "dependents").unwrap_or_default(),
            branch,
            looping,
            rejection_path: self.targets(tree, "rejection_path").unwrap_or_default(),
            error_path: self.targets(tree, "error_path"),
            on_exhausted: self.on_exhausted(tree),
            on_condition_error: self.on_condition_error(tree).unwrap_or(self.on_condition_error),
            retry: self.retry(tree),
            timeout,
            limits: NodeLimits { deadline: limits.deadline, max_hops: limits.max_hops },
            compensator: self.compensator(tree),
            can_emit_to: self.targets(tree, "can_emit_to"),
            max_fanout: self.report.count(tree, "max_fanout").or(limits.max_fanout),
            requires_approval: self
                .report
                .flag(bound("requires_approval"), "requires_approval")
                .unwrap_or(false),
            allowed_tools: given(bound("allowed_tools"), "allowed_tools")
                .map(|_| self.report.texts(bound("allowed_tools"), "allowed_tools")),
            human,
            requires_context: false,
            config_is_input,
            agent_config: self.report.block(tree, "agent_config").map(Tree::to_json),
            is_entry: false,
            is_terminal: false,
            rank: 0,
            line: u32::try_from(self.lines.line(tree.span.range().start) + 1).unwrap_or(u32::MAX),
        };
        if let (Some(_), Some(looping)) = (&node.human, &mut node.looping) {
            looping.hears_rejections = true;
        }
        if let Some(kind) = kind {
            self.hold_to(kind, &mut node, tree);
        }
        Draft {
            node,
            id: place_of_id(tree).unwrap_or(tree.span),
            tree,
            declared: self.declared(tree),
            declares: given(tree, "dependencies")
                .is_some_and(|list| !matches!(&list.kind, TreeKind::List(items) if items.is_empty())),
            lists_dependents: given(tree, "dependents").is_some(),
            wait_for_all: self.report.flag(tree, "wait_for_all"),
        }
    }

    /// Returns the node's type. A node without a type is a task, which gives a warning because it may be a
    /// mistake.
    fn node_type(&mut self, tree: &Tree) -> Option<&'c NodeType> {
        let name = match given(tree, "type") {
            Some(_) => self.report.text(tree, "type")?,
            None => {
                // A node without an id is refused for that reason alone.
                if let Some(id) = place_of_id(tree) {
                    let help = "write `type: task` if that is meant; `rhythm node-types list` has the others";
                    let told = Diagnostic::new(codes::NO_TYPE, id, "is taken for a task").helped(help);
                    self.report.say(told);
                }
                "task"
            }
        };
        let registry = self.context.registry;
        let found = registry.find(name);
        if found.is_none() {
            let span = given(tree, "type").map_or(tree.span, |kind| kind.span);
            let help = match registry.closest(name) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => {
                    let known: Vec<&str> = registry.all().map(|kind| kind.name.as_str()).take(40).collect();
                    format!("the types are {}; workers can register others", known.join(", "))
                }
            };
            let title = format!("there is no node type `{}`", excerpt(name));
            self.report.wrong(codes::UNKNOWN_TYPE, span, "is not known", title, &help);
        }
        found
    }

    fn label(&mut self, tree: &Tree) -> Option<String> {
        let label = self.report.text(tree, "label")?;
        if !label::fits(label) {
            let node = given(tree, "label")?;
            let title = format!("`label` has at most {MAX_LABEL} characters");
            self.report.misfit(node, title, "write a few words; `description` has room for more");
        }
        Some(label.to_owned())
    }

    fn task(&mut self, kind: &NodeKind, tree: &'d Tree, config: Option<&Tree>, id: &str) -> Option<String> {
        match kind {
            NodeKind::Task => Some(self.task_name(tree, config, id)),
            NodeKind::Http => Some(HTTP_TASK.to_owned()),
            NodeKind::Agent => Some(AGENT_TASK.to_owned()),
            NodeKind::Transform => Some(JQ_TASK.to_owned()),
            NodeKind::Registered(name) => Some(name.clone()),
            _ => None,
        }
    }

    fn queue(&mut self, tree: &Tree, kind: Option<&NodeType>) -> String {
        let own = self.report.text(tree, "queue").map(str::to_owned);
        own.or_else(|| kind.map(|kind| kind.queue.clone()))
            .unwrap_or_else(|| rhythm_core::task::DEFAULT_QUEUE.to_owned())
    }

    /// Compiles the condition in the config of a filter.
    fn prepared(&mut self, kind: &NodeKind, config: Config, tree: Option<&Tree>) -> Config {
        let condition = tree.filter(|_| *kind == NodeKind::Filter).and_then(|tree| given(tree, "condition"));
        match (config, condition) {
            (Config::Inline(mut value), Some(tree)) => {
                // The condition reads items, not the node's output.
                let owner = self.owner.take();
                value["condition"] = self.condition(tree);
                self.owner = owner;
                Config::Inline(value)
            }
            (config, _) => config,
        }
    }

    fn on_exhausted(&mut self, tree: &Tree) -> OnExhausted {
        match self.report.text(tree, "on_exhausted") {
            None | Some("fail") => OnExhausted::Fail,
            Some("hold") => OnExhausted::Hold,
            Some(_) => {
                self.report.unknown_word(
                    given(tree, "on_exhausted"),
                    "`on_exhausted` is `fail` or `hold`",
                    "write `hold` to keep the run waiting until somebody requeues its dead letter",
                );
                OnExhausted::Fail
            }
        }
    }

    /// Reads `on_condition_error` of a node, or of the metadata for all nodes.
    pub(super) fn on_condition_error(&mut self, tree: &Tree) -> Option<OnConditionError> {
        let found = given(tree, "on_condition_error")?;
        match (found.as_str(), &found.kind) {
            (Some("fail"), _) => Some(OnConditionError::Fail),
            (Some("false"), _) | (_, TreeKind::Scalar(Value::Bool(false))) => Some(OnConditionError::NotMet),
            _ => {
                self.report.unknown_word(
                    Some(found),
                    "`on_condition_error` is `fail` or `false`",
                    "write `fail` to let the node fail when a condition of it cannot be evaluated",
                );
                None
            }
        }
    }

    fn declared(&mut self, tree: &'d Tree) -> Vec<(NodeIndex, Span)> {
        let Some(list) = given(tree, "dependencies") else { return Vec::new() };
        let items = match &list.kind {
            TreeKind::List(items) => items.as_slice(),
            _ => std::slice::from_ref(list),
        };
        let mut declared: Vec<(NodeIndex, Span)> = Vec::new();
        for item in items {
            let found = self.target(item, "dependencies");
            if let Some(index) = found.filter(|index| declared.iter().all(|(known, _)| known != index)) {
                declared.push((index, item.span));
            }
        }
        declared
    }
}

/// Built-in tasks whose input has a form of its own. `echo` is not one: it returns the input that a handler
/// would get.
const OWN_FORM: [&str; 6] = ["sleep", "fail", HTTP_TASK, "rhythm.sandbox", JQ_TASK, "shell.exec"];

/// Returns whether the node's task gets the config itself as its input.
pub fn takes_config(kind: &NodeKind, config: Option<&Tree>, task: Option<&str>) -> bool {
    let name = match kind {
        NodeKind::Task => task,
        NodeKind::Parallel => config.and_then(|config| given(config, "task")).and_then(Tree::as_str),
        _ => None,
    };
    name.is_some_and(|name| OWN_FORM.contains(&name))
}

fn place_of_id(tree: &Tree) -> Option<Span> {
    given(tree, "id").or_else(|| given(tree, "node_id")).map(|id| id.span)
}
