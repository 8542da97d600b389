//! A TCP proxy for tests. It stands between a program and its server, injects network faults on demand and
//! counts them. It understands enough of PostgreSQL's protocol to drop exactly the answer to a commit that
//! was made.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use rhythm_proxy::{Faults, Flow, Proxy};
//!
//! let proxy = Proxy::postgres("127.0.0.1:5432".parse().unwrap(), 1).await?;
//! println!("connect to {} instead", proxy.address());
//! proxy.set(Faults { to_client: Flow::Hold, ..Faults::default() });
//! proxy.set(Faults::default());
//! println!("{:?}", proxy.counts());
//! # Ok(())
//! # }
//! ```

mod connection;
mod counts;
mod dice;
mod exchange;
mod faults;
mod framing;
mod kinds;
mod proxy;
mod pump;

pub use counts::{Commits, Counts};
pub use dice::Dice;
pub use faults::{Cut, Delay, Faults, Flow, Stall};
pub use kinds::{Kind, OTHER};
pub use proxy::Proxy;
