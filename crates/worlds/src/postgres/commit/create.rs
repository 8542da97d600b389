//! Creates runs and standalone tasks.

use std::collections::HashSet;

use rhythm_core::{RunId, TaskId};
use rhythm_engine::world::{CreateRuns, Creation, EnqueueTasks};

use crate::postgres::commit::columns::{RunColumns, TaskColumns};
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::pipeline::{Pipeline, params};
use crate::postgres::connection::session::Session;
use crate::postgres::sql;

/// Creates the runs of several requests in one round trip. A second one compares ids that existed before.
pub async fn create_runs(
    session: &Session,
    now: Option<i64>,
    requests: &[CreateRuns],
) -> Result<Vec<Vec<Creation>>, StatementError> {
    let mut seen: HashSet<(&str, &RunId)> = HashSet::new();
    let mut columns = RunColumns::default();
    for request in requests {
        for run in &request.runs {
            if seen.insert((request.tenant.as_str(), &run.id)) {
                columns.push(request.tenant.as_str(), run);
            }
        }
    }
    let (tenants, ids) = (columns.tenant.clone(), columns.id.clone());
    let mut pipeline = Pipeline::new(session);
    let place = pipeline.add(sql::INSERT_RUNS, columns.into_params(now)).await?;
    pipeline.add(sql::REFUSE_ENDED_RUNS, params![tenants, ids]).await?;
    let answers = pipeline.commit().await?;
    let mut fresh: HashSet<(&str, &str)> =
        answers[place].iter().map(|row| (row.get(0), row.get(1))).collect();
    // Ids that existed before, and ids that occur twice in these requests.
    let mut known = RunColumns::default();
    let mut created: Vec<Vec<Creation>> = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (nth, request) in requests.iter().enumerate() {
        let mut row = Vec::with_capacity(request.runs.len());
        for run in &request.runs {
            if !fresh.remove(&(request.tenant.as_str(), run.id.as_str())) {
                known.push(request.tenant.as_str(), run);
                open.push((nth, row.len()));
            }
            row.push(Creation::Created);
        }
        created.push(row);
    }
    if !open.is_empty() {
        let params = [known.tenant.clone(), known.id.clone(), known.workflow.clone()];
        let rows =
            session.query(sql::KNOWN_RUNS, &[&params[0], &params[1], &params[2], &known.input]).await?;
        settle(&mut created, &open, &rows)?;
    }
    Ok(created)
}

/// Like [`create_runs`], for standalone tasks.
pub async fn enqueue_tasks(
    session: &Session,
    now: Option<i64>,
    requests: &[EnqueueTasks],
) -> Result<Vec<Vec<Creation>>, StatementError> {
    let mut seen: HashSet<(&str, &TaskId)> = HashSet::new();
    let mut columns = TaskColumns::default();
    for request in requests {
        for task in &request.tasks {
            if seen.insert((request.tenant.as_str(), &task.id)) {
                columns.push(request.tenant.as_str(), task, None);
            }
        }
    }
    let (tenants, ids) = (columns.tenant.clone(), columns.id.clone());
    let mut pipeline = Pipeline::new(session);
    let place = pipeline.add(sql::INSERT_TASKS, columns.into_params(now)).await?;
    pipeline.add(sql::REFUSE_ENDED_TASKS, params![tenants, ids]).await?;
    let answers = pipeline.commit().await?;
    let mut fresh: HashSet<(&str, &str)> =
        answers[place].iter().map(|row| (row.get(0), row.get(1))).collect();
    let mut known = TaskColumns::default();
    let mut created: Vec<Vec<Creation>> = Vec::new();
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (nth, request) in requests.iter().enumerate() {
        let mut row = Vec::with_capacity(request.tasks.len());
        for task in &request.tasks {
            if !fresh.remove(&(request.tenant.as_str(), task.id.as_str())) {
                known.push(request.tenant.as_str(), task, None);
                open.push((nth, row.len()));
            }
            row.push(Creation::Created);
        }
        created.push(row);
    }
    if !open.is_empty() {
        let params = [known.tenant.clone(), known.id.clone(), known.name.clone()];
        let rows =
            session.query(sql::KNOWN_TASKS, &[&params[0], &params[1], &params[2], &known.input]).await?;
        settle(&mut created, &open, &rows)?;
    }
    Ok(created)
}

/// Answers for ids that existed before: `Exists` if the content is the same, else `Conflict`. Rows are
/// numbered from 1.
fn settle(
    created: &mut [Vec<Creation>],
    open: &[(usize, usize)],
    rows: &[tokio_postgres::Row],
) -> Result<(), StatementError> {
    for row in rows {
        let nth = row.get::<_, i64>(0) as usize - 1;
        // Deleted between the two statements: `StatementError::Fence` makes the caller retry the whole request.
        let same: bool = row.get::<_, Option<bool>>(1).ok_or(StatementError::Fence)?;
        let (request, place) = open[nth];
        created[request][place] = if same { Creation::Exists } else { Creation::Conflict };
    }
    Ok(())
}
