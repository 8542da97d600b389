//! The instructions of a drill.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::task::TaskOptions;
use crate::time::Millis;

/// A drill definition: the steps, and the clean-up that runs after a cancellation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub steps: Vec<Instruction>,
    /// Runs after a cancellation. The run ends cancelled whatever happens here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cleanup: Vec<Instruction>,
}

/// A task that an instruction runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskCall {
    pub name: String,
    #[serde(default)]
    pub input: Value,
    #[serde(default)]
    pub options: TaskOptions,
}

/// One instruction of a drill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Instruction {
    /// Runs a task and keeps its output. A failure fails the run.
    Task(TaskCall),
    /// Runs a task and keeps its output or its failure's code.
    TryTask(TaskCall),
    /// Runs one task after the other, `times` times.
    Repeat {
        times: u64,
        task: TaskCall,
    },
    /// Runs all tasks at once and keeps their outputs in order.
    Parallel(Vec<TaskCall>),
    /// Starts a task without waiting for it.
    Spawn(TaskCall),
    /// Runs a task. After `timeout` it is cancelled, and null is kept instead.
    TaskWithin {
        task: TaskCall,
        #[serde(with = "crate::duration::lenient")]
        timeout: Millis,
    },
    Sleep(#[serde(with = "crate::duration::lenient")] Millis),
    /// Waits for a signal and keeps its payload.
    Signal {
        name: String,
        #[serde(default, with = "crate::duration::lenient_option", skip_serializing_if = "Option::is_none")]
        timeout: Option<Millis>,
    },
    /// Signals another run; `"$parent"` is the run that started this one.
    Send {
        to: String,
        name: String,
        payload: Value,
    },
    /// Runs a child and keeps its output. A failure fails the run.
    Child {
        workflow: String,
        #[serde(default)]
        input: Value,
    },
    /// Runs a child. After `timeout` it is cancelled, and null is kept instead.
    ChildWithin {
        workflow: String,
        #[serde(with = "crate::duration::lenient")]
        timeout: Millis,
    },
    /// Starts a child without waiting for it.
    SpawnChild {
        workflow: String,
    },
    /// Opens an approval and keeps its decision.
    Approve {
        node: String,
    },
    Log(String),
    Marker(String),
    /// Keeps the length in bytes of the run's input, loading it when it is a blob.
    MeasureInput,
    /// Keeps a value.
    Keep(Value),
    Fail {
        code: String,
        message: String,
    },
}
