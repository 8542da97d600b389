//! Resolves names and checks the addresses. The connector gets only checked addresses and cannot resolve
//! again.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use async_trait::async_trait;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::inside;

/// Source of addresses for names. Tests bring their own.
#[async_trait]
pub trait Resolver: Send + Sync {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>>;
}

/// The system's resolver.
pub(crate) struct System;

#[async_trait]
impl Resolver for System {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

/// Error: a host's address is not public.
#[derive(Debug)]
pub(crate) struct Blocked {
    pub host: String,
    pub why: &'static str,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the address of {} is not public ({})", self.host, self.why)
    }
}

impl Error for Blocked {}

/// Resolves names for the connector. With `public_only` it fails if one of the addresses is not public.
pub(crate) struct Addresses {
    pub resolver: Arc<dyn Resolver>,
    pub public_only: bool,
}

impl Resolve for Addresses {
    fn resolve(&self, name: Name) -> Resolving {
        let (resolver, public_only) = (self.resolver.clone(), self.public_only);
        Box::pin(async move {
            let found = resolver.resolve(name.as_str()).await?;
            if found.is_empty() {
                return Err(format!("{} has no address", name.as_str()).into());
            }
            // The connector chooses among the addresses, so one address inside the network is enough to
            // refuse the name.
            if let Some(why) = found.iter().copied().find_map(inside).filter(|_| public_only) {
                return Err(Blocked { host: name.as_str().to_owned(), why }.into());
            }
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// DNS rebinding: returns a public address first and the loopback address afterwards.
    #[derive(Default)]
    struct Rebinding(AtomicUsize);

    #[async_trait]
    impl Resolver for Rebinding {
        async fn resolve(&self, _name: &str) -> std::io::Result<Vec<IpAddr>> {
            let first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
            Ok(vec![if first { [1, 1, 1, 1].into() } else { [127, 0, 0, 1].into() }])
        }
    }

    #[tokio::test]
    async fn a_name_that_changes_its_meaning_is_checked_each_time() {
        let addresses = Addresses { resolver: Arc::new(Rebinding::default()), public_only: true };
        let found: Vec<SocketAddr> =
            addresses.resolve("a.test".parse().unwrap()).await.ok().unwrap().collect();
        assert_eq!(found, ["1.1.1.1:0".parse().unwrap()]);
        let refused = addresses.resolve("a.test".parse().unwrap()).await.err().unwrap();
        assert_eq!(refused.downcast_ref::<Blocked>().unwrap().why, "loopback");
    }
}
