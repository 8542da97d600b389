//! Claims ready runs, steps them, commits. Driven from outside, one [`tick`](Engine::tick) at a time; it
//! never spawns, sleeps or reads a clock.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::message::{Actor, Message, MessageBody, Start, TimerFired};
use rhythm_core::{Blobs, Blocked, BlockedCode, CommandId, MessageId, Millis, RunId, TenantId, Timestamp};

use crate::plan::{Built, CommitBuilder, FOLD_AT_MOST};
use crate::process::{PendingItem, Process, Settled};
use crate::programs::Lookup;
use crate::upkeep::warn;
use crate::worker::{Attempt, Slots, Turns, Worker};
use crate::world::*;
use crate::yield_budget::YieldBudget;

/// After this number of claims without a commit, a run is assumed to crash its engines.
const MAX_RUN_DELIVERIES: u32 = 5;
/// Time after which a run whose version is missing here becomes ready again.
const RETRY_VERSION: Millis = Millis::from_secs(10);
/// Time after which a run becomes ready again that could not be stepped because the world failed.
const RETRY_TROUBLE: Millis = Millis::from_secs(1);

/// Steps the runs of one process. A tick claims at most `run_batch` runs and commits them together, so that a
/// single process does not take all work from the others.
pub struct Engine {
    process: Arc<Process>,
    /// Claims new tasks of the runs together with their commit.
    worker: Arc<Worker>,
    /// Claims whose answer was lost.
    unanswered: Mutex<Vec<Ask>>,
    /// Whether the last claim left runs in the queue.
    busy: AtomicBool,
    /// Runs whose history already has a warning that their version is missing.
    warned: Mutex<BTreeSet<RunId>>,
    beginning: tokio::sync::Mutex<()>,
}

/// Result of one tick.
#[derive(Default)]
pub struct Ticked {
    /// Number of runs that were claimed, or woken up without a claim.
    pub runs: usize,
    /// Whether there may be more to claim right now.
    pub more: bool,
    /// Number of runs whose commit was refused because another process had moved them.
    pub stale: usize,
    /// Tasks this process now holds. They must be performed even if `error` is set.
    pub attempts: Vec<Attempt>,
    /// The error that ended the tick early.
    pub error: Option<WorldError>,
}

/// Returns the run and the reason if a run is given back because its version is missing here.
fn without_version(released: &ReleasedRun) -> Option<(RunId, String)> {
    let ReleaseOutcome::Later { blocked: Some(blocked), .. } = &released.outcome else { return None };
    (blocked.code == BlockedCode::NoVersion).then(|| (released.run.clone(), blocked.detail.clone()))
}

enum Verdict {
    Commit(Box<(CommitItem, PendingItem)>),
    Release(ReleasedRun),
}

impl Engine {
    pub fn new(process: Arc<Process>, worker: Arc<Worker>) -> Self {
        let beginning = tokio::sync::Mutex::default();
        let (unanswered, warned) = (Mutex::default(), Mutex::default());
        Self { process, worker, unanswered, busy: AtomicBool::new(true), warned, beginning }
    }

    /// Claims a batch of ready runs and applies their messages.
    pub async fn tick(&self) -> Ticked {
        let mut ticked = Ticked::default();
        ticked.error = self.advance(&mut ticked).await.err();
        ticked
    }

    /// Steps runs whose timers are due, without a claim: the commit fires the timer. Skips the first `skip`
    /// due timers, because other processes may be working on them. These attempts are not counted, so a sweep
    /// must run regularly: it makes the runs claimable, and a run whose steps crash processes is quarantined
    /// by its claim count.
    pub async fn wake(&self, skip: usize, limit: usize) -> Ticked {
        let mut ticked = Ticked::default();
        ticked.error = self.advance_due(&mut ticked, skip, limit).await.err();
        ticked
    }

    async fn advance(&self, ticked: &mut Ticked) -> WorldResult<()> {
        ticked.attempts.extend(self.worker.resend_commits().await?);
        let limit = self.process.config.run_batch;
        let (claimed, again) = self.claim(limit).await?;
        ticked.more = claimed.len() == limit || again;
        self.busy.store(ticked.more, Ordering::SeqCst);
        self.step_all(claimed, ticked).await
    }

    async fn advance_due(&self, ticked: &mut Ticked, skip: usize, limit: usize) -> WorldResult<()> {
        ticked.attempts.extend(self.worker.resend_commits().await?);
        let process = &self.process;
        let request = FindDue {
            tenant: process.config.tenant.clone(),
            kinds: process.programs.kinds(),
            workflows: Vec::new(),
            skip,
            limit,
        };
        let asked = process.time.own_millis();
        let found = process.world.find_due(request).await?;
        process.time.observe(found.at, asked);
        let mut slots = self.worker.slots_for_new();
        let mut commits = Vec::new();
        let mut breath = YieldBudget::new(&process.time);
        for DueRun { run, timer } in found.runs.into_iter().filter(|due| process.config.serves(&due.run.id)) {
            breath.take().await;
            let woken = woken(run, timer, found.at);
            // A run that cannot be stepped here is left to a sweep and to the process that claims it
            // afterwards.
            let stepped = self.step(woken, Fence::Fused, &mut |task| slots.take(task)).await;
            if let Ok(Verdict::Commit(mut commit)) = stepped {
                commit.0.fired.push(timer);
                commits.push(*commit);
            }
        }
        ticked.runs = commits.len();
        self.push(commits, Vec::new(), slots, ticked).await
    }

    /// Also returns whether these are the runs of an earlier call whose answer was lost.
    async fn claim(&self, limit: usize) -> WorldResult<(Vec<ClaimedRun>, bool)> {
        let config = &self.process.config;
        let ask = self.lock_unanswered().pop().unwrap_or_else(|| self.process.ask());
        let claim = ClaimRuns {
            tenant: config.tenant.clone(),
            worker: config.worker.clone(),
            kinds: self.process.programs.kinds(),
            workflows: Vec::new(),
            of: config.only.clone(),
            limit,
            hold: config.hold,
            ask,
        };
        let asked = self.process.time.own_millis();
        let claimed = self.process.world.claim_runs(claim).await;
        if claimed.as_ref().is_err_and(WorldError::is_passing) {
            // The claim may have been written: repeating the call returns what it claimed.
            self.lock_unanswered().push(Ask { again: true, ..ask });
        }
        let claimed = claimed?;
        self.process.time.observe(claimed.at, asked);
        Ok((claimed.runs, ask.again))
    }

    async fn step_all(&self, claimed: Vec<ClaimedRun>, ticked: &mut Ticked) -> WorldResult<()> {
        ticked.runs = claimed.len();
        if claimed.is_empty() {
            return Ok(());
        }
        let (mut commits, mut released) = (Vec::new(), Vec::new());
        let mut slots = self.worker.slots_for_new();
        let mut breath = YieldBudget::new(&self.process.time);
        for run in claimed {
            breath.take().await;
            let (id, claim) = (run.run.id.clone(), run.claim);
            match self.step(run, Fence::Claim(claim), &mut |task| slots.take(task)).await {
                Ok(Verdict::Commit(commit)) => commits.push(*commit),
                Ok(Verdict::Release(release)) => released.push(release),
                // An error with one run must not affect the others of its batch.
                Err(error) => released.push(ReleasedRun { run: id, claim, outcome: self.put_off(&error) }),
            }
        }
        let missing: Vec<(RunId, String)> = released.iter().filter_map(without_version).collect();
        self.push(commits, released, slots, ticked).await?;
        for (run, why) in missing {
            if !self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone()) {
                continue;
            }
            match warn(&self.process, self.process.config.tenant.clone(), run, why).await {
                Ok(()) | Err(WorldError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Commits, and takes the tasks claimed by the commit. Their slots stay reserved until the answer is
    /// known.
    async fn push(
        &self,
        mut commits: Vec<(CommitItem, PendingItem)>,
        released: Vec<ReleasedRun>,
        slots: Slots<'_>,
        ticked: &mut Ticked,
    ) -> WorldResult<()> {
        if commits.is_empty() && released.is_empty() {
            return Ok(());
        }
        // Sorted by run, the order in which worlds write them: new tasks then get the same order everywhere.
        commits.sort_by(|(a, _), (b, _)| a.run.cmp(&b.run));
        let (items, after) = commits.into_iter().unzip();
        let settled = match self.process.push(self.process.batch(items, released, after)).await {
            Ok(settled) => settled,
            Err(error) => {
                self.worker.keep_room(slots);
                return Err(error);
            }
        };
        ticked.stale = settled.iter().filter(|settled| matches!(settled, Settled::Stale { .. })).count();
        ticked.attempts.extend(self.worker.absorb(settled, &Turns::new()).await);
        Ok(())
    }

    /// Creates a run with its first step. Returns `None`, and nothing is written, if this process cannot step
    /// it now or if other work is waiting. Fails if the world fails; the commit may have been written then.
    pub async fn begin(&self, run: &NewRun, if_current: bool) -> WorldResult<Option<Vec<Attempt>>> {
        let process = &self.process;
        let serves = run.delay == Millis::ZERO && process.programs.kinds().contains(&run.kind);
        let idle =
            !self.busy.load(Ordering::SeqCst) && !self.worker.has_backlog() && !process.has_unsettled();
        // One at a time: concurrent starts go through the run queue, where they are claimed as a batch.
        let Ok(_alone) = self.beginning.try_lock() else { return Ok(None) };
        if !serves || !idle {
            return Ok(None);
        }
        let mut slots = self.worker.slots_for_new();
        let claimed = first_claim(run, &process.config.tenant, process.time.now());
        let stepped = self.step(claimed, Fence::Fused, &mut |task| slots.take(task)).await;
        let Ok(Verdict::Commit(commit)) = stepped else { return Ok(None) };
        let (mut item, aftermath) = *commit;
        // A run that does not exist has no other messages.
        item.more = false;
        item.new = Some(Box::new(run.clone()));
        item.if_current = if_current;
        match process.push(process.batch(vec![item], Vec::new(), vec![aftermath])).await {
            Ok(settled) if settled.iter().any(|settled| matches!(settled, Settled::Stale { .. })) => Ok(None),
            Ok(settled) => Ok(Some(self.worker.absorb(settled, &Turns::new()).await)),
            Err(error) => {
                self.worker.keep_room(slots);
                Err(error)
            }
        }
    }

    /// Outcome for a run whose blobs or definition could not be loaded: later if the world failed, else
    /// quarantined.
    fn put_off(&self, error: &WorldError) -> ReleaseOutcome {
        if error.is_passing() {
            return ReleaseOutcome::Later { after: RETRY_TROUBLE, blocked: None };
        }
        tracing::error!(%error, "run quarantined");
        ReleaseOutcome::Aside(self.blocked(BlockedCode::Quarantined, error.to_string()))
    }

    async fn step(
        &self,
        claimed: ClaimedRun,
        fence: Fence,
        claim: &mut (dyn FnMut(&rhythm_core::TaskSpec) -> bool + Send),
    ) -> WorldResult<Verdict> {
        let ClaimedRun { run, claim: number, messages, more, deliveries } = claimed;
        let row = Arc::new(run);
        let release = |outcome| Verdict::Release(ReleasedRun { run: row.id.clone(), claim: number, outcome });
        let aside = |detail: String| {
            tracing::error!(run = %row.id, detail, "run quarantined");
            ReleaseOutcome::Aside(self.blocked(BlockedCode::Quarantined, detail))
        };
        if deliveries > MAX_RUN_DELIVERIES {
            return Ok(release(aside(format!("claimed {deliveries} times without a commit"))));
        }
        let process = &self.process;
        let found = process.programs.load(&*process.world, &row.tenant, &row.workflow, &row.version).await?;
        let program = match found {
            Lookup::Found(program) => program,
            Lookup::Missing | Lookup::Unreadable(_) => {
                let detail = format!("version {} of {} cannot be stepped here", row.version, row.workflow);
                let blocked = Some(self.blocked(BlockedCode::NoVersion, detail));
                return Ok(release(ReleaseOutcome::Later { after: RETRY_VERSION, blocked }));
            }
        };
        let mut blobs = Blobs::new();
        loop {
            let is_long = process.time.is_over(FOLD_AT_MOST);
            let folding = CommitBuilder {
                program: &*program,
                row: &row,
                fence,
                commit: process.commit_id(),
                messages: &messages,
                more,
                now: process.time.now(),
                blobs: &blobs,
                is_long: &is_long,
            };
            match folding.plan(claim) {
                Built::Idle => return Ok(release(ReleaseOutcome::Idle { arrived: row.arrived })),
                Built::Unsteppable(detail) => return Ok(release(aside(detail))),
                Built::NeedBlobs(wanted) => {
                    let mut more = Blobs::new();
                    let loaded = process.load_blobs(&wanted, &mut more).await;
                    if let Err(error) = loaded {
                        let ended =
                            if error.is_passing() { None } else { folding.end_at_once(&error.to_string()) };
                        let Some(ended) = ended else { return Err(error) };
                        return Ok(Verdict::Commit(Box::new(process.prepare(*ended, &row).await?)));
                    }
                    blobs.extend(more);
                }
                Built::Commit(plan) => {
                    let why = "a value that the run refers to is missing";
                    let instead = if plan.item.blobs.is_empty() { None } else { folding.end_at_once(why) };
                    let (item, mut after) = process.prepare(*plan, &row).await?;
                    after.instead = instead.map(|plan| Box::new(plan.item));
                    return Ok(Verdict::Commit(Box::new((item, after))));
                }
            }
        }
    }

    fn lock_unanswered(&self) -> MutexGuard<'_, Vec<Ask>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn blocked(&self, code: BlockedCode, detail: String) -> Blocked {
        Blocked { code, since: self.process.time.now(), detail }
    }
}

/// Returns the run as a claim would, with its timer firing now.
fn woken(run: RunRow, timer: CommandId, now: Timestamp) -> ClaimedRun {
    let message = Message {
        id: MessageId::timer(timer),
        at: now,
        actor: Actor::system(),
        trace: None,
        body: MessageBody::TimerFired(TimerFired { timer }),
    };
    ClaimedRun { run, claim: 0, messages: vec![message], more: false, deliveries: 1 }
}

/// Returns the run as its first claim would, with its start message.
fn first_claim(run: &NewRun, tenant: &TenantId, now: Timestamp) -> ClaimedRun {
    let start = Message {
        id: MessageId::start(),
        at: now,
        actor: run.actor.clone(),
        trace: run.trace.clone(),
        body: MessageBody::Start(Start { input: run.input.clone() }),
    };
    let mut row = run.row(tenant, now);
    // Events of the run must not be earlier than its creation, even if the clock is set back.
    row.state.at = now;
    ClaimedRun { run: row, claim: 0, messages: vec![start], more: false, deliveries: 1 }
}
