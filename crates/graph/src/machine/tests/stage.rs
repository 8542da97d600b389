//! Test harness for one run: a clock that jumps, and scripted answers by node.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_core::command::Command;
use rhythm_core::event::{Event, EventData};
use rhythm_core::failure::Failure;
use rhythm_core::fold::{Advance, Advanced, Divergence, End, Fold, RunState, advance, replay};
use rhythm_core::id::{CommandId, MessageId, RunId, TenantId, Version};
use rhythm_core::lineage::Lineage;
use rhythm_core::message::*;
use rhythm_core::payload::{Blobs, Payload};
use rhythm_core::program::{Program, ProgramError, RunFacts};
use rhythm_core::run::Compensation;
use rhythm_core::time::Timestamp;
use serde_json::{Value, json};

use super::laws::Laws;
use crate::machine::{GraphProgram, WaitingFor, recount};
use crate::{Context, Registry, compile};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Straight,
    Reloaded,
    Twice,
}

pub const WAYS: [Way; 3] = [Way::Straight, Way::Reloaded, Way::Twice];

/// Events outside the run, by node.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub inputs: Value,
    /// One answer for each start; the last one repeats. Nodes without an entry answer `{}`.
    pub answers: BTreeMap<String, Vec<Result<Value, Failure>>>,
    /// Nodes that never get an answer.
    pub silent: Vec<String>,
    pub decisions: BTreeMap<String, Vec<Value>>,
    pub signals: Vec<(i64, String, Value)>,
    pub cancel_at: Option<i64>,
    /// Time in seconds, author and operations.
    pub patches: Vec<(i64, String, Value)>,
}

impl Script {
    pub fn with(mut self, node: &str, answers: impl IntoIterator<Item = Value>) -> Self {
        self.answers.insert(node.to_owned(), answers.into_iter().map(Ok).collect());
        self
    }

    pub fn failing(mut self, node: &str, code: &str) -> Self {
        let failure = Failure::permanent(code, "it broke").with_attempts(3);
        self.answers.insert(node.to_owned(), vec![Err(failure)]);
        self
    }

    pub fn decides(mut self, node: &str, decisions: impl IntoIterator<Item = Value>) -> Self {
        self.decisions.insert(node.to_owned(), decisions.into_iter().collect());
        self
    }

    pub fn silent(mut self, node: &str) -> Self {
        self.silent.push(node.to_owned());
        self
    }

    pub fn patched(mut self, at: i64, by: &str, operations: Value) -> Self {
        self.patches.push((at, by.to_owned(), operations));
        self
    }

    pub fn inputs(mut self, inputs: Value) -> Self {
        self.inputs = inputs;
        self
    }
}

pub fn script() -> Script {
    Script::default()
}

/// Everything that the three ways compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub status: &'static str,
    pub output: Value,
    pub failure: Option<Failure>,
    pub order: Vec<String>,
    pub counter: u64,
    pub waiting: Vec<String>,
    pub elapsed: i64,
}

/// A stored graph: its source and its compiled form.
#[derive(Debug)]
pub struct Stored {
    source: String,
    compiled: Vec<u8>,
}

impl Stored {
    /// Returns `None` when the document does not compile.
    pub fn of(document: &Value) -> Option<Arc<Self>> {
        let source = document.to_string();
        let graph = compile(&source, &Context::default()).graph?;
        Some(Arc::new(Self { source, compiled: serde_json::to_vec(&graph).unwrap() }))
    }

    fn load(&self) -> GraphProgram {
        GraphProgram::load(&self.compiled, &self.source, Registry::built_in()).unwrap()
    }
}

#[derive(Clone)]
pub struct Stage {
    stored: Arc<Stored>,
    pub program: GraphProgram,
    pub facts: RunFacts,
    pub state: RunState,
    pub history: Vec<Event>,
    pub end: Option<End>,
    pub now: i64,
    pub order: Vec<String>,
    /// Inputs of tasks, in the order they were requested.
    pub calls: Vec<(String, Value)>,
    /// Tasks and children that were cancelled individually.
    pub called_off: Vec<Command>,
    pub pending: Vec<(i64, Message)>,
    pub blobs: Blobs,
    pub last: Option<Advanced>,
    script: Script,
    way: Way,
    started: BTreeMap<String, usize>,
    visits: BTreeMap<String, usize>,
    laws: Laws,
}

impl Stage {
    pub fn new(document: &Value, script: Script, way: Way) -> Self {
        let stored = Stored::of(document).unwrap_or_else(|| {
            let compiled = compile(&document.to_string(), &Context::default());
            panic!("{:#?}\n{document:#}", compiled.errors().collect::<Vec<_>>())
        });
        Self::on(&stored, script, way)
    }

    pub fn on(stored: &Arc<Stored>, script: Script, way: Way) -> Self {
        let facts = RunFacts {
            run: RunId::new("r"),
            tenant: TenantId::default(),
            workflow: "w".into(),
            version: Version::of(stored.source.as_bytes()),
            created_at: Timestamp(0),
        };
        let mut stage = Self {
            stored: stored.clone(),
            program: stored.load(),
            facts,
            state: RunState::default(),
            history: Vec::new(),
            end: None,
            now: 0,
            order: Vec::new(),
            calls: Vec::new(),
            called_off: Vec::new(),
            pending: Vec::new(),
            blobs: Blobs::new(),
            last: None,
            script: script.clone(),
            way,
            started: BTreeMap::new(),
            visits: BTreeMap::new(),
            laws: Laws::default(),
        };
        stage.expect(0, MessageId::start(), MessageBody::Start(Start { input: payload(&script.inputs) }));
        for (nth, (at, name, value)) in script.signals.iter().enumerate() {
            let body = SignalReceived { name: name.clone(), payload: payload(value) };
            stage.expect(at * 1000, MessageId::new(format!("s{nth}")), MessageBody::Signal(body));
        }
        for (nth, (at, by, operations)) in script.patches.iter().enumerate() {
            let body =
                MessageBody::Patch(Patched { operations: payload(operations), reason: "a test".into() });
            stage.expect(at * 1000, MessageId::new(format!("p{nth}")), body);
            if let Some((_, message)) = stage.pending.last_mut() {
                message.actor = Actor(by.clone());
            }
        }
        if let Some(at) = script.cancel_at {
            let body = MessageBody::Cancel(Cancel::because("enough"));
            stage.expect(at * 1000, MessageId::new("cancel"), body);
        }
        stage
    }

    pub fn expect(&mut self, at: i64, id: MessageId, body: MessageBody) {
        let actor = Actor::system();
        self.pending.push((at, Message { id, at: Timestamp(at), actor, trace: None, body }));
    }

    /// Reopens a failed run.
    pub fn reopen(&mut self) {
        self.end = None;
        self.laws.reopen(&self.program, self.state.snapshot.as_ref().unwrap());
    }

    /// Lets a silent or failing node answer from now on.
    pub fn answers(&mut self, node: &str) {
        self.script.silent.retain(|silent| silent != node);
        self.script.answers.retain(|name, answers| name != node || answers.iter().all(Result::is_ok));
    }

    /// Returns the next message: the earliest, and among equal times the first planned.
    fn next(&self) -> Option<usize> {
        self.deliverable().into_iter().min_by_key(|place| (self.pending[*place].0, *place))
    }

    /// Returns the messages that can be delivered now, whatever their time. Signals wait until the run awaits
    /// them.
    pub fn deliverable(&self) -> Vec<usize> {
        let awaited = |message: &Message| match message.body.signal_name() {
            Some(name) => self.state.awaiting.contains(name),
            None => true,
        };
        let open = self.pending.iter().enumerate().filter(|(_, (_, message))| awaited(message));
        open.map(|(place, _)| place).collect()
    }

    pub fn play(&mut self) {
        while self.end.is_none() {
            let Some(place) = self.next() else { break };
            assert!(self.history.len() < 20_000, "does it ever end? {:?}", self.order);
            self.deliver(place);
        }
    }

    pub fn deliver(&mut self, place: usize) {
        let (at, message) = self.pending.remove(place);
        self.now = self.now.max(at);
        self.send(&message);
        let twice = self.way == Way::Twice && !matches!(message.body, MessageBody::Cancel(_));
        if twice && self.end.is_none() {
            self.send_again(&message);
        }
    }

    /// Delivers a message again. It must write one row and change nothing else.
    pub fn send_again(&mut self, message: &Message) {
        let before = self.state.clone();
        let again = self.step(message);
        assert!(again.commands.is_empty() && again.end.is_none(), "{message:?} {again:?}");
        assert_eq!(again.events.len(), 1, "{:?}", again.events);
        let unchanged = RunState { seq: before.seq + 1, at: again.state.at, ..before };
        assert_eq!(again.state, unchanged);
        self.state = again.state;
        self.history.extend(again.events);
    }

    pub fn send(&mut self, message: &Message) {
        let advanced = self.step(message);
        self.laws.hold(&self.program, message, &advanced);
        self.state = advanced.state.clone();
        self.end = advanced.end.clone();
        self.history.extend(advanced.events.clone());
        self.blobs
            .extend(advanced.blobs.iter().map(|(reference, bytes)| (reference.hash.clone(), bytes.clone())));
        self.react(&advanced);
        self.last = Some(advanced);
    }

    fn step(&mut self, message: &Message) -> Advanced {
        let (now, loaded);
        now = Timestamp(self.now);
        let program = match self.way {
            Way::Reloaded => {
                loaded = self.stored.load();
                &loaded
            }
            _ => &self.program,
        };
        let answer = if self.way == Way::Straight {
            let mut fold = Fold::new(program, self.facts.clone());
            let mut state = self.state.clone();
            let answer = fold.advance(&mut state, message, (now, &self.blobs), 5);
            answer.map(|answer| match answer {
                Advance::Advanced(mut advanced) => {
                    advanced.blobs.extend(fold.settle(&mut advanced.state));
                    Advance::Advanced(advanced)
                }
                other => other,
            })
        } else {
            self.advance(program, message, now)
        };
        match answer {
            Ok(Advance::Advanced(advanced)) => *advanced,
            other => panic!("{other:?}"),
        }
    }

    /// Advances as an engine does: only requested blobs are loaded, and all of them were stored before.
    fn advance(
        &self,
        program: &GraphProgram,
        message: &Message,
        now: Timestamp,
    ) -> Result<Advance, ProgramError> {
        let mut loaded = Blobs::new();
        loop {
            match advance(program, &self.facts, &self.state, message, now, &loaded)? {
                Advance::NeedBlobs(wanted) => {
                    for blob in wanted {
                        let content = self.blobs.get(&blob.hash).expect("what a step asks for was stored");
                        assert!(loaded.insert(blob.hash, content.clone()).is_none(), "it has that already");
                    }
                }
                advanced => return Ok(advanced),
            }
        }
    }

    /// Plays the outside world according to the script.
    fn react(&mut self, advanced: &Advanced) {
        let waiting = self.state.snapshot.as_ref().map(|snapshot| self.program.waiting(snapshot).unwrap());
        let waiting = waiting.unwrap_or_default();
        let node_of = |command: CommandId| {
            let found = waiting.iter().find(|waiting| waiting.command == Some(command));
            found.map_or_else(|| "?".to_owned(), |waiting| waiting.node.clone())
        };
        for command in advanced.commands.clone() {
            if matches!(command, Command::CancelTask(_) | Command::CancelChild(_)) {
                self.called_off.push(command.clone());
            }
            match command {
                Command::RunTask(task) => {
                    let node = node_of(task.task);
                    let text = task.input.resolve(&self.blobs).unwrap();
                    self.calls.push((task.name.clone(), serde_json::from_slice(text).unwrap()));
                    let who = if task.name.starts_with("rhythm.sandbox") { task.name } else { node };
                    let who = if self.state.awaiting.contains(Compensation::UNDER_WAY) {
                        format!("undo {who}")
                    } else {
                        who
                    };
                    self.order.push(who.clone());
                    let body = match self.answer(&who) {
                        Some(Ok(output)) => {
                            let output = payload(&output);
                            MessageBody::TaskCompleted(TaskCompleted { task: task.task, attempt: 1, output })
                        }
                        Some(Err(failure)) => {
                            MessageBody::TaskFailed(TaskFailed { task: task.task, failure })
                        }
                        None => continue,
                    };
                    self.expect(self.now, MessageId::task(task.task), body);
                }
                Command::StartChild(child) => {
                    let node = node_of(child.child);
                    self.order.push(node.clone());
                    let text = child.input.resolve(&self.blobs).unwrap();
                    self.calls.push((child.workflow, serde_json::from_slice(text).unwrap()));
                    let body = match self.answer(&node) {
                        Some(Ok(output)) => {
                            let output = payload(&output);
                            MessageBody::ChildCompleted(ChildCompleted { child: child.child, output })
                        }
                        Some(Err(failure)) => {
                            MessageBody::ChildFailed(ChildFailed { child: child.child, failure })
                        }
                        None => continue,
                    };
                    self.expect(self.now, MessageId::child(child.child), body);
                }
                Command::StartTimer(timer) => {
                    let body = MessageBody::TimerFired(TimerFired { timer: timer.timer });
                    self.expect(timer.fire_at.0, MessageId::timer(timer.timer), body);
                }
                Command::CancelTimer(timer) => {
                    self.pending.retain(|(_, message)| message.id != MessageId::timer(timer));
                }
                Command::CancelTask(task) => {
                    self.pending.retain(|(_, message)| message.id != MessageId::task(task));
                    let failure = Failure::cancelled("cancelled");
                    let body = MessageBody::TaskFailed(TaskFailed { task, failure });
                    self.expect(self.now, MessageId::task(task), body);
                }
                Command::CancelChild(_) | Command::SendSignal(_) => {}
            }
        }
        for event in &advanced.events {
            let EventData::ApprovalCreated(created) = &event.data else { continue };
            self.order.push(created.node.clone());
            let visit = self.visits.entry(created.node.clone()).or_default();
            *visit += 1;
            let decision =
                self.script.decisions.get(&created.node).and_then(|all| all.get(*visit - 1)).cloned();
            let Some(decision) = decision else { continue };
            let text = |key: &str| decision[key].as_str().unwrap_or_default().to_owned();
            let body = ApprovalDecided {
                approval: created.approval,
                decision: text("decision"),
                by: text("by"),
                comments: text("comments"),
                data: payload(&decision["data"]),
            };
            let at = self.now + decision["after"].as_i64().unwrap_or_default() * 1000;
            self.expect(at, MessageId::approval(created.approval), MessageBody::ApprovalDecided(body));
        }
    }

    fn answer(&mut self, node: &str) -> Option<Result<Value, Failure>> {
        if self.script.silent.iter().any(|silent| silent == node) {
            return None;
        }
        let started = self.started.entry(node.to_owned()).or_default();
        *started += 1;
        let Some(answers) = self.script.answers.get(node) else { return Some(Ok(json!({}))) };
        answers.get(*started - 1).or(answers.last()).cloned()
    }

    pub fn outcome(&self) -> Outcome {
        let (status, output, failure) = match &self.end {
            None => ("waiting", Value::Null, None),
            Some(End::Completed(output)) => {
                let text = output.resolve(&self.blobs).unwrap();
                ("completed", serde_json::from_slice(text).unwrap(), None)
            }
            Some(End::Failed(failure)) => ("failed", Value::Null, Some(failure.clone())),
            Some(End::Cancelled(_)) => ("cancelled", Value::Null, None),
        };
        let waiting = match (&self.end, &self.state.snapshot) {
            (None, Some(snapshot)) => self.program.waiting(snapshot).unwrap(),
            _ => Vec::new(),
        };
        let named = |what: &WaitingFor| !matches!(what, WaitingFor::Join(_));
        let waiting = waiting.into_iter().filter(|waiting| named(&waiting.what)).map(|waiting| waiting.node);
        Outcome {
            status,
            output,
            failure,
            order: self.order.clone(),
            counter: recount(&self.history).unwrap(),
            waiting: waiting.collect(),
            elapsed: self.now / 1000,
        }
    }

    /// Checks the invariants of every run.
    pub fn check(&self) {
        let counter = recount(&self.history).unwrap();
        if let Some(snapshot) = &self.state.snapshot {
            let refs = self.program.blob_refs(snapshot).unwrap();
            assert!(refs.iter().all(|blob| self.blobs.contains_key(&blob.hash)), "{refs:?}");
            assert_eq!(
                self.program.counter(snapshot).unwrap(),
                counter,
                "the history and the snapshot count"
            );
        }
        match &self.end {
            Some(End::Completed(_)) => assert_eq!(counter, 0),
            None => {
                let snapshot = self.state.snapshot.as_ref().unwrap();
                assert!(!self.program.waiting(snapshot).unwrap().is_empty(), "it waits for nothing");
            }
            _ => {}
        }
        let replayed = replay(Lineage::of(&self.program, &self.facts), &self.history, |_| {
            Ok::<_, Divergence>(self.blobs.clone())
        });
        assert_eq!(replayed.unwrap(), self.state);
    }

    /// Returns the codes of refused patches, and `adopted` for the others.
    pub fn patches(&self) -> Vec<&str> {
        let told = self.history.iter().filter_map(|event| match &event.data {
            EventData::PatchAdopted(_) => Some("adopted"),
            EventData::PatchRefused(refused) => Some(refused.code.as_str()),
            _ => None,
        });
        told.collect()
    }

    pub fn kinds(&self) -> Vec<&str> {
        self.history.iter().map(|event| event.data.kind()).collect()
    }

    /// Returns `from>to` of every token, in order.
    pub fn path(&self) -> Vec<String> {
        let tokens = self.history.iter().filter_map(|event| match &event.data {
            EventData::NodeEmitted(token) => Some(token),
            _ => None,
        });
        tokens.map(|token| format!("{}>{}", token.from.as_deref().unwrap_or(""), token.to)).collect()
    }
}

/// Records a message that may be delivered again. A world accepts a message id only once. The messages that
/// can still repeat are answers and the last message sent from outside.
pub fn remember(delivered: &mut Vec<Message>, message: Message) {
    let outside = |body: &MessageBody| matches!(body, MessageBody::Signal(_) | MessageBody::Patch(_));
    match message.body {
        MessageBody::Cancel(_) => return,
        MessageBody::Signal(_) | MessageBody::Patch(_) => delivered.retain(|old| !outside(&old.body)),
        _ => {}
    }
    delivered.push(message);
}

pub fn payload(value: &Value) -> Payload {
    Payload::of(value).unwrap()
}

/// Plays all three ways, which must agree, and returns the outcome.
pub fn play(document: &Value, script: Script) -> Outcome {
    stage(document, script).outcome()
}

/// Plays all three ways and returns the whole stage of one.
pub fn stage(document: &Value, script: Script) -> Stage {
    let mut stages = WAYS.map(|way| {
        let mut stage = Stage::new(document, script.clone(), way);
        stage.play();
        stage.check();
        stage
    });
    let outcomes: Vec<Outcome> = stages.iter().map(Stage::outcome).collect();
    assert_eq!(outcomes[0], outcomes[1], "straight and reloaded\n{document:#}");
    assert_eq!(outcomes[0], outcomes[2], "straight and twice\n{document:#}");
    assert_eq!(stages[0].history, stages[1].history);
    std::mem::replace(&mut stages[0], Stage::new(document, script, Way::Straight))
}

/// Returns the failure code of an outcome, which most tests compare.
pub fn code(outcome: &Outcome) -> &str {
    outcome.failure.as_ref().map_or("", |failure| &failure.code)
}
