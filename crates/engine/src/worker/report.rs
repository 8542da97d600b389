//! Reports results of attempts to the world.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use rhythm_core::failure::codes;
use rhythm_core::fold::spill;
use rhythm_core::message::{Actor, Message, MessageBody, TaskCompleted, TaskFailed};
use rhythm_core::payload::{Contents, INLINE_MAX_BYTES};
use rhythm_core::retry::Verdict;
use rhythm_core::task::MAX_DELIVERIES;
use rhythm_core::{Blobs, Failure, MessageId, OnExhausted, Payload, RunId, Timestamp, WorkerId};

use super::{Attempt, Cancellation, TURN, Turns, Worker};
use crate::plan::{Built, CommitBuilder, FOLD_AT_MOST, panic_text};
use crate::process::PendingItem;
use crate::programs::Lookup;
use crate::world::*;
use crate::yield_budget::YieldBudget;

/// Inputs and outputs above this size are refused.
pub const MAX_PAYLOAD_BYTES: u64 = 32 * 1024 * 1024;

/// An ended attempt with its result.
pub struct Finished {
    pub task: ClaimedTask,
    pub result: Result<Payload, Failure>,
}

impl Finished {
    pub fn run(&self) -> Option<&RunId> {
        self.task.run.as_ref().map(|(run, _)| run)
    }
}

impl Attempt {
    /// Runs the handler. Panics become failures; an attempt delivered too often, or past its deadline, is not
    /// run.
    pub async fn perform(&self, worker: &Worker) -> Result<Payload, Failure> {
        use futures_util::FutureExt;
        use std::panic::AssertUnwindSafe;
        if self.task.delivery > MAX_DELIVERIES {
            let message = format!("{} deliveries of this attempt ended without an answer", MAX_DELIVERIES);
            return Err(Failure::permanent(codes::POISON, message));
        }
        if self.task.deadline_at.is_some_and(|deadline| deadline <= worker.process.time.now()) {
            let message = "the task's deadline passed before an attempt could succeed";
            return Err(Failure::permanent(codes::DEADLINE_EXCEEDED, message));
        }
        let input = match worker.load_input(&self.task.input).await {
            Ok(input) => input?,
            Err(error) => {
                // The attempt did not begin, so it is released and not counted, unless it was cancelled in
                // the meantime.
                self.context.cancel(Cancellation::Unready);
                return Err(Failure::cancelled(format!("the task was cancelled before it began: {error}")));
            }
        };
        let handled = AssertUnwindSafe(self.handler.handle(self.context.clone(), input)).catch_unwind().await;
        match handled {
            Ok(result) => result,
            Err(panic) => Err(Failure::new(codes::PANIC, panic_text(&*panic))),
        }
    }
}

impl Worker {
    /// Loads the input. The outer error means that the world failed; content that cannot be read is a
    /// failure.
    async fn load_input(&self, input: &Payload) -> WorldResult<Result<Payload, Failure>> {
        let Payload::Blob(blob) = input else { return Ok(Ok(input.clone())) };
        let unreadable = |error: String| Failure::new(codes::BAD_PAYLOAD, format!("the input: {error}"));
        let content = match self.process.world.read_blob(&self.process.config.tenant, blob).await {
            Ok(content) => content,
            Err(error) if error.is_passing() => return Err(error),
            Err(error) => return Ok(Err(unreadable(error.to_string()))),
        };
        let text = String::from_utf8(content.to_vec()).map_err(|error| error.to_string());
        let parsed = text.and_then(|text| Payload::parse(text).map_err(|error| error.to_string()));
        Ok(parsed.map_err(unreadable))
    }

    /// Moves a large output into a blob. If the world fails, returns an error, so that the result is kept and
    /// sent later.
    async fn store_output(&self, output: Payload) -> WorldResult<Result<(Payload, Contents), Failure>> {
        let size = output.size();
        if size > MAX_PAYLOAD_BYTES {
            let message = format!("the output has {size} bytes, the limit is {MAX_PAYLOAD_BYTES}");
            return Ok(Err(Failure::permanent(codes::LIMIT_EXCEEDED, message)));
        }
        let Some((blob, content)) = spill(&output) else { return Ok(Ok((output, Contents::new()))) };
        match self.process.world.put_blob(&self.process.config.tenant, &blob, &content).await {
            Ok(()) => Ok(Ok((Payload::Blob(blob.clone()), vec![(blob, content)]))),
            Err(error) if error.is_passing() => Err(error),
            Err(error) => Ok(Err(Failure::new(codes::BAD_PAYLOAD, format!("the output: {error}")))),
        }
    }

    /// Writes results: a run whose row is cached here is stepped in the same commit, other runs get a
    /// message. Returns the tasks claimed by the commits. Fails if the world fails; the results are kept and
    /// sent again.
    pub async fn settle(&self, results: Vec<Finished>) -> WorldResult<Vec<Attempt>> {
        let mut slots = self.slots_for_new();
        let mut turns = Turns::new();
        let mut by_run: BTreeMap<RunId, Vec<FinishedTask>> = BTreeMap::new();
        let mut stored: BTreeMap<RunId, Contents> = BTreeMap::new();
        let mut plain = Vec::new();
        for Finished { task, result } in results {
            if !self.still_mine(&task) {
                tracing::info!(task = %task.id, claim = task.claim, "a result was dropped: its claim is lost");
                self.forget(&task.id, task.claim);
                continue;
            }
            let result = match result {
                Ok(output) => match self.store_output(output.clone()).await {
                    Ok(Ok((output, contents))) => {
                        if let (Some((run, _)), false) = (&task.run, contents.is_empty()) {
                            stored.entry(run.clone()).or_default().extend(contents);
                        }
                        Ok(output)
                    }
                    Ok(Err(failure)) => Err(failure),
                    Err(_) => {
                        self.lock_unstored().push(Finished { task, result: Ok(output) });
                        continue;
                    }
                },
                Err(failure) => Err(bounded(failure)),
            };
            if let Some(turn) = self.turn_of(&task) {
                slots.give(&task.options.queue);
                turns.extend(task.run.as_ref().map(|(run, _)| (run.clone(), turn)));
            }
            let finished = self.outcome(&task, result);
            match &task.run {
                Some((run, _)) if finished.message.is_some() && self.lock_rows().contains_key(run) => {
                    by_run.entry(run.clone()).or_default().push(finished);
                }
                _ => plain.push(finished),
            }
        }
        let (mut items, mut after) = (Vec::new(), Vec::new());
        let mut breath = YieldBudget::new(&self.process.time);
        for (run, finished) in by_run {
            breath.take().await;
            // A result must not get lost: if fusing fails, it goes through the inbox.
            let messages: Vec<Message> = finished.iter().filter_map(|task| task.message.clone()).collect();
            match self.fuse(&run, &messages, &mut slots).await {
                Ok(Some((mut item, mut aftermath))) => {
                    if let Some(outputs) = stored.remove(&run) {
                        Arc::make_mut(&mut aftermath.stored).extend(outputs);
                    }
                    let consumed: HashSet<&MessageId> = item.consumed.iter().collect();
                    for mut task in finished {
                        // A result after the run's end was not consumed; it goes through the inbox.
                        if task.message.as_ref().is_some_and(|message| consumed.contains(&message.id)) {
                            aftermath.told.push(task.message.take());
                            item.finished.push(task);
                        } else {
                            plain.push(task);
                        }
                    }
                    items.push(item);
                    after.push(aftermath);
                }
                Ok(None) | Err(_) => plain.extend(finished),
            }
        }
        let plainly = self.finish(plain).await;
        if items.is_empty() {
            return plainly.map(|()| Vec::new());
        }
        let done: Vec<_> =
            items.iter().flat_map(|item| &item.finished).map(|f| (f.task.clone(), f.claim)).collect();
        let settled = self.process.push(self.process.batch(items, Vec::new(), after)).await;
        // Whether the commit succeeded or not, the result is queued to be sent: these attempts are over.
        for (task, claim) in &done {
            self.forget(task, *claim);
        }
        let settled = match settled {
            Ok(settled) => settled,
            Err(error) => {
                self.keep_room(slots);
                return Err(error);
            }
        };
        let attempts = self.absorb(settled, &turns).await;
        if let Err(error) = plainly {
            tracing::warn!(%error, "results could not be written; they are sent again");
        }
        Ok(attempts)
    }

    /// Plans a fused commit for the results of one run, if it can be stepped here now.
    async fn fuse(
        &self,
        run: &RunId,
        messages: &[Message],
        slots: &mut super::Slots<'_>,
    ) -> WorldResult<Option<(CommitItem, PendingItem)>> {
        let Some(row) = self.lock_rows().get(run).map(|cached| cached.row.clone()) else { return Ok(None) };
        let process = &self.process;
        let found = process.programs.load(&*process.world, &row.tenant, &row.workflow, &row.version).await?;
        let Lookup::Found(program) = found else { return Ok(None) };
        if row.paused {
            return Ok(None);
        }
        let mut blobs = Blobs::new();
        let plan = loop {
            let is_long = process.time.is_over(FOLD_AT_MOST);
            let folding = CommitBuilder {
                program: &*program,
                row: &row,
                fence: Fence::Fused,
                commit: process.commit_id(),
                messages,
                more: false,
                now: process.time.now(),
                blobs: &blobs,
                is_long: &is_long,
            };
            match folding.plan(&mut |task| slots.take(task)) {
                Built::Commit(plan) => break plan,
                Built::NeedBlobs(wanted) => process.load_blobs(&wanted, &mut blobs).await?,
                // The engine that claims the run reports the problem.
                Built::Idle | Built::Unsteppable(_) => return Ok(None),
            }
        };
        Ok(Some(process.prepare(*plan, &row).await?))
    }

    /// Ends attempts without stepping their runs. Results whose answer is lost are sent again with the next
    /// call.
    pub(super) async fn finish(&self, finished: Vec<FinishedTask>) -> WorldResult<()> {
        let mut all = std::mem::take(&mut *self.lock_unfinished());
        all.extend(finished);
        if all.is_empty() {
            return Ok(());
        }
        let config = &self.process.config;
        let (tenant, worker) = (config.tenant.clone(), config.worker.clone());
        let answer =
            self.process.world.finish_tasks(FinishTasks { tenant, worker, finished: all.clone() }).await;
        match answer {
            Ok(answers) => {
                for (task, answer) in all.iter().zip(answers) {
                    if answer == Finish::Stale {
                        let (task, claim) = (&task.task, task.claim);
                        tracing::info!(%task, claim, "a result was refused: its task was handed out again");
                    }
                    if let TaskOutcome::Retry { delay, .. } = task.outcome {
                        self.process.agenda.note(self.process.time.now().plus(delay));
                    }
                    self.forget(&task.task, task.claim);
                }
                Ok(())
            }
            Err(error) if error.is_passing() => {
                self.lock_unfinished().extend(all);
                Err(error)
            }
            Err(error) if all.len() == 1 => {
                // The world refuses it for good: the claim is dropped, and the task is delivered again.
                tracing::error!(task = %all[0].task, %error, "the world refused a result");
                self.forget(&all[0].task, all[0].claim);
                Ok(())
            }
            Err(_) => {
                // Send each result alone, so that one bad result does not fail the others.
                for (place, finished) in all.iter().enumerate() {
                    if let Err(error) = Box::pin(self.finish(vec![finished.clone()])).await {
                        self.lock_unfinished().extend(all[place + 1..].iter().cloned());
                        return Err(error);
                    }
                }
                Ok(())
            }
        }
    }

    /// Whether results wait for the world to come back.
    pub fn has_unfinished(&self) -> bool {
        !self.lock_unfinished().is_empty() || !self.lock_unstored().is_empty()
    }

    /// Sends results without an answer again. Fails if the world fails.
    pub async fn resend(&self) -> WorldResult<Vec<Attempt>> {
        self.finish(Vec::new()).await?;
        let mut attempts = self.resend_commits().await?;
        let unstored = std::mem::take(&mut *self.lock_unstored());
        if !unstored.is_empty() {
            match self.settle(unstored).await {
                Ok(more) => attempts.extend(more),
                Err(error) => tracing::warn!(%error, "results could not be written; they are sent again"),
            }
        }
        Ok(attempts)
    }

    fn outcome(&self, task: &ClaimedTask, result: Result<Payload, Failure>) -> FinishedTask {
        let (worker, now) = (&self.process.config.worker, self.process.time.now());
        last_word(task, result, self.cancellation(task), worker, now)
    }

    fn still_mine(&self, task: &ClaimedTask) -> bool {
        let running = self.lock_running();
        running.get(&task.id).is_some_and(|known| {
            known.claim == task.claim && known.context.cancellation() != Some(Cancellation::Lost)
        })
    }

    /// Returns since when the task's run has kept its slot; `None` if the slot goes to waiting tasks now.
    fn turn_of(&self, task: &ClaimedTask) -> Option<u64> {
        let now = self.process.time.own_millis();
        let turn = self.lock_running().get(&task.id).map_or(now, |running| running.turn);
        let over = self.has_backlog() && now.saturating_sub(turn) >= TURN.as_u64();
        (!over).then_some(turn)
    }

    fn cancellation(&self, task: &ClaimedTask) -> Option<Cancellation> {
        self.lock_running().get(&task.id).and_then(|running| running.context.cancellation())
    }

    fn lock_unstored(&self) -> std::sync::MutexGuard<'_, Vec<Finished>> {
        self.unstored.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn lock_unfinished(&self) -> std::sync::MutexGuard<'_, Vec<FinishedTask>> {
        self.unfinished.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Decides the outcome of an attempt: the write to the world and the message for the run.
pub fn last_word(
    task: &ClaimedTask,
    result: Result<Payload, Failure>,
    stopped: Option<Cancellation>,
    worker: &WorkerId,
    now: Timestamp,
) -> FinishedTask {
    let tell = |body: MessageBody| {
        let (_, number) = task.run.as_ref()?;
        let actor = Actor(format!("worker:{worker}"));
        Some(Message { id: MessageId::task(*number), at: now, actor, trace: task.trace.clone(), body })
    };
    let number = task.run.as_ref().map(|(_, number)| *number).unwrap_or_default();
    let (outcome, message) = match result {
        Ok(output) => {
            let body = TaskCompleted { task: number, attempt: task.attempt, output: output.clone() };
            (TaskOutcome::Completed { output }, tell(MessageBody::TaskCompleted(body)))
        }
        Err(failure) => {
            let failure = failure.with_attempts(task.attempt);
            let body = MessageBody::TaskFailed(TaskFailed { task: number, failure: failure.clone() });
            match verdict(task, &failure, now) {
                _ if stopped == Some(Cancellation::Requested) => {
                    (TaskOutcome::Cancelled { failure }, tell(body))
                }
                // The worker is shutting down or the attempt never began, so it does not count.
                _ if matches!(stopped, Some(Cancellation::Shutdown | Cancellation::Unready)) => {
                    (TaskOutcome::Released, None)
                }
                Verdict::Retry { delay } => (TaskOutcome::Retry { failure, delay }, None),
                Verdict::Exhausted => {
                    let hold = task.run.is_some() && task.options.on_exhausted == OnExhausted::Hold;
                    (TaskOutcome::Exhausted { failure, hold }, if hold { None } else { tell(body) })
                }
            }
        }
    };
    FinishedTask { task: task.id.clone(), claim: task.claim, outcome, message }
}

fn verdict(task: &ClaimedTask, failure: &Failure, now: Timestamp) -> Verdict {
    let policy = task.options.policy();
    let key = task.id.as_str();
    let verdict = policy.verdict(key, task.attempt, &failure.code, &failure.kind, failure.retryable);
    match (verdict, task.deadline_at) {
        // An attempt that could only start after the deadline is not made.
        (Verdict::Retry { delay }, Some(deadline)) if now.plus(delay) >= deadline => Verdict::Exhausted,
        (verdict, _) => verdict,
    }
}

/// Cuts a failure to a size that fits into history, inbox and dead letter.
fn bounded(mut failure: Failure) -> Failure {
    const MESSAGE_MAX: usize = 16 * 1024;
    if failure.message.len() > MESSAGE_MAX {
        let end = failure.message.floor_char_boundary(MESSAGE_MAX);
        failure.message.truncate(end);
        failure.message.push_str(" ... (cut)");
    }
    failure.code.truncate(failure.code.floor_char_boundary(200));
    failure.kind.truncate(failure.kind.floor_char_boundary(200));
    if let Some(size) =
        failure.data.as_ref().map(Payload::size).filter(|size| *size > INLINE_MAX_BYTES as u64)
    {
        failure.data = None;
        failure.fields = None;
        failure.message.push_str(&format!(" (its data of {size} bytes was left out)"));
    }
    failure
}
