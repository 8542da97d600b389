//! Prints the progress of a run: a line for each event, and a summary at the end.

use std::collections::BTreeMap;

use rhythm_core::{CommandId, Event, EventData, Payload, RunId, TaskId, label};
use rhythm_engine::tokens::unclear_of;
use rhythm_engine::world::{HistoryQuery, TaskSummary};

use crate::errors::CliResult;
use crate::output::{count, short};
use crate::session::Session;

/// Number of characters shown of a task's input: enough to distinguish the items of a list.
const SHOWN_INPUT: usize = 48;

/// Number of history rows read at once.
const PAGE: usize = 1_000;

/// The part of a run that was shown so far.
#[derive(Default)]
pub struct Shown {
    seq: u64,
    /// Number of retried attempts.
    attempts: usize,
    names: BTreeMap<CommandId, String>,
    /// Number of starts by name. Further starts of a name are shown with their number.
    started: BTreeMap<String, u64>,
    tasks: BTreeMap<TaskId, String>,
    counted: Counted,
}

#[derive(Default)]
struct Counted {
    tasks: u64,
    failed: u64,
    children: u64,
    timers: u64,
    signals: u64,
}

impl Shown {
    /// Prints a line for each event since the last call.
    pub async fn go_on(&mut self, session: &Session, run: &RunId, tasks: &[TaskSummary]) -> CliResult {
        self.tasks.extend(tasks.iter().map(|task| (task.id.clone(), task.name.clone())));
        let (world, tenant) = (session.client.world(), session.client.tenant());
        let attempts = world.attempts(tenant, run).await?;
        loop {
            let (tenant, run) = (tenant.clone(), run.clone());
            let events = world.history(HistoryQuery { tenant, run, after: self.seq, limit: PAGE }).await?;
            for event in &events {
                self.seq = event.seq;
                if let Some((what, to)) = self.line(event) {
                    session.out.progress(what, &to);
                }
            }
            if events.len() < PAGE {
                break;
            }
        }
        for past in attempts.iter().skip(self.attempts) {
            let number = past.task.as_str().rsplit(':').next().and_then(|number| number.parse().ok());
            let numbered = number.and_then(|number| self.names.get(&CommandId(number)));
            let name =
                numbered.or_else(|| self.tasks.get(&past.task)).map_or(past.task.as_str(), String::as_str);
            let (attempt, failure) = (past.attempt, &past.failure);
            session.out.progress(&format!("attempt {attempt}"), &format!("{name}: {failure}"));
        }
        self.attempts = self.attempts.max(attempts.len());
        Ok(())
    }

    /// Returns a summary: the number of tasks, failures, children, timers and signals.
    pub fn counts(&self) -> String {
        let Counted { tasks, failed, children, timers, signals } = self.counted;
        let again = u64::try_from(self.attempts).unwrap_or(0);
        let kinds = [
            (tasks, "task"),
            (failed, "failure"),
            (again, "failed attempt"),
            (children, "child workflow"),
            (timers, "timer"),
            (signals, "signal"),
        ];
        let kinds = kinds.into_iter().filter(|(number, kind)| *number > 0 || *kind == "task");
        kinds.map(|(number, kind)| count(number, kind)).collect::<Vec<_>>().join(", ")
    }

    /// Returns the shown name: from the second start on, with its number.
    fn named(&mut self, id: CommandId, name: &str) -> String {
        let times = self.started.entry(name.to_owned()).or_default();
        *times += 1;
        let named = if *times == 1 { name.to_owned() } else { format!("{name} ({times})") };
        self.names.insert(id, named.clone());
        named
    }

    fn name(&self, id: CommandId) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| format!("#{id}"))
    }

    fn line(&mut self, event: &Event) -> Option<(&'static str, String)> {
        Some(match &event.data {
            EventData::StepScheduled(step) => {
                self.counted.tasks += 1;
                let name = label::shown(&step.name, step.label.as_deref(), step.item, None);
                let name = self.named(step.task, &name);
                ("started", format!("{name}{}", given(&step.input)))
            }
            EventData::StepCompleted(done) => ("done", self.name(done.task)),
            EventData::StepFailed(failed) => {
                self.counted.failed += 1;
                ("failed", format!("{}: {}", self.name(failed.task), failed.failure))
            }
            EventData::StepRetrying(again) => {
                ("trying", format!("{} again: {}", self.name(again.task), again.failure))
            }
            EventData::TimerScheduled(timer) => {
                self.counted.timers += 1;
                let until = format!("until {}", timer.fire_at);
                let Some(label) = &timer.label else { return Some(("sleeping", until)) };
                ("sleeping", format!("{}, {until}", self.named(timer.timer, label)))
            }
            EventData::TimerFired(fired) => {
                ("woke up", self.names.get(&fired.timer).cloned().unwrap_or_default())
            }
            EventData::SignalRequested(signal) => {
                let name = format!("signal {}", signal.name);
                ("waiting", format!("for {}", label::shown(&name, signal.label.as_deref(), None, None)))
            }
            EventData::SignalReceived(signal) => {
                self.counted.signals += 1;
                ("received", format!("signal {}", signal.name))
            }
            EventData::ChildStarted(child) => {
                self.counted.children += 1;
                let name = format!("workflow {}", child.workflow);
                let name = label::shown(&name, child.label.as_deref(), child.item, None);
                ("started", self.named(child.child, &name))
            }
            EventData::ChildCompleted(done) => ("done", self.name(done.child)),
            EventData::ChildFailed(failed) => {
                self.counted.failed += 1;
                ("failed", format!("{}: {}", self.name(failed.child), failed.failure))
            }
            EventData::NodeEmitted(token) => {
                let from = token.from.as_deref().map(|from| format!(" from {from}")).unwrap_or_default();
                ("token", format!("to {}{from}", token.to))
            }
            EventData::ApprovalCreated(asked) => ("asking", format!("about {}", asked.node)),
            EventData::ApprovalDecided(answer) => {
                ("decided", format!("{} by {}", answer.decision, answer.by))
            }
            EventData::PatchAdopted(patch) => ("patched", format!("by {}", patch.author)),
            EventData::PatchRefused(patch) => {
                ("refused", format!("a patch by {}: {}", patch.author, patch.message))
            }
            EventData::ConditionEvaluated(_) => ("note", unclear_of(event)?.to_string()),
            EventData::Log(log) => ("log", log.message.clone()),
            EventData::CancelRequested(_) => ("cancelling", String::new()),
            _ => return None,
        })
    }
}

/// Returns a short form of a task's input, empty for an empty input.
fn given(input: &Payload) -> String {
    match input.text() {
        None | Some("null" | "{}") => String::new(),
        Some(text) => format!("  {}", short(text, SHOWN_INPUT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_the_same_name_is_numbered() {
        let mut shown = Shown::default();
        let named: Vec<String> =
            [(1, "echo"), (2, "mail"), (3, "echo")].map(|(id, name)| shown.named(CommandId(id), name)).into();
        assert_eq!(named, ["echo", "mail", "echo (2)"]);
        assert_eq!((shown.name(CommandId(3)), shown.name(CommandId(9))), ("echo (2)".into(), "#9".into()));
    }

    #[test]
    fn the_end_counts_what_there_was() {
        let counted = Counted { tasks: 3, failed: 1, timers: 2, ..Counted::default() };
        let shown = Shown { counted, attempts: 2, ..Shown::default() };
        assert_eq!(shown.counts(), "3 tasks, 1 failure, 2 failed attempts, 2 timers");
        assert_eq!(Shown::default().counts(), "0 tasks");
    }
}
