//! Each move as it is played: a request to both worlds, and what the players learn of the answer.

use rhythm_core::{BlobRef, Millis, RunId, Timestamp};

use super::super::play::*;
use super::build::*;
use super::ledger::{Held, Taken, chosen};
use super::moves::*;
use super::office::ALL;
use super::pair::{Pair, WORKERS, agree, both};
use crate::world::*;

impl Pair {
    pub async fn play(&mut self, each: Move) {
        self.ledger.moves += 1;
        let several_at_once = matches!(each, Move::Create(..) | Move::Enqueue(..) | Move::Deliver(..));
        match each {
            Move::Register { version } => self.register(version).await,
            Move::Create(who, shapes) => self.create(who, &shapes).await,
            Move::Enqueue(who, shapes) => self.enqueue(who, &shapes).await,
            Move::Deliver(who, shapes) => self.deliver(who, &shapes).await,
            Move::ClaimRuns { who, limit, can, hold } => self.claim(who, limit, can, hold).await,
            Move::ClaimTasks { who, limit, both_queues, named, with_runs, overdue } => {
                let queues = QUEUES.iter().take(if both_queues { 2 } else { 1 });
                let request = ClaimTasks {
                    tenant: self.tenant(who),
                    worker: self.worker(who),
                    queues: queues.map(|queue| ((*queue).to_owned(), limit)).collect(),
                    names: if named { vec![HANDLERS[1].to_owned()] } else { vec![] },
                    hold: HOLD,
                    with_runs,
                    overdue,
                };
                self.take(who, request).await;
            }
            Move::Commit { items, released } => self.commit(&items, &released).await,
            Move::Fuse { task, row, second, step } => self.fuse(task, row, second, &step).await,
            Move::Finish(ends) => self.finish(&ends).await,
            Move::Beat { who, tasks, progress, leaving } => {
                self.extend(who, &tasks, progress, leaving).await;
            }
            Move::Control(who, order) => self.control(who, order).await,
            Move::Upkeep(duty) => self.upkeep(duty).await,
            Move::Blob { who, content, of } => self.blob(who, content, of).await,
            Move::Time(pass) => self.pass(pass).await,
            Move::Reenter(process) => self.reenter(usize::from(process)).await,
            Move::Look => self.look().await,
        }
        // What different moves make ready is told apart by its time: in one moment, transitions are unordered.
        if !several_at_once {
            self.tick();
        }
    }

    async fn register(&mut self, version: u8) {
        let tenant = self.tenant(Who { tenant: 0, worker: 0 });
        let definition = definition("drill", &format!("source {version}"));
        let (workflow, known) = (definition.workflow.clone(), Some(definition.version.clone()));
        let _ = both!(self, 0, register, Register { tenant: tenant.clone(), definitions: vec![definition] });
        for version in [None, known] {
            let query = DefinitionQuery { tenant: tenant.clone(), workflow: workflow.clone(), version };
            let _ = both!(self, 1, definition, query);
        }
    }

    /// Claims runs; with room for all of them they are compared in any order.
    async fn claim(&mut self, who: Who, limit: usize, can: CanStep, hold: Millis) {
        let two = vec![WORKFLOWS[1].0.to_owned(), WORKFLOWS[2].0.to_owned()];
        let (kinds, workflows) = match can {
            CanStep::Everything => (vec![WORKFLOWS[0].1], two),
            CanStep::OneKind => (vec![WORKFLOWS[0].1], vec![]),
            CanStep::TwoWorkflows => (vec![], two),
        };
        let (tenant, worker) = (self.tenant(who), self.worker(who));
        let request = ClaimRuns { tenant, worker, kinds, workflows, limit, hold };
        let tidy = |mut answer: ClaimedRuns| {
            if limit == ALL {
                answer.runs.sort_by(|a, b| a.run.id.cmp(&b.run.id));
            }
            answer
        };
        let process = self.process(who);
        let expected = self.model[process].claim_runs(request.clone()).await.map(tidy);
        let found = self.world[process].claim_runs(request.clone()).await.map(tidy);
        agree("claim_runs", &request, &expected, &found);
        let runs = expected.map(|answer| answer.runs).unwrap_or_default();
        self.saw("claim_runs", runs.iter().map(|claimed| claimed.deliveries > 1));
        self.ledger.claimed.extend(runs.into_iter().map(|what| Held { who, what, spent: false }));
    }

    /// Several runs that one request made ready stand in the queue in any order: they are claimed together.
    async fn claim_what_ties(&mut self, who: Who) {
        self.claim(who, ALL, CanStep::Everything, HOLD).await;
    }

    async fn create(&mut self, who: Who, shapes: &[RunShape]) {
        let named = |shape: &RunShape| run_named(format!("r{}", shape.name).into(), shape);
        let runs: Vec<NewRun> = shapes.iter().map(named).collect();
        for run in &runs {
            self.ledger.know_run(who, &run.id);
        }
        let request = CreateRuns { tenant: self.tenant(who), runs };
        let answer = both!(self, self.process(who), create_runs, request);
        self.saw("create_runs", answer.into_iter().flatten());
    }

    async fn enqueue(&mut self, who: Who, shapes: &[TaskShape]) {
        let named = |shape: &TaskShape| task_named(format!("t{}", shape.name).into(), shape);
        let tasks: Vec<NewTask> = shapes.iter().map(named).collect();
        for task in &tasks {
            self.ledger.know_task(who, &task.id);
        }
        let request = EnqueueTasks { tenant: self.tenant(who), tasks };
        let answer = both!(self, self.process(who), enqueue_tasks, request);
        self.saw("enqueue_tasks", answer.into_iter().flatten());
    }

    async fn deliver(&mut self, who: Who, shapes: &[MailShape]) {
        let delivery =
            |shape: &MailShape| Delivery { to: self.ledger.run(who, shape.to), message: mail(shape) };
        let deliveries = shapes.iter().map(delivery).collect();
        let request = Deliver { tenant: self.tenant(who), deliveries };
        let answer = both!(self, self.process(who), deliver, request);
        self.saw("deliver", answer.into_iter().flatten());
        if shapes.len() > 1 {
            self.claim_what_ties(who).await;
        }
    }

    async fn take(&mut self, who: Who, request: ClaimTasks) {
        // Each run is listed once, in any order.
        let tidy = |mut answer: ClaimedTasks| {
            answer.runs.sort_by(|a, b| a.id.cmp(&b.id));
            answer
        };
        let process = self.process(who);
        let expected = self.model[process].claim_tasks(request.clone()).await.map(tidy);
        let found = self.world[process].claim_tasks(request.clone()).await.map(tidy);
        agree("claim_tasks", &request, &expected, &found);
        let Ok(answer) = expected else { return };
        self.saw("claim_tasks", answer.tasks.iter().map(|task| task.claim > 1));
        for task in answer.tasks {
            let owner = task.run.as_ref().map(|(run, _)| run);
            let row = answer.runs.iter().find(|row| Some(&row.id) == owner).cloned();
            self.ledger.taken.push(Held { who, what: Taken { task, row }, spent: false });
        }
    }

    async fn commit(&mut self, shapes: &[StepShape], released: &[(Pick, ReleaseShape)]) {
        let first =
            shapes.iter().map(|shape| shape.claim).chain(released.iter().map(|(pick, _)| *pick)).next();
        let first = first.and_then(|pick| chosen(&self.ledger.claimed, pick, |_| true));
        let Some(who) = first.map(|place| self.ledger.claimed[place].who) else { return };
        let now = self.now().await;
        // Runs of a paused workflow could not be claimed together afterwards.
        let single = self.ledger.workflow_was_paused;
        let shapes = &shapes[..if single { shapes.len().min(1) } else { shapes.len() }];
        let released =
            &released[..if single { released.len().min(1 - shapes.len()) } else { released.len() }];
        let mut items = Vec::new();
        let mut as_worker = who;
        for (place, shape) in shapes.iter().enumerate() {
            let mut shape = shape.clone();
            if shapes.len() > 1 {
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

    async fn fuse(&mut self, pick: Pick, row: RowShape, second: bool, shape: &StepShape) {
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
            held.is_of(who) && held.what.task.run.as_ref().is_some_and(|(owner, _)| *owner == run)
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

    /// Whether a run waits for its delayed start: whoever claims it then has a message that ends it, and does.
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
        let request = Commit { tenant, worker, hold: HOLD, items: items.clone(), released };
        let Ok(answer) = both!(self, self.process(who), commit, request) else { return };
        for (item, outcome) in items.into_iter().zip(answer.outcomes) {
            item.children.iter().for_each(|child| self.ledger.know_run(who, &child.id));
            item.tasks.iter().for_each(|task| self.ledger.know_task(who, &task.id));
            for timer in &item.timers {
                self.ledger.timers.push((who.tenant, item.run.clone(), timer.timer));
            }
            let repeated = self.ledger.sent.iter().any(|(_, sent)| sent.commit == item.commit);
            let fence = if item.fence == Fence::Fused { "fused" } else { "claimed" };
            let end = if item.end.is_some() { "end" } else { "step" };
            let written = match (&outcome, repeated) {
                (CommitOutcome::Stale, _) => "stale",
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

    /// The claims a commit gave are claims like any other.
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

    async fn finish(&mut self, ends: &[(Pick, OutcomeShape)]) {
        let first = chosen(&self.ledger.taken, ends[0].0, |_| true);
        let Some(who) = first.map(|place| self.ledger.taken[place].who) else { return };
        let mut all = Vec::new();
        for (pick, shape) in ends {
            if let Some(held) = chosen(&self.ledger.taken, *pick, |held| held.is_of(who)) {
                self.ledger.taken[held].spent = true;
                all.push(finished(&self.ledger.taken[held].what.task, *shape));
            }
        }
        let (tenant, worker) = (self.tenant(who), self.worker(who));
        let request = FinishTasks { tenant, worker, finished: all };
        let answer = both!(self, self.process(who), finish_tasks, request);
        self.saw("finish_tasks", answer.into_iter().flatten());
        if ends.len() > 1 {
            self.claim_what_ties(who).await;
        }
    }

    async fn extend(&mut self, who: Who, tasks: &[Pick], progress: bool, leaving: bool) {
        let held = tasks.iter().filter_map(|pick| chosen(&self.ledger.taken, *pick, |held| held.is_of(who)));
        let mut beats: Vec<Beat> = Vec::new();
        for place in held {
            let claim = claim_of(&self.ledger.taken[place].what.task);
            if beats.iter().all(|beat| beat.claim.task != claim.task) {
                let progress = progress.then(|| json(&self.ledger.moves.to_string()));
                beats.push(Beat { claim, progress });
            }
        }
        let card = card(WORKERS[who.worker].0);
        let running = beats.len() as u32;
        let request = Extend { tenant: self.tenant(who), card, running, hold: HOLD, tasks: beats, leaving };
        let answer = both!(self, self.process(who), extend, request);
        self.saw("extend", answer.into_iter().map(|told| (told.lost.len(), told.cancelled.len())));
    }

    async fn blob(&mut self, who: Who, content: u8, of: u8) {
        let bytes = |number: u8| vec![number; usize::from(number) * 40_000];
        let (tenant, blob) = (self.tenant(who), BlobRef::of(&bytes(of)));
        let process = self.process(who);
        let expected = self.model[process].put_blob(&tenant, &blob, &bytes(content)).await;
        agree(
            "put_blob",
            &blob,
            &expected,
            &self.world[process].put_blob(&tenant, &blob, &bytes(content)).await,
        );
        let expected = self.model[process].read_blob(&tenant, &blob).await;
        agree("read_blob", &blob, &expected, &self.world[process].read_blob(&tenant, &blob).await);
    }
}

/// Who sends a commit: its holder, or somebody else.
fn sender(who: Who, wrong: Wrong) -> Who {
    let other = (who.worker + 1) % WORKERS.len();
    if matches!(wrong, Wrong::Worker) { Who { worker: other, ..who } } else { who }
}

/// The transitions of one request are written in any order, or at once: what one does to another is open.
fn keep_to_itself(shape: &mut StepShape) {
    shape.mail.clear();
    shape.children.clear();
    shape.cancel_open = false;
    if matches!(shape.wrong, Wrong::Repeat) {
        shape.wrong = Wrong::Nothing;
    }
}
