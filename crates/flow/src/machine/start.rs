//! Executes calls that start something: tasks, children, timers, waits and groups. Everything starts
//! immediately and is numbered in the order of the calls.

use std::sync::Arc;

use rhythm_core::command::{Command, SignalSpec, TimerSpec};
use rhythm_core::event::{EventData, Group as GroupEvent};
use rhythm_core::id::{CommandId, RunId};
use rhythm_core::task::MAX_OPEN;
use rhythm_core::task::TaskSpec;
use rhythm_core::time::Millis;

use super::Machine;
use super::handle::{Group, Handle, Kind, State};
use super::options::{Unit, flag, label, length, optional_length, unit_of};
use crate::json::Handles;
use crate::library::{Combinator, Effect, Function};
use crate::limits::Limit;
use crate::option::{Choice, LABEL, WHEN};
use crate::runtime_error::{Evaluated, short, wrong_argument};
use crate::value::{Object, Value};

/// Options of `Timer.delay`, `Signal.next` and `Signal.when`.
#[derive(Default)]
struct WaitOptions {
    timeout: Option<Millis>,
    label: Option<Arc<str>>,
}

impl Machine<'_> {
    #[inline(never)]
    pub fn perform_effect(&mut self, function: &Function, effect: Effect, given: Vec<Value>) -> Evaluated {
        let name = function.name;
        let mut given = given.into_iter();
        let mut next = || given.next();
        match effect {
            Effect::Now => Ok(Value::integer(self.input.at.millis())),
            Effect::RunTask => self.run_task(name, next(), next(), next()),
            Effect::RunWorkflow => self.run_child(name, next(), next(), next()),
            Effect::MapTask => self.map(name, false, (next(), next(), next())),
            Effect::MapWorkflow => self.map(name, true, (next(), next(), next())),
            Effect::DelaySeconds => self.delay(name, (next(), next()), Unit::Seconds),
            Effect::DelayMilliseconds => self.delay(name, (next(), next()), Unit::Milliseconds),
            Effect::Timeout => self.timeout(name, next(), next()),
            Effect::SignalNext => self.signal(name, (next(), next()), LABEL),
            Effect::SignalWhen => self.signal(name, (next(), next()), WHEN),
            Effect::SignalSend => self.send_signal(name, next(), next(), next()),
            Effect::Group(combinator) => self.group(name, combinator, next(), next()),
            Effect::Log => self.log(given.collect()),
        }
    }

    fn run_task(
        &mut self,
        function: &str,
        name: Option<Value>,
        input: Option<Value>,
        options: Option<Value>,
    ) -> Evaluated {
        let name = self.named(function, "name", name)?;
        let options = self.options(function, options)?;
        let input = match input {
            Some(input) => self.payload(input, "the inputs", function)?,
            None => self.written(&Value::Object(Object::default()), Handles::Absent)?,
        };
        self.check_open()?;
        let task = self.number();
        let spec = TaskSpec { task, name: name.to_string(), input, options: options.task };
        self.commands.push(Command::RunTask(spec));
        Ok(self.started(task, Kind::Task { name, how: options.how }))
    }

    fn delay(
        &mut self,
        function: &str,
        (after, options): (Option<Value>, Option<Value>),
        unit: Unit,
    ) -> Evaluated {
        let after = self.look(after.unwrap_or(Value::Null))?;
        let after = length(&after, unit, function)?;
        let wait = self.wait_options(function, LABEL, options)?;
        self.timer(after, wait.label).map(Value::Handle)
    }

    fn timer(&mut self, after: Millis, label: Option<Arc<str>>) -> Evaluated<u64> {
        let timer = self.number();
        let fire_at = self.input.at.plus(after);
        self.meter.output(16)?;
        let spec = TimerSpec { timer, fire_at, label: label.as_deref().map(str::to_owned) };
        self.commands.push(Command::StartTimer(spec));
        self.started_as(timer, Kind::Timer { at: fire_at }, label);
        Ok(timer.0)
    }

    fn timeout(&mut self, function: &str, of: Option<Value>, after: Option<Value>) -> Evaluated {
        let of = match of {
            Some(Value::Handle(handle)) => handle,
            other => {
                let what = other.as_ref().map_or("nothing", Value::described);
                return wrong_argument(format!("{function} takes a handle such as Task.run(..), not {what}"));
            }
        };
        let after = self.look(after.unwrap_or(Value::Null))?;
        let after = length(&after, Unit::Seconds, function)?;
        self.limit_time(of, after)
    }

    /// Returns a handle that fails unless another one settles in time.
    fn limit_time(&mut self, of: u64, after: Millis) -> Evaluated {
        // A settled handle needs no timer.
        if self.memory.handles.get(&of).is_some_and(|handle| !handle.is_open()) {
            return Ok(Value::Handle(of));
        }
        let timer = self.timer(after, None)?;
        let number = self.number();
        Ok(self.started(number, Kind::Timeout { of, timer }))
    }

    fn signal(
        &mut self,
        function: &str,
        (name, options): (Option<Value>, Option<Value>),
        choices: &[Choice],
    ) -> Evaluated {
        let wait = self.wait_options(function, choices, options)?;
        let name = self.named(function, "name", name)?;
        if name.starts_with('@') {
            return wrong_argument(format!("the name of a signal cannot begin with `@`: {name:?}"));
        }
        let number = self.number();
        self.meter.output(16)?;
        let handle = self.started_as(number, Kind::Signal { name }, wait.label);
        match wait.timeout {
            Some(after) => self.limit_time(number.0, after),
            None => Ok(handle),
        }
    }

    fn wait_options(
        &mut self,
        function: &str,
        choices: &[Choice],
        given: Option<Value>,
    ) -> Evaluated<WaitOptions> {
        let given = self.option_object(function, given)?;
        let mut options = WaitOptions::default();
        for (key, value) in given.iter().flat_map(Object::iter) {
            let choice = choices.iter().find(|choice| choice.is_written(key));
            match (choice.map(|choice| choice.key), unit_of(key).1) {
                (Some("timeout"), unit) => options.timeout = optional_length(value, unit, key)?,
                (Some("label"), _) => options.label = Some(label(value)?.into()),
                _ => {
                    let taken: Vec<&str> = choices.iter().map(|choice| choice.key).collect();
                    let (key, taken) = (short(key), taken.join(", "));
                    return wrong_argument(format!("{function} takes no option `{key}`; it takes {taken}"));
                }
            }
        }
        Ok(options)
    }

    fn send_signal(
        &mut self,
        function: &str,
        to: Option<Value>,
        name: Option<Value>,
        payload: Option<Value>,
    ) -> Evaluated {
        let to = self.named(function, "runId", to)?;
        let name = self.named(function, "name", name)?;
        let payload = self.payload(payload.unwrap_or(Value::Null), "the payload", function)?;
        let signal = self.number();
        let spec = SignalSpec { signal, to: RunId::new(&*to), name: name.to_string(), payload };
        self.commands.push(Command::SendSignal(spec));
        Ok(Value::Null)
    }

    fn group(
        &mut self,
        function: &str,
        combinator: Combinator,
        handles: Option<Value>,
        options: Option<Value>,
    ) -> Evaluated {
        let (members, keys) = match self.look(handles.unwrap_or(Value::Null))? {
            Value::List(list) => (members(function, list.items().iter().enumerate())?, None),
            Value::Object(object) => {
                let members = members(function, object.iter())?;
                (members, Some(object.iter().map(|(key, _)| key.clone()).collect()))
            }
            other => {
                let what = other.described();
                return wrong_argument(format!(
                    "{function} takes a list or an object of handles, not {what}"
                ));
            }
        };
        if members.is_empty() && matches!(combinator, Combinator::Race | Combinator::RaceKv) {
            return wrong_argument(format!("{function} of nothing would never end: give it a handle"));
        }
        let mut cancel = false;
        let options = self.option_object(function, options)?;
        for (key, value) in options.iter().flat_map(Object::iter) {
            match &**key {
                "cancel" => cancel = flag(value, key)?,
                _ => {
                    return wrong_argument(format!(
                        "{function} takes no option `{}`; it takes cancel",
                        short(key)
                    ));
                }
            }
        }
        let number = self.number();
        self.meter.output(16 * members.len())?;
        self.meter.scan(32 * members.len() as u64)?;
        if !members.is_empty() {
            let members = members.iter().map(|member| CommandId(*member)).collect();
            self.events.push(EventData::ParallelStarted(GroupEvent { group: number, members }));
        }
        let group =
            self.started(number, Kind::Group(Group { combinator, members: members.into(), keys, cancel }));
        self.decide(number.0, self.memory.clock)?;
        Ok(group)
    }

    /// Reads an external name: 1 to 200 bytes, the limit of the worlds.
    pub fn named(&mut self, function: &str, what: &str, value: Option<Value>) -> Evaluated<Arc<str>> {
        match self.look(value.unwrap_or(Value::Null))? {
            Value::Text(text) if !text.is_empty() && text.len() <= 200 => Ok(text),
            Value::Text(_) => wrong_argument(format!("`{what}` of {function} has 1 to 200 characters")),
            other => wrong_argument(format!("`{what}` of {function} is a string, not {}", other.described())),
        }
    }

    /// Fails if one more open task or child would exceed the limit.
    pub fn check_open(&mut self) -> Evaluated<()> {
        let is_work = |handle: &&Handle| {
            handle.is_open() && matches!(handle.kind, Kind::Task { .. } | Kind::Child { .. })
        };
        let handles = &self.memory.handles;
        let under_way = self.under_way.get_or_insert_with(|| handles.values().filter(is_work).count());
        if *under_way >= MAX_OPEN { Err(Limit::Open.into()) } else { Ok(()) }
    }

    pub fn number(&mut self) -> CommandId {
        self.memory.commands += 1;
        CommandId(self.memory.commands)
    }

    pub fn started(&mut self, number: CommandId, kind: Kind) -> Value {
        self.started_as(number, kind, None)
    }

    pub fn started_as(&mut self, number: CommandId, kind: Kind, label: Option<Arc<str>>) -> Value {
        let step = u32::try_from(self.memory.position).unwrap_or(u32::MAX);
        match kind {
            Kind::Map(_) => drop(self.memory.maps.insert(number.0)),
            Kind::Task { .. } | Kind::Child { .. } => self.under_way.iter_mut().for_each(|count| *count += 1),
            _ => {}
        }
        self.memory.handles.insert(number.0, Handle { kind, step, label, state: State::Open });
        Value::Handle(number.0)
    }
}

/// Returns the numbers of the members. The first one that is not a handle is named in the error.
fn members<'v>(
    function: &str,
    given: impl Iterator<Item = (impl std::fmt::Display, &'v Value)>,
) -> Evaluated<Vec<u64>> {
    let mut members = Vec::new();
    for (place, value) in given {
        match value {
            Value::Handle(handle) => members.push(*handle),
            other => {
                let what = other.described();
                let place = short(&place.to_string());
                return wrong_argument(format!("item {place} of {function} is {what}, not a handle"));
            }
        }
    }
    Ok(members)
}
