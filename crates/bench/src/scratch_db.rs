//! Where it is measured: a database of its own on the server or the disk that was named, gone afterwards.

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

/// Names of databases and folders begin so.
const PREFIX: &str = "rhythm_bench_";

pub struct Ground {
    url: String,
    place: Place,
    /// Absent for SQLite.
    server: Option<Server>,
    others: Mutex<Vec<Ground>>,
}

enum Place {
    Folder {
        folder: TempDir,
        /// The folder around it was made for it.
        parent: Option<PathBuf>,
    },
    /// A database made for this.
    Database { server: String, name: String },
    /// The database that was named: its owner lets us make no other.
    Shared,
}

/// A tenant nobody has used, of about the length people give theirs.
pub fn fresh_tenant() -> TenantId {
    TenantId::new(fresh_name())
}

/// The end of an id is random.
pub fn fresh_name() -> String {
    let id = fresh_id();
    format!("bench-{}", &id[id.len() - 8..])
}

fn database_name() -> String {
    format!("{PREFIX}{}", fresh_id().replace('-', ""))
}

impl Ground {
    /// A place like the one a world URL names.
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

    /// A folder beside the file: the same disk, and never one that only pretends to sync.
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

    /// An empty database on the same server or disk, which goes with this one, where one can be made.
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
                // It is known before it is made: whoever is interrupted from here on takes it away, if it is there by then.
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

    /// As reports name it.
    pub fn world_name(&self) -> &'static str {
        if self.folder().is_some() { "sqlite" } else { "postgres" }
    }

    /// Whether what is committed survives a power cut. The worlds open SQLite so that it does.
    pub fn is_durable(&self) -> bool {
        self.server.as_ref().is_none_or(Server::is_durable)
    }

    /// The database and what its durability hangs on, in a few words.
    pub fn database(&self) -> String {
        let sqlite = || format!("SQLite {} (synchronous FULL)", rusqlite::version());
        self.server.as_ref().map_or_else(sqlite, Server::to_string)
    }

    /// What its owner should know.
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

    /// Where a SQLite database lies.
    pub fn folder(&self) -> Option<&Path> {
        match &self.place {
            Place::Folder { folder, .. } => Some(folder.path()),
            Place::Database { .. } | Place::Shared => None,
        }
    }

    pub async fn open(&self) -> Result<Arc<dyn World>, BenchError> {
        Ok(rhythm_worlds::open(&self.url, OpenOptions::default()).await?)
    }

    /// Lets a server do what it would have done by itself in the minutes after it was filled.
    pub async fn rest(&self) -> Result<(), BenchError> {
        if self.folder().is_some() {
            return Ok(());
        }
        let server = database::connect(&self.url).await?;
        server.batch_execute("VACUUM (ANALYZE)").await?;
        // Not everybody may; who may not waits for the server's own.
        let _ = server.batch_execute("CHECKPOINT").await;
        Ok(())
    }

    /// Takes everything away again.
    pub async fn remove(self) -> Result<(), BenchError> {
        let mut removed = Ok(());
        for other in self.others.into_inner().unwrap_or_else(PoisonError::into_inner) {
            removed = removed.and(Box::pin(other.remove()).await);
        }
        match self.place {
            Place::Folder { folder, parent } => {
                remove_folder(folder.keep()).await?;
                // Somebody else may have put something there meanwhile.
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

/// A worker that was told to stop, but not waited for, may still write there for a moment.
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
