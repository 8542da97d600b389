//! The one writer of a handle: a thread that runs all waiting requests in one transaction and answers after
//! the commit. Between batches it checks for writes of other processes.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rhythm_engine::world::{Hint, WakeupSenders, WorldError, WorldResult};
use rusqlite::{Connection, params};
use tokio::sync::oneshot;

use super::errors;
use super::sql::{Prepared, Sql, sql};
use super::tx::{Handle, Tx, WorldRow};
use super::write_queue::WriteQueue;

/// Largest number of requests in one transaction.
const BATCH: usize = 500;
/// Pause between checks for foreign writes, while there are listeners.
const FOREIGN_POLL: Duration = Duration::from_millis(50);
/// Idle time after which the write-ahead log is checkpointed.
const QUIET: Duration = Duration::from_secs(1);
/// Time the thread spins for the next request before it sleeps. A caller that got an answer often has a
/// request at once, and waking the thread takes as long.
const AWAKE: Duration = Duration::from_micros(100);
/// After a batch that took longer than this, the thread does not spin: waking up hardly matters, and other
/// threads need the processor.
const SHORT: Duration = Duration::from_micros(500);
/// Time the thread sleeps when nothing is due.
const LONG: Duration = Duration::from_secs(3_600);

/// Sends requests to the writer thread.
pub struct Writer {
    requests: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
    broken: Arc<OnceLock<WorldError>>,
    /// Why nothing can be written through a handle that only reads.
    refusal: Option<WorldError>,
}

enum Request {
    Job(Box<dyn Job>),
    /// There is a listener for wake-ups from now on.
    Listen,
}

impl Writer {
    pub fn start(
        connection: Connection,
        turnstile: WriteQueue,
        handle: Arc<Handle>,
        wakeups: Arc<WakeupSenders>,
    ) -> WorldResult<Self> {
        let (requests, inbox) = mpsc::channel();
        let broken = Arc::new(OnceLock::new());
        let seen = WorldRow::read(Sql::new(&connection))?;
        handle.clock.raise(seen.clock);
        let shared = broken.clone();
        let work = move || {
            let writing = Writing {
                connection: &connection,
                turnstile,
                prepared: Prepared::new(&connection),
                handle,
                wakeups,
                inbox,
                broken: shared,
                listening: false,
                unmoved: false,
                synced: true,
                looked_at: Instant::now(),
                data_version: 0,
                seen,
            };
            writing.run();
        };
        let thread = std::thread::Builder::new()
            .name("rhythm-sqlite".into())
            .spawn(work)
            .map_err(|error| errors::from_io("the writer thread", &error))?;
        Ok(Self { requests: Some(requests), thread: Some(thread), broken, refusal: None })
    }

    /// None at all: whatever would write is refused.
    pub fn absent(connection: &Connection, handle: &Handle, place: &str) -> WorldResult<Self> {
        handle.clock.raise(WorldRow::read(Sql::new(connection))?.clock);
        let refusal = Some(WorldError::ReadOnly(format!("{place} was opened to be read")));
        Ok(Self { requests: None, thread: None, broken: Arc::default(), refusal })
    }

    /// Runs `work` in a write transaction. It may run again after a rollback, so it must not change what it
    /// captured, and it should check before it writes.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> WorldResult<T> + Send + 'static,
    ) -> WorldResult<T> {
        self.send(work, true).await
    }

    /// Like [`write`](Self::write), for changes that a power failure may take back: nothing depends on them
    /// before a later transaction is on disk, and that one flushes them too.
    pub async fn write_unsynced<T: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> WorldResult<T> + Send + 'static,
    ) -> WorldResult<T> {
        self.send(work, false).await
    }

    async fn send<T: Send + 'static>(
        &self,
        work: impl Fn(&Tx<'_>) -> WorldResult<T> + Send + 'static,
        synced: bool,
    ) -> WorldResult<T> {
        self.check()?;
        let (reply, answer) = oneshot::channel();
        let job = Waiting { work, outcome: None, reply, synced };
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        let stopped = || WorldError::Unavailable("the writer has stopped".into());
        let requests = self.requests.as_ref().ok_or_else(stopped)?;
        requests.send(Request::Job(Box::new(job))).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    pub fn listen(&self) {
        if let Some(requests) = &self.requests {
            let _ = requests.send(Request::Listen);
        }
    }

    /// Fails with the error that broke this world, if there is one.
    pub fn check(&self) -> WorldResult<()> {
        self.broken.get().map_or(Ok(()), |error| Err(error.clone()))
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A request, and the channel for its answer.
trait Job: Send {
    /// Runs the request. Returns its error if it fails.
    fn execute(&mut self, tx: &Tx<'_>) -> Option<WorldError>;
    /// Whether it must be on disk before it is answered.
    fn is_synced(&self) -> bool;
    fn answer(self: Box<Self>);
    fn refuse(self: Box<Self>, error: WorldError);
}

struct Waiting<W, T> {
    work: W,
    outcome: Option<WorldResult<T>>,
    reply: oneshot::Sender<WorldResult<T>>,
    synced: bool,
}

impl<T: Send, W: Fn(&Tx<'_>) -> WorldResult<T> + Send> Job for Waiting<W, T> {
    fn execute(&mut self, tx: &Tx<'_>) -> Option<WorldError> {
        let outcome = (self.work)(tx);
        let error = outcome.as_ref().err().cloned();
        self.outcome = Some(outcome);
        error
    }

    fn is_synced(&self) -> bool {
        self.synced
    }

    fn answer(self: Box<Self>) {
        let Self { work, outcome, reply, .. } = *self;
        // The caller may need a value that `work` captured.
        drop(work);
        if let Some(outcome) = outcome {
            let _ = reply.send(outcome);
        }
    }

    fn refuse(self: Box<Self>, error: WorldError) {
        let _ = self.reply.send(Err(error));
    }
}

/// Reason for a rollback.
enum Undone {
    /// A request failed after it had written something; the others may be tried without it.
    ByRequest(WorldError),
    /// No request can be served now.
    ByWorld(WorldError),
}

/// State of the writer thread.
struct Writing<'c> {
    connection: &'c Connection,
    turnstile: WriteQueue,
    prepared: Prepared<'c>,
    handle: Arc<Handle>,
    wakeups: Arc<WakeupSenders>,
    inbox: Receiver<Request>,
    broken: Arc<OnceLock<WorldError>>,
    listening: bool,
    /// The log holds data that is not checkpointed.
    unmoved: bool,
    /// Commits wait for the disk.
    synced: bool,
    looked_at: Instant,
    data_version: i64,
    /// The shared row as of the last read or write.
    seen: WorldRow,
}

impl Writing<'_> {
    fn run(mut self) {
        self.data_version = self.current_data_version();
        let mut awake = Duration::ZERO;
        while let Some(batch) = self.gather(awake) {
            let began = Instant::now();
            self.serve(batch);
            awake = if began.elapsed() < SHORT { AWAKE } else { Duration::ZERO };
            if self.listening && self.looked_at.elapsed() >= FOREIGN_POLL {
                self.look_for_foreign_writes();
            }
        }
        self.leave();
    }

    /// Returns all waiting requests, or `None` when the handle is gone.
    fn gather(&mut self, awake: Duration) -> Option<Vec<Box<dyn Job>>> {
        let mut quiet_since = Instant::now();
        let asleep_at = quiet_since + awake;
        loop {
            let patience = match (self.listening, self.unmoved) {
                (true, _) => FOREIGN_POLL,
                (false, true) => QUIET,
                (false, false) => LONG,
            };
            match self.next_request(asleep_at, patience) {
                Ok(Request::Job(first)) => {
                    let mut batch = vec![first];
                    while batch.len() < BATCH
                        && let Ok(request) = self.inbox.try_recv()
                    {
                        match request {
                            Request::Job(job) => batch.push(job),
                            Request::Listen => self.listening = true,
                        }
                    }
                    return Some(batch);
                }
                Ok(Request::Listen) => self.listening = true,
                Err(RecvTimeoutError::Timeout) => {
                    if self.listening {
                        self.look_for_foreign_writes();
                    }
                    if self.unmoved && quiet_since.elapsed() >= QUIET {
                        self.move_log();
                        quiet_since = Instant::now();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn next_request(&self, asleep_at: Instant, patience: Duration) -> Result<Request, RecvTimeoutError> {
        while Instant::now() < asleep_at {
            match self.inbox.try_recv() {
                Err(TryRecvError::Empty) => std::thread::yield_now(),
                Err(TryRecvError::Disconnected) => return Err(RecvTimeoutError::Disconnected),
                Ok(request) => return Ok(request),
            }
        }
        self.inbox.recv_timeout(patience)
    }

    fn serve(&mut self, mut batch: Vec<Box<dyn Job>>) {
        match self.transact(&mut batch) {
            Ok(hint) => {
                for job in batch {
                    job.answer();
                }
                self.wakeups.send(hint);
            }
            // One request failed the whole batch: each gets a transaction of its own.
            Err(Undone::ByRequest(_)) if batch.len() > 1 => {
                for job in batch {
                    self.serve(vec![job]);
                }
            }
            Err(Undone::ByRequest(error) | Undone::ByWorld(error)) => {
                for job in batch {
                    job.refuse(error.clone());
                }
            }
        }
    }

    /// Runs one transaction. If any request needs it, the commit waits for the disk.
    fn transact(&mut self, batch: &mut [Box<dyn Job>]) -> Result<Hint, Undone> {
        if let Some(error) = self.broken.get() {
            return Err(Undone::ByWorld(error.clone()));
        }
        let _turn = self.turnstile.pass();
        self.wait_for_disk(batch.iter().any(|job| job.is_synced())).map_err(Undone::ByWorld)?;
        self.execute("BEGIN IMMEDIATE").map_err(Undone::ByWorld)?;
        match self.fill(batch) {
            Ok((hint, row)) => {
                self.execute("COMMIT").map_err(|error| {
                    self.undo();
                    Undone::ByWorld(error)
                })?;
                if let Some(row) = row {
                    self.seen = row;
                    self.unmoved = true;
                }
                Ok(hint)
            }
            Err(undone) => {
                self.undo();
                Err(undone)
            }
        }
    }

    fn fill(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(Hint, Option<WorldRow>), Undone> {
        let before = self.connection.total_changes();
        let tx = Tx::open(self.prepared.sql(), &self.handle).map_err(Undone::ByWorld)?;
        let foreign = tx.stored().news_since(&self.seen);
        for job in batch {
            let clean = self.connection.total_changes();
            if let Some(error) = job.execute(&tx)
                && (self.connection.total_changes() != clean || self.connection.is_autocommit())
            {
                return Err(Undone::ByRequest(error));
            }
        }
        let hint = tx.hint();
        let changed = self.connection.total_changes() != before;
        let row = changed.then(|| tx.close()).transpose().map_err(Undone::ByRequest)?;
        // Other processes' writes since the last read are news for our listeners too.
        Ok((hint.and(foreign), row.or(Some(tx.stored()).filter(|_| !foreign.is_empty()))))
    }

    /// Sets whether commits wait for the disk.
    fn wait_for_disk(&mut self, wait: bool) -> WorldResult<()> {
        if wait != self.synced {
            self.execute(if wait { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" })?;
            self.synced = wait;
        }
        Ok(())
    }

    /// Rolls back, unless SQLite did so itself.
    fn undo(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.execute("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be undone");
            let _ = self.broken.set(WorldError::Broken(error.to_string()));
        }
    }

    /// Begins, commits or rolls back. A disk that refuses data breaks the world for good: a retry could
    /// report success for lost data.
    fn execute(&self, statement: &str) -> WorldResult<()> {
        self.connection.execute_batch(statement).map_err(|error| {
            self.note_lost_write(&error);
            self.broken.get().cloned().unwrap_or_else(|| errors::from_sqlite(error))
        })
    }

    fn note_lost_write(&self, error: &rusqlite::Error) {
        if errors::is_lost_write(error) {
            let text = format!("the disk failed to keep what was written: {error}");
            tracing::error!("{text}");
            let _ = self.broken.set(WorldError::Broken(text));
        }
    }

    fn look_for_foreign_writes(&mut self) {
        self.looked_at = Instant::now();
        let version = self.current_data_version();
        if version == self.data_version {
            return;
        }
        self.data_version = version;
        match WorldRow::read(self.prepared.sql()) {
            Ok(row) => {
                self.wakeups.send(row.news_since(&self.seen));
                self.seen = row;
            }
            // A needless hint is better than a lost one.
            Err(_) => self.wakeups.send(Hint::ALL),
        }
    }

    /// Returns a number that changes when another connection has written.
    fn current_data_version(&self) -> i64 {
        // Cached: this runs twenty times a second in every idle process.
        let version = self.connection.prepare_cached("PRAGMA data_version");
        version.and_then(|mut version| version.query_row([], |row| row.get(0))).unwrap_or(0)
    }

    fn move_log(&mut self) {
        self.unmoved = false;
        if let Err(error) = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())) {
            self.note_lost_write(&error);
        }
    }

    /// Stores the latest time as a lower bound for later handles.
    fn leave(&self) {
        if self.broken.get().is_none() {
            let now = self.handle.clock.now().millis();
            let _ = self.prepared.sql().run(sql!("world", "mark"), params![now]);
        }
    }
}
