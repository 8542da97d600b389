//! Every failure has a cause outside the engine: a handler returned it, a time limit passed, a client
//! cancelled, the plan says so, or a child failed.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::drill::Instruction;
use rhythm_core::failure::codes;
use rhythm_core::{Event, EventData, Failure, Millis, RunId, TaskId, Timestamp};
use rhythm_engine::world::*;

use super::book::Book;
use super::{Applied, Check, Moment, Objection, Seen, Sketch, View};

pub struct Causes {
    sketches: BTreeMap<String, Sketch>,
    tasks: Book,
    /// Virtual time at which each claim on a task was given.
    begun: BTreeMap<(TaskId, u64), u64>,
    cancelled_tasks: BTreeSet<TaskId>,
    cancelled_runs: BTreeSet<RunId>,
    deadlines: BTreeMap<RunId, Timestamp>,
    /// Failures to be found in the ledger of handlers at the end.
    told: Vec<(TaskId, u32, String)>,
    silent: Vec<Silence>,
}

/// An attempt that failed with a heartbeat timeout.
struct Silence {
    task: TaskId,
    claim: u64,
    limit: Millis,
    /// Virtual time of that failure.
    at: u64,
}

impl Causes {
    pub fn new(sketches: BTreeMap<String, Sketch>) -> Self {
        Self {
            sketches,
            tasks: Book::default(),
            begun: BTreeMap::new(),
            cancelled_tasks: BTreeSet::new(),
            cancelled_runs: BTreeSet::new(),
            deadlines: BTreeMap::new(),
            told: Vec::new(),
            silent: Vec::new(),
        }
    }
}

impl Check for Causes {
    fn name(&self) -> &'static str {
        "causes"
    }

    fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) -> Result<(), Objection> {
        self.tasks.applied(applied, at);
        match applied {
            Applied::CreateRuns(request, answers) => {
                let created = request.runs.iter().zip(*answers).filter(|(_, a)| **a == Creation::Created);
                created.for_each(|(run, _)| self.created(run, at.now));
            }
            Applied::ClaimTasks(_, claimed) => {
                let given = claimed.tasks.iter().map(|task| (task.id.clone(), task.claim));
                self.begun.extend(given.map(|claim| (claim, at.virtual_ms)));
            }
            Applied::Commit(commit, committed) => return self.committed(commit, committed, at),
            Applied::FinishTasks(request, answers) => {
                let done = request.finished.iter().zip(*answers).filter(|(_, a)| **a == Finish::Done);
                return done
                    .map(|(finished, _)| finished)
                    .try_for_each(|finished| self.finished(finished, at));
            }
            Applied::Control(request, Controlled::Done) => match &request.control {
                Control::CancelTask { task } => {
                    self.cancelled_tasks.insert(task.clone());
                }
                Control::Reopen { run, fresh: Some(fresh), .. } => {
                    self.deadlines.entry(run.clone()).or_insert(at.now.plus(fresh.deadline));
                }
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for (task, attempt, code) in &self.told {
            if !view.ledger.failed(task, *attempt, code) {
                let what = format!("attempt {attempt} is said to have failed with {code}; no handler did");
                return Err(Objection::of_task(task, what));
            }
        }
        for Silence { task, claim, limit, at } in &self.silent {
            let beat = view.ledger.last_beat(task, *claim);
            if let Some(silent) =
                beat.map(|beat| at.saturating_sub(beat)).filter(|for_ms| !lasts(*for_ms, *limit))
            {
                let what =
                    format!("claim {claim} is called silent {silent} ms after it told, the limit is {limit}");
                return Err(Objection::of_task(task, what));
            }
        }
        for (run, seen) in &view.runs {
            let failed = seen.history.iter().filter_map(|event| match &event.data {
                EventData::WorkflowFailed(failed) => Some((event, &failed.failure)),
                _ => None,
            });
            for (event, failure) in failed {
                self.has_cause(run, seen, event, failure, view)
                    .map_err(|what| Objection::of_run(run, format!("failed with {failure}: {what}")))?;
            }
        }
        Ok(())
    }
}

impl Causes {
    fn created(&mut self, run: &NewRun, now: Timestamp) {
        if let Some(deadline) = run.deadline {
            self.deadlines.insert(run.id.clone(), now.plus(deadline));
        }
    }

    fn committed(
        &mut self,
        commit: &Commit,
        committed: &Committed,
        at: &Moment<'_>,
    ) -> Result<(), Objection> {
        for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
            let CommitOutcome::Done(done) = outcome else { continue };
            self.cancelled_tasks.extend(item.cancel_tasks.iter().cloned());
            if item.cancel_open.is_some() {
                self.cancelled_runs.insert(item.run.clone());
            }
            item.children.iter().for_each(|child| self.created(child, committed.at));
            let given = done.claimed.iter().map(|claim| (claim.task.clone(), claim.claim));
            self.begun.extend(given.map(|claim| (claim, at.virtual_ms)));
            item.finished.iter().try_for_each(|finished| self.finished(finished, at))?;
        }
        Ok(())
    }

    fn finished(&mut self, finished: &FinishedTask, at: &Moment<'_>) -> Result<(), Objection> {
        let failure = match &finished.outcome {
            TaskOutcome::Retry { failure, .. }
            | TaskOutcome::Exhausted { failure, .. }
            | TaskOutcome::Cancelled { failure } => failure,
            TaskOutcome::Completed { .. } | TaskOutcome::Released => return Ok(()),
        };
        self.explain(finished, failure, at).map_err(|what| {
            Objection::of_task(&finished.task, format!("attempt {}: {what}", failure.attempts))
        })
    }

    fn explain(&mut self, finished: &FinishedTask, failure: &Failure, at: &Moment<'_>) -> Result<(), String> {
        let (task, claim) = (&finished.task, finished.claim);
        let Some(known) = self.tasks.task(task) else { return Err("nobody asked for the task".into()) };
        let options = &known.options;
        let lasted = self.begun.get(&(task.clone(), claim)).map(|begun| at.virtual_ms - begun);
        let lasted_as_long_as = |limit: Millis| lasted.is_some_and(|lasted| lasts(lasted, limit));
        match failure.code.as_str() {
            codes::TIMEOUT if lasted_as_long_as(options.longest_attempt()) => Ok(()),
            codes::TIMEOUT => Err(format!("timed out after {lasted:?} of {}", options.longest_attempt())),
            codes::HEARTBEAT_TIMEOUT => match options.heartbeat_timeout {
                Some(limit) if lasted_as_long_as(limit) => {
                    // Only the ledger knows whether the handler sent heartbeats; this is checked at the end.
                    self.silent.push(Silence { task: task.clone(), claim, limit, at: at.virtual_ms });
                    Ok(())
                }
                limit => Err(format!("too silent after {lasted:?}, the limit is {limit:?}")),
            },
            codes::DEADLINE_EXCEEDED => match options.deadline {
                Some(limit) if at.now.plus(at.luck.ahead()) >= known.since.plus(limit) => Ok(()),
                limit => Err(format!("too late after {}, the limit is {limit:?}", at.now.since(known.since))),
            },
            codes::CANCELLED if self.was_cancelled(task) => Ok(()),
            codes::CANCELLED => Err("nobody cancelled it".into()),
            // The number of deliveries is checked by `redeliveries`.
            codes::POISON => Ok(()),
            code => {
                self.told.push((task.clone(), failure.attempts, code.to_owned()));
                Ok(())
            }
        }
    }

    fn was_cancelled(&self, task: &TaskId) -> bool {
        let run = task.as_str().rsplit_once(':').map(|(run, _)| RunId::new(run));
        self.cancelled_tasks.contains(task) || run.is_some_and(|run| self.cancelled_runs.contains(&run))
    }

    /// Checks that the history row that caused a run's failure explains it.
    fn has_cause(
        &self,
        run: &RunId,
        seen: &Seen,
        event: &Event,
        failure: &Failure,
        view: &View<'_>,
    ) -> Result<(), String> {
        let cause = event.cause.and_then(|seq| seen.history.iter().find(|row| row.seq == seq));
        // A flow whose deadline has passed fails with that only after its clean-up.
        let reached = |row: &Event| matches!(row.data, EventData::DeadlineReached(_));
        let cleaned_up = failure.code == codes::DEADLINE_EXCEEDED
            && seen.history.iter().take_while(|row| row.seq < event.seq).any(reached);
        match cause.map(|row| &row.data) {
            None => Err("no row caused it".into()),
            Some(data) if cleaned_up && !matches!(data, EventData::DeadlineReached(_)) => Ok(()),
            Some(EventData::StepFailed(failed)) if same(&failed.failure, failure) => {
                let task = run.task(failed.task);
                if failure.code == codes::CANCELLED && !self.was_cancelled(&task) {
                    return Err(format!("nobody cancelled {task}"));
                }
                Ok(())
            }
            Some(EventData::ChildFailed(failed)) if same(&failed.failure, failure) => {
                match view.runs.get(&run.child(failed.child)) {
                    Some(child) if ended_so(child, failure) => Ok(()),
                    Some(_) => Err("its child did not end so".into()),
                    None if failure.code == codes::UNKNOWN_WORKFLOW => Ok(()),
                    None => Err("there is no such child".into()),
                }
            }
            Some(EventData::DeadlineReached(_)) => match self.deadlines.get(run) {
                Some(deadline) if event.at >= *deadline => Ok(()),
                deadline => Err(format!("at {}, its deadline is {deadline:?}", event.at)),
            },
            Some(_) => {
                let planned = match self.sketches.get(&seen.picture.summary.workflow) {
                    Some(Sketch::Plan(plan)) => plan.steps.iter().any(|step| is_failure(step, failure)),
                    Some(Sketch::Graph(_)) => return node_failed(seen, event, failure),
                    None => false,
                };
                let patched = seen.history.iter().any(|row| matches!(row.data, EventData::Patched(_)));
                match planned || (patched && failure.code == "PLANNED") {
                    true => Ok(()),
                    false => Err("its plan does not say so".into()),
                }
            }
        }
    }
}

/// Returns whether the time reaches the limit. Clocks of processes are allowed to be up to 2 % off.
fn lasts(time_ms: u64, limit: Millis) -> bool {
    time_ms >= limit.as_u64() * 97 / 100
}

fn is_failure(step: &Instruction, failure: &Failure) -> bool {
    matches!(step, Instruction::Fail { code, .. } if *code == failure.code)
}

/// Checks that a graph failed with the failure of one of its nodes, or because a node's wait timed out. It
/// may have compensated in between.
fn node_failed(seen: &Seen, event: &Event, failure: &Failure) -> Result<(), String> {
    const IN_VAIN: [&str; 3] = ["approval_timeout: ", "TIMEOUT: ", "DEADLINE_EXCEEDED: "];
    let mut before = seen.history.iter().filter(|row| row.seq < event.seq);
    // The run compensated first, then failed.
    if failure.code == codes::DEADLINE_EXCEEDED {
        let reached = before.any(|row| matches!(row.data, EventData::DeadlineReached(_)));
        return if reached { Ok(()) } else { Err("no deadline had passed".into()) };
    }
    if failure.code == "compensation_failed" {
        return left_undone(before, failure);
    }
    if !failure.code.starts_with("node_failed:") {
        return Err("its graph does not say so".into());
    }
    let told = before.any(|row| match &row.data {
        EventData::StepFailed(told) => failure.message.starts_with(&told.failure.to_string()),
        EventData::ChildFailed(told) => failure.message.starts_with(&told.failure.to_string()),
        EventData::TimerFired(_) => IN_VAIN.iter().any(|word| failure.message.starts_with(word)),
        _ => false,
    });
    if told { Ok(()) } else { Err("no node was told so".into()) }
}

/// Checks a run that was compensated without having failed: it fails when a compensator fails.
fn left_undone<'e>(before: impl Iterator<Item = &'e Event>, failure: &Failure) -> Result<(), String> {
    let since = before.skip_while(|row| !matches!(row.data, EventData::CompensationRequested(_)));
    let told = since.filter_map(|row| match &row.data {
        EventData::StepFailed(told) => Some(told.failure.to_string()),
        _ => None,
    });
    match told.into_iter().any(|told| failure.message.contains(&told)) {
        true => Ok(()),
        false => Err("no compensator that somebody asked for failed so".into()),
    }
}

/// Returns whether a run's own failure is one it received. A program may pass a failure on as its own, which
/// is then no longer retried.
fn same(told: &Failure, own: &Failure) -> bool {
    // A flow reports a passed deadline as a timeout.
    let word = told.code == codes::DEADLINE_EXCEEDED && own.code == codes::TIMEOUT;
    (word || told.code == own.code) && (&told.message, &told.kind) == (&own.message, &own.kind)
}

/// Returns whether the child ever ended with the failure its parent received.
fn ended_so(child: &Seen, told: &Failure) -> bool {
    child.history.iter().any(|event| match &event.data {
        EventData::WorkflowFailed(failed) => same(&failed.failure, told),
        EventData::WorkflowCancelled(_) => told.code == codes::CANCELLED,
        _ => false,
    })
}
