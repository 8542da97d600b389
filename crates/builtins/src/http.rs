//! `http.request` sends a request to a server on the Internet:
//! `{"url": "https://example.com/orders", "json": {"id": 7}}`. `rhythm-http` decides which addresses and
//! requests are allowed.

use std::sync::Arc;

use rhythm::{TaskContext, TaskError};
use rhythm_http::{Answer, Client, Input};

use crate::stopping::asked_to_stop;

pub async fn request(client: Arc<Client>, context: TaskContext, input: Input) -> Result<Answer, TaskError> {
    tokio::select! {
        answer = client.send(input, context.stable_key()) => answer.map_err(TaskError::of),
        () = asked_to_stop(&context) => Err(TaskError::cancelled()),
    }
}
