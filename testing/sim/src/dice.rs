//! The only source of randomness: streams derived from the seed. Each purpose has its own stream, so that
//! leaving something out while shrinking changes the rest as little as possible.

use std::ops::Range;

use crate::fnv::Fnv;

/// One random stream.
pub struct Dice(fastrand::Rng);

impl Dice {
    pub fn new(seed: u64, purpose: &str) -> Self {
        // The generator mixes the seed further.
        let mut hash = Fnv(Fnv::START ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        hash.bytes(purpose.as_bytes());
        Self(fastrand::Rng::with_seed(hash.0))
    }

    /// Returns true with the probability `share`.
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

    /// Returns a number below the limit, mostly a small one.
    pub fn skewed(&mut self, limit: u64) -> u64 {
        let magnitude = self.0.f64();
        (limit as f64 * magnitude * magnitude * magnitude) as u64
    }
}
