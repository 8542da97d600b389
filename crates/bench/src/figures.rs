//! Computes figures from samples.

use std::time::Duration;

/// Durations of one kind, in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn add(&mut self, time: Duration) {
        self.0.push(millis(time));
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    pub fn p50(&self) -> Option<f64> {
        self.nearest(0.50)
    }

    pub fn p99(&self) -> Option<f64> {
        self.nearest(0.99)
    }

    pub fn max(&self) -> Option<f64> {
        self.nearest(1.0)
    }

    /// Returns a percentile by nearest rank: always a time that was measured.
    fn nearest(&self, share: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let rank = (sorted.len() as f64 * share).ceil() as usize;
        sorted.get(rank.saturating_sub(1)).copied()
    }
}

impl FromIterator<Duration> for Samples {
    fn from_iter<T: IntoIterator<Item = Duration>>(times: T) -> Self {
        Self(times.into_iter().map(millis).collect())
    }
}

pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Returns the ratio, or None when there is nothing to compare with.
pub fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    part.zip(whole).filter(|(_, whole)| *whole > 0.0).map(|(part, whole)| part / whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let samples: Samples = (1..=100).map(Duration::from_millis).collect();
        assert_eq!((samples.p50(), samples.p99(), samples.max()), (Some(50.0), Some(99.0), Some(100.0)));
        let one: Samples = [Duration::from_millis(7)].into_iter().collect();
        assert_eq!((one.p50(), one.p99()), (Some(7.0), Some(7.0)));
        assert_eq!(Samples::default().p50(), None);
    }
}
