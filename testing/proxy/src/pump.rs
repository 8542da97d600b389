//! One direction of one connection. The reading side never waits for the writing side, so that a delay does
//! not limit the throughput.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::connection::Line;
use crate::counts::count;
use crate::exchange::Part;
use crate::faults::{Faults, Flow};

/// Number of pieces on the way in one direction. A partition that holds more than this stops the sender.
const GATHERED: usize = 4_096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    ToServer,
    ToClient,
}

impl Way {
    fn flow(self, faults: &Faults) -> Flow {
        match self {
            Self::ToServer => faults.to_server,
            Self::ToClient => faults.to_client,
        }
    }
}

/// End of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The sender closed, and the close was passed on to the receiver.
    Quietly,
    /// The connection must be reset on both sides.
    Killed,
}

enum Piece {
    Bytes(Instant, Part),
    /// The sender closed or was reset.
    End {
        reset: bool,
    },
}

pub async fn pump(way: Way, from: ReadHalf<'_>, to: WriteHalf<'_>, line: &Line) -> Ended {
    let (sender, receiver) = mpsc::channel(GATHERED);
    let reading = async {
        read(way, from, line, sender).await;
        // The writing side decides when this direction ends.
        std::future::pending::<Ended>().await
    };
    tokio::select! {
        ended = reading => ended,
        ended = write(way, to, line, receiver) => ended,
    }
}

async fn read(way: Way, mut from: ReadHalf<'_>, line: &Line, pieces: mpsc::Sender<Piece>) {
    let mut buffer = vec![0; 16 * 1024];
    let mut last_due = Instant::now();
    loop {
        let (parts, end) = match from.read(&mut buffer).await {
            Ok(0) => (rest(way, line), Some(Piece::End { reset: false })),
            Ok(length) => (listen(way, line, &buffer[..length]), None),
            Err(_) => (Vec::new(), Some(Piece::End { reset: true })),
        };
        for part in parts {
            let due = Instant::now() + lateness(line);
            // Bytes must not overtake earlier ones.
            last_due = last_due.max(due);
            if pieces.send(Piece::Bytes(last_due, part)).await.is_err() {
                return;
            }
        }
        if let Some(end) = end {
            let _ = pieces.send(end).await;
            return;
        }
    }
}

fn lateness(line: &Line) -> Duration {
    let delay = line.shared.faults.borrow().delay;
    delay.map_or(Duration::ZERO, |delay| {
        count(&line.shared.counters.delayed);
        delay.draw(&mut line.shared.dice())
    })
}

fn listen(way: Way, line: &Line, piece: &[u8]) -> Vec<Part> {
    match way {
        Way::ToServer => {
            line.talk().client_says(piece);
            vec![Part { bytes: piece.to_owned(), commit: None }]
        }
        Way::ToClient => line.talk().server_says(piece),
    }
}

fn rest(way: Way, line: &Line) -> Vec<Part> {
    let bytes = if way == Way::ToClient { line.talk().rest() } else { Vec::new() };
    if bytes.is_empty() { Vec::new() } else { vec![Part { bytes, commit: None }] }
}

async fn write(way: Way, mut to: WriteHalf<'_>, line: &Line, mut pieces: mpsc::Receiver<Piece>) -> Ended {
    let mut gate = Gate { way, line, silent: false };
    while let Some(piece) = pieces.recv().await {
        match piece {
            Piece::Bytes(due, part) => {
                tokio::time::sleep_until(due).await;
                if !gate.passes(part.bytes.len()).await {
                    continue;
                }
                if is_cut(&part, line) {
                    return Ended::Killed;
                }
                if to.write_all(&part.bytes).await.is_err() {
                    return Ended::Killed;
                }
                if is_used_up(&part, line) {
                    return Ended::Killed;
                }
            }
            Piece::End { reset } => {
                if !gate.passes(0).await {
                    // The close is lost while packets are dropped. After that, the first packet is answered
                    // by a reset.
                    gate.healed().await;
                    return Ended::Killed;
                }
                let told = !reset && to.shutdown().await.is_ok();
                return if told { Ended::Quietly } else { Ended::Killed };
            }
        }
    }
    Ended::Quietly
}

/// Counts a commit and returns whether its answer must be dropped.
fn is_cut(part: &Part, line: &Line) -> bool {
    let Some(kind) = part.commit else { return false };
    let commits = count(&line.shared.counters.commits);
    let cut = line.shared.faults.borrow().cut_commits;
    let hit = cut.is_some_and(|cut| cut.hits(commits, kind, &mut line.shared.dice()));
    let mut by_kind = line.shared.commits();
    let of_kind = by_kind.entry(kind).or_default();
    of_kind.made += 1;
    of_kind.cut += u64::from(hit);
    if hit {
        count(&line.shared.counters.cut_commits);
    }
    hit
}

fn is_used_up(part: &Part, line: &Line) -> bool {
    let carried = line.carry(part.bytes.len());
    let limit = line.shared.faults.borrow().reset_after;
    let used_up = limit.is_some_and(|limit| carried >= limit);
    if used_up {
        count(&line.shared.counters.reset);
    }
    used_up
}

/// Holds or drops the bytes of a direction.
struct Gate<'a> {
    way: Way,
    line: &'a Line,
    /// True once bytes were lost; later bytes would make no sense to the receiver.
    silent: bool,
}

impl Gate<'_> {
    /// Waits while the direction is held. Returns false when these bytes are lost.
    async fn passes(&mut self, bytes: usize) -> bool {
        let mut faults = self.line.shared.faults.subscribe();
        let counters = &self.line.shared.counters;
        let mut waited = false;
        loop {
            let flow = self.way.flow(&faults.borrow_and_update());
            match flow {
                _ if self.silent => {}
                Flow::Pass => return true,
                Flow::Hold => {
                    if !std::mem::replace(&mut waited, true) {
                        count(&counters.held);
                    }
                    // The sender of `faults` lives as long as this receiver, so this does not fail.
                    let _ = faults.changed().await;
                    continue;
                }
                Flow::Swallow => {
                    self.silent = true;
                    self.line.silence();
                }
            }
            counters.swallowed_bytes.fetch_add(bytes as u64, std::sync::atomic::Ordering::AcqRel);
            return false;
        }
    }

    async fn healed(&self) {
        let mut faults = self.line.shared.faults.subscribe();
        let way = self.way;
        let _ = faults.wait_for(|faults| way.flow(faults) == Flow::Pass).await;
    }
}
