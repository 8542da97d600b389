//! The workloads and their sizes as options.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, value_parser};
use rhythm_bench::{Load, Shapes, Workload};

use crate::errors::{CliError, CliResult};

#[derive(Debug, Subcommand)]
pub enum What {
    /// W1, throughput: runs of sequential tasks that do nothing
    W1(LoadSize),
    /// W2, hop latency: from one task of a run to its next
    W2 {
        /// Runs, one after the other
        #[arg(long, default_value_t = 50, value_parser = value_parser!(u32).range(1..))]
        runs: u32,
        /// Sequential tasks of each run
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(2..))]
        steps: u32,
    },
    /// W3, start latency: from the start of a run to its first task, on an idle worker
    W3 {
        /// Runs, one after the other
        #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u32).range(1..))]
        samples: u32,
    },
    /// W4, fan-out: one run with many tasks at once and a join
    W4 {
        /// Tasks at once
        #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u32).range(1..))]
        tasks: u32,
        /// Runs, one after the other
        #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
        samples: u32,
        #[command(flatten)]
        most: Concurrency,
    },
    /// W5, task queue: standalone tasks that do nothing
    W5 {
        /// Tasks, enqueued in calls of at most 100
        #[arg(long, default_value_t = 10_000, value_parser = value_parser!(u32).range(1..))]
        tasks: u32,
        #[command(flatten)]
        most: Concurrency,
    },
    /// W6, idle footprint: what a worker process costs while there is nothing to do
    W6 {
        /// How long the worker is watched
        #[arg(long, default_value_t = 20, value_parser = value_parser!(u32).range(1..))]
        seconds: u32,
        /// How long it may settle before; PostgreSQL tells what it counted up to ten seconds late
        #[arg(long, default_value_t = 12, value_name = "SECONDS")]
        settle: u32,
    },
    /// W7, crash: the worker of W1 is killed in the middle and another one started
    W7(LoadSize),
    /// W8, growth: W1 and what a worker asks all the time, beside finished and sleeping runs
    W8 {
        /// Finished runs in the database, one measurement each; the first without sleeping runs if it is 0
        #[arg(long, value_name = "N,N,..", value_delimiter = ',', default_value = "0,100000,1000000")]
        finished: Vec<u32>,
        /// Sleeping runs beside them
        #[arg(long, default_value_t = 100_000)]
        sleeping: u32,
        #[command(flatten)]
        load: LoadSize,
    },
    /// W9, rot: W1 again and again while somebody else keeps an old snapshot open
    W9 {
        /// How long
        #[arg(long, default_value_t = 300, value_parser = value_parser!(u32).range(1..))]
        seconds: u32,
        #[command(flatten)]
        load: LoadSize,
    },
    /// W10, timers: many due at one moment, with other work beside them
    W10 {
        /// Runs that sleep until the same moment
        #[arg(long, default_value_t = 100_000, value_parser = value_parser!(u32).range(1..))]
        timers: u32,
        /// How long after the first start they are due: all must sleep by then [default: what so many need here]
        #[arg(long, value_name = "SECONDS", value_parser = value_parser!(u32).range(1..))]
        lead: Option<u32>,
    },
    /// W11, many workers: W1 done by several processes together
    W11 {
        /// Worker processes, one measurement each
        #[arg(long, value_name = "N,N,..", value_delimiter = ',', default_value = "1,2,4,8",
            value_parser = value_parser!(u32).range(1..))]
        processes: Vec<u32>,
        #[command(flatten)]
        load: LoadSize,
    },
    /// W12, graphs: chains and fans of nodes beside flows that do the same
    W12 {
        /// Nodes a fan has beside each other
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..))]
        fan: u32,
        /// How often each is measured
        #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..))]
        rounds: u32,
        #[command(flatten)]
        load: LoadSize,
    },
    /// All of these, on SQLite and, where --world or RHYTHM_TEST_POSTGRES names a server, on PostgreSQL
    All {
        /// Sizes of about a tenth
        #[arg(long)]
        quick: bool,
    },
    /// The worker of W7 and W11, which ends with its standard input
    #[command(hide = true)]
    Worker(WorkerArgs),
}

#[derive(Clone, Copy, Debug, Args)]
pub struct LoadSize {
    /// Runs of W1
    #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u32).range(1..))]
    runs: u32,
    /// Sequential tasks of each run
    #[arg(long, default_value_t = 10, value_parser = value_parser!(u32).range(1..))]
    steps: u32,
    #[command(flatten)]
    most: Concurrency,
}

#[derive(Clone, Copy, Debug, Args)]
pub struct Concurrency {
    /// The most tasks at once in one process
    #[arg(long, default_value_t = 1_000, value_parser = value_parser!(u32).range(1..))]
    concurrency: u32,
}

#[derive(Debug, Args)]
pub struct WorkerArgs {
    /// Gets a byte for every execution
    #[arg(long, value_name = "FILE")]
    pub tally: PathBuf,
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub concurrency: u32,
}

impl LoadSize {
    fn load(self) -> Load {
        Load { runs: self.runs, steps: self.steps, concurrency: self.most.concurrency }
    }
}

impl What {
    /// Returns the workload, or `None` for the subcommands that are not one workload.
    pub fn workload(self) -> Option<Workload> {
        Some(match self {
            Self::W1(size) => Workload::Throughput(size.load()),
            Self::W2 { runs, steps } => Workload::HopLatency { runs, steps },
            Self::W3 { samples } => Workload::StartLatency { samples },
            Self::W4 { tasks, samples, most } => {
                Workload::FanOut { tasks, samples, concurrency: most.concurrency }
            }
            Self::W5 { tasks, most } => Workload::TaskQueue { tasks, concurrency: most.concurrency },
            Self::W6 { seconds, settle } => Workload::Idle { seconds, settle },
            Self::W7(size) => Workload::Crash(size.load()),
            Self::W8 { finished, sleeping, load } => {
                Workload::Growth { load: load.load(), finished, sleeping }
            }
            Self::W9 { seconds, load } => Workload::Rot { load: load.load(), seconds },
            Self::W10 { timers, lead } => Workload::Timers { timers, lead },
            Self::W11 { processes, load } => Workload::ManyWorkers { load: load.load(), processes },
            Self::W12 { fan, rounds, load } => Workload::Graphs(Shapes { chain: load.load(), fan, rounds }),
            Self::All { .. } | Self::Worker(_) => return None,
        })
    }
}

/// What is typed when nothing but its name is.
#[derive(Debug, Parser)]
struct Unsized {
    #[command(subcommand)]
    what: What,
}

/// Returns every workload at its default size, or at about a tenth of it.
pub fn all(quick: bool) -> CliResult<Vec<Workload>> {
    let mut all = Vec::new();
    for number in 1..=12 {
        let typed = Unsized::try_parse_from(["bench".to_owned(), format!("w{number}")]);
        let typed = typed.map_err(|error| CliError::Usage(error.to_string()))?;
        all.extend(typed.what.workload());
    }
    Ok(if quick { all.into_iter().map(Workload::quick).collect() } else { all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_all() {
        for quick in [true, false] {
            let names: Vec<&str> = all(quick).unwrap().iter().map(Workload::name).collect();
            assert_eq!(names, ["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8", "w9", "w10", "w11", "w12"]);
        }
    }
}
