//! One laboratory per test: a database of its own, a ledger, and processes that are gone when the test is.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rhythm::{Client, Rhythm};
use tempfile::TempDir;
use tokio_postgres::NoTls;

/// Which world a laboratory stands on.
#[derive(Clone, Copy, Debug)]
pub enum On {
    Sqlite,
    Postgres,
}

pub struct Lab {
    pub world: String,
    pub client: Client,
    ledger: PathBuf,
    _folder: TempDir,
}

/// A worker process; killed when dropped.
pub struct Process(Child);

impl Lab {
    pub async fn new(on: On) -> Self {
        let folder = TempDir::new().unwrap();
        let world = match on {
            On::Sqlite => format!("sqlite:{}", folder.path().join("rhythm.db").display()),
            On::Postgres => fresh_database().await,
        };
        let rhythm = Rhythm::open(&world).await.unwrap();
        Self { client: rhythm.client(), ledger: folder.path().join("ledger"), world, _folder: folder }
    }

    pub fn worker(&self, arguments: &[&str]) -> Process {
        let child = Command::new(env!("CARGO_BIN_EXE_crash-worker"))
            .arg(&self.world)
            .arg(&self.ledger)
            .args(arguments)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Process(child)
    }

    /// What processes wrote: (what, key, process).
    pub fn ledger(&self) -> Vec<(String, String, u32)> {
        let text = std::fs::read_to_string(&self.ledger).unwrap_or_default();
        let line = |line: &str| {
            let mut words = line.split(' ').map(str::to_owned);
            let mut word = || words.next().unwrap();
            (word(), word(), word().parse().unwrap())
        };
        text.lines().map(line).collect()
    }

    pub fn ledger_keys(&self, what: &str, process: u32) -> BTreeSet<String> {
        let lines = self.ledger().into_iter();
        lines.filter(|(w, _, p)| w == what && *p == process).map(|(_, key, _)| key).collect()
    }
}

impl Process {
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    pub fn signal(&self, name: &str) {
        let status =
            Command::new("kill").arg(format!("-{name}")).arg(self.id().to_string()).status().unwrap();
        assert!(status.success());
    }

    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn fresh_database() -> String {
    let server = std::env::var("RHYTHM_TEST_POSTGRES")
        .expect("RHYTHM_TEST_POSTGRES names no server: run the tests through `make test`");
    let (db, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = format!("crash_{}", uuid::Uuid::now_v7().simple());
    db.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let (base, _) = server.rsplit_once('/').unwrap();
    format!("{base}/{name}")
}

/// Waits for a condition; a test that waits this long has failed.
pub async fn eventually<F, Fut>(what: &str, mut condition: F)
where
    F: FnMut() -> Fut,
    Fut: Future<Output = bool>,
{
    let give_up = Instant::now() + Duration::from_secs(60);
    while !condition().await {
        assert!(Instant::now() < give_up, "waited too long until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
