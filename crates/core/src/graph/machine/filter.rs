//! `filter`: those items that meet a condition, each of them being the `output` the condition looks at.

use std::sync::Arc;

use serde_json::Value;

use super::Machine;
use super::decide::Prepared;
use super::execute::Trouble;
use super::values::ValueId;
use crate::graph::condition::{Answers, Verdict};
use crate::graph::ir::{Config, NodeIndex};
use crate::graph::reference;

/// So many items that cannot be evaluated are told one by one.
const MOST_TOLD: usize = 10;

impl Machine<'_> {
    pub fn filter(&mut self, place: NodeIndex, config: &Value, input: ValueId) -> Result<ValueId, Trouble> {
        let plan = self.plan.clone();
        let items = self.items(config, input)?;
        let fresh;
        // What refers to something is another condition every time.
        let condition = match (config.get("condition"), &plan.rules[place].filter) {
            (Some(source), _) if plan.refers(place) && refers(&plan.node(place).config) => {
                fresh = Prepared::of(source, plan.ids());
                &fresh
            }
            (_, Some(prepared)) => prepared,
            _ => return Trouble::bad_config("a filter has a `condition`"),
        };
        let seen = self.seen(condition, [])?;
        let (mut kept, mut unclear) = (Vec::new(), 0);
        for (nth, item) in items.iter().enumerate() {
            match seen.evaluate(condition, item, &Answers::new()) {
                Verdict::Met => kept.push(item.clone()),
                Verdict::NotMet => {}
                verdict => {
                    unclear += 1;
                    if unclear <= MOST_TOLD {
                        self.tell(plan.id(place), format!("item {}", nth + 1), verdict);
                    }
                }
            }
        }
        if unclear > MOST_TOLD {
            let more = format!("{} more items could not be evaluated", unclear - MOST_TOLD);
            self.tell(plan.id(place), "items".to_owned(), Verdict::NotEvaluable(more));
        }
        Ok(self.made(Value::Array(kept)))
    }

    /// The list a node works on: `items`, or its input when it names none.
    pub fn items(&mut self, config: &Value, input: ValueId) -> Result<Vec<Value>, Trouble> {
        let items = match config.get("items") {
            Some(items) if !items.is_null() => Arc::new(items.clone()),
            _ => self.look(input)?,
        };
        match &*items {
            Value::Array(items) => Ok(items.clone()),
            other => Trouble::bad_config(format!("`items` is a list, not {}", kind_of(other))),
        }
    }
}

fn refers(config: &Config) -> bool {
    match config {
        Config::Inline(config) => config.get("condition").is_some_and(reference::refers),
        Config::Unresolved(_) => false,
    }
}

pub fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
