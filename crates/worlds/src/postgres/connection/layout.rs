//! Number of connections of a process, and the use of each. Few, because each is a process of the server.

use std::sync::Arc;
use std::time::Duration;

use crate::postgres::connection::connect::{Dial, Purpose};
use crate::postgres::connection::reconnecting::ReconnectingClient;
use crate::postgres::connection::shared::{SharedConnection, Vital};

/// One for liveness and heartbeats, one for statements that move runs and tasks, one on demand for slow ones.
pub const CONNECTIONS: usize = 3;
/// Idle time after which the connection on demand is closed.
pub const IDLE: Duration = Duration::from_secs(30);

pub struct Layout {
    /// The lock, LISTEN and NOTIFY; open as long as the world is.
    pub vital: Arc<SharedConnection>,
    /// Open from the start too, so that opening fails if the server has no free connection.
    pub steady: Vec<Arc<SharedConnection>>,
    pub beats: ReconnectingClient,
    /// Transitions; never empty.
    pub commits: Vec<ReconnectingClient>,
    /// New runs and tasks, messages, ended attempts.
    pub requests: ReconnectingClient,
    /// Claims and other short statements.
    pub claims: ReconnectingClient,
    /// Transactions of several statements on behalf of operators.
    pub control: ReconnectingClient,
    /// Slow statements: reads, retention, full scans.
    pub slow: ReconnectingClient,
}

impl Layout {
    pub fn new(dial: &Dial, count: usize, vital: Vital, idle: Duration) -> Self {
        let open = |purpose| SharedConnection::new(dial.clone(), purpose);
        let first = Arc::new(open(Purpose::Hot).with_vital(vital));
        if count <= 1 {
            let link = ReconnectingClient::new(&first, Purpose::Hot);
            let slow = ReconnectingClient::new(&first, Purpose::Plain).yielding();
            return Self::of(&first, vec![], &[link], slow);
        }
        let on_demand = Arc::new(open(Purpose::Plain).closed_after(idle));
        let slow = ReconnectingClient::new(&on_demand, Purpose::Plain);
        // With two connections, heartbeats share one with the statements that move runs: all of them are
        // short.
        let hot: Vec<_> = match count {
            2 => vec![first.clone()],
            _ => (2..count).map(|_| Arc::new(open(Purpose::Hot))).collect(),
        };
        let links: Vec<_> =
            hot.iter().map(|connection| ReconnectingClient::new(connection, Purpose::Hot)).collect();
        let steady = if count == 2 { vec![] } else { hot };
        Self::of(&first, steady, &links, slow)
    }

    fn of(
        vital: &Arc<SharedConnection>,
        steady: Vec<Arc<SharedConnection>>,
        hot: &[ReconnectingClient],
        slow: ReconnectingClient,
    ) -> Self {
        let last = hot.len() - 1;
        let (commits, requests) = match hot.len() {
            1 | 2 => (&hot[..1], last),
            _ => (&hot[..last - 1], last - 1),
        };
        Self {
            vital: vital.clone(),
            steady,
            beats: ReconnectingClient::new(vital, Purpose::Hot),
            commits: commits.to_vec(),
            requests: hot[requests].clone(),
            claims: hot[last].clone(),
            control: hot[last].with(Purpose::Plain),
            slow,
        }
    }
}
