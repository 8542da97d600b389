//! Translates a plan into an equivalent `.flow` program, so that tests and benchmarks written as drills also
//! run as flows.

use serde_json::{Value, json};

use super::plan::{Instruction, Plan, TaskCall};
use crate::task::{OnExhausted, TaskOptions};
use crate::time::Millis;

/// Prefix of the first line of a generated flow; the plan follows it.
const MARK: &str = "// plan: ";

impl Plan {
    /// Returns the `.flow` program. Its first line holds the plan, so that [`Self::of_flow`] can read it
    /// back.
    ///
    /// An approval, which flows do not have, becomes a log line. The plan's clean-up runs in the `catch` that
    /// receives the cancellation.
    pub fn to_flow(&self) -> String {
        let plan = serde_json::to_string(self).expect("plans always serialise");
        let mut text = format!("{MARK}{plan}\n{PRELUDE}try {{\n");
        let mut writer = Writer { text: &mut text, names: 0 };
        self.steps.iter().for_each(|step| writer.instruction(step));
        text.push_str(CLEANUP);
        let mut writer = Writer { text: &mut text, names: 0 };
        self.cleanup.iter().for_each(|step| writer.instruction(step));
        text.push_str("  throw failed\n}\n");
        text
    }

    /// Returns the plan that a flow was generated from, or `None` when its first line holds none.
    pub fn of_flow(source: &str) -> Option<Self> {
        let (first, _) = source.strip_prefix(MARK)?.split_once('\n')?;
        serde_json::from_str(first).ok()
    }
}

const PRELUDE: &str = "\
let kept = []
let parts = Context.executionId.split(\".\")
let parent = parts.length > 1 ? parts.slice(0, parts.length - 1).join(\".\") : Context.executionId
";

// A cancelled task fails with the same code, so the clean-up compares the message.
const CLEANUP: &str = "\
  return kept
} catch (failed) {
  if (!failed.message.startsWith(\"the run was cancelled\")) { throw failed }
";

struct Writer<'t> {
    text: &'t mut String,
    /// Number of variable names used so far.
    names: usize,
}

impl Writer<'_> {
    fn instruction(&mut self, instruction: &Instruction) {
        match instruction {
            Instruction::Task(call) => self.kept(&format!("await {}", task(call, false))),
            Instruction::TryTask(call) => {
                let name = self.name();
                let call = task(call, false);
                self.line(&format!(
                    "try {{ let {name} = await {call}; kept[kept.length] = {name} }} catch (e) {{ kept[kept.length] = e.code }}"
                ));
            }
            Instruction::Repeat { times, task: call } => {
                let (count, name) = (self.name(), self.name());
                let call = task(call, false);
                self.line(&format!("let {count} = 0"));
                self.line(&format!(
                    "while ({count} < {times}) {{ {count} = {count} + 1; let {name} = await {call}; kept[kept.length] = {name} }}"
                ));
            }
            Instruction::Parallel(calls) => {
                let calls: Vec<String> = calls.iter().map(|call| task(call, false)).collect();
                self.kept(&format!("await Promise.all([{}])", calls.join(", ")));
            }
            Instruction::Spawn(call) => self.line(&task(call, false)),
            Instruction::TaskWithin { task: call, timeout } => {
                self.kept(&format!("await Promise.race([{}, {}])", task(call, true), delay(*timeout)));
            }
            Instruction::Sleep(time) => self.line(&format!("await {}", delay(*time))),
            Instruction::Signal { name, timeout: None } => {
                self.kept(&format!("await Signal.next({})", quoted(name)));
            }
            Instruction::Signal { name, timeout: Some(timeout) } => {
                let (payload, signal, after) = (self.name(), quoted(name), timeout.as_u64());
                self.line(&format!(
                    "try {{ let {payload} = await Signal.when({signal}, {{ timeout_ms: {after} }}); kept[kept.length] = {payload} }} \
                     catch (e) {{ if (e.code != \"TIMEOUT\") {{ throw e }} kept[kept.length] = null }}"
                ));
            }
            Instruction::Send { to, name, payload } => {
                let to = if to == "$parent" { "parent".to_owned() } else { quoted(to) };
                self.line(&format!("Signal.send({to}, {}, {payload})", quoted(name)));
            }
            Instruction::Child { workflow, input } => {
                self.kept(&format!("await Workflow.run({}, {input})", quoted(workflow)));
            }
            Instruction::ChildWithin { workflow, timeout } => {
                let child = format!("Workflow.run({}, null, {{ cancel: true }})", quoted(workflow));
                self.kept(&format!("await Promise.race([{child}, {}])", delay(*timeout)));
            }
            Instruction::SpawnChild { workflow } => {
                self.line(&format!("Workflow.run({}, null)", quoted(workflow)));
            }
            Instruction::Approve { node } => self.line(&format!("log({})", quoted(node))),
            Instruction::Log(message) | Instruction::Marker(message) => {
                self.line(&format!("log({})", quoted(message)));
            }
            Instruction::MeasureInput => self.kept("JSON.stringify(Inputs).length"),
            Instruction::Keep(value) => self.kept(&value.to_string()),
            Instruction::Fail { code, message } => {
                let failure = json!({"code": code, "message": message});
                self.line(&format!("if (true) {{ throw {failure} }}"));
            }
        }
    }

    fn kept(&mut self, value: &str) {
        let name = self.name();
        self.line(&format!("let {name} = {value}"));
        self.line(&format!("kept[kept.length] = {name}"));
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("x{}", self.names)
    }

    fn line(&mut self, line: &str) {
        self.text.push_str("  ");
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn task(call: &TaskCall, cancel: bool) -> String {
    format!("Task.run({}, {}, {})", quoted(&call.name), call.input, options(&call.options, cancel))
}

fn options(options: &TaskOptions, cancel: bool) -> Value {
    let mut object = json!({
        "queue": options.queue,
        "priority": options.priority,
        "delay_ms": options.delay.as_u64(),
        "timeout_ms": options.timeout.map(Millis::as_u64),
        "deadline_ms": options.deadline.map(Millis::as_u64),
        "heartbeat_timeout_ms": options.heartbeat_timeout.map(Millis::as_u64),
        "on_exhausted": if options.on_exhausted == OnExhausted::Hold { "hold" } else { "fail" },
        "cancel": cancel,
    });
    if let Some(retries) = &options.retries {
        object["retries"] = json!({
            "max_attempts": retries.max_attempts,
            "backoff": retries.backoff,
            "initial_delay_ms": retries.initial_delay.as_u64(),
            "max_delay_ms": retries.max_delay.as_u64(),
            "multiplier": retries.multiplier,
            "jitter": retries.jitter,
            "no_retry_on": retries.no_retry_on,
        });
    }
    if let Some(key) = &options.key {
        object["key"] = Value::from(key.as_str());
    }
    object
}

fn delay(time: Millis) -> String {
    format!("Task.delay({})", time.as_u64())
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
