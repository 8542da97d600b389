//! Random drill programs. Together they use every command and wait for every kind of message.

use rhythm_core::drill::{Instruction, Plan, TaskCall};
use rhythm_core::retry::RetryPolicy;
use rhythm_core::{Millis, OnExhausted, TaskOptions};
use serde_json::{Value, json};

use crate::dice::Dice;

/// Signal names.
pub const SIGNALS: &[&str] = &["go", "stop"];
pub const QUEUES: &[&str] = &["default", "other"];

/// Runs and workflows a plan may refer to.
pub struct Surroundings<'a> {
    /// Workflows it may start as children.
    pub children: &'a [String],
    /// Runs it may signal.
    pub runs: &'a [String],
}

pub fn plan(dice: &mut Dice, around: &Surroundings<'_>) -> Plan {
    let mut steps: Vec<Instruction> = (0..dice.number(1..8)).map(|_| instruction(dice, around)).collect();
    if dice.chance(0.05) {
        steps.push(Instruction::Fail { code: "PLANNED".into(), message: "as planned".into() });
    }
    let cleanup = match dice.chance(0.3) {
        true => vec![Instruction::TryTask(task(dice)), Instruction::Log("cleaned up".into())],
        false => Vec::new(),
    };
    Plan { steps, cleanup }
}

fn instruction(dice: &mut Dice, around: &Surroundings<'_>) -> Instruction {
    match dice.number(0..100) {
        0..18 => Instruction::Task(task(dice)),
        18..26 => Instruction::TryTask(task(dice)),
        26..34 => Instruction::Repeat { times: dice.number(1..6), task: task(dice) },
        34..44 => Instruction::Parallel((0..dice.number(0..6)).map(|_| task(dice)).collect()),
        44..48 => Instruction::Spawn(task(dice)),
        48..53 => {
            let mut task = task(dice);
            if dice.chance(0.2) {
                // No worker has a handler for this name; only the timer or the task's deadline ends the wait.
                task.name = "unknown".into();
                task.options.deadline = Some(Millis(dice.number(5_000..60_000)));
            }
            Instruction::TaskWithin { task, timeout: Millis(dice.number(100..20_000)) }
        }
        53..62 => Instruction::Sleep(Millis(dice.skewed(120_000))),
        62..70 => {
            let timeout = dice.chance(0.5).then(|| Millis(dice.number(100..60_000)));
            Instruction::Signal { name: (*dice.pick(SIGNALS)).to_owned(), timeout }
        }
        70..76 => {
            let to = match dice.chance(0.3) || around.runs.is_empty() {
                true => "$parent".to_owned(),
                false => dice.pick(around.runs).clone(),
            };
            let (name, payload) = ((*dice.pick(SIGNALS)).to_owned(), value(dice));
            Instruction::Send { to, name, payload }
        }
        76..90 => family(dice, around),
        90..94 => Instruction::Approve { node: format!("gate{}", dice.number(0..3)) },
        94..96 => Instruction::MeasureInput,
        96..98 => Instruction::Log("passing by".into()),
        98..99 => Instruction::Marker("here".into()),
        _ => Instruction::Keep(value(dice)),
    }
}

fn family(dice: &mut Dice, around: &Surroundings<'_>) -> Instruction {
    if around.children.is_empty() {
        return Instruction::Keep(value(dice));
    }
    // Sometimes a workflow that is not registered.
    let workflow = match dice.chance(0.03) {
        true => "nowhere".to_owned(),
        false => dice.pick(around.children).clone(),
    };
    match dice.number(0..10) {
        0..5 => Instruction::Child { workflow, input: value(dice) },
        5..8 => Instruction::ChildWithin { workflow, timeout: Millis(dice.number(100..40_000)) },
        _ => Instruction::SpawnChild { workflow },
    }
}

pub fn task(dice: &mut Dice) -> TaskCall {
    let name = match dice.number(0..20) {
        0..11 => "work",
        11..14 => "flaky",
        14 => "doomed",
        15 => "big",
        16..19 => "teller",
        _ => "stubborn",
    };
    let fails = if name == "flaky" { dice.number(1..3) } else { 0 };
    TaskCall {
        name: name.into(),
        input: json!({"ms": dice.skewed(8_000), "fails": fails}),
        options: options(dice),
    }
}

pub fn options(dice: &mut Dice) -> TaskOptions {
    let retries = RetryPolicy {
        max_attempts: u32::try_from(dice.number(1..5)).unwrap_or(1),
        initial_delay: Millis(dice.number(1..4_000)),
        max_delay: Millis(10_000),
        ..RetryPolicy::default()
    };
    TaskOptions {
        queue: (*dice.pick(QUEUES)).to_owned(),
        priority: i32::try_from(dice.number(0..3)).unwrap_or(0) - 1,
        delay: if dice.chance(0.15) { Millis(dice.skewed(20_000)) } else { Millis::ZERO },
        retries: Some(retries),
        timeout: Some(Millis(dice.number(2_000..30_000))),
        deadline: dice.chance(0.1).then(|| Millis(dice.number(5_000..60_000))),
        heartbeat_timeout: dice.chance(0.1).then(|| Millis(dice.number(1_000..10_000))),
        on_exhausted: if dice.chance(0.1) { OnExhausted::Hold } else { OnExhausted::Fail },
        ..TaskOptions::default()
    }
}

/// Returns a value, mostly small and sometimes too large to be stored inline.
pub fn value(dice: &mut Dice) -> Value {
    match dice.chance(0.03) {
        true => Value::String(long_value()),
        false => json!({"n": dice.number(0..1_000)}),
    }
}

/// Returns a text too large to be stored inline.
pub fn long_value() -> String {
    "v".repeat(70_000)
}
