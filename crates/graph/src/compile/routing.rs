//! Reads `branch` and `loop`, which decide where tokens go. A node of type `conditional` or `loop` may have
//! them as its config.

use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};
use serde_json::Value;

use super::report::{given, whole};
use super::{Compiler, keys};
use crate::codes;
use crate::ir::{Branch, Loop, NodeIndex, Rule};

impl<'d> Compiler<'d, '_> {
    pub(super) fn branch(&mut self, node: &'d Tree, config: Option<&Tree>) -> Option<Branch> {
        let block = match given(node, "branch") {
            Some(block) => self.report.mapping(block, "branch")?,
            None => config
                .filter(|config| given(config, "rules").is_some() || given(config, "default").is_some())?,
        };
        self.report.keys(block, keys::BRANCH, "a branch");
        if self.report.flag(block, "enabled") == Some(false) {
            return None;
        }
        let default = self.targets(block, "default");
        let leads = given(block, "default").is_some_and(|list| !is_empty(list));
        let branch = match self.is_agent_driven(block) {
            true => {
                let available_next_nodes = self.targets(block, "available_next_nodes").unwrap_or_default();
                let chooses = given(block, "available_next_nodes").is_some_and(|list| !is_empty(list));
                self.check_branch(block, chooses || default.is_some(), "available_next_nodes");
                Branch::AgentDriven { available_next_nodes, default: default.unwrap_or_default() }
            }
            false => {
                let written = self.report.list(block, "rules").unwrap_or_default();
                // Edges with conditions count as rules.
                let routed = node_id(node).is_some_and(|id| self.routed_by_edges.contains(id));
                self.check_branch(block, !written.is_empty() || leads || routed, "rules");
                let rules = written.iter().filter_map(|rule| self.rule(rule)).collect();
                Branch::Conditional { rules, default: default.unwrap_or_default() }
            }
        };
        Some(branch)
    }

    fn is_agent_driven(&mut self, block: &Tree) -> bool {
        match self.report.text(block, "type") {
            Some("agent_driven") => true,
            Some("conditional") => false,
            Some(other) => {
                let help = match closest(other, ["conditional", "agent_driven"]) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => {
                        "write `conditional` for rules, `agent_driven` to let the agent choose".to_owned()
                    }
                };
                self.report.unknown_word(
                    given(block, "type"),
                    "a branch is `conditional` or `agent_driven`",
                    &help,
                );
                given(block, "rules").is_none()
            }
            None => given(block, "rules").is_none() && given(block, "available_next_nodes").is_some(),
        }
    }

    fn check_branch(&mut self, block: &Tree, decides: bool, key: &str) {
        if !decides {
            self.report.say(Diagnostic::new(codes::EMPTY_BRANCH, block.span, "it can never decide").helped(
                format!("write `{key}`, or a `default` with a node; to end the path, leave the branch out"),
            ));
        }
    }

    fn rule(&mut self, tree: &Tree) -> Option<Rule> {
        let help =
            "write for example `{condition: {type: cel, expression: \"output.ok\"}, next_nodes: [ship]}`";
        if !matches!(tree.kind, TreeKind::Mapping(_)) {
            self.report.misfit(tree, "a rule is a mapping", help);
            return None;
        }
        self.report.keys(tree, keys::RULE, "a rule");
        let next_nodes = self.targets(tree, "next_nodes");
        let condition = given(tree, "condition").map(|condition| self.condition(condition));
        for (key, missing) in [("condition", condition.is_none()), ("next_nodes", next_nodes.is_none())] {
            if missing {
                let label = format!("`{key}` is missing");
                self.report.wrong(
                    codes::VALUE,
                    tree.span,
                    label,
                    "a rule has a condition and its targets",
                    help,
                );
            }
        }
        Some(Rule { condition: condition?, next_nodes: next_nodes? })
    }

    pub(super) fn looping(
        &mut self,
        index: NodeIndex,
        node: &'d Tree,
        config: Option<&Tree>,
    ) -> Option<Loop> {
        let is_loop = given(node, "type").and_then(Tree::as_str) == Some("loop");
        let block = match (given(node, "loop"), config) {
            (Some(block), _) => self.report.mapping(block, "loop")?,
            (None, Some(config)) => config,
            (None, None) if is_loop => node,
            (None, None) => return None,
        };
        if !std::ptr::eq(block, node) {
            self.report.keys(block, keys::LOOP, "a loop");
        }
        if self.report.flag(block, "enabled") == Some(false) {
            return None;
        }
        let max_iterations = self.max_iterations(block);
        let back = given(block, "loop_back_to").and_then(|target| match &target.kind {
            TreeKind::List(items) if items.len() == 1 => self.target(&items[0], "loop_back_to"),
            _ => self.target(target, "loop_back_to"),
        });
        Some(Loop {
            condition: given(block, "condition").map(|condition| self.condition(condition)),
            max_iterations: max_iterations.unwrap_or(1),
            loop_back_to: back.unwrap_or(index),
            break_path: self.targets(block, "break_path"),
            timeout_path: self.targets(block, "timeout_path").unwrap_or_default(),
            hears_rejections: false,
            check_condition_first: self.report.flag(block, "check_condition_first").unwrap_or(false),
        })
    }

    fn max_iterations(&mut self, block: &Tree) -> Option<u32> {
        let found = given(block, "max_iterations");
        let count = found.and_then(|found| match &found.kind {
            TreeKind::Scalar(Value::Number(number)) => whole(number),
            _ => None,
        });
        let count = count.and_then(|count| u32::try_from(count).ok()).filter(|count| *count >= 1);
        if count.is_none() {
            let (span, label) = match found {
                Some(found) => (found.span, "not a whole number of at least 1"),
                None => (block.span, "`max_iterations` is missing"),
            };
            self.report.say(Diagnostic::new(codes::MAX_ITERATIONS, span, label).helped(
                "write for example `max_iterations: 5`; after so many passes the tokens go to `timeout_path`",
            ));
        }
        count
    }
}

fn node_id(node: &Tree) -> Option<&str> {
    given(node, "id").or_else(|| given(node, "node_id")).and_then(Tree::as_str)
}

fn is_empty(tree: &Tree) -> bool {
    matches!(&tree.kind, TreeKind::List(items) if items.is_empty())
}
