//! Reads the settings of a `human` node: the question, its approvers, and the action on a timeout. They are
//! in `human_config` or in the config.

use rhythm_syntax::Span;
use rhythm_syntax::diagnostic::Severity;
use rhythm_syntax::did_you_mean::closest;
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};
use serde_json::{Map, Value};

use super::report::given;
use super::{Compiler, Context, keys};
use crate::ir::{Escalation, EscalationPolicy, Human};

const POLICIES: [(&str, EscalationPolicy); 6] = [
    ("auto_approve_after_timeout", EscalationPolicy::AutoApprove),
    ("auto_approve", EscalationPolicy::AutoApprove),
    ("reject", EscalationPolicy::Reject),
    ("auto_reject", EscalationPolicy::Reject),
    ("escalate", EscalationPolicy::Escalate),
    ("fail", EscalationPolicy::Fail),
];

/// Reads the settings of an approval that a handler requests, with the keys of `human_config`. Fails with the
/// first error when a setting is not valid.
pub fn read_question(settings: &Value) -> Result<Human, String> {
    let empty = Tree::of(Value::Object(Map::new()), Span::new(0, 0));
    let tree = Tree::of(settings.clone(), Span::new(0, 0));
    if !matches!(tree.kind, TreeKind::Mapping(_)) {
        return Err("write for example {\"approvers\": [\"ann\"], \"timeout\": \"24h\"}".to_owned());
    }
    let context = Context::default();
    let mut compiler = Compiler::new("", &context);
    compiler.report.keys(&tree, keys::HUMAN, "an approval");
    let human = compiler.human(&empty, Some(&tree));
    let wrong = compiler.report.finish().into_iter().find(|found| found.severity == Severity::Error);
    wrong.map_or(Ok(human), |found| Err(format!("{}: {}", found.title, found.label)))
}

impl<'d> Compiler<'d, '_> {
    pub(super) fn human(&mut self, node: &'d Tree, config: Option<&Tree>) -> Human {
        let own = self.report.block(node, "human_config");
        if let Some(own) = own {
            self.report.keys(own, keys::HUMAN, "`human_config`");
        }
        let empty = Tree { kind: TreeKind::Mapping(Vec::new()), span: node.span };
        // Returns the block that has any of these keys.
        let holder = |stem: &str| {
            let has = |tree: &&Tree| tree.entries().iter().any(|entry| entry.key.starts_with(stem));
            own.filter(has).or(config.filter(has)).unwrap_or(&empty)
        };
        let escalation = self.escalation(holder("escalation"));
        let policy = self.policy(holder("escalation_policy"));
        let usual = if escalation.is_empty() { EscalationPolicy::Reject } else { EscalationPolicy::Escalate };
        let approvers = holder("approver");
        Human {
            approvers: self.approvers(approvers),
            timeout: self.report.length(holder("timeout"), "timeout"),
            timeout_approves: policy == Some(EscalationPolicy::AutoApprove),
            escalation_policy: policy.unwrap_or(usual),
            escalation,
            approval_ui_url: self
                .report
                .text(holder("approval_ui_url"), "approval_ui_url")
                .map(str::to_owned),
        }
    }

    fn approvers(&mut self, of: &Tree) -> Vec<String> {
        let mut approvers = self.report.texts(of, "approvers");
        approvers.extend(self.report.texts(of, "approver"));
        approvers
    }

    fn policy(&mut self, of: &Tree) -> Option<EscalationPolicy> {
        let name = self.report.text(of, "escalation_policy")?;
        let found = POLICIES.iter().find(|(known, _)| *known == name).map(|(_, policy)| *policy);
        let place = given(of, "escalation_policy");
        if found.is_none() {
            let names = POLICIES.map(|(name, _)| name);
            let help = match closest(name, names) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("the policies are {}", names.join(", ")),
            };
            self.report.unknown_word(place, "there is no such escalation policy", &help);
        }
        found
    }

    fn escalation(&mut self, of: &Tree) -> Vec<Escalation> {
        let help = "write for example `{after: 24h, approvers: [director]}`";
        let mut steps = Vec::new();
        for tree in self.report.list(of, "escalation").unwrap_or_default() {
            if !matches!(tree.kind, TreeKind::Mapping(_)) {
                self.report.misfit(tree, "a step of an escalation is a mapping", help);
                continue;
            }
            self.report.keys(tree, keys::ESCALATION, "a step of an escalation");
            let approvers = self.approvers(tree);
            match self.report.length(tree, "after") {
                Some(after) if !approvers.is_empty() => steps.push(Escalation { after, approvers }),
                _ => self.report.misfit(tree, "a step of an escalation says when, and whom to ask", help),
            }
        }
        steps.sort_by_key(|step| step.after);
        steps
    }
}
