//! Ends attempts. The statements run on any client or transaction of this database, so that a handler may one
//! day finish its task inside its own transaction: prepare [`FinishStatements`] there and call [`finish_on`].

use std::collections::HashMap;

use rhythm_core::Failure;
use rhythm_engine::world::{Finish, FinishTasks, FinishedTask, TaskOutcome};
use tokio_postgres::{GenericClient, Row, Statement};

use crate::postgres::commit::batch::cancelled_prefix;
use crate::postgres::commit::columns::{MessageColumns, json, millis, number};
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::pipeline::{Owned, params};
use crate::postgres::connection::reconnecting::Param;
use crate::postgres::connection::session::Session;
use crate::postgres::sql::{self, Sql};

/// Columns of ended attempts, grouped by what happens to their tasks.
#[derive(Default)]
pub struct FinishColumns<'a> {
    remove: Claims<'a>,
    ended: Vec<i32>,
    output: Vec<Option<String>>,
    failure: Vec<Option<String>>,
    letter: Vec<bool>,
    retry: Claims<'a>,
    retry_failure: Vec<String>,
    delay: Vec<i64>,
    hold: Claims<'a>,
    hold_failure: Vec<String>,
    release: Claims<'a>,
}

#[derive(Default)]
struct Claims<'a> {
    tenant: Vec<&'a str>,
    id: Vec<&'a str>,
    claim: Vec<i64>,
    worker: Vec<&'a str>,
}

impl<'a> Claims<'a> {
    fn push(&mut self, tenant: &'a str, worker: &'a str, finished: &'a FinishedTask) {
        self.tenant.push(tenant);
        self.id.push(finished.task.as_str());
        self.claim.push(number(finished.claim));
        self.worker.push(worker);
    }

    fn params(self, now: Option<i64>) -> Vec<Owned<'a>> {
        params![now, self.tenant, self.id, self.claim, self.worker]
    }
}

impl<'a> FinishColumns<'a> {
    pub fn push(&mut self, tenant: &'a str, worker: &'a str, finished: &'a FinishedTask) {
        match &finished.outcome {
            TaskOutcome::Completed { output } => {
                self.remove(tenant, worker, finished, 4, (Some(output.to_stored()), None))
            }
            TaskOutcome::Exhausted { failure, hold: false } => {
                self.remove(tenant, worker, finished, 5, (None, Some(failure)))
            }
            TaskOutcome::Cancelled { failure } => {
                self.remove(tenant, worker, finished, 6, (None, Some(failure)))
            }
            TaskOutcome::Exhausted { failure, hold: true } => {
                self.hold.push(tenant, worker, finished);
                self.hold_failure.push(json(failure));
            }
            TaskOutcome::Retry { failure, delay } => {
                self.retry.push(tenant, worker, finished);
                self.retry_failure.push(json(failure));
                self.delay.push(millis(*delay));
            }
            TaskOutcome::Released => self.release.push(tenant, worker, finished),
        }
    }

    fn remove(
        &mut self,
        tenant: &'a str,
        worker: &'a str,
        finished: &'a FinishedTask,
        ended: i32,
        (output, failure): (Option<String>, Option<&Failure>),
    ) {
        self.remove.push(tenant, worker, finished);
        self.ended.push(ended);
        self.output.push(output);
        self.failure.push(failure.map(json));
        self.letter.push(ended == 5);
    }

    /// Returns the statements that are needed. With `all`, a statement fails if one of its claims is not
    /// current.
    pub fn into_statements(self, now: Option<i64>, all: bool) -> Vec<(Sql, Vec<Owned<'a>>)> {
        let wanted = |claims: &Claims<'a>| all.then_some(claims.id.len() as i64);
        let mut statements = Vec::new();
        if !self.remove.id.is_empty() {
            let wanted = wanted(&self.remove);
            let mut values = self.remove.params(now);
            values.extend(params![self.ended, self.output, self.failure, self.letter, wanted]);
            statements.push((sql::FINISH_REMOVE, values));
        }
        if !self.retry.id.is_empty() {
            let wanted = wanted(&self.retry);
            let mut values = self.retry.params(now);
            values.extend(params![self.retry_failure, self.delay, wanted]);
            statements.push((sql::FINISH_RETRY, values));
        }
        if !self.hold.id.is_empty() {
            let wanted = wanted(&self.hold);
            let mut values = self.hold.params(now);
            values.extend(params![self.hold_failure, wanted]);
            statements.push((sql::FINISH_HOLD, values));
        }
        if !self.release.id.is_empty() {
            let wanted = wanted(&self.release);
            let mut values = self.release.params(now);
            values.extend(params![wanted]);
            statements.push((sql::FINISH_RELEASE, values));
        }
        statements
    }
}

/// The statements of [`finish_on`], prepared on the client that sends them.
pub struct FinishStatements {
    prepared: Vec<(&'static str, Statement)>,
}

const NEEDED: [Sql; 9] = [
    sql::LOCK_RUNS_OF_TASKS,
    sql::FINISH_REMOVE,
    sql::FINISH_RETRY,
    sql::FINISH_HOLD,
    sql::FINISH_RELEASE,
    sql::PUT_MESSAGES,
    sql::PUT_DORMANT,
    sql::CANCEL_TASKS,
    sql::UNBLOCK_HELD,
];

impl FinishStatements {
    pub async fn of(session: &Session) -> Result<Self, StatementError> {
        let mut prepared = Vec::new();
        for sql in NEEDED {
            prepared.push((sql.name, session.prepare(sql).await?));
        }
        Ok(Self { prepared })
    }

    async fn query(
        &self,
        client: &impl GenericClient,
        sql: Sql,
        params: Vec<Owned<'_>>,
    ) -> Result<Vec<Row>, StatementError> {
        let params: Vec<Param<'_>> = params.iter().map(|param| &**param as Param<'_>).collect();
        let (_, statement) =
            self.prepared.iter().find(|(name, _)| *name == sql.name).expect("listed in NEEDED");
        Ok(client.query(statement, &params).await?)
    }
}

/// Ends attempts within the transaction that is open on `client`. Each one is done or stale by itself.
pub async fn finish_on(
    client: &impl GenericClient,
    statements: &FinishStatements,
    now: Option<i64>,
    requests: &[FinishTasks],
) -> Result<Vec<Vec<Finish>>, StatementError> {
    let all: Vec<(&FinishTasks, &FinishedTask)> = requests
        .iter()
        .flat_map(|request| request.finished.iter().map(move |finished| (request, finished)))
        .collect();
    let tenants: Vec<&str> = all.iter().map(|(request, _)| request.tenant.as_str()).collect();
    let tasks: Vec<&str> = all.iter().map(|(_, finished)| finished.task.as_str()).collect();
    // Every transaction locks runs before tasks.
    statements.query(client, sql::LOCK_RUNS_OF_TASKS, params![tenants, tasks]).await?;
    let mut answers = vec![Finish::Stale; all.len()];
    for round in rounds(&all) {
        let given: Vec<_> = round.iter().map(|place| all[*place]).collect();
        let done = finish_round(client, statements, now, &given).await?;
        for (place, done) in round.into_iter().zip(done) {
            answers[place] = if done { Finish::Done } else { Finish::Stale };
        }
    }
    let mut answers = answers.into_iter();
    Ok(requests.iter().map(|request| answers.by_ref().take(request.finished.len()).collect()).collect())
}

type Given<'a> = (&'a FinishTasks, &'a FinishedTask);

/// Splits attempts into rounds that hold each task once. A statement returns tasks, not claims, so it could
/// not show which of two claims of one task was current.
fn rounds(all: &[Given<'_>]) -> Vec<Vec<usize>> {
    let mut seen: HashMap<(&str, &str), usize> = HashMap::new();
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for (place, (request, finished)) in all.iter().enumerate() {
        let times = seen.entry((request.tenant.as_str(), finished.task.as_str())).or_default();
        if rounds.len() == *times {
            rounds.push(Vec::new());
        }
        rounds[*times].push(place);
        *times += 1;
    }
    rounds
}

/// Returns for each attempt whether its claim was current.
async fn finish_round(
    client: &impl GenericClient,
    statements: &FinishStatements,
    now: Option<i64>,
    given: &[Given<'_>],
) -> Result<Vec<bool>, StatementError> {
    let mut columns = FinishColumns::default();
    for (request, finished) in given {
        columns.push(request.tenant.as_str(), request.worker.as_str(), finished);
    }
    let mut ended: HashMap<(String, String), Option<String>> = HashMap::new();
    let mut unwanted = Unwanted::default();
    for (sql, params) in columns.into_statements(now, false) {
        for row in statements.query(client, sql, params).await? {
            let (Some(tenant), Some(task)) =
                (row.get::<_, Option<String>>(0), row.get::<_, Option<String>>(1))
            else {
                continue;
            };
            let run = row.get::<_, Option<String>>(2);
            if row.get::<_, Option<bool>>(3) == Some(true) {
                unwanted.push(&tenant, &task, run.as_deref());
            }
            ended.insert((tenant, task), run);
        }
    }
    unwanted.cancel(client, statements, now).await?;
    let mut messages = MessageColumns::default();
    let mut done = Vec::with_capacity(given.len());
    for (request, finished) in given {
        let owner = ended.get(&(request.tenant.0.clone(), finished.task.0.clone()));
        if let (Some(Some(run)), Some(message)) = (owner, &finished.message) {
            messages.push(request.tenant.as_str(), run, message);
        }
        done.push(owner.is_some());
    }
    if !messages.is_empty() {
        statements.query(client, sql::PUT_DORMANT, messages.params(now)).await?;
        statements.query(client, sql::PUT_MESSAGES, messages.params(now)).await?;
    }
    Ok(done)
}

/// Tasks with a cancel flag that would otherwise be tried again.
#[derive(Default)]
struct Unwanted {
    tenants: Vec<String>,
    tasks: Vec<String>,
    run_tenants: Vec<String>,
    runs: Vec<String>,
}

impl Unwanted {
    fn push(&mut self, tenant: &str, task: &str, run: Option<&str>) {
        self.tenants.push(tenant.to_owned());
        self.tasks.push(task.to_owned());
        if let Some(run) = run {
            self.run_tenants.push(tenant.to_owned());
            self.runs.push(run.to_owned());
        }
    }

    async fn cancel(
        self,
        client: &impl GenericClient,
        statements: &FinishStatements,
        now: Option<i64>,
    ) -> Result<(), StatementError> {
        if self.tasks.is_empty() {
            return Ok(());
        }
        let none: Vec<String> = Vec::new();
        let values = params![now, self.tenants, self.tasks, none.clone(), none, cancelled_prefix()];
        statements.query(client, sql::CANCEL_TASKS, values).await?;
        statements.query(client, sql::UNBLOCK_HELD, params![self.run_tenants, self.runs]).await?;
        Ok(())
    }
}
