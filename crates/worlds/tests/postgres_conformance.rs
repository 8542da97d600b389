//! PostgreSQL passes the conformance suite of the World contract.

#[path = "postgres_stage/mod.rs"]
mod postgres_stage;

use postgres_stage::PostgresStage;
use rhythm_engine::conformance::Stage;

async fn open() -> Box<dyn Stage> {
    Box::new(PostgresStage::open().await)
}

rhythm_engine::conformance_suite!(open);
