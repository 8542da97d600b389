//! Claims ready runs, and finds runs with a due timer.

use std::collections::BTreeSet;

use rhythm_core::message::{Message, MessageBody, Start};
use rhythm_core::{MessageId, RunId, TenantId, Timestamp, WorkflowKind};

use super::state::{Live, State, Tenant, Timer};
use crate::world::*;

impl State {
    pub fn claim_runs(&mut self, request: &ClaimRuns, now: Timestamp) -> Vec<ClaimedRun> {
        let tenant = self.tenant(&request.tenant);
        if let Some(taken) = tenant.claimed_before(request, now) {
            return taken;
        }
        let mut ready: Vec<(i32, Timestamp, u64, RunId)> = tenant
            .queue
            .iter()
            .filter(|(run, place)| {
                place.claim_until.is_none()
                    && place.ready_at <= now
                    && request.of.as_ref().is_none_or(|root| run.is_in_family_of(root))
                    && tenant.may_step(run, &request.kinds, &request.workflows)
            })
            .map(|(run, place)| (-place.priority, place.ready_at, place.order, run.clone()))
            .collect();
        ready.sort();
        ready.truncate(request.limit);
        ready.into_iter().filter_map(|(.., run)| tenant.claim_run(&run, request, now)).collect()
    }

    pub fn find_due(&mut self, request: &FindDue, now: Timestamp) -> Vec<DueRun> {
        let all = self.tenant_ids().into_iter().flat_map(|id| {
            let timers = self.tenant(&id).live_timers().filter(|(_, timer)| timer.due_at <= now);
            timers
                .map(|(key, timer)| (timer.due_at, timer.order, id.clone(), key.clone()))
                .collect::<Vec<_>>()
        });
        let mut due: Vec<(Timestamp, u64, TenantId, (RunId, MessageId))> = all.collect();
        due.sort();
        let tenant = self.tenant(&request.tenant);
        let mut seen = BTreeSet::new();
        let first = |(.., id, key): (_, _, TenantId, (RunId, MessageId))| {
            (seen.insert((id.clone(), key.0.clone())) && id == request.tenant).then_some(key)
        };
        let looked = due.into_iter().map(first).skip(request.skip).take(request.limit).flatten();
        let runs = looked.filter_map(|key| {
            let timer = tenant.timers.get(&key)?.programs_own()?;
            let run = key.0;
            let sleeps = tenant.sleeps(&run) && tenant.may_step(&run, &request.kinds, &request.workflows);
            let row = tenant.live.get(&run).filter(|_| sleeps)?.row.clone();
            Some(DueRun { run: row, timer })
        });
        runs.collect()
    }
}

impl Tenant {
    /// Returns the runs of an earlier call whose answer was lost.
    fn claimed_before(&mut self, request: &ClaimRuns, now: Timestamp) -> Option<Vec<ClaimedRun>> {
        let taken = if request.ask.again { self.taken_runs(request) } else { Vec::new() };
        let again = taken.into_iter().filter_map(|run| self.hold_run(&run, request, now));
        Some(again.collect::<Vec<_>>()).filter(|again| !again.is_empty())
    }

    /// Timers of live runs. Those of failed runs stay dormant.
    fn live_timers(&self) -> impl Iterator<Item = (&(RunId, MessageId), &Timer)> {
        self.timers.iter().filter(|((run, _), _)| self.live.contains_key(run))
    }

    /// Returns whether a due timer would make the run ready: it is not queued, paused, quarantined, or before
    /// a delayed start.
    fn sleeps(&self, run: &RunId) -> bool {
        let start = (run.clone(), MessageId::start());
        self.live.get(run).is_some_and(|live| !live.row.paused && !live.aside)
            && !self.queue.contains_key(run)
            && !self.timers.contains_key(&start)
    }

    fn may_step(&self, run: &RunId, kinds: &[WorkflowKind], workflows: &[String]) -> bool {
        self.live.get(run).is_some_and(|live| {
            let row = &live.row;
            let known = kinds.contains(&row.kind) || workflows.contains(&row.workflow);
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

    /// Returns the runs an earlier call claimed and still holds, in claim order.
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

    /// Returns a run's messages in arrival order. If there are too many, those that can be consumed now come
    /// first.
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
