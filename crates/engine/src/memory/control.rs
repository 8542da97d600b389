//! What operators do.

use rhythm_core::event::{Event, EventData, Note, Reopened};
use rhythm_core::message::{Actor, Message, MessageBody};
use rhythm_core::run::Change;
use rhythm_core::{
    Blocked, BlockedCode, CommandId, MessageId, RunId, Status, TaskId, TenantId, Timestamp, Version, WorkerId,
};

use super::state::{Letter, State, Task, Tenant, Timer};
use crate::world::*;

impl State {
    pub fn control(&mut self, request: ControlRequest, now: Timestamp) -> WorldResult<Controlled> {
        let ControlRequest { tenant: id, actor, control } = request;
        let tenant = self.tenant(&id);
        match control {
            Control::PauseRun { run, reason } => self.pause_run(&id, &run, reason, actor, now),
            Control::ResumeRun { run, reason } => self.resume_run(&id, &run, reason, actor, now),
            Control::Unblock { run } => {
                let live = tenant.live_run(&run)?;
                let held = |blocked: &Blocked| blocked.code == BlockedCode::DeadLetter;
                if !live.aside && live.blocked.as_ref().is_none_or(held) {
                    return Ok(Controlled::Unchanged);
                }
                live.blocked = None;
                live.aside = false;
                live.deliveries = 0;
                // To a fused commit this is as good as a delivery: the run has a place in the queue that it has not seen.
                live.row.arrived += 1;
                // It may have been put off until later.
                if let Some(place) = tenant.queue.get_mut(&run) {
                    place.ready_at = place.ready_at.min(now);
                }
                self.make_ready(&id, &run, now);
                Ok(Controlled::Done)
            }
            Control::Annotate { run, event } => {
                tenant.live_run(&run)?;
                tenant.write_row(&run, event, actor, now);
                Ok(Controlled::Done)
            }
            Control::PauseWorkflow { workflow } => Ok(changed(tenant.paused_workflows.insert(workflow))),
            Control::ResumeWorkflow { workflow } => {
                self.hint.runs = true;
                Ok(changed(self.tenant(&id).paused_workflows.remove(&workflow)))
            }
            Control::PauseQueue { queue } => Ok(changed(tenant.paused_queues.insert(queue))),
            Control::ResumeQueue { queue } => {
                self.hint.tasks = true;
                Ok(changed(self.tenant(&id).paused_queues.remove(&queue)))
            }
            Control::Reopen { run, revision, reason, requeue, redeliver, fresh } => {
                let opening = Opening { reason, requeue, redeliver, fresh };
                let change = Reopening { what: Change::Reopen, revision, opening };
                self.open(&id, &run, &change, now)?;
                self.go_on(&id, &run, (revision, change.opening), actor, now);
                Ok(Controlled::Done)
            }
            Control::ChangeVersion { run, version, item, reopen } => {
                self.change_version(&id, &run, (version, *item), reopen, actor, now)
            }
            Control::TakeBack { run, revision, reason, message } => {
                let redeliver = vec![*message];
                let opening = Opening { reason, requeue: Vec::new(), redeliver, fresh: None };
                let change = Reopening { what: Change::TakeBack, revision, opening };
                self.open(&id, &run, &change, now)?;
                self.go_on(&id, &run, (revision, change.opening), actor, now);
                Ok(Controlled::Done)
            }
            Control::Fork { run, item } => self.fork(&id, *run, *item, now),
            Control::DeleteRun { run, letters } => tenant.delete_run(&run, letters),
            Control::StoreVersion(definition) => Ok(changed(tenant.keep_version(*definition, now))),
            Control::DismissRun { run } => {
                let ended = tenant.ended.get_mut(&run);
                let Some(ended) = ended.filter(|ended| ended.status == Status::Failed) else {
                    let known = tenant.live.contains_key(&run) || tenant.ended.contains_key(&run);
                    return Err(not_failed(&run, known));
                };
                let is_new = ended.dismissed_at.is_none();
                ended.dismissed_at.get_or_insert(now);
                Ok(changed(is_new))
            }
            Control::RequeueDead { task } => self.requeue_dead(&id, &task, actor, now),
            Control::DiscardDead { task, message } => self.discard_dead(&id, &task, message, actor, now),
            Control::CancelTask { task } => {
                if !tenant.tasks.contains_key(&task) {
                    return Err(WorldError::NotFound(format!("open task {task}")));
                }
                self.cancel_task(&id, &task, now);
                Ok(Controlled::Done)
            }
            Control::PutNodeType(kind) => {
                let known = tenant.node_types.insert(kind.name.clone(), kind.clone());
                Ok(changed(known.as_ref() != Some(&kind)))
            }
            Control::RemoveNodeType { name } => match tenant.node_types.remove(&name) {
                Some(_) => Ok(Controlled::Done),
                None => Err(WorldError::NotFound(format!("node type {name}"))),
            },
            Control::PutArtifact(new) => tenant.put_artifact(new, actor, now),
            Control::RemoveArtifact { hash } => tenant.remove_artifact(&hash),
            Control::PutSchedule(schedule) => {
                tenant.schedules.insert(schedule.name.clone(), schedule);
                Ok(Controlled::Done)
            }
            Control::RemoveSchedule { name } => match tenant.schedules.remove(&name) {
                Some(_) => Ok(Controlled::Done),
                None => Err(no_schedule(&name)),
            },
            Control::PauseSchedule { name } => {
                let schedule = tenant.schedules.get_mut(&name).ok_or_else(|| no_schedule(&name))?;
                Ok(changed(!std::mem::replace(&mut schedule.paused, true)))
            }
            Control::ResumeSchedule { name, next_at } => {
                let schedule = tenant.schedules.get_mut(&name).ok_or_else(|| no_schedule(&name))?;
                let was_paused = std::mem::replace(&mut schedule.paused, false);
                if was_paused {
                    schedule.next_at = next_at;
                }
                Ok(changed(was_paused))
            }
            Control::MoveTag(wish) => tenant.move_tag(wish, actor, now),
            Control::PatchWorkflow(wish) => tenant.patch_workflow(*wish, actor, now),
            Control::FireSchedule { name, expected, next_at, runs, tasks, missed } => {
                let schedule = tenant.schedules.get_mut(&name).ok_or_else(|| no_schedule(&name))?;
                if schedule.paused || schedule.next_at != Some(expected) {
                    return Ok(Controlled::Unchanged);
                }
                schedule.next_at = next_at;
                schedule.missed += missed;
                let started = runs.len() + tasks.len();
                if started > 0 {
                    schedule.last_at = Some(now);
                    schedule.fired += started as u64;
                    let last_run = runs.last().map(|run| run.id.to_string());
                    schedule.last_started = last_run.or(tasks.last().map(|task| task.id.to_string()));
                }
                for run in runs {
                    self.create_run(&id, run, now);
                }
                for task in tasks {
                    self.enqueue_task(&id, task, now);
                }
                Ok(Controlled::Done)
            }
        }
    }

    fn pause_run(
        &mut self,
        id: &TenantId,
        run: &RunId,
        reason: String,
        actor: Actor,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        let tenant = self.tenant(id);
        let live = tenant.live_run(run)?;
        if live.row.paused {
            return Ok(Controlled::Unchanged);
        }
        live.row.paused = true;
        live.claimed_by = None;
        tenant.queue.remove(run);
        tenant.write_row(run, EventData::Paused(Note { reason }), actor, now);
        Ok(Controlled::Done)
    }

    fn resume_run(
        &mut self,
        id: &TenantId,
        run: &RunId,
        reason: String,
        actor: Actor,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        let tenant = self.tenant(id);
        let live = tenant.live_run(run)?;
        if !live.row.paused {
            return Ok(Controlled::Unchanged);
        }
        live.row.paused = false;
        tenant.write_row(run, EventData::Resumed(Note { reason }), actor, now);
        self.make_ready(id, run, now);
        Ok(Controlled::Done)
    }

    /// Makes an ended run live again. Everything is checked before anything is written.
    fn open(&mut self, id: &TenantId, run: &RunId, change: &Reopening, now: Timestamp) -> WorldResult<()> {
        let tenant = self.tenant(id);
        if tenant.live.contains_key(run) {
            return Err(WorldError::Conflict(format!("run {run} has not ended")));
        }
        let ended = tenant.ended.get(run).ok_or_else(|| WorldError::NotFound(format!("run {run}")))?;
        let started = ended.run.last_commit.is_some();
        if ended.status.after(change.what, started).is_err() {
            return Err(WorldError::Conflict(format!("run {run} is {}, not failed", ended.status.as_str())));
        }
        if ended.run.row.revision != change.revision {
            return Err(WorldError::Conflict(format!("run {run} was changed meanwhile")));
        }
        if let Some(task) = change.opening.requeue.iter().find(|task| tenant.pending(task).is_none()) {
            return Err(WorldError::NotFound(format!("dead letter {task}")));
        }
        let anew = change.opening.fresh.iter().flat_map(|fresh| &fresh.tasks);
        if let Some(task) = anew.map(|task| &task.id).find(|task| tenant.tasks.contains_key(task)) {
            return Err(still_open(task, run));
        }
        let is_of_run = |task: &Task| task.new.run.as_ref().is_some_and(|(owner, _)| owner == run);
        if change.what == Change::TakeBack
            && let Some((task, _)) = tenant.tasks.iter().find(|(_, task)| is_of_run(task))
        {
            return Err(still_open(task, run));
        }
        let mut live = tenant.ended.remove(run).expect("just found").run;
        if change.what == Change::TakeBack {
            tenant.inbox.remove(run);
            tenant.timers.retain(|(owner, _), _| owner != run);
        }
        if let Some(parent) = &live.row.parent {
            tenant.withdraw(&parent.run, &MessageId::child(parent.child));
        }
        // It is to be tried again: whatever set it aside is forgotten.
        live.aside = false;
        live.blocked.take_if(|blocked| blocked.code != BlockedCode::DeadLetter);
        if let Some(fresh) = &change.opening.fresh {
            live.deadline_at = Some(now.plus(fresh.deadline));
            let gone: Vec<MessageId> = fresh.tasks.iter().filter_map(NewTask::answer).collect();
            if let Some(inbox) = tenant.inbox.get_mut(run) {
                inbox.retain(|message| message.id != MessageId::deadline() && !gone.contains(&message.id));
            }
        }
        // What reached it meanwhile was not counted.
        live.row.arrived += u64::from(tenant.inbox.get(run).is_some_and(|inbox| !inbox.is_empty()));
        tenant.live.insert(run.clone(), live);
        Ok(())
    }

    /// What an opened run begins with; `revision` is the one it had ended with.
    fn go_on(
        &mut self,
        id: &TenantId,
        run: &RunId,
        (revision, opening): (u64, Opening),
        actor: Actor,
        now: Timestamp,
    ) {
        let tenant = self.tenant(id);
        let Opening { reason, requeue, redeliver, fresh } = opening;
        let deadline = fresh.as_ref().map(|fresh| fresh.deadline);
        tenant.write_row(run, EventData::Reopened(Reopened { reason, deadline }), actor.clone(), now);
        // What failed it before may not again.
        let of_run = |letter: &&mut Letter| letter.letter.run.as_ref() == Some(run);
        tenant.dead.values_mut().filter(of_run).for_each(|letter| letter.failed_run = false);
        if let Some(fresh) = fresh {
            self.give_time(id, run, *fresh, FreshTime::claim(revision), now);
        }
        for task in &requeue {
            self.revive(id, task, Revival::Attached, &actor, now);
        }
        // Its held letters may have been requeued or discarded while it had ended.
        self.unblock_if_last_held(id, run);
        for message in redeliver {
            self.put_message(id, run, message, now);
        }
        let tenant = self.tenant(id);
        let live = &tenant.live[run];
        let waiting = tenant
            .inbox
            .get(run)
            .is_some_and(|inbox| inbox.iter().any(|message| Tenant::consumable(live, message)));
        if waiting {
            self.make_ready(id, run, now);
        }
    }

    /// The operator takes the run's claim, so that nobody else holds it any more, and commits under it.
    fn change_version(
        &mut self,
        id: &TenantId,
        run: &RunId,
        (version, item): (Version, CommitItem),
        reopen: Option<Opening>,
        actor: Actor,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        let tenant = self.tenant(id);
        let ended = tenant.ended.get(run).map(|ended| &ended.run);
        let last_commit = tenant.live.get(run).or(ended).and_then(|run| run.last_commit.as_ref());
        if last_commit == Some(&item.commit) {
            return Ok(Controlled::Unchanged);
        }
        if let Some(hash) = tenant.use_blobs(&item.blobs, now).first() {
            return Err(WorldError::NotFound(format!("blob {hash}")));
        }
        if let Some(opening) = reopen.clone() {
            let change = Reopening { what: Change::Reopen, revision: item.revision, opening };
            self.open(id, run, &change, now)?;
        }
        let live = self.tenant(id).live_run(run)?;
        if live.row.revision != item.revision {
            return Err(WorldError::Conflict(format!("run {run} was changed meanwhile")));
        }
        if live.last_commit.is_none() {
            return Err(not_begun(run));
        }
        live.row.version = version;
        live.claim += 1;
        live.claimed_by = Some(WorkerId::new(""));
        let (fence, revision) = (Fence::Claim(live.claim), item.revision);
        self.write_first(id, CommitItem { fence, more: true, ..item }, now);
        if let Some(opening) = reopen.filter(|_| self.tenant(id).live.contains_key(run)) {
            self.go_on(id, run, (revision, opening), actor, now);
        }
        Ok(Controlled::Done)
    }

    /// A deadline to come, and tasks that begin anew.
    fn give_time(&mut self, id: &TenantId, run: &RunId, fresh: FreshTime, claim: u64, now: Timestamp) {
        let order = self.next_order();
        let (due_at, body) = (now.plus(fresh.deadline), Some(MessageBody::DeadlineReached));
        let timer = Timer { due_at, order, body };
        self.tenant(id).timers.insert((run.clone(), MessageId::deadline()), timer);
        for task in fresh.tasks {
            let name = task.id.clone();
            self.enqueue_task(id, NewTask { claim: false, ..task }, now);
            if let Some(task) = self.tenant(id).tasks.get_mut(&name) {
                task.claim = claim;
            }
        }
    }

    fn fork(
        &mut self,
        id: &TenantId,
        run: NewRun,
        item: CommitItem,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        if self.tenant(id).paused_workflows.contains(&run.workflow) {
            return Err(WorldError::Conflict(format!("workflow {} is paused", run.workflow)));
        }
        if let Some(hash) = self.tenant(id).use_blobs(&item.blobs, now).first() {
            return Err(WorldError::NotFound(format!("blob {hash}")));
        }
        let name = run.id.clone();
        match self.create_run(id, run, now) {
            Creation::Exists => Ok(Controlled::Unchanged),
            Creation::Conflict => Err(WorldError::Conflict(format!("there is another run {name}"))),
            Creation::Created => {
                self.write_first(id, item, now);
                Ok(Controlled::Done)
            }
        }
    }

    fn requeue_dead(
        &mut self,
        id: &TenantId,
        task: &TaskId,
        actor: Actor,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        let tenant = self.tenant(id);
        let known = tenant.dead.get(task);
        if known.is_some_and(|letter| letter.letter.status == LetterStatus::Handled) {
            return Err(handled_already(task));
        }
        let letter = tenant.pending(task).ok_or_else(|| no_letter(task))?;
        let run = letter.letter.run.clone();
        let Some(revival) = tenant.revival(letter) else { return Err(gone_past(task)) };
        self.revive(id, task, revival, &actor, now);
        if let Some(run) = run {
            self.unblock_if_last_held(id, &run);
        }
        Ok(Controlled::Done)
    }

    /// A dead letter becomes a ready task again.
    fn revive(&mut self, id: &TenantId, task: &TaskId, revival: Revival, actor: &Actor, now: Timestamp) {
        let order = self.next_order();
        let tenant = self.tenant(id);
        let Some(letter) = tenant.dead.get_mut(task) else { return };
        letter.decide(LetterStatus::Reprocessed, actor, now);
        let (claim, mut new) = (letter.claim, NewTask { claim: false, ..letter.new.clone() });
        tenant.ended_tasks.remove(task);
        if let Some((run, number)) = &new.run {
            tenant.withdraw(run, &MessageId::task(*number));
        }
        if revival == Revival::Detached {
            new.run = None;
        }
        let deadline_at = new.options.deadline.map(|deadline| now.plus(deadline));
        let revived = Task {
            state: TaskState::Ready,
            claim,
            worker: None,
            claim_until: now,
            ask: None,
            attempt: 1,
            delivery: 0,
            cancel_requested: false,
            progress: None,
            created_at: now,
            since: now,
            due_at: now,
            deadline_at,
            order,
            absorbed: false,
            new,
        };
        tenant.tasks.insert(task.clone(), revived);
        self.hint.tasks = true;
    }

    fn discard_dead(
        &mut self,
        id: &TenantId,
        task: &TaskId,
        message: Option<Message>,
        actor: Actor,
        now: Timestamp,
    ) -> WorldResult<Controlled> {
        let tenant = self.tenant(id);
        tenant.pending(task).ok_or_else(|| no_letter(task))?;
        let letter = tenant.dead.get_mut(task).expect("just found");
        let (was_held, run) = (letter.letter.held, letter.letter.run.clone());
        letter.decide(LetterStatus::Discarded, &actor, now);
        if was_held {
            tenant.tasks.remove(task);
            if let Some(run) = run {
                self.unblock_if_last_held(id, &run);
                if let Some(message) = message {
                    self.put_message(id, &run, message, now);
                }
            }
        }
        Ok(Controlled::Done)
    }
}

impl Tenant {
    /// A letter somebody has to decide about.
    pub fn pending(&self, task: &TaskId) -> Option<&Letter> {
        self.dead.get(task).filter(|letter| letter.letter.status == LetterStatus::Pending)
    }

    /// How a letter may become a task again. Nothing while its run goes on, or failed of it together with something else.
    fn revival(&self, letter: &Letter) -> Option<Revival> {
        match (self.fate(letter), &letter.new.run) {
            (Fate::Held | Fate::Standalone, _) => Some(Revival::Attached),
            (Fate::Unread, _) => Some(Revival::Detached),
            // A failed run that is opened again finds the answer of the task's next life in its inbox.
            (Fate::Undecided, Some((run, _))) if !self.live.contains_key(run) => Some(Revival::Attached),
            (Fate::FailedRun, Some((run, number))) if self.failed_by(run, *number) => Some(Revival::Attached),
            _ => None,
        }
    }

    pub fn fate(&self, letter: &Letter) -> Fate {
        let Some((run, number)) = &letter.new.run else { return Fate::Standalone };
        let answer = MessageId::task(*number);
        let told = || self.inbox.get(run).is_some_and(|inbox| inbox.iter().any(|one| one.id == answer));
        let has_failed = self.ended.get(run).is_some_and(|ended| ended.status == Status::Failed);
        match letter.letter.status {
            LetterStatus::Handled => Fate::Handled,
            _ if letter.letter.held => Fate::Held,
            _ if self.live.contains_key(run) => Fate::Undecided,
            _ if has_failed && (letter.failed_run || self.failed_by(run, *number)) => Fate::FailedRun,
            _ if has_failed && told() => Fate::Undecided,
            _ => Fate::Unread,
        }
    }

    /// Whether the message that failed a run is the answer of this task.
    fn failed_by(&self, run: &RunId, task: CommandId) -> bool {
        let failed_by = self.ended.get(run).and_then(|ended| ended.failed_by.as_ref());
        failed_by.is_some_and(|message| message.id == MessageId::task(task))
    }

    /// Takes back what an earlier life of a task or child has told, unless it was consumed. Whoever claimed the run has it in
    /// hand already, and loses the claim.
    fn withdraw(&mut self, run: &RunId, answer: &MessageId) {
        let Some(inbox) = self.inbox.get_mut(run) else { return };
        let before = inbox.len();
        inbox.retain(|message| message.id != *answer);
        if inbox.len() == before {
            return;
        }
        if let (Some(live), Some(place)) = (self.live.get_mut(run), self.queue.get_mut(run)) {
            live.claimed_by = None;
            live.deliveries = 0;
            place.claim_until = None;
        }
    }
}

/// Whom a revived task answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Revival {
    /// Its run, if it has one.
    Attached,
    /// Nobody: its run is over.
    Detached,
}

impl Letter {
    /// Whether its run may still say what it made of the failure.
    pub fn is_the_runs(&self) -> bool {
        let open = [LetterStatus::Pending, LetterStatus::Handled].contains(&self.letter.status);
        open && !self.letter.held
    }

    fn decide(&mut self, status: LetterStatus, actor: &Actor, at: Timestamp) {
        self.letter.status = status;
        self.letter.held = false;
        self.letter.history.push(LetterChange { status, at, by: Some(actor.clone()) });
    }
}

struct Reopening {
    what: Change,
    revision: u64,
    opening: Opening,
}

impl Tenant {
    fn live_run(&mut self, run: &RunId) -> WorldResult<&mut super::state::Live> {
        if let Some(ended) = self.ended.get(run) {
            let status = ended.status.as_str();
            return Err(WorldError::Conflict(format!("run {run} has ended ({status})")));
        }
        self.live.get_mut(run).ok_or_else(|| WorldError::NotFound(format!("run {run}")))
    }

    /// Writes an operator's row into a run's history; whoever steps the run right now is refused.
    fn write_row(&mut self, run: &RunId, data: EventData, actor: Actor, now: Timestamp) {
        let Some(live) = self.live.get_mut(run) else { return };
        live.row.revision += 1;
        live.row.state.seq += 1;
        live.row.state.at = live.row.state.at.max(now);
        live.updated_at = now;
        let (seq, at) = (live.row.state.seq, live.row.state.at);
        let event = Event { seq, at, cause: None, message: None, actor, trace: None, data };
        self.events.entry(run.clone()).or_default().push(event);
    }
}

fn changed(changed: bool) -> Controlled {
    if changed { Controlled::Done } else { Controlled::Unchanged }
}

fn no_schedule(name: &str) -> WorldError {
    WorldError::NotFound(format!("schedule {name}"))
}

fn no_letter(task: &TaskId) -> WorldError {
    WorldError::NotFound(format!("dead letter {task}"))
}
