//! Starts the runs and tasks of due schedules. Every process may try: the schedule's stored next time decides
//! which one succeeds, and the id of the run or task is derived from the schedule and its fire time.

use std::collections::BTreeMap;

use rhythm_core::cron::{Cron, Overlap, due_fires};
use rhythm_core::message::{Cancel, Message, MessageBody};
use rhythm_core::{Actor, MessageId, Millis, RunId, TaskId, TenantId, Timestamp};

use crate::labels;
use crate::process::Process;
use crate::world::*;

/// Interval at which schedules added by others are found. Known schedules fire at their own time.
pub const EVERY: Millis = Millis(500);
const LIMIT: usize = 100;

/// Fires the due schedules. Returns when the next one is due.
pub async fn run(process: &Process) -> WorldResult<Option<Timestamp>> {
    let asked = process.time.own_millis();
    let report = process.world.upkeep(Upkeep::DueSchedules { limit: LIMIT }).await?;
    process.time.observe(report.at, asked);
    let mut next = report.next_schedule;
    let mut failed = None;
    for (tenant, schedule) in report.schedules {
        // A schedule that cannot be fired must not block the others.
        match fire(process, &tenant, schedule, report.at).await {
            Ok(again) => next = [next, again].into_iter().flatten().min(),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(next), Err)
}

/// Returns when the schedule is due again.
async fn fire(
    process: &Process,
    tenant: &TenantId,
    schedule: Schedule,
    now: Timestamp,
) -> WorldResult<Option<Timestamp>> {
    let Some(expected) = schedule.next_at else { return Ok(None) };
    let due = match Cron::parse(&schedule.cron, &schedule.zone) {
        Ok(cron) => due_fires(&cron, expected, now, schedule.catch_up, rhythm_core::cron::CATCH_UP_LIMIT),
        Err(error) => {
            tracing::error!(schedule = schedule.name, %error, "schedule cannot be read; it is paused");
            let control = Control::PauseSchedule { name: schedule.name };
            let request = ControlRequest { tenant: tenant.clone(), actor: Actor::system(), control };
            process.world.control(request).await?;
            return Ok(None);
        }
    };
    let mut missed = due.missed;
    let mut fires = due.fires;
    let previous = active_run(process, tenant, &schedule).await?;
    if previous.is_some() && schedule.overlap == Overlap::Skip {
        missed += fires.len() as u64;
        fires.clear();
    }
    let actor = Actor(format!("schedule:{}", schedule.name));
    let (runs, tasks) = match starts(process, tenant, &schedule, &fires, &actor).await? {
        Ok(starts) => starts,
        Err(reason) => {
            tracing::error!(schedule = schedule.name, reason, "a schedule cannot start what it should");
            missed += fires.len() as u64;
            (Vec::new(), Vec::new())
        }
    };
    let name = schedule.name.clone();
    let control = Control::FireSchedule { name, expected, next_at: due.next_at, runs, tasks, missed };
    let request = ControlRequest { tenant: tenant.clone(), actor: actor.clone(), control };
    let won = process.world.control(request).await? == Controlled::Done;
    if let (true, Some(run), Overlap::CancelPrevious) = (won, previous, schedule.overlap) {
        let id = MessageId::new(format!("cancel:{}:{}", schedule.name, expected.millis()));
        let body = MessageBody::Cancel(Cancel::because("its schedule started the next one"));
        let message = Message { id, at: now, actor, trace: None, body };
        let deliveries = vec![Delivery { to: run, message }];
        process.world.deliver(Deliver { tenant: tenant.clone(), deliveries }).await?;
    }
    Ok(due.next_at)
}

/// Returns the run the schedule started last, if it is live. Standalone tasks may always overlap.
async fn active_run(process: &Process, tenant: &TenantId, schedule: &Schedule) -> WorldResult<Option<RunId>> {
    if schedule.overlap == Overlap::Allow {
        return Ok(None);
    }
    let Some(last) = &schedule.last_started else { return Ok(None) };
    match &schedule.target {
        ScheduleTarget::Workflow { .. } => {
            let run = RunId::new(last.clone());
            let picture = process.world.picture(tenant, &run).await?;
            Ok(picture.filter(|picture| !picture.summary.status.is_final()).map(|_| run))
        }
        ScheduleTarget::Task { .. } => Ok(None),
    }
}

type Starts = (Vec<NewRun>, Vec<NewTask>);

/// Returns the runs and tasks to start, or why none can be started.
async fn starts(
    process: &Process,
    tenant: &TenantId,
    schedule: &Schedule,
    fires: &[Timestamp],
    actor: &Actor,
) -> WorldResult<Result<Starts, String>> {
    let id = |fire: &Timestamp| RunId::for_fire(tenant, &schedule.name, *fire);
    match &schedule.target {
        ScheduleTarget::Task { name, input, options } => {
            let task = |fire: &Timestamp| NewTask {
                id: TaskId::new(id(fire).0),
                run: None,
                name: name.clone(),
                input: input.clone(),
                options: options.clone(),
                actor: actor.clone(),
                trace: None,
                claim: false,
            };
            Ok(Ok((Vec::new(), fires.iter().map(task).collect())))
        }
        ScheduleTarget::Workflow { workflow, input } => {
            let (tenant_id, name) = (tenant.clone(), workflow.clone());
            let query = DefinitionQuery { tenant: tenant_id, workflow: name, version: None };
            let Some(definition) = process.world.definition(query).await? else {
                return Ok(Err(format!("no workflow named {workflow} is registered")));
            };
            if let Err(misfit) = process.schemas.check(&*process.world, tenant, &definition, input).await? {
                return Ok(Err(format!("the input does not fit workflow {workflow}: {misfit}")));
            }
            let run = |fire: &Timestamp| NewRun {
                id: id(fire),
                workflow: workflow.clone(),
                version: definition.version.clone(),
                kind: definition.kind,
                input: input.clone(),
                priority: 0,
                delay: Millis::ZERO,
                deadline: None,
                labels: BTreeMap::from([(labels::SCHEDULE.to_owned(), schedule.name.clone())]),
                parent: None,
                actor: actor.clone(),
                trace: None,
            };
            Ok(Ok((fires.iter().map(run).collect(), Vec::new())))
        }
    }
}
