//! Puts messages into inboxes.

use rhythm_core::message::Message;
use rhythm_core::{RunId, Status, TenantId, Timestamp};

use super::state::{State, Tenant};
use crate::world::*;

impl State {
    /// Delivers a message from outside: checks, counts and remembers it.
    pub fn deliver(&mut self, tenant_id: &TenantId, delivery: Delivery, now: Timestamp) -> Delivered {
        let tenant = self.tenant(tenant_id);
        let Delivery { to, message } = delivery;
        match (tenant.live.contains_key(&to), tenant.ended.get(&to)) {
            (true, _) => {}
            (false, Some(ended)) if ended.status == Status::Failed => {}
            (false, Some(_)) => return Delivered::Ended,
            (false, None) => return Delivered::NotFound,
        }
        let key = (to, message.id.clone());
        if tenant.delivered.contains(&key) {
            return Delivered::Duplicate;
        }
        // Only signals can pile up; messages that end or answer a run are always accepted.
        let waiting = tenant.inbox.get(&key.0).map_or(0, Vec::len) as u64;
        if waiting >= INBOX_LIMIT && message.body.signal_name().is_some() {
            return Delivered::Full;
        }
        let to = key.0.clone();
        tenant.delivered.insert(key);
        self.put_message(tenant_id, &to, message, now);
        Delivered::Accepted
    }

    /// Appends to an inbox. Dropped if the run ended otherwise than by failure.
    pub fn put_message(&mut self, tenant_id: &TenantId, to: &RunId, message: Message, now: Timestamp) {
        let tenant = self.tenant(tenant_id);
        let message = Message { at: now, ..message };
        let inbox = tenant.inbox.entry(to.clone()).or_default();
        if inbox.iter().any(|waiting| waiting.id == message.id) {
            return;
        }
        if let Some(live) = tenant.live.get_mut(to) {
            live.row.arrived += 1;
            let consumable = Tenant::consumable(live, &message);
            let ends = message.body.ends_a_pending_run();
            inbox.push(message);
            if ends {
                self.make_ready_now(tenant_id, to, now);
            } else if consumable {
                self.make_ready(tenant_id, to, now);
            }
        } else if tenant.ended.get(to).is_some_and(|ended| ended.status == Status::Failed) {
            inbox.push(message);
        } else {
            tenant.inbox.remove(to);
        }
    }
}
