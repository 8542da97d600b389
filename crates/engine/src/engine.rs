//! Claims ready runs, steps them, commits. Driven from outside one [`tick`](Engine::tick) at a time; it never
//! spawns, sleeps or looks at a clock.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rhythm_core::message::{Actor, Message, MessageBody, Start, TimerFired};
use rhythm_core::{Blobs, Blocked, BlockedCode, CommandId, MessageId, Millis, RunId, TenantId, Timestamp};

use crate::breath::Breath;
use crate::plan::{FOLD_AT_MOST, Folding, Planned};
use crate::process::{Aftermath, Process, Settled};
use crate::programs::Lookup;
use crate::upkeep::warn;
use crate::worker::{Attempt, Slots, Turns, Worker};
use crate::world::*;

/// Claims without a commit after which a run is taken to crash its engines.
const MAX_RUN_DELIVERIES: u32 = 5;
/// A run whose version is missing here is offered again after this time.
const RETRY_VERSION: Millis = Millis::from_secs(10);
/// A run that could not be stepped because the world was in trouble is offered again after this time.
const RETRY_TROUBLE: Millis = Millis::from_secs(1);

pub struct Engine {
    process: Arc<Process>,
    /// Takes tasks at once that the runs ask for.
    worker: Arc<Worker>,
    /// Claims whose answer did not come.
    unanswered: Mutex<Vec<Ask>>,
    /// Runs wait in the queue, as far as the last claim could tell.
    busy: AtomicBool,
    /// Runs whose history says already that their version is missing.
    warned: Mutex<BTreeSet<RunId>>,
    beginning: tokio::sync::Mutex<()>,
}

/// What one tick did.
#[derive(Default)]
pub struct Ticked {
    /// Runs that were claimed, or woken up without a claim.
    pub runs: usize,
    /// There may be more to claim right now.
    pub more: bool,
    /// So many of them somebody else had moved meanwhile.
    pub stale: usize,
    /// Tasks this process now holds. They must be performed whatever else went wrong.
    pub attempts: Vec<Attempt>,
    /// What kept the tick from doing more.
    pub error: Option<WorldError>,
}

/// A run that is given back because nobody here has its version, and why.
fn without_version(released: &ReleasedRun) -> Option<(RunId, String)> {
    let ReleaseOutcome::Later { blocked: Some(blocked), .. } = &released.outcome else { return None };
    (blocked.code == BlockedCode::NoVersion).then(|| (released.run.clone(), blocked.detail.clone()))
}

enum Verdict {
    Commit(Box<(CommitItem, Aftermath)>),
    Release(ReleasedRun),
}

impl Engine {
    pub fn new(process: Arc<Process>, worker: Arc<Worker>) -> Self {
        let beginning = tokio::sync::Mutex::default();
        let (unanswered, warned) = (Mutex::default(), Mutex::default());
        Self { process, worker, unanswered, busy: AtomicBool::new(true), warned, beginning }
    }

    /// Claims a batch of ready runs and moves each as far as its messages go.
    pub async fn tick(&self) -> Ticked {
        let mut ticked = Ticked::default();
        ticked.error = self.advance(&mut ticked).await.err();
        ticked
    }

    /// Wakes up runs whose timers are due, so many behind the first that others may be busy with, and moves them as [`Self::tick`]
    /// does, but without a claim: their timers fire with their commits. Nobody counts how often that was tried, so sweeps must
    /// come first now and then: a run whose steps kill processes is set aside when it is claimed.
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
        let mut breath = Breath::new(&process.time);
        for DueRun { run, timer } in found.runs.into_iter().filter(|due| process.config.serves(&due.run.id)) {
            breath.take().await;
            let woken = woken(run, timer, found.at);
            // What cannot be stepped is left to a sweep, and to whoever claims it then.
            let stepped = self.step(woken, Fence::Fused, &mut |task| slots.take(task)).await;
            if let Ok(Verdict::Commit(mut commit)) = stepped {
                commit.0.fired.push(timer);
                commits.push(*commit);
            }
        }
        ticked.runs = commits.len();
        self.push(commits, Vec::new(), slots, ticked).await
    }

    /// Also says whether this is what an earlier call had claimed.
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
            // It may have been made: the same call gives what it took.
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
        let mut breath = Breath::new(&self.process.time);
        for run in claimed {
            breath.take().await;
            let (id, claim) = (run.run.id.clone(), run.claim);
            match self.step(run, Fence::Claim(claim), &mut |task| slots.take(task)).await {
                Ok(Verdict::Commit(commit)) => commits.push(*commit),
                Ok(Verdict::Release(release)) => released.push(release),
                // Trouble with one run must not touch the others of its batch.
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

    /// Commits, and takes the tasks that were claimed with it: the room for them is kept until then.
    async fn push(
        &self,
        mut commits: Vec<(CommitItem, Aftermath)>,
        released: Vec<ReleasedRun>,
        slots: Slots<'_>,
        ticked: &mut Ticked,
    ) -> WorldResult<()> {
        if commits.is_empty() && released.is_empty() {
            return Ok(());
        }
        // By run, as worlds write them: what the runs ask for then has the same order everywhere.
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

    /// Creates a run with its first step, if it can be stepped here and nobody has to wait for it: `None` when not, and then
    /// nothing was written.
    pub async fn begin(&self, run: &NewRun, if_current: bool) -> WorldResult<Option<Vec<Attempt>>> {
        let process = &self.process;
        let serves = run.delay == Millis::ZERO && process.programs.kinds().contains(&run.kind);
        let idle =
            !self.busy.load(Ordering::SeqCst) && !self.worker.has_backlog() && !process.has_unsettled();
        // One at a time: those beside it go through the queue, where they are taken together.
        let Ok(_alone) = self.beginning.try_lock() else { return Ok(None) };
        if !serves || !idle {
            return Ok(None);
        }
        let mut slots = self.worker.slots_for_new();
        let claimed = first_claim(run, &process.config.tenant, process.time.now());
        let stepped = self.step(claimed, Fence::Fused, &mut |task| slots.take(task)).await;
        let Ok(Verdict::Commit(commit)) = stepped else { return Ok(None) };
        let (mut item, aftermath) = *commit;
        // Nothing can have been sent to a run that does not exist.
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

    /// What becomes of a run whose blobs or definition could not be had.
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
            let folding = Folding {
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
                Planned::Idle => return Ok(release(ReleaseOutcome::Idle { arrived: row.arrived })),
                Planned::Unsteppable(detail) => return Ok(release(aside(detail))),
                Planned::NeedBlobs(wanted) => {
                    let mut more = Blobs::new();
                    let loaded = process.load_blobs(&wanted, &mut more).await;
                    if let Err(error) = loaded {
                        let ended = if error.is_passing() { None } else { folding.end_at_once() };
                        let Some(ended) = ended else { return Err(error) };
                        return Ok(Verdict::Commit(Box::new(process.prepare(*ended, &row).await?)));
                    }
                    blobs.extend(more);
                }
                Planned::Commit(plan) => {
                    let instead = if plan.item.blobs.is_empty() { None } else { folding.end_at_once() };
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

/// A run as a claim would give it whose timer fires at this moment.
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

/// A run as its first claim would give it, at this moment.
fn first_claim(run: &NewRun, tenant: &TenantId, now: Timestamp) -> ClaimedRun {
    let start = Message {
        id: MessageId::start(),
        at: now,
        actor: run.actor.clone(),
        trace: run.trace.clone(),
        body: MessageBody::Start(Start { input: run.input.clone() }),
    };
    let mut row = run.row(tenant, now);
    // What it does comes after its creation, whatever becomes of the clock meanwhile.
    row.state.at = now;
    ClaimedRun { run: row, claim: 0, messages: vec![start], more: false, deliveries: 1 }
}
