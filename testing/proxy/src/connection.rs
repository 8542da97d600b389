//! One connection: two pumps that share what is known of it, and one way to end it.

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

/// What all connections of a proxy share.
#[derive(Debug)]
pub struct Shared {
    pub faults: watch::Sender<Faults>,
    pub counters: Counters,
    /// Counts the calls of `cut_all`.
    pub cuts: watch::Sender<u64>,
    /// Which commits are told apart, where the connections speak PostgreSQL's protocol.
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

/// What the pumps of one connection share.
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

    /// Bytes carried so far, these included.
    pub fn carry(&self, bytes: usize) -> u64 {
        self.carried.fetch_add(bytes as u64, Ordering::AcqRel) + bytes as u64
    }

    pub fn silence(&self) {
        if !self.silenced.swap(true, Ordering::AcqRel) {
            count(&self.shared.counters.silenced);
        }
    }
}

/// Carries bytes until both ends are done with each other, or a fault ends it.
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

/// Until both are done, or one is killed.
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

/// The socket ends with a reset, not with a goodbye.
pub fn reset(socket: &TcpStream) {
    // A socket that is gone already needs none.
    let _ = socket.set_zero_linger();
}
