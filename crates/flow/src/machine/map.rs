//! `Task.map` and `Workflow.map` run a task or a child for each item of a list, with a limit on open items.
//! The call cuts the list into segments. The snapshot holds the progress, the open items, and references to
//! the results.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::command::Command;
use rhythm_core::event::{EventData, Warning};
use rhythm_core::failure::codes as failures;
use rhythm_core::payload::Payload;
use rhythm_core::task::{TaskOptions, TaskSpec};

use super::Machine;
use super::child::Sort;
use super::gathered::Gathered;
use super::handle::{Handle, Kind, Manner, State};
use super::keep::Keeper;
use super::memory::Memory;
use super::message::report;
use super::options::{Options, at_once};
use crate::runtime_error::{Evaluated, Stop, codes, short, wrong_argument};
use crate::value::{ErrorValue, List, Object, Value};

/// Default number of open items.
const USUAL: u64 = 10;
/// Largest number of items in a list.
const MOST_ITEMS: usize = 1_000_000;

#[derive(Clone, Debug)]
pub struct Map {
    /// Name of the task or workflow.
    pub name: Arc<str>,
    pub of_children: bool,
    pub items: Value,
    pub count: u64,
    /// Index of the first item that was not started.
    pub next: u64,
    pub at_once: u64,
    /// Field of an item that holds the idempotency key of its task.
    pub key: Option<Arc<str>>,
    pub options: TaskOptions,
    pub how: Manner,
    /// Whether an await has read a settled group that contains this map. The results of its items are then
    /// irrelevant.
    pub is_read: bool,
    /// Open items: the number of their task or child, and their index.
    pub open: BTreeMap<u64, u64>,
    pub gathered: Gathered,
}

impl Memory {
    /// Returns the map that an open item belongs to.
    pub fn map_of(&self, item: u64) -> Option<u64> {
        let has_it = |number: &&u64| match self.handles.get(number) {
            Some(Handle { kind: Kind::Map(map), state: State::Open, .. }) => map.open.contains_key(&item),
            _ => false,
        };
        self.maps.iter().find(has_it).copied()
    }

    /// Returns that map and the index of the item in its list.
    pub fn item_of(&self, item: u64) -> Option<(&Map, u64)> {
        match &self.handles.get(&self.map_of(item)?)?.kind {
            Kind::Map(map) => Some((map, *map.open.get(&item)?)),
            _ => None,
        }
    }
}

impl Map {
    pub fn has_more(&self) -> bool {
        self.next < self.count
    }
}

/// An item that can be started.
struct Ready {
    place: u64,
    input: Payload,
    key: Option<String>,
}

impl Machine<'_> {
    pub fn map(
        &mut self,
        function: &str,
        of_children: bool,
        (name, items, options): (Option<Value>, Option<Value>, Option<Value>),
    ) -> Evaluated {
        let name = self.named(function, "name", name)?;
        let (options, at_once) = self.map_options(function, of_children, options)?;
        let items = match items.unwrap_or(Value::Null) {
            Value::Blob(blob) => self.look(Value::Blob(blob))?,
            items => items,
        };
        let count = match &items {
            Value::List(list) => list.len(),
            Value::Kept(list) if list.is_list() => list.count(),
            other => {
                return wrong_argument(format!("{function} takes a list, not {}", other.described()));
            }
        };
        if items.bulk().holds_handles() {
            return wrong_argument(format!("the items of {function} cannot be handles: `await` them first"));
        }
        if count > MOST_ITEMS {
            return wrong_argument(format!(
                "{function} takes a list of at most 1,000,000 items, not {count}"
            ));
        }
        self.meter.output(64)?;
        let number = self.number();
        if count == 0 {
            let handle =
                self.started(number, Kind::Map(Box::new(Map::of(name, of_children, options, at_once))));
            self.end_map(number.0, State::Done(Value::List(List::default()), self.memory.clock));
            return Ok(handle);
        }
        self.meter.scan(items.weight())?;
        let mut keeper = Keeper::knowing(std::mem::take(&mut self.memory.known));
        let mut items = items;
        let cut = keeper.keep_items(&mut items);
        let (known, made) = keeper.done();
        self.memory.known = known;
        self.blobs.extend(made);
        cut?;
        let map = Map { items, count: count as u64, ..Map::of(name, of_children, options, at_once) };
        let handle = self.started(number, Kind::Map(Box::new(map)));
        while let Some(ready) = self.ready(number.0, 0)? {
            self.start_item(number.0, ready)?;
        }
        Ok(handle)
    }

    fn map_options(
        &mut self,
        function: &str,
        of_children: bool,
        given: Option<Value>,
    ) -> Evaluated<(Options, u64)> {
        let given = self.option_object(function, given)?.unwrap_or_default();
        let concurrency = match given.get("concurrency") {
            None => USUAL,
            Some(count) => at_once(count)?,
        };
        let others = given.iter().filter(|(key, _)| &***key != "concurrency");
        let others = Object::new(others.map(|(key, value)| (key.clone(), value.clone())))?;
        let options = self.options(function, Some(Value::Object(others)))?;
        if of_children {
            options.check_for_children(function)?;
        }
        Ok((options, concurrency))
    }

    pub fn map_of(&self, item: u64) -> Option<u64> {
        self.memory.map_of(item)
    }

    /// Returns whether the end of an item only starts the next one, with all data at hand. This excludes the
    /// end of the map, and the start of its last item: the map may then be dropped if nothing refers to it,
    /// which takes a step.
    pub fn goes_on(&mut self, number: u64) -> bool {
        let Some(map) = self.map_at(number) else { return false };
        let (is_last, starts_last) = (map.open.len() <= 1 && !map.has_more(), map.next + 1 == map.count);
        !is_last && self.ready(number, 1).is_ok_and(|ready| !(starts_last && ready.is_some()))
    }

    fn map_at(&self, number: u64) -> Option<&Map> {
        match self.memory.handles.get(&number) {
            Some(Handle { kind: Kind::Map(map), state: State::Open, .. }) => Some(map),
            _ => None,
        }
    }

    fn map_mut(&mut self, number: u64) -> Option<&mut Map> {
        match self.memory.handles.get_mut(&number) {
            Some(Handle { kind: Kind::Map(map), state: State::Open, .. }) => Some(map),
            _ => None,
        }
    }

    /// Returns the next item, if there is room for it after `ending` of the open ones have ended. Changes
    /// nothing.
    fn ready(&mut self, number: u64, ending: u64) -> Evaluated<Option<Ready>> {
        let Some(map) = self.map_at(number) else { return Ok(None) };
        let place = map.next;
        if !map.has_more() || map.open.len() as u64 >= map.at_once + ending {
            return Ok(None);
        }
        let (items, key, name) = (map.items.clone(), map.key.clone(), map.name.clone());
        let at = usize::try_from(place).unwrap_or(usize::MAX);
        let item = match &items {
            Value::Kept(list) => self.kept_item(list, at)?,
            Value::List(list) => list.items().get(at).cloned(),
            _ => None,
        };
        let item = item.unwrap_or(Value::Null);
        let key = match key {
            None => None,
            Some(field) => Some(self.key_of(&item, place, &field)?),
        };
        let input = self.payload(item, "an item", &name)?;
        self.check_open()?;
        Ok(Some(Ready { place, input, key }))
    }

    fn key_of(&mut self, item: &Value, place: u64, field: &str) -> Evaluated<String> {
        let found = match self.look(item.clone())? {
            Value::Object(object) => object.get(field).cloned().unwrap_or(Value::Null),
            Value::Kept(object) => object.field_at_hand(field).cloned().unwrap_or(Value::Null),
            _ => Value::Null,
        };
        let text = match &found {
            Value::Text(text) => text.to_string(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        if text.is_empty() || text.len() > 200 {
            let field = short(field);
            return wrong_argument(format!(
                "item {place} has no `{field}` of 1 to 200 characters to be its key"
            ));
        }
        Ok(text)
    }

    fn start_item(&mut self, number: u64, ready: Ready) -> Evaluated<()> {
        let Some(map) = self.map_at(number) else { return Ok(()) };
        let (name, of_children, how) = (map.name.clone(), map.of_children, map.how);
        let options = TaskOptions {
            key: ready.key.or_else(|| map.options.key.clone()),
            item: Some(ready.place),
            ..map.options.clone()
        };
        let step = self.memory.handles.get(&number).map_or(0, |handle| handle.step);
        let item = self.number();
        let kind = if of_children {
            self.begin_child(item, Sort { workflow: name, how, options }, ready.input)
        } else {
            let spec = TaskSpec { task: item, name: name.to_string(), input: ready.input, options };
            self.commands.push(Command::RunTask(spec));
            Kind::Task { name, how }
        };
        self.started(item, kind);
        if let Some(handle) = self.memory.handles.get_mut(&item.0) {
            handle.step = step;
        }
        if let Some(map) = self.map_mut(number) {
            map.next += 1;
            map.open.insert(item.0, ready.place);
        }
        Ok(())
    }

    /// Handles the end of an item: starts the next one, or ends the map. Returns the largest possible growth
    /// of the snapshot, in bytes.
    pub fn item_settled(&mut self, number: u64, item: u64, state: State) -> Evaluated<usize> {
        let order = self.memory.clock + 1;
        let settles = self.memory.handles.get(&item).is_some_and(Handle::settles);
        let value = match state {
            State::Done(value, _) if settles => report(Ok(value))?,
            State::Done(value, _) => value,
            State::Failed(error, _) if settles => {
                self.read.insert(item);
                report(Err(error))?
            }
            State::Failed(error, _) => {
                self.fail_map(number, item, error, order);
                return Ok(0);
            }
            State::Open | State::Kept { .. } => return Ok(0),
        };
        // An item that cannot be started fails the map, as it would fail a call.
        let ready = match self.ready(number, 1) {
            Ok(ready) => ready,
            Err(Stop::Thrown(error)) => {
                self.fail_map(number, item, error, order);
                return Ok(0);
            }
            Err(stop) => return Err(stop),
        };
        let Some(map) = self.map_mut(number) else { return Ok(0) };
        let (mut gathered, place) = (std::mem::take(&mut map.gathered), map.open.get(&item).copied());
        let mut keeper = Keeper::knowing(std::mem::take(&mut self.memory.known));
        let grown = gathered.add(place.unwrap_or_default(), value, &mut keeper);
        let (known, made) = keeper.done();
        self.memory.known = known;
        self.blobs.extend(made);
        self.memory.handles.remove(&item);
        let Some(map) = self.map_mut(number) else { return Ok(0) };
        map.open.remove(&item);
        map.gathered = gathered;
        let (ended, count) = (map.open.is_empty() && !map.has_more(), map.count);
        let grown = grown?;
        if ended {
            let gathered = std::mem::take(&mut map.gathered);
            let list = self.assembled(&gathered, count)?;
            self.end_map(number, State::Done(list, order));
        } else if let Some(ready) = ready {
            self.start_item(number, ready)?;
        }
        Ok(grown)
    }

    /// Fails the map and starts no more items. Open items continue, unless they have the option `cancel`.
    fn fail_map(&mut self, number: u64, item: u64, error: Arc<ErrorValue>, order: u64) {
        let Some(map) = self.map_at(number) else { return };
        let open: Vec<u64> = map.open.keys().copied().filter(|open| *open != item).collect();
        self.let_items_go(number);
        self.memory.handles.remove(&item);
        for open in open {
            self.cancel_loser(open, false);
        }
        self.end_map(number, State::Failed(error, order));
    }

    /// Ends a map that lost a race or whose run was cancelled. A later await of it throws.
    pub fn stop_map(&mut self, number: u64, why: &str) {
        self.let_items_go(number);
        let error = Arc::new(ErrorValue::new(codes::CANCELLED, why));
        self.end_map(number, State::Failed(error, self.memory.clock));
    }

    /// Releases the open items of a map that failed. Awaiting the map counts as reading their failures.
    fn let_items_go(&mut self, number: u64) {
        let Some(map) = self.map_at(number).filter(|map| !map.of_children) else { return };
        let (is_read, open): (bool, Vec<u64>) = (map.is_read, map.open.keys().copied().collect());
        match is_read {
            true => self.read.extend(open),
            false => self.memory.keep_items_unread(number, open.into_iter()),
        }
    }

    fn end_map(&mut self, number: u64, state: State) {
        self.memory.maps.remove(&number);
        if let Some(handle) = self.memory.handles.get_mut(&number) {
            handle.kind = Kind::Task { name: Arc::from(""), how: Manner::default() };
            handle.state = state;
        }
    }

    /// Writes a warning to the history for each map whose items were not all started when the run ended.
    pub fn tell_unstarted(&mut self) {
        let maps: Vec<u64> = self.memory.maps.iter().copied().collect();
        for number in maps {
            let Some(map) = self.map_at(number).filter(|map| map.has_more()) else { continue };
            let (kind, name) = (if map.of_children { "Workflow.map" } else { "Task.map" }, short(&map.name));
            let message = format!(
                "the run ended before {kind} of `{name}` was done: {} of {} items were not started; `await` it",
                map.count - map.next,
                map.count
            );
            self.events.push(EventData::Warning(Warning { code: failures::UNSTARTED_ITEMS.into(), message }));
        }
    }
}

impl Map {
    fn of(name: Arc<str>, of_children: bool, mut options: Options, at_once: u64) -> Self {
        let key = options.task.key.take().map(Arc::from);
        if of_children {
            options.settle_for_children();
        }
        Self {
            name,
            of_children,
            items: Value::List(List::default()),
            count: 0,
            next: 0,
            at_once,
            key,
            options: options.task,
            how: options.how,
            is_read: false,
            open: BTreeMap::new(),
            gathered: Gathered::default(),
        }
    }
}
