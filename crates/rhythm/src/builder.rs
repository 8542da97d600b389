//! Opens a world: its URL, tenant, actor and options. `rhythm-worlds` opens the database itself.

use std::sync::Arc;

use rhythm_core::{Actor, TenantId};
use rhythm_engine::local_worker::LocalWorker;
use rhythm_engine::world::{Clock, World};
use rhythm_worlds::{DEFAULT_URL, OpenOptions};

use crate::client::Client;
use crate::error::Error;
use crate::worker::WorkerBuilder;

/// An open world, seen as one tenant. Makes clients and workers. Clones share the world's connections.
#[derive(Clone)]
pub struct Rhythm {
    world: Arc<dyn World>,
    tenant: TenantId,
    actor: Actor,
    nearby: Arc<LocalWorker>,
}

/// Settings for opening a world. Made by [`Rhythm::builder`], used up by [`Builder::open`].
#[derive(Clone)]
pub struct Builder {
    url: String,
    tenant: TenantId,
    actor: Actor,
    options: OpenOptions,
}

impl Rhythm {
    /// Opens a world with the default tenant and brings its schema up to date.
    ///
    /// Fails if the URL is malformed, the database cannot be reached, or its schema is newer than this build.
    pub async fn open(url: &str) -> Result<Self, Error> {
        Self::builder().world(url).open().await
    }

    /// Returns settings with their defaults: the world [`DEFAULT_URL`], the default tenant, the actor
    /// `client`.
    pub fn builder() -> Builder {
        Builder {
            url: DEFAULT_URL.to_owned(),
            tenant: TenantId::default(),
            actor: Actor("client".to_owned()),
            options: OpenOptions::default(),
        }
    }

    /// Wraps a world that is open already, for one tenant and one actor.
    pub fn on(world: Arc<dyn World>, tenant: TenantId, actor: Actor) -> Self {
        Self { world, tenant, actor, nearby: Arc::default() }
    }

    /// Returns a client for this tenant. Its requests carry the actor of the builder.
    ///
    /// If a worker of this `Rhythm` runs in the same process, the client may let it take the first step of a
    /// new run, which saves two commits.
    pub fn client(&self) -> Client {
        let (tenant, actor) = (self.tenant.clone(), self.actor.clone());
        let client = rhythm_engine::client::Client::new(self.world.clone(), tenant, actor);
        Client::new(client.beside(self.nearby.clone()))
    }

    /// Returns a builder for a worker of this tenant. The worker starts with [`WorkerBuilder::start`].
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(self.world.clone(), self.tenant.clone(), self.nearby.clone())
    }

    /// Returns the world behind this handle, for requests that [`Client`] does not offer.
    pub fn world(&self) -> &Arc<dyn World> {
        &self.world
    }
}

impl Builder {
    /// Sets the URL: `sqlite:PATH`, `sqlite::memory:` or `postgres://USER@HOST/DATABASE`. The default is
    /// [`DEFAULT_URL`], a file in the folder `.rhythm`.
    pub fn world(self, url: impl Into<String>) -> Self {
        Self { url: url.into(), ..self }
    }

    /// Sets the tenant. Clients and workers see only the runs, tasks and workflows of their tenant.
    pub fn tenant(self, tenant: impl Into<TenantId>) -> Self {
        Self { tenant: tenant.into(), ..self }
    }

    /// Sets the actor that histories record for this process's requests, such as `user:ann`.
    pub fn actor(self, actor: impl Into<String>) -> Self {
        Self { actor: Actor(actor.into()), ..self }
    }

    /// Chooses what happens to an older schema: `true` (the default) applies the pending migrations, `false`
    /// makes [`Builder::open`] fail with `WORLD011`.
    pub fn auto_migrate(mut self, yes: bool) -> Self {
        self.options.auto_migrate = yes;
        self
    }

    /// Opens the world for reading only.
    ///
    /// An SQLite file must exist already; it is neither created, migrated nor written, and every request that
    /// would write fails. On PostgreSQL this only turns migrations off. `sqlite::memory:` ignores it.
    pub fn reading(mut self) -> Self {
        self.options.reading = true;
        self
    }

    /// Replaces the world's clock, for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.options.clock = Some(clock);
        self
    }

    /// Opens the world.
    ///
    /// Fails if the URL is malformed, the database cannot be reached or is not an SQLite database, or if its
    /// schema does not fit this build.
    pub async fn open(self) -> Result<Rhythm, Error> {
        let world = rhythm_worlds::open(&self.url, self.options).await?;
        Ok(Rhythm::on(world, self.tenant, self.actor))
    }
}
