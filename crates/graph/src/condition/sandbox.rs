//! `python_sandbox`: a condition decided by a program. The program runs elsewhere, as the task
//! [`SANDBOX_TASK`]. This file builds the call and reads the recorded answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::bounds::{MAX_DOCUMENT, Size};
use super::compare::type_name;
use super::error::{ConditionError, ErrorKind};
use super::fields::{Fields, malformed};
use super::{Scope, Verdict};

/// Name of the task that runs the program. Its input is a [`SandboxCall`], its output the program's result.
pub const SANDBOX_TASK: &str = "rhythm.sandbox";

/// Key of the run's inputs in the context, among the nodes.
const INPUTS: &str = "inputs";
const TIMEOUT_MS: u64 = 1_000;
const MOST_TIMEOUT_MS: u64 = 60_000;
const MEMORY_MB: u64 = 50;
const MOST_MEMORY_MB: u64 = 512;

/// Request to a sandbox. Its serialised form is the input of the task.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SandboxCall {
    /// Number of the program in the condition, from 0 in order of appearance. Not part of the task's input.
    #[serde(skip)]
    pub index: u32,
    pub code: String,
    pub output: Value,
    /// `{node: {output, metadata}}`, with the run's inputs as `inputs` unless a node has that id.
    pub context: Value,
    pub timeout_ms: u64,
    pub max_memory_mb: u64,
}

/// Answer of a sandbox, or the reason it gave none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Met,
    NotMet,
    NotEvaluable(String),
}

impl Answer {
    /// Converts the task's output to an answer.
    pub fn of(result: &Value) -> Self {
        match result {
            Value::Bool(true) => Self::Met,
            Value::Bool(false) => Self::NotMet,
            other => Self::NotEvaluable(format!("evaluate gave {}, not a boolean", type_name(other))),
        }
    }
}

/// The answers received so far, by [`SandboxCall::index`].
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
    /// A reference without content.
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
