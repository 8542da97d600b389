//! Wake-ups: this process directly, others by one coalesced NOTIFY from a connection that writes nothing else.

use std::sync::Mutex;
use std::sync::PoisonError;

use rhythm_engine::world::{Hint, WakeupSenders, Wakeups};
use tokio::sync::Notify;

pub const CHANNEL: &str = "rhythm";

#[derive(Default)]
pub struct Hints {
    senders: WakeupSenders,
    pending: Mutex<Hint>,
    bell: Notify,
}

impl Hints {
    pub fn subscribe(&self) -> Wakeups {
        self.senders.subscribe()
    }

    /// Something may have become ready: wakes this process now and others soon.
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

    /// Another process said so.
    pub fn heard(&self, hint: Hint) {
        self.senders.send(hint);
    }

    /// Waits until there is something to tell others.
    pub async fn rung(&self) {
        self.bell.notified().await;
    }

    pub fn take(&self) -> Hint {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// `sender:kinds`, so that a process can leave out what it said itself.
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
