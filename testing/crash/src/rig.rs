//! A laboratory on a PostgreSQL cluster of its own, with proxies in front where a scenario needs them.

use std::time::Duration;

use rhythm_proxy::Proxy;

use crate::cluster::Cluster;
use crate::lab::{Lab, LabResult, Launch, On, Setup};
use crate::ledger::{Manners, What};
use crate::lost_acks;
use crate::wait::until;

/// Fields are dropped in this order: the processes end before their database.
pub struct Rig {
    pub lab: Lab,
    pub cluster: Cluster,
    database: String,
}

impl Rig {
    /// Opens a rig with default settings.
    pub async fn open() -> LabResult<Self> {
        Self::on(Cluster::start().await?, Setup::new(On::Postgres)).await
    }

    pub async fn on(cluster: Cluster, setup: Setup) -> LabResult<Self> {
        let database = cluster.database().await?;
        Self::on_database(cluster, database, setup).await
    }

    pub async fn on_database(cluster: Cluster, database: String, setup: Setup) -> LabResult<Self> {
        let setup = Setup { world: Some(cluster.url(&database)), manners: Manners::DEDUPES, ..setup };
        Ok(Self { lab: Lab::open(setup).await?, cluster, database })
    }

    /// Opens a session of its own on the same database.
    pub async fn connect(&self) -> LabResult<tokio_postgres::Client> {
        self.cluster.connect_to(&self.database).await
    }

    /// Starts a proxy to the database that can inject faults.
    pub async fn proxy(&self) -> LabResult<Proxy> {
        Ok(Proxy::postgres_with_kinds(self.cluster.address(), fastrand::u64(..), lost_acks::KINDS).await?)
    }

    /// Returns launch options for a process behind a proxy.
    pub fn behind(&self, proxy: &Proxy, launch: &Launch) -> Launch {
        let world = self.cluster.url_via(proxy.address(), &self.database);
        Launch { world: Some(world), ..launch.clone() }
    }
}

/// Returns the time of the first attempt that began at or after a moment, in this process or in any.
pub fn first_beginning(lab: &Lab, since: u64, pid: Option<u32>) -> LabResult<Option<u64>> {
    let lines = lab.ledger()?;
    let began = lines.iter().filter(|line| {
        let entry = &line.entry;
        entry.what == What::Began && line.at >= since && pid.is_none_or(|pid| entry.pid == pid)
    });
    Ok(began.map(|line| line.at).min())
}

/// Waits for such an attempt. Returns None on timeout.
pub async fn next_beginning(lab: &Lab, since: u64, pid: Option<u32>, patience: Duration) -> Option<u64> {
    let mut found = None;
    until(patience, || {
        found = first_beginning(lab, since, pid).ok().flatten();
        std::future::ready(found.is_some())
    })
    .await;
    found
}
