//! Moves that step runs: commits under a claim, fused, repeated and spoiled ones.

use std::sync::Arc;

use rhythm_core::message::{MessageBody, Start};
use rhythm_core::{Millis, RunId, Timestamp};
use rhythm_engine::world::*;

use super::super::play::*;
use super::build::*;
use super::ledger::{Held, Taken, chosen};
use super::moves::*;
use super::pair::{Pair, WORKERS, both};

impl Pair {
    pub async fn commit(&mut self, shapes: &[StepShape], released: &[(Pick, ReleaseShape)]) {
        let first =
            shapes.iter().map(|shape| shape.claim).chain(released.iter().map(|(pick, _)| *pick)).next();
        let first = first.and_then(|pick| chosen(&self.ledger.claimed, pick, |_| true));
        let Some(who) = first.map(|place| self.ledger.claimed[place].who) else { return };
        let now = self.now().await;
        // After this, the runs of a paused workflow could not be claimed together.
        let single = self.ledger.workflow_was_paused;
        let shapes = &shapes[..if single { shapes.len().min(1) } else { shapes.len() }];
        let released =
            &released[..if single { released.len().min(1 - shapes.len()) } else { released.len() }];
        let mut items = Vec::new();
        let mut as_worker = who;
        for (place, shape) in shapes.iter().enumerate() {
            let mut shape = shape.clone();
            if shapes.len() + released.len() > 1 {
                keep_to_itself(&mut shape);
            }
            match shape.wrong {
                Wrong::Repeat => items.extend(self.sent_before(who, shape.claim)),
                _ => {
                    let held = chosen(&self.ledger.claimed, shape.claim, |held| held.is_of(who));
                    let Some(held) = held else { continue };
                    self.ledger.claimed[held].spent = true;
                    let claimed = &self.ledger.claimed[held].what;
                    let consumed = &claimed.messages[..shape.consumed.min(claimed.messages.len())];
                    let draft = Draft::of(claimed).only(consumed);
                    if self.starts_later(who, &claimed.run.id).await {
                        shape.end = EndShape::Cancelled;
                    }
                    items.push(item(&self.ledger, who, now, place, draft, &shape));
                }
            }
            as_worker = sender(as_worker, shape.wrong);
        }
        let mut freed = Vec::new();
        for (pick, shape) in released {
            if let Some(held) = chosen(&self.ledger.claimed, *pick, |held| held.is_of(who)) {
                let claimed = &self.ledger.claimed[held].what;
                freed.push(release(claimed, *shape));
                self.ledger.claimed[held].spent = true;
            }
        }
        self.send(as_worker, items, freed).await;
    }

    pub async fn fuse(&mut self, pick: Pick, row: RowShape, second: bool, shape: &StepShape) {
        let of_a_run = |held: &Held<Taken>| held.what.task.run.is_some();
        let Some(held) = chosen(&self.ledger.taken, pick, of_a_run) else { return };
        let who = self.ledger.taken[held].who;
        let Taken { task, row: listed } = self.ledger.taken[held].what.clone();
        let Some((run, _)) = task.run.clone() else { return };
        let row = match row {
            RowShape::Claimed => listed,
            RowShape::Current => {
                let picture = self.model[0].picture(&self.tenant(who), &run).await.ok().flatten();
                picture.map(|picture| picture.row)
            }
        };
        let Some(row) = row else { return };
        self.ledger.taken[held].spent = true;
        let mut draft = Draft::fused(&row, &task);
        let sibling = |held: &Held<Taken>| {
            let other = &held.what.task;
            // A repeated claim lists a task twice; no worker finishes it twice in one commit.
            let is_sibling =
                other.run.as_ref().is_some_and(|(owner, _)| *owner == run) && other.id != task.id;
            held.is_of(who) && is_sibling
        };
        let beside = Pick { back: 0, spent: false };
        if let Some(beside) = chosen(&self.ledger.taken, beside, sibling).filter(|_| second) {
            self.ledger.taken[beside].spent = true;
            draft = draft.finishing(&self.ledger.taken[beside].what.task);
        }
        let now = self.now().await;
        let items = match shape.wrong {
            Wrong::Repeat => self.sent_before(who, pick).into_iter().collect(),
            _ => vec![item(&self.ledger, who, now, 0, draft, shape)],
        };
        self.send(sender(who, shape.wrong), items, vec![]).await;
    }

    pub async fn wake(&mut self, pick: Pick, shape: StepShape) {
        let Some(held) = chosen(&self.ledger.due, pick, |_| true) else { return };
        self.ledger.due[held].spent = true;
        let (who, now) = (self.ledger.due[held].who, self.now().await);
        let items = match shape.wrong {
            Wrong::Repeat => self.sent_before(who, pick).into_iter().collect(),
            _ => {
                let draft = Draft::waking(&self.ledger.due[held].what);
                vec![item(&self.ledger, who, now, 0, draft, &shape)]
            }
        };
        self.send(sender(who, shape.wrong), items, vec![]).await;
    }

    pub async fn begin(&mut self, who: Who, run: &RunShape, if_current: Option<u8>, mut shape: StepShape) {
        let now = self.now().await;
        let mut new = NewRun { delay: Millis::ZERO, ..run_named(format!("r{}", run.name).into(), run) };
        if let Some(version) = if_current {
            new.version = registered(version).version;
        }
        self.ledger.know_run(who, &new.id);
        let items = match shape.wrong {
            Wrong::Repeat => self.sent_before(who, shape.claim).into_iter().collect(),
            _ => {
                // A new run has nothing its first step could cancel or be wrong about.
                (shape.wrong, shape.more) = (Wrong::Nothing, false);
                (shape.cancel_tasks, shape.cancel_timers) = (Vec::new(), Vec::new());
                let start = message("start", MessageBody::Start(Start { input: new.input.clone() }));
                let draft = Draft::to_begin(&new.row(&self.tenant(who), now), &[start]);
                let mut item = item(&self.ledger, who, now, 0, draft, &shape);
                item.created_at = Some(now);
                item.new = Some(Box::new(new));
                item.if_current = if_current.is_some();
                vec![item]
            }
        };
        self.send(who, items, vec![]).await;
    }

    /// Whether a run waits for its delayed start. A claimer then has a message that ends it, and ends it.
    async fn starts_later(&self, who: Who, run: &RunId) -> bool {
        let picture = self.model[0].picture(&self.tenant(who), run).await.ok().flatten();
        picture.is_some_and(|picture| picture.timers.iter().any(|timer| timer.what == "start"))
    }

    fn sent_before(&self, who: Who, pick: Pick) -> Option<CommitItem> {
        let sent = self.ledger.sent.iter().rev();
        let own = sent.filter(|(by, _)| by.tenant == who.tenant && by.worker == who.worker);
        own.map(|(_, item)| item.clone()).nth(pick.back)
    }

    async fn send(&mut self, who: Who, items: Vec<CommitItem>, released: Vec<ReleasedRun>) {
        let (tenant, worker) = (self.tenant(who), self.worker(who));
        let reaches = |item: &CommitItem| item.cancel_open.is_some() || item.deliveries.len() > 1;
        let ties = items.len() + released.len() > 1 || items.iter().any(reaches);
        let request = Arc::new(Commit { tenant, worker, hold: HOLD, items: items.clone(), released });
        let Ok(answer) = both!(self, self.process(who), commit, request) else { return };
        for (item, outcome) in items.into_iter().zip(answer.outcomes) {
            item.children.iter().for_each(|child| self.ledger.know_run(who, &child.id));
            item.tasks.iter().for_each(|task| self.ledger.know_task(who, &task.id));
            for timer in &item.timers {
                self.ledger.timers.push((who.tenant, item.run.clone(), timer.timer));
            }
            let repeated = self.ledger.sent.iter().any(|(_, sent)| sent.commit == item.commit);
            let fence = match item.fence {
                _ if item.new.is_some() => "begun",
                _ if !item.fired.is_empty() => "woken",
                Fence::Fused => "fused",
                Fence::Claim(_) => "claimed",
            };
            let end = if item.end.is_some() { "end" } else { "step" };
            let written = match (&outcome, repeated) {
                (CommitOutcome::Stale, _) => "stale",
                (CommitOutcome::Missing(_), _) => "missing",
                (CommitOutcome::Done(_), true) => "done before",
                (CommitOutcome::Done(_), false) => "done",
            };
            self.saw(fence, [format!("{end} {written}")]);
            if let CommitOutcome::Done(done) = outcome {
                self.take_own(who, &item, &done, answer.at);
            }
            self.ledger.sent.push((who, item));
        }
        if ties {
            self.claim_what_ties(who).await;
        }
    }

    /// Claims from a commit are claims like any other.
    fn take_own(&mut self, who: Who, item: &CommitItem, done: &Done, at: Timestamp) {
        for claim in &done.claimed {
            let Some(new) = item.tasks.iter().find(|task| task.id == claim.task).cloned() else { continue };
            let task = ClaimedTask {
                id: new.id,
                run: new.run,
                name: new.name,
                input: new.input,
                deadline_at: new.options.deadline.map(|deadline| at.plus(deadline)),
                options: new.options,
                claim: claim.claim,
                attempt: 1,
                delivery: 1,
                progress: None,
                created_at: at,
                trace: new.trace,
            };
            self.ledger.taken.push(Held { who, what: Taken { task, row: None }, spent: false });
        }
    }
}

/// The sender of a commit: its holder, or for `Wrong::Worker` another worker.
fn sender(who: Who, wrong: Wrong) -> Who {
    let other = (who.worker + 1) % WORKERS.len();
    if matches!(wrong, Wrong::Worker) { Who { worker: other, ..who } } else { who }
}

/// The parts of one request are written in any order, or at once, so one must not affect another.
fn keep_to_itself(shape: &mut StepShape) {
    shape.mail.clear();
    shape.children.clear();
    shape.cancel_open = false;
    if matches!(shape.wrong, Wrong::Repeat) {
        shape.wrong = Wrong::Nothing;
    }
}
