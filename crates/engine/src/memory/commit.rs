//! The only code that steps a run: checks the fence, then applies the transition in the order of
//! `docs/internals/worlds.md`.

use rhythm_core::fold::{End, Settled};
use rhythm_core::message::{Actor, Message, MessageBody, TaskFailed};
use rhythm_core::run::Change;
use rhythm_core::{
    BlockedCode, CommandId, Failure, MessageId, RunId, Status, TaskId, TenantId, Timestamp, WorkerId,
};

use super::state::{Ended, Live, State, Timer};
use crate::world::*;

impl State {
    pub fn commit(&mut self, request: Commit, now: Timestamp) -> Committed {
        let Commit { tenant, worker, hold, items, released } = request;
        let claim_until = now.plus(hold);
        let outcomes = items
            .into_iter()
            .map(|item| {
                self.commit_item(&Committer { tenant: &tenant, worker: &worker, now, claim_until }, item)
            })
            .collect();
        for release in released {
            self.release_run(&tenant, &worker, release, now);
        }
        Committed { at: now, outcomes }
    }

    /// Writes the commit a run is created with. There are no claims to check.
    pub fn write_first(&mut self, tenant: &TenantId, item: CommitItem, now: Timestamp) {
        let worker = WorkerId::new("");
        self.commit_item(&Committer { tenant, worker: &worker, now, claim_until: now }, item);
    }

    fn commit_item(&mut self, by: &Committer<'_>, item: CommitItem) -> CommitOutcome {
        if let Some(outcome) = self.repeated(by, &item) {
            return outcome;
        }
        let missing = self.tenant(by.tenant).use_blobs(&item.blobs, by.now);
        if !missing.is_empty() {
            return CommitOutcome::Missing(missing);
        }
        if let Some(new) = &item.new
            && !self.create_begun(by, new, &item)
        {
            return CommitOutcome::Stale;
        }
        if !self.fence_holds(by, &item) {
            return CommitOutcome::Stale;
        }
        let run = item.run.clone();
        if let Some(cancel) = &item.cancel_open {
            self.cancel_open(by, &run, cancel);
        }
        for task in &item.cancel_tasks {
            self.cancel_task(by.tenant, task, by.now);
        }
        let gone: Vec<MessageId> = item.taken_out().cloned().collect();
        for finished in item.finished {
            self.end_attempt(by.tenant, finished, by.now);
        }
        self.settle_failures(by.tenant, &run, &item.settled);
        self.take_out(by, &run, gone, (&item.fired, &item.cancel_timers));
        let claimed = self.add_tasks(by, item.tasks);
        for timer in item.timers {
            let order = self.next_order();
            let body = MessageBody::TimerFired(rhythm_core::message::TimerFired { timer: timer.timer });
            let timer_row = Timer { due_at: timer.fire_at, order, body: Some(body) };
            self.tenant(by.tenant).timers.insert((run.clone(), MessageId::timer(timer.timer)), timer_row);
        }
        for child in item.children {
            self.create_run(by.tenant, child, by.now);
        }
        let tenant = self.tenant(by.tenant);
        tenant.events.entry(run.clone()).or_default().extend(item.events);
        let Some(live) = tenant.live.get_mut(&run) else { return CommitOutcome::Stale };
        live.row.state = item.state;
        live.row.revision += 1;
        live.last_commit = Some(item.commit);
        live.deliveries = 0;
        live.stuck = false;
        live.claimed_by = None;
        live.updated_at = by.now;
        let unserved = [BlockedCode::NoWorker, BlockedCode::NoVersion];
        if live.blocked.as_ref().is_some_and(|blocked| unserved.contains(&blocked.code)) {
            live.blocked = None;
            live.aside = false;
        }
        // A process that claimed a quarantined run and committed has shown that it can be stepped.
        if item.fence != Fence::Fused && std::mem::take(&mut live.aside) {
            live.blocked.take_if(|blocked| blocked.code == BlockedCode::Quarantined);
        }
        let revision = live.row.revision;
        // A fused commit has not read the inbox: a run that was ready stays ready.
        if item.fence != Fence::Fused || item.end.is_some() {
            tenant.queue.remove(&run);
        }
        for delivery in item.deliveries {
            self.put_message(by.tenant, &delivery.to, delivery.message, by.now);
        }
        let tenant = self.tenant(by.tenant);
        let arrived = tenant.live.get(&run).map_or(0, |live| live.row.arrived);
        match item.end {
            Some(end) => self.end_run(by, &run, end, item.failed_by),
            None if item.more || arrived != item.arrived => self.make_ready(by.tenant, &run, by.now),
            None => {}
        }
        CommitOutcome::Done(Done { revision, arrived, claimed })
    }

    /// Creates the run of an item that is its first commit. Returns whether it did.
    fn create_begun(&mut self, by: &Committer<'_>, new: &NewRun, item: &CommitItem) -> bool {
        let tenant = self.tenant(by.tenant);
        let passed = item.if_current && tenant.current.get(&new.workflow) != Some(&new.version);
        if passed || tenant.paused_workflows.contains(&new.workflow) {
            return false;
        }
        let created_at = item.created_at.unwrap_or(by.now);
        // No wake-up: the run is not in the queue.
        let hint = self.hint;
        let created = self.create_run(by.tenant, new.clone(), created_at) == Creation::Created;
        self.hint = hint;
        if created {
            self.tenant(by.tenant).queue.remove(&new.id);
        }
        created
    }

    /// Returns the first answer again if this commit was written before.
    fn repeated(&mut self, by: &Committer<'_>, item: &CommitItem) -> Option<CommitOutcome> {
        let tenant = self.tenant(by.tenant);
        let ended = tenant.ended.get(&item.run).map(|ended| &ended.run);
        let run = tenant.live.get(&item.run).or(ended)?;
        if run.last_commit.as_ref() != Some(&item.commit) {
            return None;
        }
        let claims = item.tasks.iter().filter(|new| {
            let task = tenant.tasks.get(&new.id);
            new.claim && task.is_some_and(|task| task.claim == 1 && task.worker.as_ref() == Some(by.worker))
        });
        let claimed = claims.map(|new| TaskClaim { task: new.id.clone(), claim: 1 }).collect();
        // The original revision: an operator may have changed it since, and the caller has not seen that.
        let revision = item.revision + 1;
        Some(CommitOutcome::Done(Done { revision, arrived: run.row.arrived, claimed }))
    }

    fn fence_holds(&mut self, by: &Committer<'_>, item: &CommitItem) -> bool {
        let tenant = self.tenant(by.tenant);
        let Some(live) = tenant.live.get(&item.run) else { return false };
        let claims_hold = item.finished.iter().all(|finished| {
            tenant.tasks.get(&finished.task).is_some_and(|task| task.is_held_by(by.worker, finished.claim))
        });
        let fence = match item.fence {
            Fence::Claim(claim) => live.claim == claim && live.claimed_by.as_ref() == Some(by.worker),
            Fence::Fused => {
                live.claimed_by.is_none()
                    && live.row.arrived == item.arrived
                    && !live.row.paused
                    && !tenant.paused_workflows.contains(&live.row.workflow)
            }
        };
        live.row.revision == item.revision && claims_hold && fence
    }

    fn cancel_open(&mut self, by: &Committer<'_>, run: &RunId, cancel: &Message) {
        let tenant = self.tenant(by.tenant);
        let of_run = |task: &super::state::Task| task.new.run.as_ref().is_some_and(|(owner, _)| owner == run);
        let mut open: Vec<(u64, TaskId)> = tenant
            .tasks
            .values()
            .filter(|task| of_run(task))
            .map(|task| (task.order, task.new.id.clone()))
            .collect();
        open.sort();
        let is_child = |live: &Live| live.row.parent.as_ref().is_some_and(|parent| parent.run == *run);
        // In the order of their numbers; ids would put the tenth before the second.
        let number = |live: &Live| live.row.parent.as_ref().map(|parent| parent.child);
        let mut children: Vec<_> = tenant.live.values().filter(|live| is_child(live)).collect();
        children.sort_by_key(|live| number(live));
        let children: Vec<RunId> = children.into_iter().map(|live| live.row.id.clone()).collect();
        for (_, task) in open {
            self.cancel_task(by.tenant, &task, by.now);
        }
        for child in children {
            self.put_message(by.tenant, &child, cancel.clone(), by.now);
        }
    }

    /// Removes a task that is not running and answers for it; asks a running one to stop.
    pub fn cancel_task(&mut self, tenant_id: &TenantId, id: &TaskId, now: Timestamp) {
        let tenant = self.tenant(tenant_id);
        let Some(task) = tenant.tasks.get_mut(id) else { return };
        if task.state == TaskState::Running {
            task.cancel_requested = true;
            self.hint.cancels = true;
            return;
        }
        let failure =
            Failure::cancelled("the task was cancelled before it ran").with_attempts(task.attempt - 1);
        let owner = task.new.run.clone();
        if task.state == TaskState::Held {
            tenant.dead.remove(id);
        }
        self.remove_task(tenant_id, id, TaskOutcome::Cancelled { failure: failure.clone() }, now);
        if let Some((run, number)) = owner {
            self.unblock_if_last_held(tenant_id, &run);
            let message = Message {
                id: MessageId::task(number),
                at: now,
                actor: Actor::system(),
                trace: None,
                body: MessageBody::TaskFailed(TaskFailed { task: number, failure }),
            };
            self.put_message(tenant_id, &run, message, now);
        }
    }

    /// Applies the run's verdicts on failures of its tasks. Only operators decide about held ones.
    fn settle_failures(&mut self, tenant_id: &TenantId, run: &RunId, settled: &[Settled]) {
        let tenant = self.tenant(tenant_id);
        for Settled { task: number, handled } in settled {
            let task = run.task(*number);
            if let Some(letter) = tenant.dead.get_mut(&task).filter(|letter| letter.is_the_runs()) {
                letter.letter.status = if *handled { LetterStatus::Handled } else { LetterStatus::Pending };
                letter.failed_run = !handled;
            }
            if let Some(task) = tenant.tasks.get_mut(&task).filter(|task| task.new.run.is_some()) {
                task.absorbed |= handled;
            }
        }
    }

    fn take_out(
        &mut self,
        by: &Committer<'_>,
        run: &RunId,
        mut gone: Vec<MessageId>,
        (fired, cancelled): (&[CommandId], &[CommandId]),
    ) {
        let tenant = self.tenant(by.tenant);
        for timer in fired.iter().chain(cancelled) {
            tenant.timers.remove(&(run.clone(), MessageId::timer(*timer)));
        }
        gone.extend(cancelled.iter().copied().map(MessageId::timer));
        if let Some(inbox) = tenant.inbox.get_mut(run) {
            inbox.retain(|message| !gone.contains(&message.id));
        }
    }

    fn add_tasks(&mut self, by: &Committer<'_>, tasks: Vec<NewTask>) -> Vec<TaskClaim> {
        let mut claimed = Vec::new();
        for new in tasks {
            let id = new.id.clone();
            let wants = new.claim;
            self.enqueue_task(by.tenant, new, by.now);
            let tenant = self.tenant(by.tenant);
            if let Some(task) = tenant.tasks.get_mut(&id)
                && wants
                && task.state == TaskState::Ready
                && !tenant.paused_queues.contains(&task.new.options.queue)
            {
                task.take(by.worker, by.now, by.claim_until);
                claimed.push(TaskClaim { task: id, claim: task.claim });
            }
        }
        claimed
    }

    fn end_run(&mut self, by: &Committer<'_>, run: &RunId, end: End, failed_by: Option<Message>) {
        let tenant = self.tenant(by.tenant);
        let Some(live) = tenant.live.remove(run) else { return };
        tenant.queue.remove(run);
        let (change, output, failure) = match end {
            End::Completed(output) => (Change::Complete, Some(output), None),
            End::Failed(failure) => (Change::Fail, None, Some(failure)),
            End::Cancelled(reason) => (Change::Cancel, None, Some(Failure::cancelled(reason))),
        };
        let Ok(status) = live.status().after(change, true) else { return };
        // A failed run may be reopened, so its messages and timers stay, except the deadline.
        let failed = status == Status::Failed;
        let kept = |id: &MessageId| failed && *id != MessageId::deadline();
        tenant.timers.retain(|(owner, id), _| owner != run || kept(id));
        if !failed {
            tenant.inbox.remove(run);
        }
        let ended =
            Ended { run: live, status, output, failure, failed_by, ended_at: by.now, dismissed_at: None };
        tenant.ended.insert(run.clone(), ended);
    }

    fn release_run(&mut self, tenant_id: &TenantId, worker: &WorkerId, release: ReleasedRun, now: Timestamp) {
        let tenant = self.tenant(tenant_id);
        let Some(live) = tenant.live.get_mut(&release.run) else { return };
        if live.claim != release.claim || live.claimed_by.as_ref() != Some(worker) {
            return;
        }
        live.claimed_by = None;
        // A claim that is given back does not count as a crash.
        live.deliveries = 0;
        tenant.queue.remove(&release.run);
        // The run was claimable: neither a delayed start nor a quarantine keeps it from becoming ready again.
        match release.outcome {
            ReleaseOutcome::Idle { arrived } => {
                if live.row.arrived != arrived {
                    self.make_ready_now(tenant_id, &release.run, now);
                }
            }
            ReleaseOutcome::Later { after, blocked } => {
                live.blocked = blocked;
                live.aside = false;
                self.make_ready_now(tenant_id, &release.run, now.plus(after));
            }
            ReleaseOutcome::Aside(blocked) => {
                live.blocked = Some(blocked);
                live.aside = true;
            }
        }
    }
}

/// The committing worker, and the time.
struct Committer<'a> {
    tenant: &'a TenantId,
    worker: &'a WorkerId,
    now: Timestamp,
    claim_until: Timestamp,
}
