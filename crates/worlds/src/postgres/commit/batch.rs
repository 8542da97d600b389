//! The one way to move runs: writes a batch of transitions as one pipelined transaction. If one fence does
//! not hold, nothing is written.

use std::collections::BTreeSet;

use rhythm_core::fold::End;
use rhythm_core::message::{MessageBody, TimerFired};
use rhythm_core::{Failure, MessageId};
use rhythm_engine::world::{CommitItem, Fence, TaskOutcome};

use crate::postgres::commit::batch_result::{Places, Written};
use crate::postgres::commit::columns::{
    EventColumns, MessageColumns, RunColumns, TaskColumns, awaiting_text, json, month_of, number,
};
use crate::postgres::commit::end_run::{EndColumns, all_are_over, is_over_for_good};
use crate::postgres::commit::finish::FinishColumns;
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::pipeline::{Owned, Pipeline, params};
use crate::postgres::connection::session::Session;
use crate::postgres::sql;

/// The worker that commits, and the lease (ms) of tasks it claims with the commit.
#[derive(Clone, Debug)]
pub struct By {
    pub tenant: String,
    pub worker: String,
    pub hold: i64,
}

/// One commit item and its committer.
#[derive(Clone, Copy)]
pub struct OwnedItem<'a> {
    pub by: &'a By,
    pub item: &'a CommitItem,
}

/// Writes transitions of different runs; the caller has sorted them by run id.
pub async fn write(
    session: &Session,
    now: Option<i64>,
    items: &[OwnedItem<'_>],
) -> Result<Written, StatementError> {
    let (pipeline, places) = prepare(session, now, items).await?;
    Ok(places.read(items, &pipeline.commit().await?))
}

/// Like [`write`], within a transaction that is open already.
pub async fn write_within(
    session: &Session,
    now: Option<i64>,
    items: &[OwnedItem<'_>],
) -> Result<Written, StatementError> {
    let (pipeline, places) = prepare(session, now, items).await?;
    Ok(places.read(items, &pipeline.go_on().await?))
}

async fn prepare<'a>(
    session: &'a Session,
    now: Option<i64>,
    items: &'a [OwnedItem<'a>],
) -> Result<(Pipeline<'a>, Places), StatementError> {
    let mut batch = Batch { pipeline: Pipeline::new(session), now, items, places: Places::default() };
    batch.use_blobs().await?;
    batch.begin().await?;
    if all_are_over(items) {
        batch.transit_and_end().await?;
        return Ok((batch.pipeline, batch.places));
    }
    batch.lock().await?;
    batch.transit().await?;
    batch.cancel().await?;
    batch.finish().await?;
    batch.settle_failures().await?;
    batch.take_out().await?;
    batch.add().await?;
    batch.tell().await?;
    batch.settle().await?;
    batch.end().await?;
    let Batch { pipeline, places, .. } = batch;
    Ok((pipeline, places))
}

struct Batch<'a> {
    pipeline: Pipeline<'a>,
    now: Option<i64>,
    items: &'a [OwnedItem<'a>],
    places: Places,
}

impl<'a> Batch<'a> {
    /// Marks blobs as used. Comes first: every batch locks blobs before runs, and blobs in the same order.
    async fn use_blobs(&mut self) -> Result<(), StatementError> {
        let mut used: BTreeSet<(&'a str, &'a str)> = BTreeSet::new();
        for OwnedItem { by, item } in self.items {
            used.extend(item.blobs.iter().map(|hash| (by.tenant.as_str(), hash.as_str())));
        }
        if used.is_empty() {
            return Ok(());
        }
        let (tenants, hashes): (Vec<&'a str>, Vec<&'a str>) = used.into_iter().unzip();
        self.pipeline.add(sql::USE_BLOBS, params![self.now, tenants, hashes]).await?;
        Ok(())
    }

    /// Inserts runs that are created with their first commit.
    async fn begin(&mut self) -> Result<(), StatementError> {
        let mut columns = RunColumns::default();
        let (mut created, mut if_current) = (Vec::new(), Vec::new());
        for OwnedItem { by, item } in self.items {
            if let (Some(new), Some(at)) = (&item.new, item.created_at) {
                columns.push(&by.tenant, new);
                created.push(at.millis());
                if_current.push(item.if_current);
            }
        }
        if columns.is_empty() {
            return Ok(());
        }
        let (tenants, ids) = (columns.tenant.clone(), columns.id.clone());
        self.pipeline.add(sql::BEGIN_RUNS, columns.into_begun(created, if_current)).await?;
        self.pipeline.add(sql::REFUSE_ENDED_RUNS, params![tenants, ids]).await?;
        Ok(())
    }

    /// Locks all runs in the order of their ids. Only batches with deliveries need it: without them the fence
    /// locks the runs in that order.
    async fn lock(&mut self) -> Result<(), StatementError> {
        let mut runs: Vec<(&str, &str)> = Vec::new();
        for OwnedItem { by, item } in self.items {
            runs.extend(item.deliveries.iter().map(|delivery| (delivery.to.as_str(), by.tenant.as_str())));
        }
        if runs.is_empty() {
            return Ok(());
        }
        runs.extend(self.items.iter().map(|t| (t.item.run.as_str(), t.by.tenant.as_str())));
        runs.sort_unstable();
        runs.dedup();
        let (runs, tenants): (Vec<&str>, Vec<&str>) = runs.into_iter().unzip();
        self.pipeline.add(sql::LOCK_RUNS, params![tenants, runs]).await?;
        Ok(())
    }

    /// Cancels tasks. Comes after the fence, because the answers raise `arrived`, and before new tasks are
    /// inserted, which must not be cancelled.
    async fn cancel(&mut self) -> Result<(), StatementError> {
        let (mut tenants, mut tasks) = (Vec::new(), Vec::new());
        let (mut open_tenants, mut open_runs) = (Vec::new(), Vec::new());
        let (mut all_tenants, mut all_runs) = (Vec::new(), Vec::new());
        for OwnedItem { by, item } in self.items {
            for task in &item.cancel_tasks {
                tenants.push(by.tenant.as_str());
                tasks.push(task.as_str());
            }
            if item.cancel_open.is_some() {
                open_tenants.push(by.tenant.as_str());
                open_runs.push(item.run.as_str());
            }
            if cancels(item) {
                all_tenants.push(by.tenant.as_str());
                all_runs.push(item.run.as_str());
            }
        }
        if all_runs.is_empty() {
            return Ok(());
        }
        let values =
            params![self.now, tenants, tasks, open_tenants.clone(), open_runs.clone(), cancelled_prefix()];
        self.places.cancel = Some(self.pipeline.add(sql::CANCEL_TASKS, values).await?);
        self.pipeline.add(sql::UNBLOCK_HELD, params![all_tenants, all_runs]).await?;
        if open_runs.is_empty() {
            return Ok(());
        }
        self.pipeline.add(sql::LOCK_CHILDREN, params![open_tenants, open_runs]).await?;
        for OwnedItem { by, item } in self.items {
            let Some(message) = &item.cancel_open else { continue };
            let values = params![
                self.now,
                by.tenant.as_str(),
                item.run.as_str(),
                message.id.as_str(),
                message.actor.0.as_str(),
                message.trace.as_deref(),
                json(&message.body),
                crate::postgres::commit::columns::signal_of(&message.body),
                message.body.ends_a_pending_run()
            ];
            self.pipeline.add(sql::PUT_TO_CHILDREN, values).await?;
        }
        Ok(())
    }

    /// Writes the part every batch has. If a run cancels something, `add` inserts the new tasks later.
    async fn transit(&mut self) -> Result<(), StatementError> {
        let (items, cancels) = (self.items, self.cancels());
        let claim = |fence: Fence| match fence {
            Fence::Claim(claim) => Some(number(claim)),
            Fence::Fused => None,
        };
        let mut values: Vec<Owned<'a>> = params![
            self.now,
            column(items, |t| &t.by.tenant),
            column(items, |t| t.item.run.as_str()),
            column(items, |t| &t.by.worker),
            column(items, |t| number(t.item.revision)),
            column(items, |t| claim(t.item.fence)),
            column(items, |t| number(t.item.arrived)),
            column(items, |t| t.item.commit.as_str()),
            column(items, snapshot),
            column(items, format),
            column(items, |t| number(t.item.state.seq)),
            column(items, |t| t.item.state.at.millis()),
            column(items, |t| awaiting_text(&t.item.state.awaiting)),
            column(items, |t| t.item.state.cancelling),
        ];
        values.extend(ended_tasks(items));
        values.extend(events(items));
        let mut tasks = TaskColumns::default();
        for OwnedItem { by, item } in items.iter().filter(|_| !cancels) {
            item.tasks.iter().for_each(|task| tasks.push(&by.tenant, task, Some((&by.worker, by.hold))));
        }
        values.extend(tasks.into_columns());
        self.places.commit = self.pipeline.add(sql::COMMIT, values).await?;
        Ok(())
    }

    /// Writes a batch in which every run ends, in one statement.
    async fn transit_and_end(&mut self) -> Result<(), StatementError> {
        let items = self.items;
        let mut ends = EndColumns::default();
        items.iter().for_each(|t| ends.push(t.item));
        let mut values: Vec<Owned<'a>> = params![
            self.now,
            column(items, |t| &t.by.tenant),
            column(items, |t| t.item.run.as_str()),
            column(items, |t| number(t.item.revision)),
            column(items, |t| number(t.item.arrived)),
            column(items, |t| t.item.commit.as_str()),
            column(items, snapshot),
            column(items, format),
            column(items, |t| number(t.item.state.seq)),
            column(items, |t| t.item.state.at.millis()),
            column(items, |t| awaiting_text(&t.item.state.awaiting)),
            column(items, |t| t.item.state.cancelling),
        ];
        values.extend(ends.into_params());
        values.extend(ended_tasks(items));
        values.extend(events(items));
        self.places.commit = self.pipeline.add(sql::COMMIT_END, values).await?;
        Ok(())
    }

    /// Whether a run of the batch cancels something. New tasks of all runs are then inserted after the
    /// cancellation, so that the queue keeps the order of the runs.
    fn cancels(&self) -> bool {
        self.items.iter().any(|transition| cancels(transition.item))
    }

    /// Ends the attempts that did not complete.
    async fn finish(&mut self) -> Result<(), StatementError> {
        let mut others = FinishColumns::default();
        for OwnedItem { by, item } in self.items {
            for finished in item.finished.iter().filter(|finished| !completes(&finished.outcome)) {
                others.push(&by.tenant, &by.worker, finished);
            }
        }
        for (sql, values) in others.into_statements(self.now, true) {
            self.pipeline.add(sql, values).await?;
        }
        Ok(())
    }

    /// Comes after `finish`, which writes the letters of this batch.
    async fn settle_failures(&mut self) -> Result<(), StatementError> {
        let (mut tenants, mut tasks, mut handled) = (vec![], vec![], vec![]);
        for OwnedItem { by, item } in self.items {
            for settled in &item.settled {
                tenants.push(by.tenant.as_str());
                tasks.push(item.run.task(settled.task).0);
                handled.push(settled.handled);
            }
        }
        if !tasks.is_empty() {
            self.pipeline.add(sql::SETTLE_FAILURES, params![tenants, tasks, handled]).await?;
        }
        Ok(())
    }

    async fn take_out(&mut self) -> Result<(), StatementError> {
        let (mut tenants, mut runs, mut ids) = (vec![], vec![], vec![]);
        let (mut timer_tenants, mut timer_runs, mut timer_ids) = (vec![], vec![], vec![]);
        for OwnedItem { by, item } in self.items {
            for id in item.taken_out() {
                tenants.push(by.tenant.as_str());
                runs.push(item.run.as_str());
                ids.push(id.0.clone());
            }
            for timer in item.fired.iter().filter(|_| !is_over_for_good(item)) {
                timer_tenants.push(by.tenant.as_str());
                timer_runs.push(item.run.as_str());
                timer_ids.push(MessageId::timer(*timer).0);
            }
            for timer in &item.cancel_timers {
                let id = MessageId::timer(*timer).0;
                timer_tenants.push(by.tenant.as_str());
                timer_runs.push(item.run.as_str());
                timer_ids.push(id.clone());
                // The timer may have fired and wait in the inbox.
                tenants.push(by.tenant.as_str());
                runs.push(item.run.as_str());
                ids.push(id);
            }
        }
        if !timer_ids.is_empty() {
            self.pipeline.add(sql::CANCEL_TIMERS, params![timer_tenants, timer_runs, timer_ids]).await?;
        }
        if !ids.is_empty() {
            self.pipeline.add(sql::COMMIT_CONSUME, params![tenants, runs, ids]).await?;
        }
        Ok(())
    }

    async fn add(&mut self) -> Result<(), StatementError> {
        let mut children = RunColumns::default();
        let mut late_tasks = TaskColumns::default();
        let (mut tenants, mut runs, mut ids, mut due, mut numbers, mut bodies) =
            (vec![], vec![], vec![], vec![], vec![], vec![]);
        let cancels = self.cancels();
        for OwnedItem { by, item } in self.items {
            item.children.iter().for_each(|child| children.push(&by.tenant, child));
            if cancels {
                let taker = Some((by.worker.as_str(), by.hold));
                item.tasks.iter().for_each(|task| late_tasks.push(&by.tenant, task, taker));
            }
            for timer in &item.timers {
                tenants.push(by.tenant.as_str());
                runs.push(item.run.as_str());
                ids.push(MessageId::timer(timer.timer).0);
                due.push(timer.fire_at.millis());
                numbers.push(number(timer.timer.0));
                bodies.push(json(&MessageBody::TimerFired(TimerFired { timer: timer.timer })));
            }
        }
        if !ids.is_empty() {
            let values = params![tenants, runs, ids, due, numbers, bodies];
            self.pipeline.add(sql::INSERT_TIMERS, values).await?;
        }
        if !late_tasks.is_empty() {
            let place = self.pipeline.add(sql::INSERT_TASKS, late_tasks.into_params(self.now)).await?;
            self.places.late_tasks = Some(place);
        }
        if !children.is_empty() {
            let place = self.pipeline.add(sql::INSERT_RUNS, children.into_params(self.now)).await?;
            self.places.children = Some(place);
        }
        Ok(())
    }

    async fn tell(&mut self) -> Result<(), StatementError> {
        let mut messages = MessageColumns::default();
        for OwnedItem { by, item } in self.items {
            for delivery in &item.deliveries {
                messages.push(&by.tenant, delivery.to.as_str(), &delivery.message);
            }
        }
        if !messages.is_empty() {
            self.pipeline.add(sql::PUT_DORMANT, messages.params(self.now)).await?;
            let place = self.pipeline.add(sql::PUT_MESSAGES, messages.params(self.now)).await?;
            self.places.messages = Some(place);
        }
        Ok(())
    }

    /// Gives claims back and updates the run queue. Skips plain fused commits: their fence checked `arrived`,
    /// and the queue does not change (`end` removes the row of a run that ends).
    async fn settle(&mut self) -> Result<(), StatementError> {
        let quiet = self.places.messages.is_none() && self.places.cancel.is_none();
        let plain = |item: &CommitItem| item.fence == Fence::Fused && !item.more;
        let items: Vec<OwnedItem<'a>> =
            self.items.iter().copied().filter(|t| !(quiet && plain(t.item))).collect();
        if items.is_empty() {
            return Ok(());
        }
        let values: Vec<Owned<'a>> = params![
            self.now,
            items.iter().map(|t| t.by.tenant.as_str()).collect::<Vec<_>>(),
            items.iter().map(|t| t.item.run.as_str()).collect::<Vec<_>>(),
            items.iter().map(|t| number(t.item.arrived)).collect::<Vec<_>>(),
            items.iter().map(|t| t.item.more).collect::<Vec<_>>(),
            items.iter().map(|t| t.item.end.is_some()).collect::<Vec<_>>(),
            items.iter().map(|t| t.item.fence == Fence::Fused).collect::<Vec<_>>(),
        ];
        self.places.settle = Some(self.pipeline.add(sql::COMMIT_SETTLE, values).await?);
        Ok(())
    }

    async fn end(&mut self) -> Result<(), StatementError> {
        let (mut tenants, mut runs, mut clears) = (vec![], vec![], vec![]);
        let (mut failed_tenants, mut failed_runs) = (vec![], vec![]);
        let mut ends = EndColumns::default();
        for OwnedItem { by, item } in self.items.iter().filter(|t| t.item.end.is_some()) {
            let (tenant, run) = (by.tenant.as_str(), item.run.as_str());
            tenants.push(tenant);
            runs.push(run);
            ends.push(item);
            clears.push(is_over_for_good(item));
            if matches!(item.end, Some(End::Failed(_))) {
                failed_tenants.push(tenant);
                failed_runs.push(run);
            }
        }
        if runs.is_empty() {
            return Ok(());
        }
        let mut values: Vec<Owned<'a>> = params![self.now, tenants, runs];
        values.extend(ends.into_params());
        values.extend(params![clears]);
        self.pipeline.add(sql::END_RUNS, values).await?;
        if !failed_runs.is_empty() {
            self.pipeline.add(sql::END_DORMANT, params![failed_tenants, failed_runs]).await?;
        }
        Ok(())
    }
}

fn cancels(item: &CommitItem) -> bool {
    item.cancel_open.is_some() || !item.cancel_tasks.is_empty()
}

fn column<'a, T>(items: &[OwnedItem<'a>], of: impl Fn(&OwnedItem<'a>) -> T) -> Vec<T> {
    items.iter().map(of).collect()
}

fn snapshot<'a>(of: &OwnedItem<'a>) -> Option<&'a [u8]> {
    of.item.state.snapshot.as_ref().map(|snapshot| &snapshot.bytes[..])
}

fn format(of: &OwnedItem<'_>) -> Option<i32> {
    of.item.state.snapshot.as_ref().map(|snapshot| snapshot.format as i32)
}

/// Columns of completed tasks and the claims on them.
fn ended_tasks<'a>(items: &[OwnedItem<'a>]) -> Vec<Owned<'a>> {
    let (mut tenants, mut ids, mut claims, mut workers) = (vec![], vec![], vec![], vec![]);
    for OwnedItem { by, item } in items {
        for finished in item.finished.iter().filter(|finished| completes(&finished.outcome)) {
            tenants.push(by.tenant.as_str());
            ids.push(finished.task.as_str());
            claims.push(number(finished.claim));
            workers.push(by.worker.as_str());
        }
    }
    params![tenants, ids, claims, workers]
}

fn events<'a>(items: &[OwnedItem<'a>]) -> Vec<Owned<'a>> {
    let mut events = EventColumns::default();
    for OwnedItem { by, item } in items {
        let born = item.created_at.and_then(month_of);
        item.events.iter().for_each(|event| events.push(&by.tenant, item.run.as_str(), born, event));
    }
    events.into_params()
}

pub fn completes(outcome: &TaskOutcome) -> bool {
    matches!(outcome, TaskOutcome::Completed { .. })
}

/// JSON of the failure of a task that was cancelled before it ran, without the closing brace: the statement
/// may append the number of attempts.
pub fn cancelled_prefix() -> String {
    let text = json(&Failure::cancelled("the task was cancelled before it ran"));
    text[..text.len() - 1].to_owned()
}
