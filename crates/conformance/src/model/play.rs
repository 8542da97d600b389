//! Plays each move: sends a request to both worlds and records the answer.

use rhythm_core::{BlobRef, Millis, WorkflowKind};
use rhythm_engine::world::*;

use super::super::play::*;
use super::build::*;
use super::ledger::{Held, Taken, chosen};
use super::moves::*;
use super::office::ALL;
use super::pair::{Pair, agree, both};

impl Pair {
    pub async fn play(&mut self, each: Move) {
        self.ledger.moves += 1;
        let several_at_once = matches!(each, Move::Create(..) | Move::Enqueue(..) | Move::Deliver(..));
        match each {
            Move::Register { version } => self.register(version).await,
            Move::Create(who, shapes) => self.create(who, &shapes).await,
            Move::Enqueue(who, shapes) => self.enqueue(who, &shapes).await,
            Move::Deliver(who, shapes) => self.deliver(who, &shapes).await,
            Move::ClaimRuns { who, limit, can, hold, ask } => self.claim(who, limit, can, (hold, ask)).await,
            Move::FindDue { who, after, can, step } => {
                self.pass(after).await;
                let any = self.find_due(who, can).await;
                if let Some(step) = step.filter(|_| any) {
                    self.wake(Pick { back: 0, spent: false }, step).await;
                }
            }
            Move::Wake { due, step } => self.wake(due, step).await,
            Move::ClaimTasks { who, limit, both_queues, named, with_runs, overdue, ask } => {
                let queues = QUEUES.iter().take(if both_queues { 2 } else { 1 });
                let request = ClaimTasks {
                    tenant: self.tenant(who),
                    worker: self.worker(who),
                    queues: queues.map(|queue| ((*queue).to_owned(), limit)).collect(),
                    names: if named { vec![HANDLERS[1].to_owned()] } else { vec![] },
                    of: None,
                    hold: HOLD,
                    with_runs,
                    overdue,
                    ask,
                };
                self.take(who, request).await;
            }
            Move::Commit { items, released } => self.commit(&items, &released).await,
            Move::Fuse { task, row, second, step } => self.fuse(task, row, second, &step).await,
            Move::Begin { who, run, if_current, step } => self.begin(who, &run, if_current, step).await,
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
        // Work made ready by different moves differs in time: within one moment, transitions are unordered.
        if !several_at_once {
            self.tick();
        }
    }

    async fn register(&mut self, version: u8) {
        let tenant = self.tenant(Who { tenant: 0, worker: 0 });
        let definition = registered(version);
        let (workflow, known) = (definition.workflow.clone(), Some(definition.version.clone()));
        let _ = both!(self, 0, register, Register { tenant: tenant.clone(), definitions: vec![definition] });
        for version in [None, known] {
            let query = DefinitionQuery { tenant: tenant.clone(), workflow: workflow.clone(), version };
            let _ = both!(self, 1, definition, query);
        }
    }

    /// Claims runs. If the limit leaves room for all of them, their order does not matter.
    async fn claim(&mut self, who: Who, limit: usize, can: CanStep, (hold, ask): (Millis, Ask)) {
        let (kinds, workflows) = programs(can);
        let (tenant, worker) = (self.tenant(who), self.worker(who));
        let request = ClaimRuns { tenant, worker, kinds, workflows, limit, of: None, hold, ask };
        let process = self.process(who);
        let expected = self.model[process].claim_runs(request.clone()).await;
        let found = self.world[process].claim_runs(request.clone()).await;
        let tidy = |mut answer: ClaimedRuns| {
            if limit == ALL {
                answer.runs.sort_by(|a, b| a.run.id.cmp(&b.run.id));
            }
            answer
        };
        let (expected, found) = (expected.map(tidy), found.map(tidy));
        agree("claim_runs", &request, &expected, &found);
        let runs = expected.map(|answer| answer.runs).unwrap_or_default();
        self.saw("claim_runs", runs.iter().map(|claimed| claimed.deliveries > 1));
        self.ledger.claimed.extend(runs.into_iter().map(|what| Held { who, what, spent: false }));
    }

    async fn find_due(&mut self, who: Who, can: CanStep) -> bool {
        let (kinds, workflows) = programs(can);
        let request = FindDue { tenant: self.tenant(who), kinds, workflows, skip: 0, limit: ALL };
        let process = self.process(who);
        let tidy = |mut answer: FoundDue| {
            answer.runs.sort_by(|a, b| a.run.id.cmp(&b.run.id));
            answer
        };
        let expected = self.model[process].find_due(request.clone()).await.map(tidy);
        let found = self.world[process].find_due(request.clone()).await.map(tidy);
        agree("find_due", &request, &expected, &found);
        let runs = expected.map(|answer| answer.runs).unwrap_or_default();
        let any = !runs.is_empty();
        self.saw("find_due", [any]);
        self.ledger.due.extend(runs.into_iter().map(|what| Held { who, what, spent: false }));
        any
    }

    /// Runs made ready by one request have no order in the queue: they are claimed together.
    pub async fn claim_what_ties(&mut self, who: Who) {
        self.claim(who, ALL, CanStep::Everything, (HOLD, Ask::default())).await;
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
        // The contract lists each run once, in any order.
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
        let card = self.card(who);
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

fn programs(can: CanStep) -> (Vec<WorkflowKind>, Vec<String>) {
    let two = vec![WORKFLOWS[1].0.to_owned(), WORKFLOWS[2].0.to_owned()];
    match can {
        CanStep::Everything => (vec![WORKFLOWS[0].1], two),
        CanStep::OneKind => (vec![WORKFLOWS[0].1], vec![]),
        CanStep::TwoWorkflows => (vec![], two),
    }
}
