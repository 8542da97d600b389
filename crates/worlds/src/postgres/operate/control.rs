//! Operator requests for runs, names, dead letters and tasks. Schedules have a file of their own.

use rhythm_core::event::{EventData, Note, Reopened};
use rhythm_core::message::Message;
use rhythm_core::{Actor, RunId, TaskId, TaskOptions, TenantId, Version};
use rhythm_engine::world::{
    CommitItem, Control, ControlRequest, Controlled, Fate, Fence, FreshTime, Hint, InUse, NewRun, Opening,
    WorldError, gone_past, handled_already, in_use, not_begun, not_failed, still_open,
};

use crate::postgres::commit::batch::{self, By, OwnedItem, cancelled_prefix};
use crate::postgres::commit::columns::{MessageColumns, RunColumns, TaskColumns, json, millis, number};
use crate::postgres::commit::queue;
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::pipeline::Pipeline;
use crate::postgres::connection::reconnecting::Param;
use crate::postgres::connection::session::Session;
use crate::postgres::operate::artifacts;
use crate::postgres::read::records::fate;
use crate::postgres::read::rows::{count, from_json};
use crate::postgres::sql;
use crate::postgres::sweep::schedules;

pub struct Operator<'a> {
    pub session: &'a Session,
    pub now: Option<i64>,
    pub tenant: &'a TenantId,
    pub actor: &'a Actor,
}

/// Options for reopening an ended run.
struct Reopening<'a> {
    /// For compensation: the run may have ended in any way, and its waiting messages and timers are deleted.
    to_take_back: bool,
    revision: u64,
    reason: &'a str,
    requeue: &'a [TaskId],
    redeliver: &'a [Message],
    fresh: Option<&'a FreshTime>,
}

/// The fields of a dead letter that a decision about it depends on.
struct Letter {
    run: Option<RunId>,
    held: bool,
    fate: Fate,
    /// Its run failed because of this failure.
    failed_run: bool,
}

/// Runs one request in one transaction. Returns the wake-up to send.
pub async fn control(
    session: &Session,
    now: Option<i64>,
    request: &ControlRequest,
) -> Result<(Controlled, Hint), StatementError> {
    let session = session.alone().await?;
    let desk = Operator { session: &session, now, tenant: &request.tenant, actor: &request.actor };
    session.transact(desk.control(&request.control)).await
}

fn changed(changed: bool) -> Controlled {
    if changed { Controlled::Done } else { Controlled::Unchanged }
}

fn no_letter(task: &TaskId) -> StatementError {
    WorldError::NotFound(format!("dead letter {task}")).into()
}

impl Operator<'_> {
    async fn control(&self, control: &Control) -> Result<(Controlled, Hint), StatementError> {
        let runs = Hint { runs: true, ..Hint::default() };
        let tasks = Hint { tasks: true, ..Hint::default() };
        let done = match control {
            Control::PauseRun { run, reason } => {
                return Ok((self.pause(run, reason).await?, Hint::default()));
            }
            Control::ResumeRun { run, reason } => return Ok((self.resume(run, reason).await?, runs)),
            Control::Unblock { run } => return Ok((self.unblock(run).await?, runs)),
            Control::Annotate { run, event } => {
                self.live_run(run).await?;
                self.write_row(run, event, None).await?;
                (Controlled::Done, Hint::default())
            }
            Control::PauseWorkflow { workflow } => {
                (self.pause_name("workflow", workflow).await?, Hint::default())
            }
            Control::ResumeWorkflow { workflow } => (self.resume_name("workflow", workflow).await?, runs),
            Control::PauseQueue { queue } => (self.pause_name("queue", queue).await?, Hint::default()),
            Control::ResumeQueue { queue } => (self.resume_name("queue", queue).await?, tasks),
            Control::Reopen { run, revision, reason, requeue, redeliver, fresh } => {
                let (to_take_back, revision, fresh) = (false, *revision, fresh.as_deref());
                let wish = Reopening { to_take_back, revision, reason, requeue, redeliver, fresh };
                self.reopen(run, wish).await?;
                (Controlled::Done, runs.and(tasks))
            }
            Control::ChangeVersion { run, version, item, reopen } => {
                return self.change_version(run, (version, item), reopen.as_ref()).await;
            }
            Control::TakeBack { run, revision, reason, message } => {
                let (revision, redeliver) = (*revision, std::slice::from_ref(&**message));
                let (to_take_back, requeue, fresh) = (true, &[][..], None);
                let wish = Reopening { to_take_back, revision, reason, requeue, redeliver, fresh };
                self.reopen(run, wish).await?;
                (Controlled::Done, runs)
            }
            Control::Fork { run, item } => return self.fork(run, item).await,
            Control::DeleteRun { run, letters } => (self.delete(run, *letters).await?, Hint::default()),
            Control::StoreVersion(definition) => {
                (artifacts::store_version(self, definition).await?, Hint::default())
            }
            Control::DismissRun { run } => (self.dismiss(run).await?, Hint::default()),
            Control::RequeueDead { task } => {
                self.requeue_dead(task).await?;
                (Controlled::Done, tasks)
            }
            Control::DiscardDead { task, message } => {
                self.discard_dead(task, message.as_ref()).await?;
                (Controlled::Done, runs)
            }
            Control::PutNodeType(kind) => {
                let row: &[Param<'_>] = &[&self.tenant.as_str(), &kind.name, &json(kind)];
                let rows = self.session.query(sql::PUT_NODE_TYPE, row).await?;
                let done = if rows.is_empty() { Controlled::Unchanged } else { Controlled::Done };
                (done, Hint::default())
            }
            Control::RemoveNodeType { name } => {
                let rows = self.session.query(sql::REMOVE_NODE_TYPE, &[&self.tenant.as_str(), name]).await?;
                if rows.is_empty() {
                    return Err(WorldError::NotFound(format!("node type {name}")).into());
                }
                (Controlled::Done, Hint::default())
            }
            Control::CancelTask { task } => {
                self.cancel_task(task).await?;
                (Controlled::Done, Hint::ALL)
            }
            Control::PutArtifact(new) => (artifacts::put(self, new).await?, Hint::default()),
            Control::RemoveArtifact { hash } => (artifacts::remove(self, hash).await?, Hint::default()),
            Control::MoveTag(wish) => (artifacts::move_tag(self, wish).await?, Hint::default()),
            Control::PatchWorkflow(wish) => (artifacts::patch_workflow(self, wish).await?, Hint::default()),
            schedule => return schedules::control(self, schedule).await,
        };
        Ok(done)
    }

    /// Locks a live run. Returns whether it is paused, and its blocked code.
    async fn live_run(&self, run: &RunId) -> Result<(bool, Option<String>), StatementError> {
        let key: [crate::postgres::connection::reconnecting::Param<'_>; 2] =
            [&self.tenant.as_str(), &run.as_str()];
        if let Some(row) = self.session.query(sql::LOCK_RUN, &key).await?.first() {
            return Ok((row.get(0), row.get(1)));
        }
        Err(match self.session.query(sql::LOCK_ENDED_RUN, &key).await?.first() {
            Some(row) => {
                WorldError::Conflict(format!("run {run} has ended ({})", row.get::<_, &str>(0))).into()
            }
            None => WorldError::NotFound(format!("run {run}")).into(),
        })
    }

    async fn write_row(
        &self,
        run: &RunId,
        event: &EventData,
        paused: Option<bool>,
    ) -> Result<(), StatementError> {
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] = &[
            &self.now,
            &self.tenant.as_str(),
            &run.as_str(),
            &event.kind(),
            &event.to_json(),
            &self.actor.0,
            &paused,
        ];
        self.session.query(sql::OPERATOR_ROW, params).await?;
        Ok(())
    }

    async fn pause(&self, run: &RunId, reason: &str) -> Result<Controlled, StatementError> {
        if let (true, _) = self.live_run(run).await? {
            return Ok(Controlled::Unchanged);
        }
        self.write_row(run, &EventData::Paused(Note { reason: reason.to_owned() }), Some(true)).await?;
        self.session.query(sql::UNQUEUE_RUN, &[&self.tenant.as_str(), &run.as_str()]).await?;
        Ok(Controlled::Done)
    }

    async fn resume(&self, run: &RunId, reason: &str) -> Result<Controlled, StatementError> {
        if let (false, _) = self.live_run(run).await? {
            return Ok(Controlled::Unchanged);
        }
        self.write_row(run, &EventData::Resumed(Note { reason: reason.to_owned() }), Some(false)).await?;
        self.ready(sql::READY_RUN, run).await?;
        Ok(Controlled::Done)
    }

    async fn ready(&self, statement: sql::Sql, run: &RunId) -> Result<(), StatementError> {
        self.session.query(statement, &[&self.now, &self.tenant.as_str(), &run.as_str()]).await?;
        Ok(())
    }

    async fn unblock(&self, run: &RunId) -> Result<Controlled, StatementError> {
        let (_, blocked) = self.live_run(run).await?;
        if blocked.is_none_or(|code| code == "dead_letter") {
            return Ok(Controlled::Unchanged);
        }
        self.session.query(sql::UNBLOCK_RUN, &[&self.tenant.as_str(), &run.as_str()]).await?;
        self.ready(sql::READY_RUN, run).await?;
        Ok(Controlled::Done)
    }

    async fn pause_name(&self, what: &str, name: &str) -> Result<Controlled, StatementError> {
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
            &[&self.now, &self.tenant.as_str(), &what, &name];
        Ok(changed(!self.session.query(sql::PAUSE_NAME, params).await?.is_empty()))
    }

    async fn resume_name(&self, what: &str, name: &str) -> Result<Controlled, StatementError> {
        let rows = self.session.query(sql::RESUME_NAME, &[&self.tenant.as_str(), &what, &name]).await?;
        Ok(changed(!rows.is_empty()))
    }

    async fn reopen(&self, run: &RunId, wish: Reopening<'_>) -> Result<(), StatementError> {
        self.open(run, &wish).await?;
        self.go_on(run, &wish).await
    }

    /// Makes an ended run live again.
    async fn open(&self, run: &RunId, wish: &Reopening<'_>) -> Result<(), StatementError> {
        let Reopening { to_take_back, revision, fresh, .. } = *wish;
        let key: [crate::postgres::connection::reconnecting::Param<'_>; 2] =
            [&self.tenant.as_str(), &run.as_str()];
        let conflict = |text: String| StatementError::from(WorldError::Conflict(text));
        if !self.session.query(sql::LOCK_RUN, &key).await?.is_empty() {
            return Err(conflict(format!("run {run} has not ended")));
        }
        let rows = self.session.query(sql::LOCK_ENDED_RUN, &key).await?;
        let row =
            rows.first().ok_or_else(|| StatementError::from(WorldError::NotFound(format!("run {run}"))))?;
        let status: &str = row.get(0);
        if status != "failed" && !to_take_back {
            return Err(conflict(format!("run {run} is {status}, not failed")));
        }
        if row.get::<_, i64>(1) != number(revision) {
            return Err(conflict(format!("run {run} was changed meanwhile")));
        }
        let open = if to_take_back { self.session.query(sql::RUN_TASKS, &key).await? } else { Vec::new() };
        let anew: Vec<&str> =
            fresh.iter().flat_map(|fresh| &fresh.tasks).map(|task| task.id.as_str()).collect();
        let running = match anew.is_empty() {
            true => Vec::new(),
            false => self.session.query(sql::OPEN_TASKS, &[&self.tenant.as_str(), &anew]).await?,
        };
        if let Some(task) = open.first().or(running.first()) {
            return Err(still_open(&TaskId(task.get("id")), run).into());
        }
        if let Some(parent) = row.get::<_, Option<&str>>(2) {
            // Locks the parent before its inbox changes, as commits do.
            self.session.query(sql::LOCK_RUN, &[&self.tenant.as_str(), &parent]).await?;
        }
        if to_take_back {
            let (tenants, runs) = (vec![self.tenant.as_str()], vec![run.as_str()]);
            self.session.query(sql::END_CLEAR, &[&tenants, &runs]).await?;
        }
        self.session.query(sql::REOPEN_RUN, &key).await?;
        Ok(())
    }

    /// Writes the `reopened` row, and gives the run its deadline, tasks and messages.
    async fn go_on(&self, run: &RunId, wish: &Reopening<'_>) -> Result<(), StatementError> {
        let Reopening { revision, reason, requeue, redeliver, fresh, .. } = *wish;
        let (reason, deadline) = (reason.to_owned(), fresh.map(|fresh| fresh.deadline));
        self.write_row(run, &EventData::Reopened(Reopened { reason, deadline }), None).await?;
        if let Some(fresh) = fresh {
            self.give_time(run, fresh, FreshTime::claim(revision)).await?;
        }
        self.session.query(sql::FORGET_FAILED, &[&self.tenant.as_str(), &run.as_str()]).await?;
        self.revive(requeue, false).await?;
        self.unblock_if_last_held(Some(run)).await?;
        self.put_messages(run, redeliver.iter()).await?;
        self.ready(sql::READY_IF_TOLD, run).await
    }

    /// Sets a new deadline, and creates tasks again under their old names.
    async fn give_time(&self, run: &RunId, fresh: &FreshTime, claim: u64) -> Result<(), StatementError> {
        let (tenant, run) = (self.tenant.as_str(), run.as_str());
        let answers: Vec<String> =
            fresh.tasks.iter().filter_map(|task| Some(task.answer()?.as_str().to_owned())).collect();
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
            &[&self.now, &tenant, &run, &millis(fresh.deadline), &answers];
        self.session.query(sql::GIVE_TIME, params).await?;
        let mut columns = TaskColumns::default();
        fresh.tasks.iter().for_each(|task| columns.push(tenant, task, None));
        if columns.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = columns.id.clone();
        let mut pipeline = Pipeline::new(self.session);
        pipeline.add(sql::INSERT_TASKS, columns.into_params(self.now)).await?;
        pipeline.go_on().await?;
        self.session.query(sql::RAISE_CLAIMS, &[&tenant, &ids, &number(claim)]).await?;
        Ok(())
    }

    /// Changes the version of a run. Takes the claim for the operator, so that the former holder is refused,
    /// and commits the item under it.
    async fn change_version(
        &self,
        run: &RunId,
        (version, item): (&Version, &CommitItem),
        reopen: Option<&Opening>,
    ) -> Result<(Controlled, Hint), StatementError> {
        let key: [Param<'_>; 2] = [&self.tenant.as_str(), &run.as_str()];
        let conflict = |text: String| StatementError::from(WorldError::Conflict(text));
        let last = self.session.query(sql::LAST_COMMIT, &key).await?;
        let is_it = |row: &tokio_postgres::Row| row.get::<_, Option<&str>>(0) == Some(item.commit.as_str());
        if last.iter().any(is_it) {
            return Ok((Controlled::Unchanged, Hint::default()));
        }
        let opening = reopen.map(|opening| Reopening {
            to_take_back: false,
            revision: item.revision,
            reason: &opening.reason,
            requeue: &opening.requeue,
            redeliver: &opening.redeliver,
            fresh: opening.fresh.as_deref(),
        });
        if let Some(wish) = &opening {
            self.open(run, wish).await?;
        }
        self.live_run(run).await?;
        let missing = queue::missing_blobs(self.session, self.tenant.as_str(), &item.blobs).await?;
        if let Some(hash) = missing.first() {
            return Err(WorldError::NotFound(format!("blob {hash}")).into());
        }
        let taken: &[Param<'_>] = &[key[0], key[1], &version.as_str(), &number(item.revision)];
        let rows = self.session.query(sql::CHANGE_VERSION, taken).await?;
        let Some(row) = rows.first() else {
            let begun = self.session.query(sql::LAST_COMMIT, &key).await?;
            return Err(match begun.iter().any(|row| row.get::<_, Option<&str>>(0).is_some()) {
                true => conflict(format!("run {run} was changed meanwhile")),
                false => not_begun(run).into(),
            });
        };
        let item = CommitItem { fence: Fence::Claim(count(row.get(0))), more: true, ..item.clone() };
        let by = By { tenant: self.tenant.0.clone(), worker: String::new(), hold: 0 };
        let written =
            batch::write_within(self.session, self.now, &[OwnedItem { by: &by, item: &item }]).await?;
        if let Some(wish) = opening.filter(|_| item.end.is_none()) {
            self.go_on(run, &wish).await?;
        }
        Ok((Controlled::Done, written.hint.and(Hint { runs: true, tasks: true, ..Hint::default() })))
    }

    /// Creates a run with its first commit. Once its blobs exist, only a paused workflow makes the fence
    /// fail.
    async fn fork(&self, run: &NewRun, item: &CommitItem) -> Result<(Controlled, Hint), StatementError> {
        let conflict = |text: String| Err(WorldError::Conflict(text).into());
        let mut columns = RunColumns::default();
        columns.push(self.tenant.as_str(), run);
        let mut pipeline = Pipeline::new(self.session);
        pipeline.add(sql::INSERT_RUNS, columns.into_params(self.now)).await?;
        if pipeline.go_on().await?.concat().is_empty() {
            let known: &[crate::postgres::connection::reconnecting::Param<'_>] = &[
                &vec![self.tenant.as_str()],
                &vec![run.id.as_str()],
                &vec![run.workflow.as_str()],
                &vec![run.input.to_stored()],
            ];
            let rows = self.session.query(sql::KNOWN_RUNS, known).await?;
            return match rows.first().and_then(|row| row.get::<_, Option<bool>>(1)) {
                Some(true) => Ok((Controlled::Unchanged, Hint::default())),
                _ => conflict(format!("there is another run {}", run.id)),
            };
        }
        let missing = queue::missing_blobs(self.session, self.tenant.as_str(), &item.blobs).await?;
        if let Some(hash) = missing.first() {
            return Err(WorldError::NotFound(format!("blob {hash}")).into());
        }
        let by = By { tenant: self.tenant.0.clone(), worker: String::new(), hold: 0 };
        let transition = OwnedItem { by: &by, item };
        match batch::write_within(self.session, self.now, &[transition]).await {
            Err(StatementError::Fence) => conflict(format!("workflow {} is paused", run.workflow)),
            written => Ok((Controlled::Done, written?.hint.and(Hint { runs: true, ..Hint::default() }))),
        }
    }

    async fn put_messages<'m>(
        &self,
        run: &'m RunId,
        messages: impl Iterator<Item = &'m Message>,
    ) -> Result<(), StatementError> {
        let tenant = self.tenant.0.clone();
        let mut columns = MessageColumns::default();
        messages.for_each(|message| columns.push(&tenant, run.as_str(), message));
        if columns.is_empty() {
            return Ok(());
        }
        let mut pipeline = Pipeline::new(self.session);
        pipeline.add(sql::PUT_DORMANT, columns.params(self.now)).await?;
        pipeline.add(sql::PUT_MESSAGES, columns.params(self.now)).await?;
        pipeline.go_on().await?;
        Ok(())
    }

    /// Turns dead letters into tasks again. Fails if one is missing.
    async fn revive(&self, tasks: &[TaskId], detached: bool) -> Result<(), StatementError> {
        if tasks.is_empty() {
            return Ok(());
        }
        let ids: Vec<&str> = tasks.iter().map(TaskId::as_str).collect();
        let letters = self.session.query(sql::LOCK_LETTERS, &[&self.tenant.as_str(), &ids]).await?;
        let found = |id: &TaskId| letters.iter().any(|row| row.get::<_, &str>(0) == id.as_str());
        if let Some(missing) = tasks.iter().find(|task| !found(task)) {
            return Err(no_letter(missing));
        }
        let (mut names, mut deadlines) = (Vec::new(), Vec::new());
        for row in &letters {
            let options: TaskOptions = from_json("task options", row.get(3))?;
            names.push(row.get::<_, &str>(0));
            deadlines.push(options.deadline.map(millis));
        }
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
            &[&self.now, &self.tenant.as_str(), &names, &deadlines, &detached, &self.actor.0];
        self.session.query(sql::REVIVE_TASKS, params).await?;
        Ok(())
    }

    /// Reads a letter that no operator has decided about, and whether its run is live. Locks the run, live or
    /// ended.
    async fn letter(&self, task: &TaskId) -> Result<(Letter, bool), StatementError> {
        let run = self.read_letter(task).await?.run;
        let mut live = match &run {
            Some(run) => !self.lock(run).await?,
            None => false,
        };
        if let Some(run) = run.filter(|_| !live) {
            // Excludes a concurrent reopening, which is the only way an ended run becomes live.
            self.session.query(sql::LOCK_ENDED_RUN, &[&self.tenant.as_str(), &run.as_str()]).await?;
            live = !self.lock(&run).await?;
        }
        Ok((self.read_letter(task).await?, live))
    }

    async fn read_letter(&self, task: &TaskId) -> Result<Letter, StatementError> {
        let rows = self.session.query(sql::READ_LETTER, &[&self.tenant.as_str(), &task.as_str()]).await?;
        let row = rows.first().filter(|row| row.get::<_, i16>("status") < 2);
        let row = row.ok_or_else(|| no_letter(task))?;
        let run = row.get::<_, Option<String>>("run").map(RunId);
        Ok(Letter { run, held: row.get("held"), fate: fate(row)?, failed_run: row.get("failed_run") })
    }

    /// Locks a live run. Returns whether there was none.
    async fn lock(&self, run: &RunId) -> Result<bool, StatementError> {
        let rows = self.session.query(sql::LOCK_RUN, &[&self.tenant.as_str(), &run.as_str()]).await?;
        Ok(rows.is_empty())
    }

    /// Dismisses a failed run. Only failed runs are kept longer than others.
    async fn dismiss(&self, run: &RunId) -> Result<Controlled, StatementError> {
        let live = !self.lock(run).await?;
        let key: [Param<'_>; 2] = [&self.tenant.as_str(), &run.as_str()];
        let ended = self.session.query(sql::LOCK_ENDED_RUN, &key).await?;
        if live || ended.first().is_none_or(|row| row.get::<_, &str>(0) != "failed") {
            return Err(not_failed(run, live || !ended.is_empty()).into());
        }
        let params: &[Param<'_>] = &[&self.tenant.as_str(), &run.as_str(), &self.now, &self.actor.0];
        Ok(changed(!self.session.query(sql::DISMISS_RUN, params).await?.is_empty()))
    }

    /// The run and the runs below it.
    async fn delete(&self, run: &RunId, letters: bool) -> Result<Controlled, StatementError> {
        let family: [Param<'_>; 2] = [&self.tenant.as_str(), &run.as_str()];
        let rows = self.session.query(sql::DELETE_LOCK, &family).await?;
        let ended: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let blocked = self.session.query(sql::DELETE_BLOCKED, &family).await?;
        let blocked = blocked.first().map(|row| (row.get::<_, i32>(0), row.get::<_, &str>(1)));
        match blocked {
            Some((0, live)) => return Err(in_use(run, InUse::Live(live)).into()),
            _ if !ended.contains(&run.0) => return Err(WorldError::NotFound(format!("run {run}")).into()),
            Some((1, task)) => return Err(in_use(run, InUse::Task(task)).into()),
            Some((_, letter)) if !letters => return Err(in_use(run, InUse::Letter(letter)).into()),
            _ => {}
        }
        self.session.query(sql::DELETE_RUNS, &[&self.tenant.as_str(), &ended]).await?;
        Ok(Controlled::Done)
    }

    async fn requeue_dead(&self, task: &TaskId) -> Result<(), StatementError> {
        let (letter, live) = self.letter(task).await?;
        let detached = match letter.fate {
            Fate::Handled => return Err(handled_already(task).into()),
            Fate::Held | Fate::Standalone => false,
            Fate::Unread => true,
            // If the failed run is reopened, it finds the new answer of the task in its inbox.
            Fate::Undecided if !live => false,
            Fate::FailedRun if letter.failed_run => false,
            _ => return Err(gone_past(task).into()),
        };
        self.revive(std::slice::from_ref(task), detached).await?;
        self.unblock_if_last_held(letter.run.as_ref()).await
    }

    async fn unblock_if_last_held(&self, run: Option<&RunId>) -> Result<(), StatementError> {
        if let Some(run) = run {
            let (tenants, runs) = ([self.tenant.as_str()], [run.as_str()]);
            self.session.query(sql::UNBLOCK_HELD, &[&&tenants[..], &&runs[..]]).await?;
        }
        Ok(())
    }

    async fn discard_dead(&self, task: &TaskId, message: Option<&Message>) -> Result<(), StatementError> {
        let (letter, _) = self.letter(task).await?;
        if letter.fate == Fate::Handled {
            return Err(no_letter(task));
        }
        let params: &[Param<'_>] = &[&self.tenant.as_str(), &task.as_str(), &self.now, &self.actor.0];
        self.session.query(sql::DISCARD_LETTER, params).await?;
        if let Some(run) = letter.run.filter(|_| letter.held) {
            self.unblock_if_last_held(Some(&run)).await?;
            self.put_messages(&run, message.into_iter()).await?;
        }
        Ok(())
    }

    async fn cancel_task(&self, task: &TaskId) -> Result<(), StatementError> {
        let rows = self.session.query(sql::TASK_OWNER, &[&self.tenant.as_str(), &task.as_str()]).await?;
        let row = rows
            .first()
            .ok_or_else(|| StatementError::from(WorldError::NotFound(format!("open task {task}"))))?;
        let owner = row.get::<_, Option<String>>(0).map(RunId);
        if let Some(run) = &owner {
            self.lock(run).await?;
        }
        let (tenants, tasks) = (vec![self.tenant.as_str()], vec![task.as_str()]);
        let none: Vec<&str> = Vec::new();
        let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
            &[&self.now, &tenants, &tasks, &none, &none, &cancelled_prefix()];
        let rows = self.session.query(sql::CANCEL_TASKS, params).await?;
        if rows.first().is_none_or(|row| count(row.get(0)) + count(row.get(1)) == 0) {
            return Err(WorldError::NotFound(format!("open task {task}")).into());
        }
        self.unblock_if_last_held(owner.as_ref()).await
    }
}
