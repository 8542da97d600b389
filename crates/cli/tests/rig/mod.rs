//! Runs the real binary in a temporary folder, against a fresh world.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

pub const BINARY: &str = env!("CARGO_BIN_EXE_rhythm");

/// Time limit for everything here, generous because the machine may be busy.
const DEADLINE: Duration = Duration::from_secs(60);

pub struct Rig {
    pub folder: TempDir,
    pub world: String,
    database: Option<postgres::Database>,
}

/// Result of one command.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A worker process. Dropping it kills the process.
pub struct Worker {
    child: Child,
    stderr: BufReader<ChildStderr>,
    log: String,
}

impl Rig {
    pub fn sqlite() -> Self {
        let folder = TempDir::new().unwrap();
        Self { folder, world: "sqlite:rhythm.db".to_owned(), database: None }
    }

    /// Creates a database on the server of `RHYTHM_TEST_POSTGRES`.
    pub fn postgres() -> Self {
        let database = postgres::Database::create();
        let world = database.url.clone();
        Self { folder: TempDir::new().unwrap(), world, database: Some(database) }
    }

    pub fn world(&self) -> &str {
        &self.world
    }

    pub fn is_sqlite(&self) -> bool {
        self.database.is_none()
    }

    /// Changes stored rows directly. Tables are named without their schema.
    pub fn execute(&self, statement: &str) {
        match &self.database {
            Some(database) => {
                postgres::execute(&database.url, &format!("SET search_path = rhythm, public; {statement}"));
            }
            None => {
                let file = rusqlite::Connection::open(self.path().join("rhythm.db")).unwrap();
                file.busy_timeout(Duration::from_secs(30)).unwrap();
                file.execute_batch(statement).unwrap();
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn write(&self, name: &str, content: &str) {
        std::fs::write(self.path().join(name), content).unwrap();
    }

    /// Returns the command without the parts of the environment that could affect it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(args)
            .current_dir(self.path())
            .env("RHYTHM_WORLD", &self.world)
            .env("USER", "tester")
            .env("HOSTNAME", "here");
        for variable in [
            "RHYTHM_DATABASE_URL",
            "RHYTHM_WORKER_POLL_INTERVAL",
            "RHYTHM_LOG",
            "RHYTHM_LINK_KEY",
            "RHYTHM_LINK_BASE",
            "NO_COLOR",
        ] {
            command.env_remove(variable);
        }
        command.stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Answer {
        answer(self.command(args))
    }

    /// Runs a command that must succeed. Returns its output without the final line break.
    pub fn ok(&self, args: &[&str]) -> String {
        let answer = self.run(args);
        assert_eq!(answer.code, 0, "rhythm {}: {answer:?}", args.join(" "));
        answer.stdout.trim_end().to_owned()
    }

    /// Runs a command that must succeed and returns its JSON output.
    pub fn json(&self, args: &[&str]) -> Value {
        let text = self.ok(&[&["--output", "json"], args].concat());
        serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("rhythm {}: {error}: {text}", args.join(" ")))
    }

    /// Runs a command that must fail with this exit code and error code. Returns its standard error.
    pub fn fails(&self, args: &[&str], exit: i32, code: &str) -> String {
        let answer = self.run(args);
        let expected = format!("error[{code}]: ");
        assert!(
            answer.code == exit && answer.stderr.starts_with(&expected),
            "rhythm {}: expected {exit} and {code}: {answer:?}",
            args.join(" ")
        );
        assert_eq!(answer.stdout, "", "an error leaves standard output alone");
        answer.stderr
    }

    /// Starts a worker and waits until it is listed.
    pub fn worker(&self, args: &[&str]) -> Worker {
        let before = self.live_workers();
        let worker = self.worker_about_to_start(args);
        eventually("the worker is listed", || self.live_workers() > before);
        worker
    }

    /// Starts a worker that may have to wait before it is registered.
    pub fn worker_about_to_start(&self, args: &[&str]) -> Worker {
        let mut command = self.command(&[&["worker"], args].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Worker { child, stderr, log: String::new() }
    }

    pub fn is_postgres(&self) -> bool {
        self.database.is_some()
    }

    /// Runs a query on the database itself. Returns every value as text.
    pub fn query(&self, query: &str) -> Vec<Vec<Option<String>>> {
        match &self.database {
            Some(database) => postgres::rows(&database.url, query),
            None => sqlite_rows(&self.path().join("rhythm.db"), query),
        }
    }

    /// Runs a statement on the database itself.
    pub fn change(&self, statement: &str) {
        match &self.database {
            Some(database) => postgres::execute(&database.url, statement),
            None => {
                let file = rusqlite::Connection::open(self.path().join("rhythm.db")).unwrap();
                file.busy_timeout(DEADLINE).unwrap();
                file.execute_batch(statement).unwrap();
            }
        }
    }

    /// Moves the times of all rows of a table into the past.
    pub fn ages(&self, table: &str, millis: i64) {
        let schema = if self.is_postgres() { "rhythm." } else { "" };
        self.change(&format!("UPDATE {schema}{table} SET since = since - {millis}"));
    }

    pub fn live_workers(&self) -> usize {
        // Before the first worker the database may be missing or empty.
        let answer = self.run(&["--output", "json", "workers"]);
        if ["WORLD011", "WORLD020"].iter().any(|code| answer.stderr.contains(code)) {
            return 0;
        }
        let listed: Value = serde_json::from_str(&answer.stdout).unwrap_or_else(|_| panic!("{answer:?}"));
        listed["rows"].as_array().unwrap().iter().filter(|row| row["live"] == true).count()
    }

    /// Repeats a command until its JSON output passes the check.
    pub fn until(&self, args: &[&str], wished: impl Fn(&Value) -> bool) -> Value {
        let mut last = Value::Null;
        eventually(&format!("rhythm {}", args.join(" ")), || {
            last = self.json(args);
            wished(&last)
        });
        last
    }
}

impl Worker {
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap().success());
    }

    /// Reads the log up to a line that contains the text.
    pub fn logs(&mut self, text: &str) {
        let from = self.log.len();
        while !self.log[from..].contains(text) {
            assert!(self.stderr.read_line(&mut self.log).unwrap() > 0, "no {text:?} in {}", self.log);
        }
    }

    /// Waits for the end of the process. Returns its exit code and log.
    pub fn wait(mut self) -> (Option<i32>, String) {
        eventually("the worker ends", || self.child.try_wait().unwrap().is_some());
        let code = self.child.wait().unwrap().code();
        self.stderr.read_to_string(&mut self.log).unwrap();
        (code, std::mem::take(&mut self.log))
    }

    pub fn stop(self) -> (Option<i32>, String) {
        self.signal("TERM");
        self.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sqlite_rows(file: &Path, query: &str) -> Vec<Vec<Option<String>>> {
    use rusqlite::types::Value;

    let file = rusqlite::Connection::open(file).unwrap();
    file.busy_timeout(DEADLINE).unwrap();
    let mut prepared = file.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let columns = prepared.column_count();
    let text = |value| match value {
        Value::Null => None,
        Value::Integer(number) => Some(number.to_string()),
        Value::Real(number) => Some(number.to_string()),
        Value::Text(text) => Some(text),
        Value::Blob(bytes) => panic!("{query}: bytes: {bytes:?}"),
    };
    let rows = prepared.query_map([], |row| (0..columns).map(|at| row.get(at).map(text)).collect()).unwrap();
    rows.collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// Runs a command to its end and collects its whole output.
pub fn answer(mut command: Command) -> Answer {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Repeats a check until it holds. Panics after the time limit.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !is_so() {
        assert!(Instant::now() < until, "not within {DEADLINE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs each test on both worlds.
#[macro_export]
macro_rules! on_both_worlds {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(&super::rig::Rig::sqlite()); })*
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(&super::rig::Rig::postgres()); })*
        }
    };
}

pub mod postgres {
    //! Databases for tests. A missing server fails the test; it is never skipped.

    use tokio_postgres::NoTls;

    pub struct Database {
        pub url: String,
        name: String,
    }

    impl Database {
        pub fn create() -> Self {
            let server = server();
            let name = format!("cli_{}_{}", std::process::id(), fresh());
            execute(&server, &format!("CREATE DATABASE {name}"));
            let (base, _) = server.rsplit_once('/').expect("the url names a database");
            Self { url: format!("{base}/{name}"), name }
        }
    }

    impl Drop for Database {
        fn drop(&mut self) {
            execute(&server(), &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
        }
    }

    pub fn server() -> String {
        std::env::var("RHYTHM_TEST_POSTGRES")
            .expect("RHYTHM_TEST_POSTGRES is not set; run the tests with scripts/with-postgres.sh")
    }

    fn fresh() -> String {
        use std::sync::atomic::{AtomicU32, Ordering};
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let nanos =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
        format!("{nanos}_{}", COUNT.fetch_add(1, Ordering::Relaxed))
    }

    pub fn execute(url: &str, statement: &str) {
        with(url, async |client| client.batch_execute(statement).await.unwrap());
    }

    /// Runs a query with the views in the search path. Returns every value as text.
    pub fn rows(url: &str, query: &str) -> Vec<Vec<Option<String>>> {
        with(url, async |client| {
            client.batch_execute("SET search_path = rhythm, public; SET timezone = 'UTC'").await.unwrap();
            let messages =
                client.simple_query(query).await.unwrap_or_else(|error| panic!("{query}: {error:?}"));
            let row = |message| match message {
                tokio_postgres::SimpleQueryMessage::Row(row) => {
                    Some((0..row.len()).map(|at| row.get(at).map(str::to_owned)).collect())
                }
                _ => None,
            };
            messages.into_iter().filter_map(row).collect()
        })
    }

    /// Runs a query that returns one number.
    pub fn number(url: &str, query: &str) -> i64 {
        with(url, async |client| client.query_one(query, &[]).await.unwrap().get(0))
    }

    fn with<T>(url: &str, ask: impl AsyncFn(&tokio_postgres::Client) -> T) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
            tokio::spawn(connection);
            ask(&client).await
        })
    }
}
