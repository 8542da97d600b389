//! A file of its own for each test.

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_core::Timestamp;
use rhythm_engine::conformance::Stage;
use rhythm_engine::world::{ManualClock, World};
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};

struct SqliteStage {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl Stage for SqliteStage {
    async fn handle(&self) -> Arc<dyn World> {
        let options = SqliteOptions { clock: Some(self.clock.clone()), ..SqliteOptions::default() };
        Arc::new(SqliteWorld::open(self.folder.path().join("rhythm.db"), options).expect("the file opens"))
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }
}

pub async fn open() -> Box<dyn Stage> {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let clock = ManualClock::at(Timestamp::from_millis(1_800_000_000_000));
    Box::new(SqliteStage { folder, clock })
}
