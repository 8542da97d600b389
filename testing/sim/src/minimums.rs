//! I12: a set of simulations in which too little happens is invalid, not green. The floors are averages over
//! many seeds; a single seed may be quiet.

use std::collections::BTreeMap;

use crate::faults::Fault;

/// Totals of several seeds.
pub struct Seen {
    pub seeds: u64,
    pub transitions: u64,
    pub faults: BTreeMap<Fault, u64>,
    /// Runs that completed.
    pub completed: u64,
    /// Blobs that were collected while runs were going on.
    pub collected: u64,
}

/// Least average per seed, about half of the usual number.
const TRANSITIONS: u64 = 100;
const FAULTS: u64 = 30;
const COMPLETED: u64 = 12;
/// With at least `MANY` seeds, each kind of fault must have happened once in `ONE_IN` seeds, about a third of
/// the rate of the rarest one. Without this, frequent faults would hide that another one never happens.
const MANY: u64 = 100;
const ONE_IN: u64 = 10;

/// Returns an error that names the floors that were missed.
pub fn hold(seen: &Seen) -> Result<(), String> {
    let floors = [
        ("transitions", seen.transitions, TRANSITIONS),
        ("faults", seen.faults.values().sum(), FAULTS),
        ("completed runs", seen.completed, COMPLETED),
    ];
    for (what, count, least) in floors {
        if count < least * seen.seeds {
            return Err(format!("only {count} {what} in {} seeds, at least {least} each", seen.seeds));
        }
    }
    for fault in Fault::ALL.iter().filter(|_| seen.seeds >= MANY) {
        let (count, name) = (seen.faults.get(fault).copied().unwrap_or_default(), fault.name());
        if count * ONE_IN < seen.seeds {
            return Err(format!("{name:?} struck {count} times in {} seeds only", seen.seeds));
        }
    }
    if seen.seeds >= MANY && seen.collected * ONE_IN < seen.seeds {
        return Err(format!("only {} blobs were collected in {} seeds", seen.collected, seen.seeds));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lively(seeds: u64) -> Seen {
        let faults = Fault::ALL.iter().map(|fault| (*fault, 10 * seeds)).collect();
        Seen { seeds, transitions: 100_000, faults, completed: 10_000, collected: 10 * seeds }
    }

    #[test]
    fn runs_that_all_fail_are_too_few() {
        assert_eq!(hold(&lively(10)), Ok(()));
        assert!(hold(&Seen { completed: 0, ..lively(10) }).is_err());
        let nothing = Seen { seeds: 10, transitions: 0, faults: BTreeMap::new(), completed: 0, collected: 0 };
        assert!(hold(&nothing).is_err());
    }

    #[test]
    fn a_collector_that_collects_nothing_is_missed() {
        assert!(hold(&Seen { collected: 19, ..lively(200) }).is_err());
        assert_eq!(hold(&Seen { collected: 20, ..lively(200) }), Ok(()));
    }

    #[test]
    fn a_fault_that_no_longer_strikes_is_missed_however_often_the_others_do() {
        let mut seen = lively(200);
        assert_eq!(hold(&seen), Ok(()));
        seen.faults.insert(Fault::Outage, 19);
        assert!(hold(&seen).is_err());
        seen.faults.remove(&Fault::Outage);
        assert!(hold(&seen).is_err());
    }
}
