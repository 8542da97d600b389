//! Commands of programs, their stored state, and their treatment of unexpected messages. The language itself
//! is tested in `tests/language`.

mod arbitrary;
mod deadline;
mod depth;
mod fan_out;
mod gathered;
mod labels;
mod map;
mod messages;
mod options;
mod session;
mod settled;
mod speed;
mod storage;

use rhythm_core::command::Command;
use rhythm_core::event::Event;
use rhythm_core::fold::{Advance, Advanced, End, RunState, advance, by_hash, spill};
use rhythm_core::id::{CommandId, MessageId, RunId, TenantId, Version};
use rhythm_core::message::*;
use rhythm_core::payload::{Blobs, Payload};
use rhythm_core::program::{ProgramError, RunFacts};
use rhythm_core::time::Timestamp;

use super::Flow;
use crate::{Defaults, compile, parse};

/// A run that a test drives by hand.
pub struct Rehearsal {
    pub flow: Flow,
    pub state: RunState,
    pub blobs: Blobs,
    /// Contents that moved out of the run, which a world would store.
    pub stored: Blobs,
    pub now: i64,
    facts: RunFacts,
}

impl Rehearsal {
    pub fn of(source: &str) -> Self {
        Self::with(source, Defaults::default())
    }

    pub fn with(source: &str, defaults: Defaults) -> Self {
        let parsed = parse(source);
        assert!(!parsed.has_errors(), "{:#?}", parsed.diagnostics);
        let code = compile(&parsed.file, source, defaults).unwrap();
        let facts = RunFacts {
            run: RunId::new("r"),
            tenant: TenantId::default(),
            workflow: "w".into(),
            version: Version::of(source.as_bytes()),
            created_at: Timestamp(0),
        };
        Self {
            flow: Flow::new(code).unwrap(),
            state: RunState::default(),
            blobs: Blobs::new(),
            stored: Blobs::new(),
            now: 0,
            facts,
        }
    }

    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// Replaces the program that steps the run.
    pub fn become_of(&mut self, flow: Flow, facts: RunFacts, state: RunState) {
        (self.flow, self.facts, self.state) = (flow, facts, state);
    }

    pub fn try_send(&mut self, id: &str, body: MessageBody) -> Result<Advance, ProgramError> {
        self.now += 10;
        let at = Timestamp(self.now);
        let message = Message { id: MessageId::new(id), at, actor: Actor::system(), trace: None, body };
        advance(&self.flow, &self.facts, &self.state, &message, at, &self.blobs)
    }

    pub fn send(&mut self, id: &str, body: MessageBody) -> Advanced {
        let before = self.blobs.clone();
        let advanced = loop {
            self.now -= if self.blobs.len() > before.len() { 10 } else { 0 };
            match self.try_send(id, body.clone()) {
                Ok(Advance::Advanced(advanced)) => break advanced,
                Ok(Advance::NeedBlobs(wanted))
                    if wanted.iter().all(|b| self.stored.contains_key(&b.hash)) =>
                {
                    let found =
                        wanted.into_iter().map(|blob| (blob.hash.clone(), self.stored[&blob.hash].clone()));
                    self.blobs.extend(found.collect::<Vec<_>>());
                }
                other => panic!("{other:?}"),
            }
        };
        self.blobs = before;
        self.state = advanced.state.clone();
        self.stored.extend(by_hash(&advanced.blobs));
        *advanced
    }

    /// Returns a task's output as a worker hands it over: a large one as a blob.
    pub fn returned(&mut self, output: &str) -> Payload {
        let output = json(output);
        let Some((blob, content)) = spill(&output) else { return output };
        self.stored.insert(blob.hash.clone(), content);
        Payload::Blob(blob)
    }

    pub fn start(&mut self, input: &str) -> Advanced {
        self.send("start", MessageBody::Start(Start { input: json(input) }))
    }

    pub fn complete(&mut self, task: u64, output: &str) -> Advanced {
        let output = self.returned(output);
        let body = TaskCompleted { task: CommandId(task), attempt: 1, output };
        self.send(&format!("task:{task}"), MessageBody::TaskCompleted(body))
    }

    pub fn fire(&mut self, timer: u64) -> Advanced {
        self.send(&format!("timer:{timer}"), MessageBody::TimerFired(TimerFired { timer: CommandId(timer) }))
    }

    pub fn signal(&mut self, id: &str, name: &str, payload: &str) -> Advanced {
        let body = SignalReceived { name: name.into(), payload: json(payload) };
        self.send(id, MessageBody::Signal(body))
    }

    pub fn snapshot(&self) -> String {
        let content = self.state.snapshot.as_ref().unwrap().open().unwrap();
        String::from_utf8(content.to_vec()).unwrap()
    }

    pub fn set_snapshot(&mut self, text: &str) {
        self.state.snapshot = Some(rhythm_core::program::Snapshot::seal(
            if text.starts_with("{\"format\":4") { 4 } else { 1 },
            text.into(),
        ));
    }
}

pub fn json(text: &str) -> Payload {
    Payload::parse(text.to_owned()).unwrap()
}

pub fn output(advanced: &Advanced) -> &str {
    match &advanced.end {
        Some(End::Completed(output)) => output.text().unwrap(),
        other => panic!("{other:?}"),
    }
}

pub fn failure_code(advanced: &Advanced) -> &str {
    match &advanced.end {
        Some(End::Failed(failure)) => &failure.code,
        other => panic!("{other:?}"),
    }
}

pub fn kinds(events: &[Event]) -> Vec<&str> {
    events.iter().map(|event| event.data.kind()).collect()
}

pub fn task(advanced: &Advanced, place: usize) -> &rhythm_core::task::TaskSpec {
    match &advanced.commands[place] {
        Command::RunTask(spec) => spec,
        other => panic!("{other:?}"),
    }
}
