//! One connection that comes back by itself: a session is opened when somebody needs it, and again after it broke.

use std::collections::HashMap;
use std::future::Future;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rhythm_engine::world::{WorldError, WorldResult};
use tokio::time::Instant;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use super::connect::{Dial, Purpose, Suspicion};
use super::errors::Fault;
use super::sql::Sql;

const FIRST_DELAY: Duration = Duration::from_millis(50);
const LAST_DELAY: Duration = Duration::from_secs(1);

/// A parameter of a statement.
pub type Param<'a> = &'a (dyn ToSql + Sync);

pub struct Link {
    dial: Dial,
    purpose: Purpose,
    attempts: AtomicU64,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    failures: u32,
    not_before: Option<Instant>,
    last_error: Option<WorldError>,
}

impl Link {
    pub fn new(dial: Dial, purpose: Purpose) -> Self {
        Self { dial, purpose, attempts: AtomicU64::new(0), state: tokio::sync::Mutex::default() }
    }

    pub async fn session(&self) -> WorldResult<Arc<Session>> {
        let seen = self.attempts.load(Ordering::Acquire);
        let mut state = self.state.lock().await;
        if let Some(session) = state.session.as_ref().filter(|session| session.is_usable()) {
            return Ok(session.clone());
        }
        // Somebody failed to connect while this call waited for its turn: its answer is ours too.
        if self.attempts.load(Ordering::Acquire) != seen
            && let Some(error) = &state.last_error
        {
            return Err(error.clone());
        }
        if let Some(gate) = state.not_before {
            tokio::time::sleep_until(gate).await;
        }
        let suspicion = self.dial.suspicion();
        let opened = self.dial.open(self.purpose).await;
        self.attempts.fetch_add(1, Ordering::Release);
        match opened {
            Ok(client) => {
                let session = Arc::new(Session::new(client, self.purpose.patience(), suspicion));
                *state = State { session: Some(session.clone()), ..State::default() };
                Ok(session)
            }
            Err(error) => {
                state.session = None;
                state.not_before = Some(Instant::now() + full_jitter(state.failures));
                state.failures = state.failures.saturating_add(1);
                state.last_error = Some(error.clone());
                Err(error)
            }
        }
    }

    pub async fn query(&self, sql: Sql, params: &[Param<'_>]) -> WorldResult<Vec<Row>> {
        Ok(self.session().await?.query(sql, params).await?)
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

/// An open connection with the statements prepared on it so far.
pub struct Session {
    pub client: Client,
    statements: Mutex<HashMap<&'static str, Statement>>,
    broken: AtomicBool,
    /// How long to wait for an answer.
    patience: Duration,
    suspicion: Suspicion,
}

impl Session {
    pub fn new(client: Client, patience: Duration, suspicion: Suspicion) -> Self {
        Self { client, statements: Mutex::default(), broken: AtomicBool::new(false), patience, suspicion }
    }

    pub fn is_usable(&self) -> bool {
        !self.client.is_closed() && !self.suspicion.is_raised() && !self.broken.load(Ordering::Acquire)
    }

    pub async fn prepare(&self, sql: Sql) -> Result<Statement, Fault> {
        let known = self.statements.lock().unwrap_or_else(PoisonError::into_inner).get(sql.name).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.answered(self.client.prepare(sql.text)).await?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(sql.name, statement.clone());
        Ok(statement)
    }

    pub async fn query(&self, sql: Sql, params: &[Param<'_>]) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql).await?;
        self.answered(self.client.query(&statement, params)).await
    }

    /// Runs `work` in a transaction: all of it is kept, or nothing.
    pub async fn transact<T>(&self, work: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        self.execute("BEGIN").await?;
        let done = match work.await {
            Ok(done) => self.execute("COMMIT").await.map(|()| done),
            Err(fault) => Err(fault),
        };
        // A rollback that fails leaves a session nobody may use any more; a dead one would not even refuse it.
        if done.is_err() && (!self.is_usable() || self.execute("ROLLBACK").await.is_err()) {
            self.broken.store(true, Ordering::Release);
        }
        done
    }

    pub async fn execute(&self, text: &str) -> Result<(), Fault> {
        self.answered(self.client.batch_execute(text)).await
    }

    /// Gives up on a connection that does not answer at all.
    pub async fn answered<T, E: Into<Fault>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Fault> {
        // What was given up may have left a transaction open: nothing more may be said in it.
        if !self.is_usable() {
            return Err(self.give_up());
        }
        tokio::select! {
            biased;
            answer = call => answer.map_err(Into::into),
            () = tokio::time::sleep(self.patience) => {
                // The server would have refused by now: the others wait in vain too, and must not find out one by one.
                self.suspicion.raise();
                Err(self.give_up())
            }
            () = self.suspicion.until_raised() => Err(self.give_up()),
        }
    }

    fn give_up(&self) -> Fault {
        self.broken.store(true, Ordering::Release);
        WorldError::Unavailable("the connection does not answer".into()).into()
    }
}
