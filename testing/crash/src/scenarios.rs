//! The scenarios, one per file. Each injects one kind of fault under load and lets the oracle judge.

mod backends;
mod clock;
mod commit_points;
mod disk_damage;
mod disk_error;
mod disk_full;
mod disk_slow;
mod duplicates;
mod half_open;
mod lost_commits;
mod partitions;
mod pinned_snapshot;
mod poison;
mod random_kills;
mod restarts;
mod slow_network;
mod thundering_herd;
mod timers;
mod whole_restart;
mod zombies;

use std::pin::Pin;

use crate::lab::{LabResult, On, Scale};
use crate::report::Report;

type Playing = Pin<Box<dyn Future<Output = LabResult<Report>> + Send>>;

/// One scenario in the list of the runner.
#[derive(Clone, Copy)]
pub struct Scenario {
    pub name: &'static str,
    /// Number in the fault catalogue.
    pub fault: &'static str,
    pub worlds: &'static [On],
    play: fn(On, Scale) -> Playing,
}

const BOTH: &[On] = &[On::Sqlite, On::Postgres];
const POSTGRES: &[On] = &[On::Postgres];

macro_rules! scenarios {
    ($($name:ident $fault:literal $worlds:expr,)*) => {
        /// All scenarios, in the order they are played.
        pub const ALL: &[Scenario] = &[$(Scenario {
            name: stringify!($name),
            fault: $fault,
            worlds: $worlds,
            play: |on, scale| Box::pin($name::run(on, scale)),
        }),*];
    };
}

scenarios! {
    random_kills "F2" BOTH,
    restarts "F4" POSTGRES,
    backends "F5" POSTGRES,
    lost_commits "F6" BOTH,
    partitions "F12" POSTGRES,
    half_open "F13" POSTGRES,
    slow_network "F14" POSTGRES,
    clock "F15" BOTH,
    thundering_herd "F26" POSTGRES,
    pinned_snapshot "F27" POSTGRES,
    commit_points "F1" BOTH,
    zombies "F3" BOTH,
    whole_restart "F2" BOTH,
    poison "F23" BOTH,
    duplicates "F21" BOTH,
    timers "F25" BOTH,
    disk_full "F17" BOTH,
    disk_error "F18" BOTH,
    disk_slow "F19" BOTH,
    disk_damage "F20" BOTH,
}

impl Scenario {
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|scenario| scenario.name == name)
    }

    /// Plays the scenario. A laboratory that could not be set up is a violation too.
    pub async fn run(self, on: On, scale: Scale) -> Report {
        match (self.play)(on, scale).await {
            Ok(report) => report.done(),
            Err(error) => {
                let mut report = Report::new(self.name, on);
                report.violations.push(format!("the scenario could not be played: {error}"));
                report
            }
        }
    }
}
