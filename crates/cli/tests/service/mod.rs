//! An HTTP server for pages and tests that send requests. It ends with the process.

#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;

/// Starts the server and returns its URL.
pub fn start() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || stream.and_then(|stream| answer(&stream)));
        }
    });
    format!("http://localhost:{port}")
}

/// Counts a request and returns the number of requests for this path so far.
fn asked(what: &str) -> u32 {
    static ASKED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let mut asked = ASKED.lock().unwrap();
    let times = asked.entry(what.to_owned()).or_default();
    *times += 1;
    *times
}

/// Answers one request. `/job/..` is busy for the first two requests, then done. `/price` returns a price. A
/// POST returns the body and the idempotency key of the request. `/busy` is always busy. Any other path is
/// not found.
fn answer(mut stream: &TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut key, mut length) = (String::new(), String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            None => break,
            Some(("idempotency-key", value)) => value.clone_into(&mut key),
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            Some(_) => {}
        }
    }
    let mut sent = vec![0; length];
    reader.read_exact(&mut sent)?;
    let target = first.split(' ').nth(1).unwrap_or_default();
    let (status, kind, body) = match target.split('?').next() {
        Some("/price") => ("200 OK", "application/json", format!(r#"{{"price":4.5,"target":"{target}"}}"#)),
        Some(job) if job.starts_with("/job/") => {
            let state = if asked(job) > 2 { "done" } else { "busy" };
            ("200 OK", "application/json", format!(r#"{{"state":"{state}"}}"#))
        }
        Some("/busy") => ("503 Service Unavailable", "text/plain", "busy".to_owned()),
        Some("/orders") => {
            let sent = String::from_utf8_lossy(&sent);
            ("201 Created", "application/json", format!(r#"{{"key":"{key}","sent":{sent}}}"#))
        }
        _ => ("404 Not Found", "text/plain", "nothing is here".to_owned()),
    };
    let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n", body.len());
    stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes())
}
