//! Reads the bounds: limits of runs and nodes, retries, and compensators.

use rhythm_core::retry::{Backoff, PolicyError, RetryPolicy};
use rhythm_core::time::Millis;
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};
use serde_json::Value;

use super::report::{given, whole};
use super::{Compiler, keys};
use crate::codes;
use crate::ir::{Compensator, Limits};

/// Accepted names of the run's time limit and of the payload limit. There are several, so that a limit is not
/// lost because of its name.
const WALL_TIME: [&str; 10] = [
    "max_wall_time",
    "wall_time",
    "max_wall_clock",
    "wall_clock",
    "max_runtime",
    "max_duration",
    "max_time",
    "time_limit",
    "deadline",
    "timeout",
];
const BYTES: [&str; 6] = [
    "max_bytes",
    "max_payload_bytes",
    "payload_bytes",
    "max_output_bytes",
    "max_size_bytes",
    "max_bytes_scanned",
];

/// The `limits` of a node.
#[derive(Default)]
pub struct NodeBounds {
    pub deadline: Option<Millis>,
    pub max_hops: Option<u32>,
    pub max_fanout: Option<u32>,
}

impl<'d> Compiler<'d, '_> {
    pub(super) fn limits(&mut self, root: &'d Tree) -> Limits {
        let mut limits = Limits::default();
        let Some(block) = self.report.block(root, "limits") else { return limits };
        self.report.keys(block, keys::LIMITS, "`limits`");
        limits.max_hops = self.report.count(block, "max_hops").unwrap_or(limits.max_hops);
        limits.max_fanout = self.report.count(block, "max_fanout").unwrap_or(limits.max_fanout);
        for stem in WALL_TIME {
            limits.wall_time = limits.wall_time.or_else(|| self.report.length(block, stem));
        }
        for key in BYTES {
            limits.max_bytes = limits.max_bytes.or_else(|| self.report.count(block, key).map(u64::from));
        }
        limits
    }

    pub(super) fn node_limits(&mut self, node: &'d Tree) -> NodeBounds {
        let Some(block) = self.report.block(node, "limits") else { return NodeBounds::default() };
        self.report.keys(block, keys::NODE_LIMITS, "`limits` of a node");
        NodeBounds {
            deadline: self.report.length(block, "deadline"),
            max_hops: self.report.count(block, "max_hops"),
            max_fanout: self.report.count(block, "max_fanout"),
        }
    }

    /// Reads a retry policy: a number of attempts, or a mapping with the keys of graphs or of tasks.
    pub(super) fn retry(&mut self, of: &Tree) -> Option<RetryPolicy> {
        let key = if given(of, "retry").is_some() { "retry" } else { "retries" };
        let tree = given(of, key)?;
        let mut policy = RetryPolicy::default();
        match &tree.kind {
            TreeKind::Scalar(Value::Number(_)) => policy.max_attempts = self.attempts(of, key)?,
            TreeKind::Mapping(_) => self.policy_fields(tree, &mut policy),
            _ => {
                let help = "write for example `retry: 3` or `retry: {max_attempts: 3, backoff_ms: 1000}`";
                self.report.misfit(tree, format!("`{key}` is a number of attempts or a policy"), help);
                return None;
            }
        }
        if let Err(error) = policy.check() {
            let key = match error {
                PolicyError::MaxAttempts(_) => ["max_attempts", "max_attempts"],
                PolicyError::Multiplier(_) => ["backoff_multiplier", "multiplier"],
                PolicyError::Jitter(_) => ["jitter", "jitter"],
                PolicyError::MaxDelay { .. } => ["max_delay", "max_backoff_ms"],
            };
            let place = key.into_iter().find_map(|key| tree.get(key)).unwrap_or(tree);
            self.report.wrong(
                codes::VALUE,
                place.span,
                error.to_string(),
                "this retry policy cannot be used",
                "write for example `{max_attempts: 3, backoff_ms: 1000, backoff_multiplier: 2}`",
            );
            return None;
        }
        Some(policy)
    }

    /// Reads a number of attempts. 0 is read as 1, for no retry: the first attempt is always made.
    fn attempts(&mut self, of: &Tree, key: &str) -> Option<u32> {
        match &given(of, key)?.kind {
            TreeKind::Scalar(Value::Number(number)) if whole(number) == Some(0) => Some(1),
            _ => self.report.count(of, key),
        }
    }

    fn policy_fields(&mut self, tree: &Tree, policy: &mut RetryPolicy) {
        self.report.keys(tree, keys::RETRY, "`retry`");
        policy.max_attempts = self.attempts(tree, "max_attempts").unwrap_or(policy.max_attempts);
        if let Some(delay) = self.delay(tree, &["backoff", "initial_delay"]) {
            policy.initial_delay = delay;
            // A delay longer than the default maximum raises the maximum instead of being cut.
            policy.max_delay = policy.max_delay.max(delay);
        }
        policy.max_delay = self.delay(tree, &["max_delay", "max_backoff"]).unwrap_or(policy.max_delay);
        for key in ["backoff_multiplier", "multiplier"] {
            policy.multiplier = self.number(tree, key).unwrap_or(policy.multiplier);
        }
        policy.jitter = self.number(tree, "jitter").unwrap_or(policy.jitter);
        policy.no_retry_on = self.report.texts(tree, "no_retry_on");
        if let Some(kind) = given(tree, "backoff").and_then(Tree::as_str) {
            match kind {
                "constant" => policy.backoff = Backoff::Constant,
                "linear" => policy.backoff = Backoff::Linear,
                "exponential" => policy.backoff = Backoff::Exponential,
                _ => {}
            }
        }
    }

    /// Reads a delay. The key `backoff` holds a kind when its value is one of the three words, and a length
    /// otherwise.
    fn delay(&mut self, tree: &Tree, stems: &[&str]) -> Option<Millis> {
        let is_kind = |stem: &str| {
            let word = given(tree, stem).and_then(Tree::as_str);
            word.is_some_and(|word| ["constant", "linear", "exponential"].contains(&word))
        };
        stems.iter().find_map(|stem| match is_kind(stem) {
            true => tree.get(&format!("{stem}_ms")).and_then(|_| {
                let only = tree.entries().iter().filter(|entry| entry.key != *stem).cloned().collect();
                self.report.length(&Tree { kind: TreeKind::Mapping(only), span: tree.span }, stem)
            }),
            false => self.report.length(tree, stem),
        })
    }

    fn number(&mut self, of: &Tree, key: &str) -> Option<f64> {
        let tree = given(of, key)?;
        if let TreeKind::Scalar(Value::Number(number)) = &tree.kind {
            return number.as_f64();
        }
        self.report.misfit(tree, format!("`{key}` is a number"), "write for example 2");
        None
    }

    pub(super) fn compensator(&mut self, node: &'d Tree) -> Option<Compensator> {
        let block = self.report.block(node, "compensator")?;
        self.report.keys(block, keys::COMPENSATOR, "a compensator");
        let task = self.report.text(block, "action").or_else(|| self.report.text(block, "task"));
        let retry = self.retry(block);
        let timeout = self.report.length(block, "timeout");
        if given(block, "action").or_else(|| given(block, "task")).is_none() {
            self.report.wrong(
                codes::VALUE,
                block.span,
                "`action` is missing",
                "a compensator names the task that undoes the node's work",
                "write for example `compensator: {action: stripe.refund}`",
            );
        }
        Some(Compensator { task: task?.to_owned(), timeout, retry })
    }
}
