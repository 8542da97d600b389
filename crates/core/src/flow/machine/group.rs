//! Settling handles, and the groups that wait for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Machine;
use super::child::Now;
use super::handle::{Group, Handle, Kind, State};
use super::message::report;
use crate::command::Command;
use crate::event::{EventData, Group as GroupEvent};
use crate::flow::library::Combinator;
use crate::flow::thrown::{Evaluated, codes};
use crate::flow::value::{ErrorValue, List, Object, Value};
use crate::id::CommandId;

impl Machine<'_> {
    /// Settles one handle and every group that is decided by it.
    pub fn settle(&mut self, number: u64, state: State) -> Evaluated<()> {
        self.memory.clock += 1;
        let order = self.memory.clock;
        if let Some(handle) = self.memory.handles.get_mut(&number) {
            handle.state = state;
        }
        let mut changed = BTreeSet::from([number]);
        // Members are older than their groups: one pass in order reaches everything.
        let waiting: Vec<u64> = self.memory.handles.range(number + 1..).map(|(number, _)| *number).collect();
        for group in waiting {
            let Some(handle) = self.memory.handles.get(&group).filter(|handle| handle.is_open()) else {
                continue;
            };
            let mut touched = false;
            handle.each_member(|member| touched |= changed.contains(&member));
            if touched && self.decide(group, order)? {
                changed.insert(group);
            }
        }
        Ok(())
    }

    /// Settles a group if what its members have come to decides it.
    pub fn decide(&mut self, number: u64, order: u64) -> Evaluated<bool> {
        let Some(handle) = self.memory.handles.get(&number) else { return Ok(false) };
        let decided = match &handle.kind {
            Kind::Timeout { of, timer } => self.timeout_outcome(*of, *timer, order),
            Kind::Group(group) => self.group_outcome(group, order)?,
            _ => None,
        };
        let Some(state) = decided else { return Ok(false) };
        self.lose(number)?;
        let members: Vec<CommandId> = self.members(number);
        if !members.is_empty() {
            let group = GroupEvent { group: CommandId(number), members };
            self.meter.output(8 * group.members.len())?;
            self.events.push(EventData::ParallelCompleted(group));
        }
        if let Some(handle) = self.memory.handles.get_mut(&number) {
            handle.state = state;
        }
        Ok(true)
    }

    pub fn members(&self, number: u64) -> Vec<CommandId> {
        let members = self.memory.handles.get(&number).map(Handle::members).unwrap_or_default();
        members.iter().map(|member| CommandId(*member)).collect()
    }

    fn timeout_outcome(&self, of: u64, timer: u64, order: u64) -> Option<State> {
        match self.memory.handles.get(&of).map(|handle| &handle.state) {
            Some(State::Done(value, _)) => return Some(State::Done(value.clone(), order)),
            Some(State::Failed(error, _)) => return Some(State::Failed(error.clone(), order)),
            Some(State::Open) | None => {}
        }
        let fired = self.memory.handles.get(&timer).is_some_and(|timer| !timer.is_open());
        fired.then(|| {
            let what = match self.memory.handles.get(&of).map(|handle| &handle.kind) {
                Some(Kind::Task { name, .. }) => format!("task {name:?} did not end in time"),
                Some(Kind::Child { workflow, .. }) => format!("workflow {workflow:?} did not end in time"),
                Some(Kind::Signal { name }) => format!("signal {name:?} did not arrive in time"),
                _ => "what was waited for did not end in time".to_owned(),
            };
            State::Failed(Arc::new(ErrorValue::new(codes::TIMEOUT, what)), order)
        })
    }

    fn group_outcome(&self, group: &Group, order: u64) -> Evaluated<Option<State>> {
        let settled = Settled::of(self, group);
        let state = match group.combinator {
            Combinator::All => match (settled.first(false), settled.open) {
                (Some((_, Err(error))), _) => State::Failed(error, order),
                (_, 0) => State::Done(self.shaped(group, |outcome| outcome.or(Ok(Value::Null)))?, order),
                _ => return Ok(None),
            },
            Combinator::AllSettled if settled.open > 0 => return Ok(None),
            Combinator::AllSettled => State::Done(self.shaped(group, report)?, order),
            Combinator::Any | Combinator::AnyKv => match (settled.first(true), settled.open) {
                (Some((place, Ok(value))), _) => State::Done(keyed(group, place, value)?, order),
                (_, 0) => State::Failed(Arc::new(settled.aggregate()?), order),
                _ => return Ok(None),
            },
            Combinator::Race | Combinator::RaceKv => match settled.earliest(|_| true) {
                Some((place, Ok(value))) => State::Done(keyed(group, place, value)?, order),
                Some((_, Err(error))) => State::Failed(error, order),
                None => return Ok(None),
            },
        };
        Ok(Some(state))
    }

    /// One value for every member, in the shape of what the group was made of.
    fn shaped(&self, group: &Group, each: impl Fn(Outcome) -> Evaluated) -> Evaluated {
        let mut values = Vec::with_capacity(group.members.len());
        for member in &group.members {
            let outcome = match self.memory.handles.get(member).map(|handle| &handle.state) {
                Some(State::Done(value, _)) => Ok(value.clone()),
                Some(State::Failed(error, _)) => Err(error.clone()),
                Some(State::Open) | None => Ok(Value::Null),
            };
            values.push(each(outcome)?);
        }
        Ok(match &group.keys {
            Some(keys) => Value::Object(Object::new(keys.iter().cloned().zip(values))?),
            None => Value::List(List::new(values)?),
        })
    }

    /// Cancels what lost and asked for it. Whatever else is under way goes on.
    fn lose(&mut self, group: u64) -> Evaluated<()> {
        let Some(handle) = self.memory.handles.get(&group) else { return Ok(()) };
        let all = match &handle.kind {
            Kind::Group(Group { combinator: Combinator::All | Combinator::AllSettled, .. }) => return Ok(()),
            Kind::Group(group) => group.cancel,
            Kind::Timeout { .. } => false,
            _ => return Ok(()),
        };
        let mut losers = Vec::new();
        handle.each_member(|member| losers.push(member));
        let mut seen = BTreeSet::new();
        while let Some(loser) = losers.pop() {
            self.meter.scan(64)?;
            let Some(handle) = self.memory.handles.get_mut(&loser).filter(|handle| handle.is_open()) else {
                continue;
            };
            if !seen.insert(loser) {
                continue;
            }
            handle.each_member(|member| losers.push(member));
            match &mut handle.kind {
                Kind::Task { how, .. } if how.is_cancelled_by(all) => {
                    how.cancelled = true;
                    self.commands.push(Command::CancelTask(CommandId(loser)));
                }
                Kind::Child { how, again, .. } if how.is_cancelled_by(all) => {
                    how.cancelled = true;
                    let now = again.as_ref().map_or(Now::Running(loser), |again| again.now);
                    again.iter_mut().for_each(|again| again.stop());
                    if let Now::Running(child) = now {
                        self.commands.push(Command::CancelChild(CommandId(child)));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

type Outcome = Result<Value, Arc<ErrorValue>>;

/// The members of a group that have settled, with when and where.
struct Settled {
    outcomes: Vec<(u64, usize, Outcome)>,
    open: usize,
}

impl Settled {
    fn of(machine: &Machine<'_>, group: &Group) -> Self {
        let mut settled = Self { outcomes: Vec::new(), open: 0 };
        for (place, member) in group.members.iter().enumerate() {
            match machine.memory.handles.get(member).map(|handle| &handle.state) {
                Some(State::Done(value, order)) => settled.outcomes.push((*order, place, Ok(value.clone()))),
                Some(State::Failed(error, order)) => {
                    settled.outcomes.push((*order, place, Err(error.clone())))
                }
                Some(State::Open) | None => settled.open += 1,
            }
        }
        settled
    }

    /// The first that succeeded, or failed: the earlier completion, then the earlier member.
    fn first(&self, success: bool) -> Option<(usize, Outcome)> {
        self.earliest(|outcome| outcome.is_ok() == success)
    }

    fn earliest(&self, wanted: impl Fn(&Outcome) -> bool) -> Option<(usize, Outcome)> {
        let wanted = self.outcomes.iter().filter(|(_, _, outcome)| wanted(outcome));
        let first = wanted.min_by_key(|(order, place, _)| (*order, *place))?;
        Some((first.1, first.2.clone()))
    }

    fn aggregate(&self) -> Evaluated<ErrorValue> {
        let errors = self.outcomes.iter().filter_map(|(_, _, outcome)| outcome.as_ref().err());
        let errors: Vec<Value> = errors.map(|error| Value::Error(error.clone())).collect();
        let message = match errors.len() {
            0 => "there was nothing to wait for".to_owned(),
            1 => "the only one failed".to_owned(),
            count => format!("all {count} failed"),
        };
        let mut error = ErrorValue::new(codes::AGGREGATE_ERROR, message);
        error.fields = Object::of([("errors", Value::List(List::new(errors)?))])?;
        error.bulk().checked()?;
        Ok(error)
    }
}

/// What `any` and `race` give, with its key where they are asked for it.
fn keyed(group: &Group, place: usize, value: Value) -> Evaluated {
    if !matches!(group.combinator, Combinator::AnyKv | Combinator::RaceKv) {
        return Ok(value);
    }
    let key = match &group.keys {
        Some(keys) => keys.get(place).cloned().map_or(Value::Null, Value::Text),
        None => Value::integer(place as i64),
    };
    Ok(Value::Object(Object::of([("key", key), ("value", value)])?))
}
