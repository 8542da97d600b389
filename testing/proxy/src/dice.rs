//! Random numbers from a seed (splitmix64). The same seed gives the same faults as far as the network's
//! timing is the same.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Returns a number from 0 up to, not including, 1.
    pub fn fraction(&mut self) -> f64 {
        (self.roll() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number from 0 up to, not including, `bound`; 0 when `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.roll() % bound }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_gives_one_sequence() {
        let draw = |seed| {
            let mut dice = Dice::new(seed);
            (0..5).map(|_| dice.roll()).collect::<Vec<_>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn fractions_and_bounds_are_kept() {
        let mut dice = Dice::new(1);
        for _ in 0..1_000 {
            assert!((0.0..1.0).contains(&dice.fraction()));
            assert!(dice.below(3) < 3);
        }
        assert_eq!(dice.below(0), 0);
    }
}
