//! `rhythm bench`: measures this machine. Every figure stands beside the raw limit of the same database,
//! measured in the same run. Handlers run in this process and do nothing.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use rhythm_bench::growth::{self, Growth};
use rhythm_bench::idle::{self, Idle};
use rhythm_bench::raw::{self, RawLimit};
use rhythm_bench::report::{Report, markdown};
use rhythm_bench::workload::Bench as Workload;
use rhythm_worlds::{DEFAULT_URL, OpenOptions};
use serde::Serialize;

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::{Output, Table};

/// Measure this machine: throughput, idle cost, and what growth does to both
#[derive(Debug, Args)]
pub struct Bench {
    #[command(subcommand)]
    what: What,
    /// Print Markdown tables
    #[arg(long, global = true)]
    markdown: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Standalone tasks that do nothing
    Tasks {
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
        count: u32,
        #[command(flatten)]
        size: Size,
    },
    /// Runs of sequential tasks that do nothing
    Steps {
        #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
        steps: u32,
        #[command(flatten)]
        size: Size,
    },
    /// What a worker costs while there is nothing to do
    Idle {
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
        seconds: u32,
    },
    /// Whether sleeping and finished runs slow anything down
    Growth {
        #[arg(long, default_value_t = 10_000)]
        sleeping: u32,
        #[arg(long, default_value_t = 100_000)]
        finished: u32,
    },
    /// All of these, on SQLite and, where RHYTHM_TEST_POSTGRES names a server, on PostgreSQL
    All,
}

#[derive(Clone, Copy, Debug, Args)]
struct Size {
    /// The most tasks at once
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    concurrency: u32,
}

/// A database to measure. A temporary one goes away with it.
struct Ground {
    url: String,
    label: &'static str,
    _folder: Option<tempfile::TempDir>,
}

impl Bench {
    pub async fn run(self, settings: Settings) -> CliResult {
        let report = Reporter { out: settings.output, markdown: self.markdown };
        let size = Size { concurrency: 200 };
        match self.what {
            What::Tasks { count, size } => {
                report.throughput(&[ground(&settings)?.tasks(count, size, &report).await?])
            }
            What::Steps { runs, steps, size } => {
                report.throughput(&[ground(&settings)?.steps(runs, steps, size, &report).await?])
            }
            What::Idle { seconds } => report.idle(&[ground(&settings)?.idle(seconds, &report).await?]),
            What::Growth { sleeping, finished } => {
                report.growth(&ground(&settings)?.growth(sleeping, finished, &report).await?)
            }
            What::All => {
                let grounds = all_grounds()?;
                let (mut throughput, mut idle, mut growth) = (Vec::new(), Vec::new(), Vec::new());
                for ground in &grounds {
                    throughput.push(ground.tasks(10_000, size, &report).await?);
                    throughput.push(ground.steps(1_000, 10, size, &report).await?);
                    idle.push(ground.idle(20, &report).await?);
                    growth.extend(ground.growth(10_000, 100_000, &report).await?);
                }
                report.throughput(&throughput)?;
                report.idle(&idle)?;
                report.growth(&growth)
            }
        }
    }
}

/// The world that was named; without one, a file that is gone afterwards.
fn ground(settings: &Settings) -> CliResult<Ground> {
    match settings.world.as_str() {
        DEFAULT_URL => Ground::temporary(),
        url if url.starts_with("postgres") => {
            Ok(Ground { url: url.to_owned(), label: "postgres", _folder: None })
        }
        url => Ok(Ground { url: url.to_owned(), label: "sqlite", _folder: None }),
    }
}

fn all_grounds() -> CliResult<Vec<Ground>> {
    let mut grounds = vec![Ground::temporary()?];
    if let Ok(url) = std::env::var("RHYTHM_TEST_POSTGRES") {
        grounds.push(Ground { url, label: "postgres", _folder: None });
    }
    Ok(grounds)
}

impl Ground {
    fn temporary() -> CliResult<Self> {
        let folder = tempfile::tempdir().map_err(rhythm_bench::BenchError::Io)?;
        let url = format!("sqlite:{}", folder.path().join("bench.db").display());
        Ok(Self { url, label: "sqlite", _folder: Some(folder) })
    }

    async fn world(&self) -> CliResult<Arc<dyn rhythm_engine::world::World>> {
        Ok(rhythm_worlds::open(&self.url, OpenOptions::default()).await?)
    }

    async fn raw(&self, report: &Reporter) -> CliResult<RawLimit> {
        report.progress(self.label, "raw limit of the database");
        if self.label == "postgres" {
            return Ok(raw::postgres(&self.url).await.map_err(rhythm_bench::BenchError::Postgres)?);
        }
        let path = self.url.strip_prefix("sqlite:").unwrap_or(&self.url);
        let folder = std::path::Path::new(path).parent().map(std::path::Path::to_owned).unwrap_or_default();
        Ok(raw::sqlite(&folder).map_err(rhythm_bench::BenchError::Sqlite)?)
    }

    async fn tasks(&self, count: u32, size: Size, report: &Reporter) -> CliResult<Report> {
        let raw = self.raw(report).await?;
        report.progress(self.label, &format!("{count} standalone tasks"));
        let workload = Workload::start(self.world().await?, size.concurrency as usize);
        let measured = workload.tasks(count as usize).await?;
        workload.stop().await;
        Ok(Report::new("tasks", self.label, &measured, &raw))
    }

    async fn steps(&self, runs: u32, steps: u32, size: Size, report: &Reporter) -> CliResult<Report> {
        let raw = self.raw(report).await?;
        report.progress(self.label, &format!("{runs} runs of {steps} steps"));
        let workload = Workload::start(self.world().await?, size.concurrency as usize);
        let measured = workload.steps(runs as usize, u64::from(steps)).await?;
        workload.stop().await;
        Ok(Report::new("steps", self.label, &measured, &raw))
    }

    /// A worker process of its own, as an operator would start it.
    async fn idle(&self, seconds: u32, report: &Reporter) -> CliResult<Idle> {
        report.progress(self.label, &format!("an idle worker for {seconds} s"));
        self.world().await?;
        let mut command = Command::new(std::env::current_exe().map_err(rhythm_bench::BenchError::Io)?);
        command.args(["worker", "--world", &self.url]);
        Ok(idle::measure(command, &self.url, self.label, Duration::from_secs(seconds.into())).await?)
    }

    async fn growth(&self, sleeping: u32, finished: u32, report: &Reporter) -> CliResult<Vec<Growth>> {
        let world = self.world().await?;
        let sizes = (sleeping as usize, finished as usize);
        let progress = |what: &str| report.progress(self.label, what);
        let rows = growth::measure(&world, self.label, sizes, progress).await?;
        Ok(rows)
    }
}

/// Shows figures as they were asked for.
struct Reporter {
    out: Output,
    markdown: bool,
}

impl Reporter {
    fn progress(&self, label: &str, what: &str) {
        self.out.note(format!("{label}: {what} ..."));
    }

    fn throughput(&self, reports: &[Report]) -> CliResult {
        self.show(&Report::COLUMNS, reports, |report| report.cells().to_vec())
    }

    fn idle(&self, rows: &[Idle]) -> CliResult {
        self.show(&["world", "idle RSS MB", "CPU %", "queries per second"], rows, |row| {
            let queries = row.queries_per_s.map_or("-".into(), |count| format!("{count:.2}"));
            vec![row.world.clone(), format!("{:.1}", row.rss_mb), format!("{:.2}", row.cpu_percent), queries]
        })
    }

    fn growth(&self, rows: &[Growth]) -> CliResult {
        let columns = [
            "world",
            "sleeping",
            "finished",
            "empty claim ms",
            "task claim ms",
            "sweep ms",
            "steps per second",
        ];
        self.show(&columns, rows, |row| {
            vec![
                row.world.clone(),
                row.sleeping_runs.to_string(),
                row.finished_runs.to_string(),
                format!("{:.3}", row.empty_claim_ms),
                format!("{:.3}", row.task_claim_ms),
                format!("{:.3}", row.sweep_ms),
                format!("{:.0}", row.steps_per_s),
            ]
        })
    }

    fn show<T: Serialize>(
        &self,
        columns: &[&str],
        rows: &[T],
        cells: impl Fn(&T) -> Vec<String>,
    ) -> CliResult {
        if self.out.is_json() {
            // One object a line: a single workload prints one object.
            for row in rows {
                self.out.json(row)?;
            }
            return Ok(());
        }
        let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
        if self.markdown {
            return self.out.raw(&format!("{}\n", markdown(columns, &cells)));
        }
        let mut table = Table::new(columns);
        for row in cells {
            table.row(row);
        }
        self.out.raw(&table.render())
    }
}
