//! Wake-ups: sent to this process directly, and to others by one coalesced NOTIFY (`pulse.rs`).

use std::sync::Mutex;
use std::sync::PoisonError;

use rhythm_engine::world::{Hint, WakeupSenders, Wakeups};
use tokio::sync::Notify;

pub const CHANNEL: &str = "rhythm";

#[derive(Default)]
pub struct WakeupHints {
    senders: WakeupSenders,
    pending: Mutex<Hint>,
    bell: Notify,
}

impl WakeupHints {
    pub fn subscribe(&self) -> Wakeups {
        self.senders.subscribe()
    }

    /// Reports that work may be ready: wakes this process now and others soon.
    pub fn send(&self, hint: Hint) {
        if hint.is_empty() {
            return;
        }
        self.senders.send(hint);
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        *pending = pending.and(hint);
        drop(pending);
        self.bell.notify_one();
    }

    /// Wakes this process only, because the hint came from another one.
    pub fn heard(&self, hint: Hint) {
        self.senders.send(hint);
    }

    /// Waits until there is a hint to send to others.
    pub async fn rung(&self) {
        self.bell.notified().await;
    }

    pub fn take(&self) -> Hint {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Formats `sender:kinds`. The sender lets a process skip its own hints.
pub fn payload(sender: i64, hint: Hint) -> String {
    let letter = |set: bool, letter: &'static str| if set { letter } else { "" };
    let kinds = [letter(hint.runs, "r"), letter(hint.tasks, "t"), letter(hint.cancels, "c")].concat();
    format!("{sender}:{kinds}")
}

pub fn parse(payload: &str) -> Option<(i64, Hint)> {
    let (sender, kinds) = payload.split_once(':')?;
    let hint = Hint { runs: kinds.contains('r'), tasks: kinds.contains('t'), cancels: kinds.contains('c') };
    Some((sender.parse().ok()?, hint))
}
