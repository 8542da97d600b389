//! Enqueues and cancels tasks, and ends attempts.

use rhythm_core::message::{Actor, Message, MessageBody, TaskFailed};
use rhythm_core::{CommandId, Failure, MessageId, Millis, Payload, TaskId, TenantId, Timestamp, WorkerId};
use rhythm_engine::world::{
    Creation, EnqueueTasks, Finish, FinishTasks, FinishedTask, NewTask, TaskOutcome, WorldResult,
};
use rusqlite::params;

use super::inbox::Target;
use super::rows;
use super::sql::{Columns, int, json, sql};
use super::tx::Tx;

/// The worker that claims a new task at once, and the expiry of its claim.
#[derive(Clone, Copy)]
pub struct Holder<'a> {
    pub worker: &'a WorkerId,
    pub until: Timestamp,
}

/// A running task whose claim is current.
pub struct Held {
    key: i64,
    run_key: Option<i64>,
    standalone: bool,
    /// The cancel flag of the task.
    cancel: bool,
}

pub fn enqueue_tasks(tx: &Tx<'_>, request: &EnqueueTasks) -> WorldResult<Vec<Creation>> {
    request.tasks.iter().map(|task| enqueue(tx, &request.tenant, task)).collect()
}

pub fn enqueue(tx: &Tx<'_>, tenant: &TenantId, new: &NewTask) -> WorldResult<Creation> {
    let id = params![new.id.as_str(), tenant.as_str()];
    let same = |row: &mut Columns<'_>| {
        Ok(row.take::<String>()? == new.name && row.take::<String>()? == new.input.to_stored())
    };
    if let Some(same) = tx.one(sql!("tasks", "known"), id, same)? {
        return Ok(if same { Creation::Exists } else { Creation::Conflict });
    }
    let run_key = match &new.run {
        Some((run, _)) => {
            tx.one(sql!("runs", "find"), params![run.as_str(), tenant.as_str()], |row| row.take())?
        }
        None => None,
    };
    insert(tx, tenant, new, run_key, None)?;
    Ok(Creation::Created)
}

/// Inserts a new task, in state running if it has a holder. Returns whether it was new.
pub fn insert(
    tx: &Tx<'_>,
    tenant: &TenantId,
    new: &NewTask,
    run_key: Option<i64>,
    holder: Option<Holder<'_>>,
) -> WorldResult<bool> {
    let options = &new.options;
    let due_at = tx.now.plus(options.delay).millis();
    let state = match holder {
        Some(_) => rows::RUNNING,
        None if options.delay > Millis::ZERO => rows::DELAYED,
        None => rows::READY,
    };
    let row = params![
        tx.next_number(),
        tenant.as_str(),
        new.id.as_str(),
        run_key,
        new.run.as_ref().map(|(run, _)| run.as_str()),
        new.run.as_ref().map(|(_, number)| int(number.0)),
        new.name,
        options.queue,
        options.priority,
        state,
        due_at,
        i64::from(holder.is_some()),
        holder.map(|holder| holder.worker.as_str()),
        holder.map(|holder| holder.until.millis()),
        tx.now.millis(),
        options.deadline.map(|deadline| tx.now.plus(deadline).millis()),
        new.input.to_stored(),
        json(options),
        new.actor.0,
        new.trace,
    ];
    let inserted = tx.run(sql!("tasks", "insert"), row)? > 0;
    if inserted && holder.is_none() {
        tx.hint_tasks();
    }
    Ok(inserted)
}

pub fn finish_tasks(tx: &Tx<'_>, request: &FinishTasks) -> WorldResult<Vec<Finish>> {
    let mut answers = Vec::with_capacity(request.finished.len());
    for finished in &request.finished {
        let Some(held) = Held::find(tx, &request.tenant, &request.worker, finished)? else {
            answers.push(Finish::Stale);
            continue;
        };
        held.finish(tx, &request.tenant, finished)?;
        if let (Some(run), Some(message)) = (held.run_key, &finished.message) {
            Target::of_key(tx, run)?.put(tx, message)?;
        }
        answers.push(Finish::Done);
    }
    Ok(answers)
}

impl Held {
    /// Finds the task of a claim. `None` if the claim is not current.
    pub fn find(
        tx: &Tx<'_>,
        tenant: &TenantId,
        worker: &WorkerId,
        finished: &FinishedTask,
    ) -> WorldResult<Option<Self>> {
        let claim = params![finished.task.as_str(), tenant.as_str(), int(finished.claim), worker.as_str()];
        tx.one(sql!("tasks", "held"), claim, |row| {
            let (key, run_key, standalone) = (row.take()?, row.take()?, row.take()?);
            Ok(Self { key, run_key, standalone, cancel: row.take()? })
        })
    }

    /// Checks the claim and ends the task in one statement, if it completed and belongs to a run. Otherwise
    /// it writes nothing and returns false.
    pub fn complete(
        tx: &Tx<'_>,
        tenant: &TenantId,
        worker: &WorkerId,
        finished: &FinishedTask,
    ) -> WorldResult<bool> {
        if !matches!(finished.outcome, TaskOutcome::Completed { .. }) {
            return Ok(false);
        }
        let claim = params![finished.task.as_str(), tenant.as_str(), int(finished.claim), worker.as_str()];
        Ok(tx.run(sql!("tasks", "complete"), claim)? > 0)
    }

    /// Ends the attempt. A task with a cancel flag that would be tried again is cancelled instead.
    pub fn finish(&self, tx: &Tx<'_>, tenant: &TenantId, finished: &FinishedTask) -> WorldResult<()> {
        self.end_attempt(tx, finished)?;
        let stays = match finished.outcome {
            TaskOutcome::Retry { .. } | TaskOutcome::Released => true,
            TaskOutcome::Exhausted { hold, .. } => hold,
            TaskOutcome::Completed { .. } | TaskOutcome::Cancelled { .. } => false,
        };
        if self.cancel && stays {
            cancel(tx, tenant, &finished.task)?;
        }
        Ok(())
    }

    fn end_attempt(&self, tx: &Tx<'_>, finished: &FinishedTask) -> WorldResult<()> {
        let now = tx.now.millis();
        match &finished.outcome {
            TaskOutcome::Completed { output } => self.remove(tx, rows::COMPLETED, Some(output), None),
            TaskOutcome::Cancelled { failure } => self.remove(tx, rows::CANCELLED, None, Some(failure)),
            TaskOutcome::Released => {
                tx.run(sql!("tasks", "release"), params![self.key, now])?;
                tx.hint_tasks();
                Ok(())
            }
            TaskOutcome::Retry { failure, delay } => {
                let next_at = tx.now.plus(*delay).millis();
                let number = tx.next_number();
                tx.run(
                    sql!("tasks", "remember_attempt"),
                    params![number, self.key, now, json(failure), next_at],
                )?;
                let state = if *delay > Millis::ZERO { rows::DELAYED } else { rows::READY };
                tx.run(sql!("tasks", "retry"), params![self.key, state, next_at])?;
                tx.hint_tasks();
                Ok(())
            }
            TaskOutcome::Exhausted { failure, hold } => {
                let letter = params![tx.next_number(), self.key, json(failure), now, hold];
                tx.run(sql!("tasks", "bury"), letter)?;
                if *hold {
                    self.hold(tx, &finished.task)
                } else {
                    self.remove(tx, rows::FAILED, None, Some(failure))
                }
            }
        }
    }

    fn hold(&self, tx: &Tx<'_>, task: &TaskId) -> WorldResult<()> {
        tx.run(sql!("tasks", "hold"), params![self.key, tx.now.millis()])?;
        let detail = format!("task {task} is out of attempts");
        tx.run(sql!("tasks", "block_run"), params![self.run_key, tx.now.millis(), detail]).map(drop)
    }

    /// Removes an ended task from the open ones. A standalone task moves to the ended tasks.
    fn remove(
        &self,
        tx: &Tx<'_>,
        state: i64,
        output: Option<&Payload>,
        failure: Option<&Failure>,
    ) -> WorldResult<()> {
        if self.standalone {
            let ended =
                params![self.key, state, tx.now.millis(), output.map(Payload::to_stored), failure.map(json)];
            tx.run(sql!("tasks", "end"), ended)?;
        }
        tx.run(sql!("tasks", "delete"), params![self.key]).map(drop)
    }
}

/// Cancels a task. A running one gets its cancel flag; any other is removed, and its run gets the answer.
/// Returns false if there is no such task.
pub fn cancel(tx: &Tx<'_>, tenant: &TenantId, task: &TaskId) -> WorldResult<bool> {
    let row = tx.one(sql!("tasks", "open"), params![task.as_str(), tenant.as_str()], |row| {
        let (key, run_key, standalone) = (row.take()?, row.take()?, row.take()?);
        let held = Held { key, run_key, standalone, cancel: true };
        Ok((held, row.take::<i64>()?, row.take::<u32>()?, row.take::<Option<i64>>()?))
    })?;
    let Some((held, state, attempt, number)) = row else { return Ok(false) };
    if state == rows::RUNNING {
        tx.run(sql!("tasks", "ask_to_stop"), params![held.key])?;
        tx.hint_cancels();
        return Ok(true);
    }
    let failure =
        Failure::cancelled("the task was cancelled before it ran").with_attempts(attempt.saturating_sub(1));
    held.remove(tx, rows::CANCELLED, None, Some(&failure))?;
    if state == rows::HELD {
        tx.run(sql!("tasks", "delete_letter"), params![task.as_str(), tenant.as_str()])?;
    }
    if let (Some(run), Some(number)) = (held.run_key, number) {
        unblock_if_last_held(tx, run)?;
        let task = CommandId(number.unsigned_abs());
        let message = Message {
            id: MessageId::task(task),
            at: tx.now,
            actor: Actor::system(),
            trace: None,
            body: MessageBody::TaskFailed(TaskFailed { task, failure }),
        };
        Target::of_key(tx, run)?.put(tx, &message)?;
    }
    Ok(true)
}

/// A run is no longer blocked by dead letters once none of its tasks is held.
pub fn unblock_if_last_held(tx: &Tx<'_>, run_key: i64) -> WorldResult<()> {
    tx.run(sql!("tasks", "unblock_run"), params![run_key]).map(drop)
}
