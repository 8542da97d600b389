//! How fast the lines of a storm follow each other.

use rhythm_core::Millis;

/// So many runs a second a process wakes up: what is due at once, up to a hundred thousand of them, is over within half a minute.
const RUNS_A_SECOND: u64 = 3_700;
/// So much lost time is made up for: what sweeps take is, a standstill is not, others have lost it too.
const MADE_UP: Millis = Millis(50);

#[derive(Default)]
pub struct Pace {
    /// When the next line may go, in microseconds of the process's own counter.
    next: Option<u64>,
}

impl Pace {
    /// Lines go again, at this time of the process's own counter.
    pub fn go_on(&mut self, now: u64) {
        let earliest = now.saturating_sub(MADE_UP.as_u64()) * 1_000;
        self.next = Some(self.next.map_or(now * 1_000, |next| next.max(earliest)));
    }

    /// So many runs were woken up.
    pub fn woke(&mut self, runs: usize) {
        self.next = self.next.map(|next| next + runs as u64 * 1_000_000 / RUNS_A_SECOND);
    }

    /// How long the next line waits; always a moment, for those who wait for the same thread.
    pub fn pause(&self, now: u64) -> Millis {
        let next = self.next.map_or(now, |next| next / 1_000);
        Millis(next.saturating_sub(now).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds until so many runs are awake, in lines that take `line` ms and with a sweep of so many ms every 50.
    fn length(runs: usize, line: u64, sweep: u64) -> u64 {
        const LINE: usize = 32;
        let mut pace = Pace::default();
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
        let mut pace = Pace::default();
        pace.go_on(1_000);
        pace.woke(37);
        assert_eq!(pace.pause(1_000), Millis(10));
        pace.go_on(5_000);
        pace.woke(370);
        assert_eq!(pace.pause(5_000), Millis(50), "a hundred, but for the fifty that are made up for");
    }
}
