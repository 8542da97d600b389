//! Executes a node that has its tokens: requests work, starts a wait, or computes its result at once.

use rhythm_core::command::Command;
use rhythm_core::duration;
use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_core::payload::Payload;
use rhythm_core::task::{TaskOptions, TaskSpec};
use rhythm_core::time::{Millis, Timestamp};
use serde_json::{Map, Value, json};

use super::look::object;
use super::memory::{Visit, Wait};
use super::values::ValueId;
use super::{Machine, Stop, Stopped, codes};
use crate::compile::HTTP_TASK;
use crate::ir::{Branch, Config, Human, Node, NodeIndex, NodeKind};
use crate::reference::{self, Source};

#[allow(clippy::large_enum_variant, reason = "it is taken apart where it is made, and not kept")]
pub enum Begun {
    Waits(Wait),
    Gives(ValueId),
}

/// Reasons that a node cannot begin.
pub enum Trouble {
    /// The node fails, as its task could.
    Node(Failure),
    Stop(Stop),
}

impl From<Stop> for Trouble {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl Trouble {
    pub fn bad_config<T>(message: impl Into<String>) -> Result<T, Self> {
        Err(Self::Node(Failure::permanent(codes::BAD_CONFIG, message)))
    }
}

/// Function that replaces the references in a config.
pub type Resolve = for<'v> fn(
    &Value,
    &mut dyn FnMut(&Source) -> Option<&'v Value>,
) -> Result<Value, reference::Unresolvable>;

impl Machine<'_> {
    pub fn execute(&mut self, mut visit: Visit) -> Stopped {
        match self.perform(&mut visit) {
            Ok(Begun::Gives(value)) => self.result(visit, None, value, 1),
            Ok(Begun::Waits(wait)) => {
                if let Wait::Person(question) = &wait {
                    self.consume_tokens(&visit, Some(question.approval));
                    visit.consumed = true;
                }
                visit.wait = wait;
                self.memory.open.insert(visit.tokens[0].id, visit);
                Ok(())
            }
            Err(Trouble::Node(failure)) => self.fail_node(visit, None, &failure),
            Err(Trouble::Stop(stop)) => Err(stop),
        }
    }

    fn perform(&mut self, visit: &mut Visit) -> Result<Begun, Trouble> {
        let (plan, place) = (self.plan.clone(), self.place(&visit.node));
        let node = plan.node(place);
        let config = self.config_of(place)?;
        let needed_again = node.compensator.is_some() || node.kind == NodeKind::Child && node.retry.is_some();
        visit.config = needed_again.then(|| self.made(config.clone()));
        let input = self.input_of(visit)?;
        self.check_input(node, input)?;
        if self.has_no_turn(node) {
            return Ok(Begun::Waits(Wait::Turn));
        }
        Ok(match &node.kind {
            NodeKind::Conditional | NodeKind::Loop => Begun::Gives(input),
            NodeKind::Filter => self.filter(&visit.node, &config, input)?,
            NodeKind::Aggregate => Begun::Gives(self.aggregate(&config, input)?),
            NodeKind::Delay => {
                let fire_at = self.due(&config)?;
                let given_up = node.patience().map(|patience| self.input.at.plus(patience));
                Begun::Waits(match given_up.filter(|given_up| *given_up < fire_at) {
                    Some(given_up) => Wait::InVain(self.timer(given_up)),
                    None => Wait::Timer(self.timer_as(fire_at, node.label.clone())),
                })
            }
            NodeKind::Signal => Begun::Waits(self.wait_for_signal(node, &config)?),
            NodeKind::Child => Begun::Waits(self.start_child(node, &config, input, (visit.since, 1))?),
            NodeKind::Parallel => self.fan_out(node, config, (input, visit.since))?,
            NodeKind::Human => Begun::Waits(self.ask(node, input)),
            NodeKind::Task
            | NodeKind::Http
            | NodeKind::Agent
            | NodeKind::Transform
            | NodeKind::Registered(_) => {
                let payload = self.task_input(node, config, input)?;
                let name = node.task.clone().unwrap_or_else(|| node.id.clone());
                Begun::Waits(Wait::Task(self.run_task(name, payload, options_of(node))))
            }
        })
    }

    /// Returns a node's config with its references resolved.
    pub fn config_of(&mut self, place: NodeIndex) -> Result<Value, Trouble> {
        let plan = self.plan.clone();
        let config = match &plan.node(place).config {
            Config::Inline(config) => config,
            Config::Unresolved(_) if needs_no_config(plan.node(place)) => return Ok(Value::Null),
            Config::Unresolved(reference) => {
                let message = format!("the config {reference} is not there");
                return Err(Trouble::Node(Failure::permanent(codes::UNRESOLVABLE, message)));
            }
        };
        if !plan.refers(place) {
            return Ok(config.clone());
        }
        if plan.node(place).kind == NodeKind::Parallel {
            let (_, others) = reference::apart(config);
            return self.resolved(&Value::Object(others), reference::resolve);
        }
        let asks = plan.node(place).task.as_deref() == Some(HTTP_TASK);
        self.resolved(config, if asks { reference::resolve_request } else { reference::resolve })
    }

    /// Returns a value with its references resolved.
    fn resolved(&mut self, config: &Value, resolve: Resolve) -> Result<Value, Trouble> {
        let named = self.named_by(config);
        self.resolved_with(config, named, resolve)
    }

    /// Returns the existing values that references in a config begin with.
    pub fn named_by(&self, config: &Value) -> Vec<(Source, ValueId)> {
        let named = |source: &Source| match source {
            Source::Inputs => Some(self.memory.inputs),
            Source::Node(node) => self.memory.done.get(node.as_str()).map(|done| done.value),
            Source::Item => None,
        };
        let sources = reference::sources(config).into_iter();
        sources.filter_map(|source| Some((source.clone(), named(&source)?))).collect()
    }

    pub fn resolved_with(
        &mut self,
        config: &Value,
        named: Vec<(Source, ValueId)>,
        resolve: Resolve,
    ) -> Result<Value, Trouble> {
        let mut values = std::collections::BTreeMap::new();
        self.need(named.iter().map(|(_, value)| *value))?;
        for (source, value) in named {
            values.insert(source, self.look(value)?);
        }
        resolve(config, &mut |source| values.get(source).map(|value| &**value))
            .map_err(|lost| Trouble::Node(Failure::permanent(codes::UNRESOLVABLE, lost.to_string())))
    }

    /// Returns the input of a node's task: `{config, input}`, unless it is a built-in task with a form of its
    /// own.
    fn task_input(&mut self, node: &Node, config: Value, input: ValueId) -> Result<Payload, Trouble> {
        if node.kind == NodeKind::Http {
            return Ok(Payload::of(&request(config)).expect("values always serialise"));
        }
        if node.config_is_input {
            return Ok(own_input(node.task.as_deref(), config));
        }
        let own = node.agent_config.as_ref().map(|own| self.resolved(own, reference::resolve)).transpose()?;
        let context =
            (node.requires_context && !self.memory.done.is_empty()).then(|| self.context()).transpose()?;
        let input = self.text(input)?;
        if node.kind == NodeKind::Transform {
            let filter = config.get("jq").cloned().unwrap_or_default().to_string();
            return Ok(object(&[("filter", &filter), ("input", input)]));
        }
        let config = config.to_string();
        let mut parts = vec![("config", config.as_str()), ("input", input)];
        parts.extend(context.as_deref().map(|context| ("ctx", context)));
        let own = own.as_ref().map(Value::to_string);
        parts.extend(own.as_deref().map(|own| ("agent_config", own)));
        let tools = node.allowed_tools.as_ref().map(|tools| Value::from(tools.as_slice()).to_string());
        parts.extend(tools.as_deref().map(|tools| ("allowed_tools", tools)));
        let choice = match &node.branch {
            Some(Branch::AgentDriven { available_next_nodes, .. }) => {
                let ids = available_next_nodes.iter().map(|place| &*self.plan.node(*place).id);
                Some(Value::from_iter(ids).to_string())
            }
            _ => None,
        };
        parts.extend(choice.as_deref().map(|choice| ("available_next_nodes", choice)));
        Ok(object(&parts))
    }

    pub fn run_task(&mut self, name: String, input: Payload, options: TaskOptions) -> CommandId {
        let task = self.number();
        self.commands.push(Command::RunTask(TaskSpec { task, name, input, options }));
        task
    }

    fn wait_for_signal(&mut self, node: &Node, config: &Value) -> Result<Wait, Trouble> {
        let Some(name) = config.get("name").and_then(Value::as_str).filter(|name| {
            // Names that begin with @ mark other kinds of waits.
            !name.is_empty() && !name.starts_with('@')
        }) else {
            return Trouble::bad_config("`name` is the name of a signal");
        };
        let timeout = config.get("timeout").filter(|timeout| !timeout.is_null()).map(length).transpose()?;
        let signal = self.number();
        let timeout = timeout.or(node.timeout).into_iter().chain(node.limits.deadline).min();
        let timer = timeout.map(|timeout| self.timer(self.input.at.plus(timeout)));
        Ok(Wait::Signal { signal, name: name.to_owned(), timer })
    }

    /// Returns the end of a delay: after `for`, or at `until`.
    fn due(&self, config: &Value) -> Result<Timestamp, Trouble> {
        match (config.get("for"), config.get("until")) {
            (Some(wait), _) if !wait.is_null() => Ok(self.input.at.plus(length(wait)?)),
            (_, Some(until)) => instant(until),
            _ => Trouble::bad_config("a delay has `for` or `until`"),
        }
    }
}

/// Returns whether a node can run without its config. The settings of a `conditional` or `loop` are
/// elsewhere. The config of a `human` may hold its approvers, so a question without other settings needs it:
/// otherwise every person could decide.
fn needs_no_config(node: &Node) -> bool {
    match node.kind {
        NodeKind::Conditional | NodeKind::Loop => true,
        NodeKind::Human => node.human.as_ref().is_some_and(|human| *human != Human::default()),
        _ => false,
    }
}

/// Returns the options for the attempts of a node's task.
pub fn options_of(node: &Node) -> TaskOptions {
    TaskOptions {
        queue: node.queue.clone(),
        retries: node.retry.clone(),
        timeout: node.timeout,
        deadline: node.limits.deadline,
        on_exhausted: node.on_exhausted,
        label: node.label.clone(),
        ..TaskOptions::default()
    }
}

/// Returns the input of a built-in task: the config without the keys meant for the node.
pub fn own_input(task: Option<&str>, mut config: Value) -> Payload {
    if let Some(fields) = config.as_object_mut() {
        fields.retain(|key, value| match key.as_str() {
            "task" | "action" => value.as_str() != task,
            "concurrency" | "settle" => false,
            _ => true,
        });
    }
    let config = if task == Some(HTTP_TASK) { request(config) } else { config };
    Payload::of(&config).expect("values always serialise")
}

/// Returns the input of `http.request`. A body that is not text is sent as JSON.
fn request(config: Value) -> Value {
    let Value::Object(fields) = config else { return config };
    let body = |(key, value): (String, Value)| match (key.as_str(), &value) {
        ("body", Value::String(_) | Value::Null) => (key, value),
        ("body", _) => ("json".to_owned(), value),
        _ => (key, value),
    };
    Value::Object(fields.into_iter().map(body).collect::<Map<_, _>>())
}

/// Returns the key of an invalid value in a delay's config and the reason, unless the value contains a
/// reference.
pub fn impossible_delay(config: &Value) -> Option<(&'static str, String)> {
    let told = |key: &'static str, trouble| match trouble {
        Trouble::Node(failure) => Some((key, failure.message)),
        Trouble::Stop(_) => None,
    };
    let given = |key: &str| config.get(key).filter(|value| !value.is_null() && !reference::refers(value));
    let wrong_length =
        given("for").and_then(|wait| length(wait).err()).and_then(|trouble| told("for", trouble));
    wrong_length.or_else(|| {
        given("until").and_then(|at| instant(at).err()).and_then(|trouble| told("until", trouble))
    })
}

fn length(value: &Value) -> Result<Millis, Trouble> {
    #[derive(serde::Deserialize)]
    struct Length(#[serde(with = "duration::lenient")] Millis);
    match serde_json::from_value::<Length>(value.clone()) {
        Ok(Length(length)) => Ok(length),
        Err(error) => Trouble::bad_config(error.to_string()),
    }
}

/// Parses an instant: text (RFC 3339), or seconds or milliseconds since 1970. A number from 1e11 on is in
/// milliseconds.
fn instant(value: &Value) -> Result<Timestamp, Trouble> {
    const SURELY_MILLIS: f64 = 1e11;
    let found = match value {
        Value::String(text) => text.parse::<jiff::Timestamp>().ok().map(|at| Timestamp(at.as_millisecond())),
        Value::Number(number) => number
            .as_f64()
            .map(|number| Timestamp(if number < SURELY_MILLIS { number * 1000.0 } else { number } as i64)),
        _ => None,
    };
    match found {
        Some(at) => Ok(at),
        None => Trouble::bad_config(format!(
            "{} is no instant: write for example {}",
            value,
            json!("2030-01-31T09:00:00Z")
        )),
    }
}
