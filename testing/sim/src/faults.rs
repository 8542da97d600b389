//! The faults, their rates under a seed, and how often each happened.

use std::collections::BTreeMap;

use crate::dice::Dice;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $most:literal;)*) => {
        /// Something that goes wrong on purpose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            pub const ALL: &[Fault] = &[$(Fault::$name,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Fault::$name => $text,)*
                }
            }

            pub fn named(name: &str) -> Option<Fault> {
                Fault::ALL.iter().copied().find(|fault| fault.name() == name)
            }

            /// The highest rate a seed may choose.
            fn most(self) -> f64 {
                match self {
                    $(Fault::$name => $most,)*
                }
            }
        }
    };
}

faults! {
    /// A process dies and its write never leaves it.
    CrashBeforeWrite = "crash before a write", 0.02;
    /// A process dies while its write is on the way; it arrives later.
    CrashDuringWrite = "crash during a write", 0.02;
    /// A process dies after its write came through, before the answer.
    CrashAfterWrite = "crash after a write", 0.02;
    /// A process dies at a random moment.
    Crash = "crash at any time", 0.3;
    /// A process gets a stop request and shuts down gracefully.
    Restart = "orderly restart", 0.15;
    /// A process stands still, mostly for longer than its leases.
    Pause = "pause", 0.25;
    LostRequest = "request lost", 0.04;
    LostReply = "reply lost", 0.06;
    Doubled = "request doubled", 0.05;
    Late = "request or reply late", 0.10;
    LostWakeup = "wake-up lost", 0.5;
    LateWakeup = "wake-up late", 0.3;
    DoubledWakeup = "wake-up doubled", 0.2;
    ClockForward = "clock jumps ahead", 0.10;
    ClockBack = "clock jumps back", 0.10;
    Outage = "world unavailable", 0.15;
    ClientCrash = "client dies in a call", 0.03;
    HandlerFails = "handler fails", 0.2;
    HandlerPanics = "handler panics", 0.08;
    HandlerHangs = "handler hangs", 0.05;
    HandlerSlow = "handler slow", 0.10;
    /// A process that lost a run gives its old claim back while another process holds the run.
    StaleRelease = "stale release", 0.3;
}

impl Fault {
    /// Returns whether the fault may cost a process its claims.
    pub fn endangers_claims(self) -> bool {
        !matches!(
            self,
            Fault::LostWakeup
                | Fault::LateWakeup
                | Fault::DoubledWakeup
                | Fault::ClockBack
                | Fault::ClientCrash
                | Fault::HandlerFails
                | Fault::HandlerPanics
                | Fault::HandlerHangs
                | Fault::HandlerSlow
                | Fault::StaleRelease
        )
    }

    /// Returns whether the process is gone, for good or until it wakes up.
    pub fn removes(self) -> bool {
        matches!(
            self,
            Fault::Crash
                | Fault::CrashBeforeWrite
                | Fault::CrashDuringWrite
                | Fault::CrashAfterWrite
                | Fault::Restart
                | Fault::Pause
        )
    }
}

/// Rate of each fault by name, in millionths.
pub type Rates = BTreeMap<String, u32>;

/// Chooses the faults of a seed and a rate for each. With only some of the faults active, rare combinations
/// come up sooner.
pub fn rates(seed: u64) -> Rates {
    let mut swarm = Dice::new(seed, "fault rates");
    let mut rates = Rates::new();
    for fault in Fault::ALL {
        let (chosen, share) = (swarm.chance(0.6), swarm.number(1..1_000) as f64 / 1_000.0);
        if chosen {
            rates.insert(fault.name().to_owned(), (fault.most() * share * 1_000_000.0) as u32);
        }
    }
    rates
}

/// The faults of a simulation and how often each happened.
pub struct Faults {
    rates: BTreeMap<Fault, (f64, Dice)>,
    counts: BTreeMap<Fault, u64>,
    calm: bool,
}

impl Faults {
    pub fn are_any(&self) -> bool {
        !self.rates.is_empty()
    }

    pub fn new(seed: u64, rates: &Rates) -> Self {
        let known = rates.iter().filter_map(|(name, rate)| Some((Fault::named(name)?, *rate)));
        let rates = known
            .map(|(fault, rate)| (fault, (f64::from(rate) / 1_000_000.0, Dice::new(seed, fault.name()))));
        Self { rates: rates.collect(), counts: BTreeMap::new(), calm: false }
    }

    pub fn none() -> Self {
        Self { rates: BTreeMap::new(), counts: BTreeMap::new(), calm: true }
    }

    /// Draws whether a fault is to happen. The caller counts it when it really happens, because it may not
    /// come to that.
    pub fn draws(&mut self, fault: Fault) -> bool {
        !self.calm && self.rates.get_mut(&fault).is_some_and(|(rate, dice)| dice.chance(*rate))
    }

    /// Counts a fault that happened.
    pub fn count(&mut self, fault: Fault) {
        *self.counts.entry(fault).or_default() += 1;
    }

    /// Switches all faults off.
    pub fn calm_down(&mut self) {
        self.calm = true;
    }

    pub fn is_calm(&self) -> bool {
        self.calm
    }

    pub fn counts(&self) -> &BTreeMap<Fault, u64> {
        &self.counts
    }
}
