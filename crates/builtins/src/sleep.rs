//! `sleep` waits: `{"seconds": 2.5}`. It reports progress every 500 ms and stops when it is cancelled.

use std::time::Duration;

use rhythm::{Payload, TaskContext, TaskError, codes};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::stopping::asked_to_stop;

const BEAT: Duration = Duration::from_millis(500);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Input {
    seconds: f64,
}

#[derive(Serialize)]
pub struct Slept {
    slept: f64,
}

pub async fn sleep(context: TaskContext, input: Input) -> Result<Slept, TaskError> {
    let length = Duration::try_from_secs_f64(input.seconds)
        .map_err(|error| TaskError::permanent(codes::BAD_PAYLOAD, format!("seconds: {error}")))?;
    let began = Instant::now();
    loop {
        let left = length.saturating_sub(began.elapsed());
        if left.is_zero() {
            return Ok(Slept { slept: input.seconds });
        }
        tokio::select! {
            () = tokio::time::sleep(left.min(BEAT)) => {
                let seconds = began.elapsed().as_secs();
                context.report(Payload::of(&serde_json::json!({ "slept": seconds }))?);
            }
            () = asked_to_stop(&context) => return Err(TaskError::cancelled()),
        }
    }
}
