//! I1 for messages: a message the world accepted stays in the run's inbox until a commit consumes it. This
//! checker keeps its own copy of every inbox; each claim and the final state must contain all of it.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::fold::End;
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::{MessageId, RunId, Status};
use rhythm_engine::world::*;

use super::{Applied, Check, Moment, Objection, View};

#[derive(Default)]
pub struct Inboxes {
    waiting: BTreeMap<RunId, BTreeMap<MessageId, Message>>,
    /// Runs that ended for good. They take no messages unless they are reopened for compensation.
    over: BTreeSet<RunId>,
    known: BTreeSet<RunId>,
    accepted: BTreeSet<(RunId, MessageId)>,
    /// Claim number and messages of the newest claim on each run.
    claimed: BTreeMap<RunId, (u64, Vec<Message>)>,
}

impl Check for Inboxes {
    fn name(&self) -> &'static str {
        "inboxes"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::CreateRuns(request, _) => {
                self.known.extend(request.runs.iter().map(|run| run.id.clone()))
            }
            Applied::Deliver(request, answers) => {
                for (delivery, answer) in request.deliveries.iter().zip(*answers) {
                    if *answer != Delivered::Accepted {
                        continue;
                    }
                    self.put(&delivery.to, &delivery.message);
                    let id = &delivery.message.id;
                    if !self.accepted.insert((delivery.to.clone(), id.clone())) {
                        return Err(Objection::of_run(&delivery.to, format!("{id} was accepted twice")));
                    }
                }
            }
            Applied::Control(request, Controlled::Done) => match &request.control {
                Control::FireSchedule { runs, .. } => {
                    self.known.extend(runs.iter().map(|run| run.id.clone()));
                }
                Control::Reopen { run, redeliver, fresh, .. } => {
                    // A waiting deadline message is dropped, because a new deadline replaces it.
                    if let Some(waiting) = self.waiting.get_mut(run).filter(|_| fresh.is_some()) {
                        waiting.remove(&MessageId::deadline());
                    }
                    redeliver.iter().for_each(|message| self.put(run, message));
                }
                Control::TakeBack { run, message, .. } => self.taken_back(run, message),
                _ => {}
            },
            Applied::ClaimRuns(_, claimed) => {
                return claimed.runs.iter().try_for_each(|run| self.run_claimed(run));
            }
            Applied::Commit(commit, committed) => {
                let done = commit.items.iter().zip(&committed.outcomes);
                let done = done.filter(|(_, outcome)| outcome.is_done());
                return done.map(|(item, _)| item).try_for_each(|item| self.committed(item));
            }
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for (run, waiting) in &self.waiting {
            let Some(seen) = view.runs.get(run) else {
                return Err(Objection::of_run(run, "messages were accepted for it, it does not exist"));
            };
            let status = seen.picture.summary.status;
            if status.is_final() && status != Status::Failed {
                continue;
            }
            let shown = &seen.picture.inbox;
            let missing = waiting.keys().find(|id| shown.iter().all(|message| message.id != **id));
            // A picture lists at most 100 messages.
            if let (Some(missing), true) = (missing, shown.len() < 100) {
                return Err(Objection::of_run(run, format!("{missing} was accepted, nobody consumed it")));
            }
        }
        Ok(())
    }
}

impl Inboxes {
    /// Records a message, except answers of tasks and children: those are withdrawn when the task or child
    /// starts again.
    fn put(&mut self, run: &RunId, message: &Message) {
        let answers = matches!(
            message.body,
            MessageBody::TaskCompleted(_)
                | MessageBody::TaskFailed(_)
                | MessageBody::ChildCompleted(_)
                | MessageBody::ChildFailed(_)
        );
        if !answers && !self.over.contains(run) {
            self.waiting.entry(run.clone()).or_default().insert(message.id.clone(), message.clone());
        }
    }

    /// A run reopened for compensation drops all messages that waited for it.
    fn taken_back(&mut self, run: &RunId, message: &Message) {
        self.over.remove(run);
        self.waiting.remove(run);
        self.put(run, message);
    }

    fn run_claimed(&mut self, claimed: &ClaimedRun) -> Result<(), Objection> {
        let run = &claimed.run.id;
        let shown: BTreeSet<&MessageId> = claimed.messages.iter().map(|message| &message.id).collect();
        let mut waiting = self.waiting.get(run).into_iter().flat_map(BTreeMap::keys);
        if let (false, Some(missing)) = (claimed.more, waiting.find(|id| !shown.contains(id))) {
            return Err(Objection::of_run(
                run,
                format!("{missing} was accepted, its claim does not show it"),
            ));
        }
        self.claimed.insert(run.clone(), (claimed.claim, claimed.messages.clone()));
        Ok(())
    }

    fn committed(&mut self, item: &CommitItem) -> Result<(), Objection> {
        self.known.extend(item.children.iter().map(|child| child.id.clone()));
        if let Some(waiting) = self.waiting.get_mut(&item.run) {
            waiting.retain(|id, _| !item.consumed.contains(id));
        }
        self.left_behind(item)?;
        for delivery in &item.deliveries {
            if self.known.contains(&delivery.to) && (delivery.to != item.run || item.end.is_none()) {
                self.put(&delivery.to, &delivery.message);
            }
        }
        if matches!(item.end, Some(End::Completed(_) | End::Cancelled(_))) {
            self.over.insert(item.run.clone());
            self.waiting.remove(&item.run);
        }
        Ok(())
    }

    /// Checks that a commit which leaves a consumable message in the inbox says so.
    fn left_behind(&self, item: &CommitItem) -> Result<(), Objection> {
        let Fence::Claim(claim) = item.fence else { return Ok(()) };
        let Some((_, messages)) = self.claimed.get(&item.run).filter(|(newest, _)| *newest == claim) else {
            return Ok(());
        };
        let awaited = |message: &&Message| {
            message.body.signal_name().is_none_or(|name| item.state.awaiting.contains(name))
        };
        let left = messages.iter().filter(|message| !item.consumed.contains(&message.id)).find(awaited);
        let withdrawn = |message: &Message| matches!(&message.body, MessageBody::TimerFired(fired) if item.cancel_timers.contains(&fired.timer));
        match left {
            Some(left) if item.end.is_none() && !item.more && !withdrawn(left) => {
                Err(Objection::of_run(&item.run, format!("{} was left behind", left.id)))
            }
            _ => Ok(()),
        }
    }
}
