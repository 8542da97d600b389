//! Background duties.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::message::{Actor, Message};
use rhythm_core::{
    Blocked, BlockedCode, MessageId, Millis, RunId, Status, TaskId, TenantId, Timestamp, WorkerId,
};

use super::state::{Ended, State, Tenant};
use crate::world::*;

/// Time a handle must be missing before its workers are given up.
const GRACE: Millis = Millis(1_000);

impl State {
    pub fn upkeep(&mut self, request: &Upkeep, now: Timestamp) -> UpkeepReport {
        let mut report = UpkeepReport { at: now, ..UpkeepReport::default() };
        for id in self.tenant_ids() {
            match request {
                Upkeep::Sweep { runs, tasks } => {
                    let (ready_runs, ready_tasks) = self.tenant(&id).ready(now);
                    report.changed += self.fire_timers(&id, sweep_quota(ready_runs, *runs), now);
                    report.changed += self.ready_delayed(&id, sweep_quota(ready_tasks, *tasks), now);
                    report.changed += self.free_claims(&id, now);
                }
                Upkeep::Retain { keep, keep_failed, limit } => {
                    report.changed += self.tenant(&id).retain((*keep, *keep_failed), *limit, now)
                }
                Upkeep::Prepare => {}
                Upkeep::FindStuck { idle, limit } => {
                    let found = self.tenant(&id).find_stuck(*idle, *limit, now);
                    report.stuck.extend(found.into_iter().map(|run| (id.clone(), run)));
                }
                Upkeep::MarkUnserved { idle, limit } => {
                    let (marked, unmarked) = self.tenant(&id).mark_unserved(*idle, *limit, now);
                    report.changed += unmarked + marked.len() as u64;
                    let marked = marked.into_iter().map(|(run, detail)| (id.clone(), run, detail));
                    report.unserved.extend(marked);
                }
                Upkeep::CollectBlobs { grace, limit } => {
                    report.changed += self.tenant(&id).collect_blobs(*grace, *limit, now);
                }
                Upkeep::DueSchedules { limit } => {
                    let tenant = self.tenant(&id);
                    let active = tenant.schedules.values().filter(|schedule| !schedule.paused);
                    let timed = active.filter_map(|schedule| Some((schedule.next_at?, schedule)));
                    let (due, later): (Vec<_>, Vec<_>) = timed.partition(|(next_at, _)| *next_at <= now);
                    let first = later.iter().map(|(next_at, _)| *next_at).min();
                    report.next_schedule = [report.next_schedule, first].into_iter().flatten().min();
                    let due = due.into_iter().take(*limit);
                    report.schedules.extend(due.map(|(_, schedule)| (id.clone(), schedule.clone())));
                }
            }
        }
        self.glance(&mut report, now);
        report
    }

    /// Reports whether there is work now, and when there will be.
    fn glance(&self, report: &mut UpkeepReport, now: Timestamp) {
        let mut next: Option<Timestamp> = None;
        for tenant in self.tenants() {
            report.runs_ready |=
                tenant.queue.values().any(|place| place.claim_until.is_none() && place.ready_at <= now);
            report.tasks_ready |= tenant.tasks.values().any(|task| task.state == TaskState::Ready);
            let timers = tenant.timers.values().map(|timer| timer.due_at);
            let delayed = tenant.tasks.values().filter(|task| task.state == TaskState::Delayed);
            let later = tenant.queue.values().filter(|place| place.ready_at > now);
            let due =
                timers.chain(delayed.map(|task| task.due_at)).chain(later.map(|place| place.ready_at)).min();
            next = [next, due].into_iter().flatten().min();
        }
        report.next_due = next;
    }

    fn fire_timers(&mut self, id: &TenantId, limit: usize, now: Timestamp) -> u64 {
        let tenant = self.tenant(id);
        let mut due: Vec<(Timestamp, u64, (RunId, MessageId))> = tenant
            .timers
            .iter()
            .filter(|(_, timer)| timer.due_at <= now)
            .map(|(key, timer)| (timer.due_at, timer.order, key.clone()))
            .collect();
        due.sort();
        due.truncate(limit);
        let fired = due.len() as u64;
        for (.., key) in due {
            let Some(timer) = self.tenant(id).timers.remove(&key) else { continue };
            let (run, message_id) = key;
            match timer.body {
                None => self.make_ready(id, &run, now),
                Some(body) => {
                    let actor = Actor::system();
                    let message = Message { id: message_id, at: now, actor, trace: None, body };
                    self.put_message(id, &run, message, now);
                }
            }
        }
        fired
    }

    fn ready_delayed(&mut self, id: &TenantId, limit: usize, now: Timestamp) -> u64 {
        let tenant = self.tenant(id);
        let mut due: Vec<(Timestamp, u64, TaskId)> = tenant
            .tasks
            .values()
            .filter(|task| task.state == TaskState::Delayed && task.due_at <= now)
            .map(|task| (task.due_at, task.order, task.new.id.clone()))
            .collect();
        due.sort();
        due.truncate(limit);
        for (.., task) in &due {
            if let Some(task) = tenant.tasks.get_mut(task) {
                task.state = TaskState::Ready;
            }
        }
        self.hint.tasks |= !due.is_empty();
        due.len() as u64
    }

    /// Frees claims of dead and silent workers, and expired claims.
    fn free_claims(&mut self, id: &TenantId, now: Timestamp) -> u64 {
        let alive = self.alive.clone();
        let tenant = self.tenant(id);
        let gone = tenant.give_up_workers(&alive, now);
        let mut freed = 0;
        let mut unwanted = Vec::new();
        for task in tenant.tasks.values_mut().filter(|task| task.state == TaskState::Running) {
            let lost = task.worker.as_ref().is_some_and(|worker| gone.contains(worker));
            if lost || task.claim_until < now {
                task.give_back(now);
                freed += 1;
                if task.cancel_requested {
                    unwanted.push(task.new.id.clone());
                }
            }
        }
        let tasks_freed = freed;
        for (run, place) in &mut tenant.queue {
            let Some(live) = tenant.live.get_mut(run) else { continue };
            let lost = live.claimed_by.as_ref().is_some_and(|worker| gone.contains(worker));
            if lost || place.claim_until.is_some_and(|until| until < now) {
                live.claimed_by = None;
                place.claim_until = None;
                freed += 1;
            }
        }
        self.hint.tasks |= tasks_freed > 0;
        self.hint.runs |= freed > tasks_freed;
        for task in unwanted {
            self.cancel_task(id, &task, now);
        }
        freed
    }
}

impl Tenant {
    /// Number of runs and tasks that can be claimed now.
    fn ready(&self, now: Timestamp) -> (usize, usize) {
        let runs = self.queue.values().filter(|place| place.claim_until.is_none() && place.ready_at <= now);
        let tasks = self.tasks.values().filter(|task| task.state == TaskState::Ready);
        (runs.count(), tasks.count())
    }

    fn give_up_workers(&mut self, alive: &BTreeSet<u64>, now: Timestamp) -> BTreeSet<WorkerId> {
        let mut gone = BTreeSet::new();
        for (id, worker) in &mut self.workers {
            if alive.contains(&worker.handle) {
                worker.missing_since = None;
            } else if worker.missing_since.is_none() {
                worker.missing_since = Some(now);
            }
            let dead = worker.missing_since.is_some_and(|since| now.since(since) >= GRACE);
            if dead || now.since(worker.beat_at) > worker.card.silence {
                gone.insert(id.clone());
            }
        }
        self.workers.retain(|id, _| !gone.contains(id));
        gone
    }

    /// Ids of runs begin with the id of the parent.
    fn has_pending_letters_below(&self, run: &RunId) -> bool {
        let pending = self.dead.values().filter(|letter| letter.letter.status == LetterStatus::Pending);
        pending.filter_map(|letter| letter.letter.run.as_ref()).any(|of| of.is_in_family_of(run))
    }

    /// Removes all that is kept of an ended run.
    fn forget_run(&mut self, run: &RunId) {
        self.tasks.retain(|_, task| task.new.run.as_ref().is_none_or(|(of, _)| of != run));
        self.ended.remove(run);
        self.events.remove(run);
        self.inbox.remove(run);
        self.timers.retain(|(owner, _), _| owner != run);
        self.delivered.retain(|(owner, _)| owner != run);
        self.attempts.retain(|attempt| attempt.run.as_ref() != Some(run));
        self.dead.retain(|_, letter| letter.letter.run.as_ref() != Some(run));
    }

    /// An operator does not wait for retention.
    pub fn delete_run(&mut self, root: &RunId, letters: bool) -> WorldResult<Controlled> {
        if let Some(live) = self.live.keys().find(|run| run.is_in_family_of(root)) {
            return Err(in_use(root, InUse::Live(live.as_str())));
        }
        if !self.ended.contains_key(root) {
            return Err(WorldError::NotFound(format!("run {root}")));
        }
        let of_family = |task: &super::state::Task| {
            task.new.run.as_ref().is_some_and(|(run, _)| run.is_in_family_of(root))
        };
        let under_way = |task: &super::state::Task| of_family(task) && task.state != TaskState::Held;
        if let Some((task, _)) = self.tasks.iter().find(|(_, task)| under_way(task)) {
            return Err(in_use(root, InUse::Task(task.as_str())));
        }
        let pending = self.dead.iter().find(|(_, letter)| {
            let letter = &letter.letter;
            letter.status == LetterStatus::Pending
                && letter.run.as_ref().is_some_and(|run| run.is_in_family_of(root))
        });
        if let Some((task, _)) = pending.filter(|_| !letters) {
            return Err(in_use(root, InUse::Letter(task.as_str())));
        }
        let family: Vec<RunId> = self.ended.keys().filter(|run| run.is_in_family_of(root)).cloned().collect();
        for run in &family {
            self.forget_run(run);
        }
        Ok(Controlled::Done)
    }

    fn retain(&mut self, (keep, keep_failed): (Millis, Millis), limit: usize, now: Timestamp) -> u64 {
        let old = |at: Timestamp| now.since(at) > keep;
        let of =
            |task: &super::state::Task, run: &RunId| task.new.run.as_ref().is_some_and(|(of, _)| of == run);
        let waits_for_people = |id: &RunId, run: &Ended| {
            let has_failed = run.status == Status::Failed && run.dismissed_at.is_none();
            has_failed && now.since(run.ended_at) <= keep_failed || self.has_pending_letters_below(id)
        };
        // A run stays while its tasks are under way; held ones are removed with it.
        let under_way =
            |run: &RunId| self.tasks.values().any(|task| of(task, run) && task.state != TaskState::Held);
        let runs: Vec<RunId> = self
            .ended
            .iter()
            .filter(|(id, run)| old(run.ended_at) && !under_way(id) && !waits_for_people(id, run))
            .map(|(id, _)| id.clone())
            .take(limit)
            .collect();
        for run in &runs {
            self.forget_run(run);
        }
        let tasks: Vec<TaskId> = self
            .ended_tasks
            .iter()
            .filter(|(id, task)| old(task.since) && self.pending(id).is_none())
            .map(|(id, _)| id.clone())
            .take(limit)
            .collect();
        for task in &tasks {
            self.ended_tasks.remove(task);
            // The letter of a detached task belongs to its run.
            self.dead.retain(|of, letter| of != task || letter.letter.run.is_some());
            self.attempts.retain(|attempt| attempt.row.task != *task);
        }
        (runs.len() + tasks.len()) as u64
    }

    fn find_stuck(&mut self, idle: Millis, limit: usize, now: Timestamp) -> Vec<RunId> {
        let busy: BTreeSet<&RunId> = self
            .tasks
            .values()
            .filter_map(|task| task.new.run.as_ref().map(|(run, _)| run))
            .chain(self.timers.keys().map(|(run, _)| run))
            .chain(self.live.values().filter_map(|live| live.row.parent.as_ref().map(|parent| &parent.run)))
            .chain(self.queue.keys())
            .collect();
        let stuck: Vec<RunId> = self
            .live
            .values()
            .filter(|live| {
                let row = &live.row;
                let quiet = !row.paused && live.blocked.is_none() && row.state.awaiting.is_empty();
                quiet && !live.stuck && !busy.contains(&row.id) && now.since(live.updated_at) > idle
            })
            .map(|live| live.row.id.clone())
            .take(limit)
            .collect();
        for run in &stuck {
            if let Some(live) = self.live.get_mut(run) {
                live.stuck = true;
            }
        }
        stuck
    }

    /// Returns the runs that were marked, with the reason, and the number of unmarked runs.
    fn mark_unserved(&mut self, idle: Millis, limit: usize, now: Timestamp) -> (Vec<(RunId, String)>, u64) {
        let cards: Vec<&WorkerRegistration> = self.workers.values().map(|worker| &worker.card).collect();
        let steps = |row: &RunRow| {
            let able = |card: &&WorkerRegistration| {
                card.kinds.contains(&row.kind) || card.workflows.contains(&row.workflow)
            };
            cards.iter().any(able)
        };
        let does = |task: &super::state::Task| {
            let (queue, name) = (&task.new.options.queue, &task.new.name);
            cards.iter().any(|card| card.queues.contains(queue) && card.tasks.contains(name))
        };
        let waits = |task: &&super::state::Task| {
            task.state == TaskState::Ready
                && now.since(task.since) > idle
                && !self.paused_queues.contains(&task.new.options.queue)
                && !does(task)
        };
        let mut unserved: BTreeMap<RunId, String> = BTreeMap::new();
        for (run, place) in &self.queue {
            let Some(live) = self.live.get(run) else { continue };
            let waits = place.claim_until.is_none() && now.since(place.ready_at) > idle;
            if waits && !steps(&live.row) {
                unserved.insert(run.clone(), unserved_run(live.row.kind, &live.row.workflow));
            }
        }
        let mut lost: Vec<&super::state::Task> = self.tasks.values().filter(waits).collect();
        lost.sort_by_key(|task| (&task.new.options.queue, &task.new.name));
        for task in lost {
            let Some((run, _)) = &task.new.run else { continue };
            let why = unserved_task(&task.new.name, &task.new.options.queue);
            unserved.entry(run.clone()).or_insert(why);
        }
        let (mut marked, mut unmarked) = (Vec::new(), 0);
        for (id, live) in &mut self.live {
            match (&live.blocked, unserved.remove(id)) {
                (Some(Blocked { code: BlockedCode::NoWorker, .. }), None) => {
                    // A run without such a task may still be one that no worker can step.
                    if self.queue.contains_key(id) && !steps(&live.row) {
                        continue;
                    }
                    live.blocked = None;
                    unmarked += 1;
                }
                (None, Some(detail)) if marked.len() < limit => {
                    live.blocked =
                        Some(Blocked { code: BlockedCode::NoWorker, since: now, detail: detail.clone() });
                    marked.push((id.clone(), detail));
                }
                _ => {}
            }
        }
        (marked, unmarked)
    }
}
