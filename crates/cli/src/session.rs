//! An open world with the settings for output.

use std::future::Future;
use std::time::Duration;

use rhythm::{Builder, Client, Rhythm};
use rhythm_core::{Payload, RunId, Timestamp};

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Output;

/// Waiting time after which the command prints what it waits for.
const HINT_AFTER: Duration = Duration::from_secs(3);

pub struct Session {
    pub rhythm: Rhythm,
    pub client: Client,
    pub out: Output,
    flags: String,
}

impl Session {
    pub async fn open(settings: &Settings) -> CliResult<Self> {
        Self::open_by(settings, settings.actor()).await
    }

    /// Opens the world for a command that only reads. An SQLite file is neither created, migrated nor
    /// written; PostgreSQL is not migrated.
    pub async fn read(settings: &Settings) -> CliResult<Self> {
        Self::opened(settings, Self::builder(settings, settings.actor()).reading()).await
    }

    /// Opens the world for a decision on behalf of another person: the history records both.
    pub async fn open_as_delegate(settings: &Settings) -> CliResult<Self> {
        Self::open_by(settings, settings.own_actor()).await
    }

    async fn open_by(settings: &Settings, actor: String) -> CliResult<Self> {
        Self::opened(settings, Self::builder(settings, actor)).await
    }

    fn builder(settings: &Settings, actor: String) -> Builder {
        Rhythm::builder()
            .world(settings.world.clone())
            .tenant(settings.tenant.clone())
            .actor(actor)
            .auto_migrate(settings.migrate)
    }

    async fn opened(settings: &Settings, builder: Builder) -> CliResult<Self> {
        let rhythm = builder.open().await?;
        Ok(Self {
            client: rhythm.client().reading(rhythm_sandbox::read_program),
            rhythm,
            out: settings.output,
            flags: settings.flags.clone(),
        })
    }

    /// Returns a command to print, with the flags of this one.
    pub fn command(&self, command: &str) -> String {
        format!("{command}{}", self.flags)
    }

    /// The runs with these ids, or with ids that end so. All are found before one is touched.
    pub async fn find_runs(&self, names: &[String]) -> CliResult<Vec<RunId>> {
        let mut runs = Vec::with_capacity(names.len());
        for name in names {
            runs.push(self.client.find_run(name).await?);
        }
        Ok(runs)
    }

    pub async fn now(&self) -> CliResult<Timestamp> {
        Ok(self.rhythm.world().now().await?)
    }

    /// Returns the JSON text of a value, loaded from its blob if needed.
    pub async fn text(&self, payload: &Payload) -> CliResult<String> {
        Ok(self.client.load(payload).await?)
    }

    /// Returns a value with the content of its blob.
    pub async fn loaded(&self, payload: Payload) -> CliResult<Payload> {
        match payload {
            Payload::Inline(_) => Ok(payload),
            Payload::Blob(_) => {
                let text = self.text(&payload).await?;
                Ok(Payload::parse(text).unwrap_or(payload))
            }
        }
    }

    /// Waits for a result. After a while prints a hint once.
    pub async fn wait<T>(&self, waited: impl Future<Output = T>, hint: impl Future<Output = String>) -> T {
        tokio::pin!(waited);
        tokio::select! {
            answer = &mut waited => return answer,
            () = tokio::time::sleep(HINT_AFTER) => {}
        }
        if !self.out.is_quiet() {
            self.out.note(hint.await);
        }
        waited.await
    }
}
