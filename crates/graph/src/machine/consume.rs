//! Effect of a message on a run: it starts the run, answers a wait, or interrupts it. An answer that no visit
//! waits for is ignored, so a duplicate message changes nothing.

use rhythm_core::command::Command;
use rhythm_core::failure::{Failure, codes as task_codes};
use rhythm_core::id::CommandId;
use rhythm_core::message::{ApprovalDecided, MessageBody, Replay};
use rhythm_core::payload::Payload;
use rhythm_core::program::Progress;

use super::memory::{Stage, Visit, Wait};
use super::{Machine, Stop, Stopped, codes};

/// The content of an answer.
pub enum Answer<'m> {
    Given(&'m Payload, u32),
    Failed(&'m Failure),
    Fired,
    Decided(&'m ApprovalDecided),
}

impl<'a> Machine<'a> {
    /// Applies the message and moves tokens as far as they go. Returns `None` when the message changes
    /// nothing.
    pub fn consume(&mut self) -> Stopped<Option<Progress>> {
        let message = self.input.message;
        match (&self.memory.stage, &message.body) {
            (Stage::Fresh, MessageBody::Start(start)) => {
                self.start(&start.input)?;
                self.settle().map(Some)
            }
            // The run failed in its first transition and is cancelled before it starts again.
            (Stage::Fresh, MessageBody::Cancel(_)) => Ok(Some(Progress::Completed(Payload::null()))),
            (Stage::Running, MessageBody::Cancel(_)) => {
                let before = self.memory.clone();
                self.begin_undo(&before, None).map(Some)
            }
            // A run that failed in its first transition may be patched before it starts again.
            (Stage::Fresh | Stage::Running | Stage::Undoing(_), MessageBody::Patch(patch)) => {
                if self.is_repeated() {
                    return Ok(None);
                }
                self.patch(patch)?;
                self.go_on().map(Some)
            }
            (_, MessageBody::Compensate(_)) if self.is_repeated() => Ok(None),
            (_, MessageBody::Compensate(asked)) => self.compensate(asked),
            (Stage::Running, MessageBody::Signal(_)) if self.is_repeated() => Ok(None),
            (Stage::Running, MessageBody::Replay(asked)) => match self.replay(asked)? {
                true => self.settle().map(Some),
                false => Ok(None),
            },
            (Stage::Running, body) => match self.answer(body)? {
                true => self.settle().map(Some),
                false => Ok(None),
            },
            (Stage::Undoing(_), body) => self.undone(body),
            (Stage::Fresh | Stage::Ended, _) => Ok(None),
        }
    }

    fn go_on(&mut self) -> Stopped<Progress> {
        match self.memory.stage {
            Stage::Running => self.settle(),
            _ => Ok(Progress::Waiting),
        }
    }

    /// Returns whether this message from outside is a second delivery of the last one consumed.
    fn is_repeated(&self) -> bool {
        let id = self.input.message.id.as_str();
        self.memory.last_outside.as_deref() == Some(id)
    }

    pub(super) fn note_outside(&mut self) {
        self.memory.last_outside = Some(self.input.message.id.as_str().to_owned());
    }

    /// Starts the run. The inputs become the payload of one token for each entry node.
    fn start(&mut self, inputs: &Payload) -> Stopped {
        self.memory.stage = Stage::Running;
        self.memory.inputs = self.memory.values.add(inputs.clone());
        self.check_size(self.memory.inputs, "the inputs of the run")?;
        let plan = self.plan.clone();
        if let Some(wall_time) = plan.graph.limits.wall_time {
            self.memory.wall = Some(self.timer(self.input.at.plus(wall_time)));
        }
        for entry in plan.graph.entries() {
            self.send(None, entry, 0, self.memory.inputs);
        }
        Ok(())
    }

    /// Applies an answer. Returns whether it changed anything.
    fn answer(&mut self, body: &'a MessageBody) -> Stopped<bool> {
        let (command, answer) = match body {
            MessageBody::TaskCompleted(done) => (done.task, Answer::Given(&done.output, done.attempt)),
            MessageBody::TaskFailed(failed) => (failed.task, Answer::Failed(&failed.failure)),
            MessageBody::ChildCompleted(done) => (done.child, Answer::Given(&done.output, 1)),
            MessageBody::ChildFailed(failed) => (failed.child, Answer::Failed(&failed.failure)),
            MessageBody::ApprovalDecided(decided) => (decided.approval, Answer::Decided(decided)),
            MessageBody::TimerFired(fired) if self.memory.wall == Some(fired.timer) => {
                return Stop::failed(codes::DEADLINE, "the run has taken longer than its limits allow");
            }
            MessageBody::TimerFired(fired) if self.memory.more == Some(fired.timer) => {
                self.memory.more = None;
                return Ok(true);
            }
            MessageBody::TimerFired(fired) => (fired.timer, Answer::Fired),
            MessageBody::Signal(signal) => match self.oldest_wait(&signal.name) {
                Some(wait) => {
                    self.note_outside();
                    (wait, Answer::Given(&signal.payload, 1))
                }
                None => return Ok(false),
            },
            _ => return Ok(false),
        };
        self.hand_over(command, answer)
    }

    /// Gives an answer to the visit that waits for it. Returns whether one did.
    fn hand_over(&mut self, command: CommandId, answer: Answer<'_>) -> Stopped<bool> {
        if let (Answer::Decided(decided), Some(proposal)) = (&answer, self.memory.proposals.remove(&command))
        {
            self.proposal_decided(&proposal, decided)?;
            return Ok(true);
        }
        let Some(number) = self.memory.visit_of(command) else { return Ok(false) };
        let Some(mut visit) = self.memory.open.remove(&number) else { return Ok(false) };
        let wait = std::mem::replace(&mut visit.wait, Wait::Nothing);
        match (wait, answer) {
            (Wait::Task(_), Answer::Given(output, attempt)) => {
                self.outcome(visit, Some(command), output.clone(), attempt)?;
            }
            (Wait::Task(_), Answer::Failed(failure)) => {
                // A held task sends no answer. One that an operator discards does.
                let failure = self.out_of_time(&visit, command, failure);
                self.give_up(visit, Some(command), &failure)?;
            }
            (Wait::Signal { signal, timer, .. }, Answer::Given(output, attempt)) if signal == command => {
                self.commands.extend(timer.map(Command::CancelTimer));
                self.outcome(visit, Some(command), output.clone(), attempt)?;
            }
            (Wait::Child { child, timer, attempt }, Answer::Given(output, _)) if child == command => {
                self.commands.extend(timer.map(Command::CancelTimer));
                self.outcome(visit, Some(command), output.clone(), attempt)?;
            }
            (Wait::Child { child, timer, attempt }, Answer::Failed(failure)) if child == command => {
                self.commands.extend(timer.map(Command::CancelTimer));
                self.child_failed(visit, (child, attempt), failure)?;
            }
            (Wait::Child { child, timer, attempt }, Answer::Fired) if timer == Some(command) => {
                self.commands.push(Command::CancelChild(child));
                let failure = Failure::new(task_codes::TIMEOUT, "the child took too long");
                self.child_failed(visit, (child, attempt), &failure)?;
            }
            (Wait::Pause { attempt, .. }, Answer::Fired) => self.try_child(visit, attempt)?,
            (Wait::Signal { signal, name, timer }, Answer::Fired) if timer == Some(command) => {
                let failure = self.late(&visit, format!("no signal {name:?} came in time"));
                self.fail_node(visit, Some(signal), &failure)?;
            }
            (Wait::InVain(timer), Answer::Fired) => {
                let failure = self.late(&visit, "the delay is longer than the node may take");
                self.fail_node(visit, Some(timer), &failure)?;
            }
            (Wait::Timer(_), Answer::Fired) => {
                let value = self.input_of(&visit)?;
                self.result(visit, Some(command), value, 1)?;
            }
            (Wait::Fan(fan), Answer::Given(output, _)) => self.fan_given(visit, fan, command, output)?,
            (Wait::Fan(fan), Answer::Fired) => self.fan_fired(visit, fan, command)?,
            (Wait::Fan(fan), Answer::Failed(failure)) => self.fan_failed(visit, fan, command, failure)?,
            (Wait::Person(question), Answer::Decided(decided)) if question.approval == command => {
                self.decided(visit, question, decided)?;
            }
            (Wait::Person(question), Answer::Fired) if question.approval != command => {
                self.overdue(visit, question, command)?;
            }
            (Wait::Routing(routing), Answer::Given(output, _)) => {
                self.routed(visit, routing, Ok(output.clone()))?;
            }
            (Wait::Routing(routing), Answer::Failed(failure)) => {
                self.routed(visit, routing, Err(failure.to_string()))?;
            }
            (Wait::Sifting(sifting), Answer::Given(output, _)) => {
                self.sifted(visit, sifting, Ok(output.clone()))?;
            }
            (Wait::Sifting(sifting), Answer::Failed(failure)) => {
                self.sifted(visit, sifting, Err(failure.to_string()))?;
            }
            (wait, _) => {
                visit.wait = wait;
                self.memory.open.insert(number, visit);
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Begins a failed visit again. Returns false when there is no such visit.
    fn replay(&mut self, asked: &Replay) -> Stopped<bool> {
        let Some(number) = self.memory.visit_of(asked.command) else { return Ok(false) };
        let at_node = |visit: &Visit| *visit.node == *asked.node;
        if !self.memory.open.get(&number).is_some_and(at_node) {
            return Ok(false);
        }
        let Some(mut visit) = self.memory.open.remove(&number) else { return Ok(false) };
        let wait = std::mem::replace(&mut visit.wait, Wait::Nothing);
        self.commands.extend(wait.timers().into_iter().map(Command::CancelTimer));
        self.commands.extend(wait.stops());
        visit.since = self.input.at;
        self.execute(visit)?;
        Ok(true)
    }

    /// Returns the oldest wait for a signal of this name, so that several waits are served in order.
    fn oldest_wait(&self, wanted: &str) -> Option<CommandId> {
        let waits = self.memory.open.values().filter_map(|visit| match &visit.wait {
            Wait::Signal { signal, name, .. } if name == wanted => Some(*signal),
            _ => None,
        });
        waits.min()
    }
}
