//! Faults a proxy injects into its connections; none by default.

use std::time::Duration;

use crate::dice::Dice;

/// All faults of a proxy. They can be changed while it runs, and also affect open connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    pub delay: Option<Delay>,
    pub to_server: Flow,
    pub to_client: Flow,
    /// Number of bytes, both ways together, after which a connection is reset.
    pub reset_after: Option<u64>,
    /// True to reset new connections at once.
    pub refuse: bool,
    /// Commits of PostgreSQL whose answer is dropped and whose connection is reset; only for
    /// [`crate::Proxy::postgres`].
    pub cut_commits: Option<Cut>,
}

impl Faults {
    /// A partition: nothing passes in either direction until the faults change.
    pub fn held() -> Self {
        Self { to_server: Flow::Hold, to_client: Flow::Hold, ..Self::default() }
    }

    /// Half-open connections: bytes vanish in both directions and no close is sent.
    pub fn half_open() -> Self {
        Self { to_server: Flow::Swallow, to_client: Flow::Swallow, ..Self::default() }
    }
}

/// Treatment of the bytes of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Flow {
    #[default]
    Pass,
    /// Bytes are held until they may pass again, as TCP does with lost packets.
    Hold,
    /// Bytes are lost. A connection that lost bytes stays silent in this direction for good.
    Swallow,
}

/// Delay of all bytes: `base` plus a random part of `jitter`, in order. The throughput is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delay {
    pub base: Duration,
    pub jitter: Duration,
    /// Extra delay of some pieces, as if their first packet had been lost.
    pub stall: Stall,
}

/// Delays this share of all pieces by this time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    pub chance: f64,
    pub time: Duration,
}

impl Delay {
    pub(crate) fn draw(self, dice: &mut Dice) -> Duration {
        let stalls = dice.fraction() < self.stall.chance;
        let stall = if stalls { self.stall.time } else { Duration::ZERO };
        self.base + self.jitter.mul_f64(dice.fraction()) + stall
    }
}

/// Selects the commits that lose their answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cut {
    /// Every n-th commit, counted over all connections.
    Every(u64),
    Probability(f64),
    /// Different probabilities for one kind of commit and for all others.
    OfKind {
        kind: &'static str,
        chance: f64,
        others: f64,
    },
}

impl Cut {
    /// Returns whether this commit loses its answer. `commits` is the number of commits including this one,
    /// `of` is its kind.
    pub(crate) fn hits(self, commits: u64, of: &str, dice: &mut Dice) -> bool {
        match self {
            Self::Every(n) => n != 0 && commits.is_multiple_of(n),
            Self::Probability(chance) => dice.fraction() < chance,
            Self::OfKind { kind, chance, others } => {
                dice.fraction() < if of == kind { chance } else { others }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::OTHER;

    #[test]
    fn every_third_commit_is_cut() {
        let mut dice = Dice::new(0);
        let cut: Vec<bool> = (1..=6).map(|commits| Cut::Every(3).hits(commits, OTHER, &mut dice)).collect();
        assert_eq!(cut, [false, false, true, false, false, true]);
    }

    #[test]
    fn some_pieces_stall_and_no_others() {
        let (base, time) = (Duration::from_millis(2), Duration::from_secs(1));
        let delay = Delay { base, stall: Stall { chance: 0.01, time }, ..Delay::default() };
        let mut dice = Dice::new(0);
        let stalled = (0..10_000).filter(|_| delay.draw(&mut dice) == base + time).count();
        assert!((50..200).contains(&stalled), "{stalled} of 10,000");
    }

    #[test]
    fn a_probability_is_roughly_kept() {
        let mut dice = Dice::new(0);
        let cuts = |cut: Cut, of: &str, dice: &mut Dice| {
            (1..=10_000).filter(|commits| cut.hits(*commits, of, dice)).count()
        };
        let of_kind = Cut::OfKind { kind: "moves", chance: 0.4, others: 0.0 };
        let cut = cuts(Cut::Probability(0.2), OTHER, &mut dice);
        assert!((1_800..2_200).contains(&cut), "{cut} of 10,000");
        let cut = cuts(of_kind, "moves", &mut dice);
        assert!((3_700..4_300).contains(&cut), "{cut} of 10,000");
        assert_eq!(cuts(of_kind, OTHER, &mut dice), 0);
    }
}
