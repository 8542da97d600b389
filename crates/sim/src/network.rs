//! What lies between the processes and the world: requests and replies that take time, get lost, come twice or
//! late, and wake-ups that may do the same. Everything that reaches the world passes here, and is shown to the
//! checkers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rhythm_engine::world::{Hint, WakeupSenders, Wakeups, World, WorldError, WorldResult};
use tokio::sync::oneshot;

use crate::checks::{Applied, Checks};
use crate::dice::Dice;
use crate::faults::{Fault, Faults};
use crate::kernel::{Kernel, NOBODY, Owner};
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
    dice: Mutex<Dice>,
    outage_until: Mutex<u64>,
    /// What the world itself says; absent when every write is taken for a wake-up (worlds with threads of their
    /// own would make this a matter of luck).
    hints: Mutex<Option<Wakeups>>,
    seats: Mutex<BTreeMap<Owner, Arc<WakeupSenders>>>,
    /// Where the futures of real worlds are waited for.
    runtime: Option<tokio::runtime::Handle>,
}

/// One kind of request.
pub struct Call<R, T> {
    pub name: &'static str,
    pub writes: bool,
    pub apply: for<'a> fn(&'a dyn World, R) -> BoxFuture<'a, WorldResult<T>>,
    pub shown: for<'a> fn(&'a R, &'a T) -> Option<Applied<'a>>,
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
    back_ms: u64,
    lost: bool,
    reply_lost: bool,
    again_after_ms: Option<u64>,
    crash: Option<Fault>,
}

impl Network {
    pub fn new(kernel: Kernel, trace: Trace, faults: Faults, dice: Dice) -> Self {
        Self {
            kernel,
            trace,
            checks: Mutex::new(Checks::default()),
            faults: Mutex::new(faults),
            dice: Mutex::new(dice),
            outage_until: Mutex::new(0),
            hints: Mutex::new(None),
            seats: Mutex::default(),
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

    pub fn strikes(&self, fault: Fault) -> bool {
        lock(&self.faults).strikes(fault)
    }

    pub fn faults(&self) -> MutexGuard<'_, Faults> {
        lock(&self.faults)
    }

    pub fn join(&self, owner: Owner, wakeups: Arc<WakeupSenders>) {
        lock(&self.seats).insert(owner, wakeups);
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
        R: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        // Operators' requests set something as it should be now; coming again much later they mean something else.
        let journey = self.plan(call.writes, call.writes && call.name != "control");
        if journey.crash == Some(Fault::CrashBeforeWrite) {
            self.trace.note(owner, "dies before", 0, || call.name.to_owned());
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
                back_ms: 0,
                lost: false,
                reply_lost: false,
                again_after_ms: None,
                crash: None,
            };
        }
        let mut far = |faults: &mut Faults| match faults.strikes(Fault::Late) {
            true => dice.skewed(LATE_MS),
            false => dice.skewed(20),
        };
        let (there_ms, back_ms) = (far(&mut faults), far(&mut faults));
        let mut crash = None;
        if writes {
            let moments = [Fault::CrashBeforeWrite, Fault::CrashDuringWrite, Fault::CrashAfterWrite];
            crash = moments.into_iter().find(|moment| faults.strikes(*moment));
        }
        let again = doubles && faults.strikes(Fault::Doubled);
        Journey {
            there_ms,
            back_ms,
            lost: faults.strikes(Fault::LostRequest),
            reply_lost: faults.strikes(Fault::LostReply),
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
        R: Clone + Send + Sync + 'static,
        T: Send + 'static,
    {
        if journey.crash == Some(Fault::CrashDuringWrite) {
            self.trace.note(owner, "dies during", 0, || call.name.to_owned());
            self.kernel.kill(owner);
        }
        self.kernel.sleep(journey.there_ms).await;
        if journey.lost {
            self.trace.note(owner, "request lost", 0, || call.name.to_owned());
            self.kernel.sleep(PATIENCE_MS).await;
            return Err(unavailable("the request got lost"));
        }
        if self.kernel.now() < *lock(&self.outage_until) {
            self.trace.note(owner, "unavailable", 0, || call.name.to_owned());
            return Err(unavailable("the world is away"));
        }
        let answer = self.apply(owner, &*world, call, request.clone());
        if journey.crash == Some(Fault::CrashAfterWrite) {
            self.trace.note(owner, "dies after", 0, || call.name.to_owned());
            self.kernel.kill(owner);
        }
        if let Some(after) = journey.again_after_ms {
            let network = self.clone();
            let again = async move {
                network.kernel.sleep(after).await;
                network.trace.note(owner, "once more", 0, || call.name.to_owned());
                let _ = network.apply(owner, &*world, call, request);
            };
            self.kernel.spawn(NOBODY, Box::pin(again));
        }
        self.kernel.sleep(journey.back_ms).await;
        if journey.reply_lost {
            self.trace.note(owner, "reply lost", 0, || call.name.to_owned());
            self.kernel.sleep(PATIENCE_MS).await;
            return Err(unavailable("the reply got lost"));
        }
        answer
    }

    /// The request reaches the world.
    fn apply<R: Clone, T>(
        self: &Arc<Self>,
        owner: Owner,
        world: &dyn World,
        call: Call<R, T>,
        request: R,
    ) -> WorldResult<T> {
        let answer = self.wait((call.apply)(world, request.clone()));
        let code = match &answer {
            Ok(_) => 0,
            Err(error) => error.code().len() as u64 + 1,
        };
        match &answer {
            Ok(given) => {
                let applied = (call.shown)(&request, given);
                self.trace
                    .note(owner, call.name, code, || applied.as_ref().map(Applied::show).unwrap_or_default());
                if let Some(applied) = applied {
                    let now = self.wait(world.now()).unwrap_or_default();
                    lock(&self.checks).applied(&applied, now);
                }
            }
            Err(error) => self.trace.note(owner, call.name, code, || error.to_string()),
        }
        let makes_work =
            !matches!(call.name, "claim_runs" | "claim_tasks" | "extend" | "upkeep" | "put_blob");
        self.spread_hints(call.writes && makes_work);
        answer
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
        for seat in lock(&self.seats).values() {
            let mut faults = lock(&self.faults);
            if faults.strikes(Fault::LostWakeup) {
                continue;
            }
            let late = faults.strikes(Fault::LateWakeup);
            if faults.strikes(Fault::DoubledWakeup) {
                seat.send(hint);
            }
            drop(faults);
            if !late {
                seat.send(hint);
                continue;
            }
            let (kernel, seat) = (self.kernel.clone(), seat.clone());
            let after = lock(&self.dice).skewed(LATE_MS);
            let later = async move {
                kernel.sleep(after).await;
                seat.send(hint);
            };
            self.kernel.spawn(NOBODY, Box::pin(later));
        }
    }
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
