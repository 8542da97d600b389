//! `rhythm bench`: measures this machine. `rhythm-bench` owns the workloads; this file has the options and
//! the output.

mod options;
mod show;
mod signals;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use rhythm_bench::{Bench as Manner, BenchError, Ground, Progress, Report, WorkerOrders, Workload, serve};
use rhythm_worlds::DEFAULT_URL;

use crate::config::Settings;
use crate::errors::CliResult;
use options::What;

/// Measure this machine: throughput, latency, idle cost, crashes, growth
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    what: What,
    /// Print a Markdown table
    #[arg(long, global = true)]
    markdown: bool,
    /// With --markdown: other engines' figures to show beside ours [default: bench/peers.json if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    peers: Option<PathBuf>,
    /// How long each of the two raw limits is measured, in milliseconds
    #[arg(long, global = true, value_name = "MS", default_value_t = 1_500)]
    raw_ms: u32,
}

impl Bench {
    pub async fn run(self, settings: Settings) -> CliResult {
        let (workloads, worlds) = match self.what {
            What::Worker(orders) => {
                let (tally, concurrency) = (orders.tally, orders.concurrency);
                let orders = WorkerOrders { tenant: settings.tenant, tally, concurrency };
                return Ok(serve(&settings.world, orders).await?);
            }
            What::All { quick } => (options::all(quick)?, all_worlds(&settings)),
            one => (one.workload().into_iter().collect(), vec![settings.world.clone()]),
        };
        let printer = show::Printer::new(settings.output, self.markdown, self.peers)?;
        let alone = workloads.len() == 1 && worlds.len() == 1;
        let mut reports = Vec::new();
        let mut failed = None;
        for world in &worlds {
            for workload in &workloads {
                match measure(workload, world, self.raw_ms, &settings).await {
                    Ok(measured) => {
                        printer.each(&measured)?;
                        reports.extend(measured);
                    }
                    Err(error) if alone || matches!(error, BenchError::Interrupted) => {
                        return Err(error.into());
                    }
                    // A failed workload does not stop the others.
                    Err(error) => {
                        settings.output.note(format!("{} could not be measured: {error}", workload.name()));
                        failed = failed.or(Some(error));
                    }
                }
            }
        }
        printer.all(&reports)?;
        failed.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Returns the worlds to measure: SQLite always, and PostgreSQL if one is named.
fn all_worlds(settings: &Settings) -> Vec<String> {
    let named = settings.world.clone();
    if !named.starts_with("sqlite:") {
        return vec![DEFAULT_URL.to_owned(), named];
    }
    let server = std::env::var("RHYTHM_TEST_POSTGRES").ok().filter(|url| !url.is_empty());
    [named].into_iter().chain(server).collect()
}

/// Measures one workload in its own database, which is removed afterwards, also after an error or an
/// interrupt.
async fn measure(
    workload: &Workload,
    world: &str,
    raw_ms: u32,
    settings: &Settings,
) -> Result<Vec<Report>, BenchError> {
    // Listen for signals before there is anything to clean up.
    let interrupted = signals::interrupted()?;
    let ground = Ground::like(world).await?;
    let out = settings.output;
    let about = format!("{} on {}", workload.name(), ground.world_name());
    let progress = Progress::new(about, move |text| out.note(text));
    for remark in ground.remarks() {
        progress.say(&remark);
    }
    let manner = Manner { raw_for: Duration::from_millis(raw_ms.into()), progress: &progress };
    let measured = tokio::select! {
        measured = workload.measure(&ground, &manner) => measured,
        () = interrupted => Err(BenchError::Interrupted),
    };
    let removed = ground.remove().await;
    let measured = measured?;
    removed?;
    Ok(measured)
}
