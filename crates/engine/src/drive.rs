//! The only file that spawns, sleeps or selects: turns the ticks of engine, worker and upkeep into a process
//! that runs until it is told to stop.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rhythm_core::failure::codes;
use rhythm_core::{Failure, Millis, Payload, RunId, TaskId};
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::process::Process;
use crate::time::Monotonic;
use crate::upkeep::Upkeep;
use crate::worker::{Attempt, Cancellation, Finished, Worker};
use crate::world::*;

/// How often running attempts are looked at for timeouts.
const WATCH_EVERY: Duration = Duration::from_millis(100);
/// The shortest pause between two sweeps while timers fall due all the time.
const MIN_SWEEP_PAUSE: Duration = Duration::from_millis(10);
/// The time between two attempts that may be what kills their workers.
const SUSPECT_PAUSE: Duration = Duration::from_millis(100);
/// The most results settled in one go.
const SETTLE_BATCH: usize = 500;

/// The host's monotonic clock.
pub struct HostClock(Instant);

impl Default for HostClock {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Monotonic for HostClock {
    fn millis(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Stops a [`Driver`]; cheap to clone.
#[derive(Clone)]
pub struct Stopper(Arc<watch::Sender<bool>>);

impl Stopper {
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// Runs one process: claims, steps, does tasks, keeps house.
pub struct Driver {
    process: Arc<Process>,
    engine: Engine,
    worker: Arc<Worker>,
    upkeep: Upkeep,
    stop: Arc<watch::Sender<bool>>,
    /// Why the world cannot be used any more.
    broken: OnceLock<WorldError>,
    runs_due: Notify,
    tasks_due: Notify,
    results: mpsc::UnboundedSender<Finished>,
    inbox: tokio::sync::Mutex<mpsc::UnboundedReceiver<Finished>>,
    watched: std::sync::Mutex<Vec<Watched>>,
    /// Held while results are on their way into the world: nothing may be aborted then.
    settling: tokio::sync::Mutex<()>,
}

/// An attempt under way, as the watch loop sees it.
struct Watched {
    task: ClaimedTask,
    context: crate::worker::TaskContext,
    handle: JoinHandle<()>,
    timeout_at: Option<Instant>,
    deadline_at: Option<Instant>,
    beats: u64,
    beat_at: Instant,
    cancelled_at: Option<Instant>,
}

impl Driver {
    pub fn new(process: Arc<Process>, worker: Arc<Worker>) -> Arc<Self> {
        let (results, inbox) = mpsc::unbounded_channel();
        Arc::new(Self {
            engine: Engine::new(process.clone(), worker.clone()),
            upkeep: Upkeep::new(process.clone()),
            process,
            worker,
            stop: Arc::new(watch::channel(false).0),
            broken: OnceLock::new(),
            runs_due: Notify::new(),
            tasks_due: Notify::new(),
            results,
            inbox: tokio::sync::Mutex::new(inbox),
            watched: std::sync::Mutex::default(),
            settling: tokio::sync::Mutex::new(()),
        })
    }

    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Runs until stopped; then lets attempts finish for `patience` and hands the rest back. A world that broke
    /// for good ends it at once, with that error.
    pub async fn run(self: &Arc<Self>, patience: Duration) -> WorldResult<()> {
        self.worker.beat(false).await?;
        let loops = [
            tokio::spawn(self.clone().upkeep_loop()),
            tokio::spawn(self.clone().engine_loop()),
            tokio::spawn(self.clone().claim_loop()),
            tokio::spawn(self.clone().settle_loop()),
            tokio::spawn(self.clone().beat_loop()),
            tokio::spawn(self.clone().watch_loop()),
        ];
        self.stopped().await;
        if self.broken.get().is_none() {
            self.wind_down(patience).await;
        }
        let _settled = self.settling.lock().await;
        for task in loops {
            task.abort();
            let _ = task.await;
        }
        if let Some(error) = self.broken.get() {
            for watched in self.lock_watched().drain(..) {
                watched.handle.abort();
            }
            return Err(error.clone());
        }
        if self.worker.has_unfinished() {
            let _ = self.worker.resend().await;
        }
        self.worker.beat(true).await
    }

    /// Waits for running attempts, then hands back what is left.
    async fn wind_down(&self, patience: Duration) {
        self.worker.close();
        let until = Instant::now() + patience;
        while self.worker.running() > 0 && Instant::now() < until {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if self.worker.running() > 0 {
            self.worker.cancel_all(Cancellation::Shutdown);
            tokio::time::sleep(Duration::from_millis(100)).await;
            for watched in self.lock_watched().drain(..) {
                watched.handle.abort();
            }
            let _settling = self.settling.lock().await;
            match self.worker.hand_back().await {
                Ok(count) => tracing::info!(count, "handed unfinished tasks back"),
                Err(error) => {
                    tracing::warn!(%error, "unfinished tasks could not be handed back; they expire")
                }
            }
        }
    }

    async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// Whether this error ends the process. Nothing can be written any more, so nothing is waited for.
    fn gives_up(&self, error: &WorldError) -> bool {
        let broken = matches!(error, WorldError::Broken(_));
        if broken {
            let _ = self.broken.set(error.clone());
            self.stop.send_replace(true);
        }
        broken
    }

    fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    async fn upkeep_loop(self: Arc<Self>) {
        let mut backoff = Backoff::default();
        loop {
            let pause = match self.upkeep.tick().await {
                Ok(kept) => {
                    backoff.reset();
                    if kept.runs_ready {
                        self.runs_due.notify_one();
                    }
                    if kept.tasks_ready {
                        self.tasks_due.notify_one();
                    }
                    if self.worker.has_unfinished() || self.process.has_unsettled() {
                        self.resend().await;
                    }
                    if kept.more {
                        MIN_SWEEP_PAUSE
                    } else {
                        duration(self.upkeep.pause()).max(MIN_SWEEP_PAUSE)
                    }
                }
                Err(error) if self.gives_up(&error) => return,
                Err(_) => backoff.next(),
            };
            let wake_at = tokio::time::Instant::now() + pause;
            self.until_due(wake_at).await;
        }
    }

    /// Sleeps until then, or until something noted meanwhile falls due.
    async fn until_due(&self, wake_at: tokio::time::Instant) {
        let mut wake_at = wake_at;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(wake_at) => return,
                () = self.process.agenda.changed() => {
                    let due = duration(self.upkeep.pause()).max(MIN_SWEEP_PAUSE);
                    wake_at = wake_at.min(tokio::time::Instant::now() + due);
                }
            }
        }
    }

    async fn resend(self: &Arc<Self>) {
        match self.worker.resend().await {
            Ok(attempts) => self.launch(attempts),
            Err(error) => tracing::warn!(%error, "answers are still missing"),
        }
    }

    async fn engine_loop(self: Arc<Self>) {
        let mut wakeups = self.process.world.wakeups().runs;
        let mut backoff = Backoff::default();
        loop {
            let ticked = self.engine.tick().await;
            self.launch(ticked.attempts);
            if let Some(error) = ticked.error {
                if self.gives_up(&error) {
                    return;
                }
                tracing::warn!(%error, "runs could not be stepped; trying again");
                tokio::time::sleep(backoff.next()).await;
                continue;
            }
            backoff.reset();
            if ticked.more {
                continue;
            }
            tokio::select! {
                () = self.runs_due.notified() => {}
                _ = wakeups.changed() => {}
                () = self.stopped() => return,
            }
        }
    }

    async fn claim_loop(self: Arc<Self>) {
        let mut wakeups = self.process.world.wakeups().tasks;
        let mut backoff = Backoff::default();
        loop {
            if self.is_stopping() {
                return;
            }
            match self.worker.tick().await {
                Ok(attempts) => {
                    backoff.reset();
                    self.launch(attempts);
                    if self.worker.has_spared() {
                        tokio::time::sleep(SUSPECT_PAUSE).await;
                    }
                    if self.worker.has_backlog() && self.worker.has_room() {
                        continue;
                    }
                }
                Err(error) if self.gives_up(&error) => return,
                Err(error) => {
                    tracing::warn!(%error, "tasks could not be claimed; trying again");
                    tokio::time::sleep(backoff.next()).await;
                    continue;
                }
            }
            tokio::select! {
                () = self.tasks_due.notified() => {}
                _ = wakeups.changed() => {}
                () = self.stopped() => return,
            }
        }
    }

    async fn settle_loop(self: Arc<Self>) {
        let mut inbox = self.inbox.lock().await;
        let mut batch = Vec::with_capacity(SETTLE_BATCH);
        while inbox.recv_many(&mut batch, SETTLE_BATCH).await > 0 {
            let _settling = self.settling.lock().await;
            match self.worker.settle(std::mem::take(&mut batch)).await {
                Ok(attempts) => self.launch(attempts),
                Err(error) => tracing::warn!(%error, "results could not be written; they are sent again"),
            }
            if self.worker.has_backlog() {
                self.tasks_due.notify_one();
            }
        }
    }

    async fn beat_loop(self: Arc<Self>) {
        let mut cancels = self.process.world.wakeups().cancels;
        let beat = duration(self.process.config.beat);
        let mut next = tokio::time::Instant::now() + beat;
        loop {
            // Until a fixed moment: news that concern nobody here must not put the heartbeat off again and again.
            tokio::select! {
                () = tokio::time::sleep_until(next) => {}
                _ = cancels.changed() => {
                    if self.worker.running() == 0 {
                        continue;
                    }
                }
            }
            next = tokio::time::Instant::now() + beat;
            if let Err(error) = self.worker.beat(false).await {
                if self.gives_up(&error) {
                    return;
                }
                tracing::warn!(%error, "heartbeat failed; trying again");
                next = tokio::time::Instant::now() + beat / 5;
            }
        }
    }

    /// Starts attempts, each in a task of its own: one that blocks or panics harms no other.
    fn launch(self: &Arc<Self>, attempts: Vec<Attempt>) {
        for attempt in attempts {
            let now = Instant::now();
            let (task, context) = (attempt.task.clone(), attempt.context.clone());
            let driver = self.clone();
            let handle = tokio::spawn(async move {
                let result = attempt.perform(&driver.worker).await;
                if attempt.context.end() {
                    let _ = driver.results.send(Finished { task: attempt.task, result });
                }
            });
            let left = task.deadline_at.map(|deadline| duration(deadline.since(self.process.time.now())));
            let deadline_at = left.and_then(|left| now.checked_add(left));
            // A length no clock can add is no limit.
            let timeout_at = now.checked_add(duration(task.options.timeout));
            let watched = Watched {
                timeout_at,
                deadline_at,
                beats: 0,
                beat_at: now,
                cancelled_at: None,
                task,
                context,
                handle,
            };
            self.lock_watched().push(watched);
        }
    }

    /// Ends attempts that take too long, stopped telling of themselves, or ignore a cancellation.
    async fn watch_loop(self: Arc<Self>) {
        loop {
            tokio::time::sleep(WATCH_EVERY).await;
            let now = Instant::now();
            let grace = duration(self.process.config.grace);
            let mut over = Vec::new();
            self.lock_watched().retain_mut(|watched| {
                if watched.handle.is_finished() {
                    return false;
                }
                match watched.verdict(now, grace) {
                    None => true,
                    Some(failure) => {
                        watched.handle.abort();
                        if watched.context.end() {
                            over.push(Finished { task: watched.task.clone(), result: Err(failure) });
                        }
                        false
                    }
                }
            });
            for finished in over {
                let _ = self.results.send(finished);
            }
        }
    }

    fn lock_watched(&self) -> std::sync::MutexGuard<'_, Vec<Watched>> {
        self.watched.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Watched {
    /// Why this attempt must end now, if it must.
    fn verdict(&mut self, now: Instant, grace: Duration) -> Option<Failure> {
        let beats = self.context.beats();
        if beats != self.beats {
            self.beats = beats;
            self.beat_at = now;
        }
        if self.context.cancellation().is_some() {
            let since = *self.cancelled_at.get_or_insert(now);
            let lost = self.context.cancellation() == Some(Cancellation::Lost);
            if lost || now.duration_since(since) >= grace {
                return Some(Failure::cancelled("the handler did not stop in time"));
            }
        }
        if self.deadline_at.is_some_and(|deadline| now >= deadline) {
            let message = "the task's deadline passed while an attempt was running";
            return Some(Failure::permanent(codes::DEADLINE_EXCEEDED, message));
        }
        if self.timeout_at.is_some_and(|timeout| now >= timeout) {
            let message = format!("the attempt took longer than {}", self.task.options.timeout);
            return Some(Failure::new(codes::TIMEOUT, message));
        }
        let silent_for = self.task.options.heartbeat_timeout?;
        if now.duration_since(self.beat_at) >= duration(silent_for) {
            let message = format!("no heartbeat for {silent_for}");
            return Some(Failure::new(codes::HEARTBEAT_TIMEOUT, message));
        }
        None
    }
}

/// Waits until a run has ended and gives its picture.
pub async fn wait_for_run(client: &Client, run: &RunId) -> Result<Picture, EngineError> {
    let mut wakeups = client.world().wakeups().runs;
    let mut pause = Duration::from_millis(2);
    loop {
        let picture = client.picture(run).await?;
        if picture.summary.status.is_final() {
            return Ok(picture);
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_millis(250)),
            _ = wakeups.changed() => {}
        }
    }
}

/// Waits until a standalone task has ended.
pub async fn wait_for_task(client: &Client, task: &TaskId) -> Result<TaskSummary, EngineError> {
    let mut pause = Duration::from_millis(2);
    loop {
        let found = client.world().task(client.tenant(), task).await?;
        let summary = found.ok_or_else(|| EngineError::UnknownTask(task.to_string()))?;
        if matches!(summary.state, TaskState::Completed | TaskState::Failed | TaskState::Cancelled) {
            return Ok(summary);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

/// Full-jitter exponential waits between tries.
#[derive(Default)]
struct Backoff(u32);

impl Backoff {
    fn reset(&mut self) {
        self.0 = 0;
    }

    fn next(&mut self) -> Duration {
        self.0 = (self.0 + 1).min(6);
        let most = 50u64 << self.0;
        // Any spread will do here; the low digits of the clock are at hand.
        let spread = u64::from(
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap_or_default()
                .subsec_nanos(),
        );
        Duration::from_millis(20 + spread % most)
    }
}

fn duration(length: Millis) -> Duration {
    Duration::from_millis(length.as_u64())
}

/// An output, for callers that only want that.
pub fn output_of(picture: Picture) -> Result<Payload, Failure> {
    match (picture.output, picture.failure) {
        (Some(output), _) => Ok(output),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(Failure::new(codes::FAILED, "the run has no output")),
    }
}
