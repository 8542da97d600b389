//! A connection that reconnects by itself: it is opened when it is needed, opened again after it broke, and
//! may be closed after an idle time.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rhythm_engine::world::{WorldError, WorldResult};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_postgres::{AsyncMessage, Client};

use crate::postgres::connection::connect::{Dial, Purpose, prepare_session};
use crate::postgres::connection::errors::{StatementError, world_error};
use crate::postgres::connection::reconnecting::full_jitter;
use crate::postgres::connection::session::Session;
use crate::postgres::connection::wakeups::{CHANNEL, WakeupHints, parse};
use crate::postgres::schema;
use crate::postgres::sql;

/// Time limit of the lock request while connecting.
const ANSWER: Duration = Duration::from_secs(5);

/// Advisory lock and LISTEN of the liveness connection: shows that this process is alive, and receives
/// wake-ups.
#[derive(Clone)]
pub struct Vital {
    pub key: i64,
    pub hints: Arc<WakeupHints>,
}

pub struct SharedConnection {
    dial: Dial,
    base: Purpose,
    vital: Option<Vital>,
    /// Idle time after which it is closed.
    idle: Option<Duration>,
    attempts: AtomicU64,
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Session>,
    failures: u32,
    not_before: Option<Instant>,
    last_error: Option<WorldError>,
}

impl SharedConnection {
    pub fn new(dial: Dial, base: Purpose) -> Self {
        let (attempts, state) = (AtomicU64::new(0), tokio::sync::Mutex::default());
        Self { dial, base, vital: None, idle: None, attempts, state }
    }

    pub fn with_vital(self, vital: Vital) -> Self {
        Self { vital: Some(vital), ..self }
    }

    pub fn closed_after(self, idle: Duration) -> Self {
        Self { idle: Some(idle), ..self }
    }

    /// Connects for the first time, and fails with the reason. With `auto_migrate` it also checks the schema;
    /// `Some(true)` applies pending migrations.
    pub async fn start(self: &Arc<Self>, auto_migrate: Option<bool>) -> WorldResult<()> {
        let mut state = self.state.lock().await;
        let session = self.open(auto_migrate).await?;
        *state = State { session: Some(session), ..State::default() };
        Ok(())
    }

    pub async fn session(self: &Arc<Self>) -> WorldResult<Session> {
        let seen = self.attempts.load(Ordering::Acquire);
        let mut state = self.state.lock().await;
        if let Some(session) = state.session.as_ref().filter(|session| session.is_usable()) {
            return Ok(session.clone());
        }
        // Another call failed to connect while this one waited: return its error.
        if self.attempts.load(Ordering::Acquire) != seen
            && let Some(error) = &state.last_error
        {
            return Err(error.clone());
        }
        if let Some(gate) = state.not_before {
            tokio::time::sleep_until(gate).await;
        }
        // Closes the old connection before opening a new one.
        state.session = None;
        let opened = self.open(None).await.map_err(while_at_work);
        self.attempts.fetch_add(1, Ordering::Release);
        match opened {
            Ok(session) => {
                *state = State { session: Some(session.clone()), ..State::default() };
                Ok(session)
            }
            Err(error) => {
                state.not_before = Some(Instant::now() + full_jitter(state.failures));
                state.failures = state.failures.saturating_add(1);
                state.last_error = Some(error.clone());
                Err(error)
            }
        }
    }

    pub async fn is_busy(&self) -> bool {
        self.state.lock().await.session.as_ref().is_some_and(Session::is_busy)
    }

    async fn open(self: &Arc<Self>, auto_migrate: Option<bool>) -> WorldResult<Session> {
        // Taken first: a suspicion that is raised while connecting applies to this session too.
        let (dial, suspicion) = (self.dial.clone(), self.dial.suspicion());
        let (client, mut connection) = dial.connect().await?;
        let (end, ended) = watch::channel(false);
        let vital = self.vital.clone();
        tokio::spawn(async move {
            loop {
                match poll_fn(|cx| connection.poll_message(cx)).await {
                    Some(Ok(AsyncMessage::Notification(told))) => {
                        if let Some(vital) = &vital
                            && let Some((sender, hint)) = parse(told.payload())
                            && sender != vital.key
                        {
                            vital.hints.heard(hint);
                        }
                    }
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        tracing::debug!(%error, "a connection to PostgreSQL ended");
                        break;
                    }
                    None => break,
                }
            }
            end.send_replace(true);
        });
        if let Some(auto_migrate) = auto_migrate {
            prepare_session(&client, Purpose::Plain).await?;
            schema::check(&client, auto_migrate).await?;
        }
        prepare_session(&client, self.base).await?;
        if let Some(vital) = &self.vital {
            match tokio::time::timeout(ANSWER, take_lock(&client, vital.key)).await {
                Ok(taken) => taken?,
                Err(_) => return Err(WorldError::Unavailable("no answer while connecting".into())),
            }
        }
        let session = Session::new(client, (dial, suspicion), self.base, ended);
        if let Some(idle) = self.idle {
            self.close_when_idle(&session, idle);
        }
        Ok(session)
    }

    fn close_when_idle(self: &Arc<Self>, session: &Session, idle: Duration) {
        let (connection, session) = (Arc::downgrade(self), session.downgrade());
        tokio::spawn(async move {
            let mut pause = idle;
            loop {
                tokio::time::sleep(pause).await;
                let Some(connection) = connection.upgrade() else { return };
                let mut state = connection.state.lock().await;
                let Some(idle_for) = session.idle_for() else { return };
                pause = idle.saturating_sub(idle_for);
                if pause.is_zero() {
                    if state.session.as_ref().is_some_and(|current| session.is(current)) {
                        state.session = None;
                    }
                    return;
                }
            }
        });
    }
}

/// A server without free connections, or with an expired certificate, prevents a start. A running process
/// keeps trying.
fn while_at_work(error: WorldError) -> WorldError {
    match error {
        WorldError::Crowded(why) | WorldError::Untrusted(why) => WorldError::Unavailable(why),
        other => other,
    }
}

async fn take_lock(client: &Client, key: i64) -> WorldResult<()> {
    let told = |error| WorldError::from(StatementError::from(error));
    client.batch_execute(&format!("LISTEN {CHANNEL}")).await.map_err(told)?;
    let row = client.query_one(sql::TRY_LOCK.text, &[&key]).await.map_err(told)?;
    if !row.get::<_, bool>(0) {
        // The server has not noticed yet that our last connection is gone. No other handle has this key.
        client.query(sql::END_HOLDER.text, &[&key]).await.map_err(|error| world_error(&error))?;
        return Err(WorldError::Unavailable("this handle's advisory lock is still taken".into()));
    }
    Ok(())
}
