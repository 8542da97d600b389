//! W12: graphs beside flows that do the same work. A chain of nodes stands beside W1, one node that fans out to many
//! beside W4; both are measured in turn by one worker, so that a slow moment of the machine slows both.

use std::sync::Arc;
use std::time::Instant;

use rhythm_engine::world::World;
use serde_json::{Value, json};

use crate::BenchError;
use crate::check::lost_runs;
use crate::figures::{Samples, ratio};
use crate::flows::{FAN_OUT, STEPS, Script};
use crate::handler::PASS;
use crate::in_process::InProcess;
use crate::report::{Measured, object};
use crate::throughput::Load;

/// A run with one fan is short: a round of it has so many, one after the other.
const RUNS_OF_A_FAN: u32 = 10;

/// How much of each.
#[derive(Clone, Copy, Debug)]
pub struct Shapes {
    pub chain: Load,
    /// Nodes beside each other.
    pub fan: u32,
    /// How often each is measured.
    pub rounds: u32,
}

pub async fn measure(world: &Arc<dyn World>, shapes: &Shapes) -> Result<Vec<Measured>, BenchError> {
    let worker = InProcess::start(world, shapes.chain.concurrency).await?;
    let all = vec![chain(&worker, shapes).await?, fan(&worker, shapes).await?];
    worker.stop().await;
    Ok(all)
}

/// Runs of a chain beside runs of W1 with as many steps.
async fn chain(worker: &InProcess, shapes: &Shapes) -> Result<Measured, BenchError> {
    let load = &shapes.chain;
    let graph = Script::graph("bench-chain", &chain_of(load.steps));
    let (given, steps) = (json!({ "step": 0 }), json!({ "steps": load.steps }));
    let pair = Pair { flow: (&STEPS, &steps), graph: (&graph, &given) };
    let tasks = load.tasks();
    let times = pair.in_turn(worker, load.runs, shapes.rounds).await?;
    let lost = lost_runs(&worker.client, &graph, pair.runs(load.runs, shapes.rounds), &given).await?;
    let detail = json!({ "shape": "chain", "runs": load.runs, "nodes": load.steps });
    Ok(times.measured((tasks, tasks), lost, detail))
}

/// One run at a time of a fan beside one of W4 with as many tasks.
async fn fan(worker: &InProcess, shapes: &Shapes) -> Result<Measured, BenchError> {
    let graph = Script::graph("bench-fan", &fan_of(shapes.fan));
    let (given, tasks) = (json!({ "step": 0 }), json!({ "tasks": shapes.fan }));
    let pair = Pair { flow: (&FAN_OUT, &tasks), graph: (&graph, &given) };
    let rounds = shapes.rounds * RUNS_OF_A_FAN;
    let times = pair.in_turn(worker, 1, rounds).await?;
    let joined: Value = (0..shapes.fan).map(|node| (format!("n{node}"), given.clone())).collect();
    let lost = lost_runs(&worker.client, &graph, pair.runs(1, rounds), &joined).await?;
    let tasks = (u64::from(shapes.fan), u64::from(shapes.fan) + 2);
    Ok(times.measured(tasks, lost, json!({ "shape": "fan", "nodes": shapes.fan + 2 })))
}

/// Nodes one after the other.
fn chain_of(nodes: u32) -> Value {
    let edges: Vec<Value> = (1..nodes).map(|node| edge(&named(node - 1), &named(node))).collect();
    json!({ "nodes": numbered(nodes), "edges": edges })
}

/// One node, many after it, and one after all of those.
fn fan_of(many: u32) -> Value {
    let mut nodes = numbered(many);
    nodes.extend([node("first"), node("last")]);
    let edges: Vec<Value> =
        (0..many).map(named).flat_map(|node| [edge("first", &node), edge(&node, "last")]).collect();
    json!({ "limits": { "max_fanout": many }, "nodes": nodes, "edges": edges })
}

fn numbered(nodes: u32) -> Vec<Value> {
    (0..nodes).map(|number| node(&named(number))).collect()
}

fn named(number: u32) -> String {
    format!("n{number}")
}

fn node(id: &str) -> Value {
    json!({ "id": id, "type": "task", "config": { "task": PASS } })
}

fn edge(from: &str, to: &str) -> Value {
    json!({ "from": from, "to": to })
}

/// Two workflows that do the same, each with its input.
struct Pair<'a> {
    flow: (&'a Script, &'a Value),
    graph: (&'a Script, &'a Value),
}

impl Pair<'_> {
    /// Both in turn; the first round of each only warms up.
    async fn in_turn(&self, worker: &InProcess, runs: u32, rounds: u32) -> Result<Times, BenchError> {
        let mut times = Times::default();
        self.flow.0.register(&worker.client).await?;
        self.graph.0.register(&worker.client).await?;
        for round in 0..=rounds {
            for ((script, input), samples) in [(self.flow, &mut times.flow), (self.graph, &mut times.graph)] {
                let goal = worker.written().ended + u64::from(runs);
                let began = Instant::now();
                script.start_many(&worker.client, runs, input).await?;
                worker.until_ended(goal).await?;
                if round > 0 {
                    samples.add(began.elapsed());
                }
            }
        }
        Ok(times)
    }

    /// How many of each there are in the end.
    fn runs(&self, runs: u32, rounds: u32) -> u64 {
        u64::from(runs) * (u64::from(rounds) + 1)
    }
}

#[derive(Default)]
struct Times {
    flow: Samples,
    graph: Samples,
}

impl Times {
    /// By the middle rounds, with so many tasks in a flow's and in a graph's.
    fn measured(&self, (of_flow, of_graph): (u64, u64), lost: u64, detail: Value) -> Measured {
        let rate = |millis: Option<f64>, tasks: u64| millis.map(|millis| tasks as f64 / (millis / 1e3));
        let (flow, graph) = (rate(self.flow.p50(), of_flow), rate(self.graph.p50(), of_graph));
        let mut detail = object(detail);
        detail.insert("flow_per_s".into(), json!(flow));
        detail.insert("ratio_to_flow".into(), json!(ratio(graph, flow)));
        Measured {
            per_s: graph,
            p50_ms: self.graph.p50(),
            p99_ms: self.graph.p99(),
            wall_s: self.graph.p50().map(|millis| millis / 1e3),
            lost: Some(lost),
            detail,
            ..Measured::default()
        }
    }
}
