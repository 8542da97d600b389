//! One laboratory per scenario: its own world, a recorder, and processes that end when the laboratory is
//! dropped, also after a panic.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rhythm::{Client, Rhythm};
use rhythm_engine::world::RunSummary;
use tempfile::TempDir;
use tokio_postgres::NoTls;

use crate::ledger::{Ledger, Line, Manners};
use crate::listing;
use crate::load;
use crate::process::{Deaths, Life, Process, program};
use crate::wait::{PATIENCE, until};

pub type LabResult<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// World a laboratory runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    Sqlite,
    Postgres,
}

/// Length of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Scale {
    /// Seconds, for `make test`.
    Short,
    /// Minutes, for `make crash`.
    Long,
}

impl Scale {
    pub fn pick<T>(self, short: T, long: T) -> T {
        match self {
            Self::Short => short,
            Self::Long => long,
        }
    }
}

/// Configuration of a laboratory.
#[derive(Clone, Debug)]
pub struct Setup {
    pub on: On,
    /// Url of the world as the laboratory itself uses it; a fresh world when None.
    pub world: Option<String>,
    pub manners: Manners,
    /// Duration of each step of the load.
    pub step_millis: u64,
}

impl Setup {
    pub fn new(on: On) -> Self {
        Self { on, world: None, manners: Manners::default(), step_millis: 5 }
    }
}

/// Options for starting a process.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Url of the world for this process when it differs from the laboratory's, such as a proxy's.
    pub world: Option<String>,
    /// Queues a worker serves; `default` when empty.
    pub queues: Vec<String>,
    pub concurrency: usize,
    pub fast: bool,
    /// Makes a worker do everything on one thread, except writes to SQLite.
    pub single_thread: bool,
    /// Milliseconds between two scripts of a client.
    pub pause: u64,
    /// Number of scripts after which a client ends.
    pub scripts: u64,
    pub environment: Vec<(String, String)>,
    /// A program and its arguments to start the process with, such as a tracer.
    pub under: Vec<String>,
}

impl Default for Launch {
    fn default() -> Self {
        Self {
            world: None,
            queues: Vec::new(),
            concurrency: 20,
            fast: false,
            single_thread: false,
            pause: 10,
            scripts: u64::MAX,
            environment: Vec::new(),
            under: Vec::new(),
        }
    }
}

impl Launch {
    pub fn fast() -> Self {
        Self { fast: true, ..Self::default() }
    }
}

pub struct Lab {
    pub on: On,
    pub world: String,
    /// Client the laboratory uses to read its world.
    pub client: Client,
    deaths: Deaths,
    pub manners: Manners,
    ledger: Mutex<Ledger>,
    launched: AtomicU64,
    lives: Mutex<Vec<Life>>,
    _recorder: Process,
    folder: TempDir,
}

impl Lab {
    /// Opens a fresh world with the load's workflows and a recorder that answers.
    pub async fn open(setup: Setup) -> LabResult<Self> {
        let folder = TempDir::with_prefix("rhythm-crash-")?;
        let world = match (setup.world, setup.on) {
            (Some(world), _) => world,
            (None, On::Sqlite) => format!("sqlite:{}", folder.path().join("rhythm.db").display()),
            (None, On::Postgres) => fresh_database().await?,
        };
        let client = Rhythm::open(&world).await?.client();
        load::register(&client, setup.step_millis).await?;
        let deaths = Deaths::default();
        let mut command = Command::new(program("crash-recorder")?);
        command.arg(folder.path().join("recorder")).arg(folder.path().join("ledger"));
        if setup.manners.dedupe {
            command.arg("--dedupe");
        }
        if setup.manners.fence {
            command.arg("--fence");
        }
        let recorder = Process::start(&mut command, "recorder", folder.path().join("recorder.log"), &deaths)?;
        let lab = Self {
            on: setup.on,
            world,
            client,
            deaths,
            manners: setup.manners,
            ledger: Mutex::new(Ledger::at(folder.path().join("ledger"))),
            launched: AtomicU64::new(0),
            lives: Mutex::new(vec![recorder.life()]),
            _recorder: recorder,
            folder,
        };
        let socket = lab.recorder_socket();
        if !until(Duration::from_secs(20), || std::future::ready(socket.exists())).await {
            return Err("the recorder did not come up".into());
        }
        Ok(lab)
    }

    /// Closes the laboratory's own world handle, so that only the processes have the world open.
    pub async fn close_eyes(&mut self) -> LabResult<()> {
        self.client = Rhythm::open("sqlite::memory:").await?.client();
        Ok(())
    }

    pub async fn open_eyes(&mut self) -> LabResult<()> {
        self.client = Rhythm::open(&self.world).await?.client();
        Ok(())
    }

    pub async fn new(on: On) -> LabResult<Self> {
        Self::open(Setup::new(on)).await
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn recorder_socket(&self) -> PathBuf {
        self.folder.path().join("recorder")
    }

    /// Starts a worker process.
    pub fn worker(&self, launch: &Launch) -> io::Result<Process> {
        let name = format!("worker-{}", self.launched.fetch_add(1, Ordering::Relaxed));
        let mut command = self.command("crash-worker", launch)?;
        command.arg(self.recorder_socket()).arg("--name").arg(&name);
        command.arg("--concurrency").arg(launch.concurrency.to_string());
        for queue in &launch.queues {
            command.arg("--queue").arg(queue);
        }
        if launch.fast {
            command.arg("--fast");
        }
        if launch.single_thread {
            command.arg("--single-thread");
        }
        self.start(command, &name)
    }

    /// Starts a client process, or restarts it after a kill. Its name selects the log it continues from.
    pub fn client_process(&self, name: &str, launch: &Launch) -> io::Result<Process> {
        let mut command = self.command("crash-client", launch)?;
        command.arg(self.client_log(name)).arg("--name").arg(name).arg("--until").arg(self.curtain());
        command.arg("--pause").arg(launch.pause.to_string());
        command.arg("--scripts").arg(launch.scripts.to_string());
        let life = self.launched.fetch_add(1, Ordering::Relaxed);
        self.start(command, &format!("{name}-{life}"))
    }

    /// Builds the command of a program, with the world as its first argument.
    fn command(&self, name: &str, launch: &Launch) -> io::Result<Command> {
        let own = program(name)?;
        let mut command = match launch.under.split_first() {
            None => Command::new(own),
            Some((tracer, arguments)) => {
                let mut command = Command::new(tracer);
                command.args(arguments).arg(own);
                command
            }
        };
        command.arg(launch.world.as_ref().unwrap_or(&self.world));
        command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    fn start(&self, mut command: Command, name: &str) -> io::Result<Process> {
        let errors = self.folder.path().join(format!("{name}.log"));
        let process = Process::start(&mut command, name, errors, &self.deaths)?;
        self.lives.lock().unwrap_or_else(PoisonError::into_inner).push(process.life());
        Ok(process)
    }

    /// Returns and clears the list of processes of this laboratory that ended without being asked to.
    pub fn deaths(&self) -> Vec<String> {
        for life in &*self.lives.lock().unwrap_or_else(PoisonError::into_inner) {
            life.note_death();
        }
        std::mem::take(&mut *self.deaths.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Asks clients to end after their current script.
    pub fn draw_curtain(&self) -> io::Result<()> {
        std::fs::write(self.curtain(), b"")
    }

    fn curtain(&self) -> PathBuf {
        self.folder.path().join("curtain")
    }

    pub fn client_log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.calls"))
    }

    /// Returns the paths of all client logs.
    pub fn client_logs(&self) -> io::Result<Vec<PathBuf>> {
        let mut logs = Vec::new();
        for entry in std::fs::read_dir(self.folder.path())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "calls") {
                logs.push(path);
            }
        }
        Ok(logs)
    }

    /// Returns the reports of attempts so far.
    pub fn ledger(&self) -> io::Result<Vec<Line>> {
        Ok(self.lock_ledger().lines()?.to_vec())
    }

    /// Counts the lines of the ledger that match.
    pub fn count(&self, like: impl Fn(&Line) -> bool) -> io::Result<usize> {
        Ok(self.lock_ledger().lines()?.iter().filter(|line| like(line)).count())
    }

    fn lock_ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks the clients to end once at least `runs` runs have ended or `PATIENCE` is over. The number of runs
    /// that have ended after the last fault depends on the machine.
    pub async fn draw_curtain_after(&self, runs: u64) -> LabResult<()> {
        let ended = |run: &&RunSummary| run.ended_at.is_some();
        let enough = || async {
            listing::runs(&self.client).await.is_ok_and(|all| all.iter().filter(ended).count() as u64 >= runs)
        };
        until(PATIENCE, enough).await;
        Ok(self.draw_curtain()?)
    }

    /// Waits until no run and no task is open. Returns false on timeout.
    pub async fn comes_to_rest(&self, patience: Duration) -> bool {
        until(patience, || async {
            let health = self.client.world().health().await;
            health.is_ok_and(|health| health.live_runs == 0 && health.open_tasks == 0)
        })
        .await
    }
}

async fn fresh_database() -> LabResult<String> {
    let server = std::env::var("RHYTHM_TEST_POSTGRES").map_err(
        |_| "RHYTHM_TEST_POSTGRES names no server: run this through `make test`, `make crash` or scripts/with-postgres.sh",
    )?;
    let (db, connection) = tokio_postgres::connect(&server, NoTls).await?;
    tokio::spawn(connection);
    let name = format!("crash_{}", uuid::Uuid::now_v7().simple());
    db.batch_execute(&format!("CREATE DATABASE {name}")).await?;
    let (base, _) = server.rsplit_once('/').ok_or("RHYTHM_TEST_POSTGRES is no url")?;
    Ok(format!("{base}/{name}"))
}
