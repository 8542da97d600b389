//! Fails tasks whose overall deadline passed while they waited in a queue, even if no worker serves it.

use rhythm_core::failure::codes;
use rhythm_core::message::{Actor, Message, MessageBody, TaskFailed};
use rhythm_core::{Failure, MessageId, Millis, OnExhausted};

use crate::process::Process;
use crate::world::{Ask, ClaimTasks, ClaimedTask, FinishTasks, FinishedTask, TaskOutcome, WorldResult};

pub const EVERY: Millis = Millis::from_secs(10);
const LIMIT: usize = 500;

pub async fn run(process: &Process) -> WorldResult<()> {
    let config = &process.config;
    let (tenant, worker) = (config.tenant.clone(), config.worker.clone());
    loop {
        let request = ClaimTasks {
            tenant: tenant.clone(),
            worker: worker.clone(),
            queues: vec![(String::new(), LIMIT)],
            names: Vec::new(),
            of: None,
            hold: config.hold,
            with_runs: false,
            overdue: true,
            ask: Ask::default(),
        };
        let claimed = process.world.claim_tasks(request).await?;
        if claimed.tasks.is_empty() {
            return Ok(());
        }
        let finished = claimed.tasks.into_iter().map(expired).collect();
        let request = FinishTasks { tenant: tenant.clone(), worker: worker.clone(), finished };
        process.world.finish_tasks(request).await?;
    }
}

fn expired(task: ClaimedTask) -> FinishedTask {
    let message = "the task's deadline passed before an attempt could succeed";
    let failure = Failure::permanent(codes::DEADLINE_EXCEEDED, message).with_attempts(task.attempt - 1);
    let hold = task.run.is_some() && task.options.on_exhausted == OnExhausted::Hold;
    let message = task.run.as_ref().filter(|_| !hold).map(|(_, number)| Message {
        id: MessageId::task(*number),
        at: task.created_at,
        actor: Actor::system(),
        trace: task.trace.clone(),
        body: MessageBody::TaskFailed(TaskFailed { task: *number, failure: failure.clone() }),
    });
    FinishedTask {
        task: task.id,
        claim: task.claim,
        outcome: TaskOutcome::Exhausted { failure, hold },
        message,
    }
}
