//! A separate file for each test.
#![allow(dead_code, reason = "each test binary uses another part")]

use std::sync::Arc;

use async_trait::async_trait;
use rhythm_conformance::Stage;
use rhythm_core::Timestamp;
use rhythm_engine::world::{ManualClock, World};
use rhythm_worlds::sqlite::{SqliteOptions, SqliteWorld};

struct SqliteStage {
    folder: tempfile::TempDir,
    clock: Arc<ManualClock>,
}

#[async_trait]
impl Stage for SqliteStage {
    async fn handle(&self) -> Arc<dyn World> {
        world(&self.folder, self.clock.clone())
    }

    fn clock(&self) -> &ManualClock {
        &self.clock
    }
}

fn world(folder: &tempfile::TempDir, clock: Arc<ManualClock>) -> Arc<dyn World> {
    let options = SqliteOptions { clock: Some(clock), ..SqliteOptions::default() };
    Arc::new(SqliteWorld::open(folder.path().join("rhythm.db"), options).expect("the file opens"))
}

/// Opens a world with this clock, and returns it with its folder.
pub async fn open_at(clock: Arc<ManualClock>) -> (Arc<dyn World>, tempfile::TempDir) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    (world(&folder, clock), folder)
}

pub async fn open() -> Box<dyn Stage> {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let clock = ManualClock::at(Timestamp::from_millis(1_800_000_000_000));
    Box::new(SqliteStage { folder, clock })
}
