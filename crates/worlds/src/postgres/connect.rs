//! Opening connections: what a world URL may say, and what every session is told before it is used.

use std::time::Duration;

use rhythm_engine::world::{WorldError, WorldResult};
use tokio_postgres::config::SslMode;
use tokio_postgres::tls::NoTlsStream;
use tokio_postgres::{Client, Config, Connection, NoTls, Socket};

use super::errors::world_error;

/// What every session is told. Only hot ones get the plan settings: they must never fall into a scan.
const SESSION: &str = "\
    SET search_path = rhythm; \
    SET synchronous_commit = on; \
    SET statement_timeout = '30s'; \
    SET lock_timeout = '10s'; \
    SET idle_in_transaction_session_timeout = '30s'; \
    SET TIME ZONE 'UTC'";
const HOT: &str = "\
    SET plan_cache_mode = force_generic_plan; \
    SET enable_seqscan = off; \
    SET enable_hashjoin = off; \
    SET enable_mergejoin = off; \
    SET enable_bitmapscan = off; \
    SET enable_indexonlyscan = off; \
    SET jit = off";

/// A database, ready to be called.
#[derive(Clone, Debug)]
pub struct Dial {
    config: Config,
}

/// What a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Prepared statements over unnested arrays.
    Hot,
    /// Everything else.
    Plain,
}

impl Dial {
    pub fn parse(url: &str) -> WorldResult<Self> {
        let mut config: Config = url.parse().map_err(|error| WorldError::BadUrl(format!("{error}")))?;
        if config.get_ssl_mode() == SslMode::Require {
            return Err(WorldError::Invalid(
                "sslmode=require: TLS is not built in yet; use sslmode=prefer or disable, or a local tunnel"
                    .into(),
            ));
        }
        config
            .application_name("rhythm")
            .connect_timeout(Duration::from_secs(5))
            .tcp_user_timeout(Duration::from_secs(15))
            .keepalives_idle(Duration::from_secs(10))
            .keepalives_interval(Duration::from_secs(3))
            .keepalives_retries(2);
        Ok(Self { config })
    }

    /// A connected client and the half that must be polled for it to move.
    pub async fn connect(&self) -> WorldResult<(Client, Connection<Socket, NoTlsStream>)> {
        let connecting = self.config.connect(NoTls);
        match tokio::time::timeout(Duration::from_secs(10), connecting).await {
            Ok(connected) => connected.map_err(|error| world_error(&error)),
            Err(_) => Err(WorldError::Unavailable("no answer while connecting".into())),
        }
    }

    /// A client told how to behave, with its other half running by itself.
    pub async fn open(&self, purpose: Purpose) -> WorldResult<Client> {
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
    let told = match purpose {
        Purpose::Hot => client.batch_execute(&format!("{SESSION}; {HOT}")).await,
        Purpose::Plain => client.batch_execute(SESSION).await,
    };
    told.map_err(|error| world_error(&error))
}
