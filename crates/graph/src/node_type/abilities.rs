//! Capabilities of a type and their effect on its nodes. Unknown keys are kept for other readers.

use rhythm_syntax::did_you_mean::closest;
use serde_json::Value;

use super::{BadType, NodeType};

/// Boolean capabilities, with their default for a registered type.
const FLAGS: [(&str, bool); 5] = [
    ("supports_retry", true),
    ("supports_timeout", true),
    ("requires_context", false),
    ("supports_dynamic_routing", false),
    ("creates_approval", false),
];
const MAX_CONCURRENCY: &str = "max_concurrency";

impl NodeType {
    /// Returns whether its tasks may be retried. When not, a node may not set a retry policy, and a task has
    /// one attempt.
    pub fn supports_retry(&self) -> bool {
        self.flag("supports_retry")
    }

    /// Returns whether a node may set `timeout` for an attempt.
    pub fn supports_timeout(&self) -> bool {
        self.flag("supports_timeout")
    }

    /// Returns whether its handler gets `ctx`, the results of the nodes that have ended.
    pub fn requires_context(&self) -> bool {
        self.flag("requires_context")
    }

    /// Returns whether its answer may choose where tokens go, so that a node may have an `agent_driven`
    /// branch.
    pub fn supports_dynamic_routing(&self) -> bool {
        self.flag("supports_dynamic_routing")
    }

    /// Returns whether its answer may request an approval.
    pub fn creates_approval(&self) -> bool {
        self.flag("creates_approval")
    }

    /// Returns the maximum number of its tasks under way at once, in each run and in each worker process.
    pub fn max_concurrency(&self) -> Option<usize> {
        let most = self.capabilities.get(MAX_CONCURRENCY)?.as_u64()?;
        usize::try_from(most).ok().filter(|most| *most > 0)
    }

    fn flag(&self, key: &str) -> bool {
        let usual = FLAGS.iter().any(|(known, usual)| *known == key && *usual);
        self.capabilities.get(key).and_then(Value::as_bool).unwrap_or(usual)
    }

    pub(super) fn check_capabilities(&self) -> Result<(), BadType> {
        let known = || FLAGS.iter().map(|(key, _)| *key).chain([MAX_CONCURRENCY]);
        for (key, value) in &self.capabilities {
            let reason = match key.as_str() {
                MAX_CONCURRENCY if value.as_u64().is_none_or(|most| most == 0) => {
                    "is a whole number of at least 1".to_owned()
                }
                MAX_CONCURRENCY => continue,
                key if known().any(|known| known == key) => match value {
                    Value::Bool(_) => continue,
                    _ => "is true or false".to_owned(),
                },
                key => match closest(key, known()) {
                    Some(meant) => format!("is not known: did you mean `{meant}`?"),
                    None => continue,
                },
            };
            return Err(BadType::Capability { name: self.name.clone(), key: key.clone(), reason });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Registry;
    use super::*;

    fn with(capabilities: Value) -> NodeType {
        serde_json::from_value(json!({"name": "scorer", "capabilities": capabilities})).unwrap()
    }

    #[test]
    fn a_type_that_says_nothing_may_be_tried_again_and_bounded() {
        let plain = with(json!({}));
        assert!(plain.supports_retry() && plain.supports_timeout());
        assert!(!plain.requires_context() && !plain.supports_dynamic_routing() && !plain.creates_approval());
        assert_eq!(plain.max_concurrency(), None);
        assert_eq!(with(json!({"max_concurrency": 4})).max_concurrency(), Some(4));
        assert!(!with(json!({"supports_retry": false})).supports_retry());
    }

    #[test]
    fn a_capability_that_is_mistyped_is_refused() {
        for (capabilities, reason) in [
            (json!({"supports_retry": "no"}), "`supports_retry` of `scorer` is true or false"),
            (json!({"max_concurrency": 0}), "is a whole number of at least 1"),
            (json!({"suports_retry": false}), "did you mean `supports_retry`?"),
        ] {
            let refused = Registry::default().add(with(capabilities)).unwrap_err().to_string();
            assert!(refused.contains(reason), "{refused}");
        }
        assert_eq!(Registry::default().add(with(json!({"gpu": {"kind": "a"}}))), Ok(()));
    }
}
