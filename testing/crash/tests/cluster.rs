//! The laboratory's own PostgreSQL: restarted, stopped, with sessions ended, and removed afterwards.
#![allow(clippy::unwrap_used)]

use rhythm_crash::cluster::{Cluster, Mode, Victims};

async fn one(cluster: &Cluster) -> i32 {
    cluster.connect().await.unwrap().query_one("SELECT 1", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_cluster_comes_back_on_its_port_with_what_was_committed() {
    let cluster = Cluster::start().await.unwrap();
    let address = cluster.address();
    let name = cluster.database().await.unwrap();
    cluster.connect_to(&name).await.unwrap().batch_execute("CREATE TABLE kept (n int)").await.unwrap();
    for mode in [Mode::Fast, Mode::Immediate] {
        let session = cluster.connect().await.unwrap();
        cluster.restart(mode).await.unwrap();
        assert!(session.simple_query("SELECT 1").await.is_err(), "{mode:?}");
        let again = cluster.connect_to(&name).await.unwrap();
        again.query("SELECT n FROM kept", &[]).await.unwrap();
    }
    cluster.stop(Mode::Immediate).await.unwrap();
    assert!(cluster.connect().await.is_err());
    cluster.resume().await.unwrap();
    assert_eq!((one(&cluster).await, cluster.address()), (1, address));
    drop(cluster);
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "it is gone");
}

#[tokio::test]
async fn sessions_of_rhythm_and_no_others_are_ended_listeners_by_their_marks() {
    let cluster = Cluster::start().await.unwrap();
    let admin = cluster.connect().await.unwrap();
    let other = cluster.connect().await.unwrap();
    let named = || async {
        let session = cluster.connect().await.unwrap();
        session.batch_execute("SET application_name = 'rhythm'").await.unwrap();
        session
    };
    let (plain, listener) = (named().await, named().await);
    listener.batch_execute("SELECT pg_advisory_lock(123456789012)").await.unwrap();
    assert_eq!(cluster.terminate_backends(&admin, Victims::Listeners, 9).await.unwrap(), 1);
    assert!(listener.simple_query("SELECT 1").await.is_err());
    assert!(plain.simple_query("SELECT 1").await.is_ok());
    assert_eq!(cluster.terminate_backends(&admin, Victims::Any, 9).await.unwrap(), 1);
    assert!(plain.simple_query("SELECT 1").await.is_err());
    assert!(other.simple_query("SELECT 1").await.is_ok());
}
