//! Rate limit for the batches of a timer burst.

use rhythm_core::Millis;

/// Runs one process wakes up per second: 100,000 runs due at once are done within half a minute.
const RUNS_A_SECOND: u64 = 3_700;
/// Largest delay that is made up for by going faster. It covers a sweep, but not a standstill, which delayed
/// the other processes too.
const MADE_UP: Millis = Millis(50);

/// Rate limit of one timer burst.
#[derive(Default)]
pub struct TokenBucket {
    /// When the next batch may go, in microseconds of the process's own counter.
    next: Option<u64>,
}

impl TokenBucket {
    /// Starts or resumes the burst at this time of the process's own counter.
    pub fn go_on(&mut self, now: u64) {
        let earliest = now.saturating_sub(MADE_UP.as_u64()) * 1_000;
        self.next = Some(self.next.map_or(now * 1_000, |next| next.max(earliest)));
    }

    /// Counts runs that were woken up.
    pub fn woke(&mut self, runs: usize) {
        self.next = self.next.map(|next| next + runs as u64 * 1_000_000 / RUNS_A_SECOND);
    }

    /// Returns the pause before the next batch. At least 1 ms, so that other futures on this thread can run.
    pub fn pause(&self, now: u64) -> Millis {
        let next = self.next.map_or(now, |next| next / 1_000);
        Millis(next.saturating_sub(now).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the milliseconds until `runs` runs are awake, if a batch takes `line` ms and a sweep of
    /// `sweep` ms runs every 50 ms.
    fn length(runs: usize, line: u64, sweep: u64) -> u64 {
        const LINE: usize = 32;
        let mut pace = TokenBucket::default();
        let (mut now, mut left) = (10_000, runs);
        loop {
            now += sweep;
            pace.go_on(now);
            let until = now + 50;
            while now < until {
                now += line;
                pace.woke(LINE);
                now += pace.pause(now).as_u64();
                left = left.saturating_sub(LINE);
                if left == 0 {
                    return now - 10_000;
                }
            }
        }
    }

    #[test]
    fn a_hundred_thousand_take_less_than_half_a_minute_whatever_sweeps_take() {
        for sweep in [0, 5, 20] {
            let length = length(100_000, 4, sweep);
            assert!((27_000..27_200).contains(&length), "{length} ms with sweeps of {sweep} ms");
        }
    }

    #[test]
    fn a_standstill_is_not_made_up_for() {
        let mut pace = TokenBucket::default();
        pace.go_on(1_000);
        pace.woke(37);
        assert_eq!(pace.pause(1_000), Millis(10));
        pace.go_on(5_000);
        pace.woke(370);
        assert_eq!(pace.pause(5_000), Millis(50), "a hundred, but for the fifty that are made up for");
    }
}
