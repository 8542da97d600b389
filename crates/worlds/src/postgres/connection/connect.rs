//! Opens connections to the server of a world URL and sets up their sessions.

use std::sync::Arc;
use std::time::Duration;

use rhythm_engine::world::{WorldError, WorldResult};
use tokio::sync::watch;
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, Connection, Socket};

use crate::postgres::connection::errors::world_error;
use crate::postgres::connection::tls::{Mode, Tls, TlsStream};
use crate::postgres::connection::url::Url;

/// Time limit for connecting, and for setting up a session.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Settings of every session. The server must notice a vanished client as soon as we notice a vanished
/// server: until then it keeps the client's locks, and the client's process counts as alive.
const SESSION: &str = "\
    SET search_path = rhythm; \
    SET synchronous_commit = on; \
    SET statement_timeout = '30s'; \
    SET lock_timeout = '10s'; \
    SET idle_in_transaction_session_timeout = '10s'; \
    SET tcp_keepalives_idle = 10; \
    SET tcp_keepalives_interval = 3; \
    SET tcp_keepalives_count = 2; \
    SET tcp_user_timeout = 15000; \
    SET TIME ZONE 'UTC'";
/// Extra settings of hot sessions. Their statements are short, and their plans must never contain a table
/// scan.
const HOT: &str = "\
    SET statement_timeout = '10s'; \
    SET lock_timeout = '8s'; \
    SET plan_cache_mode = force_generic_plan; \
    SET enable_seqscan = off; \
    SET enable_hashjoin = off; \
    SET enable_mergejoin = off; \
    SET enable_bitmapscan = off; \
    SET enable_indexonlyscan = off; \
    SET jit = off";

const HOT_LOCAL: &str = "\
    SET LOCAL statement_timeout = '10s'; \
    SET LOCAL lock_timeout = '8s'; \
    SET LOCAL plan_cache_mode = force_generic_plan; \
    SET LOCAL enable_seqscan = off; \
    SET LOCAL enable_hashjoin = off; \
    SET LOCAL enable_mergejoin = off; \
    SET LOCAL enable_bitmapscan = off; \
    SET LOCAL enable_indexonlyscan = off; \
    SET LOCAL jit = off";
const PLAIN_LOCAL: &str = "\
    SET LOCAL statement_timeout = '30s'; \
    SET LOCAL lock_timeout = '10s'; \
    SET LOCAL plan_cache_mode TO DEFAULT; \
    SET LOCAL enable_seqscan TO DEFAULT; \
    SET LOCAL enable_hashjoin TO DEFAULT; \
    SET LOCAL enable_mergejoin TO DEFAULT; \
    SET LOCAL enable_bitmapscan TO DEFAULT; \
    SET LOCAL enable_indexonlyscan TO DEFAULT; \
    SET LOCAL jit TO DEFAULT";

/// Settings for connecting to a database.
#[derive(Clone, Debug)]
pub struct Dial {
    config: Config,
    connections: Option<usize>,
    tls: Tls,
    /// Counts dead sessions found; each time all sessions open by then count as dead.
    suspicion: Arc<watch::Sender<u64>>,
}

/// Shared by all sessions of a handle. If one is found dead, all that were opened before count as dead.
#[derive(Clone)]
pub struct Suspicion {
    raised: Arc<watch::Sender<u64>>,
    seen: watch::Receiver<u64>,
}

impl Suspicion {
    pub fn raise(&self) {
        self.raised.send_modify(|count| *count += 1);
    }

    /// Whether it was raised since this value was made.
    pub fn is_raised(&self) -> bool {
        self.seen.has_changed().unwrap_or(false)
    }

    pub async fn until_raised(&self) {
        // Never fails: this value holds the sender.
        let _ = self.seen.clone().changed().await;
    }
}

/// Kind of statements of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Prepared statements over unnested arrays.
    Hot,
    /// Everything else.
    Plain,
}

impl Purpose {
    /// Returns `SET LOCAL` statements for one such transaction on a session of the other kind.
    pub fn local_settings(self) -> &'static str {
        match self {
            Self::Hot => HOT_LOCAL,
            Self::Plain => PLAIN_LOCAL,
        }
    }

    /// Time without an answer after which a connection counts as half-open. It is longer than
    /// `statement_timeout`, after which the server answers with an error.
    pub fn patience(self) -> Duration {
        match self {
            Self::Hot => Duration::from_secs(12),
            Self::Plain => Duration::from_secs(35),
        }
    }
}

/// Opens a plain connection to the server of a world URL, for tools. The returned connection must be polled
/// for the client to work. Fails if the URL is invalid or the server cannot be reached.
pub async fn connect(url: &str) -> WorldResult<(Client, Connection<Socket, TlsStream>)> {
    Dial::parse(url)?.connect().await
}

impl Dial {
    pub fn parse(url: &str) -> WorldResult<Self> {
        let Url { mut config, connections, tls: settings } =
            Url::parse(url, &|name| std::env::var(name).ok())?;
        let tls = Tls::new(&settings)?;
        // Connections over a Unix socket are never encrypted, whatever `sslmode` says.
        let is_local = config.get_hosts().iter().all(|host| !matches!(host, Host::Tcp(_)));
        let mode = if is_local { Mode::Disable } else { settings.mode()? };
        config.ssl_mode(mode.for_client());
        config
            .application_name("rhythm")
            .connect_timeout(Duration::from_secs(5))
            .tcp_user_timeout(Duration::from_secs(15))
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(3))
            .keepalives_retries(2);
        Ok(Self { config, connections, tls, suspicion: Arc::new(watch::channel(0).0) })
    }

    pub fn suspicion(&self) -> Suspicion {
        Suspicion { raised: self.suspicion.clone(), seen: self.suspicion.subscribe() }
    }

    /// Connects. Returns the client, and the connection, which must be polled for the client to work.
    pub async fn connect(&self) -> WorldResult<(Client, Connection<Socket, TlsStream>)> {
        let connecting = self.config.connect(self.tls.clone());
        match tokio::time::timeout(CONNECT_TIMEOUT, connecting).await {
            Ok(connected) => connected.map_err(|error| world_error(&error)),
            Err(_) => Err(WorldError::Unavailable("no answer while connecting".into())),
        }
    }

    /// Number of connections the URL asks for.
    pub fn connections(&self) -> Option<usize> {
        self.connections
    }

    /// Cancels the running statement of this client.
    pub async fn cancel(&self, client: &Client) -> WorldResult<()> {
        client.cancel_token().cancel_query(self.tls.clone()).await.map_err(|error| world_error(&error))
    }

    /// Connects and sets up the session. A spawned task polls the connection.
    pub async fn client(&self, purpose: Purpose) -> WorldResult<Client> {
        let (client, connection) = self.connect().await?;
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection to PostgreSQL ended");
            }
        });
        prepare_session(&client, purpose).await?;
        Ok(client)
    }
}

pub async fn prepare_session(client: &Client, purpose: Purpose) -> WorldResult<()> {
    let text = match purpose {
        Purpose::Hot => format!("{SESSION}; {HOT}"),
        Purpose::Plain => SESSION.to_owned(),
    };
    match tokio::time::timeout(CONNECT_TIMEOUT, client.batch_execute(&text)).await {
        Ok(told) => told.map_err(|error| world_error(&error)),
        Err(_) => Err(WorldError::Unavailable("no answer while connecting".into())),
    }
}
