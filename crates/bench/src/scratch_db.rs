//! The database to measure in: a new one on the named server or disk, removed afterwards.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rhythm_core::TenantId;
use rhythm_engine::client::fresh_id;
use rhythm_engine::world::World;
use rhythm_worlds::OpenOptions;
use tempfile::TempDir;
use tokio_postgres::error::SqlState;

use crate::BenchError;
use crate::database::{self, database_named};
use crate::server::Server;

/// Prefix of the names of databases and folders.
const PREFIX: &str = "rhythm_bench_";

pub struct Ground {
    url: String,
    place: Place,
    /// None for SQLite.
    server: Option<Server>,
    others: Mutex<Vec<Ground>>,
}

enum Place {
    Folder {
        folder: TempDir,
        /// Parent folder, if it had to be created.
        parent: Option<PathBuf>,
    },
    /// A database created for the measurement.
    Database { server: String, name: String },
    /// The named database, because its owner may not create another one.
    Shared,
}

/// Returns an unused tenant id, about as long as typical ones.
pub fn fresh_tenant() -> TenantId {
    TenantId::new(fresh_name())
}

/// Only the end of an id is random, so that part is used.
pub fn fresh_name() -> String {
    let id = fresh_id();
    format!("bench-{}", &id[id.len() - 8..])
}

fn database_name() -> String {
    format!("{PREFIX}{}", fresh_id().replace('-', ""))
}

impl Ground {
    /// Opens a ground of the same kind as a world URL.
    pub async fn like(url: &str) -> Result<Self, BenchError> {
        rhythm_worlds::check_url(url)?;
        match url.strip_prefix("sqlite:") {
            Some(":memory:") => Err(BenchError::NotMeasured(
                "a database in memory keeps nothing, so its figures mean nothing; name a file".into(),
            )),
            Some(path) => Self::beside(Path::new(path)),
            None => Self::on_server(url).await,
        }
    }

    /// Creates a folder beside the file: on the same disk, and never on one that only pretends to sync.
    fn beside(file: &Path) -> Result<Self, BenchError> {
        let parent = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let made = !parent.exists();
        std::fs::create_dir_all(parent)?;
        let parent = parent.canonicalize()?;
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(&parent)?;
        let url = format!("sqlite:{}", folder.path().join("bench.db").display());
        let place = Place::Folder { folder, parent: made.then_some(parent) };
        Ok(Self { url, place, server: None, others: Mutex::default() })
    }

    async fn on_server(url: &str) -> Result<Self, BenchError> {
        let server = database::connect(url).await?;
        let settings = Server::of(&server).await?;
        let name = database_name();
        let place = match server.batch_execute(&format!("CREATE DATABASE {name}")).await {
            Ok(()) => Place::Database { server: url.to_owned(), name: name.clone() },
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => Place::Shared,
            Err(error) => return Err(error.into()),
        };
        let url = match place {
            Place::Shared => url.to_owned(),
            _ => database_named(url, &name),
        };
        Ok(Self { url, place, server: Some(settings), others: Mutex::default() })
    }

    /// Creates an empty database on the same server or disk, which is removed with this one. Returns None
    /// where none can be created.
    pub async fn open_another(&self) -> Result<Option<Arc<dyn World>>, BenchError> {
        let keep = |other: Ground| {
            let url = other.url.clone();
            self.others.lock().unwrap_or_else(PoisonError::into_inner).push(other);
            url
        };
        let url = match &self.place {
            Place::Folder { folder, .. } => keep(Self::beside(folder.path())?),
            Place::Database { server, .. } => {
                let name = database_name();
                let url = database_named(server, &name);
                let place = Place::Database { server: server.clone(), name: name.clone() };
                // Recorded before it is created, so that an interruption from here on still removes it.
                let url = keep(Self { url, place, server: None, others: Mutex::default() });
                let server = database::connect(server).await?;
                server.batch_execute(&format!("CREATE DATABASE {name}")).await?;
                url
            }
            Place::Shared => return Ok(None),
        };
        Ok(Some(rhythm_worlds::open(&url, OpenOptions::default()).await?))
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the name of the world for reports.
    pub fn world_name(&self) -> &'static str {
        if self.folder().is_some() { "sqlite" } else { "postgres" }
    }

    /// Returns whether commits survive a power cut. The worlds always open SQLite that way.
    pub fn is_durable(&self) -> bool {
        self.server.as_ref().is_none_or(Server::is_durable)
    }

    /// Describes the database and its durability settings in a few words.
    pub fn database(&self) -> String {
        let sqlite = || format!("SQLite {} (synchronous FULL)", rusqlite::version());
        self.server.as_ref().map_or_else(sqlite, Server::to_string)
    }

    /// Remarks for the owner of the database.
    pub fn remarks(&self) -> Vec<String> {
        let shared = matches!(self.place, Place::Shared).then(|| {
            "no database could be created (42501), so this measures in the named one, under tenants of its own; \
             what it writes stays there until retention removes it"
                .to_owned()
        });
        let lossy = (!self.is_durable())
            .then(|| format!("not durable, so its figures are no measure: {}", self.database()));
        shared.into_iter().chain(lossy).collect()
    }

    /// Returns the folder of a SQLite database.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder { folder, .. } => Some(folder.path()),
            Place::Database { .. } | Place::Shared => None,
        }
    }

    pub async fn open(&self) -> Result<Arc<dyn World>, BenchError> {
        Ok(rhythm_worlds::open(&self.url, OpenOptions::default()).await?)
    }

    /// Makes a server do the maintenance that it would do itself in the minutes after a fill.
    pub async fn rest(&self) -> Result<(), BenchError> {
        if self.folder().is_some() {
            return Ok(());
        }
        let server = database::connect(&self.url).await?;
        server.batch_execute("VACUUM (ANALYZE)").await?;
        // Needs a privilege. Without it, the server's own checkpoint has to do.
        let _ = server.batch_execute("CHECKPOINT").await;
        Ok(())
    }

    /// Removes everything that was created.
    pub async fn remove(self) -> Result<(), BenchError> {
        let mut removed = Ok(());
        for other in self.others.into_inner().unwrap_or_else(PoisonError::into_inner) {
            removed = removed.and(Box::pin(other.remove()).await);
        }
        match self.place {
            Place::Folder { folder, parent } => {
                remove_folder(folder.keep()).await?;
                // Fails when another process has put something there.
                let _ = parent.map(std::fs::remove_dir);
            }
            Place::Database { server, name } => {
                let server = database::connect(&server).await?;
                server.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await?;
            }
            Place::Shared => {}
        }
        removed
    }
}

/// Removes a folder, with retries: a worker that was asked to stop may still write there for a moment.
async fn remove_folder(path: PathBuf) -> std::io::Result<()> {
    let mut tries = 50;
    loop {
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(_) if tries > 0 => tries -= 1,
            removed => return removed,
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
