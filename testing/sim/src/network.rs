//! The connection between the processes and the world. Requests, replies and wake-ups take time and may be
//! lost, doubled or late. Everything that reaches the world passes here and is shown to the checkers.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rhythm_core::{Millis, Timestamp};
use rhythm_engine::world::{Hint, WakeupSenders, Wakeups, World, WorldError, WorldResult};
use tokio::sync::oneshot;

use crate::checks::{Applied, Checks, Moment, Objection};
use crate::collector::Stored;
use crate::dice::Dice;
use crate::executor::{Kernel, NOBODY, Owner};
use crate::faults::{Fault, Faults};
use crate::stale_release::Formers;
use crate::trace::Trace;

/// Time after which an unanswered request fails as unavailable.
const PATIENCE_MS: u64 = 5_000;
/// Largest delay of a late request or reply.
const LATE_MS: u64 = 40_000;

pub struct Network {
    pub kernel: Kernel,
    pub trace: Trace,
    pub checks: Mutex<Checks>,
    faults: Mutex<Faults>,
    pub dice: Mutex<Dice>,
    outage_until: Mutex<u64>,
    /// Wake-ups of the world. None when every write is taken for a wake-up: worlds with threads of their own
    /// would send them at random moments.
    hints: Mutex<Option<Wakeups>>,
    /// Wake-up senders of workers. Clients do not listen.
    seats: Mutex<BTreeMap<Owner, Arc<WakeupSenders>>>,
    workers: Mutex<BTreeSet<Owner>>,
    luck: Mutex<Luck>,
    pub formers: Mutex<Formers>,
    pub stored: Stored,
    /// Runtime on which futures of real worlds are awaited.
    runtime: Option<tokio::runtime::Handle>,
}

/// One kind of request.
pub struct Call<R, T> {
    pub name: &'static str,
    pub writes: bool,
    pub apply: for<'a> fn(&'a dyn World, R) -> BoxFuture<'a, WorldResult<T>>,
    pub shown: for<'a> fn(&'a R, &'a T) -> Option<Applied<'a>>,
    /// Returns the ids the request is about, for trace lines about its faults.
    pub names: fn(&R) -> String,
}

/// Faults that may have cost an owner its claims, counted per owner and for all owners.
#[derive(Default)]
pub struct Luck {
    own: BTreeMap<Owner, u64>,
    all: u64,
    /// Virtual time of the last one.
    last: BTreeMap<Owner, u64>,
    /// Number of requests of each owner that are late or lost now.
    astray: BTreeMap<Owner, u64>,
    /// Number of reasons why an owner is out of action: dead, stopped or shutting down.
    out: BTreeMap<Owner, u64>,
    /// Lag of the world's clock behind virtual time: the current one and the smallest one so far.
    lag: Option<(i64, i64)>,
}

/// Largest error a drifting counter adds to a process's idea of world time. A process takes an answer 2 s
/// behind its own time for a late one, and drifts by up to 2 % while it gets no answers.
const COUNTED_AHEAD: Millis = Millis(4_000);

impl Luck {
    /// Returns whether something is wrong with an owner now.
    pub fn is_in_trouble(&self, owner: Owner) -> bool {
        [&self.out, &self.astray].iter().any(|reasons| reasons.get(&owner).is_some_and(|count| *count > 0))
    }

    fn goes_out(&mut self, owner: Owner) {
        *self.out.entry(owner).or_default() += 1;
    }

    fn is_back(&mut self, owner: Owner) {
        if let Some(count) = self.out.get_mut(&owner) {
            *count -= 1;
        }
    }

    fn goes_astray(&mut self, owner: Owner) {
        *self.astray.entry(owner).or_default() += 1;
    }

    fn is_found(&mut self, owner: Owner) {
        if let Some(count) = self.astray.get_mut(&owner) {
            *count -= 1;
        }
    }

    /// Records the world time at a moment of virtual time.
    pub fn clock_shows(&mut self, world: Timestamp, virtual_ms: u64) {
        let lag = i64::try_from(virtual_ms).unwrap_or(i64::MAX).saturating_sub(world.millis());
        self.lag = Some((lag, self.lag.map_or(lag, |(_, least)| least.min(lag))));
    }

    /// Returns how far a process can be ahead of world time. It may have read the time at any earlier moment
    /// and counted on while the world's clock was set back and stood still.
    pub fn ahead(&self) -> Millis {
        let stood_still = self.lag.map_or(0, |(lag, least)| lag - least);
        Millis(u64::try_from(stood_still).unwrap_or_default() + COUNTED_AHEAD.as_u64())
    }

    pub fn misfortunes(&self, owner: Owner) -> u64 {
        self.all + self.own.get(&owner).copied().unwrap_or_default()
    }

    /// Returns the virtual time of the last fault of an owner, or of all owners.
    pub fn last(&self, owner: Owner) -> Option<u64> {
        self.last.get(&owner).max(self.last.get(&NOBODY)).copied()
    }

    pub fn befalls(&mut self, owner: Owner, now: u64) {
        self.last.insert(owner, now);
        match owner {
            NOBODY => self.all += 1,
            owner => *self.own.entry(owner).or_default() += 1,
        }
    }
}

impl<R, T> Clone for Call<R, T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R, T> Copy for Call<R, T> {}

/// Faults and delays drawn for one request.
struct Journey {
    there_ms: u64,
    late_there: bool,
    back_ms: u64,
    late_back: bool,
    lost: bool,
    reply_lost: bool,
    again_after_ms: Option<u64>,
    crash: Option<Fault>,
}

impl Network {
    pub fn new(kernel: Kernel, trace: Trace, faults: Faults, dice: Dice, checks: Checks) -> Self {
        Self {
            kernel,
            trace,
            checks: Mutex::new(checks),
            faults: Mutex::new(faults),
            dice: Mutex::new(dice),
            outage_until: Mutex::new(0),
            hints: Mutex::new(None),
            seats: Mutex::default(),
            workers: Mutex::default(),
            luck: Mutex::default(),
            formers: Mutex::default(),
            stored: Stored::default(),
            runtime: None,
        }
    }

    /// Awaits requests on this runtime.
    pub fn with_runtime(self, runtime: tokio::runtime::Handle) -> Self {
        Self { runtime: Some(runtime), ..self }
    }

    /// Forwards the wake-ups of the world.
    pub fn listen(&self, hints: Wakeups) {
        *lock(&self.hints) = Some(hints);
    }

    /// Draws whether a fault is to happen. The caller calls [`Self::strike`] when it happens.
    pub fn draws(&self, fault: Fault) -> bool {
        lock(&self.faults).draws(fault)
    }

    /// Records that a fault happens now, to one owner or to all.
    pub fn strike(&self, owner: Owner, fault: Fault, detail: impl FnOnce() -> String) {
        lock(&self.faults).count(fault);
        self.trace.strike(owner, fault, detail);
        if fault.endangers_claims() {
            self.befalls(owner);
        }
        if fault.removes() {
            lock(&self.luck).goes_out(owner);
        }
    }

    /// Records that a stopped owner runs again.
    pub fn wakes_up(&self, owner: Owner) {
        self.befalls(owner);
        lock(&self.luck).is_back(owner);
    }

    /// Draws a fault that happens at once, if drawn.
    pub fn strikes(&self, owner: Owner, fault: Fault, detail: impl FnOnce() -> String) -> bool {
        let struck = self.draws(fault);
        if struck {
            self.strike(owner, fault, detail);
        }
        struck
    }

    pub fn befalls(&self, owner: Owner) {
        lock(&self.luck).befalls(owner, self.kernel.now());
    }

    /// Reports an error that no checker of requests can see.
    pub fn object(&self, check: &'static str, objection: Objection) {
        lock(&self.checks).object(check, objection);
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub fn join(&self, owner: Owner, wakeups: Arc<WakeupSenders>) {
        lock(&self.seats).insert(owner, wakeups);
        lock(&self.workers).insert(owner);
    }

    pub fn leave(&self, owner: Owner) {
        lock(&self.seats).remove(&owner);
    }

    pub fn fail_until(&self, moment: u64) {
        *lock(&self.outage_until) = moment;
    }

    /// Sends a request and waits for its reply.
    pub async fn call<R, T>(
        self: &Arc<Self>,
        owner: Owner,
        world: Arc<dyn World>,
        call: Call<R, T>,
        request: R,
    ) -> WorldResult<T>
    where
        R: Clone + Debug + Send + Sync + 'static,
        T: Debug + Send + 'static,
    {
        // An operator's request describes a state that is wanted now. A copy that arrives much later would
        // undo newer requests, so it is never doubled.
        let by_people = call.name == "control" && !lock(&self.workers).contains(&owner);
        let journey = self.plan(call.writes, call.writes && !by_people);
        if journey.crash == Some(Fault::CrashBeforeWrite) {
            self.strike(owner, Fault::CrashBeforeWrite, || called(&call, &request));
            self.kernel.kill(owner);
            return std::future::pending().await;
        }
        let (answer, answered) = oneshot::channel();
        let network = self.clone();
        let travel = async move {
            let reply = network.travel(owner, world, call, request, journey).await;
            let _ = answer.send(reply);
        };
        self.kernel.spawn(NOBODY, Box::pin(travel));
        answered.await.unwrap_or_else(|_| Err(unavailable("the connection was closed")))
    }

    fn plan(&self, writes: bool, doubles: bool) -> Journey {
        let mut faults = lock(&self.faults);
        let mut dice = lock(&self.dice);
        if faults.is_calm() {
            return Journey {
                there_ms: 0,
                late_there: false,
                back_ms: 0,
                late_back: false,
                lost: false,
                reply_lost: false,
                again_after_ms: None,
                crash: None,
            };
        }
        let mut far = |faults: &mut Faults| match faults.draws(Fault::Late) {
            true => (dice.skewed(LATE_MS), true),
            false => (dice.skewed(20), false),
        };
        let ((there_ms, late_there), (back_ms, late_back)) = (far(&mut faults), far(&mut faults));
        let mut crash = None;
        if writes {
            let moments = [Fault::CrashBeforeWrite, Fault::CrashDuringWrite, Fault::CrashAfterWrite];
            crash = moments.into_iter().find(|moment| faults.draws(*moment));
        }
        let again = doubles && faults.draws(Fault::Doubled);
        Journey {
            there_ms,
            late_there,
            back_ms,
            late_back,
            lost: faults.draws(Fault::LostRequest),
            reply_lost: faults.draws(Fault::LostReply),
            again_after_ms: again.then(|| dice.skewed(LATE_MS)),
            crash,
        }
    }

    async fn travel<R, T>(
        self: &Arc<Self>,
        owner: Owner,
        world: Arc<dyn World>,
        call: Call<R, T>,
        request: R,
        journey: Journey,
    ) -> WorldResult<T>
    where
        R: Clone + Debug + Send + Sync + 'static,
        T: Debug + Send + 'static,
    {
        let name = |request: &R| called(&call, request);
        self.dies(owner, &journey, Fault::CrashDuringWrite, || name(&request));
        self.on_the_way(owner, journey.there_ms, journey.late_there, || name(&request)).await;
        if journey.lost {
            self.strike(owner, Fault::LostRequest, || name(&request));
            self.astray(owner, PATIENCE_MS).await;
            return Err(unavailable("the request got lost"));
        }
        if self.kernel.now() < *lock(&self.outage_until) {
            self.trace.mark(owner, "meets the outage", || name(&request));
            self.befalls(owner);
            return Err(unavailable("the world is away"));
        }
        let answer = self.apply(owner, &*world, call, request.clone());
        self.dies(owner, &journey, Fault::CrashAfterWrite, || name(&request));
        if let Some(after) = journey.again_after_ms {
            let (network, request) = (self.clone(), request.clone());
            let again = async move {
                network.kernel.sleep(after).await;
                network.strike(owner, Fault::Doubled, || called(&call, &request));
                let _ = network.apply(owner, &*world, call, request);
            };
            self.kernel.spawn(NOBODY, Box::pin(again));
        }
        self.on_the_way(owner, journey.back_ms, journey.late_back, || format!("reply of {}", name(&request)))
            .await;
        // A dead process gets no reply, so none can be lost.
        if journey.reply_lost && !self.kernel.is_dead(owner) {
            self.strike(owner, Fault::LostReply, || name(&request));
            self.astray(owner, PATIENCE_MS).await;
            return Err(unavailable("the reply got lost"));
        }
        answer
    }

    /// Kills the owner if the plan says so and it is not dead yet.
    fn dies(&self, owner: Owner, journey: &Journey, when: Fault, name: impl FnOnce() -> String) {
        if journey.crash == Some(when) && !self.kernel.is_dead(owner) {
            self.strike(owner, when, name);
            self.kernel.kill(owner);
        }
    }

    async fn on_the_way(&self, owner: Owner, time_ms: u64, late: bool, name: impl FnOnce() -> String) {
        if late {
            self.strike(owner, Fault::Late, || format!("by {time_ms} ms, {}", name()));
            self.astray(owner, time_ms).await;
        } else {
            self.kernel.sleep(time_ms).await;
        }
    }

    /// Waits while a request is lost or late, and counts it as a fault of its owner.
    async fn astray(&self, owner: Owner, time_ms: u64) {
        lock(&self.luck).goes_astray(owner);
        self.kernel.sleep(time_ms).await;
        self.befalls(owner);
        lock(&self.luck).is_found(owner);
    }

    /// Applies the request to the world and shows it to the checkers.
    pub fn apply<R, T>(
        self: &Arc<Self>,
        owner: Owner,
        world: &dyn World,
        call: Call<R, T>,
        request: R,
    ) -> WorldResult<T>
    where
        R: Clone + Debug,
        T: Debug,
    {
        let answer = self.wait((call.apply)(world, request.clone()));
        let content: &dyn Debug = &(&request, &answer);
        match &answer {
            Ok(given) => {
                let applied = (call.shown)(&request, given);
                self.trace.note(owner, call.name, content, || {
                    applied.as_ref().map(Applied::show).unwrap_or_default()
                });
                // Clocks jump only on the in-memory world, and reading the time of a real world takes long.
                if applied.is_some() || self.runtime.is_none() {
                    let now = self.wait(world.now()).unwrap_or_default();
                    let mut luck = lock(&self.luck);
                    luck.clock_shows(now, self.kernel.now());
                    let moment = Moment { now, owner, luck: &luck, virtual_ms: self.kernel.now() };
                    if let Some(applied) = applied {
                        lock(&self.checks).applied(&applied, &moment);
                    }
                }
            }
            Err(error) => {
                self.trace.note(owner, call.name, content, || error.to_string());
                // Workers' requests can always be served, with one exception: a run may end before a worker
                // annotates its history. Operators may ask for the impossible.
                let is_late = matches!(error, WorldError::Conflict(_))
                    && (call.names)(&request).starts_with("Annotate ");
                if !error.is_passing() && !is_late && lock(&self.workers).contains(&owner) {
                    let what = format!("{} was answered with: {error}", called(&call, &request));
                    self.object("errors", Objection::general(what));
                }
            }
        }
        let makes_work =
            !matches!(call.name, "claim_runs" | "claim_tasks" | "extend" | "upkeep" | "put_blob");
        self.spread_hints(call.writes && makes_work);
        answer
    }

    /// Returns whether any fault is possible in this simulation.
    pub fn has_faults(&self) -> bool {
        lock(&self.faults).are_any()
    }

    /// Blocks on a world's future. The in-memory world is always ready at once.
    pub fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        match &self.runtime {
            Some(runtime) => runtime.block_on(future),
            None => future.now_or_never().expect("the in-memory world answers at once"),
        }
    }

    fn spread_hints(self: &Arc<Self>, makes_work: bool) {
        let hint = match lock(&self.hints).as_mut() {
            Some(wakeups) => Hint {
                runs: news(&mut wakeups.runs),
                tasks: news(&mut wakeups.tasks),
                cancels: news(&mut wakeups.cancels),
            },
            None if makes_work => Hint::ALL,
            None => Hint::default(),
        };
        if hint.is_empty() {
            return;
        }
        let seats: Vec<(Owner, Arc<WakeupSenders>)> =
            lock(&self.seats).iter().map(|(owner, seat)| (*owner, seat.clone())).collect();
        for (owner, seat) in seats {
            if self.strikes(owner, Fault::LostWakeup, String::new) {
                continue;
            }
            if self.strikes(owner, Fault::LateWakeup, String::new) {
                self.wake_later(seat.clone(), hint);
            } else {
                seat.send(hint);
            }
            if self.draws(Fault::DoubledWakeup) {
                self.strike(owner, Fault::DoubledWakeup, String::new);
                self.wake_later(seat, hint);
            }
        }
    }

    fn wake_later(self: &Arc<Self>, seat: Arc<WakeupSenders>, hint: Hint) {
        let (kernel, after) = (self.kernel.clone(), lock(&self.dice).skewed(LATE_MS) + 1);
        let later = async move {
            kernel.sleep(after).await;
            seat.send(hint);
        };
        self.kernel.spawn(NOBODY, Box::pin(later));
    }
}

/// Returns the name of a request with the ids it is about.
fn called<R, T>(call: &Call<R, T>, request: &R) -> String {
    format!("{} {}", call.name, (call.names)(request)).trim_end().to_owned()
}

fn news(counter: &mut tokio::sync::watch::Receiver<u64>) -> bool {
    let changed = counter.has_changed().unwrap_or(false);
    counter.mark_unchanged();
    changed
}

fn unavailable(why: &str) -> WorldError {
    WorldError::Unavailable(why.to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
