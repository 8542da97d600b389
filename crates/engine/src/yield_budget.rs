//! Cooperative yield in long CPU-bound loops. Heartbeats, database answers and other runs may wait for the
//! same thread.

use rhythm_core::Millis;

use crate::time::WorldTime;

/// Longest time without a yield, besides the current step.
const LENGTH: Millis = Millis(10);

/// Yields the thread when the loop has run for 10 ms.
pub struct YieldBudget<'a> {
    time: &'a WorldTime,
    since: u64,
}

impl<'a> YieldBudget<'a> {
    pub fn new(time: &'a WorldTime) -> Self {
        Self { time, since: time.own_millis() }
    }

    /// Yields the thread if the loop has run for that long.
    pub async fn take(&mut self) {
        if self.time.own_millis().saturating_sub(self.since) >= LENGTH.as_u64() {
            tokio::task::yield_now().await;
            self.since = self.time.own_millis();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering;

    use futures_util::FutureExt;

    use super::*;
    use crate::time::tests::Counter;

    #[test]
    fn others_have_their_turn_after_a_while_and_not_before() {
        let counter = Arc::new(Counter::default());
        let time = WorldTime::new(counter.clone());
        let mut breath = YieldBudget::new(&time);
        let mut waits = |own: u64| {
            counter.0.store(own, Ordering::SeqCst);
            let mut taken = std::pin::pin!(breath.take());
            let first = taken.as_mut().now_or_never().is_none();
            assert!(!first || taken.now_or_never().is_some(), "one turn is enough");
            first
        };
        assert!(!waits(9));
        assert!(waits(10));
        assert!(!waits(19));
        assert!(waits(35));
    }
}
