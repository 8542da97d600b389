//! The one way to move a run: checks the fence, then writes everything the transition asks for, in the order
//! of `docs/internals/worlds.md`. An item whose fence does not hold has written nothing.

use rhythm_core::message::{Message, MessageBody, TimerFired};
use rhythm_core::{MessageId, Millis, RunId, TaskId, TenantId, Timestamp, WorkerId};
use rhythm_engine::world::{
    Commit, CommitItem, CommitOutcome, Committed, Creation, Done, Fence, NewRun, TaskClaim, WorldResult,
};
use rusqlite::{ToSql, params};

use super::definitions;
use super::end_run;
use super::history;
use super::inbox::Target;
use super::rows::place;
use super::runs;
use super::sql::{Columns, int, json, sql};
use super::tasks::{self, Held, Holder};
use super::tx::Tx;

pub fn commit(tx: &Tx<'_>, request: &Commit) -> WorldResult<Committed> {
    let by = Committer { tx, request, until: tx.now.plus(request.hold) };
    let outcomes = request.items.iter().map(|item| by.commit(item)).collect::<WorldResult<_>>()?;
    for released in &request.released {
        end_run::release(tx, &request.tenant, &request.worker, released)?;
    }
    Ok(Committed { at: tx.now, outcomes })
}

/// Writes a commit without a worker: the first one of a fork, or an operator's change of version.
pub fn write_first(tx: &Tx<'_>, tenant: &TenantId, item: &CommitItem) -> WorldResult<CommitOutcome> {
    let (worker, hold) = (WorkerId::new(""), Millis::ZERO);
    let request = Commit { tenant: tenant.clone(), worker, hold, items: Vec::new(), released: Vec::new() };
    Committer { tx, request: &request, until: tx.now }.commit(item)
}

/// The values that the fence checks.
struct Current {
    key: i64,
    workflow: String,
    revision: u64,
    last_commit: Option<String>,
    paused: bool,
    /// Set aside for a reason that a fused commit does not clear.
    aside: bool,
    place: i64,
    worker: Option<String>,
    claim: u64,
    arrived: u64,
    /// Neither blocked nor set aside nor reported as stuck, so the commit has nothing of this to clear.
    free: bool,
}

fn current(row: &mut Columns<'_>) -> rusqlite::Result<Current> {
    Ok(Current {
        key: row.take()?,
        workflow: row.take()?,
        revision: row.count()?,
        last_commit: row.take()?,
        paused: row.take()?,
        aside: row.take::<Option<bool>>()?.unwrap_or(false),
        place: row.take()?,
        worker: row.take()?,
        claim: row.count()?,
        arrived: row.count()?,
        free: row.take()?,
    })
}

struct Committer<'a> {
    tx: &'a Tx<'a>,
    request: &'a Commit,
    /// Expiry of claims on new tasks.
    until: Timestamp,
}

impl Committer<'_> {
    fn commit(&self, item: &CommitItem) -> WorldResult<CommitOutcome> {
        let tx = self.tx;
        let id = params![item.run.as_str(), self.request.tenant.as_str()];
        let mut found = tx.one(sql!("commit", "current"), id, current)?;
        if let Some(run) = &found
            && run.last_commit.as_deref() == Some(item.commit.as_str())
        {
            return self.repeat(item, run.arrived);
        }
        if !item.blobs.is_empty() {
            if found.is_none()
                && let done @ CommitOutcome::Done(_) = self.repeat_of_ended(item)?
            {
                return Ok(done);
            }
            let missing = definitions::use_blobs(tx, &self.request.tenant, &item.blobs)?;
            if !missing.is_empty() {
                return Ok(CommitOutcome::Missing(missing));
            }
        }
        if let Some(new) = &item.new {
            if found.is_some() {
                return Ok(CommitOutcome::Stale);
            }
            if self.create(new, item)? {
                found = tx.one(sql!("commit", "current"), id, current)?;
            }
        }
        let Some(run) = found else { return self.repeat_of_ended(item) };
        let Some(finished) = self.fence(item, &run)? else { return Ok(CommitOutcome::Stale) };
        self.cancel(item, run.key)?;
        for (held, finished) in finished.iter().zip(&item.finished) {
            held.finish(tx, &self.request.tenant, finished)?;
        }
        self.settle_failures(item)?;
        self.take_out(item, run.key)?;
        self.write_row(item, &run)?;
        history::append(tx, run.key, &item.events)?;
        let claimed = self.start(item, run.key)?;
        for delivery in &item.deliveries {
            Target::find(tx, &self.request.tenant, &delivery.to)?.put(tx, &delivery.message)?;
        }
        let arrived = self.give_back(item, &run)?;
        if let Some(end) = &item.end {
            end_run::end(tx, run.key, end, item.failed_by.as_ref())?;
        }
        Ok(CommitOutcome::Done(Done { revision: run.revision + 1, arrived, claimed }))
    }

    /// Creates the run that begins with this commit. Returns false if its id is known, its workflow is
    /// paused, or its version is not current any more.
    fn create(&self, new: &NewRun, item: &CommitItem) -> WorldResult<bool> {
        let tenant = &self.request.tenant;
        let workflow = params![tenant.as_str(), new.workflow];
        let current = !item.if_current
            || self
                .tx
                .one(sql!("definitions", "current_version"), workflow, |row| row.take::<String>())?
                .as_deref()
                == Some(new.version.as_str());
        let created_at = item.created_at.unwrap_or(self.tx.now);
        Ok(current
            && !self.tx.is_workflow_paused(tenant, &new.workflow)?
            && runs::create_begun(self.tx, tenant, new, created_at)? == Creation::Created)
    }

    /// Checks the fence. Returns the tasks that this commit must still end, or `None` if the fence does not
    /// hold.
    fn fence(&self, item: &CommitItem, run: &Current) -> WorldResult<Option<Vec<Held>>> {
        let Commit { tenant, worker, .. } = self.request;
        let holds = run.revision == item.revision
            && match item.fence {
                Fence::Claim(claim) => {
                    run.place == place::CLAIMED
                        && run.claim == claim
                        && run.worker.as_deref() == Some(worker.as_str())
                }
                Fence::Fused => {
                    run.place != place::CLAIMED
                        && run.arrived == item.arrived
                        && !run.paused
                        && !self.tx.is_workflow_paused(tenant, &run.workflow)?
                }
            };
        if !holds {
            return Ok(None);
        }
        // This is the last check, so it may write.
        if let [only] = &item.finished[..]
            && item.cancel_open.is_none()
            && item.cancel_tasks.is_empty()
            && Held::complete(self.tx, tenant, worker, only)?
        {
            return Ok(Some(Vec::new()));
        }
        item.finished.iter().map(|finished| Held::find(self.tx, tenant, worker, finished)).collect()
    }

    fn cancel(&self, item: &CommitItem, key: i64) -> WorldResult<()> {
        let (tx, tenant) = (self.tx, &self.request.tenant);
        if let Some(message) = &item.cancel_open {
            let open: Vec<TaskId> =
                tx.all(sql!("tasks", "of_run"), params![key, item.run.as_str()], |row| row.id())?;
            for task in &open {
                tasks::cancel(tx, tenant, task)?;
            }
            self.tell_children(&item.run, message)?;
        }
        for task in &item.cancel_tasks {
            tasks::cancel(tx, tenant, task)?;
        }
        Ok(())
    }

    fn tell_children(&self, run: &RunId, message: &Message) -> WorldResult<()> {
        let parent = params![run.as_str(), self.request.tenant.as_str()];
        let children: Vec<i64> = self.tx.all(sql!("commit", "children"), parent, |row| row.take())?;
        for child in children {
            Target::of_key(self.tx, child)?.put(self.tx, message)?;
        }
        Ok(())
    }

    /// Records how the run took the failures of its tasks. Letters of held tasks are left to an operator.
    fn settle_failures(&self, item: &CommitItem) -> WorldResult<()> {
        for settled in &item.settled {
            let task = item.run.task(settled.task);
            let tenant = self.request.tenant.as_str();
            self.tx.run(sql!("dead", "settle"), params![task.as_str(), tenant, settled.handled])?;
            if settled.handled {
                self.tx.run(sql!("dead", "absorb"), params![task.as_str(), tenant])?;
            }
        }
        Ok(())
    }

    /// Removes consumed messages from the inbox, and fired and cancelled timers. A cancelled timer that has
    /// fired leaves the inbox too.
    fn take_out(&self, item: &CommitItem, key: i64) -> WorldResult<()> {
        for timer in &item.fired {
            self.tx.run(sql!("commit", "delete_timer"), params![key, MessageId::timer(*timer).as_str()])?;
        }
        for timer in &item.cancel_timers {
            let id = MessageId::timer(*timer);
            self.tx.run(sql!("commit", "delete_timer"), params![key, id.as_str()])?;
            self.tx.run(sql!("inbox", "take"), params![key, id.as_str()])?;
        }
        for message in item.taken_out() {
            self.tx.run(sql!("inbox", "take"), params![key, message.as_str()])?;
        }
        Ok(())
    }

    fn write_row(&self, item: &CommitItem, run: &Current) -> WorldResult<()> {
        let state = &item.state;
        let awaiting = if state.awaiting.is_empty() { "[]".to_owned() } else { json(&state.awaiting) };
        let row: [&dyn ToSql; 9] = [
            &run.key,
            &item.commit.as_str(),
            &self.tx.now.millis(),
            &int(state.seq),
            &state.at.millis(),
            &awaiting,
            &state.cancelling,
            &state.snapshot.as_ref().map(|snapshot| snapshot.format),
            &state.snapshot.as_ref().map(|snapshot| &snapshot.bytes[..]),
        ];
        if run.free {
            return self.tx.run(sql!("commit", "write_free_row"), &row[..]).map(drop);
        }
        let claimed = item.fence != Fence::Fused;
        let row: Vec<&dyn ToSql> = row.into_iter().chain([&claimed as &dyn ToSql]).collect();
        self.tx.run(sql!("commit", "write_row"), &row[..]).map(drop)
    }

    /// Inserts new tasks, timers and children. Returns the tasks that this worker has claimed.
    fn start(&self, item: &CommitItem, key: i64) -> WorldResult<Vec<TaskClaim>> {
        let (tx, tenant) = (self.tx, &self.request.tenant);
        let mut claimed = Vec::new();
        for task in &item.tasks {
            let takes = task.claim
                && task.options.delay == rhythm_core::Millis::ZERO
                && !tx.is_queue_paused(tenant, &task.options.queue)?;
            let holder = takes.then_some(Holder { worker: &self.request.worker, until: self.until });
            if tasks::insert(tx, tenant, task, Some(key), holder)? && takes {
                claimed.push(TaskClaim { task: task.id.clone(), claim: 1 });
            }
        }
        for timer in &item.timers {
            let body = MessageBody::TimerFired(TimerFired { timer: timer.timer });
            runs::insert_timer(tx, key, &MessageId::timer(timer.timer), timer.fire_at, Some(body))?;
        }
        for child in &item.children {
            runs::create_run(tx, tenant, child)?;
        }
        Ok(claimed)
    }

    /// Gives the claim back and decides whether the run stays ready. Returns the number of arrived messages.
    fn give_back(&self, item: &CommitItem, before: &Current) -> WorldResult<u64> {
        let tx = self.tx;
        // Only cancellations and deliveries of this commit can have changed the number. Most commits have
        // none.
        let quiet = item.cancel_open.is_none() && item.cancel_tasks.is_empty() && item.deliveries.is_empty();
        let arrived = match quiet {
            true => before.arrived,
            false => tx.number(sql!("commit", "arrived"), params![before.key])?.unsigned_abs(),
        };
        // A fused commit has not read the inbox, so a run that was ready before keeps its place.
        if item.fence == Fence::Fused && before.place != place::OUT && item.end.is_none() {
            tx.run(sql!("commit", "keep_place"), params![before.key])?;
            return Ok(arrived);
        }
        let aside = before.aside && item.fence == Fence::Fused;
        let ready = !aside && (item.more || arrived != item.arrived);
        let stays_out = quiet && before.place == place::OUT && !ready;
        if item.end.is_none() && !stays_out {
            let row = params![before.key, ready, tx.now.millis(), tx.next_number()];
            tx.run(sql!("commit", "give_back"), row)?;
            if ready {
                tx.hint_runs();
            }
        }
        Ok(arrived)
    }

    fn repeat_of_ended(&self, item: &CommitItem) -> WorldResult<CommitOutcome> {
        let id = params![item.run.as_str(), self.request.tenant.as_str(), item.commit.as_str()];
        match self.tx.one(sql!("commit", "ended"), id, |row| row.count())? {
            Some(arrived) => self.repeat(item, arrived),
            None => Ok(CommitOutcome::Stale),
        }
    }

    /// Repeats the first answer, with the revision as of this commit; an operator may have changed it since.
    fn repeat(&self, item: &CommitItem, arrived: u64) -> WorldResult<CommitOutcome> {
        let mut claimed = Vec::new();
        for task in item.tasks.iter().filter(|task| task.claim) {
            let held =
                params![task.id.as_str(), self.request.tenant.as_str(), 1, self.request.worker.as_str()];
            if self.tx.one(sql!("tasks", "held"), held, |_| Ok(()))?.is_some() {
                claimed.push(TaskClaim { task: task.id.clone(), claim: 1 });
            }
        }
        Ok(CommitOutcome::Done(Done { revision: item.revision + 1, arrived, claimed }))
    }
}
