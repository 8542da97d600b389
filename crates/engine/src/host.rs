//! What a process runs on: something that spawns, sleeps and spreads waits. Tokio outside; the simulator brings
//! its own, where one seed decides all three.

use futures_util::future::BoxFuture;
use rhythm_core::Millis;

/// The ground a [`Driver`](crate::drive::Driver) stands on.
pub trait Host: Send + Sync {
    fn spawn(&self, future: BoxFuture<'static, ()>) -> Box<dyn Spawned>;

    fn sleep(&self, time: Millis) -> BoxFuture<'static, ()>;

    /// Any number below `limit`; spreads the tries of many processes.
    fn spread(&self, limit: u64) -> u64;
}

/// Something that runs by itself until it ends or is aborted; letting go of this does not stop it.
pub trait Spawned: Send {
    fn abort(&self);

    /// Resolves when it has ended or its abortion has come through.
    fn ended(self: Box<Self>) -> BoxFuture<'static, ()>;
}

/// The tokio runtime the caller is in.
pub struct Tokio;

impl Host for Tokio {
    fn spawn(&self, future: BoxFuture<'static, ()>) -> Box<dyn Spawned> {
        Box::new(tokio::spawn(future))
    }

    fn sleep(&self, time: Millis) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(std::time::Duration::from_millis(time.as_u64())))
    }

    fn spread(&self, limit: u64) -> u64 {
        // Any spread will do; the low digits of the clock are at hand.
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
