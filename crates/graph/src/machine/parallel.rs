//! `parallel`: runs one task or child for each item of a list, a limited number at once. Results are in the
//! order of the items. The first failure fails the node and stops the others, unless `settle` asks for the
//! result of each item. Its part of the snapshot does not grow with the list: see [`super::fan_store`].

use std::collections::BTreeMap;

use rhythm_core::command::Command;
use rhythm_core::failure::{Failure, codes as task_codes};
use rhythm_core::id::CommandId;
use rhythm_core::payload::{BlobRef, Payload};
use rhythm_core::task::MAX_OPEN;
use rhythm_core::task::TaskOptions;
use rhythm_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::execute::{Begun, Trouble, options_of, own_input};
use super::fan_store::{Page, Result};
use super::look::object;
use super::memory::{Visit, Wait};
use super::outcome::{hurried, shown};
use super::values::ValueId;
use super::{Machine, Stop, Stopped};
use crate::compile::HTTP_TASK;
use crate::ir::{Config, Node};
use crate::reference::{self, Source};

/// Maximum number of items under way for one node, whatever its config asks for.
const MOST_AT_ONCE: usize = 1000;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fan {
    /// The resolved config without its items, from when the node began.
    config: ValueId,
    /// Entries of the config that refer to the item, with the other values they refer to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of_items: Option<OfItems>,
    /// The items of a short list.
    items: ValueId,
    /// The items of a long list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pages: Vec<Page>,
    pub(super) count: usize,
    /// The first item that has not been started.
    next: usize,
    /// The item that each open command works on.
    pub open: BTreeMap<CommandId, usize>,
    /// The commands are children, not tasks.
    pub(super) of_children: bool,
    pub(super) given: BTreeMap<usize, Ended>,
    /// Bytes of the results that could move to a segment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) at_hand: u64,
    /// Segments of results moved out, and the number of those results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) segments: Vec<BlobRef>,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) kept: u64,
    /// Timers for the timeout of a child, with that child.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    clocks: BTreeMap<CommandId, CommandId>,
    /// Timers for the retry of an item, with that item.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) pauses: BTreeMap<CommandId, usize>,
    /// Number of failed attempts of each item whose child has failed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<usize, u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct OfItems {
    entries: ValueId,
    named: Vec<(Source, ValueId)>,
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

    /// Returns the blobs it keeps outside the snapshot.
    pub fn stored(&self) -> impl Iterator<Item = &BlobRef> {
        self.pages.iter().map(Page::content).chain(&self.segments)
    }

    pub(super) fn items(&self) -> ValueId {
        self.items
    }

    fn ended(&self) -> usize {
        self.given.len() + usize::try_from(self.kept).unwrap_or(usize::MAX)
    }

    /// Returns whether the next answer is that of the last item.
    pub fn is_last(&self) -> bool {
        self.ended() + 1 >= self.count
    }

    /// Closes an item that has its answer. Returns its index and the timer that is no longer needed.
    fn close(&mut self, command: CommandId) -> (usize, Option<CommandId>) {
        let clock = self.clocks.iter().find(|(_, child)| **child == command).map(|(clock, _)| *clock);
        clock.map(|clock| self.clocks.remove(&clock));
        (self.open.remove(&command).unwrap_or_default(), clock)
    }

    /// Returns the failures of items that did not fail the node.
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
        let of_items = self.of_items.iter().flat_map(|of| of.named.iter().map(|(_, value)| *value));
        let entries = self.of_items.iter().map(|of| of.entries);
        given.chain([self.config]).chain(items).chain(entries).chain(of_items)
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
        let entries = match &node.config {
            Config::Inline(config) => Value::Object(reference::apart(config).0),
            Config::Unresolved(_) => Value::Null,
        };
        let of_items = entries
            .as_object()
            .is_some_and(|entries| !entries.is_empty())
            .then(|| OfItems { named: self.named_by(&entries), entries: self.made(entries) });
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
            of_items,
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

    fn start_more(
        &mut self,
        (node, since): (&Node, Timestamp),
        fan: &mut Fan,
    ) -> std::result::Result<(), Trouble> {
        let config = self.look(fan.config)?;
        let asked = config.get("concurrency").and_then(Value::as_u64).unwrap_or(u64::MAX).max(1);
        let at_once = usize::try_from(asked).unwrap_or(MOST_AT_ONCE).min(MOST_AT_ONCE);
        let room = at_once.saturating_sub(fan.open.len() + fan.pauses.len()).min(fan.count - fan.next);
        if room == 0 {
            return Ok(());
        }
        if self.memory.under_way() + fan.open.len() + room > MAX_OPEN {
            let message = "more than 50,000 tasks and children under way: the limit of a run";
            return Ok(Stop::failed(task_codes::LIMIT_EXCEEDED, message)?);
        }
        self.need_items(fan, fan.next..fan.next + room)?;
        for _ in 0..room {
            self.start_item((node, since), fan, &config, fan.next)?;
            fan.next += 1;
        }
        Ok(())
    }

    /// Starts an item. The node's deadline covers all its items together, whenever each of them begins.
    fn start_item(
        &mut self,
        (node, since): (&Node, Timestamp),
        fan: &mut Fan,
        config: &Value,
        place: usize,
    ) -> std::result::Result<(), Trouble> {
        let deadline = self.left_of(node, since);
        let text = self.item_text(fan, place)?;
        let item = Some(place as u64);
        let full;
        let config = match fan.of_items.clone() {
            None => config,
            Some(of) => {
                full = self.with_item(config, of, &text)?;
                &full
            }
        };
        let number = match config.get("task").and_then(Value::as_str) {
            Some(task) => {
                let input = match node.config_is_input {
                    true => own_input(Some(task), config.clone()),
                    false => object(&[("config", &config.to_string()), ("input", &text)]),
                };
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

    /// Returns the config of one item, with references to the item resolved.
    fn with_item(&mut self, config: &Value, of: OfItems, item: &str) -> std::result::Result<Value, Trouble> {
        let OfItems { entries, mut named } = of;
        let entries = self.look(entries)?;
        let item = self.memory.values.add(Payload::parse(item.to_owned()).unwrap_or_default());
        named.push((Source::Item, item));
        let asks = config.get("task").and_then(Value::as_str) == Some(HTTP_TASK);
        let resolve = if asks { reference::resolve_request } else { reference::resolve };
        let resolved = self.resolved_with(&entries, named, resolve)?;
        let mut full = config.clone();
        if let (Some(fields), Value::Object(resolved)) = (full.as_object_mut(), resolved) {
            fields.extend(resolved);
        }
        Ok(full)
    }

    /// Handles a timer: a child has taken too long, or an item is retried.
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
            if let Err(trouble) = self.start_item((node, visit.since), &mut fan, &config, place) {
                return self.fan_broken(visit, fan, timer, trouble);
            }
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
        let failure = if fan.of_children {
            let attempt = fan.failed.get(&place).copied().unwrap_or_default() + 1;
            let plan = self.plan.clone();
            let node = plan.node(self.place(&visit.node));
            let failed = failure.clone().with_attempts(attempt);
            match self.pause_before_next(node, (command, attempt), failure) {
                Some(delay) if self.is_too_late(&visit, delay) => hurried(failed),
                Some(delay) => {
                    fan.failed.insert(place, attempt);
                    fan.pauses.insert(self.timer(self.input.at.plus(delay)), place);
                    visit.wait = Wait::Fan(fan);
                    self.memory.open.insert(visit.tokens[0].id, visit);
                    return Ok(());
                }
                None => failed,
            }
        } else {
            self.out_of_time(&visit, command, failure)
        };
        if config.get("settle").and_then(Value::as_bool) == Some(true) {
            self.note_ended(&mut fan, place, Ended::Failed(failure));
            return self.fan_on(visit, fan, command);
        }
        self.commands.extend(fan.timers().map(Command::CancelTimer));
        self.commands.extend(fan.stops());
        match fan.of_children {
            true => self.fail_node(visit, Some(command), &failure),
            false => self.give_up(visit, Some(command), &failure),
        }
    }

    /// Fails the node because the config of an item cannot be resolved, as it would have failed for the first
    /// item.
    fn fan_broken(&mut self, visit: Visit, fan: Fan, command: CommandId, trouble: Trouble) -> Stopped {
        match trouble {
            Trouble::Stop(stop) => Err(stop),
            Trouble::Node(failure) => {
                self.commands.extend(fan.timers().map(Command::CancelTimer));
                self.commands.extend(fan.stops());
                self.fail_node(visit, Some(command), &failure)
            }
        }
    }

    /// Starts the next items, or combines the results after the last one.
    fn fan_on(&mut self, mut visit: Visit, mut fan: Fan, command: CommandId) -> Stopped {
        if fan.ended() < fan.count {
            let plan = self.plan.clone();
            let node = plan.node(self.place(&visit.node));
            if let Err(trouble) = self.start_more((node, visit.since), &mut fan) {
                return self.fan_broken(visit, fan, command, trouble);
            }
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
