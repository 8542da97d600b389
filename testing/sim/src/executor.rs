//! A single-threaded executor on virtual time. The dice choose which ready future is polled next. Time moves
//! only when no future is ready. Each future belongs to an owner, which can be stopped and killed.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::BoxFuture;

use crate::dice::Dice;

/// Process that a future belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub u32);

/// Owner of everything that cannot die: the network, the nemesis, the caretaker.
pub const NOBODY: Owner = Owner(0);

/// Handle for all code that runs in the simulation.
#[derive(Clone)]
pub struct Kernel(Arc<Mutex<Inner>>);

struct Inner {
    /// Milliseconds since the simulation began.
    now: u64,
    numbers: u64,
    sleepers: BTreeMap<(u64, u64), Waker>,
    spawned: Vec<(u64, Owner, BoxFuture<'static, ()>)>,
    aborted: Vec<u64>,
    killed: Vec<Owner>,
    dead: BTreeSet<Owner>,
    stopped: BTreeSet<Owner>,
}

/// The ready queue, shared with wakers.
#[derive(Default)]
struct Ready(Mutex<BTreeSet<u64>>);

struct Alarm {
    future: u64,
    ready: Arc<Ready>,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        self.ready.lock().insert(self.future);
    }
}

impl Ready {
    fn lock(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kernel {
    pub fn now(&self) -> u64 {
        self.lock().now
    }

    pub fn spawn(&self, owner: Owner, future: BoxFuture<'static, ()>) -> u64 {
        let mut inner = self.lock();
        inner.numbers += 1;
        let number = inner.numbers;
        inner.spawned.push((number, owner, future));
        number
    }

    pub fn sleep(&self, millis: u64) -> Sleep {
        let at = self.now().saturating_add(millis);
        Sleep { kernel: self.clone(), at, asleep: None }
    }

    pub fn abort(&self, future: u64) {
        self.lock().aborted.push(future);
    }

    /// Drops all futures of the owner for good.
    pub fn kill(&self, owner: Owner) {
        let mut inner = self.lock();
        inner.killed.push(owner);
        inner.dead.insert(owner);
        inner.stopped.remove(&owner);
    }

    pub fn is_dead(&self, owner: Owner) -> bool {
        self.lock().dead.contains(&owner)
    }

    /// Stops polling the owner's futures until `let_go`.
    pub fn stop(&self, owner: Owner) {
        self.lock().stopped.insert(owner);
    }

    pub fn let_go(&self, owner: Owner) {
        self.lock().stopped.remove(&owner);
    }

    pub fn is_stopped(&self, owner: Owner) -> bool {
        self.lock().stopped.contains(&owner)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Resolves when virtual time reaches `at`.
pub struct Sleep {
    kernel: Kernel,
    at: u64,
    asleep: Option<(u64, u64)>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let kernel = self.kernel.clone();
        let mut inner = kernel.lock();
        if inner.now >= self.at {
            return Poll::Ready(());
        }
        let place = match self.asleep {
            Some(place) => place,
            None => {
                inner.numbers += 1;
                (self.at, inner.numbers)
            }
        };
        inner.sleepers.insert(place, context.waker().clone());
        self.asleep = Some(place);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(place) = self.asleep {
            self.kernel.lock().sleepers.remove(&place);
        }
    }
}

/// Owns the futures and polls them.
pub struct Executor {
    kernel: Kernel,
    ready: Arc<Ready>,
    futures: BTreeMap<u64, (Owner, BoxFuture<'static, ()>)>,
    dice: Dice,
    /// Polls since virtual time last moved.
    polls: u64,
}

/// Number of polls in one virtual instant that counts as a livelock. Busy simulations need a few thousand.
const POLLS_PER_INSTANT: u64 = 300_000;

/// Reason the executor stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The caller's condition holds.
    Done,
    /// Virtual time reached the limit.
    TimeUp,
    /// No future is ready and none sleeps.
    Silence,
    /// A future panicked; its owner and the panic message.
    Panicked(Owner, String),
    /// Virtual time no longer moves.
    Livelock,
}

impl Executor {
    pub fn new(dice: Dice) -> Self {
        let inner = Inner {
            now: 0,
            numbers: 0,
            sleepers: BTreeMap::new(),
            spawned: Vec::new(),
            aborted: Vec::new(),
            killed: Vec::new(),
            dead: BTreeSet::new(),
            stopped: BTreeSet::new(),
        };
        let kernel = Kernel(Arc::new(Mutex::new(inner)));
        Self { kernel, ready: Arc::default(), futures: BTreeMap::new(), dice, polls: 0 }
    }

    pub fn kernel(&self) -> Kernel {
        self.kernel.clone()
    }

    /// Polls until `done` returns true or virtual time reaches `until`.
    pub fn run(&mut self, until: u64, mut done: impl FnMut() -> bool) -> Rest {
        loop {
            self.take_orders();
            if done() {
                return Rest::Done;
            }
            match self.choose() {
                Some(number) => {
                    self.polls += 1;
                    if self.polls > POLLS_PER_INSTANT {
                        return Rest::Livelock;
                    }
                    if let Err(panicked) = self.poll(number) {
                        return panicked;
                    }
                }
                None => match self.pass_time(until) {
                    None => {}
                    Some(rest) => return rest,
                },
            }
        }
    }

    /// Applies the spawns, aborts and kills requested since the last poll.
    fn take_orders(&mut self) {
        let (spawned, aborted, killed, dead) = {
            let mut inner = self.kernel.lock();
            let dead = if inner.spawned.is_empty() { BTreeSet::new() } else { inner.dead.clone() };
            (
                std::mem::take(&mut inner.spawned),
                std::mem::take(&mut inner.aborted),
                std::mem::take(&mut inner.killed),
                dead,
            )
        };
        for (number, owner, future) in spawned {
            if !dead.contains(&owner) {
                self.futures.insert(number, (owner, future));
                self.ready.lock().insert(number);
            }
        }
        for number in aborted {
            self.futures.remove(&number);
        }
        for owner in killed {
            // Futures are dropped after the iteration: their destructors may call the kernel.
            let gone: Vec<u64> =
                self.futures.iter().filter(|(_, of)| of.0 == owner).map(|(n, _)| *n).collect();
            for number in gone {
                drop(self.futures.remove(&number));
            }
        }
    }

    /// Chooses one of the ready futures whose owner is not stopped.
    fn choose(&mut self) -> Option<u64> {
        let mut ready = self.ready.lock();
        let inner = self.kernel.lock();
        ready.retain(|number| self.futures.contains_key(number));
        let may_run = |number: &&u64| !inner.stopped.contains(&self.futures[*number].0);
        let choice: Vec<u64> = ready.iter().filter(may_run).copied().collect();
        if choice.is_empty() {
            return None;
        }
        let number = *self.dice.pick(&choice);
        ready.remove(&number);
        Some(number)
    }

    fn poll(&mut self, number: u64) -> Result<(), Rest> {
        let Some((owner, future)) = self.futures.get_mut(&number) else { return Ok(()) };
        let waker = Waker::from(Arc::new(Alarm { future: number, ready: self.ready.clone() }));
        let mut context = Context::from_waker(&waker);
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut context))) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(())) => drop(self.futures.remove(&number)),
            Err(panic) => return Err(Rest::Panicked(*owner, panic_text(&*panic))),
        }
        Ok(())
    }

    /// Moves virtual time to the next sleeper.
    fn pass_time(&mut self, until: u64) -> Option<Rest> {
        let woken: Vec<Waker> = {
            let mut inner = self.kernel.lock();
            let Some(((next, _), _)) = inner.sleepers.first_key_value() else { return Some(Rest::Silence) };
            let next = *next;
            if next > until {
                inner.now = inner.now.max(until);
                return Some(Rest::TimeUp);
            }
            inner.now = inner.now.max(next);
            self.polls = 0;
            let later = inner.sleepers.split_off(&(next + 1, 0));
            std::mem::replace(&mut inner.sleepers, later).into_values().collect()
        };
        woken.into_iter().for_each(Waker::wake);
        None
    }
}

/// Returns the message of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

impl Drop for Executor {
    fn drop(&mut self) {
        // Futures hold handles on the kernel and the kernel may hold futures; drop both to break the cycle.
        while let Some((_, future)) = self.futures.pop_first() {
            drop(future);
        }
        self.take_orders();
        while let Some((_, future)) = self.futures.pop_first() {
            drop(future);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn executor() -> Executor {
        Executor::new(Dice::new(1, "test"))
    }

    #[test]
    fn a_future_that_panics_stops_the_wheel_and_is_named() {
        let mut executor = executor();
        let kernel = executor.kernel();
        kernel.spawn(
            Owner(7),
            Box::pin(async {
                std::panic::resume_unwind(Box::new("so it goes"));
            }),
        );
        assert_eq!(executor.run(10, || false), Rest::Panicked(Owner(7), "so it goes".into()));
    }

    #[test]
    fn futures_that_wake_each_other_for_ever_are_noticed() {
        let mut executor = executor();
        let circling = std::future::poll_fn(|context| {
            context.waker().wake_by_ref();
            Poll::<()>::Pending
        });
        executor.kernel().spawn(NOBODY, Box::pin(circling));
        assert_eq!(executor.run(10, || false), Rest::Livelock);
    }

    #[test]
    fn whoever_sleeps_uses_up_no_patience() {
        let mut executor = executor();
        let kernel = executor.kernel();
        kernel.clone().spawn(
            NOBODY,
            Box::pin(async move {
                for _ in 0..POLLS_PER_INSTANT + 10 {
                    kernel.sleep(1).await;
                }
            }),
        );
        assert_eq!(executor.run(u64::MAX, || false), Rest::Silence);
    }
}
