//! `python_sandbox`: a program that decides. It runs elsewhere, as the task [`SANDBOX_TASK`]; here it is only asked for,
//! and the recorded answer is read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::{MAX_DOCUMENT, Size};
use super::compare::type_name;
use super::error::{ConditionError, ErrorKind};
use super::fields::{Fields, malformed};
use super::{Scope, Verdict};

/// The task that evaluates, with a [`SandboxCall`] for input and the program's result for output.
pub const SANDBOX_TASK: &str = "rhythm.sandbox";

/// Where a program finds the run's inputs among the nodes.
const INPUTS: &str = "inputs";
const TIMEOUT_MS: u64 = 1_000;
const MOST_TIMEOUT_MS: u64 = 60_000;
const MEMORY_MB: u64 = 50;
const MOST_MEMORY_MB: u64 = 512;

/// What a sandbox is asked: its serialised form is the input of the task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SandboxCall {
    /// Which program of the condition, counted from 0 in order of appearance. Not part of the task's input.
    #[serde(skip)]
    pub index: u32,
    pub code: String,
    pub output: Value,
    /// `{node: {output, metadata}}`, and the run's inputs as `inputs` unless that is a node.
    pub context: Value,
    pub timeout_ms: u64,
    pub max_memory_mb: u64,
}

/// What a sandbox answered, or why it did not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Met,
    NotMet,
    NotEvaluable(String),
}

impl Answer {
    /// Reads the task's output.
    pub fn of(result: &Value) -> Self {
        match result {
            Value::Bool(true) => Self::Met,
            Value::Bool(false) => Self::NotMet,
            other => Self::NotEvaluable(format!("evaluate gave {}, not a boolean", type_name(other))),
        }
    }
}

/// The answers that are known, by [`SandboxCall::index`].
pub type Answers = BTreeMap<u32, Answer>;

#[derive(Debug)]
pub(super) struct Sandbox {
    index: u32,
    program: Program,
    timeout_ms: u64,
    max_memory_mb: u64,
}

#[derive(Debug)]
enum Program {
    Code(String),
    /// A reference that nothing was found for.
    Unknown(String),
}

impl Sandbox {
    pub fn of(fields: &Fields<'_>, sandboxes: &mut u32) -> Result<Self, ConditionError> {
        let program = match (fields.optional_text("code")?, fields.optional_text("code_ref")?) {
            (Some(code), _) if code.len() > MAX_DOCUMENT => {
                let message = format!("it is longer than {MAX_DOCUMENT} bytes");
                return Err(ConditionError::new(ErrorKind::TooLarge, "code", message));
            }
            (Some(code), _) => Program::Code(code.to_owned()),
            (None, Some(reference)) => Program::Unknown(reference.to_owned()),
            (None, None) => return Err(malformed("code", "give `code` or `code_ref`")),
        };
        let index = *sandboxes;
        *sandboxes += 1;
        Ok(Self {
            index,
            program,
            timeout_ms: fields.count("timeout_ms", TIMEOUT_MS, MOST_TIMEOUT_MS)?,
            max_memory_mb: fields.count("max_memory_mb", MEMORY_MB, MOST_MEMORY_MB)?,
        })
    }

    pub fn code(&self) -> Option<&str> {
        match &self.program {
            Program::Code(code) => Some(code),
            Program::Unknown(_) => None,
        }
    }

    pub fn evaluate(&self, scope: &Scope<'_>, answers: &Answers) -> Verdict {
        match answers.get(&self.index) {
            Some(Answer::Met) => return Verdict::Met,
            Some(Answer::NotMet) => return Verdict::NotMet,
            Some(Answer::NotEvaluable(reason)) => return Verdict::NotEvaluable(reason.clone()),
            None => {}
        }
        let code = match &self.program {
            Program::Code(code) => code.clone(),
            Program::Unknown(reference) => {
                return Verdict::NotEvaluable(format!("code_ref {reference} leads to nothing"));
            }
        };
        let mut size = Size::default();
        let measured = scope.context.values().map(|past| past.output).chain([scope.output, scope.inputs]);
        for value in measured {
            if let Err(limit) = size.add(value) {
                return Verdict::NotEvaluable(limit.to_string());
            }
        }
        let Ok(Value::Object(mut context)) = serde_json::to_value(&scope.context) else {
            return Verdict::NotEvaluable("the context is no JSON".to_owned());
        };
        context.entry(INPUTS).or_insert_with(|| scope.inputs.clone());
        Verdict::Ask(SandboxCall {
            index: self.index,
            code,
            output: scope.output.clone(),
            context: Value::Object(context),
            timeout_ms: self.timeout_ms,
            max_memory_mb: self.max_memory_mb,
        })
    }
}
