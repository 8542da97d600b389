//! Runs ask only for what their plan or graph contains. Every task is one of its tasks. Every timer has one
//! of its lengths, counted from a moment between the run's commit and its claim (or the time of the timer
//! that woke it up).

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::drill::{Instruction, TaskCall};
use rhythm_core::message::{Message, MessageBody};
use rhythm_core::{CommandId, Event, EventData, Grace, Millis, Payload, RunId, TaskId, TimerSpec, Timestamp};
use rhythm_engine::world::*;
use serde_json::Value;

use super::sketch::Nodes;
use super::{Applied, Check, Moment, Objection, Sketch};

/// Time a flow may clean up when it sets no limit itself.
const CLEANUP_GRACE: Millis = Millis::from_secs(300);

pub struct Asked {
    sketches: BTreeMap<String, Sketch>,
    workflows: BTreeMap<RunId, String>,
    /// Nodes added by patches of graphs.
    added: BTreeMap<RunId, Vec<Value>>,
    /// Steps added by other patches. None for a run whose patch cannot be read here.
    patches: BTreeMap<RunId, Option<Vec<Instruction>>>,
    /// World time of each claim when its answer was first sent. A lost answer is asked for again.
    runs_claimed: BTreeMap<(RunId, u64), Timestamp>,
    tasks_claimed: BTreeMap<(TaskId, u64), Timestamp>,
    timers: BTreeMap<(RunId, CommandId), Timestamp>,
}

impl Asked {
    pub fn new(sketches: BTreeMap<String, Sketch>) -> Self {
        Self {
            sketches,
            workflows: BTreeMap::new(),
            added: BTreeMap::new(),
            patches: BTreeMap::new(),
            runs_claimed: BTreeMap::new(),
            tasks_claimed: BTreeMap::new(),
            timers: BTreeMap::new(),
        }
    }
}

impl Check for Asked {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn applied(&mut self, applied: &Applied<'_>, at: &Moment<'_>) -> Result<(), Objection> {
        match applied {
            Applied::CreateRuns(request, _) => self.created(&request.runs),
            Applied::Deliver(request, _) => {
                request
                    .deliveries
                    .iter()
                    .for_each(|delivery| self.delivered(&delivery.to, &delivery.message));
            }
            Applied::Control(request, _) => match &request.control {
                Control::FireSchedule { runs, .. } => self.created(runs),
                Control::Reopen { run, redeliver, .. } => {
                    redeliver.iter().for_each(|message| self.delivered(run, message));
                }
                _ => {}
            },
            Applied::ClaimRuns(_, claimed) => {
                for run in &claimed.runs {
                    self.runs_claimed.entry((run.run.id.clone(), run.claim)).or_insert(claimed.at);
                }
            }
            Applied::ClaimTasks(_, claimed) => {
                for task in &claimed.tasks {
                    self.tasks_claimed.entry((task.id.clone(), task.claim)).or_insert(claimed.at);
                }
            }
            Applied::Commit(commit, committed) => {
                for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
                    let CommitOutcome::Done(done) = outcome else { continue };
                    self.created(&item.children);
                    for TaskClaim { task, claim } in &done.claimed {
                        self.tasks_claimed.entry((task.clone(), *claim)).or_insert(committed.at);
                    }
                    let latest = committed.at.plus(at.luck.ahead());
                    self.committed(item, latest).map_err(|what| Objection::of_run(&item.run, what))?;
                    let armed = |timer: &TimerSpec| ((item.run.clone(), timer.timer), timer.fire_at);
                    self.timers.extend(item.timers.iter().map(armed));
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Asked {
    fn created(&mut self, runs: &[NewRun]) {
        for run in runs {
            self.workflows.entry(run.id.clone()).or_insert_with(|| run.workflow.clone());
        }
    }

    fn delivered(&mut self, run: &RunId, message: &Message) {
        let MessageBody::Patch(patch) = &message.body else { return };
        let workflow = self.workflows.get(run);
        if let Some(Sketch::Graph(_)) = workflow.and_then(|workflow| self.sketches.get(workflow)) {
            let text = patch.operations.text().unwrap_or_default();
            let operations: Value = serde_json::from_str(text).unwrap_or_default();
            self.added.entry(run.clone()).or_default().extend(Nodes::added_by(&operations));
            return;
        }
        let steps: Option<Vec<Instruction>> =
            patch.operations.text().and_then(|text| serde_json::from_str(text).ok());
        let known = self.patches.entry(run.clone()).or_insert_with(|| Some(Vec::new()));
        match (known, steps) {
            (Some(known), Some(steps)) => known.extend(steps),
            (known, _) => *known = None,
        }
    }

    /// Checks a commit. `latest` is the latest time the committing process can believe the world to have.
    fn committed(&self, item: &CommitItem, latest: Timestamp) -> Result<(), String> {
        if item.tasks.is_empty() && item.timers.is_empty() {
            return Ok(());
        }
        let workflow = self.workflows.get(&item.run).ok_or("a run nobody created")?;
        let plan = match self.sketches.get(workflow).ok_or("a workflow nobody registered")? {
            Sketch::Plan(plan) => plan,
            Sketch::Graph(nodes) => {
                let added = self.added.get(&item.run).map(Vec::as_slice).unwrap_or_default();
                return self.asked_by_nodes(item, &nodes.and(added), latest);
            }
        };
        let patched: &[Instruction] = match self.patches.get(&item.run) {
            None => &[],
            Some(Some(steps)) => steps,
            // The patch is in a blob, so its steps are unknown here.
            Some(None) => return Ok(()),
        };
        let steps = || plan.steps.iter().chain(&plan.cleanup).chain(patched);
        let calls: Vec<&TaskCall> = steps().flat_map(tasks_of).collect();
        for task in &item.tasks {
            if !calls.iter().any(|call| is_call(task, call)) {
                return Err(format!("task {} ({}) is none of its plan", task.id, task.name));
            }
        }
        let lengths: BTreeSet<Millis> = steps().filter_map(timer_of).collect();
        item.timers.iter().try_for_each(|timer| self.timer(item, timer, &lengths, latest))
    }

    fn asked_by_nodes(&self, item: &CommitItem, nodes: &Nodes, latest: Timestamp) -> Result<(), String> {
        if let Some(task) = item.tasks.iter().find(|task| !nodes.ask_for(task)) {
            return Err(format!("task {} ({}) is none of its graph", task.id, task.name));
        }
        let lengths = nodes.lengths();
        item.timers.iter().try_for_each(|timer| self.timer(item, timer, &lengths, latest))
    }

    fn timer(
        &self,
        item: &CommitItem,
        timer: &TimerSpec,
        lengths: &BTreeSet<Millis>,
        latest: Timestamp,
    ) -> Result<(), String> {
        let row = item.events.iter().find(|event| schedules(event, timer));
        let row = row.ok_or_else(|| format!("timer {} is not in the history as it is", timer.timer))?;
        // A run whose deadline has passed gets a timer of this length for its clean-up.
        let clean_up = Grace::of(&item.state.awaiting).filter(|grace| grace.timer == timer.timer);
        let clean_up = clean_up.map(|_| CLEANUP_GRACE);
        if !lengths.iter().chain(&clean_up).any(|length| row.at.plus(*length) == timer.fire_at) {
            let length = timer.fire_at.since(row.at);
            return Err(format!("timer {} lasts {length}, its plan says {lengths:?}", timer.timer));
        }
        let since = match item.fence {
            Fence::Claim(claim) => self.runs_claimed.get(&(item.run.clone(), claim)).copied(),
            Fence::Fused if item.new.is_some() => item.created_at,
            Fence::Fused if !item.fired.is_empty() => {
                let due = |timer: &CommandId| self.timers.get(&(item.run.clone(), *timer));
                item.fired.iter().filter_map(due).min().copied()
            }
            Fence::Fused => {
                let claimed = |task: &FinishedTask| self.tasks_claimed.get(&(task.task.clone(), task.claim));
                item.finished.iter().filter_map(claimed).min().copied()
            }
        };
        if since.is_none_or(|since| row.at < since) {
            return Err(format!("timer {} counts from {}, the claim is of {since:?}", timer.timer, row.at));
        }
        if row.at > latest {
            return Err(format!("timer {} counts from {}, its commit is before", timer.timer, row.at));
        }
        Ok(())
    }
}

fn schedules(event: &Event, timer: &TimerSpec) -> bool {
    matches!(&event.data, EventData::TimerScheduled(row) if row.timer == timer.timer && row.fire_at == timer.fire_at)
}

fn tasks_of(step: &Instruction) -> Vec<&TaskCall> {
    match step {
        Instruction::Task(call)
        | Instruction::TryTask(call)
        | Instruction::Spawn(call)
        | Instruction::Repeat { task: call, .. }
        | Instruction::TaskWithin { task: call, .. } => vec![call],
        Instruction::Parallel(calls) => calls.iter().collect(),
        _ => Vec::new(),
    }
}

fn timer_of(step: &Instruction) -> Option<Millis> {
    match step {
        Instruction::Sleep(time) => Some(*time),
        Instruction::Signal { timeout, .. } => *timeout,
        Instruction::TaskWithin { timeout, .. } | Instruction::ChildWithin { timeout, .. } => Some(*timeout),
        _ => None,
    }
}

fn is_call(task: &NewTask, call: &TaskCall) -> bool {
    task.name == call.name
        && task.options == call.options
        && Payload::of(&call.input).is_ok_and(|input| input == task.input)
}
