//! PostgreSQL passes the conformance suite of the World contract.

#[path = "postgres_stage/mod.rs"]
mod postgres_stage;

use rhythm_conformance::Stage;

use postgres_stage::PostgresStage;

async fn open() -> Box<dyn Stage> {
    Box::new(PostgresStage::open().await)
}

rhythm_conformance::conformance_suite!(open);
