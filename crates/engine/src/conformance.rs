//! The World contract as an executable suite with one door: [`conformance_suite!`](crate::conformance_suite)
//! turns every test here into a test of the calling crate, for the world its stage opens.

use std::sync::Arc;

use async_trait::async_trait;

use crate::world::{ManualClock, World};

/// A place where one test plays: an empty database of its own and a clock of its own.
#[async_trait]
pub trait Stage: Send + Sync {
    /// A new handle on the stage's database, as another process would open it. Dropping it is how a test
    /// lets that process die.
    async fn handle(&self) -> Arc<dyn World>;

    /// The clock injected into every handle.
    fn clock(&self) -> &ManualClock;
}
