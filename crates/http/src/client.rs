//! Sends requests to checked addresses and follows redirections one by one, each checked again.

use std::error::Error;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Response;
use reqwest::redirect::Policy;
use rhythm_core::Failure;
use url::Host;

use crate::address::inside;
use crate::allow::AllowList;
use crate::answer::Answer;
use crate::codes;
use crate::input::Input;
use crate::redirect::refusal;
use crate::request::Request;
use crate::resolve::{Addresses, Blocked, Resolver, System};

const MAX_REDIRECTS: usize = 10;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends requests for workflows. Cheap to create: it loads certificates with the first request.
pub struct Client {
    allowed: AllowList,
    resolver: Arc<dyn Resolver>,
    /// Client for hosts that are not on the list: it connects to public addresses only.
    public: OnceLock<Result<reqwest::Client, String>>,
    /// Client for allowed hosts. It is a second client so that the two never share a pooled connection.
    anywhere: OnceLock<Result<reqwest::Client, String>>,
}

impl Client {
    /// Returns a client that uses the system's resolver.
    pub fn new(allowed: AllowList) -> Self {
        Self::with_resolver(allowed, Arc::new(System))
    }

    /// Returns a client that uses another resolver.
    pub fn with_resolver(allowed: AllowList, resolver: Arc<dyn Resolver>) -> Self {
        Self { allowed, resolver, public: OnceLock::new(), anywhere: OnceLock::new() }
    }

    /// Sends the request and follows its redirections. Sends `key` as `Idempotency-Key` unless the input sets
    /// that header. Returns a failure with a code of [`codes`] or with `BAD_PAYLOAD`.
    pub async fn send(&self, input: Input, key: &str) -> Result<Answer, Failure> {
        let request = Request::of(input, key)?;
        let (place, timeout) = (request.place(), request.timeout);
        match tokio::time::timeout(timeout, self.follow(request)).await {
            Ok(result) => result,
            Err(_) => {
                let message = format!("{place} took longer than {} s", timeout.as_secs_f64());
                Err(Failure::new(codes::HTTP_TIMEOUT, message))
            }
        }
    }

    async fn follow(&self, mut request: Request) -> Result<Answer, Failure> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.ask(&request).await?;
            match request.redirected(response.status(), response.headers())? {
                Some(next) => request = next,
                None => return Answer::read(&request, response).await,
            }
        }
        Err(refusal(&request, &format!("once more, after {MAX_REDIRECTS} times")))
    }

    /// Sends one request and returns the head of its response.
    async fn ask(&self, request: &Request) -> Result<Response, Failure> {
        let public_only = !self.allowed.permits(&request.url);
        // `Addresses` checks names when they are resolved. An address in the URL is never resolved, so check
        // it here.
        let address = match request.url.host() {
            Some(Host::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => Some(IpAddr::V6(address)),
            _ => None,
        };
        if let Some(why) = address.filter(|_| public_only).and_then(inside) {
            let host = request.url.host_str().unwrap_or_default().to_owned();
            return Err(blocked(request, &Blocked { host, why }));
        }
        let client = if public_only { &self.public } else { &self.anywhere };
        let client = client.get_or_init(|| build(self.resolver.clone(), public_only));
        let client = client.as_ref().map_err(|problem| {
            Failure::new(codes::HTTP_UNREACHABLE, format!("this worker cannot make HTTP requests: {problem}"))
        })?;
        let mut sent =
            client.request(request.method.clone(), request.url.clone()).headers(request.headers.clone());
        if let Some(body) = &request.body {
            sent = sent.body(body.clone());
        }
        sent.send().await.map_err(|error| transport(request, error))
    }
}

fn build(resolver: Arc<dyn Resolver>, public_only: bool) -> Result<reqwest::Client, String> {
    let built = reqwest::Client::builder()
        .user_agent(concat!("rhythm/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        // A proxy from the environment would resolve the name again, and its addresses would not be checked.
        .no_proxy()
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT)
        .dns_resolver(Arc::new(Addresses { resolver, public_only }))
        .build();
    built.map_err(|error| told(&error))
}

/// Turns an error of the connection into a failure: `HTTP_BLOCKED` if the address was refused, else
/// `HTTP_UNREACHABLE`.
pub(crate) fn transport(request: &Request, error: reqwest::Error) -> Failure {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(at) = cause {
        if let Some(found) = at.downcast_ref::<Blocked>() {
            return blocked(request, found);
        }
        cause = at.source();
    }
    // The query of the URL may hold secrets.
    let message = format!("{} failed: {}", request.place(), told(&error.without_url()));
    Failure::new(codes::HTTP_UNREACHABLE, message)
}

fn blocked(request: &Request, blocked: &Blocked) -> Failure {
    let port = request.url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let message = format!(
        "{} is not sent: {blocked}; a worker started with --allow-host {}{port} would send it",
        request.place(),
        blocked.host
    );
    Failure::permanent(codes::HTTP_BLOCKED, message)
}

/// Returns the text of an error and its causes.
fn told(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(at) = cause {
        let more = at.to_string();
        if !text.contains(&more) {
            text.push_str(&format!(": {more}"));
        }
        cause = at.source();
    }
    text
}
