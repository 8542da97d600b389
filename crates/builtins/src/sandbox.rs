//! `rhythm.sandbox` calls `evaluate(output, context)` of a program:
//! `{"code": "def evaluate(output, context): ..."}`. `rhythm.jq` runs a filter:
//! `{"filter": ".items | length", "input": {"items": []}}`. Both run in child processes, which start with the
//! first call. `rhythm-sandbox` owns their limits.

use std::num::NonZero;
use std::sync::{Arc, OnceLock};

use rhythm::{TaskContext, TaskError};
use rhythm_sandbox::{JqCall, Launch, Pool, ProgramCall, Request, SandboxError};
use serde_json::Value;

use crate::stopping::asked_to_stop;

/// The process's pool of sandbox children, made by the first call.
#[derive(Default)]
pub struct Sandboxes(OnceLock<Result<Pool, SandboxError>>);

impl Sandboxes {
    pub async fn program(
        self: Arc<Self>,
        context: TaskContext,
        call: ProgramCall,
    ) -> Result<Value, TaskError> {
        self.evaluate(context, Request::Program(call)).await
    }

    pub async fn jq(self: Arc<Self>, context: TaskContext, call: JqCall) -> Result<Value, TaskError> {
        self.evaluate(context, Request::Jq(call)).await
    }

    async fn evaluate(&self, context: TaskContext, request: Request) -> Result<Value, TaskError> {
        let pool = self.0.get_or_init(|| {
            let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
            let launch = Launch::own_command()
                .map_err(|error| SandboxError::Crashed { message: error.to_string() })?;
            Ok(Pool::new(launch, cores))
        });
        let answer = async {
            match pool {
                Ok(pool) => pool.evaluate(&request).await,
                Err(error) => Err(error.clone()),
            }
        };
        tokio::select! {
            answer = answer => answer.map_err(|error| TaskError::of(error.failure())),
            () = asked_to_stop(&context) => Err(TaskError::cancelled()),
        }
    }
}
