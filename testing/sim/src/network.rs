//! What lies between the processes and the world: requests and replies that take time, get lost, come twice or
//! late, and wake-ups that may do the same. Everything that reaches the world passes here, and is shown to the
//! checkers.

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

/// A request that is not answered comes back as unavailable after this time.
const PATIENCE_MS: u64 = 5_000;
/// How late is late.
const LATE_MS: u64 = 40_000;

pub struct Network {
    pub kernel: Kernel,
    pub trace: Trace,
    pub checks: Mutex<Checks>,
    faults: Mutex<Faults>,
    pub dice: Mutex<Dice>,
    outage_until: Mutex<u64>,
    /// What the world itself says; absent when every write is taken for a wake-up (worlds with threads of their
    /// own would make this a matter of luck).
    hints: Mutex<Option<Wakeups>>,
    /// Workers listen; clients do not.
    seats: Mutex<BTreeMap<Owner, Arc<WakeupSenders>>>,
    workers: Mutex<BTreeSet<Owner>>,
    luck: Mutex<Luck>,
    pub formers: Mutex<Formers>,
    pub stored: Stored,
    /// Where the futures of real worlds are waited for.
    runtime: Option<tokio::runtime::Handle>,
}

/// One kind of request.
pub struct Call<R, T> {
    pub name: &'static str,
    pub writes: bool,
    pub apply: for<'a> fn(&'a dyn World, R) -> BoxFuture<'a, WorldResult<T>>,
    pub shown: for<'a> fn(&'a R, &'a T) -> Option<Applied<'a>>,
    /// The ids it is about, for those who read of its misfortunes.
    pub names: fn(&R) -> String,
}

/// How often something befell an owner that may have cost it its claims, or befell all.
#[derive(Default)]
pub struct Luck {
    own: BTreeMap<Owner, u64>,
    all: u64,
    /// When it was last.
    last: BTreeMap<Owner, u64>,
    /// Requests of each owner that are late or lost right now.
    astray: BTreeMap<Owner, u64>,
    /// Who is dead, stands still, or is about to leave: how many reasons there are.
    out: BTreeMap<Owner, u64>,
    /// How far the world's clock is behind virtual time: now, and the least it ever was.
    lag: Option<(i64, i64)>,
}

/// What counters that go wrong make of the world's time at most: processes take an answer two seconds behind their own
/// time for a late one, and go two in a hundred wrong while they hear nothing.
const COUNTED_AHEAD: Millis = Millis(4_000);

impl Luck {
    /// Whether something is wrong with an owner right now.
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

    /// What the world's clock showed at a moment of virtual time.
    pub fn clock_shows(&mut self, world: Timestamp, virtual_ms: u64) {
        let lag = i64::try_from(virtual_ms).unwrap_or(i64::MAX).saturating_sub(world.millis());
        self.lag = Some((lag, self.lag.map_or(lag, |(_, least)| least.min(lag))));
    }

    /// By how much a process can be ahead of the world's time: it may have learnt it at any moment before and counted on,
    /// while the world's clock was set back and time stood still there.
    pub fn ahead(&self) -> Millis {
        let stood_still = self.lag.map_or(0, |(lag, least)| lag - least);
        Millis(u64::try_from(stood_still).unwrap_or_default() + COUNTED_AHEAD.as_u64())
    }

    pub fn misfortunes(&self, owner: Owner) -> u64 {
        self.all + self.own.get(&owner).copied().unwrap_or_default()
    }

    /// When something last befell an owner, or all.
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

/// What will happen to one request.
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

    /// Requests are waited for in this runtime.
    pub fn with_runtime(self, runtime: tokio::runtime::Handle) -> Self {
        Self { runtime: Some(runtime), ..self }
    }

    /// Wake-ups are those of the world.
    pub fn listen(&self, hints: Wakeups) {
        *lock(&self.hints) = Some(hints);
    }

    /// Whether it is to happen; whoever makes it happen calls [`Self::strike`].
    pub fn draws(&self, fault: Fault) -> bool {
        lock(&self.faults).draws(fault)
    }

    /// A fault happens now, to one owner or to all.
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

    /// Whoever stood still moves again.
    pub fn wakes_up(&self, owner: Owner) {
        self.befalls(owner);
        lock(&self.luck).is_back(owner);
    }

    /// What was drawn for now happens at once.
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

    /// Something is wrong that no checker of requests can see.
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

    /// Sends a request on its way and waits for what comes back.
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
        // What people ask for sets something as it should be now; coming again much later it means something else.
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
        // A reply to the dead cannot get lost.
        if journey.reply_lost && !self.kernel.is_dead(owner) {
            self.strike(owner, Fault::LostReply, || name(&request));
            self.astray(owner, PATIENCE_MS).await;
            return Err(unavailable("the reply got lost"));
        }
        answer
    }

    /// Nobody dies twice.
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

    /// So long nobody hears of a request.
    async fn astray(&self, owner: Owner, time_ms: u64) {
        lock(&self.luck).goes_astray(owner);
        self.kernel.sleep(time_ms).await;
        self.befalls(owner);
        lock(&self.luck).is_found(owner);
    }

    /// The request reaches the world.
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
                // Only in memory clocks jump; real worlds take their time to tell theirs.
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
                // What workers ask for can always be done, except that a run may have ended before they tell its history
                // something. Operators may ask for what cannot.
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

    /// Whether anything may go wrong here.
    pub fn has_faults(&self) -> bool {
        lock(&self.faults).are_any()
    }

    /// Waits for a world. The in-memory one never makes anybody wait.
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

/// A request by its kind and what it is about.
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
