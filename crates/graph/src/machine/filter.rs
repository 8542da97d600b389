//! `filter`: keeps the items that meet a condition; each item is the `output` the condition reads. When the
//! condition needs a sandbox, the items are evaluated one after the other.

use std::sync::Arc;

use rhythm_core::id::CommandId;
use rhythm_core::payload::Payload;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::decide::Prepared;
use super::execute::{Begun, Trouble};
use super::memory::{NodeId, Visit, Wait};
use super::route::condition_error;
use super::values::ValueId;
use super::{Machine, Stopped};
use crate::condition::{Answers, Conditions, Verdict};
use crate::ir::{Config, Node, OnConditionError};
use crate::reference;

/// Maximum number of items that cannot be evaluated and get a history row of their own.
const MOST_TOLD: usize = 10;

/// A filter that waits for a sandbox answer about one of its items.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sifting {
    pub items: ValueId,
    /// The condition as resolved when the node began, when it contains a reference.
    pub condition: Option<ValueId>,
    /// The current item, and the earlier items that are kept.
    next: usize,
    kept: Vec<usize>,
    unclear: usize,
    pub task: CommandId,
    /// Number of the condition's program that is running.
    index: u32,
    answers: Answers,
}

impl Machine<'_> {
    pub fn filter(&mut self, node: &NodeId, config: &Value, input: ValueId) -> Result<Begun, Trouble> {
        let plan = self.plan.clone();
        let place = self.place(node);
        let items = self.items(config, input)?;
        let items = self.made(Value::Array(items));
        // A condition with a reference differs from visit to visit.
        let refers = plan.refers(place) && refers(&plan.node(place).config);
        let condition = config.get("condition").filter(|_| refers).cloned();
        let condition = condition.map(|condition| self.made(condition));
        if condition.is_none() && plan.rules[place].filter.is_none() {
            return Trouble::bad_config("a filter has a `condition`");
        }
        let (kept, answers) = (Vec::new(), Answers::new());
        let (next, unclear, task, index) = (0, 0, CommandId(0), 0);
        let sifting = Sifting { items, condition, next, kept, unclear, task, index, answers };
        self.sift(node, sifting)
    }

    /// Handles an answer about one item and continues with the others.
    pub fn sifted(
        &mut self,
        mut visit: Visit,
        mut sifting: Sifting,
        answer: Result<Payload, String>,
    ) -> Stopped {
        let answer = self.answer_of(answer)?;
        sifting.answers.insert(sifting.index, answer);
        match self.sift(&visit.node.clone(), sifting) {
            Ok(Begun::Gives(value)) => self.result(visit, None, value, 1),
            Ok(Begun::Waits(wait)) => {
                visit.wait = wait;
                self.memory.open.insert(visit.tokens[0].id, visit);
                Ok(())
            }
            Err(Trouble::Node(failure)) => self.fail_node(visit, None, &failure),
            Err(Trouble::Stop(stop)) => Err(stop),
        }
    }

    /// Evaluates items until all are done or one needs a sandbox.
    fn sift(&mut self, node: &NodeId, mut sifting: Sifting) -> Result<Begun, Trouble> {
        let plan = self.plan.clone();
        let fails = plan.node(self.place(node)).on_condition_error == OnConditionError::Fail;
        self.need(sifting.values())?;
        let fresh;
        let condition = match (sifting.condition, &plan.rules[self.place(node)].filter) {
            (Some(source), _) => {
                fresh = Prepared::of(&*self.look(source)?, plan.ids(), &mut Conditions::default());
                &fresh
            }
            (None, Some(prepared)) => prepared,
            (None, None) => return Ok(Begun::Gives(sifting.items)),
        };
        let seen = self.seen(condition, sifting.values())?;
        let items = self.look(sifting.items)?;
        let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
        while let Some(item) = items.get(sifting.next) {
            match seen.evaluate(condition, item, &sifting.answers) {
                Verdict::Ask(call) => {
                    sifting.index = call.index;
                    sifting.task = self.ask_sandbox(&call);
                    return Ok(Begun::Waits(Wait::Sifting(sifting)));
                }
                Verdict::Met => sifting.kept.push(sifting.next),
                Verdict::NotMet => {}
                Verdict::NotEvaluable(reason) if fails => {
                    let name = format!("item {}", sifting.next + 1);
                    let told = seen.looked_at(condition, item);
                    let failure = condition_error(node, &name, condition, (&reason, &told));
                    self.tell(node, name, Verdict::NotEvaluable(reason));
                    return Err(Trouble::Node(failure));
                }
                verdict => {
                    sifting.unclear += 1;
                    if sifting.unclear <= MOST_TOLD {
                        self.tell(node, format!("item {}", sifting.next + 1), verdict);
                    }
                }
            }
            sifting.next += 1;
            sifting.answers.clear();
        }
        if sifting.unclear > MOST_TOLD {
            let more = format!("{} more items could not be evaluated", sifting.unclear - MOST_TOLD);
            self.tell(node, "items".to_owned(), Verdict::NotEvaluable(more));
        }
        let kept = sifting.kept.iter().map(|place| items[*place].clone()).collect();
        Ok(Begun::Gives(self.made(Value::Array(kept))))
    }

    /// Returns the list a node works on: `items`, or its input when it sets none.
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

impl Sifting {
    /// Returns the condition of a filter as written.
    pub fn asked_of(node: &Node) -> Option<&Value> {
        match &node.config {
            Config::Inline(config) => config.get("condition"),
            Config::Unresolved(_) => None,
        }
    }

    pub fn values(&self) -> impl Iterator<Item = ValueId> + use<> {
        self.condition.into_iter().chain([self.items])
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
