//! Connections to PostgreSQL: opening, sharing and reopening them, liveness and wake-ups, and the queues that batch requests.

pub mod batch_queue;
pub mod connect;
pub mod duty_route;
pub mod errors;
pub mod layout;
pub mod liveness;
pub mod pipeline;
pub mod reconnecting;
pub mod request_batcher;
pub mod session;
pub mod shared;
pub mod tls;
pub mod transactions;
pub mod url;
pub mod wakeups;
