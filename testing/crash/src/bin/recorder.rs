//! The recorder: receives entries from attempts, writes them to its own file and answers after fsync. It is
//! the only process that is never killed.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};

use clap::Parser;
use rhythm_crash::ledger::{Entry, Judge, Line, Manners, Verdict};
use rhythm_crash::process::die_with_parent;
use rhythm_crash::wait::wall_millis;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;

/// Largest number of entries written with one sync.
const BATCH: usize = 1_000;

#[derive(Parser)]
struct Arguments {
    socket: PathBuf,
    ledger: PathBuf,
    /// Behave like a service that accepts each idempotency key once.
    #[arg(long)]
    dedupe: bool,
    /// Behave like a service that checks fencing tokens: it refuses a lower claim number than the highest it
    /// has seen.
    #[arg(long)]
    fence: bool,
}

type Request = (Entry, oneshot::Sender<Verdict>);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    die_with_parent()?;
    let arguments = Arguments::parse();
    let ledger = OpenOptions::new().create(true).append(true).open(&arguments.ledger)?;
    let manners = Manners { dedupe: arguments.dedupe, fence: arguments.fence };
    let (requests, inbox) = channel();
    std::thread::spawn(move || {
        if let Err(error) = keep(ledger, manners, inbox) {
            // A scenario proves nothing without its ledger, so the attempts must fail.
            std::panic::panic_any(error.to_string());
        }
    });
    let listener = UnixListener::bind(&arguments.socket)?;
    loop {
        let (socket, _) = listener.accept().await?;
        tokio::spawn(serve(socket, requests.clone()));
    }
}

/// Writes the waiting entries as one batch, syncs once and answers all of them.
fn keep(mut ledger: File, manners: Manners, inbox: Receiver<Request>) -> std::io::Result<()> {
    let mut judge = Judge::default();
    while let Ok(first) = inbox.recv() {
        let mut batch = vec![first];
        batch.extend(inbox.try_iter().take(BATCH - 1));
        let mut text = String::new();
        let mut answers = Vec::with_capacity(batch.len());
        for (entry, reply) in batch {
            let verdict = judge.judge(manners, &entry);
            text.push_str(&serde_json::to_string(&Line { at: wall_millis(), verdict, entry })?);
            text.push('\n');
            answers.push((reply, verdict));
        }
        ledger.write_all(text.as_bytes())?;
        ledger.sync_data()?;
        for (reply, verdict) in answers {
            // The sender may have been killed by now.
            let _ = reply.send(verdict);
        }
    }
    Ok(())
}

async fn serve(socket: UnixStream, requests: Sender<Request>) -> std::io::Result<()> {
    let mut socket = BufReader::new(socket);
    let mut line = String::new();
    while socket.read_line(&mut line).await? > 0 {
        let (reply, answer) = oneshot::channel();
        let entry = serde_json::from_str(&line)?;
        if requests.send((entry, reply)).is_err() {
            return Ok(());
        }
        let Ok(verdict) = answer.await else { return Ok(()) };
        let answer = format!("{}\n", serde_json::to_string(&verdict)?);
        socket.get_mut().write_all(answer.as_bytes()).await?;
        line.clear();
    }
    Ok(())
}
