//! A PostgreSQL cluster that belongs to the laboratory and can be restarted and stopped at any time. It has
//! durable settings like a real one. It is removed when it is dropped or when its owner process is killed.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;
use tokio::process::Command;
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};

use crate::lab::LabResult;

/// Shutdown mode of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The server ends all sessions in order.
    Fast,
    /// Like a crash: the next start recovers from the write-ahead log.
    Immediate,
}

/// Which sessions to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victims {
    Any,
    /// Sessions that hold the liveness locks and listen for wake-ups.
    Listeners,
}

/// A running or stopped server.
pub struct Cluster {
    server: PathBuf,
    bin: PathBuf,
    port: u16,
    password: String,
    environment: Vec<(String, String)>,
    _watched: Watched,
}

const SETTINGS: &str = "
listen_addresses = '127.0.0.1'
max_connections = 1500
shared_buffers = 128MB
max_locks_per_transaction = 64
max_wal_size = 1GB
log_min_messages = error
";

/// Shell script that waits until its input is closed, by the owner or by the owner's death, then stops the
/// server and removes the folder.
const WATCHER: &str = r#"
trap '' INT TERM HUP
cat >/dev/null
if pid=$(head -n 1 "$1/server/data/postmaster.pid"); then
  kill -QUIT "$pid"
  for _ in $(seq 100); do kill -0 "$pid" || break; sleep 0.05; done
  kill -KILL "$pid"
fi
rm -rf "$1"
"#;

/// A folder that is removed after its server was stopped, even if this process is killed.
struct Watched {
    watcher: Child,
    folder: PathBuf,
}

impl Watched {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        use std::os::unix::process::CommandExt;
        let folder = TempDir::with_prefix("rhythm-cluster-")?.keep();
        // The server's user must be able to pass through; the contents are its own.
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o711))?;
        let watcher = std::process::Command::new("sh")
            .args(["-c", WATCHER, "watcher"])
            .arg(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { watcher, folder })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.watcher.stdin.take());
        let _ = self.watcher.wait();
    }
}

/// Initialised cluster that all clusters of this process are copied from.
struct Template {
    bin: PathBuf,
    password: String,
    watched: Watched,
}

static TEMPLATE: OnceCell<Template> = OnceCell::const_new();

impl Cluster {
    /// Starts a new durable cluster that accepts connections.
    pub async fn start() -> LabResult<Self> {
        Self::start_with(Vec::new(), "").await
    }

    /// Starts a cluster with extra environment variables and settings for the server.
    pub async fn start_with(environment: Vec<(String, String)>, settings: &str) -> LabResult<Self> {
        let template = TEMPLATE.get_or_try_init(Template::make).await?;
        let watched = Watched::new()?;
        let server = watched.folder.join("server");
        let copied = Command::new("cp")
            .arg("--archive")
            .arg("--reflink=auto")
            .arg(template.watched.folder.join("server"))
            .arg(&server)
            .status()
            .await?;
        if !copied.success() {
            return Err("the template cluster could not be copied".into());
        }
        let config = server.join("data/postgresql.conf");
        let sockets = format!("unix_socket_directories = '{}'\n", server.display());
        let text = std::fs::read_to_string(&config)? + SETTINGS + &sockets + settings;
        std::fs::write(&config, text)?;
        let (bin, password) = (template.bin.clone(), template.password.clone());
        let mut cluster = Self { server, bin, port: 0, password, environment, _watched: watched };
        cluster.find_port().await?;
        Ok(cluster)
    }

    /// Finds a free port by starting the server on random ones: only a real bind shows that a port is free.
    async fn find_port(&mut self) -> LabResult<()> {
        for _ in 0..10 {
            // Below the range of ports for outgoing connections.
            self.port = fastrand::u16(20_000..32_000);
            match self.launch().await {
                Ok(()) => return Ok(()),
                Err(error) if !error.to_string().contains("Address already in use") => return Err(error),
                Err(_) => {}
            }
        }
        Err("no free port was found for a PostgreSQL server".into())
    }

    /// Returns the server's log since its start.
    pub fn log(&self) -> io::Result<String> {
        std::fs::read_to_string(self.server.join("log"))
    }

    async fn launch(&self) -> LabResult<()> {
        let log = self.server.join("log");
        let _ = std::fs::remove_file(&log);
        let mut command = as_server(&self.bin.join("pg_ctl"));
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.arg("-D").arg(self.data()).arg("-l").arg(&log);
        let started = command.args(["-o", &format!("-p {}", self.port), "-w", "-t", "120", "start"]);
        if quietly(started).await? {
            return Ok(());
        }
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        Err(format!("the PostgreSQL server did not start: {said}").into())
    }

    fn data(&self) -> PathBuf {
        self.server.join("data")
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    pub fn url(&self, database: &str) -> String {
        self.url_via(self.address(), database)
    }

    /// Returns the url of the same database through a proxy.
    pub fn url_via(&self, address: SocketAddr, database: &str) -> String {
        format!("postgres://rhythm:{}@{address}/{database}", self.password)
    }

    /// Creates an empty database and returns its name.
    pub async fn database(&self) -> LabResult<String> {
        self.create_database("").await
    }

    /// Creates an empty database with its tables in a folder. The write-ahead log stays where it was.
    pub async fn database_in(&self, folder: &Path) -> LabResult<String> {
        let tables = folder.join("tables");
        std::fs::create_dir(&tables)?;
        give_to_server(&tables).await?;
        let place = format!("CREATE TABLESPACE elsewhere LOCATION '{}'", tables.display());
        self.connect().await?.batch_execute(&place).await?;
        self.create_database("TABLESPACE elsewhere").await
    }

    async fn create_database(&self, options: &str) -> LabResult<String> {
        let name = format!("crash_{}", uuid::Uuid::now_v7().simple());
        self.connect().await?.batch_execute(&format!("CREATE DATABASE {name} {options}")).await?;
        Ok(name)
    }

    /// Opens a session as superuser.
    pub async fn connect(&self) -> LabResult<Client> {
        self.connect_to("postgres").await
    }

    pub async fn connect_to(&self, database: &str) -> LabResult<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url(database), NoTls).await?;
        tokio::spawn(connection);
        Ok(client)
    }

    pub async fn stop(&self, mode: Mode) -> LabResult<()> {
        let mode = match mode {
            Mode::Fast => "fast",
            Mode::Immediate => "immediate",
        };
        let mut command = as_server(&self.bin.join("pg_ctl"));
        let stopped = command.arg("-D").arg(self.data()).args(["-m", mode, "-w", "-t", "120", "stop"]);
        if quietly(stopped).await? { Ok(()) } else { Err("the PostgreSQL server did not stop".into()) }
    }

    /// Starts a stopped server on its former port and waits until it accepts connections.
    pub async fn resume(&self) -> LabResult<()> {
        self.launch().await
    }

    pub async fn restart(&self, mode: Mode) -> LabResult<()> {
        self.stop(mode).await?;
        self.resume().await
    }

    /// Ends up to `limit` sessions of rhythm, chosen at random, and returns how many were ended.
    pub async fn terminate_backends(&self, admin: &Client, victims: Victims, limit: i64) -> LabResult<u64> {
        let listeners = victims == Victims::Listeners;
        let ended = admin.query(TERMINATE, &[&limit, &listeners]).await?;
        Ok(ended.iter().filter(|row| row.get(0)).count() as u64)
    }
}

const TERMINATE: &str = "
SELECT pg_terminate_backend(pid) FROM (
    SELECT a.pid FROM pg_stat_activity AS a
    WHERE a.application_name = 'rhythm' AND (NOT $2 OR EXISTS (
        SELECT FROM pg_locks AS l WHERE l.pid = a.pid AND l.locktype = 'advisory' AND l.objsubid = 1))
    ORDER BY random() LIMIT $1) AS chosen";

impl Template {
    async fn make() -> LabResult<Self> {
        let bin = postgres_bin().await?;
        let watched = Watched::new()?;
        let server = watched.folder.join("server");
        std::fs::create_dir(&server)?;
        let password: String = (0..32).map(|_| fastrand::alphanumeric()).collect();
        std::fs::write(server.join("password"), &password)?;
        give_to_server(&server).await?;
        let mut command = as_server(&bin.join("initdb"));
        command.arg("-D").arg(server.join("data")).arg("--pwfile").arg(server.join("password"));
        command.args(["--username=rhythm", "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C"]);
        let output = command.args(["--no-sync", "--no-instructions"]).output().await?;
        if !output.status.success() {
            return Err(format!("initdb failed: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(Self { bin, password, watched })
    }
}

/// Returns the folder of the server's programs, found by the script that would install them.
async fn postgres_bin() -> LabResult<PathBuf> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/setup.sh");
    let output = Command::new(script).arg("postgres-bin").output().await?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()))
}

/// Creates a folder that the server's user can read.
pub fn open_folder() -> io::Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// Makes the server's user the owner of a folder and its contents.
async fn give_to_server(folder: &Path) -> LabResult<()> {
    if is_root() {
        let owned = Command::new("chown").args(["-R", "postgres:postgres"]).arg(folder).status().await?;
        if !owned.success() {
            return Err("there is no user postgres: try scripts/setup.sh postgres".into());
        }
    }
    Ok(())
}

/// Builds a command that runs as the server's user, because PostgreSQL refuses to run as root.
fn as_server(program: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir("/").env("LC_ALL", "C").stdin(Stdio::null());
    command
}

fn is_root() -> bool {
    static ROOT: OnceLock<bool> = OnceLock::new();
    *ROOT.get_or_init(|| rustix::process::geteuid().is_root())
}

/// Runs a command and returns whether it succeeded. It inherits no output: a server would keep ours open.
async fn quietly(command: &mut Command) -> io::Result<bool> {
    Ok(command.stdout(Stdio::null()).stderr(Stdio::null()).status().await?.success())
}
