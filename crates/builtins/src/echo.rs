//! `echo` returns its input, byte for byte.

use async_trait::async_trait;
use rhythm::{Failure, Payload, TaskContext};
use rhythm_engine::worker::Handler;

pub struct Echo;

#[async_trait]
impl Handler for Echo {
    async fn handle(&self, _context: TaskContext, input: Payload) -> Result<Payload, Failure> {
        Ok(input)
    }
}
