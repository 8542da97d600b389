//! Turns a response into a task's output or failure.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderMap};
use rhythm_core::{Failure, Payload};
use serde::Serialize;
use serde_json::Value;

use crate::client::transport;
use crate::codes;
use crate::request::Request;

/// Number of body bytes kept in a failure.
const FAILED_BYTES: usize = 32 * 1024;

/// The output of `http.request`.
#[derive(Debug, Serialize)]
pub struct Answer {
    pub status: u16,
    /// Header names in lower case. Several values of one name are joined with commas.
    pub headers: BTreeMap<String, String>,
    /// The parsed body if its content type is JSON and it is valid JSON, else the body as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// The body if it is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_base64: Option<String>,
}

impl Answer {
    pub(crate) async fn read(request: &Request, mut response: Response) -> Result<Self, Failure> {
        let status = response.status();
        let wanted = match &request.expected {
            Some(expected) => expected.includes(status.as_u16()),
            None => status.as_u16() < 400,
        };
        let max_bytes = if wanted { request.max_bytes } else { request.max_bytes.min(FAILED_BYTES) };
        let (body, whole) = body(request, &mut response, max_bytes).await?;
        if wanted && !whole {
            let message = format!("{} answered with more than {max_bytes} bytes", request.place());
            return Err(Failure::permanent(codes::HTTP_TOO_LARGE, message));
        }
        let answer = Self::of(status.as_u16(), response.headers(), body);
        if wanted {
            return Ok(answer);
        }
        let retryable = matches!(status.as_u16(), 408 | 425 | 429) || status.is_server_error();
        let reason = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
        let message = format!("{} answered {}{reason}", request.place(), status.as_u16());
        Err(Failure {
            kind: format!("HTTP_{}", status.as_u16()),
            retryable,
            data: Payload::of(&answer).ok(),
            ..Failure::new(codes::HTTP_STATUS, message)
        })
    }

    fn of(status: u16, headers: &HeaderMap, body: Vec<u8>) -> Self {
        let value = is_json(headers).then(|| serde_json::from_slice(&body).ok()).flatten();
        let (body, body_base64) = match value.map_or_else(|| String::from_utf8(body).map(Value::String), Ok) {
            Ok(value) => (Some(value), None),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        Self { status, headers: plain(headers), body, body_base64 }
    }
}

/// Reads at most `max` bytes of the body. Returns them, and whether they are the whole body.
async fn body(request: &Request, response: &mut Response, max: usize) -> Result<(Vec<u8>, bool), Failure> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| transport(request, error))? {
        let room = max - body.len();
        body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            return Ok((body, false));
        }
    }
    Ok((body, true))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || kind.ends_with("+json")
}

fn plain(headers: &HeaderMap) -> BTreeMap<String, String> {
    let mut plain: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in headers {
        let value = String::from_utf8_lossy(value.as_bytes());
        let known = plain.entry(name.as_str().to_owned()).or_default();
        if !known.is_empty() {
            known.push_str(", ");
        }
        known.push_str(&value);
    }
    plain
}
