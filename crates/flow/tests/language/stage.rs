//! A small world: one run, a virtual clock, scripted answers. As in the engine, messages wait in an inbox in
//! order of arrival, and signals until their name is awaited.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::event::EventData;
use rhythm_core::fold::{Advance, Advanced, End, RunState, advance, replay};
use rhythm_core::lineage::Lineage;
use rhythm_core::message::*;
use rhythm_core::program::{RunFacts, Snapshot};
use rhythm_core::{
    BlobRef, Blobs, Command, CommandId, Event, Failure, MessageId, Payload, RunId, TenantId, Timestamp,
    Version,
};
use rhythm_flow::code::{Code, Defaults};
use rhythm_flow::{Flow, compile, examine};
use rhythm_syntax::Severity;
use serde_json::Value;

/// Start time of runs on the virtual clock.
pub const START: i64 = 1_000_000;

#[derive(Debug, Default)]
pub struct Script {
    pub inputs: Value,
    /// Answers by `task name` or `child name`, with their delay in seconds; one per start, the last repeats.
    pub answers: BTreeMap<String, Vec<(Answer, f64)>>,
    pub signals: Vec<(String, Value, f64)>,
    pub cancels: Vec<f64>,
    /// Values stored as blobs: an answer `{"blob": name}` refers to one.
    pub large: BTreeMap<String, Value>,
    /// Number of messages after which a run counts as endless; 100,000 when absent.
    pub patience: Option<usize>,
}

/// Error for a run that never stops.
pub const ENDLESS: &str = "it never ends";

#[derive(Clone, Debug)]
pub enum Answer {
    Ok(Value),
    Err(Value),
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    Straight,
    Reloaded,
    Twice,
    /// A seed decides for each transition: reloaded or not, message once or twice, computed once or twice.
    Mixed(u64),
}

impl Way {
    /// Returns whether this way does the action `salt` at the transition after this number of history rows.
    fn does(self, always: Way, rows: usize, salt: u64) -> bool {
        let mixed =
            |seed: u64| (seed ^ salt).wrapping_add(rows as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63;
        self == always || matches!(self, Self::Mixed(seed) if mixed(seed) == 1)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    Completed(Value),
    Failed { code: String, kind: String, message: String },
    Cancelled,
    Waiting,
}

#[derive(Clone, Debug)]
pub struct Report {
    pub ending: Ending,
    pub calls: Vec<(String, Value)>,
    /// Signals to other runs: target and name.
    pub sent: Vec<(String, Value)>,
    pub cancelled: Vec<String>,
    pub logs: Vec<String>,
    pub waiting: Vec<String>,
    pub elapsed: f64,
    pub largest_snapshot: usize,
}

impl Report {
    /// Compares everything except sizes.
    pub fn same(&self, other: &Self) -> bool {
        let parts = |report: &Self| {
            let Report { ending, calls, sent, cancelled, logs, waiting, elapsed, .. } = report.clone();
            (ending, calls, sent, cancelled, logs, waiting, elapsed)
        };
        parts(self) == parts(other)
    }
}

/// Runs a program until it ends or no more message can arrive.
pub fn play(source: &str, script: &Script, way: Way) -> Result<Report, String> {
    let examined = examine(source, false);
    if !examined.checked.compiles() {
        let errors = examined.checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
        return Err(format!("not a program: {:#?}", errors.collect::<Vec<_>>()));
    }
    let code = compile(&examined.file, source, Defaults::from(&examined.settings));
    let code = code.map_err(|error| format!("{error:?}"))?;
    let mut stage = Stage {
        flow: Flow::new(code).map_err(|error| error.to_string())?,
        facts: RunFacts {
            run: RunId::new("run-1"),
            tenant: TenantId::default(),
            workflow: "example".into(),
            version: Version::of(source.as_bytes()),
            created_at: Timestamp(START - 5000),
        },
        script,
        way,
        state: RunState::default(),
        now: START,
        inbox: Vec::new(),
        later: BTreeMap::new(),
        arrivals: 0,
        started: BTreeMap::new(),
        open: BTreeMap::new(),
        blobs: Blobs::new(),
        history: Vec::new(),
        report: Report {
            ending: Ending::Waiting,
            calls: Vec::new(),
            sent: Vec::new(),
            cancelled: Vec::new(),
            logs: Vec::new(),
            waiting: Vec::new(),
            elapsed: 0.0,
            largest_snapshot: 0,
        },
    };
    stage.run()?;
    if way == Way::Straight {
        stage.verify()?;
    }
    Ok(stage.report)
}

struct Stage<'s> {
    flow: Flow,
    facts: RunFacts,
    script: &'s Script,
    way: Way,
    state: RunState,
    now: i64,
    inbox: Vec<Message>,
    /// Scheduled messages, by time and order of scheduling.
    later: BTreeMap<(i64, u64), Message>,
    arrivals: u64,
    /// Number of starts of each.
    started: BTreeMap<String, usize>,
    /// Open tasks, children and timers, with their names.
    open: BTreeMap<CommandId, String>,
    blobs: Blobs,
    history: Vec<Event>,
    report: Report,
}

impl Stage<'_> {
    fn run(&mut self) -> Result<(), String> {
        let input = self.payload(&self.script.inputs);
        self.deliver(MessageId::start(), MessageBody::Start(Start { input }));
        for (place, (name, payload, at)) in self.script.signals.iter().enumerate() {
            let body = SignalReceived { name: name.clone(), payload: self.payload(payload) };
            self.schedule(&format!("signal:{place}"), MessageBody::Signal(body), *at);
        }
        for (place, at) in self.script.cancels.iter().enumerate() {
            let body = MessageBody::Cancel(Cancel::because("enough"));
            self.schedule(&format!("cancel:{place}"), body, *at);
        }
        for _ in 0..self.script.patience.unwrap_or(100_000) {
            if let Some(message) = self.next_message() {
                let rows = self.history.len();
                self.consume(&message)?;
                // The engine gives each cancel request its own id, so a second delivery would be a second
                // request.
                let once =
                    matches!(message.body, MessageBody::Cancel(_)) || self.report.ending != Ending::Waiting;
                let asked = message.body.signal_name().is_none_or(|name| self.state.awaiting.contains(name));
                if self.way.does(Way::Twice, rows, 1 << 20) && !once && asked {
                    self.consume(&message)?;
                }
                if self.report.ending != Ending::Waiting {
                    return Ok(());
                }
                continue;
            }
            let Some(((at, _), message)) = self.later.pop_first() else {
                self.note_waiting();
                return Ok(());
            };
            self.now = self.now.max(at);
            self.inbox.push(message);
        }
        Err(ENDLESS.into())
    }

    fn next_message(&mut self) -> Option<Message> {
        let awaited =
            |m: &Message| m.body.signal_name().is_none_or(|name| self.state.awaiting.contains(name));
        let place = self.inbox.iter().position(awaited)?;
        Some(self.inbox.remove(place))
    }

    fn consume(&mut self, message: &Message) -> Result<(), String> {
        let mut loaded = Blobs::new();
        let advanced = loop {
            if self.way.does(Way::Reloaded, self.history.len(), 1 << 40) {
                let json = self.flow.code().to_json();
                self.flow = Flow::load(json.as_bytes()).map_err(|error| error.to_string())?;
                assert_eq!(Code::from_json(json.as_bytes()).as_ref(), Ok(self.flow.code()));
                let stored =
                    self.state.snapshot.as_ref().map(|snapshot| (snapshot.format, snapshot.bytes.to_vec()));
                self.state.snapshot = stored.map(|(format, bytes)| Snapshot { format, bytes: bytes.into() });
            }
            let now = Timestamp(self.now);
            let advanced = advance(&self.flow, &self.facts, &self.state, message, now, &loaded);
            if matches!(self.way, Way::Mixed(_)) {
                let again =
                    advance(&self.flow.clone(), &self.facts, &self.state.clone(), message, now, &loaded);
                assert_eq!(again, advanced, "the same arguments, another answer");
            }
            match advanced {
                Ok(Advance::Advanced(advanced)) => break advanced,
                Ok(Advance::NeedBlobs(wanted)) => {
                    for blob in wanted {
                        let content = self.blobs.get(&blob.hash).ok_or("an unknown blob is asked for")?;
                        assert!(loaded.insert(blob.hash, content.clone()).is_none(), "asked for twice");
                    }
                }
                Err(error) => return Err(error.to_string()),
            }
        };
        self.record(*advanced)
    }

    fn record(&mut self, advanced: Advanced) -> Result<(), String> {
        if advanced.cancel_open {
            let open: Vec<_> = self.open.iter().map(|(id, name)| (*id, name.clone())).collect();
            open.into_iter().filter(|(_, name)| name != "timer").for_each(|(id, _)| self.cancel(id));
        }
        self.state = advanced.state;
        let size = self.state.snapshot.as_ref().map_or(0, |snapshot| snapshot.bytes.len());
        self.report.largest_snapshot = self.report.largest_snapshot.max(size);
        self.blobs.extend(advanced.blobs.into_iter().map(|(blob, content)| (blob.hash, content)));
        for event in &advanced.events {
            if let EventData::Log(log) = &event.data {
                self.report.logs.push(log.message.clone());
            }
        }
        self.history.extend(advanced.events);
        for command in advanced.commands {
            self.obey(command)?;
        }
        if let Some(end) = advanced.end {
            self.report.ending = match end {
                End::Completed(output) => Ending::Completed(self.value(&output)),
                End::Failed(failure) => {
                    Ending::Failed { code: failure.code, kind: failure.kind, message: failure.message }
                }
                End::Cancelled(_) => Ending::Cancelled,
            };
            self.report.elapsed = (self.now - START) as f64 / 1000.0;
        }
        Ok(())
    }

    fn obey(&mut self, command: Command) -> Result<(), String> {
        match command {
            Command::RunTask(spec) => {
                self.report.calls.push((spec.name.clone(), self.value(&spec.input)));
                self.begin(spec.task, "task", &spec.name)?;
            }
            Command::StartChild(spec) => self.begin(spec.child, "child", &spec.workflow)?,
            Command::StartTimer(timer) => {
                self.open.insert(timer.timer, "timer".into());
                let body = MessageBody::TimerFired(TimerFired { timer: timer.timer });
                let seconds = (timer.fire_at.millis() - START) as f64 / 1000.0;
                self.schedule(MessageId::timer(timer.timer).as_str(), body, seconds);
            }
            Command::CancelTimer(timer) => {
                self.open.remove(&timer).ok_or("an unknown timer is cancelled")?;
                let id = MessageId::timer(timer);
                self.later.retain(|_, message| message.id != id);
            }
            Command::CancelTask(id) | Command::CancelChild(id) => {
                let name = self.open.get(&id).ok_or("something unknown is cancelled")?;
                self.report.cancelled.push(name.split_once(' ').map_or("", |(_, name)| name).to_owned());
                self.cancel(id);
            }
            Command::SendSignal(signal) => {
                let payload = self.value(&signal.payload);
                self.report.sent.push((format!("{} {}", signal.to, signal.name), payload));
            }
        }
        Ok(())
    }

    fn begin(&mut self, id: CommandId, kind: &str, name: &str) -> Result<(), String> {
        let key = format!("{kind} {name}");
        if self.open.insert(id, key.clone()).is_some() {
            return Err(format!("{id} is started twice"));
        }
        let count = self.started.entry(key.clone()).or_default();
        let answers = self.script.answers.get(&key).or_else(|| self.script.answers.get(&format!("{kind} *")));
        let answer = answers.and_then(|answers| answers.get(*count).or(answers.last())).cloned();
        *count += 1;
        let Some((answer, after)) = answer else { return Ok(()) };
        let body = match (answer, kind) {
            (Answer::Ok(output), "task") => {
                let output = self.payload(&output);
                MessageBody::TaskCompleted(TaskCompleted { task: id, attempt: 1, output })
            }
            (Answer::Ok(output), _) => {
                MessageBody::ChildCompleted(ChildCompleted { child: id, output: self.payload(&output) })
            }
            (Answer::Err(failure), kind) => {
                let failure = self.failure(failure)?;
                match kind {
                    "task" => MessageBody::TaskFailed(TaskFailed { task: id, failure }),
                    _ => MessageBody::ChildFailed(ChildFailed { child: id, failure }),
                }
            }
            (Answer::Never, _) => return Ok(()),
        };
        let seconds = (self.now - START) as f64 / 1000.0 + after;
        self.schedule(&format!("{kind}:{id}"), body, seconds);
        Ok(())
    }

    fn failure(&self, mut failure: Value) -> Result<Failure, String> {
        let fields = failure.as_object_mut().ok_or("a failure is an object")?;
        let data = fields.remove("data");
        fields.entry("message").or_insert("failed".into());
        fields.entry("code").or_insert("FAILED".into());
        let mut failure: Failure = serde_json::from_value(failure).map_err(|error| error.to_string())?;
        failure.data = data.map(|data| Payload::of(&data).unwrap());
        Ok(failure)
    }

    fn cancel(&mut self, id: CommandId) {
        let Some(name) = self.open.remove(&id) else { return };
        let failure = Failure::cancelled("cancelled");
        let (message_id, body) = match name.starts_with("task") {
            true => (MessageId::task(id), MessageBody::TaskFailed(TaskFailed { task: id, failure })),
            false => (MessageId::child(id), MessageBody::ChildFailed(ChildFailed { child: id, failure })),
        };
        let before = self.later.len();
        self.later.retain(|_, message| message.id != message_id);
        let answered = self.later.len() == before && self.was_answered(&message_id);
        if !answered {
            self.deliver(message_id, body);
        }
    }

    fn was_answered(&self, id: &MessageId) -> bool {
        self.history.iter().any(|event| event.message.as_ref() == Some(id))
            || self.inbox.iter().any(|message| message.id == *id)
    }

    fn schedule(&mut self, id: &str, body: MessageBody, seconds: f64) {
        let at = START + (seconds * 1000.0).round() as i64;
        self.arrivals += 1;
        self.later.insert((at.max(self.now), self.arrivals), message(id, at, body));
    }

    fn deliver(&mut self, id: MessageId, body: MessageBody) {
        self.inbox.push(message(id.as_str(), self.now, body));
    }

    /// Converts an answer; `{"blob": name}` stands for a large value.
    fn payload(&mut self, value: &Value) -> Payload {
        let name = value.get("blob").and_then(Value::as_str);
        match name.and_then(|name| self.script.large.get(name)) {
            Some(large) => {
                let content = serde_json::to_vec(large).unwrap();
                let blob = BlobRef::of(&content);
                self.blobs.insert(blob.hash.clone(), content.into());
                Payload::Blob(blob)
            }
            None => Payload::of(value).unwrap(),
        }
    }

    /// Converts a payload; a large value is shown as its blob.
    fn value(&self, payload: &Payload) -> Value {
        match payload {
            Payload::Inline(raw) => serde_json::from_str(raw.get()).unwrap(),
            Payload::Blob(blob) => {
                let large =
                    self.script.large.iter().find(|(_, value)| {
                        BlobRef::of(&serde_json::to_vec(value).unwrap()).hash == blob.hash
                    });
                match large {
                    Some((name, _)) => serde_json::json!({"blob": name}),
                    None => serde_json::from_slice(&self.blobs[&blob.hash]).unwrap(),
                }
            }
        }
    }

    fn note_waiting(&mut self) {
        let answered: BTreeSet<_> = self.history.iter().filter_map(|event| event.message.clone()).collect();
        let open = self.open.iter().filter(|(id, name)| {
            let kind = name.split_once(' ').map_or("timer", |(kind, _)| kind);
            !answered.contains(&MessageId::new(format!("{kind}:{id}")))
        });
        let open: Vec<_> = open.map(|(_, name)| name.clone()).collect();
        let signals = self.state.awaiting.iter().map(|name| format!("signal {name}"));
        self.report.waiting = open.into_iter().chain(signals).collect();
        self.report.elapsed = (self.now - START) as f64 / 1000.0;
    }

    /// Checks that the history folds to the run's state, byte for byte.
    fn verify(&self) -> Result<(), String> {
        let folded = replay(Lineage::of(&self.flow, &self.facts), &self.history, |wanted: &[BlobRef]| {
            let blobs = wanted.iter().map(|blob| (blob.hash.clone(), self.blobs[&blob.hash].clone()));
            Ok::<_, rhythm_core::fold::Divergence>(blobs.collect())
        });
        match folded {
            Ok(state) if state == self.state => Ok(()),
            Ok(state) => Err(format!("folds to {state:?} instead of {:?}", self.state)),
            Err(divergence) => Err(divergence.to_string()),
        }
    }
}

fn message(id: &str, at: i64, body: MessageBody) -> Message {
    Message { id: MessageId::new(id), at: Timestamp(at), actor: Actor::system(), trace: None, body }
}
