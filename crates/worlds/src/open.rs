//! Opens a world by its URL. The only place that knows all backends by name.

use std::io::Read;
use std::sync::Arc;

use rhythm_engine::world::{Clock, World, WorldError, WorldResult};

use crate::postgres::{PostgresOptions, PostgresWorld};
use crate::sqlite::{SqliteOptions, SqliteWorld};

/// URL for users who give none: one file in the current folder.
pub const DEFAULT_URL: &str = "sqlite:.rhythm/rhythm.db";

const POSTGRES_FORM: &str = "postgres://USER@HOST/DATABASE";
/// First bytes of an SQLite file. The last one is no text.
const MAGIC: [u8; 16] = *b"SQLite format 3\0";
const MEMORY: &str = ":memory:";

/// Options for opening a world.
#[derive(Clone)]
pub struct OpenOptions {
    /// Applies pending migrations; otherwise an older schema is refused.
    pub auto_migrate: bool,
    /// Only look: nothing is created, brought up to date or written, and what would write is refused.
    pub reading: bool,
    /// Time for tests; the world's own otherwise.
    pub clock: Option<Arc<dyn Clock>>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self { auto_migrate: true, reading: false, clock: None }
    }
}

/// A parsed world URL.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A path, or `:memory:`.
    Sqlite(String),
    Postgres(String),
}

/// Opens `sqlite:PATH`, `sqlite::memory:` or `postgres://` (also written `postgresql://`). Fails if the URL
/// is malformed, the database cannot be reached, or its schema does not fit this build.
pub async fn open(url: &str, options: OpenOptions) -> WorldResult<Arc<dyn World>> {
    match place(url)? {
        Place::Sqlite(path) => open_sqlite(path, options).await,
        Place::Postgres(url) => {
            let OpenOptions { auto_migrate, reading, clock } = options;
            let options = PostgresOptions {
                clock,
                auto_migrate: auto_migrate && !reading,
                ..PostgresOptions::default()
            };
            let opened = PostgresWorld::connect(&url, options).await;
            Ok(Arc::new(opened.map_err(|error| Server::of(&url).explained(error))?))
        }
    }
}

/// The server and the database a URL names, for messages.
struct Server {
    /// `HOST:PORT`
    place: String,
    database: String,
}

impl Server {
    fn of(url: &str) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let rest = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        let rest = rest.split('?').next().unwrap_or_default();
        let (host, database) = rest.split_once('/').unwrap_or((rest, ""));
        let host = if host.is_empty() { "localhost" } else { host };
        // A colon inside an IPv6 address does not begin a port.
        let has_port = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
        let place = if has_port { host.to_owned() } else { format!("{host}:5432") };
        Self { place, database: database.to_owned() }
    }

    /// Adds the server or the database to the error: a user acts differently on a server that does not answer
    /// and on a database that does not exist.
    fn explained(self, error: WorldError) -> WorldError {
        match error {
            WorldError::Unavailable(why) => {
                WorldError::Unavailable(format!("no PostgreSQL server can be used at {}: {why}", self.place))
            }
            WorldError::NotFound(_) if !self.database.is_empty() => {
                WorldError::NoDatabase { name: self.database, server: self.place }
            }
            other => other,
        }
    }
}

/// Returns why an existing path cannot be an SQLite file. SQLite itself reports damaged files.
fn something_else(path: &str) -> Option<WorldError> {
    let path = std::path::Path::new(path);
    let shown = path.display();
    if path.is_dir() {
        return Some(WorldError::NotADatabase(format!("{shown} is a folder, no database")));
    }
    let mut begins = [0_u8; MAGIC.len()];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begins));
    // Only a text file is certain to be no database: a damaged database may begin with any bytes.
    let text = begins.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    (read.is_ok() && text).then(|| WorldError::NotADatabase(format!("{shown} is a text file, no database")))
}

async fn open_sqlite(path: String, options: OpenOptions) -> WorldResult<Arc<dyn World>> {
    let OpenOptions { auto_migrate, reading, clock } = options;
    let options = SqliteOptions { clock, auto_migrate, reading, ..SqliteOptions::default() };
    if let Some(wrong) = something_else(&path) {
        return Err(wrong);
    }
    // Opening may wait for other processes, so it must not block this thread.
    let opened = tokio::task::spawn_blocking(move || SqliteWorld::open(path, options)).await;
    let world = opened.map_err(|died| WorldError::Unavailable(died.to_string()))??;
    Ok(Arc::new(world))
}

/// Checks a URL without opening it. Fails with a suggestion if it is malformed.
pub fn check_url(url: &str) -> WorldResult<()> {
    place(url).map(|_| ())
}

fn place(url: &str) -> WorldResult<Place> {
    let refused = |form: &str| Err(WorldError::BadUrl(format!("{:?}; did you mean {form}?", redacted(url))));
    if let Some(path) = url.strip_prefix("sqlite:") {
        return match path {
            "" => refused(DEFAULT_URL),
            MEMORY => Ok(Place::Sqlite(MEMORY.to_owned())),
            // Other tools read two slashes as a relative path, the file system as an absolute one.
            _ if path.starts_with("//") => match path.trim_start_matches('/') {
                "" => refused(DEFAULT_URL),
                file if path.starts_with("///") => refused(&format!("sqlite:/{file}")),
                file => refused(&format!("sqlite:{file}")),
            },
            _ if path.contains('\0') => refused(DEFAULT_URL),
            _ => Ok(Place::Sqlite(path.to_owned())),
        };
    }
    let server = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
    match server {
        Some("") => refused(POSTGRES_FORM),
        Some(_) => Ok(Place::Postgres(url.to_owned())),
        None => refused(&nearest(url)),
    }
}

/// Returns the known form that is closest to `url`.
fn nearest(url: &str) -> String {
    let scheme = url.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    let lower = url.trim().to_ascii_lowercase();
    if lower.is_empty() {
        DEFAULT_URL.to_owned()
    } else if lower.trim_start_matches("sqlite3:").trim_matches(':') == "memory" {
        "sqlite::memory:".to_owned()
    } else if scheme.starts_with("postgre") || matches!(scheme.as_str(), "pg" | "psql") {
        POSTGRES_FORM.to_owned()
    } else if scheme.starts_with("sqlit") && url.contains(':') {
        let path = url.split_once(':').map_or("", |(_, path)| path).trim_start_matches("//");
        if path.is_empty() { DEFAULT_URL.to_owned() } else { format!("sqlite:{path}") }
    } else if !url.contains(':') {
        format!("sqlite:{}", url.trim())
    } else {
        format!("{DEFAULT_URL} or {POSTGRES_FORM}")
    }
}

/// Returns the URL without passwords, for messages. Hides too much rather than too little.
pub fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    // A password may hold any character, `@` and `/` too, so everything up to the last `@` counts.
    let rest = match rest.rsplit_once('@') {
        Some((login, place)) => match login.split_once(':') {
            Some((user, _)) => format!("{user}:***@{place}"),
            None => rest.to_owned(),
        },
        None => rest.to_owned(),
    };
    let Some((place, query)) = rest.split_once('?') else { return format!("{scheme}://{rest}") };
    let shown: Vec<String> = query.split('&').map(redacted_parameter).collect();
    format!("{scheme}://{place}?{}", shown.join("&"))
}

fn redacted_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("pass") => format!("{name}=***"),
        _ => parameter.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        match place(url) {
            Err(WorldError::BadUrl(message)) => message,
            other => panic!("{url}: {other:?}"),
        }
    }

    #[test]
    fn known_forms_are_understood() {
        assert_eq!(place("sqlite:a b/c.db").unwrap(), Place::Sqlite("a b/c.db".into()));
        assert_eq!(place("sqlite:/var/c.db").unwrap(), Place::Sqlite("/var/c.db".into()));
        assert_eq!(place("sqlite::memory:").unwrap(), Place::Sqlite(MEMORY.into()));
        for url in ["postgres://h/d", "postgresql://u:p@h:5433/d?sslmode=disable"] {
            assert_eq!(place(url).unwrap(), Place::Postgres(url.into()));
        }
    }

    #[test]
    fn everything_else_names_the_nearest_form() {
        let cases = [
            ("", "sqlite:.rhythm/rhythm.db"),
            ("sqlite:", "sqlite:.rhythm/rhythm.db"),
            ("rhythm.db", "sqlite:rhythm.db"),
            (":memory:", "sqlite::memory:"),
            ("sqlite3:data.db", "sqlite:data.db"),
            ("sqlite://data.db", "sqlite:data.db"),
            ("sqlite:///var/data.db", "sqlite:/var/data.db"),
            ("SQLITE:data.db", "sqlite:data.db"),
            ("postgres:h/d", POSTGRES_FORM),
            ("PostgreSQL://h/d", POSTGRES_FORM),
            ("mysql://h/d", POSTGRES_FORM),
            ("postgres://", POSTGRES_FORM),
        ];
        for (url, form) in cases {
            let message = refusal(url);
            assert!(message.ends_with(&format!("{form}?")), "{url}: {message}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let cases = [
            ("postgres://ann:s3cret@host:5432/db", "postgres://ann:***@host:5432/db"),
            ("postgres://ann:s3/cr@et?x@host/db", "postgres://ann:***@host/db"),
            ("postgres://ann@host/db?password=s3cret&a=b", "postgres://ann@host/db?password=***&a=b"),
            ("postgres://ann@host/db", "postgres://ann@host/db"),
            ("sqlite:a:b@c", "sqlite:a:b@c"),
        ];
        for (url, shown) in cases {
            assert_eq!(redacted(url), shown);
        }
        assert!(!refusal("mysql://ann:s3cret@host/db").contains("s3cret"));
    }
}
