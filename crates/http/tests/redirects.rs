//! Redirections: which ones are followed, and which headers they keep.
#![allow(clippy::unwrap_used)]

mod stage;

use serde_json::json;
use stage::{Server, client, is, reply, send};

/// Answers `/status/location` with that status and location, and every other path with the final response.
async fn server() -> Server {
    Server::start(|request, port| {
        let path = request.split(' ').nth(1).unwrap();
        match path.trim_start_matches('/').split_once('/') {
            Some((status, to)) => {
                let to = to.replace("OTHER", &format!("http://other.test:{port}"));
                reply(&format!("{status} Elsewhere"), &[("location", &to)], "")
            }
            None => reply("200 OK", &[], "end"),
        }
    })
    .await
}

#[tokio::test]
async fn redirections_are_followed_with_the_method_the_status_asks_for() {
    for (method, status, then) in [
        ("POST", 301, "GET"),
        ("POST", 302, "GET"),
        ("POST", 303, "GET"),
        ("PUT", 303, "GET"),
        ("PUT", 302, "PUT"),
        ("POST", 307, "POST"),
        ("PATCH", 308, "PATCH"),
        ("HEAD", 303, "HEAD"),
    ] {
        let server = server().await;
        let mut input = json!({"url": server.url("home.test", &format!("/{status}//end")), "method": method});
        if method != "HEAD" {
            input["json"] = json!({"n": 1});
        }
        assert_eq!(send(&client(), input).await.unwrap().status, 200);
        let last = server.requests().pop().unwrap();
        assert!(
            last.starts_with(&format!("{then} //end ")) || last.starts_with(&format!("{then} /end ")),
            "{last}"
        );
        let sent = last.ends_with("{\"n\":1}");
        assert_eq!(sent, then != "GET" && method != "HEAD", "{method} {status}: {last}");
        assert_eq!(last.contains("content-type: application/json"), sent, "{last}");
    }
}

#[tokio::test]
async fn credentials_stay_with_their_origin() {
    let headers = json!({
        "Authorization": "Bearer secret", "Cookie": "session=secret", "X-Api-Key": "secret", "Accept": "text/plain",
    });
    let server = server().await;
    let url = server.url("home.test", "/302/OTHER/end");
    assert_eq!(send(&client(), json!({"url": url, "headers": headers})).await.unwrap().status, 200);
    let seen = server.requests();
    assert_eq!(seen[0].matches("secret").count(), 3);
    assert!(!seen[1].contains("secret") && !seen[1].contains("idempotency-key"), "{}", seen[1]);
    assert!(seen[1].contains("accept: text/plain"), "{}", seen[1]);
    let url = server.url("home.test", "/302//end");
    assert_eq!(send(&client(), json!({"url": url, "headers": headers})).await.unwrap().status, 200);
    assert_eq!(server.requests()[3].matches("secret").count(), 3, "the same origin gets them");
}

#[tokio::test]
async fn another_port_is_another_origin() {
    let (first, second) = (Server::start(|_, _| reply("200 OK", &[], "")).await, server().await);
    let port = first.address.port();
    let url = second.url("home.test", &format!("/307/http://home.test:{port}/x"));
    let headers = json!({"Authorization": "secret"});
    send(&client(), json!({"url": url, "headers": headers})).await.unwrap();
    assert!(!first.requests()[0].contains("secret"));
}

#[tokio::test]
async fn redirections_come_to_an_end() {
    let server = Server::start(|_, _| reply("302 Found", &[("location", "/again")], "")).await;
    let failure = send(&client(), json!({"url": server.url("home.test", "/")})).await.unwrap_err();
    is(&failure, "HTTP_REDIRECT", false);
    assert!(failure.message.contains("after 10 times"), "{failure}");
    assert_eq!(server.requests().len(), 11);
}

#[tokio::test]
async fn what_is_no_place_on_the_web_is_not_followed() {
    for to in [
        "file:///etc/passwd",
        "gopher://home.test/",
        "javascript:alert(1)",
        "http://ann:x@home.test/",
        "http://",
    ] {
        let server = server().await;
        let failure = send(&client(), json!({"url": server.url("home.test", &format!("/302/{to}"))}))
            .await
            .unwrap_err();
        is(&failure, "HTTP_REDIRECT", false);
    }
}

#[tokio::test]
async fn a_redirection_can_be_the_answer() {
    let server = server().await;
    let input = json!({"url": server.url("home.test", "/302//end"), "follow_redirects": false});
    let answer = send(&client(), input).await.unwrap();
    assert_eq!((answer.status, answer.headers["location"].as_str()), (302, "/end"));
    assert_eq!(server.requests().len(), 1);
}
