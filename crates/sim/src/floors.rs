//! I12: simulations in which too little happens are invalid, not green. Averages over many seeds; single ones may be
//! quiet.

/// What some seeds came to, all together.
pub struct Seen {
    pub seeds: u64,
    pub transitions: u64,
    pub faults: u64,
    /// Runs that ended as their authors wished.
    pub completed: u64,
}

/// The least a seed must bring on average, about half of what it does.
const TRANSITIONS: u64 = 100;
const FAULTS: u64 = 30;
const COMPLETED: u64 = 12;

/// Says what is missing.
pub fn hold(seen: &Seen) -> Result<(), String> {
    let floors = [
        ("transitions", seen.transitions, TRANSITIONS),
        ("faults", seen.faults, FAULTS),
        ("completed runs", seen.completed, COMPLETED),
    ];
    for (what, count, least) in floors {
        if count < least * seen.seeds {
            return Err(format!("only {count} {what} in {} seeds, at least {least} each", seen.seeds));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_all_fail_are_too_few() {
        let seen = Seen { seeds: 10, transitions: 100_000, faults: 100_000, completed: 1_000 };
        assert_eq!(hold(&seen), Ok(()));
        assert!(hold(&Seen { completed: 0, ..seen }).is_err());
        assert!(hold(&Seen { seeds: 10, transitions: 0, faults: 0, completed: 0 }).is_err());
    }
}
