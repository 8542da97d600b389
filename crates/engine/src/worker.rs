//! Does tasks: claims them, hands out attempts and reports their results. If the row of the task's run is
//! cached here, the worker steps the run itself and commits result, transition and next task together (the
//! fused commit). Driven from outside; it never spawns, sleeps or reads a clock.

mod context;
mod handler;
mod report;
mod running;
mod slots;
mod timeouts;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::{Millis, RunId, TaskId};

pub use context::{Cancellation, TaskContext};
pub use handler::{Handler, Handlers};
pub use report::{Finished, MAX_PAYLOAD_BYTES, last_word};
pub use slots::Slots;
pub use timeouts::Watch;

use self::running::{Running, RunningTasks};
use crate::process::{Process, Settled};
use crate::world::*;

/// Performs the tasks of one process. It claims no more tasks than it has free slots.
pub struct Worker {
    process: Arc<Process>,
    handlers: Handlers,
    card: WorkerRegistration,
    running: Mutex<RunningTasks>,
    /// Slots that requests in flight may use.
    reserved: Mutex<slots::Reserved>,
    unanswered: Mutex<Option<Unanswered>>,
    /// Slots of tasks that commits without an answer may have claimed.
    owed: Mutex<Vec<slots::Reserved>>,
    /// Rows of runs with tasks running here, as of their last commit seen by this process.
    rows: Mutex<HashMap<RunId, Cached>>,
    /// Results whose answer was lost.
    unfinished: Mutex<Vec<FinishedTask>>,
    /// Results whose large output could not be stored yet.
    unstored: Mutex<Vec<Finished>>,
    /// Whether the worker accepts no new tasks.
    closed: AtomicBool,
    /// Whether tasks may wait in the queues: the last claim got all it asked for, or did not cover all
    /// queues.
    backlog: AtomicBool,
    /// Whether another claim may find tasks at once.
    again: AtomicBool,
    /// Consecutive claims that covered only some queues and got nothing.
    barren: AtomicUsize,
    /// Whether the last claim handed suspects back.
    spared: AtomicBool,
    /// Rotates which queue comes first when there are fewer free slots than queues.
    turn: AtomicUsize,
}

/// A claim to send.
struct Asking<'a> {
    ask: Ask,
    queues: Vec<(String, usize)>,
    slots: Slots<'a>,
}

/// A claim whose answer was lost.
struct Unanswered {
    ask: Ask,
    queues: Vec<(String, usize)>,
    kept: slots::Reserved,
}

struct Cached {
    row: Arc<RunRow>,
    running: usize,
}

/// Since when each run has kept its slot, by the process's own counter.
pub type Turns = HashMap<RunId, u64>;

/// One attempt of a task, ready to be performed.
pub struct Attempt {
    pub task: ClaimedTask,
    pub context: TaskContext,
    pub handler: Arc<dyn Handler>,
}

/// Fairness limit: how long a run may keep a slot for task after task while other tasks wait.
const TURN: Millis = Millis(1_000);

/// From this delivery on, an attempt is suspected of crashing its workers.
const SUSPECT: u32 = 3;

/// Keeps at most one suspect and returns the others separately. Tasks lost together would otherwise be
/// claimed together again and again, and all would end as poison although only one crashes the workers.
fn apart(tasks: Vec<ClaimedTask>) -> (Vec<ClaimedTask>, Vec<ClaimedTask>) {
    let mut kept = false;
    tasks.into_iter().partition(|task| task.delivery < SUSPECT || !std::mem::replace(&mut kept, true))
}

fn released(task: &ClaimedTask) -> FinishedTask {
    let (task, claim) = (task.id.clone(), task.claim);
    FinishedTask { task, claim, outcome: TaskOutcome::Released, message: None }
}

impl Worker {
    /// Creates a worker with these handlers. `host` and `pid` are shown to operators.
    pub fn new(process: Arc<Process>, handlers: Handlers, host: String, pid: u32) -> Self {
        let config = &process.config;
        let card = WorkerRegistration {
            id: config.worker.clone(),
            host,
            pid,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            queues: config.queues.iter().map(|(queue, _)| queue.clone()).collect(),
            tasks: handlers.names(),
            kinds: process.programs.kinds(),
            workflows: Vec::new(),
            concurrency: u32::try_from(config.concurrency).unwrap_or(u32::MAX),
            silence: config.silence,
        };
        Self {
            process,
            handlers,
            card,
            running: Mutex::default(),
            reserved: Mutex::default(),
            unanswered: Mutex::default(),
            owed: Mutex::default(),
            rows: Mutex::default(),
            unfinished: Mutex::default(),
            unstored: Mutex::default(),
            closed: AtomicBool::new(false),
            backlog: AtomicBool::new(false),
            again: AtomicBool::new(false),
            barren: AtomicUsize::new(0),
            spared: AtomicBool::new(false),
            turn: AtomicUsize::new(0),
        }
    }

    /// Number of attempts in progress.
    pub fn running(&self) -> usize {
        self.lock_running().len()
    }

    /// Stops accepting new tasks; running ones may finish.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// Returns the free slots.
    pub fn slots(&self) -> Slots<'_> {
        if self.closed.load(Ordering::SeqCst) { Slots::own(self) } else { Slots::all(self) }
    }

    /// Free slots for tasks about to be created. While tasks wait in the queues, only slots freed by the same
    /// commit.
    pub fn slots_for_new(&self) -> Slots<'_> {
        let waits = self.has_backlog() || self.closed.load(Ordering::SeqCst);
        if waits { Slots::own(self) } else { Slots::growing(self) }
    }

    /// Claims as many tasks as there are free slots. Fails if the world fails; the claim is repeated by the
    /// next call.
    pub async fn tick(&self) -> WorldResult<Vec<Attempt>> {
        let Asking { ask, queues, slots } = self.asking();
        if queues.is_empty() || self.handlers.is_empty() {
            // `backlog` makes the driver claim again when a slot is free.
            self.backlog.store(!self.handlers.is_empty(), Ordering::SeqCst);
            self.again.store(false, Ordering::SeqCst);
            self.spared.store(false, Ordering::SeqCst);
            return Ok(Vec::new());
        }
        let asked = queues.clone();
        let config = &self.process.config;
        let claim = ClaimTasks {
            tenant: config.tenant.clone(),
            worker: config.worker.clone(),
            queues,
            names: self.handlers.names(),
            of: config.only.clone(),
            hold: config.hold,
            with_runs: true,
            overdue: false,
            ask,
        };
        let asked_at = self.process.time.own_millis();
        let claimed = match self.process.world.claim_tasks(claim).await {
            Ok(claimed) => claimed,
            Err(error) => {
                if error.is_passing() {
                    // The claim may have been written: repeating the call returns what it claimed. Its slots
                    // stay reserved until then.
                    let ask = Ask { again: true, ..ask };
                    *self.lock_unanswered() = Some(Unanswered { ask, queues: asked, kept: slots.keep() });
                }
                return Err(error);
            }
        };
        self.process.time.observe(claimed.at, asked_at);
        let got = |queue: &str| claimed.tasks.iter().filter(|task| task.options.queue == queue).count();
        let more = asked.iter().any(|(queue, limit)| got(queue) >= *limit);
        let all_asked = asked.len() == self.process.config.queues.len();
        let barren = match claimed.tasks.is_empty() && !all_asked {
            true => self.barren.fetch_add(1, Ordering::SeqCst) + 1,
            false => {
                self.barren.store(0, Ordering::SeqCst);
                0
            }
        };
        let (tasks, spared) = apart(claimed.tasks);
        self.backlog.store(more || !all_asked || !spared.is_empty(), Ordering::SeqCst);
        // With fewer slots than queues, the claims rotate through the queues.
        let others = !all_asked && barren < self.process.config.queues.len();
        self.again.store(more || others || !spared.is_empty(), Ordering::SeqCst);
        self.spared.store(!spared.is_empty(), Ordering::SeqCst);
        if !spared.is_empty() {
            // Hand them back before the suspect starts, or a crash would count as a lost delivery of theirs
            // too. The suspect is already claimed here, so it does not wait for an unreachable world.
            if let Err(error) = self.finish(spared.iter().map(released).collect()).await {
                tracing::warn!(%error, "suspects could not be handed back yet");
            }
        }
        Ok(self.accept(tasks, claimed.runs, &Turns::new()))
    }

    /// Returns the next claim: one without an answer is repeated first.
    fn asking(&self) -> Asking<'_> {
        if let Some(Unanswered { ask, queues, kept }) = self.lock_unanswered().take() {
            return Asking { ask, queues, slots: Slots::keeping(self, kept) };
        }
        let slots = self.slots();
        let queues = slots.wanted(self.turn.fetch_add(1, Ordering::Relaxed));
        Asking { ask: self.process.ask(), queues, slots }
    }

    /// Returns whether the last claim handed suspects back: the next claim should not follow at once.
    pub fn has_spared(&self) -> bool {
        self.spared.load(Ordering::SeqCst)
    }

    /// Returns whether another claim may find tasks at once, if there is a free slot.
    pub fn asks_again(&self) -> bool {
        self.again.load(Ordering::SeqCst)
    }

    /// Returns whether the last claim may have left tasks in the queues.
    pub fn has_backlog(&self) -> bool {
        self.backlog.load(Ordering::SeqCst)
    }

    /// Whether at least one task could be claimed now.
    pub fn has_room(&self) -> bool {
        !self.slots().wanted(0).is_empty()
    }

    /// Turns claimed tasks into attempts and caches the rows of their runs for fused commits. `turns` holds
    /// when a run got its slot, for runs that already had one.
    fn accept(&self, tasks: Vec<ClaimedTask>, rows: Vec<RunRow>, turns: &Turns) -> Vec<Attempt> {
        let now = self.process.time.own_millis();
        let mut running = self.lock_running();
        let mut cache = self.lock_rows();
        let known: Vec<RunId> = rows.iter().map(|row| row.id.clone()).collect();
        for row in rows {
            match cache.get_mut(&row.id) {
                Some(cached) if cached.row.revision > row.revision => {}
                Some(cached) => cached.row = Arc::new(row),
                None => drop(cache.insert(row.id.clone(), Cached { row: Arc::new(row), running: 0 })),
            }
        }
        let mut attempts = Vec::with_capacity(tasks.len());
        for mut task in tasks {
            let Some(handler) = self.handlers.get(&task.name) else { continue };
            if let Some(defaults) = self.handlers.defaults(&task.name) {
                task.options.fall_back_on(defaults);
            }
            let context = TaskContext::new(&task);
            let run = task.run.as_ref().map(|(run, _)| run.clone());
            if let Some(cached) = run.as_ref().and_then(|run| cache.get_mut(run)) {
                cached.running += 1;
            }
            let (claim, queue) = (task.claim, task.options.queue.clone());
            let turn = run.as_ref().and_then(|run| turns.get(run)).copied().unwrap_or(now);
            running.insert(task.id.clone(), Running { claim, queue, run, turn, context: context.clone() });
            attempts.push(Attempt { task, context, handler });
        }
        for run in known {
            if cache.get(&run).is_some_and(|cached| cached.running == 0) {
                cache.remove(&run);
            }
        }
        attempts
    }

    /// Removes an ended attempt; its run's row stays cached only while other tasks of the run are running
    /// here. Does nothing if the task was claimed again since: then only the old claim is over.
    fn forget(&self, task: &TaskId, claim: u64) {
        let mut running = self.lock_running();
        if running.get(task).is_none_or(|known| known.claim != claim) {
            return;
        }
        let Some(over) = running.remove(task) else { return };
        drop(running);
        let Some(run) = over.run else { return };
        let mut cache = self.lock_rows();
        if let Some(cached) = cache.get_mut(&run) {
            cached.running = cached.running.saturating_sub(1);
            if cached.running == 0 {
                cache.remove(&run);
            }
        }
    }

    /// Resends commits without an answer and applies their results.
    pub async fn resend_commits(&self) -> WorldResult<Vec<Attempt>> {
        if !self.process.has_unsettled() {
            return Ok(Vec::new());
        }
        let settled = self.process.resend().await?;
        let attempts = self.absorb(settled, &Turns::new()).await;
        if !self.process.has_unsettled() {
            self.give_room_back();
        }
        Ok(attempts)
    }

    /// Applies commit results: claimed tasks become attempts, results of stale commits go through the inbox.
    pub async fn absorb(&self, settled: Vec<Settled>, turns: &Turns) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        let mut fallen_back = Vec::new();
        for outcome in settled {
            match outcome {
                Settled::Done { row, claimed } => {
                    attempts.extend(self.accept(claimed, row.into_iter().map(|row| *row).collect(), turns));
                }
                Settled::Stale { run, finished } => {
                    self.lock_rows().remove(&run);
                    fallen_back.extend(finished);
                }
            }
        }
        if let Err(error) = self.finish(fallen_back).await {
            tracing::warn!(%error, "results could not be written; they are sent again");
        }
        attempts
    }

    /// Sends a heartbeat: renews claims, sends progress, applies cancellations. Fails if the world fails.
    pub async fn beat(&self, leaving: bool) -> WorldResult<()> {
        let mut tasks: Vec<Beat> = self
            .lock_running()
            .iter()
            .map(|(task, running)| Beat {
                claim: TaskClaim { task: task.clone(), claim: running.claim },
                progress: running.context.take_progress(),
            })
            .collect();
        if leaving {
            // The rest was handed back, or is freed with the worker's registration.
            tasks.clear();
        }
        let sent: BTreeMap<TaskId, u64> =
            tasks.iter().map(|beat| (beat.claim.task.clone(), beat.claim.claim)).collect();
        let asked_at = self.process.time.own_millis();
        let extended = self
            .process
            .world
            .extend(Extend {
                tenant: self.process.config.tenant.clone(),
                card: self.card.clone(),
                running: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
                hold: self.process.config.hold,
                tasks,
                leaving,
            })
            .await?;
        self.process.time.observe(extended.at, asked_at);
        let running = self.lock_running();
        let told = |tasks: Vec<TaskId>, reason: Cancellation| {
            for task in tasks {
                // The answer is about the claim that was sent, not about a newer one.
                let same = running.get(&task).filter(|now| sent.get(&task) == Some(&now.claim));
                if let Some(running) = same {
                    running.context.cancel(reason);
                }
            }
        };
        told(extended.lost, Cancellation::Lost);
        told(extended.cancelled, Cancellation::Requested);
        Ok(())
    }

    /// Hands running tasks back: they become ready for other workers at once.
    pub async fn hand_back(&self) -> WorldResult<usize> {
        let claims: Vec<FinishedTask> = self
            .lock_running()
            .iter()
            .map(|(task, running)| FinishedTask {
                task: task.clone(),
                claim: running.claim,
                outcome: TaskOutcome::Released,
                message: None,
            })
            .collect();
        let count = claims.len();
        if count > 0 {
            self.finish(claims).await?;
        }
        Ok(count)
    }

    /// Asks all running attempts to stop.
    pub fn cancel_all(&self, reason: Cancellation) {
        for (_, running) in self.lock_running().iter() {
            running.context.cancel(reason);
        }
    }

    fn lock_running(&self) -> MutexGuard<'_, RunningTasks> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves the slots of tasks that a commit without an answer may have claimed.
    pub fn keep_room(&self, slots: Slots<'_>) {
        let taken = slots.keep_taken();
        self.owed.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
    }

    /// Releases those slots, once all commits have their answers.
    pub fn give_room_back(&self) {
        let owed = std::mem::take(&mut *self.owed.lock().unwrap_or_else(PoisonError::into_inner));
        owed.iter().for_each(|taken| self.lock_reserved().give_back(taken));
    }

    /// Lock order: [`Self::lock_running`] comes first.
    fn lock_reserved(&self) -> MutexGuard<'_, slots::Reserved> {
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_unanswered(&self) -> MutexGuard<'_, Option<Unanswered>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_rows(&self) -> MutexGuard<'_, HashMap<RunId, Cached>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
