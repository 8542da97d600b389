//! One connection: two pumps with shared state, and one way to end it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::counts::{Commits, Counters, count};
use crate::dice::Dice;
use crate::exchange::Conversation;
use crate::faults::Faults;
use crate::kinds::Kinds;
use crate::pump::{Ended, Way, pump};

/// State shared by all connections of a proxy.
#[derive(Debug)]
pub struct Shared {
    pub faults: watch::Sender<Faults>,
    pub counters: Counters,
    /// Number of calls of `cut_all`.
    pub cuts: watch::Sender<u64>,
    /// Kinds of commits to count; None when the connections do not speak PostgreSQL's protocol.
    postgres: Option<Kinds>,
    commits: Mutex<BTreeMap<&'static str, Commits>>,
    dice: Mutex<Dice>,
}

impl Shared {
    pub fn new(postgres: Option<Kinds>, seed: u64) -> Self {
        Self {
            postgres,
            faults: watch::channel(Faults::default()).0,
            counters: Counters::default(),
            commits: Mutex::default(),
            cuts: watch::channel(0).0,
            dice: Mutex::new(Dice::new(seed)),
        }
    }

    pub fn commits(&self) -> MutexGuard<'_, BTreeMap<&'static str, Commits>> {
        self.commits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn dice(&self) -> MutexGuard<'_, Dice> {
        self.dice.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// State shared by the two pumps of one connection.
pub struct Line {
    pub shared: Arc<Shared>,
    talk: Mutex<Conversation>,
    carried: AtomicU64,
    silenced: AtomicBool,
}

impl Line {
    pub fn talk(&self) -> MutexGuard<'_, Conversation> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds these bytes and returns the number of bytes carried so far.
    pub fn carry(&self, bytes: usize) -> u64 {
        self.carried.fetch_add(bytes as u64, Ordering::AcqRel) + bytes as u64
    }

    pub fn silence(&self) {
        if !self.silenced.swap(true, Ordering::AcqRel) {
            count(&self.shared.counters.silenced);
        }
    }
}

/// Carries bytes until both sides have closed, or a fault ends the connection.
pub async fn connect(mut client: TcpStream, mut server: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let mut cuts = shared.cuts.subscribe();
    let talk = shared.postgres.map_or_else(Conversation::unknown, Conversation::telling);
    let line =
        Line { shared, talk: Mutex::new(talk), carried: AtomicU64::new(0), silenced: AtomicBool::new(false) };
    let ended = {
        let (from_client, to_client) = client.split();
        let (from_server, to_server) = server.split();
        tokio::select! {
            ended = both(
                pump(Way::ToServer, from_client, to_server, &line),
                pump(Way::ToClient, from_server, to_client, &line),
            ) => ended,
            _ = cuts.changed() => {
                count(&line.shared.counters.cut);
                Ended::Killed
            }
        }
    };
    if matches!(ended, Ended::Killed) {
        reset(&client);
        reset(&server);
    }
    Ok(())
}

/// Waits until both directions have ended, or one was killed.
async fn both(up: impl Future<Output = Ended>, down: impl Future<Output = Ended>) -> Ended {
    tokio::pin!(up, down);
    let (first, rest): (Ended, _) = tokio::select! {
        ended = &mut up => (ended, true),
        ended = &mut down => (ended, false),
    };
    match (first, rest) {
        (Ended::Killed, _) => Ended::Killed,
        (Ended::Quietly, true) => down.await,
        (Ended::Quietly, false) => up.await,
    }
}

/// Makes the socket end with a reset instead of a normal close.
pub fn reset(socket: &TcpStream) {
    // Fails only when the socket is already gone.
    let _ = socket.set_zero_linger();
}
