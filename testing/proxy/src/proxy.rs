//! The proxy itself: a port that leads to another.

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

/// A running proxy; it and its connections are gone when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port of this machine. The seed decides delays and what is cut at random.
    pub async fn start(target: SocketAddr, seed: u64) -> io::Result<Self> {
        Self::listen(target, Shared::new(None, seed)).await
    }

    /// The same in front of a PostgreSQL server: knows its commits.
    pub async fn postgres(target: SocketAddr, seed: u64) -> io::Result<Self> {
        Self::postgres_with_kinds(target, seed, &[]).await
    }

    /// The same, counting commits of these kinds apart. A transaction is of the first kind any of its statements is of.
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

    /// Where to connect to instead of the target.
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

    /// Commits by kind, as far as there were any; [`crate::OTHER`] are those of no kind.
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
    // Dropped with this task, which ends all connections.
    let mut connections = JoinSet::new();
    loop {
        let Ok((client, _)) = listener.accept().await else {
            // Out of descriptors, most likely: some will be free again.
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
