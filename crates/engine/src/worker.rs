//! Does tasks: claims them, hands out attempts, and settles what they came to. An attempt whose run is known
//! here steps the run itself and commits result, transition and the next task in one go (the fused commit).
//! Driven from outside; it never spawns, sleeps or looks at a clock.

mod context;
mod handler;
mod running;
mod settle;
mod slots;
mod watch;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::{Millis, RunId, TaskId};

pub use context::{Cancellation, TaskContext};
pub use handler::{Handler, Handlers};
pub use settle::{Finished, MAX_PAYLOAD_BYTES, last_word};
pub use slots::Slots;
pub use watch::Watch;

use self::running::{Running, RunningTasks};
use crate::process::{Process, Settled};
use crate::world::*;

pub struct Worker {
    process: Arc<Process>,
    handlers: Handlers,
    card: WorkerCard,
    running: Mutex<RunningTasks>,
    /// Room that requests on their way may use.
    reserved: Mutex<slots::Reserved>,
    unanswered: Mutex<Option<Unanswered>>,
    /// Room of tasks that commits without an answer may have claimed.
    owed: Mutex<Vec<slots::Reserved>>,
    /// Runs some of whose tasks run here, as this process last saw them.
    rows: Mutex<HashMap<RunId, Cached>>,
    /// Results whose answer did not come.
    unfinished: Mutex<Vec<FinishedTask>>,
    /// Results whose large output could not be stored yet.
    unstored: Mutex<Vec<Finished>>,
    /// Takes on nothing new.
    closed: AtomicBool,
    /// Something may wait in the queues: the last claim got all it asked for, or did not ask all of them.
    backlog: AtomicBool,
    /// Another claim may find something at once.
    again: AtomicBool,
    /// Claims in a row that asked some of the queues and got nothing.
    barren: AtomicUsize,
    /// The last claim handed suspects back.
    spared: AtomicBool,
    /// Which queue comes first when room is scarce.
    turn: AtomicUsize,
}

/// A claim about to be made.
struct Asking<'a> {
    ask: Ask,
    queues: Vec<(String, usize)>,
    slots: Slots<'a>,
}

/// A claim whose answer did not come.
struct Unanswered {
    ask: Ask,
    queues: Vec<(String, usize)>,
    kept: slots::Reserved,
}

struct Cached {
    row: Arc<RunRow>,
    running: usize,
}

/// Since when runs have had their room here.
pub type Turns = HashMap<RunId, u64>;

/// One try of a task, ready to be performed.
pub struct Attempt {
    pub task: ClaimedTask,
    pub context: TaskContext,
    pub handler: Arc<dyn Handler>,
}

/// So long a run may go on from task to task in the same room while others wait for any.
const TURN: Millis = Millis(1_000);

/// An attempt handed out so often may be what kills its workers.
const SUSPECT: u32 = 3;

/// Keeps one suspect at most: tasks that were lost together would be claimed together again and again, and all of
/// them would end as poison although one of them kills the workers.
fn apart(tasks: Vec<ClaimedTask>) -> (Vec<ClaimedTask>, Vec<ClaimedTask>) {
    let mut kept = false;
    tasks.into_iter().partition(|task| task.delivery < SUSPECT || !std::mem::replace(&mut kept, true))
}

fn released(task: &ClaimedTask) -> FinishedTask {
    let (task, claim) = (task.id.clone(), task.claim);
    FinishedTask { task, claim, outcome: TaskOutcome::Released, message: None }
}

impl Worker {
    pub fn new(process: Arc<Process>, handlers: Handlers, host: String, pid: u32) -> Self {
        let config = &process.config;
        let card = WorkerCard {
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

    /// How many attempts are under way.
    pub fn running(&self) -> usize {
        self.lock_running().len()
    }

    /// From now on nothing new is taken on; what runs may finish.
    pub fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
    }

    /// What could be taken on now.
    pub fn slots(&self) -> Slots<'_> {
        if self.closed.load(Ordering::SeqCst) { Slots::own(self) } else { Slots::all(self) }
    }

    /// The same for tasks that are about to be created: those that wait in the queues come first.
    pub fn slots_for_new(&self) -> Slots<'_> {
        let waits = self.has_backlog() || self.closed.load(Ordering::SeqCst);
        if waits { Slots::own(self) } else { Slots::growing(self) }
    }

    /// Claims as many tasks as there is room for.
    pub async fn tick(&self) -> WorldResult<Vec<Attempt>> {
        let Asking { ask, queues, slots } = self.asking();
        if queues.is_empty() || self.handlers.is_empty() {
            // Somebody must look again once there is room.
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
                    // It may have been made: the same call gives what it took, and its room is kept until then.
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
        // With less room than queues each is asked in its turn.
        let others = !all_asked && barren < self.process.config.queues.len();
        self.again.store(more || others || !spared.is_empty(), Ordering::SeqCst);
        self.spared.store(!spared.is_empty(), Ordering::SeqCst);
        if !spared.is_empty() {
            // Before the suspect begins, else they are counted as lost with it. It is held here, so it does not
            // wait for a world that is away.
            if let Err(error) = self.finish(spared.iter().map(released).collect()).await {
                tracing::warn!(%error, "suspects could not be handed back yet");
            }
        }
        Ok(self.accept(tasks, claimed.runs, &Turns::new()))
    }

    /// What to ask for: what got no answer before anything new.
    fn asking(&self) -> Asking<'_> {
        if let Some(Unanswered { ask, queues, kept }) = self.lock_unanswered().take() {
            return Asking { ask, queues, slots: Slots::keeping(self, kept) };
        }
        let slots = self.slots();
        let queues = slots.wanted(self.turn.fetch_add(1, Ordering::Relaxed));
        Asking { ask: self.process.ask(), queues, slots }
    }

    /// Whether the last claim handed suspects back: it should not be repeated at once.
    pub fn has_spared(&self) -> bool {
        self.spared.load(Ordering::SeqCst)
    }

    /// Whether it pays to claim again at once, if there is room.
    pub fn asks_again(&self) -> bool {
        self.again.load(Ordering::SeqCst)
    }

    /// Whether the last claim left tasks in the queues, as far as it could tell.
    pub fn has_backlog(&self) -> bool {
        self.backlog.load(Ordering::SeqCst)
    }

    pub fn has_room(&self) -> bool {
        !self.slots().wanted(0).is_empty()
    }

    /// Tasks this worker holds become attempts; the rows of their runs are kept for fused commits. Those of runs whose
    /// turn began earlier go on with it.
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

    /// The attempt is over; its run is kept only while others of its tasks run here. A task that was lost and taken again
    /// meanwhile goes on: it is the claim that is over.
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

    /// Sends commits again that got no answer, and takes in what they came to.
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

    /// Takes in what commits came to: new attempts to perform, stale results to finish the ordinary way.
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

    /// A heartbeat: renews claims, tells progress, passes cancellations on.
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
            // What is left here was handed back, or is to be freed with the worker.
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
                // The answer is about the claim that was sent, not about one taken meanwhile.
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

    /// Hands back what is still running: it becomes ready for others at once.
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

    /// Asks everything that runs to stop.
    pub fn cancel_all(&self, reason: Cancellation) {
        for (_, running) in self.lock_running().iter() {
            running.context.cancel(reason);
        }
    }

    fn lock_running(&self) -> MutexGuard<'_, RunningTasks> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A commit got no answer: the tasks it may have claimed keep their room until it has one.
    pub fn keep_room(&self, slots: Slots<'_>) {
        let taken = slots.keep_taken();
        self.owed.lock().unwrap_or_else(PoisonError::into_inner).push(taken);
    }

    /// All commits have their answers.
    pub fn give_room_back(&self) {
        let owed = std::mem::take(&mut *self.owed.lock().unwrap_or_else(PoisonError::into_inner));
        owed.iter().for_each(|taken| self.lock_reserved().give_back(taken));
    }

    /// Never before [`Self::lock_running`] is asked for.
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
