//! Adapts typed functions to the engine's `Handler`: deserializes the input and serializes the output.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::failure::codes;
use rhythm_core::{Failure, Payload};
use rhythm_engine::worker::{Handler, TaskContext};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::task_error::TaskError;

/// Adapter for an async function that takes a context and an input.
pub(crate) struct AsyncTask<F, T> {
    function: F,
    input: PhantomData<fn(T)>,
}

/// Adapter for a blocking function. Each call runs on a thread of Tokio's blocking pool.
pub(crate) struct BlockingTask<F, T> {
    function: Arc<F>,
    input: PhantomData<fn(T)>,
}

impl<F, T> AsyncTask<F, T> {
    pub(crate) fn new(function: F) -> Self {
        Self { function, input: PhantomData }
    }
}

impl<F, T> BlockingTask<F, T> {
    pub(crate) fn new(function: F) -> Self {
        Self { function: Arc::new(function), input: PhantomData }
    }
}

#[async_trait]
impl<F, Fut, T, U, E> Handler for AsyncTask<F, T>
where
    F: Fn(TaskContext, T) -> Fut + Send + Sync,
    Fut: Future<Output = Result<U, E>> + Send,
    T: DeserializeOwned + Send,
    U: Serialize + Send,
    E: Into<TaskError> + Send,
{
    async fn handle(&self, context: TaskContext, input: Payload) -> Result<Payload, Failure> {
        let input = read(&input, context.name())?;
        match (self.function)(context, input).await {
            Ok(output) => write(&output),
            Err(error) => Err(error.into().into_failure()),
        }
    }
}

#[async_trait]
impl<F, T, U, E> Handler for BlockingTask<F, T>
where
    F: Fn(TaskContext, T) -> Result<U, E> + Send + Sync + 'static,
    T: DeserializeOwned + Send + 'static,
    U: Serialize + Send + 'static,
    E: Into<TaskError> + Send + 'static,
{
    async fn handle(&self, context: TaskContext, input: Payload) -> Result<Payload, Failure> {
        let function = self.function.clone();
        let work = move || {
            let input = read(&input, context.name())?;
            match function(context, input) {
                Ok(output) => write(&output),
                Err(error) => Err(error.into().into_failure()),
            }
        };
        match tokio::task::spawn_blocking(work).await {
            Ok(result) => result,
            // The worker turns panics of handlers into failures, so pass this panic on.
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(error) => Err(Failure::new(codes::CANCELLED, error.to_string())),
            },
        }
    }
}

/// Deserializes the input. On a mismatch returns a permanent failure that names the field.
pub(crate) fn read<T: DeserializeOwned>(payload: &Payload, task: &str) -> Result<T, Failure> {
    let bad = |detail: String| {
        Failure::permanent(codes::BAD_PAYLOAD, format!("the input of {task} does not fit: {detail}"))
    };
    let Some(text) = payload.text() else { return Err(bad("it was not loaded".into())) };
    from_json(text).map_err(bad)
}

fn write<U: Serialize>(output: &U) -> Result<Payload, Failure> {
    Payload::of(output).map_err(|error| {
        let message = format!("the output cannot be written as JSON: {error}");
        Failure::permanent(codes::BAD_PAYLOAD, message)
    })
}

/// Deserializes JSON. An error message begins with the path of the field that does not fit.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| match error.path().to_string().as_str() {
        "." => error.inner().to_string(),
        path => format!("{path}: {}", error.inner()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Order {
        #[allow(dead_code, reason = "only read by serde")]
        lines: Vec<Line>,
    }

    #[derive(Debug, serde::Deserialize)]
    struct Line {
        #[allow(dead_code, reason = "only read by serde")]
        amount: u32,
    }

    #[test]
    fn a_bad_input_is_permanent_and_names_the_field() {
        let input = Payload::parse(r#"{"lines": [{"amount": 1}, {"amount": "two"}]}"#.into()).unwrap();
        let failure = read::<Order>(&input, "bill").unwrap_err();
        assert_eq!(failure.code, codes::BAD_PAYLOAD);
        assert!(!failure.retryable);
        assert_eq!(
            failure.message,
            "the input of bill does not fit: lines[1].amount: invalid type: string \"two\", expected u32 at line 1 \
             column 42"
        );
        let missing = read::<Order>(&Payload::parse("{}".into()).unwrap(), "bill").unwrap_err();
        assert!(missing.message.contains("missing field `lines`"), "{missing}");
    }
}
