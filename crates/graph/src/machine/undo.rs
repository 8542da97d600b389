//! Compensation: the work of a run's nodes is undone in reverse order, one at a time. It runs before a failed
//! or cancelled run ends, and on request for a run that has ended. Work that cannot be undone does not stop
//! the rest; the run's failure lists it.

use rhythm_core::command::Command;
use rhythm_core::event::{EventData, Warning};
use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_core::message::{ApprovalDecided, Compensate, MessageBody};
use rhythm_core::payload::Payload;
use rhythm_core::program::Progress;
use rhythm_core::run::Compensation;
use rhythm_core::task::TaskOptions;

use super::execute::Trouble;
use super::look::object;
use super::memory::{Memory, NodeId, Stage, Undo, Undoing, Wait};
use super::{Machine, Stopped, codes};

/// End of the run after all possible work is undone.
#[derive(Default)]
struct Aim {
    failure: Option<Failure>,
    completed: bool,
    left: Left,
}

/// Work that could not be undone, the last first, with the reasons.
#[derive(Default)]
struct Left {
    why: Vec<(NodeId, Failure)>,
    what: Vec<Undo>,
}

impl Machine<'_> {
    /// Stops everything that was under way before this message, then undoes the work, the result of this
    /// message included. `failure` is absent when the run was cancelled: then the fold stops its tasks and
    /// children.
    pub fn begin_undo(&mut self, before: &Memory, failure: Option<Failure>) -> Stopped<Progress> {
        self.commands.clear();
        let answered = self.input.message.body.answers();
        let timers = before.wall.into_iter().chain(before.more);
        let timers = timers.chain(before.open.values().flat_map(|visit| visit.wait.timers()));
        let timers: Vec<CommandId> = timers.filter(|timer| Some(*timer) != answered).collect();
        self.commands.extend(timers.into_iter().map(Command::CancelTimer));
        if failure.is_some() {
            let work = before.open.values().flat_map(|visit| visit.wait.stops());
            let work: Vec<Command> = work.filter(|command| target(command) != answered).collect();
            self.commands.extend(work);
        }
        let visits = std::mem::take(&mut self.memory.open).into_values();
        let asked = visits.filter_map(|visit| match visit.wait {
            Wait::Person(question) => Some(question.approval),
            _ => None,
        });
        for approval in asked.chain(std::mem::take(&mut self.memory.proposals).into_keys()) {
            self.events.push(EventData::ApprovalDecided(ApprovalDecided {
                approval,
                decision: "cancelled".to_owned(),
                by: "system".to_owned(),
                comments: String::new(),
                data: Payload::null(),
            }));
        }
        self.memory.queued.clear();
        self.memory.parked.clear();
        (self.memory.wall, self.memory.more) = (None, None);
        self.undo_next(Aim { failure, ..Aim::default() })
    }

    /// Starts compensation on request. For a run that has ended, work whose compensation was called off or
    /// failed is tried again.
    pub fn compensate(&mut self, asked: &Compensate) -> Stopped<Option<Progress>> {
        let asked_for = asked.failure.clone();
        let progress = match self.memory.stage.clone() {
            Stage::Fresh => return Ok(None),
            Stage::Running => {
                let before = self.memory.clone();
                self.begin_undo(&before, asked_for)?
            }
            Stage::Undoing(undoing) => {
                let Undoing { failure, completed, node, value, config, again, .. } = *undoing;
                self.memory.undo.push(Undo { node, value, config });
                self.memory.undo.extend(again.into_iter().rev());
                let failure = failure.or(asked_for.filter(|_| !completed));
                self.undo_next(Aim { failure, completed, ..Aim::default() })?
            }
            Stage::Ended => self.undo_next(Aim { completed: true, ..Aim::default() })?,
        };
        self.note_outside();
        Ok(Some(progress))
    }

    /// Handles an answer to the running compensator. Any other message came too late and is ignored.
    pub fn undone(&mut self, body: &MessageBody) -> Stopped<Option<Progress>> {
        let Stage::Undoing(undoing) = self.memory.stage.clone() else { return Ok(None) };
        let Undoing { failure, completed, task, node, value, config, left, again } = *undoing;
        let mut left = Left { why: left, what: again };
        match body {
            MessageBody::TaskCompleted(done) if done.task == task => {}
            MessageBody::TaskFailed(failed) if failed.task == task => {
                self.not_undone(&mut left, Undo { node, value, config }, failed.failure.clone());
            }
            _ => return Ok(None),
        }
        self.undo_next(Aim { failure, completed, left }).map(Some)
    }

    fn undo_next(&mut self, mut aim: Aim) -> Stopped<Progress> {
        while let Some(undo) = self.memory.undo.pop() {
            let plan = self.plan.clone();
            let Some(place) = plan.place(&undo.node) else { continue };
            let Some(compensator) = &plan.node(place).compensator else { continue };
            self.need(undo.config.into_iter().chain([undo.value]))?;
            // The config comes from that visit, because the node may have run again since with another
            // config.
            let config = match undo.config {
                Some(config) => self.text(config)?.to_owned(),
                None => match self.config_of(place) {
                    Ok(config) => config.to_string(),
                    Err(Trouble::Stop(stop)) => return Err(stop),
                    Err(Trouble::Node(trouble)) => {
                        self.not_undone(&mut aim.left, undo, trouble);
                        continue;
                    }
                },
            };
            let name = serde_json::Value::from(&*undo.node).to_string();
            let input = object(&[("config", &config), ("input", self.text(undo.value)?), ("node", &name)]);
            let options = TaskOptions {
                queue: plan.node(place).queue.clone(),
                retries: compensator.retry.clone(),
                timeout: compensator.timeout,
                ..TaskOptions::default()
            };
            let task = self.run_task(compensator.task.clone(), input, options);
            let Aim { failure, completed, left: Left { why: left, what: again } } = aim;
            let Undo { node, value, config } = undo;
            let undoing = Undoing { failure, completed, task, node, value, config, left, again };
            self.memory.stage = Stage::Undoing(Box::new(undoing));
            return Ok(Progress::Waiting);
        }
        let Aim { failure, completed, left } = aim;
        self.mark = match (&self.memory.stage, left.why.is_empty()) {
            (_, false) => Some(Compensation::FAILED),
            (Stage::Undoing(_), true) => Some(Compensation::DONE),
            // There was no work to undo.
            (_, true) => None,
        };
        let told = self.what_is_left(&left.why);
        self.keep_for_later(&failure, completed, left.what);
        Ok(match (failure, told) {
            (None, None) if completed => Progress::Completed(self.output()?),
            (None, None) => Progress::Completed(Payload::null()),
            (None, Some(left)) => Progress::Failed(Failure::permanent(codes::COMPENSATION_FAILED, left)),
            (Some(failure), None) => Progress::Failed(failure),
            (Some(failure), Some(left)) => {
                Progress::Failed(Failure { message: format!("{}; {left}", failure.message), ..failure })
            }
        })
    }

    fn not_undone(&mut self, left: &mut Left, undo: Undo, failure: Failure) {
        let (node, action) = (&undo.node, self.action(&undo.node));
        self.warn(format!("what {node} did is not undone by {action}: {failure}"));
        left.why.push((undo.node.clone(), failure));
        left.what.push(undo);
    }

    /// Restores the work that is left to the order it had before compensation, for a later request.
    fn keep_for_later(&mut self, failure: &Option<Failure>, completed: bool, left: Vec<Undo>) {
        let mut left = left.into_iter();
        let Some(Undo { node, value, config }) = left.next() else { return };
        let (failure, task) = (failure.clone(), CommandId(0));
        let (why, again) = (Vec::new(), Vec::new());
        self.memory.undo = left.rev().collect();
        let undoing = Undoing { failure, completed, task, node, value, config, left: why, again };
        self.memory.stage = Stage::Undoing(Box::new(undoing));
    }

    /// Returns the task that undoes a node's work. A patch may have removed it.
    fn action(&self, node: &str) -> &str {
        let compensator = self.plan.place(node).and_then(|place| self.plan.node(place).compensator.as_ref());
        compensator.map_or("its compensator", |compensator| &compensator.task)
    }

    fn what_is_left(&self, left: &[(NodeId, Failure)]) -> Option<String> {
        let each = left.iter().map(|(node, cause)| format!("{node} ({}: {cause})", self.action(node)));
        let each: Vec<String> = each.collect();
        (!each.is_empty()).then(|| format!("still to be undone: {}", each.join(", ")))
    }

    fn warn(&mut self, message: String) {
        let code = codes::COMPENSATION_FAILED.to_owned();
        self.events.push(EventData::Warning(Warning { code, message }));
    }
}

fn target(command: &Command) -> Option<CommandId> {
    match command {
        Command::CancelTask(number) | Command::CancelChild(number) => Some(*number),
        _ => None,
    }
}
