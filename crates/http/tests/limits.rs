//! Servers that answer too slowly or too much.
#![allow(clippy::unwrap_used)]

mod stage;

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use stage::{Reply, Server, client, is, reply, send};

const ENDLESS: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

#[tokio::test]
async fn a_server_that_falls_silent_runs_into_the_timeout() {
    let server = Server::start(|request, _| match request.starts_with("GET /head") {
        true => Reply::Stall(Vec::new()),
        false => Reply::Stall(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec()),
    })
    .await;
    for path in ["/head", "/body"] {
        let input = json!({"url": server.url("home.test", path), "timeout": "100ms"});
        let failure = send(&client(), input).await.unwrap_err();
        is(&failure, "HTTP_TIMEOUT", true);
        assert!(failure.message.contains("took longer than 0.1 s"), "{failure}");
    }
}

#[tokio::test]
async fn a_body_that_breaks_off_is_tried_again() {
    let half = || Reply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf".to_vec());
    let server = Server::start(move |_, _| half()).await;
    let failure = send(&client(), json!({"url": server.url("home.test", "/")})).await.unwrap_err();
    is(&failure, "HTTP_UNREACHABLE", true);
}

#[tokio::test]
async fn a_body_may_have_as_many_bytes_as_allowed_and_not_one_more() {
    let server = Server::start(|_, _| reply("200 OK", &[], "12345")).await;
    let url = server.url("home.test", "/");
    let answer = send(&client(), json!({"url": url, "max_bytes": 5})).await.unwrap();
    assert_eq!(answer.body, Some(json!("12345")));
    let failure = send(&client(), json!({"url": url, "max_bytes": 4})).await.unwrap_err();
    is(&failure, "HTTP_TOO_LARGE", false);
    assert!(failure.message.contains("more than 4 bytes"), "{failure}");
}

#[tokio::test]
async fn a_body_without_an_end_is_cut_off() {
    let server = Server::start(|_, _| Reply::Endless(ENDLESS.to_vec(), vec![b'x'; 65_536])).await;
    let failure = send(&client(), json!({"url": server.url("home.test", "/")})).await.unwrap_err();
    is(&failure, "HTTP_TOO_LARGE", false);
}

#[tokio::test]
async fn the_endless_body_of_a_failure_is_cut_and_the_status_is_told() {
    let head = b"HTTP/1.1 500 Oops\r\n\r\n";
    let server = Server::start(|_, _| Reply::Endless(head.to_vec(), vec![b'x'; 65_536])).await;
    let failure = send(&client(), json!({"url": server.url("home.test", "/")})).await.unwrap_err();
    is(&failure, "HTTP_STATUS", true);
    let data: Value = serde_json::from_str(failure.data.unwrap().text().unwrap()).unwrap();
    assert_eq!(data["body"].as_str().unwrap().len(), 32 * 1024);
}

#[tokio::test]
async fn compressed_bodies_are_read_and_bombs_do_not_go_off() {
    let packed = |bytes: usize| {
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&vec![b' '; bytes]).unwrap();
        packed.finish().unwrap()
    };
    let (small, bomb) = (packed(1_000), packed(64 * 1024 * 1024));
    assert!(bomb.len() < 100_000, "a thousandth of what is in it");
    let server = Server::start(move |request, _| {
        let body = if request.starts_with("GET /bomb") { &bomb } else { &small };
        reply("200 OK", &[("content-encoding", "gzip")], body)
    })
    .await;
    let answer = send(&client(), json!({"url": server.url("home.test", "/small")})).await.unwrap();
    assert_eq!(answer.body.unwrap().as_str().map(str::len), Some(1_000));
    let failure = send(&client(), json!({"url": server.url("home.test", "/bomb")})).await.unwrap_err();
    is(&failure, "HTTP_TOO_LARGE", false);
}

#[tokio::test]
async fn headers_without_an_end_are_not_collected() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let server =
        Server::start(move |_, _| Reply::Endless(head.clone(), b"x-more: and more\r\n".repeat(100))).await;
    is(
        &send(&client(), json!({"url": server.url("home.test", "/")})).await.unwrap_err(),
        "HTTP_UNREACHABLE",
        true,
    );
}
