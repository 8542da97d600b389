//! Cancellation of built-in tasks.

use rhythm::{Cancellation, TaskContext};

/// Resolves when the attempt should end. It never resolves during a shutdown: the worker then hands its tasks
/// to other workers, so the attempts must not fail.
pub async fn asked_to_stop(context: &TaskContext) {
    if context.cancelled().await == Cancellation::Shutdown {
        std::future::pending::<()>().await;
    }
}
