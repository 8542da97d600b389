//! Errors between the engine and a world, named by the caller's next action.

use thiserror::Error;

pub type WorldResult<T> = Result<T, WorldError>;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorldError {
    /// Try again later. The request may or may not have taken effect.
    #[error("the world cannot be reached: {0}")]
    Unavailable(String),
    /// Another process holds the database lock; try again.
    #[error("the database is locked by another process: {0}")]
    Locked(String),
    #[error("the database is read-only: {0}")]
    ReadOnly(String),
    #[error("the database has no room left: {0}")]
    Full(String),
    /// The database server has no free connection slots.
    #[error("the database server takes no more connections: {0}")]
    Crowded(String),
    /// The server's certificate, or ours, was rejected.
    #[error("no encrypted connection to the database: {0}")]
    Untrusted(String),
    /// This handle is unusable: no more writes go through it. Only a new process may try again.
    #[error("the world broke: {0}")]
    Broken(String),
    #[error("access was refused: {0}")]
    Denied(String),
    #[error("{0} was not found")]
    NotFound(String),
    /// The request contradicts what is stored.
    #[error("{0}")]
    Conflict(String),
    /// The request itself is wrong.
    #[error("{0}")]
    Invalid(String),
    #[error("stored data is damaged: {0}")]
    Corrupt(String),
    #[error("the database has schema version {found}, this build knows up to {known}")]
    NewerSchema { found: i64, known: i64 },
    #[error("the database has schema version {found}, this build needs {needed}")]
    OldSchema { found: i64, needed: i64 },
    #[error("migration {version} was changed after it was applied")]
    Drift { version: i64 },
    #[error("this world URL is not understood: {0}")]
    BadUrl(String),
    /// The server answers, but the database does not exist.
    #[error("there is no database {name:?} on {server}: `createdb {name}` makes it")]
    NoDatabase { name: String, server: String },
    /// Whoever only reads makes no database.
    #[error("there is no database at {0}")]
    NoFile(String),
    /// What the URL names is something else.
    #[error("{0}")]
    NotADatabase(String),
}

impl WorldError {
    /// Returns the stable code; `docs/errors/<code>.md` explains it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "WORLD001",
            Self::Locked(_) => "WORLD002",
            Self::ReadOnly(_) => "WORLD003",
            Self::Full(_) => "WORLD004",
            Self::Denied(_) => "WORLD005",
            Self::NotFound(_) => "WORLD006",
            Self::Conflict(_) => "WORLD007",
            Self::Invalid(_) => "WORLD008",
            Self::Corrupt(_) => "WORLD009",
            Self::NewerSchema { .. } => "WORLD010",
            Self::OldSchema { .. } => "WORLD011",
            Self::Drift { .. } => "WORLD012",
            Self::BadUrl(_) => "WORLD013",
            Self::Broken(_) => "WORLD014",
            Self::Crowded(_) => "WORLD015",
            Self::Untrusted(_) => "WORLD016",
            Self::NoDatabase { .. } => "WORLD018",
            Self::NotADatabase(_) => "WORLD019",
            Self::NoFile(_) => "WORLD020",
        }
    }

    /// Returns advice for the operator.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Unavailable(_) => "check that the database runs and that the world URL names it",
            Self::Locked(_) => "stop the process that holds it, or wait and try again",
            Self::ReadOnly(_) => "make the file and its folder writable for this user",
            Self::Full(_) => "free some space; work goes on by itself afterwards",
            Self::Crowded(_) => {
                "raise the server's max_connections, stop a process, or let each take fewer: ?connections=1 in the world URL"
            }
            Self::Untrusted(_) => {
                "check sslmode, sslrootcert and the host in the world URL, or the server's certificate"
            }
            Self::Broken(_) => "check the disk, then start the process again",
            Self::NoDatabase { .. } => "create the database, or correct its name in the world URL",
            Self::NoFile(_) => {
                "name the database with --world or RHYTHM_WORLD; `rhythm workflows register` and `rhythm worker` make a new one"
            }
            Self::NotADatabase(_) => {
                "name the file of the database: `sqlite:PATH`; it is made if it is not there"
            }
            Self::Denied(_) => "check user and password in the world URL",
            Self::NotFound(_) => "check the name; listings such as `rhythm runs list` show what exists",
            Self::Conflict(_) => "look at what is stored before trying again",
            Self::Invalid(_) => "correct the request",
            Self::Corrupt(_) => "restore the file from a backup; run `rhythm db doctor` for details",
            Self::NewerSchema { .. } => "use a newer `rhythm` for this database",
            Self::OldSchema { .. } => "run `rhythm db migrate` first",
            Self::Drift { .. } => "use the build that created this database, or restore it",
            Self::BadUrl(_) => "use sqlite:PATH, sqlite::memory: or postgres://USER@HOST/DATABASE",
        }
    }

    /// Returns whether the same request may succeed later without intervention.
    pub fn is_passing(&self) -> bool {
        // A database that fails over is read-only for a while.
        matches!(
            self,
            Self::Unavailable(_) | Self::Locked(_) | Self::Full(_) | Self::ReadOnly(_) | Self::Crowded(_)
        )
    }
}
