//! Handles on one in-memory world.

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_conformance::Stage;
use rhythm_core::Timestamp;
use rhythm_engine::memory::MemoryWorld;
use rhythm_engine::world::{Clock, ManualClock, World};

struct MemoryStage {
    clock: Arc<ManualClock>,
    data: MemoryWorld,
}

#[async_trait]
impl Stage for MemoryStage {
    async fn handle(&self) -> Arc<dyn World> {
        Arc::new(self.data.handle())
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }
}

pub async fn open() -> Box<dyn Stage> {
    let clock = ManualClock::at(Timestamp(1_800_000_000_000));
    let data = MemoryWorld::new(Some(Arc::clone(&clock) as Arc<dyn Clock>));
    Box::new(MemoryStage { clock, data })
}
