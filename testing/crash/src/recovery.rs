//! Recovery times: how long an interrupted attempt waits until it goes on.

use crate::ledger::{Line, What};

/// A killed process and the time of its kill.
pub struct Kill {
    pub pid: u32,
    pub at: u64,
}

/// Returns, for every attempt a kill interrupted, the time until its task was handed out again.
pub fn recoveries(ledger: &[Line], kills: &[Kill]) -> Vec<u64> {
    let mut times = Vec::new();
    for kill in kills {
        let own = ledger.iter().filter(|line| line.entry.pid == kill.pid && line.entry.what == What::Began);
        for began in own {
            let again = ledger.iter().find(|line| {
                line.entry.what == What::Began
                    && line.entry.task == began.entry.task
                    && line.entry.claim > began.entry.claim
                    && line.entry.attempt == began.entry.attempt
            });
            times.extend(again.map(|again| again.at.saturating_sub(kill.at)));
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Entry;

    #[test]
    fn recovery_is_the_time_from_a_kill_to_the_next_hand_out_of_what_it_interrupted() {
        let line = |at: u64, task: &str, claim: u64, pid: u32| {
            let entry = Entry { task: task.into(), claim, pid, ..Entry::sample(What::Began) };
            Line { at, ..Line::of(entry) }
        };
        let ledger = [line(1, "done", 1, 7), line(2, "cut", 1, 7), line(1_500, "cut", 2, 8)];
        assert_eq!(recoveries(&ledger, &[Kill { pid: 7, at: 100 }]), [1_400]);
    }
}
