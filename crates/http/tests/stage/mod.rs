//! A real server on this machine, a resolver with made-up names, and a client that may reach only some of
//! them.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rhythm_core::Failure;
use rhythm_http::{AllowList, Answer, Client, Input, Resolver};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Behaviour of the server for one request.
pub enum Reply {
    /// Sends these bytes and closes the connection.
    Bytes(Vec<u8>),
    /// Sends these bytes and then nothing, without closing the connection.
    Stall(Vec<u8>),
    /// Sends the first bytes once, then the second ones until the client closes the connection.
    Endless(Vec<u8>, Vec<u8>),
}

pub struct Server {
    pub address: SocketAddr,
    pub seen: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server that computes its reply from the request's text. Each connection carries one request.
    pub async fn start(answer: impl Fn(&str, u16) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (log, answer) = (seen.clone(), Arc::new(answer));
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (log, answer) = (log.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut stream = stream;
                    let Some(request) = read(&mut stream).await else { return };
                    log.lock().unwrap().push(request.clone());
                    let _ = write(&mut stream, answer(&request, address.port())).await;
                });
            }
        });
        Self { address, seen }
    }

    pub fn url(&self, host: &str, path: &str) -> String {
        format!("http://{host}:{}{path}", self.address.port())
    }

    pub fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut text = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let count = stream.read(&mut chunk).await.ok().filter(|count| *count > 0)?;
        text.extend_from_slice(&chunk[..count]);
        let request = String::from_utf8_lossy(&text).into_owned();
        let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
            return Some(request);
        }
    }
}

async fn write(stream: &mut TcpStream, reply: Reply) -> std::io::Result<()> {
    match reply {
        Reply::Bytes(bytes) => {
            stream.write_all(&bytes).await?;
            stream.shutdown().await
        }
        Reply::Stall(bytes) => {
            stream.write_all(&bytes).await?;
            // Waits until the client closes the connection.
            let mut rest = Vec::new();
            stream.read_to_end(&mut rest).await.map(|_| ())
        }
        Reply::Endless(head, part) => {
            stream.write_all(&head).await?;
            loop {
                stream.write_all(&part).await?;
            }
        }
    }
}

/// A response with this status line, these headers and this body.
pub fn reply(status: &str, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Reply {
    let mut bytes = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n", body.as_ref().len());
    for (name, value) in headers {
        bytes.push_str(&format!("{name}: {value}\r\n"));
    }
    bytes.push_str("connection: close\r\n\r\n");
    let mut bytes = bytes.into_bytes();
    bytes.extend_from_slice(body.as_ref());
    Reply::Bytes(bytes)
}

/// Resolver with fixed answers. Records every lookup.
#[derive(Default)]
pub struct Names {
    known: BTreeMap<String, Vec<IpAddr>>,
    /// Answers from the second lookup on.
    later: BTreeMap<String, Vec<IpAddr>>,
    pub asked: Mutex<Vec<String>>,
}

impl Names {
    pub fn of(known: &[(&str, &[&str])]) -> Self {
        let read = |(name, addresses): &(&str, &[&str])| {
            let addresses = addresses.iter().map(|address| address.parse().unwrap()).collect();
            ((*name).to_owned(), addresses)
        };
        Self { known: known.iter().map(read).collect(), ..Self::default() }
    }

    pub fn then(mut self, name: &str, address: &str) -> Self {
        self.later.insert(name.to_owned(), vec![address.parse().unwrap()]);
        self
    }
}

#[async_trait]
impl Resolver for Names {
    async fn resolve(&self, name: &str) -> std::io::Result<Vec<IpAddr>> {
        let mut asked = self.asked.lock().unwrap();
        let again = asked.iter().any(|known| known == name);
        asked.push(name.to_owned());
        let later = self.later.get(name).filter(|_| again);
        let found = later.or(self.known.get(name)).cloned();
        found.ok_or_else(|| std::io::Error::other("no such name"))
    }
}

/// Returns a client for which `home.test` and `other.test` are this machine and allowed; `inner.test` is this
/// machine and not allowed.
pub fn client() -> Client {
    let here: &[&str] = &["127.0.0.1"];
    let names = Names::of(&[("home.test", here), ("other.test", here), ("inner.test", here)]);
    Client::with_resolver(AllowList::parse(["home.test", "other.test"]).unwrap(), Arc::new(names))
}

pub async fn send(client: &Client, input: Value) -> Result<Answer, Failure> {
    client.send(read_input(input), "run-1:1").await
}

pub fn read_input(input: Value) -> Input {
    serde_json::from_value(input).unwrap()
}

#[track_caller]
pub fn is(failure: &Failure, code: &str, retryable: bool) {
    assert_eq!((failure.code.as_str(), failure.retryable), (code, retryable), "{failure}");
}
