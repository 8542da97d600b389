//! The proxy in front of an echo server.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::time::Duration;

use rhythm_proxy::{Delay, Faults, Flow, Proxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

async fn echo() -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut from, mut to) = socket.split();
                let _ = tokio::io::copy(&mut from, &mut to).await;
            });
        }
    });
    address
}

async fn rig() -> (Proxy, TcpStream) {
    let proxy = Proxy::start(echo().await, 1).await.unwrap();
    let socket = TcpStream::connect(proxy.address()).await.unwrap();
    (proxy, socket)
}

/// Sends a word and waits for the echo, without a time limit.
async fn ask(socket: &mut TcpStream, word: &[u8]) -> std::io::Result<Vec<u8>> {
    socket.write_all(word).await?;
    let mut answer = vec![0; word.len()];
    socket.read_exact(&mut answer).await?;
    Ok(answer)
}

async fn until(proxy: &Proxy, what: &str, condition: impl Fn(rhythm_proxy::Counts) -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !condition(proxy.counts()) {
        assert!(Instant::now() < give_up, "waited too long until {what}: {:?}", proxy.counts());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn bytes_pass_unchanged_and_so_does_the_goodbye() {
    let (proxy, mut socket) = rig().await;
    let large: Vec<u8> = (0..1_000_000u32).map(|n| n as u8).collect();
    let (mut from, mut to) = socket.split();
    let (sent, mut received) = (large.clone(), Vec::new());
    let writing = async {
        to.write_all(&sent).await.unwrap();
        to.shutdown().await.unwrap();
    };
    tokio::join!(writing, async { from.read_to_end(&mut received).await.unwrap() });
    assert!(received == large, "{} bytes came back", received.len());
    assert_eq!(proxy.counts().accepted, 1);
}

#[tokio::test]
async fn late_bytes_are_late_but_not_slow() {
    let (proxy, mut socket) = rig().await;
    let base = Duration::from_millis(100);
    proxy.set(Faults {
        delay: Some(Delay { base, jitter: base / 2, ..Delay::default() }),
        ..Faults::default()
    });
    let began = Instant::now();
    assert_eq!(ask(&mut socket, b"one").await.unwrap(), b"one");
    assert!(began.elapsed() >= 2 * base, "both ways are late: {:?}", began.elapsed());
    let began = Instant::now();
    let (mut from, mut to) = socket.split();
    let writing = async {
        for _ in 0..100 {
            to.write_all(b"x").await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let mut answer = [0; 100];
    tokio::join!(writing, async { from.read_exact(&mut answer).await.unwrap() });
    assert!(began.elapsed() < 100 * base, "a hundred pieces are not a hundred times as late");
    assert!(proxy.counts().delayed >= 4, "{:?}", proxy.counts());
}

#[tokio::test]
async fn what_is_held_arrives_after_the_partition() {
    for faults in [
        Faults { to_server: Flow::Hold, ..Faults::default() },
        Faults { to_client: Flow::Hold, ..Faults::default() },
        Faults::held(),
    ] {
        let (proxy, mut socket) = rig().await;
        proxy.set(faults.clone());
        socket.write_all(b"hello").await.unwrap();
        until(&proxy, "something is held", |counts| counts.held == 1).await;
        let mut answer = [0; 5];
        assert!(
            timeout(Duration::from_millis(50), socket.read_exact(&mut answer)).await.is_err(),
            "{faults:?}"
        );
        proxy.set(Faults::default());
        socket.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"hello");
    }
}

#[tokio::test]
async fn a_half_open_connection_stays_silent_and_dies_only_after_it_healed() {
    let (proxy, mut socket) = rig().await;
    assert_eq!(ask(&mut socket, b"one").await.unwrap(), b"one");
    proxy.set(Faults::half_open());
    socket.write_all(b"two").await.unwrap();
    until(&proxy, "it is swallowed", |counts| counts.swallowed_bytes == 3).await;
    assert_eq!(proxy.counts().silenced, 1);
    let mut answer = [0; 3];
    assert!(
        timeout(Duration::from_millis(50), socket.read(&mut answer)).await.is_err(),
        "the socket is kept"
    );
    proxy.set(Faults::default());
    socket.write_all(b"six").await.unwrap();
    until(&proxy, "it stays lost", |counts| counts.swallowed_bytes == 6).await;
    let mut other = TcpStream::connect(proxy.address()).await.unwrap();
    assert_eq!(ask(&mut other, b"new").await.unwrap(), b"new");
    socket.shutdown().await.unwrap();
    assert!(
        socket.read(&mut answer).await.is_err(),
        "the goodbye of a lost connection is answered by a reset"
    );
}

#[tokio::test]
async fn a_connection_is_reset_after_so_many_bytes() {
    let (proxy, mut socket) = rig().await;
    proxy.set(Faults { reset_after: Some(10), ..Faults::default() });
    assert_eq!(ask(&mut socket, b"four").await.unwrap(), b"four");
    assert!(ask(&mut socket, b"four").await.is_err());
    assert_eq!(proxy.counts().reset, 1);
}

#[tokio::test]
async fn new_connections_are_refused_and_old_ones_live() {
    let (proxy, mut socket) = rig().await;
    assert_eq!(ask(&mut socket, b"one").await.unwrap(), b"one");
    proxy.set(Faults { refuse: true, ..Faults::default() });
    let refused = async { ask(&mut TcpStream::connect(proxy.address()).await?, b"two").await };
    assert!(refused.await.is_err());
    assert_eq!(ask(&mut socket, b"two").await.unwrap(), b"two");
    assert_eq!(proxy.counts().refused, 1);
}

#[tokio::test]
async fn all_connections_can_be_cut_at_once() {
    let (proxy, mut one) = rig().await;
    let mut two = TcpStream::connect(proxy.address()).await.unwrap();
    for socket in [&mut one, &mut two] {
        assert_eq!(ask(socket, b"one").await.unwrap(), b"one");
    }
    proxy.cut_all();
    for socket in [&mut one, &mut two] {
        assert!(ask(socket, b"two").await.is_err());
    }
    until(&proxy, "both were cut", |counts| counts.cut == 2).await;
}

#[tokio::test]
async fn a_target_that_is_not_there_resets() {
    let gone = TcpListener::bind(("127.0.0.1", 0)).await.unwrap().local_addr().unwrap();
    let proxy = Proxy::start(gone, 1).await.unwrap();
    let asked = async { ask(&mut TcpStream::connect(proxy.address()).await?, b"one").await };
    assert!(asked.await.is_err());
}
