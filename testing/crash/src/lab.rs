//! One laboratory per scenario: a world of its own, a recorder, and processes that are gone when the laboratory
//! is, also after a panic.

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

/// Which world a laboratory stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum On {
    Sqlite,
    Postgres,
}

/// How much of a scenario is played.
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

/// What a laboratory is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    pub on: On,
    /// The world's url as the laboratory itself uses it; a fresh one when absent.
    pub world: Option<String>,
    pub manners: Manners,
    /// How long each step of the load takes.
    pub step_millis: u64,
}

impl Setup {
    pub fn new(on: On) -> Self {
        Self { on, world: None, manners: Manners::default(), step_millis: 5 }
    }
}

/// How a process is started.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The world's url for this process, when it is not the laboratory's: a proxy's, say.
    pub world: Option<String>,
    /// Queues a worker serves; `default` when empty.
    pub queues: Vec<String>,
    pub concurrency: usize,
    pub fast: bool,
    /// A worker does everything but SQLite's writing on one thread.
    pub single_thread: bool,
    /// Milliseconds between two scripts of a client.
    pub pause: u64,
    /// A client ends after this many scripts.
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
    /// The laboratory's own eyes.
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
    /// A fresh world with the load's workflows, and a recorder that answers.
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

    /// Gives the laboratory's own handle back: from now on only the processes have the world open.
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

    /// Starts a client process, or starts it again after a kill: the name says where it goes on.
    pub fn client_process(&self, name: &str, launch: &Launch) -> io::Result<Process> {
        let mut command = self.command("crash-client", launch)?;
        command.arg(self.client_log(name)).arg("--name").arg(name).arg("--until").arg(self.curtain());
        command.arg("--pause").arg(launch.pause.to_string());
        command.arg("--scripts").arg(launch.scripts.to_string());
        let life = self.launched.fetch_add(1, Ordering::Relaxed);
        self.start(command, &format!("{name}-{life}"))
    }

    /// The program with the world as its first argument.
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

    /// Every end so far that nobody asked for, of any process ever started here.
    pub fn deaths(&self) -> Vec<String> {
        for life in &*self.lives.lock().unwrap_or_else(PoisonError::into_inner) {
            life.note_death();
        }
        std::mem::take(&mut *self.deaths.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells clients to end after what they are at.
    pub fn draw_curtain(&self) -> io::Result<()> {
        std::fs::write(self.curtain(), b"")
    }

    fn curtain(&self) -> PathBuf {
        self.folder.path().join("curtain")
    }

    pub fn client_log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.calls"))
    }

    /// Every client log there is.
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

    /// What attempts have reported so far.
    pub fn ledger(&self) -> io::Result<Vec<Line>> {
        Ok(self.lock_ledger().lines()?.to_vec())
    }

    /// How many lines of the ledger are like this.
    pub fn count(&self, like: impl Fn(&Line) -> bool) -> io::Result<usize> {
        Ok(self.lock_ledger().lines()?.iter().filter(|line| like(line)).count())
    }

    fn lock_ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Draws the curtain once at least so many runs have ended, or nobody can wait any longer: how many are done when
    /// the last fault strikes depends on the machine.
    pub async fn draw_curtain_after(&self, runs: u64) -> LabResult<()> {
        let ended = |run: &&RunSummary| run.ended_at.is_some();
        let enough = || async {
            listing::runs(&self.client).await.is_ok_and(|all| all.iter().filter(ended).count() as u64 >= runs)
        };
        until(PATIENCE, enough).await;
        Ok(self.draw_curtain()?)
    }

    /// Waits until no run and no task is open; false when that takes too long.
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
