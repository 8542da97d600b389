//! Opens connections: chooses the file and the settings.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rhythm_engine::world::{WorldError, WorldResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::errors;

/// Size to which the write-ahead log is cut after it has grown. It grows while an old snapshot is open, and
/// is far smaller otherwise.
const LOG_KEPT_BYTES: i64 = 64 << 20;

/// Location of the database.
#[derive(Clone, Debug)]
pub enum Place {
    File(PathBuf),
    /// A database of this process only, gone with its last connection.
    Memory {
        name: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Create,
    Write,
    Read,
}

impl Place {
    /// Parses the part of a world URL after `sqlite:`.
    pub fn of(path: &Path) -> Self {
        if path == Path::new(":memory:") {
            return Self::Memory { name: super::liveness::fresh_id() };
        }
        Self::File(path.to_owned())
    }

    /// Creates the folder of the file.
    pub fn prepare(&self) -> WorldResult<()> {
        match self {
            Self::File(file) => match file.parent() {
                Some(folder) if !folder.as_os_str().is_empty() => std::fs::create_dir_all(folder)
                    .map_err(|error| errors::from_io(&folder.display().to_string(), &error)),
                _ => Ok(()),
            },
            Self::Memory { .. } => Ok(()),
        }
    }

    pub fn connect(&self, access: Access, busy_timeout: Duration) -> WorldResult<Connection> {
        let mut flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags |= match access {
            Access::Create => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Access::Write | Access::Read => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let opened = match self {
            Self::File(file) => Connection::open_with_flags(file, flags),
            Self::Memory { name } => {
                let url = format!("file:/rhythm-{name}?vfs=memdb");
                Connection::open_with_flags(url, flags | OpenFlags::SQLITE_OPEN_URI)
            }
        };
        let settled = opened.and_then(|connection| {
            self.settle(&connection, access, busy_timeout)?;
            Ok(connection)
        });
        let connection = match (settled, self) {
            (Ok(connection), Self::File(file)) if access == Access::Read && !can_be_read(&connection) => {
                drop(connection);
                self.connect_to_copy(file, busy_timeout)
            }
            (Err(error), Self::File(file)) if access == Access::Read && errors::is_no_access(&error) => {
                self.connect_to_copy(file, busy_timeout)
            }
            (settled, _) => settled,
        };
        // A file that can be read is there: what cannot be opened is the log beside it.
        let is_readable = |file: &Path| std::fs::File::open(file).is_ok();
        let connection = connection.map_err(|error| match self {
            Self::File(file) if errors::is_no_access(&error) && is_readable(file) => {
                WorldError::ReadOnly(format!("{self}: {error}"))
            }
            _ => self.named(error),
        })?;
        if access != Access::Read && connection.is_readonly("main").unwrap_or(false) {
            return Err(WorldError::ReadOnly(self.to_string()));
        }
        Ok(connection)
    }

    /// Opens a file in a folder where nothing can be written: the log has no index, and none can be made. So nobody can be
    /// writing either, and the locks, which would have to be written too, are not needed.
    fn connect_to_copy(&self, file: &Path, busy_timeout: Duration) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_ONLY;
        let mut log = file.as_os_str().to_owned();
        log.push("-wal");
        let connection = match Path::new(&log).exists() {
            // The index of the log is built in memory.
            true => {
                let connection = Connection::open_with_flags_and_vfs(file, flags, c"unix-none")?;
                connection.pragma_update(None, "locking_mode", "exclusive")?;
                connection
            }
            false => Connection::open_with_flags(unchanging(file), flags | OpenFlags::SQLITE_OPEN_URI)?,
        };
        self.settle(&connection, Access::Read, busy_timeout)?;
        Ok(connection)
    }

    fn settle(&self, connection: &Connection, access: Access, patience: Duration) -> rusqlite::Result<()> {
        connection.busy_timeout(patience)?;
        connection.set_prepared_statement_cache_capacity(256);
        // Plans must not depend on bound values: SQLite would plan a cached statement again for every new
        // value.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        connection.pragma_update(None, "foreign_keys", false)?;
        connection.pragma_update(None, "temp_store", "memory")?;
        // In kilobytes. More would slow down every commit: after it swaps two pages of a b-tree, SQLite walks
        // the whole cache.
        connection.pragma_update(
            None,
            "cache_size",
            if access == Access::Read { -8_192 } else { -16_384 },
        )?;
        match self {
            Self::Memory { .. } => connection.pragma_update(None, "journal_mode", "memory")?,
            // The mode is stored in the file, so readers need not set it.
            Self::File(_) if access == Access::Read => {}
            Self::File(_) => {
                use_write_ahead_log(connection, patience)?;
                connection.pragma_update(None, "synchronous", "full")?;
                connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
                connection.pragma_update(None, "journal_size_limit", LOG_KEPT_BYTES)?;
            }
        }
        if access == Access::Read {
            connection.pragma_update(None, "query_only", true)?;
        }
        Ok(())
    }

    fn named(&self, error: rusqlite::Error) -> WorldError {
        let with_name = |text: String| format!("{self}: {text}");
        match errors::from_sqlite(error) {
            WorldError::Unavailable(text) => WorldError::Unavailable(with_name(text)),
            WorldError::Locked(text) => WorldError::Locked(with_name(text)),
            WorldError::ReadOnly(text) => WorldError::ReadOnly(with_name(text)),
            WorldError::Corrupt(text) => WorldError::Corrupt(with_name(text)),
            other => other,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(file) => file.display().fmt(f),
            Self::Memory { .. } => f.write_str(":memory:"),
        }
    }
}

/// The first look at a file whose log has no index needs to make one.
fn can_be_read(connection: &Connection) -> bool {
    match connection.query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(())) {
        Err(error) => !errors::is_no_access(&error),
        Ok(()) => true,
    }
}

/// A URI that tells SQLite that nobody changes the file.
fn unchanging(file: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in file.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(*byte)),
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}

/// Changing the mode does not wait for others by itself, and several processes may begin at once.
fn use_write_ahead_log(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let give_up = Instant::now() + patience;
    loop {
        match connection.pragma_update(None, "journal_mode", "wal") {
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
                    && Instant::now() < give_up =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            answer => return answer,
        }
    }
}

/// Limits the size of the file.
pub fn limit(connection: &Connection, bytes: u64) -> WorldResult<()> {
    let set = || {
        let page_size: i64 = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let pages = i64::try_from(bytes).unwrap_or(i64::MAX) / page_size.max(1);
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
    };
    set().map_err(errors::from_sqlite)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 is FULL: a commit is answered when the disk has the data, not just the operating system.
    #[test]
    fn whoever_writes_waits_for_the_disk() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::of(&folder.path().join("a.db"));
        for access in [Access::Create, Access::Write] {
            let connection = place.connect(access, Duration::from_secs(1)).unwrap();
            let pragma =
                |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, String>(0));
            let level = connection.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0));
            assert_eq!((pragma("journal_mode").unwrap().as_str(), level.unwrap()), ("wal", 2));
        }
    }
}
