//! Reopens failed runs; requeues and discards dead letters.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::message::{Message, MessageBody, Start, TaskFailed};
use rhythm_core::{
    Blocked, CommandId, Event, EventData, Grace, MessageId, Millis, RunId, Status, TaskId, Timestamp,
    WorkflowKind,
};

use super::Client;
use super::retry_node::RetryNode;
use crate::error::EngineError;
use crate::programs::Programs;
use crate::travel::{new_task, past};
use crate::world::*;

/// Largest number of inbox messages a picture shows.
const MOST_ANSWERS: usize = 100;

/// Request to reopen a failed run.
#[derive(Clone, Debug, Default)]
pub struct RetryRun {
    pub reason: String,
    /// New deadline, counted from now. By default as long as the run's last deadline, if it had one.
    pub deadline: Option<Millis>,
}

impl Client {
    /// Reopens a failed run and retries the task or message that failed it. A child that failed it is
    /// reopened too. Fails if the run is unknown, has not failed and is not blocked, was compensated, or
    /// cannot continue past its deadline.
    pub async fn retry_run(&self, run: &RunId, reason: &str) -> Result<(), EngineError> {
        self.retry_run_with(run, RetryRun { reason: reason.to_owned(), deadline: None }).await
    }

    /// Like [`Self::retry_run`], with a new deadline if `wish` has one. Fails also if it has one and the run
    /// has not failed.
    pub async fn retry_run_with(&self, run: &RunId, wish: RetryRun) -> Result<(), EngineError> {
        let mut chain = vec![run.clone()];
        let mut place = 0;
        while place < chain.len() {
            let picture = self.picture(&chain[place]).await?;
            if picture.is_compensated() {
                return Err(EngineError::Compensated(chain[place].to_string()));
            }
            if let Some(MessageBody::ChildFailed(failed)) = picture.failed_by.map(|message| message.body) {
                let child = chain[place].child(failed.child);
                let child_failed = self.world.picture(&self.tenant, &child).await?;
                let reopen = child_failed.is_some_and(|c| c.summary.status == Status::Failed);
                if reopen {
                    chain.push(child);
                }
            }
            place += 1;
        }
        // Children first: if the caller crashes halfway, no run waits for a child that stays failed. A child
        // that ends before its parent is reopened answers into the parent's inbox.
        for one in chain.iter().rev() {
            let deadline = wish.deadline.filter(|_| one == run);
            self.reopen(one, RetryRun { deadline, ..wish.clone() }).await?;
        }
        Ok(())
    }

    /// Returns how to reopen a failed run with another version, after reopening the child that failed it.
    pub(crate) async fn opening_with_child(
        &self,
        picture: &Picture,
        wish: RetryRun,
    ) -> Result<Opening, EngineError> {
        let run = &picture.summary.id;
        if let Some(MessageBody::ChildFailed(failed)) =
            picture.failed_by.as_ref().map(|message| &message.body)
        {
            let child = run.child(failed.child);
            let found = self.world.picture(&self.tenant, &child).await?;
            if found.is_some_and(|child| child.summary.status == Status::Failed) {
                self.retry_run(&child, &wish.reason).await?;
            }
        }
        self.opening(picture, wish).await
    }

    async fn reopen(&self, run: &RunId, wish: RetryRun) -> Result<(), EngineError> {
        let picture = self.picture(run).await?;
        if wish.deadline.is_some() && !picture.summary.status.is_final() {
            return Err(EngineError::Invalid(format!(
                "run {run} has not failed: only then it gets a new deadline"
            )));
        }
        let reason = wish.reason.as_str();
        if picture.summary.blocked.is_some() && !picture.summary.status.is_final() {
            // Nodes the run is held for are tried again; any other block is cleared.
            for node in held_nodes(&picture) {
                let wish = RetryNode { node, config: None, reason: reason.to_owned() };
                Box::pin(self.retry_node(run, wish)).await?;
            }
            self.control(Control::Unblock { run: run.clone() }).await?;
            return Ok(());
        }
        let Opening { reason, requeue, redeliver, fresh } = self.opening(&picture, wish).await?;
        let (run, revision) = (run.clone(), picture.summary.revision);
        self.control(Control::Reopen { run, revision, reason, requeue, redeliver, fresh }).await?;
        Ok(())
    }

    /// Collects the tasks and messages that failed a run, to be tried again.
    async fn opening(&self, picture: &Picture, wish: RetryRun) -> Result<Opening, EngineError> {
        let run = &picture.summary.id;
        let (mut requeue, mut redeliver, mut tasks) = (Vec::new(), Vec::new(), Vec::new());
        if Grace::of(picture.row.awaiting()).is_some() {
            return Err(EngineError::PastDeadline(run.to_string()));
        }
        if let Some(message) = &picture.failed_by {
            match &message.body {
                MessageBody::TaskFailed(failed) => {
                    let task = run.task(failed.task);
                    if picture.dead.iter().any(|letter| letter.task == task) {
                        requeue.push(task);
                    } else {
                        redeliver.push(again(message, picture.summary.revision));
                    }
                }
                MessageBody::ChildFailed(failed) => {
                    // A child that is reopened or started again answers by itself.
                    if !self.child_will_answer(picture, failed.child).await? {
                        redeliver.push(again(message, picture.summary.revision));
                    }
                }
                // The deadline passed before the start, so the start comes now.
                MessageBody::DeadlineReached if picture.row.state.snapshot.is_none() => {
                    let body = MessageBody::Start(Start { input: picture.input.clone() });
                    let start = Message { id: MessageId::start(), body, ..message.clone() };
                    redeliver.push(again(&start, picture.summary.revision));
                }
                MessageBody::DeadlineReached => tasks = self.stopped_by_deadline(picture).await?,
                _ => redeliver.push(again(message, picture.summary.revision)),
            }
        }
        let deadline = match wish.deadline {
            None => self.had(picture).await?,
            given => given,
        };
        let fresh = deadline.map(|deadline| Box::new(FreshTime { deadline, tasks }));
        Ok(Opening { reason: wish.reason, requeue, redeliver, fresh })
    }

    /// Returns the length of a run's deadline when it was last set.
    pub(super) async fn had(&self, picture: &Picture) -> Result<Option<Millis>, EngineError> {
        let Some(deadline_at) = picture.summary.deadline_at else { return Ok(None) };
        let history = self.history(&picture.summary.id).await?;
        let given = history.iter().rev().find_map(|event| match &event.data {
            EventData::Reopened(reopened) => reopened.deadline,
            _ => None,
        });
        Ok(Some(given.unwrap_or(deadline_at.since(picture.summary.created_at))))
    }

    /// Returns the tasks that were stopped with a run, to start again. A run that has compensated cannot
    /// repeat them.
    async fn stopped_by_deadline(&self, picture: &Picture) -> Result<Vec<NewTask>, EngineError> {
        let run = &picture.summary.id;
        let refused = || EngineError::PastDeadline(run.to_string());
        // The picture shows no more messages: a task whose answer is not shown would be done twice.
        if picture.inbox.len() >= MOST_ANSWERS {
            let help = "fork it at an event before its deadline";
            return Err(EngineError::Invalid(format!("too many answers wait for run {run}: {help}")));
        }
        let history = self.history(run).await?;
        let is_deadline = |event: &Event| matches!(event.data, EventData::DeadlineReached(_));
        let place = history.iter().rposition(is_deadline).ok_or_else(refused)?;
        let (before, after) = history.split_at(place);
        let acts = |event: &Event| {
            use EventData::{ChildStarted, SignalSent, StepScheduled};
            matches!(event.data, StepScheduled(_) | ChildStarted(_) | SignalSent(_))
        };
        if after.iter().any(acts) {
            return Err(refused());
        }
        let (row, programs) = (&picture.row, Programs::default());
        let loaded = past::programs_of(self, &programs, row, &history).await?;
        let open = past::fold(self, &loaded, (row, &history), &row.facts(), before).await?.open;
        let answers: BTreeMap<&MessageId, &MessageBody> =
            picture.inbox.iter().map(|message| (&message.id, &message.body)).collect();
        let answer = |id: MessageId| answers.get(&id).copied();
        // A child that ended with the run cannot be started again. One that completed before has its answer
        // in the inbox.
        let finished = |child: &CommandId| {
            matches!(answer(MessageId::child(*child)), Some(MessageBody::ChildCompleted(_)))
        };
        if !open.children.keys().all(finished) {
            return Err(refused());
        }
        let done =
            |task: &CommandId| matches!(answer(MessageId::task(*task)), Some(MessageBody::TaskCompleted(_)));
        let stopped = open.tasks.into_iter().filter(|(number, _)| !done(number));
        Ok(stopped.map(|(_, spec)| new_task(run, spec)).collect())
    }

    /// Returns whether a child answers its reopened parent: it is live, its answer is in the inbox, or it
    /// never existed and was started now.
    async fn child_will_answer(&self, parent: &Picture, child: CommandId) -> Result<bool, EngineError> {
        let id = parent.summary.id.child(child);
        if let Some(picture) = self.world.picture(&self.tenant, &id).await? {
            let answer = MessageId::child(child);
            let told = parent.inbox.iter().any(|message| message.id == answer);
            let status = picture.summary.status;
            // A completed child has answered: otherwise another cause could not have failed its parent.
            return Ok(told || !status.is_final() || status == Status::Completed);
        }
        let history = self.history(&parent.summary.id).await?;
        let started = history.iter().find_map(|event| match &event.data {
            EventData::ChildStarted(started) if started.child == child => Some(started.clone()),
            _ => None,
        });
        let Some(started) = started else { return Ok(false) };
        let (tenant, workflow) = (self.tenant.clone(), started.workflow.clone());
        let query = DefinitionQuery { tenant, workflow, version: started.version };
        let Some(definition) = self.world.definition(query).await? else { return Ok(false) };
        if self.schemas.check(&*self.world, &self.tenant, &definition, &started.input).await?.is_err() {
            return Ok(false);
        }
        let run = NewRun {
            id,
            workflow: started.workflow,
            version: definition.version,
            kind: definition.kind,
            input: started.input,
            priority: 0,
            delay: Millis::ZERO,
            deadline: None,
            labels: BTreeMap::new(),
            parent: Some(Parent { run: parent.summary.id.clone(), child }),
            actor: self.actor.clone(),
            trace: None,
        };
        self.world.create_runs(CreateRuns { tenant: self.tenant.clone(), runs: vec![run] }).await?;
        Ok(true)
    }

    /// Requeues a dead letter. If it failed its run, the run is reopened with it. Fails if the letter is
    /// unknown or decided, if the run handled the failure, or if the run was compensated.
    pub async fn requeue_dead(&self, task: &TaskId) -> Result<(), EngineError> {
        let letter = self.open_letter(task).await?;
        if let (Some(run), Some(number), LetterStatus::Pending) = (&letter.run, letter.number, letter.status)
        {
            let picture = self.picture(run).await?;
            // A failed compensator is retried by `compensate` only.
            if picture.is_compensated() {
                return Err(EngineError::Compensated(run.to_string()));
            }
            let failed_run = picture.failed_by.as_ref().is_some_and(
                |message| matches!(&message.body, MessageBody::TaskFailed(failed) if failed.task == number),
            );
            if failed_run && picture.summary.status == Status::Failed {
                return self.retry_run(run, &format!("requeued {task}")).await;
            }
        }
        self.control(Control::RequeueDead { task: task.clone() }).await?;
        Ok(())
    }

    /// Discards a dead letter; a run held for it gets the failure. Fails if the letter is unknown or decided.
    pub async fn discard_dead(&self, task: &TaskId) -> Result<(), EngineError> {
        let letter = self.open_letter(task).await?;
        let message = letter.number.filter(|_| letter.held).map(|number| Message {
            id: MessageId::task(number),
            at: Timestamp::default(),
            actor: self.actor.clone(),
            trace: None,
            body: MessageBody::TaskFailed(TaskFailed { task: number, failure: letter.failure.clone() }),
        });
        self.control(Control::DiscardDead { task: task.clone(), message }).await?;
        Ok(())
    }

    /// Returns the failure record of a task, whatever its status. Fails if there is none.
    pub async fn dead_letter(&self, task: &TaskId) -> Result<DeadLetter, EngineError> {
        let (tenant, statuses) = (self.tenant.clone(), LetterStatus::ALL.into());
        let query =
            DeadQuery { tenant, task: Some(task.clone()), statuses, limit: 1, ..DeadQuery::default() };
        let found = self.world.list_dead(query).await?.rows.pop();
        found.ok_or_else(|| EngineError::UnknownLetter(task.to_string()))
    }

    /// Returns a letter that was not decided. For a handled failure, the world returns the reason it cannot
    /// be decided.
    async fn open_letter(&self, task: &TaskId) -> Result<DeadLetter, EngineError> {
        let letter = self.dead_letter(task).await?;
        match letter.status {
            LetterStatus::Pending | LetterStatus::Handled => Ok(letter),
            LetterStatus::Reprocessed | LetterStatus::Discarded => {
                Err(EngineError::UnknownLetter(task.to_string()))
            }
        }
    }

    /// Returns the nodes that requested tasks, by task number, from the open work and the history of a graph
    /// run; empty for other kinds.
    pub async fn nodes_of_tasks(&self, run: &RunId) -> Result<BTreeMap<CommandId, String>, EngineError> {
        let picture = self.picture(run).await?;
        let mut nodes = BTreeMap::new();
        if picture.summary.kind != WorkflowKind::Graph {
            return Ok(nodes);
        }
        for event in self.history(run).await? {
            if let EventData::NodeConsumed(token) = event.data {
                nodes.extend(token.command.map(|command| (command, token.to)));
            }
        }
        let standing = crate::tokens::standing(self, &picture.row).await?;
        let places = standing.into_iter().flat_map(|standing| standing.places);
        nodes.extend(places.filter_map(|place| Some((place.command?, place.node))));
        Ok(nodes)
    }
}

fn held_nodes(picture: &Picture) -> BTreeSet<String> {
    let marked = picture.row.awaiting().iter().filter_map(|name| Blocked::marked(name));
    marked.map(|(node, _)| node.to_owned()).collect()
}

/// Returns a copy of the failing message with its own id.
pub(super) fn again(message: &Message, revision: u64) -> Message {
    let id = MessageId::new(format!("{}#{revision}", message.id));
    Message { id, ..message.clone() }
}
