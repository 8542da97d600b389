//! Vocabulary of the conformance tests: one process with a worker, and short methods for its requests to the
//! world. Values for requests are in `play/forms.rs`, commits in `play/draft.rs`.

mod draft;
mod forms;

use std::sync::Arc;

use rhythm_core::event::Event;
use rhythm_core::{
    Actor, Message, Millis, Payload, RunId, TaskId, TenantId, Timestamp, WorkerId, WorkflowKind,
};

pub use draft::Draft;
pub use forms::*;

use super::Stage;
use rhythm_engine::world::*;

/// Duration of a claim unless a test sets another one.
pub const HOLD: Millis = Millis::from_secs(30);
/// A heartbeat timeout that never expires in a test.
pub const EVER: Millis = Millis::from_secs(50 * 365 * 24 * 3600);

/// One process on the stage: its own handle and one registered worker.
pub struct Play<'a> {
    pub stage: &'a dyn Stage,
    pub world: Arc<dyn World>,
    pub tenant: TenantId,
    pub worker: WorkerId,
}

impl<'a> Play<'a> {
    /// Opens the first process, with worker `w1`.
    pub async fn on(stage: &'a dyn Stage) -> Play<'a> {
        Self::enter(stage, TenantId::default(), "w1").await
    }

    /// Another process with a worker of this name. Dropping it simulates its death.
    pub async fn another(&self, worker: &str) -> Play<'a> {
        Self::enter(self.stage, self.tenant.clone(), worker).await
    }

    /// Returns the same process for another tenant.
    pub async fn tenant(&self, tenant: &str) -> Play<'a> {
        let play = Play {
            stage: self.stage,
            world: Arc::clone(&self.world),
            tenant: tenant.into(),
            worker: self.worker.clone(),
        };
        play.beat(vec![]).await;
        play
    }

    async fn enter(stage: &'a dyn Stage, tenant: TenantId, worker: &str) -> Play<'a> {
        let play = Play { stage, world: stage.handle().await, tenant, worker: worker.into() };
        play.beat(vec![]).await;
        play
    }
}

/// Time and background duties.
impl Play<'_> {
    pub async fn now(&self) -> Timestamp {
        self.world.now().await.unwrap()
    }

    pub async fn sweep(&self) -> UpkeepReport {
        self.upkeep(Upkeep::sweep(1_000)).await
    }

    /// Advances the clock and sweeps.
    pub async fn pass(&self, length: Millis) -> UpkeepReport {
        self.stage.clock().advance(length);
        self.sweep().await
    }

    pub async fn upkeep(&self, duty: Upkeep) -> UpkeepReport {
        self.world.upkeep(duty).await.unwrap()
    }

    pub async fn control(&self, control: Control) -> WorldResult<Controlled> {
        let actor = Actor("user:ann".to_owned());
        self.world.control(ControlRequest { tenant: self.tenant.clone(), actor, control }).await
    }

    /// Sends a control request that must change something.
    pub async fn order(&self, control: Control) {
        assert_eq!(self.control(control.clone()).await, Ok(Controlled::Done), "{control:?}");
    }
}

/// Runs.
impl Play<'_> {
    pub async fn create(&self, runs: Vec<NewRun>) -> Vec<Creation> {
        self.world.create_runs(CreateRuns { tenant: self.tenant.clone(), runs }).await.unwrap()
    }

    /// Creates a run, ready to be claimed.
    pub async fn start(&self, id: &str) -> RunId {
        self.start_as(new_run(id)).await
    }

    pub async fn start_as(&self, run: NewRun) -> RunId {
        let id = run.id.clone();
        assert_eq!(self.create(vec![run]).await, [Creation::Created]);
        id
    }

    /// Creates a run that has consumed its start and waits; `ask` extends its first commit.
    pub async fn waiting(&self, id: &str, ask: impl FnOnce(Draft) -> Draft) -> RunId {
        let run = self.start(id).await;
        let claimed = self.claim().await;
        assert_eq!(claimed.run.id, run, "another run was ready");
        self.done(&ask(Draft::of(&claimed))).await;
        run
    }

    pub fn claim_request(&self, limit: usize) -> ClaimRuns {
        ClaimRuns {
            tenant: self.tenant.clone(),
            worker: self.worker.clone(),
            kinds: vec![WorkflowKind::Drill],
            workflows: vec![],
            limit,
            of: None,
            hold: HOLD,
            ask: Ask::default(),
        }
    }

    pub async fn claims(&self, limit: usize) -> Vec<ClaimedRun> {
        self.world.claim_runs(self.claim_request(limit)).await.unwrap().runs
    }

    pub fn due_request(&self, limit: usize) -> FindDue {
        let kinds = vec![WorkflowKind::Drill];
        FindDue { tenant: self.tenant.clone(), kinds, workflows: vec![], skip: 0, limit }
    }

    /// Sleeping runs whose timer is due.
    pub async fn due(&self, limit: usize) -> Vec<DueRun> {
        self.world.find_due(self.due_request(limit)).await.unwrap().runs
    }

    /// Claims the first ready run.
    pub async fn claim(&self) -> ClaimedRun {
        self.claims(1).await.pop().expect("a run is ready")
    }

    pub async fn nothing_to_claim(&self) {
        assert_eq!(self.claims(1).await, []);
    }

    pub async fn commit(&self, drafts: &[&Draft]) -> Vec<CommitOutcome> {
        let items = drafts.iter().map(|draft| draft.item.clone()).collect();
        self.send(items, vec![]).await
    }

    /// Sends a commit that must be written.
    pub async fn done(&self, draft: &Draft) -> Done {
        match self.commit(&[draft]).await.pop() {
            Some(CommitOutcome::Done(done)) => done,
            other => panic!("expected Done, got {other:?}"),
        }
    }

    /// A commit that must be stale and change nothing.
    pub async fn refused(&self, draft: &Draft) {
        let before = self.stored(&draft.item.run).await;
        assert_eq!(self.commit(&[draft]).await, [CommitOutcome::Stale]);
        assert_eq!(self.stored(&draft.item.run).await, before, "a refused commit wrote something");
    }

    pub async fn release(&self, claimed: &ClaimedRun, outcome: ReleaseOutcome) {
        let released = ReleasedRun { run: claimed.run.id.clone(), claim: claimed.claim, outcome };
        self.send(vec![], vec![released]).await;
    }

    async fn send(&self, items: Vec<CommitItem>, released: Vec<ReleasedRun>) -> Vec<CommitOutcome> {
        let (tenant, worker) = (self.tenant.clone(), self.worker.clone());
        self.world
            .commit(Arc::new(Commit { tenant, worker, hold: HOLD, items, released }))
            .await
            .unwrap()
            .outcomes
    }

    pub async fn deliver(&self, to: &RunId, message: Message) -> Delivered {
        self.deliver_all(to, vec![message]).await[0]
    }

    pub async fn deliver_all(&self, to: &RunId, messages: Vec<Message>) -> Vec<Delivered> {
        let deliveries = messages.into_iter().map(|message| Delivery { to: to.clone(), message }).collect();
        self.world.deliver(Deliver { tenant: self.tenant.clone(), deliveries }).await.unwrap()
    }

    pub async fn picture(&self, run: &RunId) -> Picture {
        self.find(run).await.expect("the run is there")
    }

    pub async fn find(&self, run: &RunId) -> Option<Picture> {
        self.world.picture(&self.tenant, run).await.unwrap()
    }

    pub async fn history(&self, run: &RunId) -> Vec<Event> {
        let query = HistoryQuery { tenant: self.tenant.clone(), run: run.clone(), after: 0, limit: 10_000 };
        self.world.history(query).await.unwrap()
    }

    /// Returns everything stored of a run.
    pub async fn stored(&self, run: &RunId) -> (Option<Picture>, Vec<Event>) {
        (self.find(run).await, self.history(run).await)
    }
}

/// Tasks.
impl Play<'_> {
    pub async fn enqueue(&self, tasks: Vec<NewTask>) -> Vec<Creation> {
        self.world.enqueue_tasks(EnqueueTasks { tenant: self.tenant.clone(), tasks }).await.unwrap()
    }

    /// Creates a standalone task.
    pub async fn queue(&self, task: NewTask) -> TaskId {
        let id = task.id.clone();
        assert_eq!(self.enqueue(vec![task]).await, [Creation::Created]);
        id
    }

    pub fn take_request(&self, limit: usize) -> ClaimTasks {
        ClaimTasks {
            tenant: self.tenant.clone(),
            worker: self.worker.clone(),
            queues: vec![("default".to_owned(), limit)],
            names: vec![],
            of: None,
            hold: HOLD,
            with_runs: false,
            overdue: false,
            ask: Ask::default(),
        }
    }

    pub async fn takes(&self, limit: usize) -> Vec<ClaimedTask> {
        self.world.claim_tasks(self.take_request(limit)).await.unwrap().tasks
    }

    /// Claims the first ready task of the default queue.
    pub async fn take(&self) -> ClaimedTask {
        self.takes(1).await.pop().expect("a task is ready")
    }

    /// Claims a task together with the row of its run, as for a fused commit.
    pub async fn take_with_run(&self) -> (ClaimedTask, RunRow) {
        let request = ClaimTasks { with_runs: true, ..self.take_request(1) };
        let mut claimed = self.world.claim_tasks(request).await.unwrap();
        (claimed.tasks.pop().expect("a task is ready"), claimed.runs.pop().expect("its run is live"))
    }

    pub async fn nothing_to_take(&self) {
        assert_eq!(self.takes(1).await, []);
    }

    pub async fn finish_all(&self, finished: Vec<FinishedTask>) -> Vec<Finish> {
        let (tenant, worker) = (self.tenant.clone(), self.worker.clone());
        self.world.finish_tasks(FinishTasks { tenant, worker, finished }).await.unwrap()
    }

    /// Ends an attempt without a message to its run.
    pub async fn finish(&self, task: &ClaimedTask, outcome: TaskOutcome) -> Finish {
        let finished = FinishedTask { task: task.id.clone(), claim: task.claim, outcome, message: None };
        self.finish_all(vec![finished]).await[0]
    }

    /// Completes a task of a run and delivers the answer.
    pub async fn complete(&self, task: &ClaimedTask) -> Finish {
        self.finish_all(vec![completed(task)]).await[0]
    }

    pub async fn task(&self, task: &TaskId) -> TaskSummary {
        self.find_task(task).await.expect("the task is there")
    }

    pub async fn find_task(&self, task: &TaskId) -> Option<TaskSummary> {
        self.world.task(&self.tenant, task).await.unwrap()
    }

    /// Every failure, whatever its status.
    pub async fn failures(&self) -> Vec<DeadLetter> {
        let statuses = LetterStatus::ALL.into();
        let query = DeadQuery { tenant: self.tenant.clone(), statuses, limit: 100, ..DeadQuery::default() };
        self.world.list_dead(query).await.unwrap().rows
    }

    pub async fn dead(&self) -> Vec<DeadLetter> {
        let query = DeadQuery { tenant: self.tenant.clone(), limit: 100, ..DeadQuery::default() };
        self.world.list_dead(query).await.unwrap().rows
    }
}

/// Heartbeats.
impl Play<'_> {
    pub fn beat_request(&self, tasks: Vec<Beat>) -> Extend {
        let card = card(self.worker.as_str());
        Extend { tenant: self.tenant.clone(), card, running: 0, hold: HOLD, tasks, leaving: false }
    }

    pub async fn beat(&self, tasks: Vec<Beat>) -> Extended {
        self.world.extend(self.beat_request(tasks)).await.unwrap()
    }

    pub async fn beat_for(&self, task: &ClaimedTask, progress: Option<Payload>) -> Extended {
        self.beat(vec![Beat { claim: claim_of(task), progress }]).await
    }

    pub async fn leave(&self) {
        self.world.extend(Extend { leaving: true, ..self.beat_request(vec![]) }).await.unwrap();
    }
}
