//! One user's view of an open connection, which users share. Single statements and pipelined transactions are
//! sent as they come. A transaction of several round trips has the connection to itself (`Alone`).

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::ops::Deref;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::join3;
use rhythm_engine::world::WorldError;
use tokio::sync::{Notify, OwnedMutexGuard, watch};
use tokio::time::Instant;
use tokio_postgres::{Client, Row, Statement};

use crate::postgres::connection::connect::{Dial, Purpose, Suspicion};
use crate::postgres::connection::errors::StatementError;
use crate::postgres::connection::reconnecting::Param;
use crate::postgres::sql::Sql;

/// Time a heartbeat waits for a read on the same connection before the read is cancelled.
const READ_ON: Duration = Duration::from_millis(200);
/// Tries of a read that is cancelled for heartbeats.
const TRIES: u32 = 3;
const CANCEL: Duration = Duration::from_secs(5);

/// State that all users of one connection share.
struct Open {
    client: Client,
    dial: Dial,
    base: Purpose,
    suspicion: Suspicion,
    /// Statements are planned under the settings of their first call, so each is prepared once per settings.
    statements: Mutex<HashMap<(&'static str, bool), Statement>>,
    broken: AtomicBool,
    /// Held while statements are sent that must not be interleaved with others.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// Number of calls that wait for an answer. `answered_at` is the end of the last one.
    calls: AtomicUsize,
    answered_at: Mutex<Instant>,
    /// Number of heartbeats that wait for their turn.
    urgent: AtomicUsize,
    hurry: Notify,
    /// Set when the connection has ended.
    ended: watch::Receiver<bool>,
}

#[derive(Clone)]
pub struct Session {
    open: Arc<Open>,
    purpose: Purpose,
    /// Gives way to heartbeats on the same connection, because its statements may be slow.
    yields: bool,
    /// Has the connection to itself, so it holds the turn.
    holds: bool,
}

impl Session {
    pub fn new(
        client: Client,
        (dial, suspicion): (Dial, Suspicion),
        base: Purpose,
        ended: watch::Receiver<bool>,
    ) -> Self {
        let open = Open {
            client,
            suspicion,
            dial,
            base,
            statements: Mutex::default(),
            broken: AtomicBool::new(false),
            turn: Arc::default(),
            calls: AtomicUsize::new(0),
            answered_at: Mutex::new(Instant::now()),
            urgent: AtomicUsize::new(0),
            hurry: Notify::new(),
            ended,
        };
        Self { open: Arc::new(open), purpose: base, yields: false, holds: false }
    }

    /// The same connection for statements of another kind.
    pub fn with(&self, purpose: Purpose, yields: bool) -> Self {
        Self { purpose, yields, ..self.clone() }
    }

    pub fn client(&self) -> &Client {
        &self.open.client
    }

    pub fn is_usable(&self) -> bool {
        let open = &self.open;
        !open.client.is_closed() && !open.suspicion.is_raised() && !open.broken.load(Ordering::Acquire)
    }

    /// Whether any call waits for an answer.
    pub fn is_busy(&self) -> bool {
        self.open.calls.load(Ordering::Acquire) > 0
    }

    pub fn downgrade(&self) -> WeakSession {
        WeakSession(Arc::downgrade(&self.open))
    }

    pub async fn until_ended(&self) {
        // A sender that is gone means the end too.
        let _ = self.open.ended.clone().wait_for(|ended| *ended).await;
    }

    /// `SET LOCAL` statements to send first, if the connection has other settings.
    fn settings(&self) -> Option<&'static str> {
        (self.purpose != self.open.base).then(|| self.purpose.local_settings())
    }

    /// SQL that begins a transaction with the settings it needs.
    pub fn opening(&self) -> String {
        match self.settings() {
            Some(settings) => format!("BEGIN; {settings}"),
            None => "BEGIN".to_owned(),
        }
    }

    pub fn has_settings(&self) -> bool {
        self.settings().is_some()
    }

    pub async fn prepare(&self, sql: Sql) -> Result<Statement, StatementError> {
        let key = (sql.name, self.has_settings());
        let known = self.open.statements().get(&key).cloned();
        if let Some(statement) = known {
            return Ok(statement);
        }
        let statement = self.sent(self.open.client.prepare(sql.text)).await?;
        self.open.statements().insert(key, statement.clone());
        Ok(statement)
    }

    pub async fn query(&self, sql: Sql, params: &[Param<'_>]) -> Result<Vec<Row>, StatementError> {
        if self.holds {
            let statement = self.prepare(sql).await?;
            return self.answered(self.open.client.query(&statement, params)).await;
        }
        if !self.yields {
            let statement = self.prepare(sql).await?;
            return self.sent(self.query_alone(&statement, params)).await;
        }
        let holding = Self { holds: true, ..self.clone() };
        for _ in 0..TRIES {
            let turn = self.turn().await?;
            let reading = Reading { open: self.open.clone(), turn: Some(turn) };
            // Preparing may have to wait for a lock, too.
            let answer = match holding.prepare(sql).await {
                Ok(statement) => self.answered(self.query_alone(&statement, params)).await,
                Err(fault) => Err(fault),
            };
            reading.end();
            match answer {
                Err(StatementError::Yielded) => {}
                answer => return answer,
            }
        }
        Err(StatementError::Yielded)
    }

    /// Sends one statement, in a transaction if it needs other settings.
    async fn query_alone(
        &self,
        statement: &Statement,
        params: &[Param<'_>],
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let client = &self.open.client;
        if !self.has_settings() {
            return client.query(statement, params).await;
        }
        let opening = self.opening();
        // The futures are polled in order, and the first poll of each sends it.
        let all = join3(
            client.batch_execute(&opening),
            client.query(statement, params),
            client.batch_execute("COMMIT"),
        );
        let (opened, rows, closed) = all.await;
        opened?;
        let rows = rows?;
        closed.map(|()| rows)
    }

    /// Waits until no other user is sending or has a transaction open.
    async fn turn(&self) -> Result<OwnedMutexGuard<()>, StatementError> {
        if !self.is_usable() {
            return Err(self.give_up());
        }
        tokio::select! {
            biased;
            turn = self.open.turn.clone().lock_owned() => Ok(turn),
            () = self.open.suspicion.until_raised() => Err(self.give_up()),
        }
    }

    /// Reserves the connection for this user until the returned value is dropped.
    pub async fn alone(&self) -> Result<Alone, StatementError> {
        let turn = self.turn().await?;
        let session = Self { holds: true, ..self.clone() };
        Ok(Alone { session, in_transaction: AtomicBool::new(false), _turn: turn })
    }

    /// Like [`query`](Self::query), and reads on the same connection give way to it.
    pub async fn query_urgently(&self, sql: Sql, params: &[Param<'_>]) -> Result<Vec<Row>, StatementError> {
        // Urgent from here: preparing waits for its turn too.
        let urgent = Urgent::new(&self.open);
        let statement = self.prepare(sql).await?;
        let turn = self.turn().await?;
        drop(urgent);
        self.sent_in(turn, self.query_alone(&statement, params)).await
    }

    /// Sends the bytes of the first poll of `call` without interleaving, and waits for the answer beside
    /// other calls.
    pub async fn sent<T, E: Into<StatementError>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, StatementError> {
        if self.holds {
            return self.answered(call).await;
        }
        let turn = self.turn().await?;
        self.sent_in(turn, call).await
    }

    async fn sent_in<T, E: Into<StatementError>>(
        &self,
        turn: OwnedMutexGuard<()>,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, StatementError> {
        let (mut call, mut turn) = (pin!(call), Some(turn));
        let sent = poll_fn(move |cx| {
            let polled = call.as_mut().poll(cx);
            turn.take();
            polled
        });
        self.wait(sent, None).await
    }

    pub async fn execute(&self, text: &str) -> Result<(), StatementError> {
        self.sent(self.open.client.batch_execute(text)).await
    }

    /// Tests whether the server answers, while no other call waits for it.
    pub async fn ask(&self, patience: Duration) -> Result<(), StatementError> {
        let turn = self.turn().await?;
        let _turn = turn;
        self.wait(self.open.client.batch_execute(""), Some(patience)).await
    }

    /// Waits for an answer. If this session yields, a heartbeat that waits longer than [`READ_ON`] cancels
    /// the call.
    async fn answered<T, E: Into<StatementError>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T, StatementError> {
        let mut waiting = pin!(self.wait(call, None));
        if !self.yields {
            return waiting.await;
        }
        tokio::select! {
            biased;
            answer = &mut waiting => return answer,
            () = self.open.until_urgent() => {}
        }
        if let Ok(answer) = tokio::time::timeout(READ_ON, &mut waiting).await {
            return answer;
        }
        self.open.cancel().await;
        match waiting.await {
            Err(StatementError::World(WorldError::Unavailable(_))) if self.is_usable() => {
                Err(StatementError::Yielded)
            }
            answer => answer,
        }
    }

    /// Waits for an answer, and gives up when the connection has not answered any call for `patience`.
    pub async fn wait<T, E: Into<StatementError>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
        patience: Option<Duration>,
    ) -> Result<T, StatementError> {
        // A call that was given up may have left a transaction open: nothing may be sent into it.
        if !self.is_usable() {
            return Err(self.give_up());
        }
        let open = &*self.open;
        let patience = patience.unwrap_or_else(|| self.purpose.patience().max(open.base.patience()));
        let _call = Call::new(open);
        let (mut call, began) = (pin!(call), Instant::now());
        loop {
            // Other calls may be answered first, which shows that the server is alive.
            let until = open.answered_at().max(began) + patience;
            tokio::select! {
                biased;
                answer = &mut call => return answer.map_err(Into::into),
                () = tokio::time::sleep_until(until) => {
                    if open.answered_at() + patience > Instant::now() {
                        continue;
                    }
                    // The server would have ended the statement by now. This makes all other calls give up at
                    // once.
                    open.suspicion.raise();
                    return Err(self.give_up());
                }
                () = open.suspicion.until_raised() => return Err(self.give_up()),
            }
        }
    }

    fn give_up(&self) -> StatementError {
        self.open.broken.store(true, Ordering::Release);
        WorldError::Unavailable("the connection does not answer".into()).into()
    }
}

impl Open {
    fn statements(&self) -> std::sync::MutexGuard<'_, HashMap<(&'static str, bool), Statement>> {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered_at(&self) -> Instant {
        *self.answered_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle_for(&self) -> Duration {
        let busy = self.calls.load(Ordering::Acquire) > 0;
        if busy { Duration::ZERO } else { self.answered_at().elapsed() }
    }

    async fn until_urgent(&self) {
        loop {
            let mut hurry = pin!(self.hurry.notified());
            hurry.as_mut().enable();
            if self.urgent.load(Ordering::Acquire) > 0 {
                return;
            }
            hurry.await;
        }
    }

    /// Cancels the running statement. The caller holds the turn until this returns, so no other statement is
    /// hit.
    async fn cancel(&self) {
        match tokio::time::timeout(CANCEL, self.dial.cancel(&self.client)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a read was not cancelled"),
            Err(_) => tracing::debug!("a read was not cancelled in time"),
        }
    }
}

/// Measures how long a connection is idle, without keeping it open.
pub struct WeakSession(Weak<Open>);

impl WeakSession {
    /// Idle time, or `None` when the connection is gone.
    pub fn idle_for(&self) -> Option<Duration> {
        self.0.upgrade().map(|open| open.idle_for())
    }

    pub fn is(&self, session: &Session) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(&session.open))
    }
}

/// Counts a call while it waits.
struct Call<'a>(&'a Open);

impl<'a> Call<'a> {
    fn new(open: &'a Open) -> Self {
        open.calls.fetch_add(1, Ordering::AcqRel);
        Self(open)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
        *self.0.answered_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }
}

/// Counts a heartbeat while it waits for its turn.
struct Urgent<'a>(&'a Open);

impl<'a> Urgent<'a> {
    fn new(open: &'a Open) -> Self {
        open.urgent.fetch_add(1, Ordering::AcqRel);
        open.hurry.notify_waiters();
        Self(open)
    }
}

impl Drop for Urgent<'_> {
    fn drop(&mut self) {
        self.0.urgent.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A read that keeps its turn until it is answered. If its caller is dropped before, the statement is
/// cancelled first.
struct Reading {
    open: Arc<Open>,
    turn: Option<OwnedMutexGuard<()>>,
}

impl Reading {
    fn end(mut self) {
        self.turn.take();
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let open = self.open.clone();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                open.cancel().await;
                drop(turn);
            });
        }
    }
}

/// A session that has its connection to itself.
pub struct Alone {
    session: Session,
    in_transaction: AtomicBool,
    _turn: OwnedMutexGuard<()>,
}

impl Deref for Alone {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        // A transaction that was abandoned must not be continued.
        if self.in_transaction.load(Ordering::Acquire) {
            self.session.open.broken.store(true, Ordering::Release);
        }
    }
}

impl Alone {
    /// Runs `work` in a transaction: commits if it succeeds, else rolls back.
    pub async fn transact<T>(
        &self,
        work: impl Future<Output = Result<T, StatementError>>,
    ) -> Result<T, StatementError> {
        self.in_transaction.store(true, Ordering::Release);
        self.execute(&self.opening()).await?;
        let done = match work.await {
            Ok(done) => self.execute("COMMIT").await.map(|()| done),
            Err(fault) => Err(fault),
        };
        // After a failed rollback the session must not be used. A dead server would not answer it, so it gets
        // none.
        let over = done.is_ok() || self.is_usable() && self.execute("ROLLBACK").await.is_ok();
        self.in_transaction.store(!over, Ordering::Release);
        if !over {
            self.session.open.broken.store(true, Ordering::Release);
        }
        done
    }
}
