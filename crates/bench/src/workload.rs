//! All workloads by name, and how each is measured.

use std::time::Duration;

use serde_json::json;

use crate::figures::ratio;
use crate::graphs::{self, Shapes};
use crate::growth::{self, Growth};
use crate::progress::Progress;
use crate::report::{Measured, Report};
use crate::scratch_db::{Ground, fresh_tenant};
use crate::throughput::{self, Load};
use crate::{BenchError, bloat, crash, fanout, idle, latency, many, raw, timers};

/// A workload with its sizes.
#[derive(Clone, Debug)]
pub enum Workload {
    /// W1
    Throughput(Load),
    /// W2
    HopLatency { runs: u32, steps: u32 },
    /// W3
    StartLatency { samples: u32 },
    /// W4
    FanOut { tasks: u32, samples: u32, concurrency: u32 },
    /// W5
    TaskQueue { tasks: u32, concurrency: u32 },
    /// W6
    Idle { seconds: u32, settle: u32 },
    /// W7
    Crash(Load),
    /// W8
    Growth { load: Load, finished: Vec<u32>, sleeping: u32 },
    /// W9
    Rot { load: Load, seconds: u32 },
    /// W10. Without a lead, the time is estimated on this machine.
    Timers { timers: u32, lead: Option<u32> },
    /// W11
    ManyWorkers { load: Load, processes: Vec<u32> },
    /// W12
    Graphs(Shapes),
}

/// Settings that all measurements share.
pub struct Bench<'a> {
    /// Duration of each of the two raw measurements.
    pub raw_for: Duration,
    pub progress: &'a Progress,
}

impl Workload {
    /// Returns the name of the workload for reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Throughput(_) => "w1",
            Self::HopLatency { .. } => "w2",
            Self::StartLatency { .. } => "w3",
            Self::FanOut { .. } => "w4",
            Self::TaskQueue { .. } => "w5",
            Self::Idle { .. } => "w6",
            Self::Crash(_) => "w7",
            Self::Growth { .. } => "w8",
            Self::Rot { .. } => "w9",
            Self::Timers { .. } => "w10",
            Self::ManyWorkers { .. } => "w11",
            Self::Graphs(_) => "w12",
        }
    }

    /// Returns the same workload at about a tenth of its size.
    pub fn quick(self) -> Self {
        let tenth = |size: u32| size.div_ceil(10);
        let fewer = |load: Load| Load { runs: tenth(load.runs), ..load };
        match self {
            Self::Throughput(load) => Self::Throughput(fewer(load)),
            Self::HopLatency { runs, steps } => Self::HopLatency { runs: tenth(runs), steps },
            Self::StartLatency { samples } => Self::StartLatency { samples: tenth(samples) },
            Self::FanOut { tasks, samples, concurrency } => {
                Self::FanOut { tasks: tenth(tasks), samples, concurrency }
            }
            Self::TaskQueue { tasks, concurrency } => Self::TaskQueue { tasks: tenth(tasks), concurrency },
            // The settle time stays: even before a short watch, the server's counters must be up to date.
            Self::Idle { seconds, settle } => Self::Idle { seconds: tenth(seconds), settle },
            Self::Crash(load) => Self::Crash(fewer(load)),
            Self::Growth { load, finished, sleeping } => Self::Growth {
                load: fewer(load),
                finished: finished.into_iter().map(tenth).collect(),
                sleeping: tenth(sleeping),
            },
            Self::Rot { load, seconds } => Self::Rot { load: fewer(load), seconds: tenth(seconds) },
            Self::Timers { timers, lead } => Self::Timers { timers: tenth(timers), lead: lead.map(tenth) },
            Self::ManyWorkers { load, processes } => Self::ManyWorkers { load: fewer(load), processes },
            Self::Graphs(shapes) => Self::Graphs(Shapes { chain: fewer(shapes.chain), ..shapes }),
        }
    }

    /// Measures the raw limit of the ground, then this workload. Returns one report, or one for each state.
    pub async fn measure(&self, ground: &Ground, bench: &Bench<'_>) -> Result<Vec<Report>, BenchError> {
        let progress = bench.progress;
        progress.say("the raw limit of the database");
        let raw = raw::limit_of(ground, bench.raw_for).await?;
        progress.say(&self.about());
        let mut all = self.measured(ground, progress).await?;
        if let (Self::HopLatency { .. }, [measured]) = (self, &mut all[..]) {
            let share = ratio(measured.p50_ms, Some(raw.commit_ms));
            measured.detail.insert("ratio_to_raw_commit".into(), json!(share));
        }
        let report = |mut measured: Measured| {
            measured.detail.insert("durable".into(), json!(ground.is_durable()));
            Report::new(self.name(), ground, measured, &raw)
        };
        Ok(all.into_iter().map(report).collect())
    }

    /// Describes the workload in a few words for the user.
    fn about(&self) -> String {
        let w1 = |load: &Load| format!("{} runs of {} tasks", load.runs, load.steps);
        match self {
            Self::Throughput(load) => w1(load),
            Self::HopLatency { runs, steps } => format!("{runs} runs of {steps} tasks, one at a time"),
            Self::StartLatency { samples } => format!("{samples} starts of an idle worker"),
            Self::FanOut { tasks, samples, .. } => format!("{tasks} tasks at once, {samples} times"),
            Self::TaskQueue { tasks, .. } => format!("{tasks} standalone tasks"),
            Self::Idle { seconds, settle } => {
                format!("an idle worker, {settle} s to settle and {seconds} s watched")
            }
            Self::Crash(load) => format!("{}, with a crash in the middle", w1(load)),
            Self::Growth { load, .. } => format!("{} in a growing database", w1(load)),
            Self::Rot { load, .. } => format!("{}, again and again", w1(load)),
            Self::Timers { timers, .. } => format!("{timers} timers due at one moment"),
            Self::ManyWorkers { load, .. } => format!("{}, by several processes", w1(load)),
            Self::Graphs(shapes) => format!("{} and fans of {}, as graphs", w1(&shapes.chain), shapes.fan),
        }
    }

    /// Runs the workload. Each one opens the world itself, because an idle worker must be alone.
    async fn measured(&self, ground: &Ground, progress: &Progress) -> Result<Vec<Measured>, BenchError> {
        let seconds = |count: &u32| Duration::from_secs(u64::from(*count));
        let one = match self {
            Self::Throughput(load) => throughput::runs(&ground.open().await?, fresh_tenant(), load).await?,
            Self::HopLatency { runs, steps } => latency::hops(&ground.open().await?, *runs, *steps).await?,
            Self::StartLatency { samples } => latency::starts(&ground.open().await?, *samples).await?,
            Self::FanOut { tasks, samples, concurrency } => {
                fanout::measure(&ground.open().await?, *tasks, *samples, *concurrency).await?
            }
            Self::TaskQueue { tasks, concurrency } => {
                throughput::tasks(&ground.open().await?, *tasks, *concurrency).await?
            }
            Self::Idle { seconds: watch, settle } => {
                idle::measure(ground, seconds(watch), seconds(settle)).await?
            }
            Self::Crash(load) => crash::measure(ground, load).await?,
            Self::Growth { load, finished, sleeping } => {
                let growth = Growth { finished: finished.clone(), sleeping: *sleeping };
                return growth::measure(ground, load, &growth, progress).await;
            }
            Self::Rot { load, seconds: lasting } => {
                bloat::measure(ground, load, seconds(lasting), progress).await?
            }
            Self::Timers { timers, lead } => {
                let lead = lead.as_ref().map(seconds);
                timers::measure(ground, *timers, lead, progress).await?
            }
            Self::ManyWorkers { load, processes } => {
                return many::measure(ground, load, processes, progress).await;
            }
            Self::Graphs(shapes) => return graphs::measure(&ground.open().await?, shapes).await,
        };
        Ok(vec![one])
    }
}
