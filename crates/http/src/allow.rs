//! Hosts that an operator allows although their addresses are not public.

use url::{Host, Url};

/// Hosts by name or address, each with one port or with all ports.
#[derive(Clone, Debug, Default)]
pub struct AllowList(Vec<Allowed>);

#[derive(Clone, Debug)]
struct Allowed {
    host: Host<String>,
    port: Option<u16>,
}

impl AllowList {
    /// Reads entries such as `localhost:8080`, `billing.internal`, `10.0.0.7` and `[::1]:80`. Fails on the
    /// first entry that is not a host with an optional port.
    pub fn parse<T: AsRef<str>>(entries: impl IntoIterator<Item = T>) -> Result<Self, String> {
        let read = |text: T| {
            let text = text.as_ref();
            allowed(text).ok_or_else(|| format!("{text:?} is not HOST or HOST:PORT"))
        };
        entries.into_iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the list names the host and port of this URL.
    pub(crate) fn permits(&self, url: &Url) -> bool {
        let Some(host) = url.host().map(|host| plain(host.to_owned())) else { return false };
        let port = url.port_or_known_default();
        self.0.iter().any(|entry| entry.host == host && (entry.port.is_none() || entry.port == port))
    }
}

fn allowed(text: &str) -> Option<Allowed> {
    // `Url` drops `:80` as the default port of http, but an entry with `:80` allows port 80 only.
    let url = Url::parse(&format!("http://{text}")).ok()?;
    let port = url.port().or(text.ends_with(":80").then_some(80));
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let right = bare && url.username().is_empty() && url.password().is_none() && !text.ends_with(['/', ':']);
    let host = plain(url.host()?.to_owned());
    right.then_some(Allowed { host, port })
}

/// Removes the final dot of a name: `localhost.` becomes `localhost`.
fn plain(host: Host<String>) -> Host<String> {
    match host {
        Host::Domain(name) => Host::Domain(name.trim_end_matches('.').to_owned()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn permits(entry: &str, url: &str) -> bool {
        AllowList::parse([entry]).unwrap().permits(&Url::parse(url).unwrap())
    }

    #[test]
    fn a_host_is_allowed_on_all_ports_or_on_one() {
        assert!(permits("localhost", "http://localhost:8080/x"));
        assert!(permits("LOCALHOST.", "https://localhost/"));
        assert!(permits("localhost", "http://localhost./"));
        assert!(permits("localhost:80", "http://localhost/"));
        assert!(!permits("localhost:80", "https://localhost/"));
        assert!(permits("localhost:443", "https://localhost/"));
        assert!(!permits("localhost:8080", "http://localhost:8081/"));
        assert!(permits("[::1]:80", "http://[0:0::1]/"));
        assert!(permits("127.0.0.1", "http://2130706433/"));
    }

    #[test]
    fn nothing_else_is() {
        assert!(!permits("localhost", "http://127.0.0.1/"));
        assert!(!permits("internal", "http://x.internal/"));
        assert!(!AllowList::default().permits(&Url::parse("http://localhost/").unwrap()));
        for entry in ["", "http://x", "a/b", "a b", "u@h", "h:port", "h:", "h:70000", "h?q", "h#f", "h/"] {
            assert!(AllowList::parse([entry]).is_err(), "{entry:?}");
        }
    }
}
