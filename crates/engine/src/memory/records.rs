//! Reads for listings. Lists are newest first; a cursor is the creation number of the last row shown.

use std::collections::BTreeSet;

use rhythm_core::{Blocked, Compensation, RunId, TaskId, TenantId, Timestamp};

use super::state::{Letter, Live, State, Task, Tenant};
use crate::world::*;

impl Tenant {
    pub fn list_runs(&self, query: &RunQuery) -> WorldResult<Page<RunSummary>> {
        let all = self.live.values().map(|live| (live.order, self.summary(live)));
        let ended =
            self.ended.keys().filter_map(|id| Some((self.ended[id].run.order, self.run_summary(id)?)));
        let wanted = |run: &RunSummary| {
            query.status.is_none_or(|status| run.status == status)
                && query.workflow.as_ref().is_none_or(|workflow| run.workflow == *workflow)
                && query.labels.iter().all(|wanted| wanted.is_among(&run.labels))
                && query.parent.as_ref().is_none_or(|id| run.parent.as_ref().is_some_and(|p| p.run == *id))
                && (!query.blocked || run.blocked.is_some())
        };
        page(all.chain(ended).filter(|(_, run)| wanted(run)).collect(), query.cursor.as_deref(), query.limit)
    }

    fn run_summary(&self, run: &RunId) -> Option<RunSummary> {
        if let Some(live) = self.live.get(run) {
            return Some(self.summary(live));
        }
        let ended = self.ended.get(run)?;
        let mut summary = self.summary(&ended.run);
        summary.status = ended.status;
        summary.compensation = Compensation::of(ended.status, ended.run.row.awaiting());
        summary.blocked = ended.run.blocked.clone();
        summary.ended_at = Some(ended.ended_at);
        summary.failure.clone_from(&ended.failure);
        Some(summary)
    }

    fn summary(&self, live: &Live) -> RunSummary {
        let row = &live.row;
        let status = live.status();
        RunSummary {
            id: row.id.clone(),
            workflow: row.workflow.clone(),
            version: row.version.clone(),
            kind: row.kind,
            status,
            paused: row.paused,
            blocked: live.blocked.clone().or_else(|| Blocked::by_nodes(status, row.awaiting())),
            compensation: Compensation::of(status, row.awaiting()),
            cancelling: row.state.cancelling,
            priority: row.priority,
            labels: live.labels.clone(),
            parent: row.parent.clone(),
            created_at: row.created_at,
            updated_at: live.updated_at,
            ended_at: None,
            deadline_at: live.deadline_at,
            revision: row.revision,
            seq: row.state.seq,
            failure: None,
        }
    }

    pub fn picture(&self, run: &RunId) -> Option<Picture> {
        let summary = self.run_summary(run)?;
        let ended = self.ended.get(run);
        let live = self.live.get(run).or(ended.map(|ended| &ended.run))?;
        let of_run = |task: &&Task| task.new.run.as_ref().is_some_and(|(owner, _)| owner == run);
        let is_child = |child: &&RunSummary| child.parent.as_ref().is_some_and(|parent| parent.run == *run);
        let everyone: Vec<RunSummary> =
            self.live.keys().chain(self.ended.keys()).filter_map(|id| self.run_summary(id)).collect();
        let place = self.queue.get(run);
        Some(Picture {
            row: live.row.clone(),
            input: live.input.clone(),
            output: ended.and_then(|ended| ended.output.clone()),
            failure: ended.and_then(|ended| ended.failure.clone()),
            failed_by: ended.and_then(|ended| ended.failed_by.clone()),
            dismissed_at: ended.and_then(|ended| ended.dismissed_at),
            workflow_paused: self.paused_workflows.contains(&live.row.workflow),
            ready_since: place.map(|place| place.ready_at),
            claimed_by: live.claimed_by.as_ref().map(ToString::to_string),
            tasks: self.tasks.values().filter(of_run).take(100).map(Tenant::summary_of_task).collect(),
            timers: self.timer_rows(run),
            children: everyone.iter().filter(is_child).take(100).cloned().collect(),
            inbox: self.inbox.get(run).into_iter().flatten().take(100).cloned().collect(),
            dead: self
                .dead
                .values()
                .filter(|letter| letter.letter.run.as_ref() == Some(run))
                .filter(|letter| letter.letter.status == LetterStatus::Pending)
                .take(100)
                .map(|letter| self.letter_row(letter))
                .collect(),
            summary,
        })
    }

    pub fn version_rows(&self, workflow: &str) -> Vec<VersionRow> {
        let of_workflow = self.definitions.iter().filter(|((name, _), _)| name == workflow);
        let mut rows: Vec<VersionRow> = of_workflow
            .map(|((_, version), registered)| {
                let is_open = |live: &&Live| live.row.workflow == workflow && live.row.version == *version;
                VersionRow {
                    number: registered.number,
                    version: version.clone(),
                    kind: registered.definition.kind,
                    registered_at: registered.at,
                    current: self.current.get(workflow) == Some(version),
                    open_runs: self.live.values().filter(is_open).count() as u64,
                }
            })
            .collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.number));
        rows
    }

    pub fn version_numbers(&self, workflow: &str) -> Vec<NumberedVersion> {
        let of_workflow = self.definitions.iter().filter(|((name, _), _)| name == workflow);
        let mut rows: Vec<NumberedVersion> = of_workflow
            .map(|((_, version), known)| NumberedVersion { number: known.number, version: version.clone() })
            .collect();
        rows.sort_by_key(|row| row.number);
        rows
    }

    fn timer_rows(&self, run: &RunId) -> Vec<TimerRow> {
        let mut timers: Vec<TimerRow> = self
            .timers
            .iter()
            .filter(|((owner, _), _)| owner == run)
            .map(|((_, id), timer)| TimerRow {
                timer: match &timer.body {
                    Some(rhythm_core::message::MessageBody::TimerFired(fired)) => Some(fired.timer),
                    _ => None,
                },
                what: id.to_string(),
                due_at: timer.due_at,
            })
            .collect();
        timers.sort_by_key(|timer| timer.due_at);
        timers.truncate(100);
        timers
    }

    pub fn summary_of_task(task: &Task) -> TaskSummary {
        TaskSummary {
            id: task.new.id.clone(),
            run: task.new.run.as_ref().map(|(run, _)| run.clone()),
            name: task.new.name.clone(),
            state: task.state,
            input: task.new.input.clone(),
            options: task.new.options.clone(),
            attempt: task.attempt,
            delivery: task.delivery,
            worker: task.worker.as_ref().map(ToString::to_string),
            cancel_requested: task.cancel_requested,
            progress: task.progress.clone(),
            created_at: task.created_at,
            since: task.since,
            deadline_at: task.deadline_at,
            output: None,
            failure: None,
        }
    }

    pub fn task_summary(&self, task: &TaskId) -> Option<TaskSummary> {
        let open = self.tasks.get(task).map(Tenant::summary_of_task);
        open.or_else(|| self.ended_tasks.get(task).cloned())
    }

    pub fn list_tasks(&self, query: &TaskQuery) -> WorldResult<Page<TaskSummary>> {
        let open = self.tasks.values().map(Tenant::summary_of_task);
        let wanted = |task: &TaskSummary| {
            query.state.is_none_or(|state| task.state == state)
                && query.queue.as_ref().is_none_or(|queue| task.options.queue == *queue)
                && query.name.as_ref().is_none_or(|name| task.name == *name)
        };
        let key = |task: &TaskSummary| (task.created_at.millis(), task.id.to_string());
        let before = match &query.cursor {
            None => None,
            Some(text) => {
                let (at, id) = text.split_once('/').ok_or_else(|| not_a_cursor(text))?;
                Some((at.parse::<i64>().map_err(|_| not_a_cursor(text))?, id.to_owned()))
            }
        };
        let mut rows: Vec<TaskSummary> =
            open.chain(self.ended_tasks.values().cloned()).filter(wanted).collect();
        rows.retain(|task| before.as_ref().is_none_or(|before| key(task) < *before));
        rows.sort_by_key(|task| std::cmp::Reverse(key(task)));
        let more = rows.len() > query.limit;
        rows.truncate(query.limit);
        let last = rows.last().map(|task| format!("{}/{}", task.created_at.millis(), task.id));
        Ok(Page { next: last.filter(|_| more), rows })
    }

    pub fn list_dead(&self, query: &DeadQuery) -> WorldResult<Page<DeadLetter>> {
        let only_pending = BTreeSet::from([LetterStatus::Pending]);
        let statuses = if query.statuses.is_empty() { &only_pending } else { &query.statuses };
        let wanted = |letter: &DeadLetter| {
            statuses.contains(&letter.status)
                && query.task.as_ref().is_none_or(|task| letter.task == *task)
                && query.run.as_ref().is_none_or(|run| letter.run.as_ref() == Some(run))
                && query.queue.as_ref().is_none_or(|queue| letter.options.queue == *queue)
        };
        let rows = self.dead.values().map(|letter| (letter.order, self.letter_row(letter)));
        page(rows.filter(|(_, letter)| wanted(letter)).collect(), query.cursor.as_deref(), query.limit)
    }

    fn kept_runs(&self) -> usize {
        let pending = self.dead.values().filter(|letter| letter.letter.status == LetterStatus::Pending);
        let runs: BTreeSet<&RunId> = pending.filter_map(|letter| letter.letter.run.as_ref()).collect();
        runs.into_iter().filter(|run| self.ended.contains_key(run)).count()
    }

    fn letter_row(&self, letter: &Letter) -> DeadLetter {
        DeadLetter { fate: self.fate(letter), ..letter.letter.clone() }
    }

    fn queue_rows(&self, workers: &[WorkerRow]) -> Vec<QueueRow> {
        let mut rows: std::collections::BTreeMap<String, QueueRow> = Default::default();
        for name in &self.paused_queues {
            rows.entry(name.clone()).or_default().paused = true;
        }
        for name in workers.iter().filter(|worker| worker.live).flat_map(|worker| &worker.card.queues) {
            rows.entry(name.clone()).or_default().workers += 1;
        }
        for task in self.tasks.values() {
            let row = rows.entry(task.new.options.queue.clone()).or_default();
            match task.state {
                TaskState::Ready => {
                    row.ready += 1;
                    row.oldest_ready_at =
                        [row.oldest_ready_at, Some(task.due_at)].into_iter().flatten().min();
                }
                TaskState::Delayed => row.delayed += 1,
                TaskState::Running => row.running += 1,
                TaskState::Held => row.held += 1,
                TaskState::Completed | TaskState::Failed | TaskState::Cancelled => {}
            }
        }
        rows.into_iter().map(|(name, row)| QueueRow { name, ..row }).collect()
    }

    pub fn ready_work(&self, now: Timestamp) -> Vec<ReadyWork> {
        let mut work: std::collections::BTreeMap<Need, (u64, Timestamp)> = Default::default();
        let mut count = |need: Need, since: Timestamp| {
            let (count, oldest) = work.entry(need).or_insert((0, since));
            *count += 1;
            *oldest = since.min(*oldest);
        };
        for (run, place) in &self.queue {
            let Some(live) = self.live.get(run) else { continue };
            let (kind, workflow) = (live.row.kind, live.row.workflow.clone());
            let held_up = place.claim_until.is_some() || self.paused_workflows.contains(&workflow);
            if !held_up && place.ready_at <= now {
                count(Need::Run { kind, workflow }, place.ready_at);
            }
        }
        for task in self.tasks.values().filter(|task| task.state == TaskState::Ready) {
            let (queue, name) = (task.new.options.queue.clone(), task.new.name.clone());
            if !self.paused_queues.contains(&queue) {
                count(Need::Task { queue, name }, task.since);
            }
        }
        let row = |(need, (count, oldest))| ReadyWork { need, count, oldest };
        work.into_iter().map(row).collect()
    }

    pub fn workflow_rows(&self) -> Vec<WorkflowRow> {
        let row = |(workflow, version): (&String, &rhythm_core::Version)| {
            let registered = self.definitions.get(&(workflow.clone(), version.clone()))?;
            Some(WorkflowRow {
                workflow: workflow.clone(),
                kind: registered.definition.kind,
                version: version.clone(),
                number: registered.number,
                versions: self.definitions.keys().filter(|(name, _)| name == workflow).count() as u64,
                paused: self.paused_workflows.contains(workflow),
                registered_at: registered.at,
            })
        };
        self.current.iter().filter_map(row).collect()
    }
}

impl State {
    pub fn worker_rows(&mut self, tenant: &TenantId, now: Timestamp) -> Vec<WorkerRow> {
        let alive = self.alive.clone();
        let row = |worker: &super::state::Worker| {
            let (card, running) = (worker.card.clone(), worker.running);
            let (started_at, beat_at) = (worker.started_at, worker.beat_at);
            let row = WorkerRow { card, started_at, beat_at, running, live: true };
            row.judged(alive.contains(&worker.handle), now)
        };
        self.tenant(tenant).workers.values().map(row).collect()
    }

    pub fn queue_rows(&mut self, tenant: &TenantId, now: Timestamp) -> Vec<QueueRow> {
        let workers = self.worker_rows(tenant, now);
        self.tenant(tenant).queue_rows(&workers)
    }

    pub fn health(&self) -> Health {
        let count = |of: fn(&Tenant) -> usize| self.tenants().map(of).sum::<usize>() as u64;
        Health {
            world: "memory".into(),
            server: "this process".into(),
            schema: 1,
            schema_known: 1,
            live_runs: count(|tenant| tenant.live.len()),
            ended_runs: count(|tenant| tenant.ended.len()),
            open_tasks: count(|tenant| tenant.tasks.len()),
            timers: count(|tenant| tenant.timers.len()),
            dead_letters: count(|tenant| {
                tenant.dead.keys().filter(|task| tenant.pending(task).is_some()).count()
            }),
            kept_runs: count(Tenant::kept_runs),
            bytes: None,
            findings: Vec::new(),
        }
    }
}

/// Returns one page of numbered rows, newest first.
fn page<T: Clone>(mut rows: Vec<(u64, T)>, cursor: Option<&str>, limit: usize) -> WorldResult<Page<T>> {
    let before: u64 = match cursor {
        None => u64::MAX,
        Some(text) => text.parse().map_err(|_| not_a_cursor(text))?,
    };
    rows.retain(|(order, _)| *order < before);
    rows.sort_by_key(|(order, _)| std::cmp::Reverse(*order));
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = if more { rows.last().map(|(order, _)| order.to_string()) } else { None };
    Ok(Page { rows: rows.into_iter().map(|(_, row)| row).collect(), next })
}

pub fn not_a_cursor(text: &str) -> WorldError {
    WorldError::Invalid(format!("not a cursor: {text}"))
}
