//! W12: graphs compared with flows that do the same work: a chain of nodes with W1, and a fan-out node with
//! W4. One worker measures both in turn, so that a slow moment of the machine affects both.

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

/// Number of runs of a fan in one round, one after the other, because such a run is short.
const RUNS_OF_A_FAN: u32 = 10;

/// Sizes of the two comparisons.
#[derive(Clone, Copy, Debug)]
pub struct Shapes {
    pub chain: Load,
    /// Number of parallel nodes.
    pub fan: u32,
    /// Number of times each is measured.
    pub rounds: u32,
}

pub async fn measure(world: &Arc<dyn World>, shapes: &Shapes) -> Result<Vec<Measured>, BenchError> {
    let worker = InProcess::start(world, shapes.chain.concurrency).await?;
    let all = vec![chain(&worker, shapes).await?, fan(&worker, shapes).await?];
    worker.stop().await;
    Ok(all)
}

/// Compares runs of a chain with runs of W1 that have as many steps.
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

/// Compares single runs of a fan with single runs of W4 that have as many tasks.
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

/// Builds a graph of nodes in a row.
fn chain_of(nodes: u32) -> Value {
    let edges: Vec<Value> = (1..nodes).map(|node| edge(&named(node - 1), &named(node))).collect();
    json!({ "nodes": numbered(nodes), "edges": edges })
}

/// Builds a graph with one node, many successors, and one node after all of those.
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

/// A flow and a graph that do the same, each with its input.
struct Pair<'a> {
    flow: (&'a Script, &'a Value),
    graph: (&'a Script, &'a Value),
}

impl Pair<'_> {
    /// Runs both in turn. The first round of each is a warm-up.
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

    /// Returns the total number of runs of each, including the warm-up.
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
    /// Computes the rates from the median rounds and the number of tasks in a flow's and in a graph's round.
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
