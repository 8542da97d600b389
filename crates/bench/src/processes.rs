//! Workers in processes of their own, and figures the system has of a process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rhythm_core::TenantId;
use rhythm_engine::client::Client;
use rhythm_engine::drive::Stopper;
use rhythm_engine::world::World;
use rhythm_worlds::OpenOptions;
use tempfile::TempDir;

use crate::BenchError;
use crate::check::has_open_runs;
use crate::handler::{Noop, Tally};
use crate::in_process::{PATIENCE, assemble, client};
use crate::scratch_db::{Ground, fresh_tenant};
use crate::wait::{Look, until};

/// The system counts CPU time in ticks of a hundredth of a second.
const TICKS_PER_S: f64 = 100.0;

/// A process that ends with the measurement, even when that is killed.
pub struct OwnProcess(Child);

impl OwnProcess {
    /// Starts `rhythm ARGUMENTS` from the same build.
    pub fn rhythm(world: &str, arguments: &[&str]) -> Result<Self, BenchError> {
        let mut command = Command::new(std::env::current_exe()?);
        // Every user of the machine can read arguments, so a URL with a password goes into the environment.
        command.args(arguments).env("RHYTHM_WORLD", world);
        // Nothing is written to this pipe. Its other end closes when this process ends, however it ends.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.spawn()?))
    }

    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills the process with SIGKILL.
    pub fn kill(&mut self) -> Result<(), BenchError> {
        self.0.kill()?;
        self.0.wait()?;
        Ok(())
    }

    pub fn rss_mb(&self) -> Result<f64, BenchError> {
        proc_mb(&self.proc_file("status"), "VmRSS:").ok_or_else(|| self.ended())
    }

    pub fn cpu_seconds(&self) -> Result<f64, BenchError> {
        let stat = std::fs::read_to_string(self.proc_file("stat"))?;
        // Fields 14 and 15 are user and system time; they are counted from the bracket after the command.
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks = |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok());
        let (user, system) = ticks(11).zip(ticks(12)).ok_or_else(|| self.ended())?;
        Ok((user + system) / TICKS_PER_S)
    }

    fn proc_file(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.id().to_string()).join(name)
    }

    fn ended(&self) -> BenchError {
        BenchError::NotMeasured("the worker ended while it was watched".into())
    }
}

impl Drop for OwnProcess {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// Returns the memory of this process, where the system tells.
pub fn own_rss_mb() -> Option<f64> {
    proc_mb(Path::new("/proc/self/status"), "VmRSS:")
}

/// Reads a line of a system file by its prefix and converts its kilobytes to megabytes.
pub fn proc_mb(file: &Path, name: &str) -> Option<f64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Arguments of a worker in a process of its own, besides the world.
#[derive(Clone, Debug)]
pub struct WorkerOrders {
    pub tenant: TenantId,
    /// File that gets a byte for every execution.
    pub tally: PathBuf,
    pub concurrency: u32,
}

/// Workers in processes of their own, all for one tenant, and a client of that tenant.
pub struct Team {
    pub client: Client,
    url: String,
    orders: WorkerOrders,
    _folder: TempDir,
}

impl Team {
    pub fn new(ground: &Ground, world: &Arc<dyn World>, concurrency: u32) -> Result<Self, BenchError> {
        let folder = TempDir::new()?;
        let (tenant, tally) = (fresh_tenant(), folder.path().join("tally"));
        Tally::open(&tally)?;
        Ok(Self {
            client: client(world.clone(), tenant.clone()),
            url: ground.url().to_owned(),
            orders: WorkerOrders { tenant, tally, concurrency },
            _folder: folder,
        })
    }

    pub fn executions(&self) -> Result<u64, BenchError> {
        Ok(Tally::count(&self.orders.tally)?)
    }

    /// Starts a worker process, which runs [`serve`].
    pub fn spawn(&self) -> Result<OwnProcess, BenchError> {
        let WorkerOrders { tenant, tally, concurrency } = &self.orders;
        let (tally, concurrency) = (tally.display().to_string(), concurrency.to_string());
        let told = ["--tenant", &tenant.0, "--tally", &tally, "--concurrency", &concurrency];
        OwnProcess::rhythm(&self.url, &[&["bench", "worker"], &told[..]].concat())
    }

    /// Starts `count` workers and waits until the world knows all of them.
    pub async fn spawn_all(&self, count: u32) -> Result<Vec<OwnProcess>, BenchError> {
        let processes = (0..count).map(|_| self.spawn()).collect::<Result<Vec<_>, _>>()?;
        let mut known = 0;
        until(async || {
            known = self.client.world().workers(self.client.tenant()).await?.len();
            Ok(Look { done: known >= processes.len(), moved: known as u64 })
        })
        .await?;
        match known >= processes.len() {
            true => Ok(processes),
            false => Err(BenchError::NotMeasured(format!("only {known} of {count} workers came up"))),
        }
    }

    /// Waits until there were this many handler executions.
    pub async fn until_executed(&self, executions: u64) -> Result<(), BenchError> {
        until(async || {
            let moved = self.executions()?;
            Ok(Look { done: moved >= executions, moved })
        })
        .await
    }

    /// Waits until there were at least this many executions and every run has ended.
    pub async fn until_ended(&self, executions: u64) -> Result<(), BenchError> {
        self.until_executed(executions).await?;
        until(async || {
            let done = !has_open_runs(&self.client).await?;
            Ok(Look { done, moved: self.executions()? })
        })
        .await
    }
}

/// Runs such a worker until its parent process is gone.
pub async fn serve(url: &str, orders: WorkerOrders) -> Result<(), BenchError> {
    let world = rhythm_worlds::open(url, OpenOptions::default()).await?;
    let noop = Noop { tally: Some(Arc::new(Tally::open(&orders.tally)?)), ..Noop::default() };
    let (_, driver) = assemble(world, orders.tenant, orders.concurrency, noop);
    stop_with_parent(driver.stopper());
    Ok(driver.run(PATIENCE).await?)
}

fn stop_with_parent(stopper: Stopper) {
    // A thread, because the read cannot be interrupted; it ends with the process.
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        stopper.stop();
    });
}
