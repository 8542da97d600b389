//! Builds the next request of a redirection, without the headers that another origin must not see.

use reqwest::header::{ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, HeaderMap, HeaderName, LOCATION, USER_AGENT};
use reqwest::{Method, StatusCode};
use rhythm_core::Failure;

use crate::codes;
use crate::request::{Request, place, web};

/// Headers that another origin may see. Any other header may be a credential, whatever its name.
const HARMLESS: [HeaderName; 4] = [ACCEPT, ACCEPT_LANGUAGE, CONTENT_TYPE, USER_AGENT];

impl Request {
    /// Returns the request that this response redirects to, or `None` if it is the final response. Fails if
    /// the redirection must not be followed.
    pub fn redirected(&self, status: StatusCode, headers: &HeaderMap) -> Result<Option<Self>, Failure> {
        let asks = matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308);
        let Some(location) = headers.get(LOCATION).filter(|_| asks && self.follow_redirects) else {
            return Ok(None);
        };
        let refused = |why: &str| Err(refusal(self, why));
        let Ok(location) = location.to_str() else { return refused("to what is no URL") };
        let Ok(url) = self.url.join(location) else { return refused("to what is no URL") };
        let url = match web(url) {
            Ok(url) => url,
            Err(problem) => return refused(&format!("to a URL that is not followed: {problem}")),
        };
        if self.url.scheme() == "https" && url.scheme() == "http" {
            return refused(&format!("from https to {}, which everybody on the way could read", place(&url)));
        }
        let mut next = self.clone();
        if url.origin() != self.url.origin() {
            next.headers = headers_for_others(&self.headers);
        }
        next.url = url;
        let becomes_get = match status.as_u16() {
            303 => self.method != Method::HEAD,
            301 | 302 => self.method == Method::POST,
            _ => false,
        };
        if becomes_get {
            next.method = Method::GET;
            next.body = None;
            next.headers.remove(CONTENT_TYPE);
        }
        Ok(Some(next))
    }
}

pub(crate) fn refusal(request: &Request, why: &str) -> Failure {
    Failure::permanent(codes::HTTP_REDIRECT, format!("{} redirects {why}", request.place()))
}

fn headers_for_others(headers: &HeaderMap) -> HeaderMap {
    let kept = headers.iter().filter(|(name, _)| HARMLESS.contains(name));
    kept.map(|(name, value)| (name.clone(), value.clone())).collect()
}
