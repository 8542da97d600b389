use std::future::Future;
use std::time::Duration;

use clap::Args;
use rhythm_worlds::redacted;
use tokio::signal::unix::{SignalKind, signal};

use crate::allowed::Allowed;
use crate::config::{Settings, WorkerSettings};
use crate::errors::{CliError, CliResult};
use crate::input;
use crate::session::Session;

/// Largest number of threads. More would only wait for each other.
const MOST_THREADS: usize = 1_024;

/// Run a worker: it steps runs and does the built-in tasks
#[derive(Debug, Args)]
#[command(after_help = "\
It runs until SIGTERM or SIGINT (Ctrl-C), then finishes what is running or hands it back; a second signal ends it at \
once. RHYTHM_WORKER_POLL_INTERVAL (1s) is how often it looks for work that no wake-up told of, RHYTHM_LOG (info) what \
it logs. With --output json the log is JSON. rhythm.toml may hold all this in [worker].")]
pub struct Worker {
    /// Take tasks from this queue, at most LIMIT at once; may be repeated [default: default]
    #[arg(long = "queue", value_name = "NAME[:LIMIT]")]
    queues: Vec<String>,
    /// The most tasks to run at once [default: 100]
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
    /// Threads that step runs and do tasks, 1,024 at most [default: half of the processors]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Shorter claims and heartbeats: a hung worker is given up after 5 s instead of 30 s
    #[arg(long)]
    fast: bool,
    /// How long running tasks may take to finish when the worker stops [default: 30s]
    #[arg(long, value_name = "DURATION")]
    patience: Option<String>,
    /// How long ended runs and tasks are kept [default: 30d]
    #[arg(long, value_name = "DURATION")]
    retention: Option<String>,
    /// How long failed runs are kept that nobody dismissed [default: 90d]
    #[arg(long, value_name = "DURATION")]
    failed_retention: Option<String>,
    /// How long large values are kept that nothing refers to any more [default: 3d]
    #[arg(long, value_name = "DURATION")]
    blob_grace: Option<String>,
    #[command(flatten)]
    allowed: Allowed,
}

impl Worker {
    /// Returns the number of threads if a flag or `rhythm.toml` sets it; the flag wins. Fails if it is 0 or
    /// more than `MOST_THREADS`.
    pub fn threads(&self, file: &WorkerSettings) -> CliResult<Option<usize>> {
        match self.threads.or(file.threads) {
            Some(0) => Err(CliError::BadValue("a worker with 0 threads would do nothing".into())),
            Some(many) if many > MOST_THREADS => {
                Err(CliError::BadValue(format!("{many} threads are too many, {MOST_THREADS} are the most")))
            }
            threads => Ok(threads),
        }
    }

    pub async fn run(self, settings: Settings) -> CliResult {
        let plan = self.merged(&settings.worker)?;
        begin_log(&settings)?;
        // Listen for signals before there is any work to lose.
        let stop = stop_signal()?;
        let session = Session::open(&settings).await?;
        let mut worker = session.rhythm.worker().patience(plan.patience);
        for (name, limit) in &plan.queues {
            worker = worker.queue_limit(name, *limit);
        }
        if let Some(most) = plan.concurrency {
            worker = worker.concurrency(most);
        }
        if plan.fast {
            worker = worker.fast();
        }
        if let Some(every) = plan.poll_interval {
            worker = worker.poll_interval(every);
        }
        if let Some(keep) = plan.retention {
            worker = worker.retention(keep);
        }
        if let Some(keep) = plan.failed_retention {
            worker = worker.failed_retention(keep);
        }
        if let Some(grace) = plan.blob_grace {
            worker = worker.blob_grace(grace);
        }
        let worker = self.allowed.add_to(worker, &settings.worker)?.start().await?;
        let queues: Vec<&str> = plan.queues.iter().map(|(name, _)| name.as_str()).collect();
        let queues = if queues.is_empty() { "default".to_owned() } else { queues.join(",") };
        let threads = tokio::runtime::Handle::current().metrics().num_workers();
        let world = redacted(&settings.world);
        tracing::info!(worker = %worker.id(), world, queues, threads, "worker started");
        let asked = async {
            stop.await;
            tracing::info!("worker stops; a second signal ends it at once");
        };
        worker.stop_when(asked).await?;
        tracing::info!("worker stopped");
        Ok(())
    }

    /// Merges the flags with `rhythm.toml`; flags win. Fails if a value is malformed.
    fn merged(&self, file: &WorkerSettings) -> CliResult<Plan> {
        let named = if self.queues.is_empty() { &file.queues } else { &self.queues };
        let queues = named.iter().map(|text| input::queue(text)).collect::<CliResult<Vec<_>>>()?;
        let concurrency = self.concurrency.or(file.concurrency);
        if concurrency == Some(0) {
            return Err(CliError::BadValue("a worker with a concurrency of 0 would take no task".into()));
        }
        let patience = match &self.patience {
            Some(text) => Some(input::duration("--patience", text)?),
            None => file.patience,
        };
        let retention = match &self.retention {
            Some(text) => Some(input::duration("--retention", text)?),
            None => file.retention,
        };
        let failed_retention = match &self.failed_retention {
            Some(text) => Some(input::duration("--failed-retention", text)?),
            None => file.failed_retention,
        };
        let blob_grace = match &self.blob_grace {
            Some(text) => Some(input::duration("--blob-grace", text)?),
            None => file.blob_grace,
        };
        let length = |millis: rhythm_core::Millis| Duration::from_millis(millis.as_u64());
        Ok(Plan {
            queues,
            concurrency,
            fast: self.fast || file.fast,
            patience: patience.map_or(Duration::from_secs(30), length),
            poll_interval: file.poll_interval.map(length),
            retention: retention.map(length),
            failed_retention: failed_retention.map(length),
            blob_grace: blob_grace.map(length),
        })
    }
}

struct Plan {
    queues: Vec<(String, usize)>,
    concurrency: Option<usize>,
    fast: bool,
    patience: Duration,
    poll_interval: Option<Duration>,
    retention: Option<Duration>,
    failed_retention: Option<Duration>,
    blob_grace: Option<Duration>,
}

fn begin_log(settings: &Settings) -> CliResult {
    use tracing_subscriber::EnvFilter;
    let usual = if settings.output.is_quiet() { "warn" } else { "info" };
    let wanted = std::env::var("RHYTHM_LOG").ok().filter(|text| !text.is_empty());
    let filter = EnvFilter::try_new(wanted.as_deref().unwrap_or(usual))
        .map_err(|error| CliError::BadValue(format!("RHYTHM_LOG: {error}")))?;
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    let color = crate::errors::color_wanted(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    match settings.output.is_json() {
        true => log.json().flatten_event(true).init(),
        false => log.with_ansi(color).init(),
    }
    Ok(())
}

/// Returns a future that resolves with the first SIGTERM or SIGINT. The second one ends the process.
fn stop_signal() -> CliResult<impl Future<Output = ()>> {
    let listen = |kind| signal(kind).map_err(|error| CliError::Output(error.to_string()));
    let (mut term, mut int) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    let (sender, receiver) = tokio::sync::oneshot::channel::<()>();
    tokio::spawn(async move {
        tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} }
        let _ = sender.send(());
        let code = tokio::select! { _ = term.recv() => 143, _ = int.recv() => 130 };
        std::process::exit(code);
    });
    Ok(async move {
        let _ = receiver.await;
    })
}
