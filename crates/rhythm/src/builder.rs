//! Opening a world.

use std::sync::Arc;

use rhythm_core::{Actor, TenantId};
use rhythm_engine::local_worker::LocalWorker;
use rhythm_engine::world::{Clock, World};
use rhythm_worlds::{DEFAULT_URL, OpenOptions};

use crate::client::Client;
use crate::error::Error;
use crate::worker::WorkerBuilder;

/// An open world, seen as one tenant. Cheap to clone.
#[derive(Clone)]
pub struct Rhythm {
    world: Arc<dyn World>,
    tenant: TenantId,
    actor: Actor,
    nearby: Arc<LocalWorker>,
}

/// How to open a world; see [`Rhythm::builder`].
#[derive(Clone)]
pub struct Builder {
    url: String,
    tenant: TenantId,
    actor: Actor,
    options: OpenOptions,
}

impl Rhythm {
    /// Opens a world and brings its schema up to date.
    pub async fn open(url: &str) -> Result<Self, Error> {
        Self::builder().world(url).open().await
    }

    pub fn builder() -> Builder {
        Builder {
            url: DEFAULT_URL.to_owned(),
            tenant: TenantId::default(),
            actor: Actor("client".to_owned()),
            options: OpenOptions::default(),
        }
    }

    /// A world somebody opened already.
    pub fn on(world: Arc<dyn World>, tenant: TenantId, actor: Actor) -> Self {
        Self { world, tenant, actor, nearby: Arc::default() }
    }

    pub fn client(&self) -> Client {
        let (tenant, actor) = (self.tenant.clone(), self.actor.clone());
        let client = rhythm_engine::client::Client::new(self.world.clone(), tenant, actor);
        Client::new(client.beside(self.nearby.clone()))
    }

    /// A worker for this tenant; it starts with [`WorkerBuilder::start`].
    pub fn worker(&self) -> WorkerBuilder {
        WorkerBuilder::new(self.world.clone(), self.tenant.clone(), self.nearby.clone())
    }

    pub fn world(&self) -> &Arc<dyn World> {
        &self.world
    }
}

impl Builder {
    /// `sqlite:PATH`, `sqlite::memory:` or `postgres://USER@HOST/DATABASE`; a file in `.rhythm` by default.
    pub fn world(self, url: impl Into<String>) -> Self {
        Self { url: url.into(), ..self }
    }

    pub fn tenant(self, tenant: impl Into<TenantId>) -> Self {
        Self { tenant: tenant.into(), ..self }
    }

    /// Who the history says has asked, such as `user:ann`.
    pub fn actor(self, actor: impl Into<String>) -> Self {
        Self { actor: Actor(actor.into()), ..self }
    }

    /// Whether an old schema is brought up to date (the default) or refused.
    pub fn auto_migrate(mut self, yes: bool) -> Self {
        self.options.auto_migrate = yes;
        self
    }

    /// Only looks: nothing is created, brought up to date or written, and what would write is refused.
    pub fn reading(mut self) -> Self {
        self.options.reading = true;
        self
    }

    /// Time for tests.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.options.clock = Some(clock);
        self
    }

    pub async fn open(self) -> Result<Rhythm, Error> {
        let world = rhythm_worlds::open(&self.url, self.options).await?;
        Ok(Rhythm::on(world, self.tenant, self.actor))
    }
}
