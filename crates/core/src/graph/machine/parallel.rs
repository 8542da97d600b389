//! `parallel`: one task or child for each item of a list, so many at once. Results are in the order of the items. The
//! first failure fails the node and stops the others, unless `settle` wants to know how each of them ended. What the snapshot
//! holds of it does not grow with the list: see [`super::fan_store`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::execute::{Begun, Trouble, options_of};
use super::fan_store::{Page, Result};
use super::look::object;
use super::memory::{Visit, Wait};
use super::outcome::shown;
use super::values::ValueId;
use super::{Machine, Stop, Stopped};
use crate::command::Command;
use crate::failure::{Failure, codes as task_codes};
use crate::flow::limits::MAX_OPEN;
use crate::graph::ir::Node;
use crate::id::CommandId;
use crate::payload::{BlobRef, Payload};
use crate::task::TaskOptions;
use crate::time::Timestamp;

/// However many are asked for, one node has no more under way.
const MOST_AT_ONCE: usize = 1000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fan {
    /// The config without its items, as it was when the node began.
    config: ValueId,
    /// Those of a short list.
    items: ValueId,
    /// Those of a long one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pages: Vec<Page>,
    pub(super) count: usize,
    /// The first item that is not under way.
    next: usize,
    /// The item each of them is about.
    pub open: BTreeMap<CommandId, usize>,
    /// They are children, not tasks.
    pub(super) of_children: bool,
    pub(super) given: BTreeMap<usize, Ended>,
    /// Bytes of those that could go into a segment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) at_hand: u64,
    /// Results that left, and how many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) segments: Vec<BlobRef>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) kept: u64,
    /// Those that fire when a child has taken too long.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    clocks: BTreeMap<CommandId, CommandId>,
    /// Those that fire when an item is tried again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) pauses: BTreeMap<CommandId, usize>,
    /// Of items whose child has failed, how often.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<usize, u32>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ended {
    Given(ValueId),
    Failed(Failure),
}

impl Fan {
    pub fn stops(&self) -> Vec<Command> {
        let stop = if self.of_children { Command::CancelChild } else { Command::CancelTask };
        self.open.keys().copied().map(stop).collect()
    }

    pub fn timers(&self) -> impl Iterator<Item = CommandId> + '_ {
        self.clocks.keys().chain(self.pauses.keys()).copied()
    }

    pub fn awaits(&self, command: CommandId) -> bool {
        self.open.contains_key(&command)
            || self.clocks.contains_key(&command)
            || self.pauses.contains_key(&command)
    }

    /// What it keeps apart.
    pub fn stored(&self) -> impl Iterator<Item = &BlobRef> {
        self.pages.iter().map(Page::content).chain(&self.segments)
    }

    pub(super) fn items(&self) -> ValueId {
        self.items
    }

    fn ended(&self) -> usize {
        self.given.len() + usize::try_from(self.kept).unwrap_or(usize::MAX)
    }

    /// Whether the next answer is that of the last item.
    pub fn is_last(&self) -> bool {
        self.ended() + 1 >= self.count
    }

    /// An item has its answer. Gives its place, and the clock that need not run any more.
    fn close(&mut self, command: CommandId) -> (usize, Option<CommandId>) {
        let clock = self.clocks.iter().find(|(_, child)| **child == command).map(|(clock, _)| *clock);
        clock.map(|clock| self.clocks.remove(&clock));
        (self.open.remove(&command).unwrap_or_default(), clock)
    }

    /// Of items that failed, where that fails nothing else.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.given.values().filter_map(|ended| match ended {
            Ended::Failed(failure) => Some(failure),
            Ended::Given(_) => None,
        })
    }

    pub fn values(&self) -> impl Iterator<Item = ValueId> + '_ {
        let given = self.given.values().filter_map(|ended| match ended {
            Ended::Given(value) => Some(*value),
            Ended::Failed(_) => None,
        });
        let items = Some(self.items).filter(|_| self.pages.is_empty());
        given.chain([self.config]).chain(items)
    }
}

impl Machine<'_> {
    pub fn fan_out(
        &mut self,
        node: &Node,
        mut config: Value,
        (input, since): (ValueId, Timestamp),
    ) -> std::result::Result<Begun, Trouble> {
        let items = self.items(&config, input)?;
        if config.get("task").or_else(|| config.get("workflow")).and_then(Value::as_str).is_none() {
            return Trouble::bad_config("a parallel node has a `task` or a `workflow`");
        }
        let of_children = config.get("task").and_then(Value::as_str).is_none();
        if let Some(fields) = config.as_object_mut() {
            fields.remove("items");
        }
        let count = items.len();
        let config = self.made(config);
        let pages = self.paged(&items);
        let items = if pages.is_empty() { self.made(Value::Array(items)) } else { 0 };
        if count == 0 {
            return Ok(Begun::Gives(items));
        }
        let (open, given, segments) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        let (clocks, pauses, failed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut fan = Fan {
            config,
            items,
            pages,
            count,
            next: 0,
            open,
            of_children,
            given,
            at_hand: 0,
            segments,
            kept: 0,
            clocks,
            pauses,
            failed,
        };
        self.start_more((node, since), &mut fan)?;
        Ok(Begun::Waits(Wait::Fan(fan)))
    }

    fn start_more(&mut self, (node, since): (&Node, Timestamp), fan: &mut Fan) -> Stopped {
        let config = self.look(fan.config)?;
        let asked = config.get("concurrency").and_then(Value::as_u64).unwrap_or(u64::MAX).max(1);
        let at_once = usize::try_from(asked).unwrap_or(MOST_AT_ONCE).min(MOST_AT_ONCE);
        let room = at_once.saturating_sub(fan.open.len() + fan.pauses.len()).min(fan.count - fan.next);
        if room == 0 {
            return Ok(());
        }
        if self.memory.under_way() + fan.open.len() + room > MAX_OPEN {
            let message = "more than 50,000 tasks and children under way: the limit of a run";
            return Stop::failed(task_codes::LIMIT_EXCEEDED, message);
        }
        self.need_items(fan, fan.next..fan.next + room)?;
        for _ in 0..room {
            self.start_item((node, since), fan, &config, fan.next)?;
            fan.next += 1;
        }
        Ok(())
    }

    /// The node's deadline is that of all its items together, whenever each of them begins.
    fn start_item(
        &mut self,
        (node, since): (&Node, Timestamp),
        fan: &mut Fan,
        config: &Value,
        place: usize,
    ) -> Stopped {
        let deadline = self.left_of(node, since);
        let (text, item) = (self.item_text(fan, place)?, Some(place as u64));
        let number = match config.get("task").and_then(Value::as_str) {
            Some(task) => {
                let input = object(&[("config", &config.to_string()), ("input", &text)]);
                self.run_task(task.to_owned(), input, TaskOptions { deadline, item, ..options_of(node) })
            }
            None => {
                let workflow = config.get("workflow").and_then(Value::as_str).unwrap_or_default();
                let input = Payload::parse(text).unwrap_or_default();
                let child = self.run_child(workflow.to_owned(), input, deadline, (node, item));
                if let Some(timeout) = node.timeout {
                    fan.clocks.insert(self.timer(self.input.at.plus(timeout)), child);
                }
                child
            }
        };
        fan.open.insert(number, place);
        Ok(())
    }

    /// A child has taken too long, or an item is tried again.
    pub fn fan_fired(&mut self, mut visit: Visit, mut fan: Fan, timer: CommandId) -> Stopped {
        if let Some(child) = fan.clocks.remove(&timer) {
            self.commands.push(Command::CancelChild(child));
            let failure = Failure::new(task_codes::TIMEOUT, "the child took too long");
            return self.fan_failed(visit, fan, child, &failure);
        }
        if let Some(place) = fan.pauses.remove(&timer) {
            let plan = self.plan.clone();
            let config = self.look(fan.config)?;
            let node = plan.node(self.place(&visit.node));
            self.start_item((node, visit.since), &mut fan, &config, place)?;
        }
        visit.wait = Wait::Fan(fan);
        self.memory.open.insert(visit.tokens[0].id, visit);
        Ok(())
    }

    pub fn fan_given(&mut self, visit: Visit, mut fan: Fan, command: CommandId, output: &Payload) -> Stopped {
        let (place, clock) = fan.close(command);
        self.commands.extend(clock.map(Command::CancelTimer));
        let value = self.memory.values.add(output.clone());
        self.note_ended(&mut fan, place, Ended::Given(value));
        self.fan_on(visit, fan, command)
    }

    pub fn fan_failed(
        &mut self,
        mut visit: Visit,
        mut fan: Fan,
        command: CommandId,
        failure: &Failure,
    ) -> Stopped {
        let (place, clock) = fan.close(command);
        self.commands.extend(clock.map(Command::CancelTimer));
        let config = self.look(fan.config)?;
        if fan.of_children {
            let attempt = fan.failed.get(&place).copied().unwrap_or_default() + 1;
            let plan = self.plan.clone();
            let node = plan.node(self.place(&visit.node));
            let pause = self.pause_before_next(node, (command, attempt), failure);
            if let Some(delay) = pause.filter(|delay| !self.is_too_late(&visit, *delay)) {
                fan.failed.insert(place, attempt);
                fan.pauses.insert(self.timer(self.input.at.plus(delay)), place);
                visit.wait = Wait::Fan(fan);
                self.memory.open.insert(visit.tokens[0].id, visit);
                return Ok(());
            }
        }
        if config.get("settle").and_then(Value::as_bool) == Some(true) {
            self.note_ended(&mut fan, place, Ended::Failed(failure.clone()));
            return self.fan_on(visit, fan, command);
        }
        self.commands.extend(fan.timers().map(Command::CancelTimer));
        self.commands.extend(fan.stops());
        match fan.of_children {
            true => self.fail_node(visit, Some(command), failure),
            false => self.give_up(visit, Some(command), failure),
        }
    }

    /// Starts what there is room for, or puts the results together.
    fn fan_on(&mut self, mut visit: Visit, mut fan: Fan, command: CommandId) -> Stopped {
        if fan.ended() < fan.count {
            let plan = self.plan.clone();
            self.start_more((plan.node(self.place(&visit.node)), visit.since), &mut fan)?;
            visit.wait = Wait::Fan(fan);
            self.memory.open.insert(visit.tokens[0].id, visit);
            return Ok(());
        }
        let settle = self.look(fan.config)?.get("settle").and_then(Value::as_bool) == Some(true);
        let text = self.results_of(&fan, |ended, out| match ended {
            Result::Given(result) if settle => {
                out.push_str(&format!("{{\"status\":\"completed\",\"result\":{result},\"error\":null}}"));
            }
            Result::Given(result) => out.push_str(result),
            Result::Failed(failure) => {
                let error = shown(&visit.node, failure);
                out.push_str(&json!({"status": "failed", "result": null, "error": error}).to_string());
            }
        })?;
        self.outcome(visit, Some(command), Payload::parse(text).unwrap_or_default(), 1)
    }
}
