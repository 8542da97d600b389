//! When a built-in task gives up its attempt.

use rhythm::{Cancellation, TaskContext};

/// Resolves when the attempt should end. During a shutdown it never does: the worker hands its tasks to another worker, so
/// they must not fail.
pub async fn asked_to_stop(context: &TaskContext) {
    if context.cancelled().await == Cancellation::Shutdown {
        std::future::pending::<()>().await;
    }
}
