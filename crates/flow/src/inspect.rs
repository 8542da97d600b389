//! Describes a run: its position in the program, what it waits for, and its variables. Reads the snapshot
//! only and executes no step.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::id::CommandId;
use rhythm_core::payload::Payload;
use rhythm_core::program::{ProgramError, Snapshot};
use rhythm_core::time::Timestamp;
use serde::{Serialize, Serializer};

use super::code::{Code, Place};
use super::json::{Handles, write_plain};
use super::machine::{Flow, Kind, Memory, Stage};
use super::value::Value;

/// Position and state of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Description {
    pub line: u32,
    pub column: u32,
    /// Index of the step it stops at.
    pub position: usize,
    /// Byte range of the statement in the source.
    pub source: (u32, u32),
    pub ended: bool,
    pub waiting_for: Vec<Waiting>,
    /// Labels of the open timers that have one, awaited or not.
    pub labels: BTreeMap<CommandId, String>,
    pub variables: Variables,
}

/// One thing the run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Waiting {
    pub kind: WaitingKind,
    /// Name of the task, workflow or signal.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Line where it was started.
    pub line: u32,
    /// Its command number within the run.
    pub command: CommandId,
    /// Command number of the current attempt. Each attempt of a child is a new child with its own number.
    #[serde(skip)]
    pub current: CommandId,
    /// The label the program gave it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Index of the item it handles, in the list of a map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<u64>,
    /// Time at which a timer fires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitingKind {
    Task,
    Child,
    Timer,
    Signal,
}

/// Variables in scope, in the order of their declaration. Hidden variables are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Variables(pub Vec<(String, Payload)>);

impl Variables {
    pub fn get(&self, name: &str) -> Option<&Payload> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl Serialize for Variables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Reads the snapshot of a run of this program. Fails when the snapshot does not belong to it or is damaged.
pub fn describe(flow: &Flow, snapshot: &Snapshot) -> Result<Description, ProgramError> {
    let memory = Memory::load(flow, snapshot)?;
    let code = flow.code();
    let Place { line, column, start, end } = place(code, memory.position);
    Ok(Description {
        line,
        column,
        position: memory.position,
        source: (start, end),
        ended: memory.stage == Stage::Ended,
        waiting_for: waiting_for(code, &memory),
        labels: timer_labels(&memory),
        variables: variables(code, &memory),
    })
}

fn place(code: &Code, position: usize) -> Place {
    code.place(position).unwrap_or(Place { line: 1, column: 1, start: 0, end: 0 })
}

/// Follows the awaited handle through its groups to the tasks, children, timers and signals it depends on.
fn waiting_for(code: &Code, memory: &Memory) -> Vec<Waiting> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<u64> = memory.wait.into_iter().collect();
    while let Some(number) = next.pop() {
        let Some(handle) = memory.handles.get(&number).filter(|handle| handle.is_open()) else { continue };
        if reached.insert(number) {
            handle.each_member(|member| next.push(member));
        }
    }
    let describe = |number: u64| {
        let handle = memory.handles.get(&number)?;
        let mut current = number;
        let (kind, name, until) = match &handle.kind {
            Kind::Task { name, .. } => (WaitingKind::Task, name.to_string(), None),
            Kind::Child { workflow, again, .. } => {
                current = again.as_ref().map_or(number, |again| again.number());
                (WaitingKind::Child, workflow.to_string(), None)
            }
            Kind::Timer { at } => (WaitingKind::Timer, String::new(), Some(*at)),
            Kind::Signal { name } => (WaitingKind::Signal, name.to_string(), None),
            Kind::Timeout { .. } | Kind::Group(_) | Kind::Map(_) => return None,
        };
        let line = place(code, handle.step as usize).line;
        let of_map = memory.item_of(number);
        let item = of_map.map(|(_, item)| item);
        let label = match of_map {
            Some((map, _)) => map.options.label.clone(),
            None => handle.label.as_deref().map(str::to_owned),
        };
        let (command, current) = (CommandId(number), CommandId(current));
        Some(Waiting { kind, name, line, command, current, label, item, until })
    };
    reached.into_iter().filter_map(describe).collect()
}

fn timer_labels(memory: &Memory) -> BTreeMap<CommandId, String> {
    let open = memory.handles.iter().filter(|(_, handle)| handle.is_open());
    let labels = open.filter_map(|(number, handle)| match (&handle.kind, &handle.label) {
        (Kind::Timer { .. }, Some(label)) => Some((CommandId(*number), label.to_string())),
        _ => None,
    });
    labels.collect()
}

fn variables(code: &Code, memory: &Memory) -> Variables {
    let mut variables: Vec<(String, Payload)> = Vec::new();
    for (slot, value) in code.slots.iter().zip(&memory.slots) {
        let Some(value) = value.as_ref().filter(|_| !slot.is_hidden() && slot.covers(memory.position)) else {
            continue;
        };
        // Inner declarations come later and replace outer ones.
        variables.retain(|(name, _)| *name != slot.name);
        variables.push((slot.name.clone(), shown(value)));
    }
    Variables(variables)
}

fn shown(value: &Value) -> Payload {
    if let Value::Blob(blob) = value {
        return Payload::Blob(rhythm_core::payload::BlobRef::clone(blob));
    }
    let mut out = Vec::new();
    let written = write_plain(value, Handles::Shown, &mut out);
    let text = written.ok().and_then(|()| String::from_utf8(out).ok());
    text.and_then(|text| Payload::parse(text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
