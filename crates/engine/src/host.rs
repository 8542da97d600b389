//! The runtime below a process: spawns, sleeps and gives random numbers. In production it is Tokio; in the
//! simulator one seed decides all three.

use futures_util::future::BoxFuture;
use rhythm_core::Millis;

/// The runtime a [`Driver`](crate::drive::Driver) uses.
pub trait Host: Send + Sync {
    fn spawn(&self, future: BoxFuture<'static, ()>) -> Box<dyn Spawned>;

    fn sleep(&self, time: Millis) -> BoxFuture<'static, ()>;

    /// Returns a random number below `limit`, which spreads the attempts of many processes.
    fn spread(&self, limit: u64) -> u64;
}

/// A spawned task. Dropping this does not stop it.
pub trait Spawned: Send {
    fn abort(&self);

    /// Resolves when the task has ended or was aborted.
    fn ended(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// The tokio runtime of the caller.
pub struct Tokio;

impl Host for Tokio {
    fn spawn(&self, future: BoxFuture<'static, ()>) -> Box<dyn Spawned> {
        Box::new(tokio::spawn(future))
    }

    fn sleep(&self, time: Millis) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(time.as_u64())))
    }

    fn spread(&self, limit: u64) -> u64 {
        // Any spread will do; the clock's nanoseconds are enough.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        u64::from(now.unwrap_or_default().subsec_nanos()) % limit.max(1)
    }
}

impl Spawned for tokio::task::JoinHandle<()> {
    fn abort(&self) {
        tokio::task::JoinHandle::abort(self);
    }

    fn ended(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let _ = self.await;
        })
    }
}
