//! The only file that spawns, sleeps or selects. Turns the ticks of engine, worker and upkeep into a process
//! that runs until it is stopped. The driver does all of this through its [`Host`], with `biased` selects, so
//! that the simulator can replay it. The functions that wait for a client use tokio directly.

mod patch;
mod rate_limit;
mod result_batcher;

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use rhythm_core::failure::codes;
use rhythm_core::{Failure, Millis, Payload, RunId, TaskId, TenantId};
use tokio::sync::{Notify, mpsc, watch};

pub use self::patch::{Sent, patch_run};
use self::rate_limit::TokenBucket;
use self::result_batcher::{ResultBatcher, runs_of};
use crate::client::{Client, Decide};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::host::{Host, Spawned, Tokio};
use crate::process::Process;
use crate::time::Monotonic;
use crate::upkeep::Upkeep;
use crate::worker::{Attempt, Cancellation, Finished, Watch, Worker};
use crate::world::*;

/// Interval at which running attempts are checked for timeouts.
const WATCH_EVERY: Millis = Millis(100);
/// The shortest pause between two sweeps while timers fall due all the time.
const MIN_SWEEP_PAUSE: Millis = Millis(10);
/// Interval of sweeps while more is due than one sweep takes.
const SWEEP_IN_BURST: Millis = Millis(50);
/// Number of batch positions among which processes that collide on the same due timers spread.
const CONTENTION_SLOTS: u64 = 7;
/// Pause between claims while attempts that may crash their worker are tried one by one.
const SUSPECT_PAUSE: Millis = Millis(100);

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
    /// Starts the graceful shutdown of the process.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// Runs one process: claims, steps, does tasks and upkeep.
pub struct Driver {
    host: Arc<dyn Host>,
    process: Arc<Process>,
    engine: Engine,
    worker: Arc<Worker>,
    upkeep: Upkeep,
    stop: Arc<watch::Sender<bool>>,
    /// The error that made the world unusable.
    broken: OnceLock<WorldError>,
    runs_due: Notify,
    tasks_due: Notify,
    results: mpsc::UnboundedSender<Finished>,
    inbox: tokio::sync::Mutex<mpsc::UnboundedReceiver<Finished>>,
    launched: std::sync::Mutex<Vec<Launched>>,
    /// Held for reading while results are being written: no attempt may be aborted then.
    settling: tokio::sync::RwLock<()>,
}

/// State of a timer burst: more timers are due than one sweep takes.
#[derive(Default)]
struct TimerBurst {
    /// Number of first due timers left to other processes: those that collided move apart.
    skip: usize,
    /// Whether at least a quarter of a batch of due timers could be woken up without a claim.
    wakes_much: bool,
    pace: TokenBucket,
}

/// An attempt under way.
struct Launched {
    watch: Watch,
    handle: Box<dyn Spawned>,
}

impl Driver {
    /// Creates a process on the tokio runtime of the caller.
    pub fn new(process: Arc<Process>, worker: Arc<Worker>) -> Arc<Self> {
        Self::on(Arc::new(Tokio), process, worker)
    }

    /// Creates a process on the given runtime.
    pub fn on(host: Arc<dyn Host>, process: Arc<Process>, worker: Arc<Worker>) -> Arc<Self> {
        let (results, inbox) = mpsc::unbounded_channel();
        Arc::new(Self {
            engine: Engine::new(process.clone(), worker.clone()),
            upkeep: Upkeep::new(process.clone()),
            host,
            process,
            worker,
            stop: Arc::new(watch::channel(false).0),
            broken: OnceLock::new(),
            runs_due: Notify::new(),
            tasks_due: Notify::new(),
            results,
            inbox: tokio::sync::Mutex::new(inbox),
            launched: std::sync::Mutex::default(),
            settling: tokio::sync::RwLock::new(()),
        })
    }

    /// Returns a handle that stops the process.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Runs until stopped, then lets attempts finish for `patience` and hands the rest back. Fails at once
    /// with the world's error if the world broke for good, and if the first heartbeat is refused.
    pub async fn run(self: &Arc<Self>, patience: Duration) -> WorldResult<()> {
        self.announce().await?;
        let loops = [
            self.host.spawn(Box::pin(self.clone().upkeep_loop())),
            self.host.spawn(Box::pin(self.clone().engine_loop())),
            self.host.spawn(Box::pin(self.clone().claim_loop())),
            self.host.spawn(Box::pin(self.clone().settle_loop())),
            self.host.spawn(Box::pin(self.clone().beat_loop())),
            self.host.spawn(Box::pin(self.clone().watch_loop())),
        ];
        self.stopped().await;
        if self.broken.get().is_none() {
            self.wind_down(patience).await;
        }
        let _settled = self.settling.write().await;
        for task in loops {
            task.abort();
            task.ended().await;
        }
        if let Some(error) = self.broken.get() {
            for launched in self.lock_launched().drain(..) {
                launched.handle.abort();
            }
            return Err(error.clone());
        }
        if self.worker.running() > 0 || self.worker.has_unfinished() || self.process.has_unsettled() {
            // A client in this process may have begun a run in between.
            for launched in self.lock_launched().drain(..) {
                launched.handle.abort();
            }
            let _ = self.worker.resend().await;
            // Tasks claimed by such a commit would otherwise be held until their claims expire.
            let _ = self.worker.hand_back().await;
        }
        match self.worker.beat(true).await {
            Err(error) if error.is_passing() => {
                tracing::warn!(%error, "the worker could not say that it leaves; the world will notice");
                Ok(())
            }
            said => said,
        }
    }

    /// Creates a run with its first step, if this process can do that now. Returns `false` if not; nothing
    /// was written then.
    pub async fn begin(
        self: &Arc<Self>,
        tenant: &TenantId,
        run: &NewRun,
        if_current: bool,
    ) -> WorldResult<bool> {
        let _settling = self.settling.read().await;
        if *tenant != self.process.config.tenant || self.is_stopping() {
            return Ok(false);
        }
        let begun = self.engine.begin(run, if_current).await;
        if self.worker.has_backlog() {
            // The start may have reserved slots that a claim wanted.
            self.tasks_due.notify_one();
        }
        let begun = begun?;
        let taken = begun.is_some();
        self.launch(begun.unwrap_or_default());
        Ok(taken)
    }

    /// Sends the first heartbeat, and repeats it while the world is unreachable, so that a start survives a
    /// short outage. Fails with any other error.
    pub async fn announce(&self) -> WorldResult<()> {
        let mut backoff = Backoff::new(&*self.host);
        loop {
            match self.worker.beat(false).await {
                Err(error) if error.is_passing() && !self.is_stopping() => {
                    tracing::warn!(%error, "the worker could not say that it is there; trying again");
                    self.host.sleep(backoff.next()).await;
                }
                said => return said,
            }
        }
    }

    /// Waits for running attempts, then hands back the rest.
    async fn wind_down(&self, patience: Duration) {
        self.worker.close();
        let until = self.own_millis().saturating_add(millis(patience).as_u64());
        while self.worker.running() > 0 && self.own_millis() < until {
            self.host.sleep(Millis(20)).await;
        }
        if self.worker.running() > 0 {
            self.worker.cancel_all(Cancellation::Shutdown);
            self.host.sleep(Millis(100)).await;
            for launched in self.lock_launched().drain(..) {
                launched.handle.abort();
            }
            let _settling = self.settling.write().await;
            match self.worker.hand_back().await {
                Ok(count) => tracing::info!(count, "handed unfinished tasks back"),
                Err(error) => {
                    tracing::warn!(%error, "unfinished tasks could not be handed back; they expire")
                }
            }
        }
    }

    fn own_millis(&self) -> u64 {
        self.process.time.own_millis()
    }

    async fn stopped(&self) {
        let mut stop = self.stop.subscribe();
        let _ = stop.wait_for(|stop| *stop).await;
    }

    /// Returns whether this error ends the process. Nothing can be written any more, so nothing is waited
    /// for.
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
        let mut backoff = Backoff::new(&*self.host);
        let mut storm = TimerBurst::default();
        let mut calm_until = 0;
        loop {
            if self.own_millis() < calm_until && self.wake_short().await {
                self.until_due(self.own_millis().saturating_add(self.next_pause().as_u64())).await;
                continue;
            }
            let began = self.own_millis();
            calm_until = 0;
            let pause = match self.upkeep.tick(storm.wakes_much).await {
                Ok(kept) => {
                    if kept.runs_ready {
                        self.runs_due.notify_one();
                    }
                    if kept.tasks_ready {
                        self.tasks_due.notify_one();
                    }
                    if self.worker.has_unfinished() || self.process.has_unsettled() {
                        self.resend().await;
                    }
                    let pause = match kept.more {
                        true => self.drain_timer_burst(&mut storm).await,
                        false => {
                            storm = TimerBurst::default();
                            calm_until = began.saturating_add(self.process.config.poll.as_u64());
                            Some(self.next_pause())
                        }
                    };
                    if pause.is_some() {
                        backoff.reset();
                    }
                    pause.unwrap_or_else(|| backoff.next())
                }
                Err(error) if self.gives_up(&error) => return,
                Err(_) => backoff.next(),
            };
            self.until_due(self.own_millis().saturating_add(pause.as_u64())).await;
        }
    }

    /// Returns the time until something is due, but at least the minimum pause between sweeps.
    fn next_pause(&self) -> Millis {
        let least = if self.process.agenda.is_short() { Millis(1) } else { MIN_SWEEP_PAUSE };
        self.upkeep.pause().max(least)
    }

    /// Wakes up the runs of short timers, one commit each. Returns whether no sweep is needed: `false` when
    /// no timer was found, or when a commit was stale or failed.
    async fn wake_short(self: &Arc<Self>) -> bool {
        if !self.process.agenda.take_short(self.process.time.now()) {
            return false;
        }
        // The world's clock may be slightly behind the time extrapolated here.
        for _ in 0..3 {
            let settling = self.settling.read().await;
            let woken = self.engine.wake(0, self.upkeep.line()).await;
            self.launch(woken.attempts);
            drop(settling);
            if self.worker.has_backlog() {
                self.tasks_due.notify_one();
            }
            if woken.runs > 0 || woken.error.is_some() {
                return woken.error.is_none() && woken.stale == 0;
            }
            self.host.sleep(Millis(1)).await;
        }
        false
    }

    /// Drains a timer burst: wakes up and commits one batch of runs after the other, at a limited rate, so
    /// that other work gets time in between. Returns regularly for a sweep, which handles everything else,
    /// with the pause before it; `None` if the world failed.
    async fn drain_timer_burst(self: &Arc<Self>, storm: &mut TimerBurst) -> Option<Millis> {
        let until = self.own_millis().saturating_add(SWEEP_IN_BURST.as_u64());
        storm.pace.go_on(self.own_millis());
        storm.wakes_much = false;
        // Colliding processes have moved apart by now. Halving brings this one back to the oldest timers
        // soon.
        storm.skip /= 2;
        while !self.is_stopping() {
            let line = self.upkeep.line();
            let settling = self.settling.read().await;
            let woken = self.engine.wake(storm.skip, line).await;
            self.launch(woken.attempts);
            drop(settling);
            if self.worker.has_backlog() {
                self.tasks_due.notify_one();
            }
            if let Some(error) = &woken.error {
                tracing::warn!(%error, "runs that are due could not be woken up; trying again");
                return None;
            }
            storm.wakes_much = woken.runs * 4 >= line;
            let short = self.process.world.timer_batch_size();
            if woken.stale * 2 > woken.runs {
                storm.skip = short * self.host.spread(CONTENTION_SLOTS) as usize;
            } else if !storm.wakes_much {
                storm.skip = 0;
            }
            // Overdue timers are drained without the rate limit, and those that cannot be woken up wait for
            // the next sweep.
            if storm.wakes_much && line <= short {
                storm.pace.woke(line);
            }
            let pause = storm.pace.pause(self.own_millis());
            if !storm.wakes_much || self.own_millis() >= until {
                return Some(pause);
            }
            self.host.sleep(pause).await;
        }
        Some(MIN_SWEEP_PAUSE)
    }

    /// Sleeps until `wake_at` on the process's own counter, or until something noted in between falls due.
    async fn until_due(&self, wake_at: u64) {
        let mut wake_at = wake_at;
        loop {
            let left = Millis(wake_at.saturating_sub(self.own_millis()));
            tokio::select! {
                biased;
                () = self.host.sleep(left) => return,
                () = self.process.agenda.changed() => {
                    let due = self.next_pause();
                    wake_at = wake_at.min(self.own_millis().saturating_add(due.as_u64()));
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
        let mut backoff = Backoff::new(&*self.host);
        loop {
            let ticked = self.engine.tick().await;
            self.launch(ticked.attempts);
            if self.worker.has_backlog() {
                // The start may have reserved slots that a claim wanted.
                self.tasks_due.notify_one();
            }
            if let Some(error) = ticked.error {
                if self.gives_up(&error) {
                    return;
                }
                tracing::warn!(%error, "runs could not be stepped; trying again");
                self.host.sleep(backoff.next()).await;
                continue;
            }
            backoff.reset();
            if ticked.more {
                continue;
            }
            tokio::select! {
                biased;
                () = self.runs_due.notified() => {}
                _ = wakeups.changed() => {}
                () = self.stopped() => return,
            }
        }
    }

    async fn claim_loop(self: Arc<Self>) {
        let mut wakeups = self.process.world.wakeups().tasks;
        let mut backoff = Backoff::new(&*self.host);
        loop {
            if self.is_stopping() {
                return;
            }
            match self.worker.tick().await {
                Ok(attempts) => {
                    backoff.reset();
                    self.launch(attempts);
                    if self.worker.has_spared() {
                        self.host.sleep(SUSPECT_PAUSE).await;
                    }
                    if self.worker.asks_again() && self.worker.has_room() {
                        continue;
                    }
                }
                Err(error) if self.gives_up(&error) => return,
                Err(error) => {
                    tracing::warn!(%error, "tasks could not be claimed; trying again");
                    self.host.sleep(backoff.next()).await;
                    continue;
                }
            }
            tokio::select! {
                biased;
                () = self.tasks_due.notified() => {}
                _ = wakeups.changed() => {}
                () = self.stopped() => return,
            }
        }
    }

    async fn settle_loop(self: Arc<Self>) {
        let mut inbox = self.inbox.lock().await;
        let sizes = self.process.config.results;
        let mut fresh = Vec::with_capacity(sizes.most);
        let mut line = ResultBatcher::new(sizes);
        let mut under_way = FuturesUnordered::new();
        loop {
            while let Some(batch) = line.next(self.worker.running()) {
                under_way.push(self.settle(batch));
            }
            tokio::select! {
                biased;
                Some(runs) = under_way.next() => line.done(runs),
                count = inbox.recv_many(&mut fresh, sizes.most) => {
                    if count == 0 {
                        return;
                    }
                    line.add(fresh.drain(..));
                }
            }
        }
    }

    /// Writes results. Returns the runs whose results were written, or are kept to be sent again.
    async fn settle(self: &Arc<Self>, batch: Vec<Finished>) -> Vec<RunId> {
        let _settling = self.settling.read().await;
        let runs = runs_of(&batch);
        match self.worker.settle(batch).await {
            Ok(attempts) => self.launch(attempts),
            Err(error) => tracing::warn!(%error, "results could not be written; they are sent again"),
        }
        if self.worker.has_backlog() {
            self.tasks_due.notify_one();
        }
        runs
    }

    async fn beat_loop(self: Arc<Self>) {
        let mut cancels = self.process.world.wakeups().cancels;
        let beat = self.process.config.beat.as_u64();
        let mut next = self.own_millis().saturating_add(beat);
        loop {
            // The heartbeat has a fixed time: wake-ups for other workers must not postpone it again and
            // again.
            tokio::select! {
                biased;
                () = self.host.sleep(Millis(next.saturating_sub(self.own_millis()))) => {}
                _ = cancels.changed() => {
                    if self.worker.running() == 0 {
                        continue;
                    }
                }
            }
            next = self.own_millis().saturating_add(beat);
            if let Err(error) = self.worker.beat(false).await {
                if self.gives_up(&error) {
                    return;
                }
                tracing::warn!(%error, "heartbeat failed; trying again");
                next = self.own_millis().saturating_add(beat / 5);
            }
        }
    }

    /// Starts attempts, each in its own spawned task: one that blocks or panics does not affect the others.
    fn launch(self: &Arc<Self>, attempts: Vec<Attempt>) {
        for attempt in attempts {
            let time = &self.process.time;
            let watch = Watch::new(&attempt, time.own_millis(), time.now());
            let driver = self.clone();
            let handle = self.host.spawn(Box::pin(async move {
                let result = attempt.perform(&driver.worker).await;
                if attempt.context.end() {
                    let _ = driver.results.send(Finished { task: attempt.task, result });
                }
            }));
            self.lock_launched().push(Launched { watch, handle });
        }
    }

    /// Ends attempts that exceed a timeout, stop sending heartbeats, or ignore a cancellation.
    async fn watch_loop(self: Arc<Self>) {
        loop {
            self.host.sleep(WATCH_EVERY).await;
            let now = self.process.time.own_millis();
            let mut over = Vec::new();
            self.lock_launched().retain_mut(|launched| {
                if launched.watch.is_over() {
                    return false;
                }
                let Some(finished) = launched.watch.look(now, self.process.config.grace) else { return true };
                launched.handle.abort();
                over.extend(finished);
                false
            });
            for finished in over {
                let _ = self.results.send(finished);
            }
        }
    }

    fn lock_launched(&self) -> std::sync::MutexGuard<'_, Vec<Launched>> {
        self.launched.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Waits until a run has ended and returns its picture. Fails if there is no such run or the world fails.
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

/// Sends an answer to an approval and waits until its run has consumed it. Returns `None` if that takes
/// longer than `patience`. Fails as [`Client::decide`] and [`Client::verdict`] do.
pub async fn decide(
    client: &Client,
    request: &Decide,
    patience: Duration,
) -> Result<Option<ApprovalRow>, EngineError> {
    client.decide(request).await?;
    let begun = Instant::now();
    let mut pause = Duration::from_millis(2);
    loop {
        if let Some(row) = client.verdict(request).await? {
            return Ok(Some(row));
        }
        let left = patience.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return Ok(None);
        }
        tokio::time::sleep(pause.min(left)).await;
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

/// Waits until a standalone task has ended. Fails if there is no such task or the world fails.
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

/// Full-jitter exponential backoff.
struct Backoff<'a> {
    host: &'a dyn Host,
    tries: u32,
}

impl<'a> Backoff<'a> {
    fn new(host: &'a dyn Host) -> Self {
        Self { host, tries: 0 }
    }

    fn reset(&mut self) {
        self.tries = 0;
    }

    fn next(&mut self) -> Millis {
        self.tries = (self.tries + 1).min(6);
        Millis(20 + self.host.spread(50 << self.tries))
    }
}

fn millis(length: Duration) -> Millis {
    Millis(u64::try_from(length.as_millis()).unwrap_or(u64::MAX))
}

/// Returns the output of a run, or its failure if it has none.
pub fn output_of(picture: Picture) -> Result<Payload, Failure> {
    match (picture.output, picture.failure) {
        (Some(output), _) => Ok(output),
        (None, Some(failure)) => Err(failure),
        (None, None) => Err(Failure::new(codes::FAILED, "the run has no output")),
    }
}
