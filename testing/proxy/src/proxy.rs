//! The proxy: a port that forwards to another address.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::connection::{Shared, connect, reset};
use crate::counts::{Commits, Counts, count};
use crate::faults::Faults;
use crate::kinds::{Kind, Kinds};

/// A running proxy. Dropping it ends its connections.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of this machine. The seed decides random delays and cuts.
    pub async fn start(target: SocketAddr, seed: u64) -> io::Result<Self> {
        Self::listen(target, Shared::new(None, seed)).await
    }

    /// Starts a proxy in front of a PostgreSQL server, which recognises its commits.
    pub async fn postgres(target: SocketAddr, seed: u64) -> io::Result<Self> {
        Self::postgres_with_kinds(target, seed, &[]).await
    }

    /// Starts a proxy that also counts commits by kind. A transaction has the first kind that any of its
    /// statements has.
    pub async fn postgres_with_kinds(
        target: SocketAddr,
        seed: u64,
        kinds: &'static [Kind],
    ) -> io::Result<Self> {
        Self::listen(target, Shared::new(Some(Kinds(kinds)), seed)).await
    }

    async fn listen(target: SocketAddr, shared: Shared) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let shared = Arc::new(shared);
        let address = listener.local_addr()?;
        let accepting = tokio::spawn(accept(listener, target, shared.clone()));
        Ok(Self { address, shared, accepting })
    }

    /// Returns the address to connect to instead of the target.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn set(&self, faults: Faults) {
        self.shared.faults.send_replace(faults);
    }

    pub fn faults(&self) -> Faults {
        self.shared.faults.borrow().clone()
    }

    /// Resets every open connection.
    pub fn cut_all(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    pub fn counts(&self) -> Counts {
        self.shared.counters.read()
    }

    /// Returns the commits by kind, for kinds that occurred; [`crate::OTHER`] stands for commits of no kind.
    pub fn commits(&self) -> BTreeMap<&'static str, Commits> {
        self.shared.commits().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, target: SocketAddr, shared: Arc<Shared>) {
    // Dropped when this task ends, which ends all connections.
    let mut connections = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else {
            // Most likely there are no free file descriptors; wait until some are free again.
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        if shared.faults.borrow().refuse {
            count(&shared.counters.refused);
            reset(&client);
            continue;
        }
        count(&shared.counters.accepted);
        let shared = shared.clone();
        connections.spawn(async move {
            match TcpStream::connect(target).await {
                Ok(server) => connect(client, server, shared).await,
                Err(error) => {
                    reset(&client);
                    Err(error)
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}
