//! Puts messages into inboxes.

use std::collections::BTreeSet;

use rhythm_core::message::Message;
use rhythm_core::{RunId, TenantId};
use rhythm_engine::world::{Deliver, Delivered, Delivery, INBOX_LIMIT, WorldResult};
use rusqlite::params;

use super::rows::place;
use super::sql::{Columns, int, json, sql};
use super::tx::Tx;

/// The run that a message is for.
pub enum Target {
    Live(Live),
    /// Takes messages in case it is reopened.
    Failed(i64),
    Ended,
    Missing,
}

pub struct Live {
    key: i64,
    awaiting: String,
    paused: bool,
    /// Set aside, or before its delayed start: only a message that ends the run makes it ready.
    held_back: bool,
    place: i64,
    arrived: u64,
}

fn live(row: &mut Columns<'_>) -> rusqlite::Result<Target> {
    Ok(Target::Live(Live {
        key: row.take()?,
        awaiting: row.take()?,
        paused: row.take()?,
        held_back: row.take()?,
        place: row.take()?,
        arrived: row.count()?,
    }))
}

fn ended(row: &mut Columns<'_>) -> rusqlite::Result<Target> {
    let key = row.take()?;
    Ok(if row.take::<String>()? == "failed" { Target::Failed(key) } else { Target::Ended })
}

impl Target {
    pub fn find(tx: &Tx<'_>, tenant: &TenantId, run: &RunId) -> WorldResult<Self> {
        let id = params![run.as_str(), tenant.as_str()];
        if let Some(target) = tx.one(sql!("inbox", "live_by_id"), id, live)? {
            return Ok(target);
        }
        Ok(tx.one(sql!("inbox", "ended_by_id"), id, ended)?.unwrap_or(Self::Missing))
    }

    pub fn of_key(tx: &Tx<'_>, key: i64) -> WorldResult<Self> {
        if let Some(target) = tx.one(sql!("inbox", "live_by_key"), params![key], live)? {
            return Ok(target);
        }
        Ok(tx.one(sql!("inbox", "ended_by_key"), params![key], ended)?.unwrap_or(Self::Missing))
    }

    /// Appends to the inbox, unless the same message waits there already. A run that completed or was
    /// cancelled takes no messages.
    pub fn put(&self, tx: &Tx<'_>, message: &Message) -> WorldResult<()> {
        let key = match self {
            Self::Live(live) => live.key,
            Self::Failed(key) => *key,
            Self::Ended | Self::Missing => return Ok(()),
        };
        let signal = message.body.signal_name();
        let row = params![
            tx.next_number(),
            key,
            message.id.as_str(),
            tx.now.millis(),
            message.actor.0,
            message.trace,
            signal,
            json(&message.body)
        ];
        let appended = tx.run(sql!("inbox", "insert"), row)? > 0;
        if let Self::Live(live) = self
            && appended
        {
            live.count_arrival(tx, message)?;
        }
        Ok(())
    }
}

impl Live {
    fn count_arrival(&self, tx: &Tx<'_>, message: &Message) -> WorldResult<()> {
        let waits = self.paused || (self.held_back && !message.body.ends_a_pending_run());
        if self.place == place::OUT && !waits && awaits(&self.awaiting, message.body.signal_name()) {
            let row = params![self.key, tx.now.millis(), tx.next_number()];
            tx.run(sql!("inbox", "count_and_make_ready"), row)?;
            tx.hint_runs();
        } else {
            tx.run(sql!("inbox", "count"), params![self.key])?;
        }
        Ok(())
    }
}

/// Whether a run that awaits these names can consume the message now.
pub fn awaits(awaiting: &str, signal: Option<&str>) -> bool {
    match signal {
        None => true,
        Some(_) if awaiting == "[]" => false,
        Some(name) => {
            serde_json::from_str::<BTreeSet<String>>(awaiting).is_ok_and(|names| names.contains(name))
        }
    }
}

pub fn deliver(tx: &Tx<'_>, request: &Deliver) -> WorldResult<Vec<Delivered>> {
    request.deliveries.iter().map(|delivery| deliver_one(tx, &request.tenant, delivery)).collect()
}

/// Delivers a message from outside: refuses duplicates and a full inbox, and remembers the id.
fn deliver_one(tx: &Tx<'_>, tenant: &TenantId, delivery: &Delivery) -> WorldResult<Delivered> {
    let target = Target::find(tx, tenant, &delivery.to)?;
    let (key, may_be_full) = match &target {
        // If fewer messages have arrived than may wait, there is no need to count.
        Target::Live(live) => (live.key, live.arrived >= INBOX_LIMIT),
        Target::Failed(key) => (*key, true),
        Target::Ended => return Ok(Delivered::Ended),
        Target::Missing => return Ok(Delivered::NotFound),
    };
    let mark = params![key, delivery.message.id.as_str(), tx.now.millis()];
    if tx.number(sql!("inbox", "is_delivered"), params![key, delivery.message.id.as_str()])? > 0 {
        return Ok(Delivered::Duplicate);
    }
    // Only signals can be refused: a message that ends or answers a run must always reach it.
    let may_be_full = may_be_full && delivery.message.body.signal_name().is_some();
    if may_be_full && tx.number(sql!("inbox", "waiting"), params![key])? >= int(INBOX_LIMIT) {
        return Ok(Delivered::Full);
    }
    tx.run(sql!("inbox", "mark_delivered"), mark)?;
    target.put(tx, &delivery.message)?;
    Ok(Delivered::Accepted)
}
