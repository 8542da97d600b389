//! Plays the moves of operators, of upkeep and of time.

use rhythm_core::event::{EventData, Marker};
use rhythm_core::message::{Compensate, TaskFailed};
use rhythm_core::{Message, MessageBody, MessageId, Millis, Payload, RunId, Status, Timestamp};
use rhythm_engine::world::*;

use super::super::play::*;
use super::build::*;
use super::moves::*;
use super::pair::{Pair, agree};

/// Limit that is large enough for everything, where a smaller one would leave the choice to the world.
pub const ALL: usize = 10_000;

impl Pair {
    pub async fn control(&mut self, who: Who, order: Order) {
        self.ledger.workflow_was_paused |= matches!(order, Order::PauseWorkflow(_));
        let reason = "the game".to_owned();
        let run = |number| self.ledger.run(who, number);
        let workflow = |number: u8| WORKFLOWS[usize::from(number)].0.to_owned();
        let queue = |number: u8| QUEUES[usize::from(number)].to_owned();
        let name = |number: u8| format!("s{number}");
        let control = match order {
            Order::PauseRun(number) => Control::PauseRun { run: run(number), reason },
            Order::ResumeRun(number) => Control::ResumeRun { run: run(number), reason },
            Order::Unblock(number) => Control::Unblock { run: run(number) },
            Order::Annotate(number) => {
                let event = EventData::Marker(Marker { name: "noted".to_owned(), data: Payload::null() });
                Control::Annotate { run: run(number), event }
            }
            Order::PauseWorkflow(number) => Control::PauseWorkflow { workflow: workflow(number) },
            Order::ResumeWorkflow(number) => Control::ResumeWorkflow { workflow: workflow(number) },
            Order::PauseQueue(number) => Control::PauseQueue { queue: queue(number) },
            Order::ResumeQueue(number) => Control::ResumeQueue { queue: queue(number) },
            Order::Reopen { run, late, requeue, redeliver } => {
                self.reopening(who, run, late, requeue, redeliver).await
            }
            Order::TakeBack { run, late } => self.taking_back(who, run, late).await,
            Order::DismissRun(number) => {
                let failed = |status| status == Status::Failed;
                Control::DismissRun { run: self.one_that(who, number, failed).await.0 }
            }
            Order::DeleteRun(number, letters) => {
                let run = self.one_that(who, number, Status::is_final).await.0;
                Control::DeleteRun { run, letters }
            }
            Order::RequeueDead(pick) => match self.letter(who, pick).await {
                Some(letter) => Control::RequeueDead { task: letter.task },
                None => Control::RequeueDead { task: "nothing".into() },
            },
            Order::DiscardDead(pick, tell) => match self.letter(who, pick).await {
                Some(letter) => {
                    let message = letter_message(&letter).filter(|_| tell && letter.held);
                    Control::DiscardDead { task: letter.task, message }
                }
                None => Control::DiscardDead { task: "nothing".into(), message: None },
            },
            Order::CancelTask(pick) => {
                Control::CancelTask { task: self.ledger.task(who, pick).unwrap_or_else(|| "nothing".into()) }
            }
            Order::PutSchedule(number, after) => {
                let next_at = self.now().await.plus(after);
                Control::PutSchedule(schedule(&name(number), next_at))
            }
            Order::RemoveSchedule(number) => Control::RemoveSchedule { name: name(number) },
            Order::PauseSchedule(number) => Control::PauseSchedule { name: name(number) },
            Order::ResumeSchedule(number, after) => {
                let next_at = Some(self.now().await.plus(after));
                Control::ResumeSchedule { name: name(number), next_at }
            }
            Order::FireSchedule { schedule, late, run, task, next } => {
                self.firing(who, name(schedule), late, (run, task), next).await
            }
        };
        self.order(who, control).await;
    }

    async fn reopening(
        &mut self,
        who: Who,
        number: u8,
        late: bool,
        requeue: bool,
        redeliver: bool,
    ) -> Control {
        let (run, found) = self.one_that(who, number, |status| status == Status::Failed).await;
        let revision = found.as_ref().map_or(0, |picture| picture.row.revision) + u64::from(late);
        let letters = found.iter().flat_map(|picture| &picture.dead).filter(|_| requeue);
        // The task of a held letter still exists; only removed tasks are requeued.
        let requeue = letters.filter(|letter| !letter.held).map(|letter| letter.task.clone()).collect();
        let redeliver = found.iter().filter_map(|p| p.failed_by.clone()).filter(|_| redeliver).collect();
        Control::Reopen { run, revision, reason: "the game".to_owned(), requeue, redeliver, fresh: None }
    }

    async fn taking_back(&mut self, who: Who, number: u8, late: bool) -> Control {
        let (run, found) = self.one_that(who, number, Status::is_final).await;
        let revision = found.map_or(0, |picture| picture.row.revision) + u64::from(late);
        let body = Compensate { reason: "the game".to_owned(), failure: None };
        let id = format!("compensate:{}", self.ledger.moves);
        let message = Box::new(message(&id, MessageBody::Compensate(body)));
        Control::TakeBack { run, revision, reason: "the game".to_owned(), message }
    }

    /// Returns a run in this state, if there is one. Other runs would only be refused.
    async fn one_that(
        &self,
        who: Who,
        number: u8,
        wanted: impl Fn(Status) -> bool,
    ) -> (RunId, Option<Picture>) {
        let tenant = self.tenant(who);
        let mut runs: Vec<RunId> = vec![self.ledger.run(who, number)];
        runs.extend(self.ledger.runs.iter().filter(|(of, _)| *of == who.tenant).map(|(_, run)| run.clone()));
        for run in &runs {
            let picture = self.model[0].picture(&tenant, run).await.ok().flatten();
            if let Some(picture) = picture.filter(|picture| wanted(picture.summary.status)) {
                return (run.clone(), Some(picture));
            }
        }
        (runs.swap_remove(0), None)
    }

    async fn letter(&self, who: Who, pick: Pick) -> Option<DeadLetter> {
        let query = DeadQuery { tenant: self.tenant(who), limit: ALL, ..DeadQuery::default() };
        let rows = self.model[0].list_dead(query).await.ok()?.rows;
        if rows.is_empty() { None } else { rows.get(pick.back % rows.len()).cloned() }
    }

    async fn firing(
        &mut self,
        who: Who,
        name: String,
        late: bool,
        (run, task): (Option<u8>, Option<u8>),
        next: Option<Millis>,
    ) -> Control {
        let now = self.now().await;
        let known = self.model[0].schedules(&self.tenant(who)).await.unwrap_or_default();
        let stored = known.into_iter().find(|schedule| schedule.name == name).and_then(|found| found.next_at);
        let expected = Timestamp(stored.unwrap_or(now).millis() - i64::from(late));
        let runs: Vec<NewRun> = run.map(|number| new_run(&format!("r{number}"))).into_iter().collect();
        let tasks: Vec<NewTask> = task.map(|number| new_task(&format!("t{number}"))).into_iter().collect();
        runs.iter().for_each(|run| self.ledger.know_run(who, &run.id));
        tasks.iter().for_each(|task| self.ledger.know_task(who, &task.id));
        let next_at = next.map(|after| now.plus(after));
        Control::FireSchedule { name, expected, next_at, runs, tasks, missed: 1 }
    }

    pub async fn upkeep(&mut self, duty: Duty) {
        let request = match duty {
            Duty::Sweep => Upkeep::sweep(ALL),
            Duty::Retain { keep, keep_failed } => Upkeep::Retain { keep, keep_failed, limit: ALL },
            Duty::Prepare => Upkeep::Prepare,
            Duty::FindStuck { idle } => Upkeep::FindStuck { idle, limit: ALL },
            Duty::MarkUnserved { idle } => Upkeep::MarkUnserved { idle, limit: ALL },
            Duty::DueSchedules => Upkeep::DueSchedules { limit: ALL },
        };
        let expected = self.model[0].upkeep(request.clone()).await.map(|report| tidy(&request, report));
        let found = self.world[0].upkeep(request.clone()).await.map(|report| tidy(&request, report));
        agree("upkeep", &request, &expected, &found);
        let name = format!("{duty:?}");
        let name = name.split(' ').next().unwrap_or_default();
        let did = |report: &UpkeepReport| {
            report.changed > 0 || !report.stuck.is_empty() || !report.schedules.is_empty()
        };
        self.saw(name, expected.iter().map(did));
        if let (Duty::Sweep, Ok(report)) = (duty, expected) {
            self.ledger.next_due = report.next_due;
        }
    }

    pub async fn pass(&mut self, pass: Pass) {
        let now = self.now().await;
        match pass {
            Pass::By(length) => self.set_clock(now.plus(length)),
            Pass::ToDue(off) => {
                let due = self.ledger.next_due.map_or(now, |due| Timestamp(due.millis().saturating_add(off)));
                self.set_clock(due.max(now));
            }
            Pass::Back(length) => {
                // A process is certain to remember only a time that it has stored.
                self.beat(Who { tenant: 0, worker: 0 }).await;
                self.beat(Who { tenant: 0, worker: 1 }).await;
                self.set_clock(Timestamp(now.millis() - length.as_u64() as i64));
            }
            Pass::Months => {
                self.set_clock(now.plus(days(40)));
                self.upkeep(Duty::Prepare).await;
            }
        }
    }
}

/// Removes differences that the contract allows: the number of internal changes, and the order of lists.
fn tidy(request: &Upkeep, mut report: UpkeepReport) -> UpkeepReport {
    if matches!(request, Upkeep::Prepare | Upkeep::Sweep { .. }) {
        report.changed = 0;
    }
    // Only a sweep must report whether there is work.
    if !matches!(request, Upkeep::Sweep { .. }) {
        (report.runs_ready, report.tasks_ready, report.next_due) = (false, false, None);
    }
    report.stuck.sort();
    report.schedules.sort_by(|a, b| (&a.0, &a.1.name).cmp(&(&b.0, &b.1.name)));
    report
}

fn letter_message(letter: &DeadLetter) -> Option<Message> {
    let number = letter.number?;
    let body = MessageBody::TaskFailed(TaskFailed { task: number, failure: letter.failure.clone() });
    Some(Message { id: MessageId::task(number), ..message("", body) })
}
