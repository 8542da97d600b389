//! Every checker objects to the errors it is made for, and to nothing else.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::drill::{Instruction, Plan};
use rhythm_core::event::{Completed, Event, EventData, Failed, TimerScheduled};
use rhythm_core::failure::codes;
use rhythm_core::fold::{End, RunState};
use rhythm_core::message::{
    Message, MessageBody, SignalReceived, Start, TaskCompleted, TaskFailed, TimerFired,
};
use rhythm_core::task::MAX_DELIVERIES;
use rhythm_core::{
    Actor, Blocked, BlockedCode, CommandId, CommitId, Compensation, Failure, MessageId, Millis, Payload,
    RunId, Snapshot, Status, TaskId, TaskOptions, TenantId, TimerSpec, Timestamp, Version, WorkerId,
    WorkflowKind,
};
use rhythm_engine::world::*;

use super::*;
use crate::client::{Acknowledged as Told, ClientLog};
use crate::executor::Owner;
use crate::handlers::Ledger;

mod graphs;
mod kept;
mod letters;
mod opened_again;
mod schedules;

const NOW: Timestamp = Timestamp(1_794_744_000_000);

fn run() -> RunId {
    RunId::new("r1")
}

fn task() -> TaskId {
    run().task(CommandId(1))
}

fn see<'a>(check: &mut dyn Check, applied: &Applied<'a>, luck: &Luck) -> Result<(), Objection> {
    see_at(check, applied, luck, NOW)
}

fn see_at<'a>(
    check: &mut dyn Check,
    applied: &Applied<'a>,
    luck: &Luck,
    now: Timestamp,
) -> Result<(), Objection> {
    check.applied(applied, &Moment { now, virtual_ms: virtual_time(now), owner: Owner(1), luck })
}

fn virtual_time(now: Timestamp) -> u64 {
    now.since(Timestamp(NOW.0 - 100_000)).as_u64()
}

fn row(id: &RunId) -> RunRow {
    RunRow {
        id: id.clone(),
        tenant: TenantId::default(),
        workflow: "flow".into(),
        version: Version::of(b"flow"),
        kind: WorkflowKind::Drill,
        state: RunState::default(),
        revision: 1,
        arrived: 0,
        paused: false,
        priority: 0,
        parent: None,
        created_at: NOW,
    }
}

fn picture(id: &RunId, status: Status) -> Picture {
    let row = row(id);
    let summary = RunSummary {
        id: id.clone(),
        workflow: row.workflow.clone(),
        version: row.version.clone(),
        kind: row.kind,
        status,
        paused: false,
        blocked: None,
        compensation: Compensation::None,
        cancelling: false,
        priority: 0,
        labels: BTreeMap::new(),
        parent: None,
        created_at: NOW,
        updated_at: NOW,
        ended_at: None,
        deadline_at: None,
        revision: 1,
        seq: 1,
        failure: None,
    };
    Picture {
        summary,
        row,
        input: Payload::null(),
        output: (status == Status::Completed).then(Payload::null),
        failure: None,
        failed_by: None,
        dismissed_at: None,
        workflow_paused: false,
        ready_since: None,
        claimed_by: None,
        tasks: Vec::new(),
        timers: Vec::new(),
        children: Vec::new(),
        inbox: Vec::new(),
        dead: Vec::new(),
    }
}

/// A world with one run, to test the checks of the final state.
struct Scene {
    ledger: Ledger,
    client: ClientLog,
    picture: Picture,
    history: Vec<Event>,
    tasks: Vec<TaskSummary>,
    letters: Vec<DeadLetter>,
}

impl Scene {
    fn new(status: Status) -> Self {
        Self {
            ledger: Ledger::default(),
            client: ClientLog::default(),
            picture: picture(&run(), status),
            history: Vec::new(),
            tasks: Vec::new(),
            letters: Vec::new(),
        }
    }

    fn view(&self) -> View<'_> {
        let seen = Seen { picture: self.picture.clone(), history: self.history.clone() };
        View {
            now: NOW,
            runs: BTreeMap::from([(run(), seen)]),
            tasks: self.tasks.clone(),
            letters: self.letters.clone(),
            queues: Vec::new(),
            schedules: Vec::new(),
            workflows: Vec::new(),
            virtual_ms: 1_000_000,
            ledger: &self.ledger,
            client: &self.client,
        }
    }
}

fn event(seq: u64, message: Option<MessageId>, data: EventData) -> Event {
    let cause = message.is_none().then_some(seq - 1).filter(|cause| *cause > 0);
    Event { seq, at: NOW, cause, message, actor: Actor::system(), trace: None, data }
}

fn started() -> Event {
    event(1, Some(MessageId::start()), EventData::WorkflowStarted(Start { input: Payload::null() }))
}

fn message(id: MessageId, body: MessageBody) -> Message {
    Message { id, at: NOW, actor: Actor::system(), trace: None, body }
}

fn signal(id: &str) -> Message {
    let body = SignalReceived { name: "go".into(), payload: Payload::null() };
    message(MessageId::new(format!("signal:{id}")), MessageBody::Signal(body))
}

fn claimed_run(claim: u64, messages: Vec<Message>) -> ClaimedRuns {
    let claimed = ClaimedRun { run: row(&run()), claim, messages, more: false, deliveries: 1 };
    ClaimedRuns { at: NOW, runs: vec![claimed] }
}

fn claim_runs() -> ClaimRuns {
    ClaimRuns {
        tenant: TenantId::default(),
        worker: WorkerId::new("w"),
        kinds: Vec::new(),
        workflows: Vec::new(),
        limit: 1,
        of: None,
        hold: Millis(1_000),
        ask: Default::default(),
    }
}

fn item(commit: &str, claim: u64) -> CommitItem {
    let fence = Fence::Claim(claim);
    CommitItem { revision: 1, ..CommitItem::new(run(), CommitId::new(commit), fence, RunState::default()) }
}

fn new_task(options: TaskOptions) -> NewTask {
    NewTask {
        id: task(),
        run: Some((run(), CommandId(1))),
        name: "work".into(),
        input: Payload::null(),
        options,
        actor: Actor::system(),
        trace: None,
        claim: false,
    }
}

fn claimed_task(claim: u64, delivery: u32) -> ClaimedTasks {
    let new = new_task(TaskOptions::default());
    let claimed = ClaimedTask {
        id: new.id,
        run: new.run,
        name: new.name,
        input: new.input,
        options: new.options,
        claim,
        attempt: 1,
        delivery,
        progress: None,
        created_at: NOW,
        deadline_at: None,
        trace: None,
    };
    ClaimedTasks { at: NOW, tasks: vec![claimed], runs: Vec::new() }
}

fn claim_tasks() -> ClaimTasks {
    ClaimTasks {
        tenant: TenantId::default(),
        worker: WorkerId::new("w"),
        queues: Vec::new(),
        names: Vec::new(),
        of: None,
        hold: Millis(1_000),
        with_runs: false,
        overdue: false,
        ask: Default::default(),
    }
}

fn committed(check: &mut dyn Check, item: CommitItem) -> Result<(), Objection> {
    let done = Done { revision: 2, arrived: 0, claimed: Vec::new() };
    let answer = Committed { at: NOW, outcomes: vec![CommitOutcome::Done(done)] };
    see(check, &Applied::Commit(&commit(vec![item]), &answer), &Luck::default())
}

fn commit(items: Vec<CommitItem>) -> Commit {
    let (tenant, worker) = (TenantId::default(), WorkerId::new("w"));
    Commit { tenant, worker, hold: Millis(1_000), items, released: Vec::new() }
}

fn runs_claimed(check: &mut dyn Check, claim: u64, messages: Vec<Message>) -> Result<(), Objection> {
    let answer = claimed_run(claim, messages);
    see(check, &Applied::ClaimRuns(&claim_runs(), &answer), &Luck::default())
}

fn tasks_claimed(check: &mut dyn Check, claim: u64, delivery: u32, luck: &Luck) -> Result<(), Objection> {
    see(check, &Applied::ClaimTasks(&claim_tasks(), &claimed_task(claim, delivery)), luck)
}

fn released(check: &mut dyn Check, claim: u64, outcome: ReleaseOutcome) -> Result<(), Objection> {
    let released = vec![ReleasedRun { run: run(), claim, outcome }];
    let request = Commit { released, ..commit(Vec::new()) };
    let answer = Committed { at: NOW, outcomes: Vec::new() };
    see(check, &Applied::Commit(&request, &answer), &Luck::default())
}

fn finished(check: &mut dyn Check, outcome: TaskOutcome, now: Timestamp) -> Result<(), Objection> {
    let finished = FinishedTask { task: task(), claim: 1, outcome, message: None };
    let (tenant, worker) = (TenantId::default(), WorkerId::new("w"));
    let request = FinishTasks { tenant, worker, finished: vec![finished] };
    see_at(check, &Applied::FinishTasks(&request, &[Finish::Done]), &Luck::default(), now)
}

fn controlled(check: &mut dyn Check, control: Control, now: Timestamp) -> Result<(), Objection> {
    let request = ControlRequest { tenant: TenantId::default(), actor: Actor::system(), control };
    see_at(check, &Applied::Control(&request, &Controlled::Done), &Luck::default(), now)
}

fn delivered(check: &mut dyn Check, message: Message) -> Result<(), Objection> {
    let deliveries = vec![Delivery { to: run(), message }];
    let request = Deliver { tenant: TenantId::default(), deliveries };
    see(check, &Applied::Deliver(&request, &[Delivered::Accepted]), &Luck::default())
}

fn with_task(options: TaskOptions) -> CommitItem {
    CommitItem { tasks: vec![new_task(options)], ..item("c1", 1) }
}

fn plans(steps: Vec<Instruction>) -> BTreeMap<String, Sketch> {
    BTreeMap::from([("flow".to_owned(), Sketch::Plan(Plan { steps, cleanup: Vec::new() }))])
}

fn created() -> CreateRuns {
    let new = NewRun {
        id: run(),
        workflow: "flow".into(),
        version: Version::of(b"flow"),
        kind: WorkflowKind::Drill,
        input: Payload::null(),
        priority: 0,
        delay: Millis::ZERO,
        deadline: None,
        labels: BTreeMap::new(),
        parent: None,
        actor: Actor::system(),
        trace: None,
    };
    CreateRuns { tenant: TenantId::default(), runs: vec![new] }
}

fn run_created(check: &mut dyn Check) {
    see(check, &Applied::CreateRuns(&created(), &[Creation::Created]), &Luck::default()).unwrap();
}

#[test]
fn fences_objects_to_an_old_claim() {
    let mut check = fences::Fences::default();
    runs_claimed(&mut check, 2, Vec::new()).unwrap();
    committed(&mut check, item("c1", 2)).unwrap();
    committed(&mut check, item("c2", 1)).unwrap_err();
    runs_claimed(&mut check, 2, Vec::new()).unwrap_err();
}

#[test]
fn fences_objects_to_a_run_set_aside_under_an_old_claim() {
    let blocked = Blocked { code: BlockedCode::Quarantined, since: NOW, detail: "no reason".into() };
    let mut scene = Scene::new(Status::Waiting);
    scene.picture.summary.blocked = Some(blocked.clone());
    let set_aside = |claim| {
        let mut check = fences::Fences::default();
        runs_claimed(&mut check, 2, Vec::new()).unwrap();
        released(&mut check, claim, ReleaseOutcome::Aside(blocked.clone())).unwrap();
        check
    };
    set_aside(2).settled(&scene.view()).unwrap();
    set_aside(1).settled(&scene.view()).unwrap_err();
    set_aside(1).ended(&scene.view()).unwrap_err();
}

/// A repeated answer is judged only when it is first given.
#[test]
fn what_comes_again_is_judged_once() {
    let mut checks = Checks::new(plans(Vec::new()));
    let done = Done { revision: 2, arrived: 0, claimed: Vec::new() };
    let answer = |times| Committed { at: NOW, outcomes: vec![CommitOutcome::Done(done.clone()); times] };
    let writes = |commit| CommitItem { events: vec![started()], ..item(commit, 0) };
    let mut tell = |items: Vec<CommitItem>| {
        let answer = answer(items.len());
        let luck = Luck::default();
        let moment = Moment { now: NOW, virtual_ms: 0, owner: Owner(1), luck: &luck };
        checks.applied(&Applied::Commit(&commit(items), &answer), &moment);
        checks.found().len()
    };
    assert_eq!(tell(vec![writes("c1")]), 0);
    assert_eq!(tell(vec![writes("c1")]), 0);
    // One item is a repeat; the other one writes the same row again.
    assert_eq!(tell(vec![writes("c1"), writes("c2")]), 1);
}

#[test]
fn gaps_objects_to_rows_written_twice_and_rows_gone() {
    let mut check = gaps::Gaps::default();
    committed(&mut check, CommitItem { events: vec![started()], ..item("c1", 1) }).unwrap();
    check.ended(&Scene::new(Status::Completed).view()).unwrap_err();
    committed(&mut check, CommitItem { events: vec![started()], ..item("c2", 1) }).unwrap_err();
}

#[test]
fn early_objects_to_a_timer_a_task_and_a_retry_before_their_time() {
    let mut check = early::Early::default();
    let timer = TimerSpec { timer: CommandId(1), fire_at: NOW.plus(Millis(5)), label: None };
    committed(&mut check, CommitItem { timers: vec![timer], ..item("c1", 1) }).unwrap();
    let fired = |timer| message(MessageId::timer(timer), MessageBody::TimerFired(TimerFired { timer }));
    runs_claimed(&mut check, 2, vec![fired(CommandId(1))]).unwrap_err();
    runs_claimed(&mut check, 2, vec![fired(CommandId(9))]).unwrap_err();
    let with_commit = |timer| CommitItem { fired: vec![CommandId(timer)], ..item("c2", 2) };
    committed(&mut check, with_commit(1)).unwrap_err();
    committed(&mut check, with_commit(9)).unwrap_err();
    let due = TimerSpec { timer: CommandId(2), fire_at: NOW, label: None };
    committed(&mut check, CommitItem { timers: vec![due], ..item("c2", 2) }).unwrap();
    committed(&mut check, with_commit(2)).unwrap();

    let mut check = early::Early::default();
    tasks_claimed(&mut check, 1, 1, &Luck::default()).unwrap_err();
    committed(&mut check, with_task(TaskOptions { delay: Millis(5), ..TaskOptions::default() })).unwrap();
    tasks_claimed(&mut check, 1, 1, &Luck::default()).unwrap_err();

    let mut check = early::Early::default();
    committed(&mut check, with_task(TaskOptions::default())).unwrap();
    tasks_claimed(&mut check, 1, 1, &Luck::default()).unwrap();
    let retry = |delay| {
        let failure = Failure::new("X", "x").with_attempts(1);
        TaskOutcome::Retry { failure, delay: Millis(delay) }
    };
    finished(&mut check, retry(1_000), NOW).unwrap();
    finished(&mut check, retry(100), NOW).unwrap_err();
}

#[test]
fn asked_objects_to_what_no_plan_says() {
    let sleep = |length| {
        let spec = TimerSpec { timer: CommandId(1), fire_at: NOW.plus(Millis(length)), label: None };
        let row = TimerScheduled { timer: spec.timer, fire_at: spec.fire_at, label: None };
        let row = event(2, None, EventData::TimerScheduled(row));
        CommitItem { timers: vec![spec], events: vec![started(), row], ..item("c1", 1) }
    };
    let mut check = asked::Asked::new(plans(vec![Instruction::Sleep(Millis(700))]));
    run_created(&mut check);
    runs_claimed(&mut check, 1, Vec::new()).unwrap();
    committed(&mut check, sleep(700)).unwrap();
    committed(&mut check, sleep(699)).unwrap_err();
    committed(&mut check, with_task(TaskOptions::default())).unwrap_err();
    // Right length, counted from the wrong moment.
    let mut long_ago = sleep(700);
    long_ago.events.iter_mut().for_each(|row| row.at = Timestamp(NOW.0 - 61_000));
    long_ago.timers[0].fire_at = Timestamp(NOW.0 - 60_300);
    if let EventData::TimerScheduled(row) = &mut long_ago.events[1].data {
        row.fire_at = Timestamp(NOW.0 - 60_300);
    }
    committed(&mut check, long_ago).unwrap_err();
    let mut not_yet = sleep(700);
    not_yet.events.iter_mut().for_each(|row| row.at = NOW.plus(Millis(10_000)));
    not_yet.timers[0].fire_at = NOW.plus(Millis(10_700));
    if let EventData::TimerScheduled(row) = &mut not_yet.events[1].data {
        row.fire_at = NOW.plus(Millis(10_700));
    }
    committed(&mut check, not_yet).unwrap_err();
}

#[test]
fn lateness_objects_to_a_timer_a_message_and_a_ready_run_long_forgotten() {
    let due_at = |due_at| vec![TimerRow { timer: None, what: "sleep".into(), due_at }];
    let mut scene = Scene::new(Status::Waiting);
    scene.picture.timers = due_at(NOW.plus(Millis(1)));
    lateness::Lateness::default().settled(&scene.view()).unwrap();
    scene.picture.timers = due_at(Timestamp(NOW.0 - 60_000));
    lateness::Lateness::default().settled(&scene.view()).unwrap_err();

    let mut scene = Scene::new(Status::Waiting);
    scene.picture.ready_since = Some(Timestamp(NOW.0 - 60_000));
    lateness::Lateness::default().settled(&scene.view()).unwrap_err();

    let mut scene = Scene::new(Status::Waiting);
    scene.picture.inbox = vec![signal("a")];
    scene.picture.row.state.snapshot = Some(Snapshot { format: 1, bytes: Vec::new().into() });
    lateness::Lateness::default().settled(&scene.view()).unwrap();
    scene.picture.row.state.awaiting = BTreeSet::from(["go".to_owned()]);
    lateness::Lateness::default().settled(&scene.view()).unwrap_err();
}

#[test]
fn lateness_objects_to_a_task_that_waits_where_nothing_is_handed_out() {
    let ago = |secs: i64| Timestamp(NOW.0 - secs * 1_000);
    let task = |id: &str, state, since| TaskSummary {
        id: id.into(),
        run: None,
        name: "work".into(),
        state,
        input: Payload::null(),
        options: TaskOptions::default(),
        attempt: 1,
        delivery: 0,
        worker: (state == TaskState::Running).then(|| "w0".to_owned()),
        cancel_requested: false,
        progress: None,
        created_at: since,
        since,
        deadline_at: None,
        output: None,
        failure: None,
    };
    let mut scene = Scene::new(Status::Waiting);
    scene.tasks = vec![task("waits", TaskState::Ready, ago(60))];
    let mut check = lateness::Lateness::default();
    check.settled(&scene.view()).unwrap();
    scene.tasks[0].since = ago(600);
    check.settled(&scene.view()).unwrap_err();
    let luck = Luck::default();
    let mut other = claimed_task(1, 1);
    let hand_out = |check: &mut lateness::Lateness, claimed: &ClaimedTasks, virtual_ms| {
        let at = Moment { now: NOW, virtual_ms, owner: Owner(1), luck: &luck };
        check.applied(&Applied::ClaimTasks(&claim_tasks(), claimed), &at).unwrap();
    };
    hand_out(&mut check, &other, 900_000);
    check.settled(&scene.view()).unwrap_err();
    hand_out(&mut check, &other, 980_000);
    check.settled(&scene.view()).unwrap();
    scene.tasks[0].options.queue = "elsewhere".into();
    check.settled(&scene.view()).unwrap_err();
    other.tasks[0].options.queue = "elsewhere".into();
    hand_out(&mut check, &other, 980_000);
    check.settled(&scene.view()).unwrap();
}

#[test]
fn commands_objects_to_a_second_answer_unless_that_command_was_tried_anew() {
    let answer = |seq| {
        let done = TaskFailed { task: CommandId(1), failure: Failure::new("X", "x") };
        event(seq, Some(MessageId::task(CommandId(1))), EventData::StepFailed(done))
    };
    let asks = rhythm_core::event::StepScheduled {
        task: CommandId(1),
        name: "work".into(),
        label: None,
        item: None,
        queue: "default".into(),
        input: Payload::null(),
    };
    let mut scene = Scene::new(Status::Failed);
    scene.history = vec![started(), event(2, None, EventData::StepScheduled(asks)), answer(3)];
    let mut check = commands::Commands::default();
    check.ended(&scene.view()).unwrap();
    scene.history.push(answer(4));
    check.ended(&scene.view()).unwrap_err();
    // The run was reopened for a different task.
    let reopen = |requeue| Control::Reopen {
        run: run(),
        revision: 1,
        reason: String::new(),
        requeue,
        redeliver: Vec::new(),
        fresh: None,
    };
    controlled(&mut check, reopen(vec![run().task(CommandId(2))]), NOW).unwrap();
    check.ended(&scene.view()).unwrap_err();
    controlled(&mut check, reopen(vec![task()]), NOW).unwrap();
    check.ended(&scene.view()).unwrap();
}

#[test]
fn effects_objects_to_a_result_nobody_gave() {
    let mut scene = Scene::new(Status::Completed);
    let done = TaskCompleted { task: CommandId(1), attempt: 1, output: Payload::null() };
    scene.history =
        vec![started(), event(2, Some(MessageId::task(CommandId(1))), EventData::StepCompleted(done))];
    effects::Effects::default().ended(&scene.view()).unwrap_err();
}

#[test]
fn redeliveries_objects_to_what_is_taken_without_a_reason() {
    let mut check = redeliveries::Redeliveries::default();
    let mut luck = Luck::default();
    tasks_claimed(&mut check, 1, 1, &luck).unwrap();
    tasks_claimed(&mut check, 2, 2, &luck).unwrap_err();
    luck.befalls(Owner(1), 0);
    tasks_claimed(&mut check, 3, 3, &luck).unwrap();
    luck.befalls(Owner(1), 0);
    // Wrong delivery count.
    tasks_claimed(&mut check, 4, 3, &luck).unwrap_err();
}

#[test]
fn redeliveries_objects_to_poison_and_quarantine_before_their_time() {
    let poison = || {
        let failure = Failure::permanent(codes::POISON, "x").with_attempts(1);
        TaskOutcome::Exhausted { failure, hold: false }
    };
    let mut check = redeliveries::Redeliveries::default();
    let mut luck = Luck::default();
    for delivery in 1..=MAX_DELIVERIES {
        tasks_claimed(&mut check, u64::from(delivery), delivery, &luck).unwrap();
        luck.befalls(Owner(1), 0);
    }
    finished(&mut check, poison(), NOW).unwrap_err();
    tasks_claimed(&mut check, 9, MAX_DELIVERIES + 1, &luck).unwrap();
    finished(&mut check, poison(), NOW).unwrap();

    runs_claimed(&mut check, 1, Vec::new()).unwrap();
    let blocked = Blocked { code: BlockedCode::Quarantined, since: NOW, detail: "no reason".into() };
    released(&mut check, 1, ReleaseOutcome::Aside(blocked)).unwrap_err();
}

#[test]
fn redeliveries_objects_to_a_run_given_back_by_who_was_followed() {
    let mut check = redeliveries::Redeliveries::default();
    runs_claimed(&mut check, 2, Vec::new()).unwrap();
    released(&mut check, 1, ReleaseOutcome::Idle { arrived: 0 }).unwrap();
    runs_claimed(&mut check, 3, Vec::new()).unwrap_err();
    released(&mut check, 3, ReleaseOutcome::Idle { arrived: 0 }).unwrap();
    runs_claimed(&mut check, 4, Vec::new()).unwrap();
}

#[test]
fn causes_objects_to_failures_out_of_nothing() {
    let fails = |code: &str| {
        let failure = Failure::new(code, "x").with_attempts(1);
        TaskOutcome::Exhausted { failure, hold: false }
    };
    let mut check = causes::Causes::new(plans(Vec::new()));
    committed(&mut check, with_task(TaskOptions::default())).unwrap();
    tasks_claimed(&mut check, 1, 1, &Luck::default()).unwrap();
    finished(&mut check, fails(codes::TIMEOUT), NOW.plus(Millis(10))).unwrap_err();
    let timeout = TaskOptions::default().longest_attempt();
    finished(&mut check, fails(codes::TIMEOUT), NOW.plus(timeout)).unwrap();
    finished(&mut check, fails(codes::DEADLINE_EXCEEDED), NOW).unwrap_err();
    finished(&mut check, fails(codes::HEARTBEAT_TIMEOUT), NOW.plus(timeout)).unwrap_err();
    finished(&mut check, fails(codes::CANCELLED), NOW).unwrap_err();
    finished(&mut check, fails("FLAKY"), NOW).unwrap();
    check.ended(&Scene::new(Status::Completed).view()).unwrap_err();
}

#[test]
fn causes_objects_to_limits_of_time_that_have_not_passed() {
    let fails = |code: &str| {
        let failure = Failure::new(code, "x").with_attempts(1);
        TaskOutcome::Exhausted { failure, hold: false }
    };
    let limit = Millis(10_000);
    let options =
        TaskOptions { deadline: Some(limit), heartbeat_timeout: Some(limit), ..TaskOptions::default() };
    let begun = || {
        let mut check = causes::Causes::new(plans(Vec::new()));
        committed(&mut check, with_task(options.clone())).unwrap();
        tasks_claimed(&mut check, 1, 1, &Luck::default()).unwrap();
        check
    };
    let soon = NOW.plus(Millis(5_000));
    finished(&mut begun(), fails(codes::DEADLINE_EXCEEDED), soon).unwrap_err();
    finished(&mut begun(), fails(codes::DEADLINE_EXCEEDED), NOW.plus(limit)).unwrap();
    finished(&mut begun(), fails(codes::HEARTBEAT_TIMEOUT), soon).unwrap_err();
    // The attempt is old enough; only the ledger knows whether it sent heartbeats.
    let scene = Scene::new(Status::Completed);
    let mut check = begun();
    finished(&mut check, fails(codes::HEARTBEAT_TIMEOUT), NOW.plus(Millis(15_000))).unwrap();
    check.ended(&scene.view()).unwrap();
    scene.ledger.beat(&task(), 1, virtual_time(soon));
    check.ended(&scene.view()).unwrap();
    scene.ledger.beat(&task(), 1, virtual_time(NOW.plus(limit)));
    check.ended(&scene.view()).unwrap_err();
}

#[test]
fn causes_objects_to_a_deadline_of_a_run_before_its_time() {
    let ends_at = |at: Timestamp| {
        let mut check = causes::Causes::new(plans(Vec::new()));
        let mut request = created();
        request.runs[0].deadline = Some(Millis(10_000));
        see(&mut check, &Applied::CreateRuns(&request, &[Creation::Created]), &Luck::default()).unwrap();
        let failure = Failure::permanent(codes::DEADLINE_EXCEEDED, "too late");
        let reached = EventData::DeadlineReached(rhythm_core::event::Nothing {});
        let rows = [
            event(1, Some(MessageId::new("deadline")), reached),
            event(2, None, EventData::WorkflowFailed(Failed { failure })),
        ];
        let mut scene = Scene::new(Status::Failed);
        scene.history = rows.into_iter().map(|row| Event { at, ..row }).collect();
        check.ended(&scene.view())
    };
    ends_at(NOW.plus(Millis(10_000))).unwrap();
    ends_at(NOW.plus(Millis(9_999))).unwrap_err();
}

/// A process is ahead by at most that much.
#[test]
fn a_process_is_ahead_by_what_the_world_stood_still() {
    let mut luck = Luck::default();
    let usual = luck.ahead();
    luck.clock_shows(NOW, 0);
    luck.clock_shows(NOW.plus(Millis(1_000)), 1_000);
    assert_eq!(luck.ahead(), usual);
    luck.clock_shows(NOW.plus(Millis(1_000)), 31_000);
    assert_eq!(luck.ahead(), Millis(usual.as_u64() + 30_000));
    luck.clock_shows(NOW.plus(Millis(3_600_000)), 32_000);
    assert_eq!(luck.ahead(), usual);
}

#[test]
fn causes_objects_to_a_run_that_fails_though_its_plan_does_not_say_so() {
    let mut scene = Scene::new(Status::Failed);
    let failure = Failure::permanent("PLANNED", "as planned");
    scene.history = vec![started(), event(2, None, EventData::WorkflowFailed(Failed { failure }))];
    let fail = Instruction::Fail { code: "PLANNED".into(), message: "as planned".into() };
    causes::Causes::new(plans(vec![fail])).ended(&scene.view()).unwrap();
    causes::Causes::new(plans(Vec::new())).ended(&scene.view()).unwrap_err();
}

#[test]
fn inboxes_objects_to_an_accepted_message_that_vanished() {
    let accepted = || {
        let mut check = inboxes::Inboxes::default();
        delivered(&mut check, signal("a")).unwrap();
        check
    };
    let mut check = accepted();
    runs_claimed(&mut check, 1, vec![signal("a")]).unwrap();
    runs_claimed(&mut check, 2, Vec::new()).unwrap_err();
    // A second delivery of the same message is an error.
    delivered(&mut check, signal("a")).unwrap_err();
    let mut scene = Scene::new(Status::Failed);
    accepted().ended(&scene.view()).unwrap_err();
    scene.picture.inbox = vec![signal("a")];
    accepted().ended(&scene.view()).unwrap();
    // A message is accounted for when it was consumed or its run ended for good.
    let mut check = accepted();
    committed(&mut check, CommitItem { consumed: vec![signal("a").id], ..item("c1", 1) }).unwrap();
    check.ended(&Scene::new(Status::Failed).view()).unwrap();
    let mut check = accepted();
    let end = Some(End::Completed(Payload::null()));
    committed(&mut check, CommitItem { end, ..item("c1", 1) }).unwrap();
    check.ended(&Scene::new(Status::Completed).view()).unwrap();
}

#[test]
fn inboxes_objects_to_a_message_left_behind() {
    let mut check = inboxes::Inboxes::default();
    runs_claimed(&mut check, 1, vec![signal("a")]).unwrap();
    let awaiting = BTreeSet::from(["go".to_owned()]);
    let state = RunState { awaiting, ..RunState::default() };
    committed(&mut check, CommitItem { state, ..item("c1", 1) }).unwrap_err();
}

#[test]
fn acknowledged_objects_to_what_was_told_and_is_not_there() {
    let told = |told: Told, status: Status| {
        let scene = Scene::new(status);
        scene.client.acknowledged().push(told);
        acknowledged::Acknowledged::default().ended(&scene.view())
    };
    told(Told::Started(run()), Status::Completed).unwrap();
    told(Told::Started(RunId::new("r2")), Status::Completed).unwrap_err();
    told(Told::Enqueued(TaskId::new("t1")), Status::Completed).unwrap_err();
    told(Told::Delivered(run(), signal("a").id), Status::Completed).unwrap();
    told(Told::Delivered(run(), signal("a").id), Status::Failed).unwrap_err();
    told(Told::Delivered(run(), signal("a").id), Status::Waiting).unwrap_err();
}

#[test]
fn endings_objects_to_a_run_that_never_ends() {
    endings::Endings.ended(&Scene::new(Status::Completed).view()).unwrap();
    endings::Endings.ended(&Scene::new(Status::Waiting).view()).unwrap_err();
    let mut scene = Scene::new(Status::Completed);
    scene.picture.timers = vec![TimerRow { timer: None, what: "sleep".into(), due_at: NOW }];
    endings::Endings.ended(&scene.view()).unwrap_err();
}
