//! PostgreSQL answers generated requests as the reference world does.

#[path = "postgres_stage/mod.rs"]
mod postgres_stage;

use postgres_stage::PostgresStage;
use rhythm_engine::conformance::Stage;

async fn open() -> Box<dyn Stage> {
    Box::new(PostgresStage::open_copy().await)
}

rhythm_engine::model_suite!(40, open);
