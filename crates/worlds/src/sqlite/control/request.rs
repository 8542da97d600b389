//! Dispatches operator requests.

use rhythm_core::TenantId;
use rhythm_engine::world::{Control, ControlRequest, Controlled, WorldError, WorldResult};
use rusqlite::params;

use super::{dead_letters, delete, node_types, runs, schedules};
use crate::sqlite::artifacts;
use crate::sqlite::sql::sql;
use crate::sqlite::tasks;
use crate::sqlite::tx::Tx;

pub fn control(tx: &Tx<'_>, request: &ControlRequest) -> WorldResult<Controlled> {
    let ControlRequest { tenant, actor, control } = request;
    match control {
        Control::PauseRun { run, reason } => runs::pause(tx, tenant, run, actor, reason),
        Control::ResumeRun { run, reason } => runs::resume(tx, tenant, run, actor, reason),
        Control::Unblock { run } => runs::unblock(tx, tenant, run),
        Control::Annotate { run, event } => runs::annotate(tx, tenant, run, actor, event),
        Control::Reopen { run, revision, reason, requeue, redeliver, fresh } => {
            let (revision, fresh) = (*revision, fresh.as_deref());
            let wish = runs::Reopening { to_take_back: false, revision, reason, requeue, redeliver, fresh };
            runs::reopen(tx, tenant, run, actor, &wish)
        }
        Control::ChangeVersion { run, version, item, reopen } => {
            runs::change_version(tx, tenant, run, actor, &runs::VersionChange { version, item, reopen })
        }
        Control::TakeBack { run, revision, reason, message } => {
            let (revision, redeliver) = (*revision, std::slice::from_ref(&**message));
            let (requeue, fresh) = (&[][..], None);
            let wish = runs::Reopening { to_take_back: true, revision, reason, requeue, redeliver, fresh };
            runs::reopen(tx, tenant, run, actor, &wish)
        }
        Control::PauseWorkflow { workflow } => pause(tx, tenant, "workflow", workflow),
        Control::PauseQueue { queue } => pause(tx, tenant, "queue", queue),
        Control::ResumeWorkflow { workflow } => {
            tx.hint_runs();
            resume(tx, tenant, "workflow", workflow)
        }
        Control::ResumeQueue { queue } => {
            tx.hint_tasks();
            resume(tx, tenant, "queue", queue)
        }
        Control::Fork { run, item } => runs::fork(tx, tenant, run, item),
        Control::DeleteRun { run, letters } => delete::delete(tx, tenant, run, *letters),
        Control::StoreVersion(definition) => {
            let is_new = artifacts::store_version(tx, tenant, definition)?;
            Ok(if is_new { Controlled::Done } else { Controlled::Unchanged })
        }
        Control::DismissRun { run } => runs::dismiss(tx, tenant, run, actor),
        Control::RequeueDead { task } => dead_letters::requeue(tx, tenant, task, actor),
        Control::DiscardDead { task, message } => {
            dead_letters::discard(tx, tenant, task, message.as_ref(), actor)
        }
        Control::CancelTask { task } => match tasks::cancel(tx, tenant, task)? {
            true => Ok(Controlled::Done),
            false => Err(WorldError::NotFound(format!("open task {task}"))),
        },
        Control::PutNodeType(kind) => node_types::put(tx, tenant, kind),
        Control::RemoveNodeType { name } => node_types::remove(tx, tenant, name),
        Control::PutSchedule(schedule) => schedules::put(tx, tenant, schedule),
        Control::RemoveSchedule { name } => schedules::remove(tx, tenant, name),
        Control::PauseSchedule { name } => schedules::pause(tx, tenant, name),
        Control::ResumeSchedule { name, next_at } => schedules::resume(tx, tenant, name, *next_at),
        Control::FireSchedule { name, expected, next_at, runs, tasks, missed } => {
            let firing =
                schedules::Firing { expected: *expected, next_at: *next_at, runs, tasks, missed: *missed };
            schedules::fire(tx, tenant, name, &firing)
        }
        Control::PutArtifact(new) => artifacts::put(tx, tenant, actor, new),
        Control::RemoveArtifact { hash } => artifacts::remove(tx, tenant, hash),
        Control::MoveTag(wish) => artifacts::move_tag(tx, tenant, actor, wish),
        Control::PatchWorkflow(wish) => artifacts::patch_workflow(tx, tenant, actor, wish),
    }
}

/// Paused names need not exist.
fn pause(tx: &Tx<'_>, tenant: &TenantId, what: &str, name: &str) -> WorldResult<Controlled> {
    let row = params![tenant.as_str(), what, name, tx.now.millis()];
    let changed = tx.run(sql!("control", "pause_name"), row)? > 0;
    tx.forget_paused();
    Ok(changed_if(changed))
}

fn resume(tx: &Tx<'_>, tenant: &TenantId, what: &str, name: &str) -> WorldResult<Controlled> {
    let changed = tx.run(sql!("control", "resume_name"), params![tenant.as_str(), what, name])? > 0;
    tx.forget_paused();
    Ok(changed_if(changed))
}

pub fn changed_if(changed: bool) -> Controlled {
    if changed { Controlled::Done } else { Controlled::Unchanged }
}
