//! A request made from a checked input, ready to be sent.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rhythm_core::failure::codes;
use rhythm_core::{Failure, Millis};
use url::Url;

use crate::input::{Expected, Input, Scalar};

const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_BYTES: u64 = 1024 * 1024;
/// Largest `max_bytes`: a body of this size fits into a task's output however long its JSON text is.
const MOST_BYTES: u64 = 8 * 1024 * 1024;
const MOST_URL_BYTES: usize = 8 * 1024;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Headers that an input cannot set. They say where a message ends and whom it is for, so a wrong one could
/// mislead a proxy or server on the way.
const OURS: [&str; 11] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "proxy-connection",
    "proxy-authorization",
];

#[derive(Clone)]
pub(crate) struct Request {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Option<Vec<u8>>,
    pub timeout: Duration,
    pub max_bytes: usize,
    pub follow_redirects: bool,
    pub expected: Option<Expected>,
}

impl Request {
    /// Checks an input. `key` identifies the request and is the same at every attempt.
    pub fn of(input: Input, key: &str) -> Result<Self, Failure> {
        let mut url = web_url(&input.url).map_err(|problem| bad("url", &problem))?;
        for (name, values) in &input.query {
            for value in values.texts() {
                url.query_pairs_mut().append_pair(name, &value);
            }
        }
        if url.as_str().len() > MOST_URL_BYTES {
            return Err(bad("url", "it is longer than 8 KiB"));
        }
        if input.body.is_some() && input.json.is_some() {
            return Err(bad("json", "give `body` or `json`, not both"));
        }
        let mut headers = HeaderMap::new();
        headers.insert(IDEMPOTENCY_KEY, header_value("Idempotency-Key", key)?);
        let json = input.json.map(|value| value.to_string());
        if json.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in &input.headers {
            set(&mut headers, name, value.as_ref())?;
        }
        let body = json.or(input.body).map(String::into_bytes);
        let max_bytes = input.max_bytes.unwrap_or(MAX_BYTES);
        if max_bytes > MOST_BYTES {
            return Err(bad("max_bytes", "at most 8388608 (8 MiB) fit into a task's output"));
        }
        let timeout = input.timeout.map_or(TIMEOUT, |Millis(millis)| Duration::from_millis(millis));
        if timeout.is_zero() {
            return Err(bad("timeout", "nothing is answered in no time"));
        }
        Ok(Self {
            method: method(input.method.as_deref(), body.is_some())?,
            url,
            headers,
            body,
            timeout,
            max_bytes: usize::try_from(max_bytes).unwrap_or(usize::MAX),
            follow_redirects: input.follow_redirects.unwrap_or(true),
            expected: input.expect_status,
        })
    }

    /// Method and URL for messages, without the query, which may hold secrets.
    pub fn place(&self) -> String {
        format!("{} {}", self.method, place(&self.url))
    }
}

pub(crate) fn place(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.into()
}

/// Reads a URL. Fails unless it is a full http or https URL without a user name or password.
pub(crate) fn web_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| match text {
        "" => "it is missing".to_owned(),
        _ => format!("{error}; write it in full, such as https://example.com/path"),
    })?;
    web(url)
}

pub(crate) fn web(url: Url) -> Result<Url, String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("{}: is not asked for, only http: and https: are", url.scheme()));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it holds a user name or password; send an Authorization header instead".into());
    }
    Ok(url)
}

fn method(name: Option<&str>, sends: bool) -> Result<Method, Failure> {
    let Some(name) = name else { return Ok(if sends { Method::POST } else { Method::GET }) };
    let known = [
        Method::GET,
        Method::HEAD,
        Method::POST,
        Method::PUT,
        Method::PATCH,
        Method::DELETE,
        Method::OPTIONS,
    ];
    let found = known.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name));
    found.ok_or_else(|| bad("method", "write GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS"))
}

fn set(headers: &mut HeaderMap, name: &str, value: Option<&Scalar>) -> Result<(), Failure> {
    let place = format!("headers.{}", name.escape_debug());
    let header =
        HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(&place, "this is no name of a header"))?;
    if OURS.contains(&header.as_str()) {
        return Err(bad(&place, "this header follows from the rest of the request and cannot be given"));
    }
    match value {
        Some(value) => headers.insert(header, header_value(&place, &value.text())?),
        None => headers.remove(header),
    };
    Ok(())
}

fn header_value(place: &str, text: &str) -> Result<HeaderValue, Failure> {
    let problem = "a header's value is one line of printable characters";
    HeaderValue::from_bytes(text.as_bytes()).map_err(|_| bad(place, problem))
}

fn bad(place: &str, problem: &str) -> Failure {
    Failure::permanent(
        codes::BAD_PAYLOAD,
        format!("the input of http.request does not fit: {place}: {problem}"),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn request(input: Value) -> Result<Request, Failure> {
        Request::of(serde_json::from_value(input).unwrap(), "run:1")
    }

    #[track_caller]
    fn refused(input: Value) -> String {
        let failure = request(input).err().unwrap();
        assert_eq!(failure.code, "BAD_PAYLOAD");
        assert!(!failure.retryable);
        failure.message
    }

    #[test]
    fn the_least_input_is_a_url() {
        let request = request(json!({"url": "https://example.com/a?b=1"})).ok().unwrap();
        assert_eq!(request.method, Method::GET);
        assert_eq!(request.place(), "GET https://example.com/a");
        assert_eq!(request.headers["idempotency-key"], "run:1");
        assert!(request.follow_redirects && request.body.is_none());
    }

    #[test]
    fn json_is_posted_with_its_content_type() {
        let input =
            json!({"url": "http://a/?x=1", "json": null, "query": {"q": ["a b", 2], "n": null, "t": true}});
        let request = request(input).ok().unwrap();
        assert_eq!(request.method, Method::POST);
        assert_eq!(request.body.as_deref(), Some(&b"null"[..]));
        assert_eq!(request.headers["content-type"], "application/json");
        assert_eq!(request.url.as_str(), "http://a/?x=1&q=a+b&q=2&t=true");
    }

    #[test]
    fn headers_given_win_and_null_takes_one_away() {
        let headers = json!({"Content-Type": "text/plain", "idempotency-key": null, "X-N": 7});
        let request = request(json!({"url": "http://a", "json": 1, "headers": headers})).ok().unwrap();
        assert_eq!(request.headers["content-type"], "text/plain");
        assert_eq!(request.headers["x-n"], "7");
        assert!(!request.headers.contains_key("idempotency-key"));
    }

    #[test]
    fn urls_that_are_no_place_on_the_web_are_refused() {
        for (url, part) in [
            ("", "it is missing"),
            ("example.com/x", "write it in full"),
            ("file:///etc/passwd", "file: is not asked for"),
            ("gopher://example.com/", "gopher: is not"),
            ("data:text/plain,x", "data: is not"),
            ("unix:/var/run/docker.sock", "unix: is not"),
            ("http://ann:secret@example.com/", "Authorization header"),
            ("http://example.com@10.0.0.1/", "Authorization header"),
            ("http://", "write it in full"),
            ("http://a b/", "write it in full"),
            ("http://256.256.256.256/", "write it in full"),
        ] {
            let message = refused(json!({"url": url}));
            assert!(message.contains(part) && !message.contains("secret"), "{url}: {message}");
        }
        assert!(refused(json!({"url": format!("http://a/{}", "x".repeat(9000))})).contains("8 KiB"));
    }

    #[test]
    fn headers_that_would_forge_a_message_are_refused() {
        for (name, value) in [
            ("X-A", "a\r\nHost: b"),
            ("X-A", "a\nb"),
            ("X-A", "a\0b"),
            ("X-A\r\nX-B", "c"),
            ("X A", "b"),
            ("", "b"),
            ("Host", "internal"),
            ("Content-Length", "0"),
            ("transfer-encoding", "chunked"),
            ("Connection", "upgrade"),
        ] {
            let message = refused(json!({"url": "http://a", "headers": {name: value}}));
            assert!(message.contains("headers."), "{message}");
            assert!(!message.contains(['\r', '\n', '\0']), "{message:?}");
        }
    }

    #[test]
    fn methods_and_limits_have_bounds() {
        assert!(refused(json!({"url": "http://a", "method": "CONNECT"})).contains("method"));
        assert!(refused(json!({"url": "http://a", "method": "GET / HTTP/1.1\r\n"})).contains("method"));
        assert!(refused(json!({"url": "http://a", "max_bytes": 9_000_000})).contains("max_bytes"));
        assert!(refused(json!({"url": "http://a", "timeout": 0})).contains("timeout"));
        assert!(refused(json!({"url": "http://a", "body": "x", "json": 1})).contains("not both"));
        assert_eq!(
            request(json!({"url": "http://a", "method": "delete"})).ok().unwrap().method,
            Method::DELETE
        );
    }

    #[test]
    fn expected_statuses_are_numbers_and_classes() {
        let of =
            |value: Value| request(json!({"url": "http://a", "expect_status": value})).ok().unwrap().expected;
        assert!(of(json!(404)).unwrap().includes(404));
        assert!(!of(json!(404)).unwrap().includes(200));
        assert!(of(json!(["2xx", 404])).unwrap().includes(204));
        for wrong in [json!("6xx"), json!(99), json!("ok"), json!([true])] {
            assert!(
                serde_json::from_value::<Input>(json!({"url": "http://a", "expect_status": wrong})).is_err()
            );
        }
    }
}
