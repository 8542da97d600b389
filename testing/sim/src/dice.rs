//! The only source of chance: streams derived from the seed. Each purpose has a stream of its own, so that
//! leaving something out while shrinking disturbs the rest as little as possible.

use std::ops::Range;

use crate::fnv::Fnv;

/// One stream of chance.
pub struct Dice(fastrand::Rng);

impl Dice {
    pub fn new(seed: u64, purpose: &str) -> Self {
        // The rest of the mixing is the generator's.
        let mut hash = Fnv(Fnv::START ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        hash.bytes(purpose.as_bytes());
        Self(fastrand::Rng::with_seed(hash.0))
    }

    /// True in `share` of all cases.
    pub fn chance(&mut self, share: f64) -> bool {
        self.0.f64() < share
    }

    pub fn number(&mut self, range: Range<u64>) -> u64 {
        self.0.u64(range)
    }

    pub fn index(&mut self, length: usize) -> usize {
        self.0.usize(0..length)
    }

    pub fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.index(among.len())]
    }

    /// Mostly short, now and then long.
    pub fn skewed(&mut self, limit: u64) -> u64 {
        let magnitude = self.0.f64();
        (limit as f64 * magnitude * magnitude * magnitude) as u64
    }
}
