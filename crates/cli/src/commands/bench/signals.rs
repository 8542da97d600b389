//! Signals that end a measurement, so that it can clean up first.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};

/// Resolves with the first SIGINT, SIGTERM or SIGHUP after this call.
pub fn interrupted() -> std::io::Result<impl Future<Output = ()>> {
    let mut int = signal(SignalKind::interrupt())?;
    let mut term = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! { _ = int.recv() => {}, _ = term.recv() => {}, _ = hangup.recv() => {} }
    })
}
