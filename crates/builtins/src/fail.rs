//! `fail` fails with the given failure:
//! `{"message": "...", "code": "...", "type": "...", "retryable": false}`.

use rhythm::{TaskContext, TaskError};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    message: String,
    code: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    retryable: Option<bool>,
}

pub async fn fail(_context: TaskContext, input: Option<Input>) -> Result<(), TaskError> {
    let Some(input) = input else { return Err(TaskError::new("failed on request")) };
    let mut error = TaskError::new(input.message);
    if let Some(code) = input.code {
        error = error.with_code(code);
    }
    if let Some(kind) = input.kind {
        error = error.with_type(kind);
    }
    Err(if input.retryable == Some(false) { error.no_retry() } else { error })
}
