//! Actions of the clients of a simulation and their times, all derived from the seed before the start.

use rhythm_core::cron::{CatchUp, Overlap};
use rhythm_core::drill::{Drill, Instruction};
use rhythm_core::{CommandId, Millis, RunId, TaskOptions};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::dice::Dice;
use crate::graphs;
use crate::plans::{self, QUEUES, SIGNALS, Surroundings};

/// Workflows to register, and actions in order of time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Workload {
    pub workflows: Vec<(String, String)>,
    pub actions: Vec<Action>,
    /// Duration of the phase with faults.
    pub chaos_ms: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Action {
    pub at: u64,
    pub act: Act,
}

/// One call of a client. Names are chosen here, so that a repeated call is the same call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "a workload has a few hundred of them")]
pub enum Act {
    Start {
        run: String,
        workflow: String,
        input: Value,
        delay: Millis,
        deadline: Option<Millis>,
        priority: i32,
    },
    Signal {
        run: String,
        name: String,
        id: String,
        payload: Value,
    },
    Cancel {
        run: String,
    },
    Decide {
        run: String,
    },
    Patch {
        run: String,
        operations: Value,
        /// Absent in kept cases from before patches had ids.
        #[serde(default)]
        id: Option<String>,
    },
    PauseRun {
        run: String,
    },
    ResumeRun {
        run: String,
    },
    PauseWorkflow {
        workflow: String,
    },
    ResumeWorkflow {
        workflow: String,
    },
    PauseQueue {
        queue: String,
    },
    ResumeQueue {
        queue: String,
    },
    Retry {
        run: String,
    },
    /// Retries the node a run stopped at, with another config if one is given.
    RetryNode {
        run: String,
        config: Option<Value>,
    },
    Compensate {
        run: String,
    },
    SettleDead {
        requeue: bool,
    },
    Enqueue {
        task: String,
        name: String,
        input: Value,
        options: TaskOptions,
    },
    CancelTask {
        task: String,
    },
    Schedule {
        name: String,
        workflow: String,
        catch_up: CatchUp,
        overlap: Overlap,
    },
}

impl Act {
    /// Returns the run the action is about.
    pub fn run(&self) -> Option<&str> {
        match self {
            Self::Start { run, .. }
            | Self::Signal { run, .. }
            | Self::Cancel { run }
            | Self::Decide { run }
            | Self::Patch { run, .. }
            | Self::PauseRun { run }
            | Self::ResumeRun { run }
            | Self::Retry { run }
            | Self::RetryNode { run, .. }
            | Self::Compensate { run } => Some(run),
            _ => None,
        }
    }
}

impl Workload {
    pub fn new(seed: u64) -> Self {
        let mut dice = Dice::new(seed, "workload");
        let chaos_ms = dice.number(8_000..50_000);
        let runs: Vec<String> = (0..dice.number(5..70)).map(|number| format!("r{number}")).collect();
        let workflows = workflows(&mut dice, &runs);
        let names: Vec<String> = workflows.iter().map(|(name, _)| name.clone()).collect();
        let mut actions = Vec::new();
        for run in &runs {
            let at = dice.skewed(chaos_ms);
            let workflow = dice.pick(&names).clone();
            let graph =
                workflows.iter().find(|(name, _)| *name == workflow).and_then(|(_, source)| graph_of(source));
            actions.push(Action { at, act: start(&mut dice, run, workflow) });
            for visit in 0..dice.number(0..5) {
                let act = visit_run(&mut dice, run, visit, graph.as_ref());
                actions.push(Action { at: at + dice.skewed(chaos_ms), act });
            }
            for _ in 0..graph.as_ref().map_or(0, |_| dice.number(0..4)) {
                // Late enough that there may be something to repair.
                let after = dice.number(chaos_ms / 4..chaos_ms);
                actions.push(Action { at: at + after, act: mend_graph(&mut dice, run.clone()) });
            }
        }
        bystanders(&mut dice, &names, chaos_ms, &mut actions);
        actions.sort_by_key(|action| action.at);
        Self { workflows, actions, chaos_ms }
    }
}

/// Returns the document of a workflow that is a graph.
fn graph_of(source: &str) -> Option<Value> {
    let document: Value = serde_json::from_str(source).ok()?;
    document.get("nodes").is_some().then_some(document)
}

/// Generates the workflows by level: grandchildren, children, and those started by clients.
fn workflows(dice: &mut Dice, runs: &[String]) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for level in 0..3 {
        let children: Vec<String> = all.iter().map(|(name, _)| name.clone()).collect();
        for number in 0..dice.number(1..3) {
            let plan = plans::plan(dice, &Surroundings { children: &children, runs });
            // A third are flows that do the same as the drill, a third are graphs.
            let source = match dice.number(0..3) {
                0 => plan.to_flow(),
                1 => Drill::new(plan).source(),
                _ => graphs::graph(dice, &children).to_string(),
            };
            all.push((format!("level{level}-{number}"), source));
        }
    }
    all
}

fn start(dice: &mut Dice, run: &str, workflow: String) -> Act {
    Act::Start {
        run: run.to_owned(),
        workflow,
        input: plans::value(dice),
        delay: if dice.chance(0.15) { Millis(dice.skewed(30_000)) } else { Millis::ZERO },
        deadline: dice.chance(0.1).then(|| Millis(dice.number(1_000..100_000))),
        priority: i32::try_from(dice.number(0..3)).unwrap_or(0),
    }
}

/// Generates one action of a client on a run.
fn visit_run(dice: &mut Dice, run: &str, visit: u64, graph: Option<&Value>) -> Act {
    let run = run.to_owned();
    match dice.number(0..100) {
        0..40 => {
            let name = (*dice.pick(SIGNALS)).to_owned();
            Act::Signal { id: format!("{run}-{visit}"), run, name, payload: plans::value(dice) }
        }
        40..50 => Act::Cancel { run },
        50..62 => Act::Decide { run },
        62..68 => {
            let id = Some(format!("{run}-{visit}"));
            if let Some(graph) = graph {
                return Act::Patch { run, operations: graphs::operations(dice, graph), id };
            }
            let around = Surroundings { children: &[], runs: &[] };
            let steps: Vec<Instruction> = plans::plan(dice, &around).steps;
            Act::Patch { run, operations: serde_json::to_value(steps).unwrap_or_default(), id }
        }
        68..76 => Act::PauseRun { run },
        76..84 => Act::ResumeRun { run },
        84..88 => Act::Retry { run },
        _ => match graph {
            Some(_) => mend_graph(dice, run),
            None => Act::Retry { run },
        },
    }
}

/// Generates a repair of a graph: retry a node or compensate.
fn mend_graph(dice: &mut Dice, run: String) -> Act {
    if dice.chance(0.5) {
        let config = dice.chance(0.7).then(|| graphs::config(dice));
        return Act::RetryNode { run, config };
    }
    // Some of these target a child, which is compensated while its parent goes on.
    let run = match dice.chance(0.2) {
        true => RunId::new(run).child(CommandId(dice.number(1..5))).to_string(),
        false => run,
    };
    Act::Compensate { run }
}

/// Adds standalone tasks, schedules, and operators' requests.
fn bystanders(dice: &mut Dice, workflows: &[String], chaos_ms: u64, actions: &mut Vec<Action>) {
    for number in 0..dice.number(0..8) {
        let (task, call) = (format!("t{number}"), plans::task(dice));
        let at = dice.skewed(chaos_ms);
        let (name, input, options) = (call.name, call.input, call.options);
        actions.push(Action { at, act: Act::Enqueue { task: task.clone(), name, input, options } });
        if dice.chance(0.2) {
            actions.push(Action { at: at + dice.skewed(10_000), act: Act::CancelTask { task } });
        }
    }
    for _ in 0..dice.number(0..5) {
        let at = dice.number(0..chaos_ms);
        let (act, undo) = match dice.number(0..5) {
            0 => {
                let workflow = dice.pick(workflows).clone();
                (Act::PauseWorkflow { workflow: workflow.clone() }, Some(Act::ResumeWorkflow { workflow }))
            }
            1 => {
                let queue = (*dice.pick(QUEUES)).to_owned();
                (Act::PauseQueue { queue: queue.clone() }, Some(Act::ResumeQueue { queue }))
            }
            other => (Act::SettleDead { requeue: other > 2 }, None),
        };
        actions.push(Action { at, act });
        // Some paused objects are resumed only in the calm phase.
        if let Some(undo) = undo.filter(|_| dice.chance(0.7)) {
            actions.push(Action { at: at + dice.skewed(chaos_ms), act: undo });
        }
    }
    if dice.chance(0.3) {
        let act = Act::Schedule {
            name: "often".into(),
            workflow: workflows[0].clone(),
            catch_up: *dice.pick(&[CatchUp::One, CatchUp::All, CatchUp::Skip]),
            overlap: *dice.pick(&[Overlap::Allow, Overlap::Skip, Overlap::CancelPrevious]),
        };
        actions.push(Action { at: dice.skewed(chaos_ms), act });
    }
}
