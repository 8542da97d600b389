//! Tasks: claimed when they are ready, answered when the script says so, stopped when they are cancelled.

use rhythm_core::failure::codes;
use rhythm_core::{Failure, Payload, WorkerId};
use rhythm_engine::error::EngineError;
use rhythm_engine::worker::{Cancellation, last_word};
use rhythm_engine::world::*;

use super::graph::Role;
use super::{Act, FOR_EVER, Plan, Stage, WORKER};

impl Stage {
    /// Claims every ready task and plans its end. Returns false if there was none.
    pub(super) async fn hand_out(&mut self) -> Result<bool, EngineError> {
        let claimed = self.claim(false).await?;
        let any = !claimed.is_empty();
        for mut task in claimed {
            // Retry policies apply, but without jitter, so that results do not vary.
            task.options.retries.get_or_insert_default().jitter = 0.0;
            self.begin(task).await?;
        }
        Ok(any)
    }

    async fn claim(&self, overdue: bool) -> Result<Vec<ClaimedTask>, EngineError> {
        const MOST: usize = 100_000;
        let tenant = self.client.tenant().clone();
        let queues: Vec<(String, usize)> = match overdue {
            // Overdue tasks are found in any queue.
            true => vec![(String::new(), MOST)],
            false => self.world.queues(&tenant).await?.into_iter().map(|queue| (queue.name, MOST)).collect(),
        };
        if queues.is_empty() {
            return Ok(Vec::new());
        }
        let request = ClaimTasks {
            tenant,
            worker: WorkerId::new(WORKER),
            queues,
            names: Vec::new(),
            of: None,
            hold: FOR_EVER,
            with_runs: false,
            overdue,
            ask: Ask::default(),
        };
        Ok(self.world.claim_tasks(request).await?.tasks)
    }

    /// Fails tasks whose deadline passed before they started.
    pub(super) async fn expire(&mut self) -> Result<(), EngineError> {
        let now = self.clock.now();
        if !self.deadlines.values().any(|deadline| *deadline <= now) {
            return Ok(());
        }
        self.deadlines.retain(|_, deadline| *deadline > now);
        for task in self.claim(true).await? {
            self.finish(&task, Err(too_late()), None).await?;
        }
        Ok(())
    }

    async fn begin(&mut self, task: ClaimedTask) -> Result<(), EngineError> {
        self.deadlines.remove(&task.id);
        let now = self.clock.now();
        let answer = match self.role_of(&task).await? {
            Some(role) => self.graph_answer(&role, &task).await?,
            None => {
                let run = task.run.as_ref().map_or_else(|| self.run.clone(), |(run, _)| run.clone());
                self.executed(&run, &task.name);
                self.script.next(&task.name)
            }
        };
        let answered = answer.and_then(|answer| Some((now.plus(answer.delay()), answer.result()?, false)));
        // Only an explicit timeout applies: without one, an attempt may take as long as the script says.
        let timeout = task.options.timeout.map(|timeout| {
            let message = format!("the attempt took longer than {timeout}");
            (now.plus(timeout), Err(Failure::new(codes::TIMEOUT, message)), true)
        });
        let deadline = task.deadline_at.map(|deadline| (deadline.max(now), Err(too_late()), true));
        // At equal times the answer wins.
        let end = [answered, timeout, deadline].into_iter().flatten().min_by_key(|(at, ..)| *at);
        let task = Box::new(task);
        match end {
            Some((at, result, late)) => self.plan(at, Act::Answer { task, result, late }),
            None => self.plan(now, Act::Hold(task)),
        }
        Ok(())
    }

    /// Returns the task's name in a scenario: the name of its node, or its own.
    pub(super) fn scripted_name<'s>(&'s self, task: &'s ClaimedTask) -> &'s str {
        match self.known_role(task) {
            Some(Role::Work(node) | Role::Item(node)) => node,
            _ => &task.name,
        }
    }

    /// Ends attempts that were cancelled.
    pub(super) async fn stop_unwanted(&mut self) -> Result<(), EngineError> {
        if !std::mem::take(&mut self.unsettled) {
            return Ok(());
        }
        let held = |plan: &Plan| match &plan.act {
            Act::Answer { task, .. } | Act::Hold(task) => {
                Some(TaskClaim { task: task.id.clone(), claim: task.claim })
            }
            Act::Send(_) | Act::Decide(_) => None,
        };
        let tasks: Vec<Beat> =
            self.plans.iter().filter_map(held).map(|claim| Beat { claim, progress: None }).collect();
        if tasks.is_empty() {
            return Ok(());
        }
        let (tenant, running) =
            (self.client.tenant().clone(), u32::try_from(tasks.len()).unwrap_or(u32::MAX));
        let request = Extend { tenant, card: card(), running, hold: FOR_EVER, tasks, leaving: false };
        let told = self.world.extend(request).await?;
        let (mut stopped, mut kept) = (Vec::new(), Vec::new());
        for plan in std::mem::take(&mut self.plans) {
            match plan.act {
                Act::Answer { task, .. } | Act::Hold(task) if told.cancelled.contains(&task.id) => {
                    stopped.push(task)
                }
                Act::Answer { task, .. } | Act::Hold(task) if told.lost.contains(&task.id) => drop(task),
                act => kept.push(Plan { act, ..plan }),
            }
        }
        self.plans = kept;
        for task in stopped {
            let failure = Failure::cancelled("the task was cancelled");
            self.finish(&task, Err(failure), Some(Cancellation::Requested)).await?;
        }
        Ok(())
    }

    pub(super) async fn finish(
        &self,
        task: &ClaimedTask,
        result: Result<Payload, Failure>,
        stopped: Option<Cancellation>,
    ) -> Result<(), EngineError> {
        let worker = WorkerId::new(WORKER);
        let result = match result {
            Ok(output) => Ok(self.client.store(output).await?),
            Err(failure) => Err(failure),
        };
        let finished = last_word(task, result, stopped, &worker, self.clock.now());
        let again = usize::from(self.duplicated.iter().any(|name| self.scripted_name(task) == name));
        for _ in 0..self.times() + again {
            let (tenant, finished) = (self.client.tenant().clone(), vec![finished.clone()]);
            self.world.finish_tasks(FinishTasks { tenant, worker: worker.clone(), finished }).await?;
        }
        Ok(())
    }
}

fn too_late() -> Failure {
    let message = "the task's deadline passed before an attempt could succeed";
    Failure::permanent(codes::DEADLINE_EXCEEDED, message)
}

fn card() -> WorkerRegistration {
    WorkerRegistration {
        id: WorkerId::new(WORKER),
        host: String::new(),
        pid: 0,
        version: String::new(),
        queues: Vec::new(),
        tasks: Vec::new(),
        kinds: Vec::new(),
        workflows: Vec::new(),
        concurrency: u32::MAX,
        silence: FOR_EVER,
    }
}
