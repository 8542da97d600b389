//! Stores schedules. The engine decides when they fire.

use rhythm_core::Timestamp;
use rhythm_engine::world::{Control, Controlled, Hint, NewRun, NewTask, Schedule, WorldError};

use crate::postgres::commit::columns::{RunColumns, TaskColumns, json};
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::pipeline::Pipeline;
use crate::postgres::operate::control::Operator;
use crate::postgres::read::rows::from_json;
use crate::postgres::sql;

pub async fn control(desk: &Operator<'_>, control: &Control) -> Result<(Controlled, Hint), StatementError> {
    let quiet = |done| Ok((done, Hint::default()));
    match control {
        Control::PutSchedule(schedule) => {
            put(desk, schedule).await?;
            quiet(Controlled::Done)
        }
        Control::RemoveSchedule { name } => {
            let rows = desk.session.query(sql::REMOVE_SCHEDULE, &[&desk.tenant.as_str(), name]).await?;
            if rows.is_empty() { Err(missing(name)) } else { quiet(Controlled::Done) }
        }
        Control::PauseSchedule { name } => {
            let (mut schedule, _) = lock(desk, name).await?;
            if std::mem::replace(&mut schedule.paused, true) {
                return quiet(Controlled::Unchanged);
            }
            put(desk, &schedule).await?;
            quiet(Controlled::Done)
        }
        Control::ResumeSchedule { name, next_at } => {
            let (mut schedule, _) = lock(desk, name).await?;
            if !std::mem::replace(&mut schedule.paused, false) {
                return quiet(Controlled::Unchanged);
            }
            schedule.next_at = *next_at;
            put(desk, &schedule).await?;
            quiet(Controlled::Done)
        }
        Control::FireSchedule { name, expected, next_at, runs, tasks, missed } => {
            let (mut schedule, now) = lock(desk, name).await?;
            if schedule.paused || schedule.next_at != Some(*expected) {
                return quiet(Controlled::Unchanged);
            }
            schedule.next_at = *next_at;
            schedule.missed += missed;
            let started = runs.len() + tasks.len();
            if started > 0 {
                schedule.last_at = Some(now);
                schedule.fired += started as u64;
                let last_run = runs.last().map(|run| run.id.to_string());
                schedule.last_started = last_run.or(tasks.last().map(|task| task.id.to_string()));
            }
            put(desk, &schedule).await?;
            start(desk, runs, tasks).await?;
            Ok((Controlled::Done, Hint { runs: !runs.is_empty(), tasks: !tasks.is_empty(), cancels: false }))
        }
        other => Err(WorldError::Invalid(format!("not about a schedule: {other:?}")).into()),
    }
}

fn missing(name: &str) -> StatementError {
    WorldError::NotFound(format!("schedule {name}")).into()
}

async fn lock(desk: &Operator<'_>, name: &String) -> Result<(Schedule, Timestamp), StatementError> {
    let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
        &[&desk.tenant.as_str(), name, &desk.now];
    let rows = desk.session.query(sql::LOCK_SCHEDULE, params).await?;
    let row = rows.first().ok_or_else(|| missing(name))?;
    Ok((from_json("schedule", row.get(0))?, Timestamp::from_millis(row.get(1))))
}

async fn put(desk: &Operator<'_>, schedule: &Schedule) -> Result<(), StatementError> {
    let next_at = schedule.next_at.map(Timestamp::millis);
    let params: &[crate::postgres::connection::reconnecting::Param<'_>] =
        &[&desk.tenant.as_str(), &schedule.name, &json(schedule), &schedule.paused, &next_at];
    desk.session.query(sql::PUT_SCHEDULE, params).await?;
    Ok(())
}

async fn start(desk: &Operator<'_>, runs: &[NewRun], tasks: &[NewTask]) -> Result<(), StatementError> {
    let mut pipeline = Pipeline::new(desk.session);
    if !runs.is_empty() {
        let mut columns = RunColumns::default();
        runs.iter().for_each(|run| columns.push(desk.tenant.as_str(), run));
        pipeline.add(sql::INSERT_RUNS, columns.into_params(desk.now)).await?;
    }
    if !tasks.is_empty() {
        let mut columns = TaskColumns::default();
        tasks.iter().for_each(|task| columns.push(desk.tenant.as_str(), task, None));
        pipeline.add(sql::INSERT_TASKS, columns.into_params(desk.now)).await?;
    }
    pipeline.go_on().await?;
    Ok(())
}
