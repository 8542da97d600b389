//! A half-open connection: the world must detect it by itself, and take its advisory lock again.

mod postgres_stage;

use std::net::ToSocketAddrs;
use std::time::{Duration, Instant};

use postgres_stage::Database;
use rhythm_engine::world::{Upkeep, World, WorldError};
use rhythm_proxy::{Faults, Proxy};
use rhythm_worlds::postgres::{PostgresOptions, PostgresWorld};

/// Starts a proxy before the test's server. Returns it with the database's URL through it.
async fn through_a_proxy(database: &Database) -> (Proxy, String) {
    let (before, after) = database.url.split_once('@').expect("the url has a user");
    let (address, name) = after.split_once('/').expect("the url has a database");
    let target = address.to_socket_addrs().expect("an address").next().expect("one address");
    let proxy = Proxy::postgres(target, 1).await.expect("a free port");
    let url = format!("{before}@{}/{name}", proxy.address());
    (proxy, url)
}

/// Returns the session that holds the advisory lock of the only handle.
async fn holder(database: &Database) -> Option<i32> {
    let held = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted \
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    database.client().await.query_opt(held, &[]).await.expect("the server answers").map(|row| row.get(0))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_server_is_noticed_and_the_mark_of_life_is_taken_back() {
    let database = Database::create().await;
    let (proxy, url) = through_a_proxy(&database).await;
    let world = PostgresWorld::connect(&url, PostgresOptions::default()).await.expect("the world opens");
    world.now().await.expect("the connection for claims is open");
    let before = holder(&database).await.expect("the handle has its mark");
    let silence = Instant::now();
    proxy.set(Faults::half_open());
    // No call waits longer than the liveness connection needs to detect the failure.
    let error = world.now().await.expect_err("there is no answer");
    assert!(matches!(error, WorldError::Unavailable(_)), "{error:?}");
    assert!(silence.elapsed() < Duration::from_secs(15), "noticed after {:?}", silence.elapsed());
    proxy.set(Faults::default());
    // The server still keeps the old session, and with it the lock.
    let give_up = Instant::now() + Duration::from_secs(60);
    while holder(&database).await.is_none_or(|now| now == before) {
        assert!(Instant::now() < give_up, "the mark of life was not taken back");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.upkeep(Upkeep::Prepare).await.expect("the world works again");
}
