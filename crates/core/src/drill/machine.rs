//! The interpreter of drills: reads the memory, applies the message, then executes instructions until one has
//! to wait.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::plan::{Instruction, Plan, TaskCall};
use crate::command::{ChildSpec, Command, SignalSpec, TimerSpec};
use crate::event::{ApprovalCreated, EventData, Group, Log, Marker};
use crate::failure::Failure;
use crate::id::{CommandId, RunId};
use crate::message::MessageBody;
use crate::payload::{BlobRef, Blobs, Payload};
use crate::program::{ProgramError, Progress, Snapshot, Step, StepInput, Transition};
use crate::task::TaskSpec;
use crate::time::Millis;

/// The snapshot format this machine writes and reads.
pub const FORMAT: u32 = 1;

/// Memory of a drill between messages, stored in its snapshot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Index of the next instruction.
    next: usize,
    /// Completed rounds of the current `repeat`.
    #[serde(default)]
    round: u64,
    /// Number of the last command.
    commands: u64,
    input: Payload,
    kept: Vec<Value>,
    wait: Option<Wait>,
    #[serde(default)]
    cleaning: bool,
    /// Replaces the plan's steps after a patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patched: Option<Vec<Instruction>>,
}

/// The answer that the current instruction waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Wait {
    Tasks { open: BTreeMap<CommandId, usize>, outputs: Vec<Value>, group: Option<CommandId>, forgiving: bool },
    TaskOrTimer { task: CommandId, timer: CommandId },
    Timer(CommandId),
    Signal { name: String, timer: Option<CommandId> },
    Child(CommandId),
    ChildOrTimer { child: CommandId, timer: CommandId },
    Approval(CommandId),
}

/// Applies one message and runs instructions until one waits. Returns `NeedBlobs` when a value must be loaded
/// first, and an error when the snapshot cannot be read.
pub fn step(plan: &Plan, input: StepInput<'_>) -> Result<Step, ProgramError> {
    let mut machine = Machine {
        plan,
        input,
        memory: memory(input.snapshot)?,
        commands: Vec::new(),
        events: Vec::new(),
        read: Vec::new(),
    };
    let progress = match machine.consume() {
        Ok(()) => machine.execute(),
        Err(stop) => Err(stop),
    };
    let progress = match progress {
        Ok(progress) => progress,
        Err(Stop::Failed(failure)) => Progress::Failed(failure),
        Err(Stop::NeedBlob(reference)) => return Ok(Step::NeedBlobs(vec![reference])),
    };
    if matches!(progress, Progress::Failed(_)) {
        machine.memory = Memory { commands: machine.memory.commands, ..memory(input.snapshot)? };
    }
    let bytes = serde_json::to_vec(&machine.memory).expect("memory always serialises");
    let awaiting = match &machine.memory.wait {
        Some(Wait::Signal { name, .. }) => BTreeSet::from([name.clone()]),
        Some(Wait::Approval(approval)) => BTreeSet::from([format!("@approval:{approval}")]),
        _ => BTreeSet::new(),
    };
    Ok(Step::Transition(Transition {
        snapshot: Snapshot::seal(FORMAT, bytes),
        commands: machine.commands,
        events: machine.events,
        awaiting,
        labels: BTreeMap::new(),
        progress,
        blobs: Vec::new(),
        warned: false,
        read: machine.read,
    }))
}

fn memory(snapshot: Option<&Snapshot>) -> Result<Memory, ProgramError> {
    match snapshot {
        None => Ok(Memory::default()),
        Some(snapshot) if snapshot.format != FORMAT => {
            Err(ProgramError::UnknownFormat { found: snapshot.format, known: FORMAT })
        }
        Some(snapshot) => {
            serde_json::from_slice(snapshot.open()?).map_err(|e| ProgramError::BadSnapshot(e.to_string()))
        }
    }
}

struct Machine<'a> {
    plan: &'a Plan,
    input: StepInput<'a>,
    memory: Memory,
    commands: Vec<Command>,
    events: Vec<EventData>,
    read: Vec<CommandId>,
}

enum Stop {
    Failed(Failure),
    NeedBlob(BlobRef),
}

impl Machine<'_> {
    /// Applies the message to the current wait. An answer that the drill no longer waits for is ignored.
    fn consume(&mut self) -> Result<(), Stop> {
        let input = self.input;
        match &input.message.body {
            MessageBody::Start(start) => self.memory.input = start.input.clone(),
            MessageBody::Cancel(_) => {
                self.memory.cleaning = true;
                self.memory.next = 0;
                self.memory.round = 0;
                self.memory.wait = None;
            }
            MessageBody::Patch(patch) => {
                let text = look(&patch.operations, input.blobs)?;
                let steps: Vec<Instruction> = serde_json::from_slice(text)
                    .map_err(|e| Stop::Failed(Failure::permanent("BAD_PATCH", e.to_string())))?;
                self.memory.patched = Some(steps);
            }
            body => {
                if let Some(wait) = self.memory.wait.take() {
                    self.memory.wait = self.answer(wait, body)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the wait that remains after `body`, if any.
    fn answer(&mut self, wait: Wait, body: &MessageBody) -> Result<Option<Wait>, Stop> {
        match (wait, body) {
            (Wait::Tasks { mut open, mut outputs, group, forgiving }, MessageBody::TaskCompleted(done))
                if open.contains_key(&done.task) =>
            {
                let place = open.remove(&done.task).unwrap_or_default();
                outputs[place] = shown(&done.output);
                Ok(self.join(open, outputs, group, forgiving))
            }
            (Wait::Tasks { mut open, mut outputs, group, forgiving }, MessageBody::TaskFailed(failed))
                if open.contains_key(&failed.task) =>
            {
                self.read.push(failed.task);
                if !forgiving {
                    return Err(Stop::Failed(failed.failure.clone()));
                }
                let place = open.remove(&failed.task).unwrap_or_default();
                outputs[place] = Value::String(failed.failure.code.clone());
                Ok(self.join(open, outputs, group, forgiving))
            }
            (Wait::TaskOrTimer { task, timer }, MessageBody::TaskCompleted(done)) if done.task == task => {
                self.commands.push(Command::CancelTimer(timer));
                self.memory.kept.push(shown(&done.output));
                Ok(None)
            }
            (Wait::TaskOrTimer { task, .. }, MessageBody::TaskFailed(failed)) if failed.task == task => {
                self.read.push(task);
                Err(Stop::Failed(failed.failure.clone()))
            }
            (Wait::TaskOrTimer { task, timer }, MessageBody::TimerFired(fired)) if fired.timer == timer => {
                self.commands.push(Command::CancelTask(task));
                self.read.push(task);
                self.memory.kept.push(Value::Null);
                Ok(None)
            }
            (Wait::Timer(timer), MessageBody::TimerFired(fired)) if fired.timer == timer => Ok(None),
            (Wait::Signal { name, timer }, MessageBody::Signal(signal)) if signal.name == name => {
                self.commands.extend(timer.map(Command::CancelTimer));
                self.memory.kept.push(shown(&signal.payload));
                Ok(None)
            }
            (Wait::Signal { timer: Some(timer), .. }, MessageBody::TimerFired(fired))
                if fired.timer == timer =>
            {
                self.memory.kept.push(Value::Null);
                Ok(None)
            }
            (Wait::Child(child) | Wait::ChildOrTimer { child, .. }, MessageBody::ChildFailed(failed))
                if failed.child == child =>
            {
                Err(Stop::Failed(failed.failure.clone()))
            }
            (Wait::Child(child), MessageBody::ChildCompleted(done)) if done.child == child => {
                self.memory.kept.push(shown(&done.output));
                Ok(None)
            }
            (Wait::ChildOrTimer { child, timer }, MessageBody::ChildCompleted(done))
                if done.child == child =>
            {
                self.commands.push(Command::CancelTimer(timer));
                self.memory.kept.push(shown(&done.output));
                Ok(None)
            }
            (Wait::ChildOrTimer { child, timer }, MessageBody::TimerFired(fired)) if fired.timer == timer => {
                self.commands.push(Command::CancelChild(child));
                self.memory.kept.push(Value::Null);
                Ok(None)
            }
            (Wait::Approval(approval), MessageBody::ApprovalDecided(decided))
                if decided.approval == approval =>
            {
                self.memory.kept.push(Value::String(decided.decision.clone()));
                Ok(None)
            }
            (wait, _) => Ok(Some(wait)),
        }
    }

    fn join(
        &mut self,
        open: BTreeMap<CommandId, usize>,
        outputs: Vec<Value>,
        group: Option<CommandId>,
        forgiving: bool,
    ) -> Option<Wait> {
        if !open.is_empty() {
            return Some(Wait::Tasks { open, outputs, group, forgiving });
        }
        match group {
            Some(group) => {
                let members = (1..=outputs.len() as u64).map(|n| CommandId(group.0 + n)).collect();
                self.events.push(EventData::ParallelCompleted(Group { group, members }));
                self.memory.kept.push(Value::Array(outputs));
            }
            None => self.memory.kept.extend(outputs),
        }
        None
    }

    /// Executes instructions until one waits or the list ends.
    fn execute(&mut self) -> Result<Progress, Stop> {
        while self.memory.wait.is_none() {
            let list = match (&self.memory.patched, self.memory.cleaning) {
                (_, true) => &self.plan.cleanup,
                (Some(patched), false) => patched,
                (None, false) => &self.plan.steps,
            };
            let Some(instruction) = list.get(self.memory.next).cloned() else {
                let output = Payload::of(&self.memory.kept).expect("values always serialise");
                return Ok(Progress::Completed(output));
            };
            self.memory.next += 1;
            self.memory.wait = self.perform(instruction)?;
        }
        Ok(Progress::Waiting)
    }

    fn perform(&mut self, instruction: Instruction) -> Result<Option<Wait>, Stop> {
        Ok(match instruction {
            Instruction::Task(call) => Some(self.tasks(vec![call], None, false)),
            Instruction::TryTask(call) => Some(self.tasks(vec![call], None, true)),
            Instruction::Repeat { times, task } => {
                if self.memory.round >= times {
                    self.memory.round = 0;
                    return Ok(None);
                }
                self.memory.round += 1;
                self.memory.next -= 1;
                Some(self.tasks(vec![task], None, false))
            }
            Instruction::Parallel(calls) if calls.is_empty() => {
                self.memory.kept.push(Value::Array(Vec::new()));
                None
            }
            Instruction::Parallel(calls) => {
                let group = self.number();
                let members = (1..=calls.len() as u64).map(|n| CommandId(group.0 + n)).collect();
                self.events.push(EventData::ParallelStarted(Group { group, members }));
                Some(self.tasks(calls, Some(group), false))
            }
            Instruction::Spawn(call) => {
                self.task(call);
                None
            }
            Instruction::TaskWithin { task, timeout } => {
                let task = self.task(task);
                Some(Wait::TaskOrTimer { task, timer: self.timer(timeout) })
            }
            Instruction::Sleep(time) => Some(Wait::Timer(self.timer(time))),
            Instruction::Signal { name, timeout } => {
                let timer = timeout.map(|time| self.timer(time));
                Some(Wait::Signal { name, timer })
            }
            Instruction::Send { to, name, payload } => {
                self.send(to, name, &payload);
                None
            }
            Instruction::Child { workflow, input } => Some(Wait::Child(self.child(workflow, &input))),
            Instruction::ChildWithin { workflow, timeout } => {
                let child = self.child(workflow, &Value::Null);
                Some(Wait::ChildOrTimer { child, timer: self.timer(timeout) })
            }
            Instruction::SpawnChild { workflow } => {
                self.child(workflow, &Value::Null);
                None
            }
            Instruction::Approve { node } => {
                let approval = self.number();
                self.events.push(EventData::ApprovalCreated(ApprovalCreated {
                    approval,
                    node,
                    ..ApprovalCreated::default()
                }));
                Some(Wait::Approval(approval))
            }
            Instruction::Log(message) => {
                self.events.push(EventData::Log(Log { message, data: Payload::null() }));
                None
            }
            Instruction::Marker(name) => {
                self.events.push(EventData::Marker(Marker { name, data: Payload::null() }));
                None
            }
            Instruction::MeasureInput => {
                let input = self.memory.input.clone();
                let length = look(&input, self.input.blobs)?.len();
                self.memory.kept.push(Value::from(length));
                None
            }
            Instruction::Keep(value) => {
                self.memory.kept.push(value);
                None
            }
            Instruction::Fail { code, message } => {
                return Err(Stop::Failed(Failure::permanent(code, message)));
            }
        })
    }

    fn number(&mut self) -> CommandId {
        self.memory.commands += 1;
        CommandId(self.memory.commands)
    }

    fn task(&mut self, call: TaskCall) -> CommandId {
        let task = self.number();
        let input = Payload::of(&call.input).expect("values always serialise");
        self.commands.push(Command::RunTask(TaskSpec {
            task,
            name: call.name,
            input,
            options: call.options,
        }));
        task
    }

    fn tasks(&mut self, calls: Vec<TaskCall>, group: Option<CommandId>, forgiving: bool) -> Wait {
        let outputs = vec![Value::Null; calls.len()];
        let open = calls.into_iter().enumerate().map(|(place, call)| (self.task(call), place)).collect();
        Wait::Tasks { open, outputs, group, forgiving }
    }

    fn timer(&mut self, after: Millis) -> CommandId {
        let timer = self.number();
        self.commands.push(Command::StartTimer(TimerSpec {
            timer,
            fire_at: self.input.at.plus(after),
            label: None,
        }));
        timer
    }

    fn child(&mut self, workflow: String, input: &Value) -> CommandId {
        let child = self.number();
        self.commands.push(Command::StartChild(ChildSpec {
            child,
            workflow,
            version: None,
            input: Payload::of(input).expect("values always serialise"),
            priority: 0,
            deadline: None,
            label: None,
            item: None,
        }));
        child
    }

    fn send(&mut self, to: String, name: String, payload: &Value) {
        let signal = self.number();
        let to = match to.as_str() {
            "$parent" => {
                let own = self.input.facts.run.as_str();
                RunId::new(own.rsplit_once('.').map_or(own, |(parent, _)| parent))
            }
            _ => RunId::new(to),
        };
        let payload = Payload::of(payload).expect("values always serialise");
        self.commands.push(Command::SendSignal(SignalSpec { signal, to, name, payload }));
    }
}

/// Returns the bytes of a payload, or stops the step with a request for its blob.
fn look<'a>(payload: &'a Payload, blobs: &'a Blobs) -> Result<&'a [u8], Stop> {
    payload.resolve(blobs).map_err(|missing| Stop::NeedBlob(missing.clone()))
}

/// Returns an inline output as its value and a blob as its hash.
fn shown(payload: &Payload) -> Value {
    match payload {
        Payload::Inline(raw) => serde_json::from_str(raw.get()).unwrap_or(Value::Null),
        Payload::Blob(reference) => Value::String(reference.hash.clone()),
    }
}
