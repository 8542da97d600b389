//! Claiming ready runs.

use rhythm_core::message::{Message, MessageBody, Start};
use rhythm_core::{MessageId, RunId, Timestamp};

use super::state::{Live, State, Tenant};
use crate::world::*;

impl State {
    pub fn claim_runs(&mut self, request: &ClaimRuns, now: Timestamp) -> Vec<ClaimedRun> {
        let tenant = self.tenant(&request.tenant);
        if request.ask.again {
            let taken = tenant.taken_runs(request);
            if !taken.is_empty() {
                return taken.into_iter().filter_map(|run| tenant.hold_run(&run, request, now)).collect();
            }
        }
        let mut ready: Vec<(i32, Timestamp, u64, RunId)> = tenant
            .queue
            .iter()
            .filter(|(run, place)| {
                place.claim_until.is_none() && place.ready_at <= now && tenant.may_claim(run, request)
            })
            .map(|(run, place)| (-place.priority, place.ready_at, place.order, run.clone()))
            .collect();
        ready.sort();
        ready.truncate(request.limit);
        ready.into_iter().filter_map(|(.., run)| tenant.claim_run(&run, request, now)).collect()
    }
}

impl Tenant {
    fn may_claim(&self, run: &RunId, request: &ClaimRuns) -> bool {
        self.live.get(run).is_some_and(|live| {
            let row = &live.row;
            let known = request.kinds.contains(&row.kind) || request.workflows.contains(&row.workflow);
            known && !self.paused_workflows.contains(&row.workflow)
        })
    }

    fn claim_run(&mut self, run: &RunId, request: &ClaimRuns, now: Timestamp) -> Option<ClaimedRun> {
        let live = self.live.get_mut(run)?;
        live.claim += 1;
        live.claimed_by = Some(request.worker.clone());
        live.deliveries += 1;
        self.queue.get_mut(run)?.ask = request.ask.number;
        self.hold_run(run, request, now)
    }

    /// The runs an earlier call took and still holds, in the order they would be claimed in.
    fn taken_runs(&self, request: &ClaimRuns) -> Vec<RunId> {
        let mut taken: Vec<(i32, Timestamp, u64, RunId)> = self
            .queue
            .iter()
            .filter(|(run, place)| {
                let live = self.live.get(*run);
                let held = live.is_some_and(|live| live.claimed_by.as_ref() == Some(&request.worker));
                held && place.claim_until.is_some() && place.ask == request.ask.number
            })
            .map(|(run, place)| (-place.priority, place.ready_at, place.order, run.clone()))
            .collect();
        taken.sort();
        taken.into_iter().map(|(.., run)| run).collect()
    }

    fn hold_run(&mut self, run: &RunId, request: &ClaimRuns, now: Timestamp) -> Option<ClaimedRun> {
        self.queue.get_mut(run)?.claim_until = Some(now.plus(request.hold));
        let live = self.live.get(run)?;
        let (messages, more) = self.messages_for(live);
        Some(ClaimedRun {
            run: live.row.clone(),
            claim: live.claim,
            messages,
            more,
            deliveries: live.deliveries,
        })
    }

    /// What waits for a run, in arrival order; when there is too much, what can be consumed now comes first.
    fn messages_for(&self, live: &Live) -> (Vec<Message>, bool) {
        let empty = Vec::new();
        let inbox = self.inbox.get(&live.row.id).unwrap_or(&empty);
        let mut messages: Vec<Message> = Vec::new();
        if live.last_commit.is_none() {
            messages.push(start_message(live));
        }
        let room = MESSAGES_PER_COMMIT - messages.len();
        if inbox.len() <= room {
            messages.extend(inbox.iter().cloned());
            return (messages, false);
        }
        let (now, later): (Vec<&Message>, Vec<&Message>) =
            inbox.iter().partition(|message| Tenant::consumable(live, message));
        messages.extend(now.into_iter().chain(later).take(room).cloned());
        (messages, true)
    }
}

fn start_message(live: &Live) -> Message {
    Message {
        id: MessageId::start(),
        at: live.row.created_at,
        actor: live.actor.clone(),
        trace: live.trace.clone(),
        body: MessageBody::Start(Start { input: live.input.clone() }),
    }
}
