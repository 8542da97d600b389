//! An open world together with the way answers are given.

use std::future::Future;
use std::time::Duration;

use rhythm::{Builder, Client, Rhythm};
use rhythm_core::{Payload, RunId, Timestamp};

use crate::config::Settings;
use crate::errors::CliResult;
use crate::output::Output;

/// Who waits this long is told what is being waited for.
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

    /// For commands that only look: nothing is created, brought up to date or written.
    pub async fn read(settings: &Settings) -> CliResult<Self> {
        Self::opened(settings, Self::builder(settings, settings.actor()).reading()).await
    }

    /// For what is done in somebody else's name: history has both.
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

    /// A command as it can be typed after this one: with the flags this one was given.
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

    /// A value in full, as JSON text on one line where it was written so.
    pub async fn text(&self, payload: &Payload) -> CliResult<String> {
        Ok(self.client.load(payload).await?)
    }

    /// A value with its content in place of a reference to it.
    pub async fn loaded(&self, payload: Payload) -> CliResult<Payload> {
        match payload {
            Payload::Inline(_) => Ok(payload),
            Payload::Blob(_) => {
                let text = self.text(&payload).await?;
                Ok(Payload::parse(text).unwrap_or(payload))
            }
        }
    }

    /// Waits; when it takes long, says once what for.
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
