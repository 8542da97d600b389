//! Settles handles, and the groups that wait for them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rhythm_core::command::Command;
use rhythm_core::event::{EventData, Group as GroupEvent};
use rhythm_core::id::CommandId;

use super::Machine;
use super::child::Now;
use super::handle::{Group, Handle, Kind, Outcome, State};
use super::message::report;
use crate::library::Combinator;
use crate::runtime_error::{Evaluated, codes};
use crate::value::{ErrorValue, List, Object, Value};

impl Machine<'_> {
    /// Settles a handle and every group this decides.
    pub fn settle(&mut self, number: u64, state: State) -> Evaluated<()> {
        let mut first = number;
        if let Some(map) = self.map_of(number) {
            self.item_settled(map, number, state)?;
            self.memory.clock += 1;
            // An open map decides no group. A settled one is older than its items: the pass starts at it.
            if self.memory.handles.get(&map).is_none_or(Handle::is_open) {
                return Ok(());
            }
            first = map;
        } else {
            self.memory.clock += 1;
            if let Some(handle) = self.memory.handles.get_mut(&number) {
                handle.state = state;
            }
        }
        let order = self.memory.clock;
        let mut changed = BTreeSet::from([first]);
        // Members are older than their groups, so one pass in ascending order reaches every group.
        let waiting: Vec<u64> = self.memory.handles.range(first + 1..).map(|(number, _)| *number).collect();
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

    /// Settles a group if the outcomes of its members decide it.
    pub fn decide(&mut self, number: u64, order: u64) -> Evaluated<bool> {
        let Some(handle) = self.memory.handles.get(&number) else { return Ok(false) };
        let decided = match &handle.kind {
            Kind::Timeout { of, timer } => {
                let (of, timer) = (*of, *timer);
                self.timeout_outcome(of, timer, order)?
            }
            Kind::Group(group) => {
                let group = group.clone();
                self.group_outcome(&group, order)?
            }
            _ => None,
        };
        let Some(state) = decided else { return Ok(false) };
        let absorbs = self.absorbs(number, &state);
        if absorbs {
            self.note_read(number);
        }
        self.lose(number)?;
        if !absorbs {
            self.memory.keep_unread(number);
        }
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

    /// Returns whether the group succeeded by one success. The outcomes of its other members are then
    /// irrelevant, whether the group is awaited or not.
    fn absorbs(&self, number: u64, state: &State) -> bool {
        use Combinator::{Any, AnyKv, Race, RaceKv};
        let kind = self.memory.handles.get(&number).map(|handle| &handle.kind);
        let Some(Kind::Group(group)) = kind else { return false };
        matches!(state, State::Done(..)) && matches!(group.combinator, Any | AnyKv | Race | RaceKv)
    }

    pub fn members(&self, number: u64) -> Vec<CommandId> {
        let members = self.memory.handles.get(&number).map(Handle::members).unwrap_or_default();
        members.iter().map(|member| CommandId(*member)).collect()
    }

    fn timeout_outcome(&mut self, of: u64, timer: u64, order: u64) -> Evaluated<Option<State>> {
        if let Some(outcome) = self.given(of)? {
            return Ok(Some(State::of(outcome, order)));
        }
        let fired = self.memory.handles.get(&timer).is_some_and(|timer| !timer.is_open());
        Ok(fired.then(|| {
            let what = match self.memory.handles.get(&of).map(|handle| &handle.kind) {
                Some(Kind::Task { name, .. }) => format!("task {name:?} did not end in time"),
                Some(Kind::Child { workflow, .. }) => format!("workflow {workflow:?} did not end in time"),
                Some(Kind::Signal { name }) => format!("signal {name:?} did not arrive in time"),
                _ => "what was waited for did not end in time".to_owned(),
            };
            State::Failed(Arc::new(ErrorValue::new(codes::TIMEOUT, what)), order)
        }))
    }

    fn group_outcome(&mut self, group: &Group, order: u64) -> Evaluated<Option<State>> {
        let open = group.members.iter().filter(|member| self.is_under_way(**member)).count();
        let state = match group.combinator {
            Combinator::All => match (self.earliest(group, Handle::throws)?, open) {
                (Some(Member { outcome: Err(error), .. }), _) => State::Failed(error, order),
                (_, 0) => State::Done(self.shaped(group, Self::given)?, order),
                _ => return Ok(None),
            },
            Combinator::AllSettled if open > 0 => return Ok(None),
            Combinator::AllSettled => State::Done(self.shaped(group, Self::reported)?, order),
            Combinator::Any | Combinator::AnyKv => {
                match (self.earliest(group, |handle| !handle.has_failed())?, open) {
                    (Some(member), _) => self.chosen(group, member, order)?,
                    (_, 0) => State::Failed(Arc::new(self.aggregate(group)?), order),
                    _ => return Ok(None),
                }
            }
            Combinator::Race | Combinator::RaceKv => match self.earliest(group, |_| true)? {
                Some(member) => self.chosen(group, member, order)?,
                None => return Ok(None),
            },
        };
        Ok(Some(state))
    }

    fn is_under_way(&self, number: u64) -> bool {
        self.memory.handles.get(&number).is_none_or(Handle::is_open)
    }

    fn reported(&mut self, number: u64) -> Evaluated<Option<Outcome>> {
        let ended = self.ended(number)?.map(|(outcome, _)| report(outcome));
        Ok(ended.transpose()?.map(Ok))
    }

    /// Returns the settled member that ended first among the wanted ones; between equals, the one listed
    /// first.
    fn earliest(&mut self, group: &Group, wanted: impl Fn(&Handle) -> bool) -> Evaluated<Option<Member>> {
        let handles = &self.memory.handles;
        let is_wanted =
            |number: &u64| handles.get(number).is_some_and(|handle| !handle.is_open() && wanted(handle));
        let places = group.members.iter().enumerate().filter(|(_, number)| is_wanted(number));
        let candidates: Vec<(usize, u64)> = places.map(|(place, number)| (place, *number)).collect();
        self.fetch(candidates.iter().map(|(_, number)| *number))?;
        let mut earliest: Option<Member> = None;
        for (place, number) in candidates {
            let Some((outcome, order)) = self.ended(number)? else { continue };
            if earliest.as_ref().is_none_or(|found| order < found.order) {
                earliest = Some(Member { order, place, outcome });
            }
        }
        Ok(earliest)
    }

    fn aggregate(&mut self, group: &Group) -> Evaluated<ErrorValue> {
        self.fetch(group.members.iter().copied())?;
        let mut errors = Vec::new();
        for member in group.members.iter() {
            if let Some((Err(error), _)) = self.ended(*member)? {
                errors.push(Value::Error(error));
            }
        }
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

    /// Returns the outcome of `any` or `race`, with the member's key for those that return it.
    fn chosen(&mut self, group: &Group, member: Member, order: u64) -> Evaluated<State> {
        let given = match group.members.get(member.place) {
            Some(number) => self.given(*number)?,
            None => None,
        };
        Ok(match given.unwrap_or(member.outcome) {
            Ok(value) => State::Done(keyed(group, member.place, value)?, order),
            Err(error) => State::Failed(error, order),
        })
    }

    /// Returns one value for every member, as a list or an object like the group's argument.
    fn shaped(
        &mut self,
        group: &Group,
        each: impl Fn(&mut Self, u64) -> Evaluated<Option<Outcome>>,
    ) -> Evaluated {
        self.fetch(group.members.iter().copied())?;
        let mut values = Vec::with_capacity(group.members.len());
        for member in group.members.iter() {
            values.push(each(self, *member)?.and_then(Result::ok).unwrap_or(Value::Null));
        }
        Ok(match &group.keys {
            Some(keys) => Value::Object(Object::new(keys.iter().cloned().zip(values))?),
            None => Value::List(List::new(values)?),
        })
    }

    /// Cancels the losers that have the option `cancel`, or all of them if the group has it. Others continue.
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
            let Some(handle) = self.memory.handles.get(&loser).filter(|handle| handle.is_open()) else {
                continue;
            };
            if !seen.insert(loser) {
                continue;
            }
            handle.each_member(|member| losers.push(member));
            if matches!(handle.kind, Kind::Map(_)) {
                self.stop_map(loser, "the map was stopped: it lost a race");
            }
            self.cancel_loser(loser, all);
        }
        Ok(())
    }

    /// Cancels a task or child that lost, if it has the option `cancel`. `all` says that the group has this
    /// option.
    pub fn cancel_loser(&mut self, loser: u64, all: bool) {
        if let Some(handle) = self.memory.handles.get_mut(&loser).filter(|handle| handle.is_open()) {
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
    }
}

/// A settled member: when it settled, its place in the group, and its outcome.
struct Member {
    order: u64,
    place: usize,
    outcome: Outcome,
}

/// Returns a value, together with its key for combinators that return it.
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
