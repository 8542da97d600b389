//! Commits whose answer is dropped are made: a direct connection to a real server shows them.
#![allow(clippy::unwrap_used)]

use std::net::ToSocketAddrs;

use rhythm_proxy::{Cut, Faults, Kind, Proxy};
use tokio_postgres::config::Host;
use tokio_postgres::{Client, Config, NoTls};

const KINDS: &[Kind] = &[Kind { name: "singles", marks: &["INTO proxy_single"] }];

struct Rig {
    proxy: Proxy,
    server: Config,
    /// Connection without the proxy.
    direct: Client,
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn rig(table: &str) -> Rig {
    let url = std::env::var("RHYTHM_TEST_POSTGRES")
        .expect("RHYTHM_TEST_POSTGRES names no server: run the tests through `make test`");
    let server: Config = url.parse().unwrap();
    let Host::Tcp(host) = &server.get_hosts()[0] else { panic!("the server is on a port") };
    let target = (host.as_str(), server.get_ports()[0]).to_socket_addrs().unwrap().next().unwrap();
    let proxy = Proxy::postgres_with_kinds(target, 1, KINDS).await.unwrap();
    let direct = connect(&server).await;
    let fresh = format!("DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (n int)");
    direct.batch_execute(&fresh).await.unwrap();
    Rig { proxy, server, direct }
}

impl Rig {
    async fn through(&self) -> Client {
        let mut config = Config::new();
        config
            .host(self.proxy.address().ip().to_string())
            .port(self.proxy.address().port())
            .user(self.server.get_user().unwrap())
            .password(self.server.get_password().unwrap_or_default())
            .dbname(self.server.get_dbname().unwrap());
        connect(&config).await
    }

    async fn rows(&self, table: &str) -> i64 {
        self.direct.query_one(&format!("SELECT count(*) FROM {table}"), &[]).await.unwrap().get(0)
    }
}

#[tokio::test]
async fn the_answer_to_a_commit_is_lost_but_not_the_commit() {
    let rig = rig("proxy_commit").await;
    rig.proxy.set(Faults { cut_commits: Some(Cut::Every(2)), ..Faults::default() });
    let client = rig.through().await;
    for text in ["BEGIN", "INSERT INTO proxy_commit VALUES (1)", "COMMIT", "SELECT 1", "BEGIN"] {
        client.batch_execute(text).await.unwrap();
    }
    client.batch_execute("INSERT INTO proxy_commit VALUES (2)").await.unwrap();
    let lost = client.batch_execute("COMMIT").await.unwrap_err();
    assert!(lost.code().is_none(), "no answer of the server's: {lost}");
    assert!(client.batch_execute("SELECT 1").await.is_err(), "the connection is dead");
    assert_eq!(rig.rows("proxy_commit").await, 2, "both were written");
    let counts = rig.proxy.counts();
    assert_eq!((counts.commits, counts.cut_commits), (2, 1));
}

#[tokio::test]
async fn the_answer_to_a_single_prepared_write_is_lost_but_not_the_write() {
    let rig = rig("proxy_single").await;
    let client = rig.through().await;
    let write = "WITH made AS (INSERT INTO proxy_single VALUES ($1) RETURNING n) SELECT n FROM made";
    let statement = client.prepare(write).await.unwrap();
    let read = client.prepare("SELECT count(*) FROM proxy_single").await.unwrap();
    rig.proxy.set(Faults { cut_commits: Some(Cut::Every(1)), ..Faults::default() });
    assert_eq!(client.query_one(&read, &[]).await.unwrap().get::<_, i64>(0), 0, "reading is not cut");
    assert!(client.query(&statement, &[&1]).await.is_err());
    assert_eq!(rig.rows("proxy_single").await, 1);
    assert_eq!(rig.proxy.counts().cut_commits, 1);
    let of_kind = rig.proxy.commits()["singles"];
    assert_eq!((of_kind.made, of_kind.cut), (1, 1));
}

#[tokio::test]
async fn a_commit_of_a_broken_transaction_is_not_counted() {
    let rig = rig("proxy_broken").await;
    rig.proxy.set(Faults { cut_commits: Some(Cut::Every(1)), ..Faults::default() });
    let client = rig.through().await;
    client.batch_execute("BEGIN").await.unwrap();
    client.batch_execute("INSERT INTO nowhere VALUES (1)").await.unwrap_err();
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(rig.proxy.counts().commits, 0);
}
