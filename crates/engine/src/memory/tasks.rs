//! Tasks: enqueueing, claiming, ending attempts, heartbeats.

use rhythm_core::{Blocked, BlockedCode, Failure, Millis, RunId, TaskId, TenantId, Timestamp, WorkerId};

use super::state::{Attempt, Letter, State, Task, Tenant, Worker};
use crate::world::*;

impl Task {
    /// Whether this claim is current.
    pub fn is_held_by(&self, worker: &WorkerId, claim: u64) -> bool {
        self.state == TaskState::Running && self.claim == claim && self.worker.as_ref() == Some(worker)
    }

    pub fn take(&mut self, worker: &WorkerId, now: Timestamp, until: Timestamp) {
        self.state = TaskState::Running;
        self.claim += 1;
        self.delivery += 1;
        self.worker = Some(worker.clone());
        self.claim_until = until;
        self.ask = None;
        self.since = now;
    }

    /// Returns the task to the queue without a holder.
    pub fn give_back(&mut self, now: Timestamp) {
        self.state = TaskState::Ready;
        self.worker = None;
        self.since = now;
    }
}

impl State {
    pub fn enqueue_task(&mut self, tenant_id: &TenantId, new: NewTask, now: Timestamp) -> Creation {
        let order = self.next_order();
        let tenant = self.tenant(tenant_id);
        let same = |name: &str, input: &rhythm_core::Payload| name == new.name && *input == new.input;
        let known = tenant.tasks.get(&new.id).map(|task| same(&task.new.name, &task.new.input));
        let ended = tenant.ended_tasks.get(&new.id).map(|task| same(&task.name, &task.input));
        if let Some(same) = known.or(ended) {
            return if same { Creation::Exists } else { Creation::Conflict };
        }
        let delayed = new.options.delay > Millis::ZERO;
        let due_at = now.plus(new.options.delay);
        let task = Task {
            state: if delayed { TaskState::Delayed } else { TaskState::Ready },
            claim: 0,
            worker: None,
            claim_until: now,
            ask: None,
            attempt: 1,
            delivery: 0,
            cancel_requested: false,
            progress: None,
            created_at: now,
            since: due_at,
            due_at,
            deadline_at: new.options.deadline.map(|deadline| now.plus(deadline)),
            order,
            absorbed: false,
            new,
        };
        tenant.tasks.insert(task.new.id.clone(), task);
        self.hint.tasks = true;
        Creation::Created
    }

    pub fn claim_tasks(&mut self, request: &ClaimTasks, now: Timestamp) -> ClaimedTasks {
        let tenant = self.tenant(&request.tenant);
        let again = if request.ask.again {
            tenant.pick(usize::MAX, |task| {
                let held = task.state == TaskState::Running && task.worker.as_ref() == Some(&request.worker);
                held && task.ask == Some(request.ask.number)
            })
        } else {
            Vec::new()
        };
        let repeated = !again.is_empty();
        let chosen = if repeated {
            again
        } else if request.overdue {
            let limit = request.queues.iter().map(|(_, limit)| limit).sum();
            tenant.pick(limit, |task| {
                let open = matches!(task.state, TaskState::Ready | TaskState::Delayed);
                open && task.deadline_at.is_some_and(|deadline| deadline <= now)
            })
        } else {
            let mut chosen = Vec::new();
            for (queue, limit) in &request.queues {
                if tenant.paused_queues.contains(queue) {
                    continue;
                }
                chosen.extend(tenant.pick(*limit, |task| {
                    let named = request.names.is_empty() || request.names.contains(&task.new.name);
                    let owner = task.new.run.as_ref().map(|(run, _)| run);
                    let wanted = request
                        .of
                        .as_ref()
                        .is_none_or(|root| owner.is_some_and(|run| run.is_in_family_of(root)));
                    task.state == TaskState::Ready && task.new.options.queue == *queue && named && wanted
                }));
            }
            chosen
        };
        let until = now.plus(request.hold);
        let mut tasks = Vec::new();
        let mut runs: Vec<RunRow> = Vec::new();
        for id in chosen {
            let Some(task) = tenant.tasks.get_mut(&id) else { continue };
            if repeated {
                task.claim_until = until;
            } else {
                task.take(&request.worker, now, until);
                task.ask = Some(request.ask.number);
            }
            if let Some((run, _)) = &task.new.run
                && request.with_runs
                && runs.iter().all(|row| row.id != *run)
            {
                runs.extend(tenant.live.get(run).map(|live| live.row.clone()));
            }
            tasks.push(claimed(task));
        }
        ClaimedTasks { at: now, tasks, runs }
    }

    /// Ends an attempt if the claim is current, and delivers the answer to the run.
    pub fn finish(
        &mut self,
        tenant_id: &TenantId,
        worker: &WorkerId,
        finished: FinishedTask,
        now: Timestamp,
    ) -> Finish {
        let task = self.tenant(tenant_id).tasks.get(&finished.task);
        if !task.is_some_and(|task| task.is_held_by(worker, finished.claim)) {
            return Finish::Stale;
        }
        let owner = task.and_then(|task| task.new.run.clone());
        let message = finished.message.clone();
        self.end_attempt(tenant_id, finished, now);
        if let (Some((run, _)), Some(message)) = (owner, message) {
            self.put_message(tenant_id, &run, message, now);
        }
        Finish::Done
    }

    /// Applies the outcome of an attempt to its task. The fence was checked. A task with a cancel request is
    /// cancelled instead of tried again.
    pub fn end_attempt(&mut self, tenant_id: &TenantId, finished: FinishedTask, now: Timestamp) {
        let id = finished.task.clone();
        self.apply_outcome(tenant_id, finished, now);
        if self.tenant(tenant_id).tasks.get(&id).is_some_and(|task| task.cancel_requested) {
            self.cancel_task(tenant_id, &id, now);
        }
    }

    fn apply_outcome(&mut self, tenant_id: &TenantId, finished: FinishedTask, now: Timestamp) {
        let order = self.next_order();
        let tenant = self.tenant(tenant_id);
        let Some(task) = tenant.tasks.get_mut(&finished.task) else { return };
        match finished.outcome {
            TaskOutcome::Released => {
                task.give_back(now);
                task.delivery -= 1;
                self.hint.tasks = true;
            }
            TaskOutcome::Retry { failure, delay } => {
                let next_at = now.plus(delay);
                tenant.attempts.push(Attempt {
                    run: task.new.run.as_ref().map(|(run, _)| run.clone()),
                    row: attempt_row(task, failure, now, Some(next_at)),
                });
                task.state = if delay > Millis::ZERO { TaskState::Delayed } else { TaskState::Ready };
                task.worker = None;
                task.attempt += 1;
                task.delivery = 0;
                task.due_at = next_at;
                task.since = next_at;
                self.hint.tasks = true;
            }
            TaskOutcome::Exhausted { failure, hold } => {
                let earlier = tenant.dead.remove(&finished.task);
                let letter = bury(task, earlier, (failure.clone(), hold), order, now);
                let owner = task.new.run.clone();
                tenant.dead.insert(finished.task.clone(), letter);
                if hold {
                    task.state = TaskState::Held;
                    task.worker = None;
                    task.since = now;
                    let live = owner.and_then(|(run, _)| tenant.live.get_mut(&run));
                    // A quarantined run keeps its reason.
                    if let Some(live) = live.filter(|live| !live.aside) {
                        let detail = format!("task {} is out of attempts", finished.task);
                        live.blocked = Some(Blocked { code: BlockedCode::DeadLetter, since: now, detail });
                    }
                } else {
                    self.remove_task(
                        tenant_id,
                        &finished.task,
                        TaskOutcome::Exhausted { failure, hold },
                        now,
                    );
                }
            }
            outcome => self.remove_task(tenant_id, &finished.task, outcome, now),
        }
    }

    /// Removes an ended task from the open ones; standalone tasks stay readable.
    pub fn remove_task(&mut self, tenant_id: &TenantId, id: &TaskId, outcome: TaskOutcome, now: Timestamp) {
        let tenant = self.tenant(tenant_id);
        let Some(task) = tenant.tasks.remove(id) else { return };
        if task.new.run.is_some() {
            return;
        }
        let (state, output, failure) = match outcome {
            TaskOutcome::Completed { output } => (TaskState::Completed, Some(output), None),
            TaskOutcome::Cancelled { failure } => (TaskState::Cancelled, None, Some(failure)),
            TaskOutcome::Exhausted { failure, .. } | TaskOutcome::Retry { failure, .. } => {
                (TaskState::Failed, None, Some(failure))
            }
            TaskOutcome::Released => return,
        };
        let mut summary = Tenant::summary_of_task(&task);
        summary.state = state;
        summary.output = output;
        summary.failure = failure;
        summary.since = now;
        tenant.ended_tasks.insert(id.clone(), summary);
    }

    /// Clears the dead-letter block of a run once none of its tasks is held.
    pub fn unblock_if_last_held(&mut self, tenant_id: &TenantId, run: &RunId) {
        let tenant = self.tenant(tenant_id);
        let still_held = tenant.tasks.values().any(|task| {
            task.state == TaskState::Held && task.new.run.as_ref().is_some_and(|(owner, _)| owner == run)
        });
        if let Some(live) = tenant.live.get_mut(run)
            && !still_held
            && live.blocked.as_ref().is_some_and(|blocked| blocked.code == BlockedCode::DeadLetter)
        {
            live.blocked = None;
        }
    }

    pub fn extend(&mut self, request: Extend, handle: u64, now: Timestamp) -> Extended {
        let tenant = self.tenant(&request.tenant);
        let worker = request.card.id.clone();
        let known = tenant.workers.get(&worker);
        let started_at = known.map_or(now, |known| known.started_at);
        // A late heartbeat of a dead process must not replace its successor of the same name.
        let has_successor = known.is_some_and(|known| known.handle > handle);
        if request.leaving && !has_successor {
            tenant.workers.remove(&worker);
        } else if !has_successor {
            let (card, running) = (request.card, request.running);
            let row = Worker { card, handle, started_at, beat_at: now, running, missing_since: None };
            tenant.workers.insert(worker.clone(), row);
        }
        let mut answer = Extended { at: now, lost: Vec::new(), cancelled: Vec::new() };
        for beat in request.tasks {
            let TaskClaim { task: id, claim } = beat.claim;
            match tenant.tasks.get_mut(&id).filter(|task| task.is_held_by(&worker, claim)) {
                None => answer.lost.push(id),
                Some(task) => {
                    task.claim_until = now.plus(request.hold);
                    if beat.progress.is_some() {
                        task.progress = beat.progress;
                    }
                    if task.cancel_requested {
                        answer.cancelled.push(id);
                    }
                }
            }
        }
        answer
    }
}

impl Tenant {
    /// Returns the first tasks by priority, then age.
    fn pick(&self, limit: usize, wanted: impl Fn(&Task) -> bool) -> Vec<TaskId> {
        let mut found: Vec<(i32, Timestamp, u64, &TaskId)> = self
            .tasks
            .values()
            .filter(|task| wanted(task))
            .map(|task| (-task.new.options.priority, task.due_at, task.order, &task.new.id))
            .collect();
        found.sort();
        found.into_iter().take(limit).map(|(.., id)| id.clone()).collect()
    }
}

fn claimed(task: &Task) -> ClaimedTask {
    ClaimedTask {
        id: task.new.id.clone(),
        run: task.new.run.clone(),
        name: task.new.name.clone(),
        input: task.new.input.clone(),
        options: task.new.options.clone(),
        claim: task.claim,
        attempt: task.attempt,
        delivery: task.delivery,
        progress: task.progress.clone(),
        created_at: task.created_at,
        deadline_at: task.deadline_at,
        trace: task.new.trace.clone(),
    }
}

fn attempt_row(task: &Task, failure: Failure, now: Timestamp, next_at: Option<Timestamp>) -> AttemptRow {
    AttemptRow {
        task: task.new.id.clone(),
        attempt: task.attempt,
        delivery: task.delivery,
        worker: task.worker.as_ref().map(ToString::to_string).unwrap_or_default(),
        ended_at: now,
        failure,
        next_at,
    }
}

/// Creates the letter of a task out of attempts. A requeued one keeps its history and its run.
fn bury(
    task: &Task,
    earlier: Option<Letter>,
    (failure, held): (Failure, bool),
    order: u64,
    now: Timestamp,
) -> Letter {
    let mut letter = dead_letter(task, failure, held, now);
    let mut new = task.new.clone();
    if let Some(earlier) = earlier {
        letter.history.splice(0..0, earlier.letter.history);
        new.run = earlier.new.run;
    }
    letter.run = new.run.as_ref().map(|(run, _)| run.clone());
    letter.number = new.run.as_ref().map(|(_, number)| *number);
    Letter { letter, failed_run: false, claim: task.claim, new, order }
}

fn dead_letter(task: &Task, failure: Failure, held: bool, now: Timestamp) -> DeadLetter {
    let status = if task.absorbed && !held { LetterStatus::Handled } else { LetterStatus::Pending };
    DeadLetter {
        task: task.new.id.clone(),
        run: None,
        number: None,
        name: task.new.name.clone(),
        input: task.new.input.clone(),
        options: task.new.options.clone(),
        failure,
        attempts: task.attempt,
        died_at: now,
        held,
        fate: Fate::Undecided,
        status,
        history: vec![LetterChange { status, at: now, by: None }],
    }
}
