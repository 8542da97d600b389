//! Reports settings of a node that its registered type does not support.

use rhythm_core::retry::RetryPolicy;
use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::spanned_value::Node as Tree;

use super::Compiler;
use super::report::given;
use crate::codes;
use crate::ir::{Branch, Node, NodeKind};
use crate::node_type::NodeType;

impl Compiler<'_, '_> {
    /// Applies the capabilities of a node's type. Built-in types check each key in their own code.
    pub(super) fn hold_to(&mut self, kind: &NodeType, node: &mut Node, tree: &Tree) {
        node.requires_context = kind.requires_context();
        if !matches!(kind.kind(), NodeKind::Registered(_)) {
            return;
        }
        self.types.entry(kind.name.clone()).or_insert_with(|| kind.clone());
        if !kind.supports_retry() {
            self.unsupported(kind, "supports_retry", &["retry", "retries"], tree);
            node.retry = Some(RetryPolicy { max_attempts: 1, ..RetryPolicy::default() });
        }
        if !kind.supports_timeout() {
            self.unsupported(kind, "supports_timeout", &["timeout", "timeout_ms"], tree);
            let lengths: Vec<&str> = tree.entries().iter().map(|entry| entry.key.as_str()).collect();
            let others =
                lengths.into_iter().filter(|key| key.starts_with("timeout_") && *key != "timeout_ms");
            self.unsupported(kind, "supports_timeout", &others.collect::<Vec<_>>(), tree);
        }
        if !kind.supports_dynamic_routing() && matches!(node.branch, Some(Branch::AgentDriven { .. })) {
            self.unsupported(kind, "supports_dynamic_routing", &["branch"], tree);
        }
    }

    fn unsupported(&mut self, kind: &NodeType, capability: &str, keys: &[&str], tree: &Tree) {
        for key in keys {
            let Some(found) = given(tree, key) else { continue };
            let (title, help) = match capability {
                "supports_retry" => ("does not support retries", "its tasks have one attempt"),
                "supports_timeout" => ("does not support timeouts", "use `limits: {deadline_s: 60}`"),
                _ => ("may not choose where its tokens go", "give the branch `rules`"),
            };
            let name = &kind.name;
            self.report.say(
                Diagnostic::new(
                    codes::UNSUPPORTED,
                    found.span,
                    format!("`{capability}` is not true for `{name}`"),
                )
                .titled(format!("a node of the type `{name}` {title}"))
                .helped(format!("leave it out: {help}, or register the type with `{capability}: true`")),
            );
        }
    }
}
