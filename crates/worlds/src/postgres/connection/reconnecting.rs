//! Access to a shared connection for one kind of statements.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use rhythm_engine::world::WorldResult;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::postgres::connection::connect::Purpose;
use crate::postgres::connection::session::Session;
use crate::postgres::connection::shared::SharedConnection;
use crate::postgres::sql::Sql;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LAST_DELAY: Duration = Duration::from_secs(1);

/// A parameter of a statement.
pub type Param<'a> = &'a (dyn ToSql + Sync);

#[derive(Clone)]
pub struct ReconnectingClient {
    connection: Arc<SharedConnection>,
    purpose: Purpose,
    yields: bool,
}

impl ReconnectingClient {
    pub fn new(connection: &Arc<SharedConnection>, purpose: Purpose) -> Self {
        Self { connection: connection.clone(), purpose, yields: false }
    }

    /// The same link for slow statements, which give way to heartbeats on the same connection.
    pub fn yielding(self) -> Self {
        Self { yields: true, ..self }
    }

    /// The same connection, for statements of another kind.
    pub fn with(&self, purpose: Purpose) -> Self {
        Self { purpose, ..self.clone() }
    }

    pub async fn session(&self) -> WorldResult<Session> {
        Ok(self.connection.session().await?.with(self.purpose, self.yields))
    }

    /// Whether a call waits for an answer on this connection.
    pub async fn is_busy(&self) -> bool {
        self.connection.is_busy().await
    }

    pub async fn query(&self, sql: Sql, params: &[Param<'_>]) -> WorldResult<Vec<Row>> {
        Ok(self.session().await?.query(sql, params).await?)
    }

    /// For heartbeats: reads on the same connection give way.
    pub async fn query_urgently(&self, sql: Sql, params: &[Param<'_>]) -> WorldResult<Vec<Row>> {
        Ok(self.session().await?.query_urgently(sql, params).await?)
    }
}

/// A random wait below an exponentially growing bound.
pub fn full_jitter(failures: u32) -> Duration {
    let bound = FIRST_DELAY.saturating_mul(1 << failures.min(10)).min(LAST_DELAY);
    bound.mul_f64((random() >> 11) as f64 / (1u64 << 53) as f64)
}

pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
