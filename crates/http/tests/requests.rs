//! Requests and responses, tested against a real server.
#![allow(clippy::unwrap_used)]

mod stage;

use serde_json::{Value, json};
use stage::{Reply, Server, client, is, reply, send};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

#[tokio::test]
async fn a_request_has_method_headers_query_body_and_the_tasks_key() {
    let server = Server::start(|_, _| reply("200 OK", &[], "fine")).await;
    let input = json!({
        "url": server.url("home.test", "/orders?a=1"), "method": "put", "query": {"b": "x y"},
        "headers": {"X-Team": "blue"}, "json": {"n": 1}, "timeout": "5s",
    });
    let answer = send(&client(), input).await.unwrap();
    assert_eq!((answer.status, answer.body), (200, Some(json!("fine"))));
    let seen = server.requests().pop().unwrap();
    assert!(seen.starts_with("PUT /orders?a=1&b=x+y HTTP/1.1\r\n"), "{seen}");
    for line in ["x-team: blue", "content-type: application/json", "idempotency-key: run-1:1"] {
        assert!(seen.contains(&format!("\r\n{line}\r\n")), "{line} in {seen}");
    }
    assert!(seen.contains(&format!("\r\nhost: home.test:{}\r\n", server.address.port())), "{seen}");
    assert!(seen.ends_with("\r\n\r\n{\"n\":1}"), "{seen}");
}

#[tokio::test]
async fn a_json_answer_is_its_value_and_any_other_a_text() {
    let server = Server::start(|request, _| {
        let kind = if request.starts_with("GET /json") {
            "application/problem+json; charset=utf-8"
        } else {
            "text/plain"
        };
        reply("201 Created", &[("Content-Type", kind), ("X-A", "1"), ("x-a", "2")], r#"{"id": 7}"#)
    })
    .await;
    let answer = send(&client(), json!({"url": server.url("home.test", "/json")})).await.unwrap();
    let output = serde_json::to_value(&answer).unwrap();
    assert_eq!(output["status"], 201);
    assert_eq!(output["body"], json!({"id": 7}));
    assert_eq!(output["headers"]["x-a"], "1, 2");
    assert_eq!(output.as_object().unwrap().keys().collect::<Vec<_>>(), ["status", "headers", "body"]);
    let answer = send(&client(), json!({"url": server.url("home.test", "/text")})).await.unwrap();
    assert_eq!(answer.body, Some(json!(r#"{"id": 7}"#)));
}

#[tokio::test]
async fn what_is_no_text_comes_back_as_base64_and_broken_json_as_text() {
    let server = Server::start(|request, _| match request.starts_with("GET /bytes") {
        true => reply("200 OK", &[], [0xff, 0x00, 0x10]),
        false => reply("200 OK", &[("content-type", "application/json")], "{oops"),
    })
    .await;
    let output = send(&client(), json!({"url": server.url("home.test", "/bytes")})).await.unwrap();
    assert_eq!((output.body, output.body_base64.as_deref()), (None, Some("/wAQ")));
    let output = send(&client(), json!({"url": server.url("home.test", "/")})).await.unwrap();
    assert_eq!((output.body, output.body_base64), (Some(json!("{oops")), None));
}

#[tokio::test]
async fn a_status_fails_as_one_would_expect_and_brings_its_answer() {
    let server = Server::start(|request, _| {
        let status = request.split([' ', '/', '?']).nth(2).unwrap();
        reply(&format!("{status} Because"), &[("content-type", "application/json")], r#"{"why": "x"}"#)
    })
    .await;
    for (status, retryable) in [
        (400, false),
        (401, false),
        (404, false),
        (408, true),
        (409, false),
        (422, false),
        (425, true),
        (429, true),
        (500, true),
        (503, true),
    ] {
        let url = server.url("home.test", &format!("/{status}?token=secret"));
        let failure = send(&client(), json!({"url": url})).await.unwrap_err();
        is(&failure, "HTTP_STATUS", retryable);
        assert_eq!(failure.kind, format!("HTTP_{status}"));
        assert!(failure.message.contains(&format!("answered {status}")), "{failure}");
        assert!(!failure.message.contains("secret"), "{failure}");
        let data: Value = serde_json::from_str(failure.data.unwrap().text().unwrap()).unwrap();
        assert_eq!((&data["status"], &data["body"]["why"]), (&json!(status), &json!("x")));
    }
    for status in [200, 204, 304] {
        let url = server.url("home.test", &format!("/{status}"));
        assert_eq!(send(&client(), json!({"url": url})).await.unwrap().status, status);
    }
}

#[tokio::test]
async fn statuses_can_be_named_that_are_no_failure() {
    let server = Server::start(|_, _| reply("404 Not Found", &[], "")).await;
    let url = server.url("home.test", "/");
    let answer = send(&client(), json!({"url": url, "expect_status": ["2xx", 404]})).await.unwrap();
    assert_eq!(answer.status, 404);
    let failure = send(&client(), json!({"url": url, "expect_status": 410})).await.unwrap_err();
    is(&failure, "HTTP_STATUS", false);
}

#[tokio::test]
async fn a_place_that_nobody_answers_at_is_tried_again() {
    let gone = Server::start(|_, _| Reply::Bytes(Vec::new())).await;
    // The listener is closed again, so nothing listens on this port.
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    for url in
        [gone.url("home.test", "/"), format!("http://home.test:{port}/"), "https://nowhere.test/".into()]
    {
        let failure = send(&client(), json!({"url": format!("{url}?token=secret")})).await.unwrap_err();
        is(&failure, "HTTP_UNREACHABLE", true);
        assert!(!failure.message.contains("secret"), "{failure}");
    }
}

#[tokio::test]
async fn a_server_that_cannot_prove_itself_is_told_nothing() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://home.test:{}/secret", listener.local_addr().unwrap().port());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard).await;
        String::from_utf8_lossy(&heard).contains("secret")
    });
    is(&send(&client(), json!({"url": url})).await.unwrap_err(), "HTTP_UNREACHABLE", true);
    assert!(!server.await.unwrap());
}

#[tokio::test]
async fn inputs_that_do_not_fit_are_named_and_not_tried_again() {
    let failure = send(&client(), json!({"url": "nonsense"})).await.unwrap_err();
    is(&failure, "BAD_PAYLOAD", false);
    assert!(failure.message.contains("url:"), "{failure}");
}
