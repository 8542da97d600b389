//! PostgreSQL answers generated requests as the reference world does.

#[path = "postgres_stage/mod.rs"]
mod postgres_stage;

use rhythm_conformance::Stage;

use postgres_stage::PostgresStage;

async fn open() -> Box<dyn Stage> {
    Box::new(PostgresStage::open_copy().await)
}

rhythm_conformance::model_suite!(40, open);
