//! Plain connections to PostgreSQL, apart from those of the measured world.

use std::ops::Deref;

use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::BenchError;

/// A connection that is closed when dropped.
pub struct Connected {
    client: Client,
    driver: JoinHandle<()>,
}

impl Deref for Connected {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Drop for Connected {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// Connects like the world does, with its TLS and password handling.
pub async fn connect(url: &str) -> Result<Connected, BenchError> {
    let (client, connection) = rhythm_worlds::postgres::connect(url).await?;
    let driver = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "a connection to PostgreSQL ended");
        }
    });
    Ok(Connected { client, driver })
}

/// Returns the URL of another database on the same server.
pub fn database_named(url: &str, name: &str) -> String {
    let (place, query) = url.split_once('?').map_or((url, None), |(place, query)| (place, Some(query)));
    let begin = place.find("://").map_or(0, |scheme| scheme + 3);
    // A password may contain a slash, a host may not.
    let host = place[begin..].rfind('@').map_or(begin, |at| begin + at + 1);
    let end = place[host..].find('/').map_or(place.len(), |slash| host + slash);
    let parameters = query.into_iter().flat_map(|query| query.split('&'));
    let kept: Vec<&str> = parameters.filter(|parameter| !parameter.starts_with("dbname=")).collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    format!("{}/{name}{query}", &place[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_of_a_url_changes() {
        let cases = [
            ("postgres://u:p@h:5433/d", "postgres://u:p@h:5433/x"),
            ("postgresql://u@h/d?sslmode=disable", "postgresql://u@h/x?sslmode=disable"),
            ("postgres://u@h", "postgres://u@h/x"),
            ("postgres://h/", "postgres://h/x"),
            ("postgres://u:a/b@h/d?dbname=e", "postgres://u:a/b@h/x"),
            ("postgres:///d?host=/run/postgresql", "postgres:///x?host=/run/postgresql"),
        ];
        for (url, other) in cases {
            assert_eq!(database_named(url, "x"), other);
        }
    }
}
