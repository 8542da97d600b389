//! Prints the history of a run as it grows: one line per event, with the line of the program it belongs to.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rhythm::{Client, Event, EventData, RunId};
use rhythm_core::CommandId;

use crate::Outcome;

/// Time limit for each wait; every event comes much sooner.
const PATIENCE: Duration = Duration::from_secs(60);
const GLANCE: Duration = Duration::from_millis(20);
/// Timers longer than this are not shown: the approval's timeout of two days.
const LONG_MILLIS: u64 = 60_000;

pub struct Story<'s> {
    client: &'s Client,
    run: &'s RunId,
    source: &'s str,
    /// Number of events printed so far.
    told: usize,
    attempts: usize,
    names: BTreeMap<CommandId, String>,
}

impl<'s> Story<'s> {
    pub fn new(client: &'s Client, run: &'s RunId, source: &'s str) -> Self {
        Self { client, run, source, told: 0, attempts: 0, names: BTreeMap::new() }
    }

    pub fn say(&self, who: &str, what: &str) {
        println!("  {who:<9} {what}");
    }

    /// Prints new events until one matches. Fails after a minute without one.
    pub async fn until(&mut self, wanted: impl Fn(&EventData) -> bool) -> Outcome<()> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            self.tell_attempts().await?;
            let history = self.client.history(self.run).await?;
            while let Some(event) = history.get(self.told) {
                self.told += 1;
                self.tell(event);
                if wanted(&event.data) {
                    return Ok(());
                }
            }
            if Instant::now() > give_up {
                return Err("nothing happened for a minute".into());
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Prints new failed attempts that will be retried. They are stored apart from the history.
    async fn tell_attempts(&mut self) -> Outcome<()> {
        let attempts = self.client.world().attempts(self.client.tenant(), self.run).await?;
        for attempt in &attempts[self.attempts..] {
            let task = self.names.iter().find(|(task, _)| self.run.task(**task) == attempt.task);
            let name = task.map(|(_, name)| name.as_str()).unwrap_or_default();
            let failure = &attempt.failure.message;
            self.at(name, &format!("failed at attempt {} and is tried again: {failure}", attempt.attempt));
        }
        self.attempts = attempts.len();
        Ok(())
    }

    fn tell(&mut self, event: &Event) {
        match &event.data {
            EventData::StepScheduled(step) => {
                self.names.insert(step.task, step.name.clone());
                self.at(&step.name, "is started");
            }
            EventData::StepCompleted(done) => self.at(&self.name(done.task), "is done"),
            EventData::StepFailed(failed) => {
                self.at(&self.name(failed.task), &format!("has failed: {}", failed.failure.message));
            }
            EventData::TimerScheduled(timer) => {
                let length = timer.fire_at.since(event.at);
                if length.as_u64() < LONG_MILLIS {
                    self.at("Timer.delay", &format!("sleeps for {length}"));
                }
            }
            EventData::TimerFired(_) => self.at("Timer.delay", "is over"),
            EventData::SignalRequested(signal) => self.at(&signal.name, "is waited for"),
            EventData::SignalReceived(signal) => self.at(&signal.name, "has arrived"),
            EventData::Log(log) => self.say("log", &log.message),
            _ => {}
        }
    }

    fn name(&self, task: CommandId) -> String {
        self.names.get(&task).cloned().unwrap_or_default()
    }

    /// Prints a line with the first line of the program that contains this word.
    fn at(&self, word: &str, what: &str) {
        let line = self
            .source
            .lines()
            .position(|line| line.contains(&format!("{word}\"")) || line.contains(&format!("{word}(")));
        let place = line.map_or_else(String::new, |line| format!("line {}", line + 1));
        self.say(&place, &format!("{word} {what}"));
    }
}
