//! The tasks every `rhythm worker` has: for trying things out, and for schedules that only run a program.

mod echo;
mod fail;
mod shell;
mod sleep;

use std::sync::Arc;

use rhythm::{Cancellation, TaskContext, WorkerBuilder};

/// Adds the built-in tasks; `shell.exec` only when the operator allows it.
pub fn add_to(worker: WorkerBuilder, allow_shell: bool) -> WorkerBuilder {
    let worker =
        worker.handler("echo", Arc::new(echo::Echo)).task("fail", fail::fail).task("sleep", sleep::sleep);
    if allow_shell { worker.task("shell.exec", shell::exec) } else { worker }
}

/// Resolves when the attempt should end. A worker that shuts down hands its tasks to another one: no reason to fail.
async fn asked_to_stop(context: &TaskContext) {
    if context.cancelled().await == Cancellation::Shutdown {
        std::future::pending::<()>().await;
    }
}
