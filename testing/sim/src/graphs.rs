//! Random graphs: segments in a row that between them contain every kind of node a run can wait at. A node
//! reached from several nodes of a segment is a join, so most graphs have joins that get only some of their
//! tokens.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::dice::Dice;
use crate::fnv::Fnv;
use crate::plans::{QUEUES, SIGNALS};

/// Longest wait of a node without outside input. The calm phase lasts longer.
const LONGEST_WAIT_MS: u64 = 60_000;

/// Action of every compensator.
pub const COMPENSATOR: &str = "undo";

/// Generates a graph that may start the given workflows as children.
pub fn graph(dice: &mut Dice, children: &[String]) -> Value {
    let count = dice.number(1..5);
    // Graphs with compensators undo their work on failure and are not retried; graphs without them are
    // retried.
    let undoes = dice.chance(0.5);
    let mut draft = Draft { dice, nodes: Vec::new(), undoes };
    for place in 0..count {
        draft.segment(place, &[way_in(place + 1)], children);
    }
    let last = draft.task(&way_in(count), &[]);
    draft.nodes.push(last);
    renamed(json!({"limits": {"max_hops": 1000}, "nodes": draft.nodes}))
}

/// Permutes the node names of a graph, so that the order by name differs from the order by position. The
/// permutation is derived from the graph itself, so it uses no draw of the dice.
fn renamed(mut graph: Value) -> Value {
    let mut lots = Fnv(Fnv::START);
    lots.bytes(graph.to_string().as_bytes());
    let nodes = graph["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut ids: Vec<(u64, String)> = Vec::new();
    for id in nodes.iter().filter_map(|node| node["id"].as_str()) {
        lots.bytes(id.as_bytes());
        ids.push((lots.0, id.to_owned()));
    }
    ids.sort();
    let names = ids.into_iter().enumerate().map(|(place, (_, id))| (id, format!("n{place:02}")));
    rename(&mut graph["nodes"], &names.collect());
    graph
}

fn rename(value: &mut Value, names: &BTreeMap<String, String>) {
    match value {
        Value::String(text) => {
            if let Some(name) = names.get(text.as_str()) {
                name.clone_into(text);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| rename(value, names)),
        Value::Object(fields) => {
            // A config names tasks, workflows and signals, not nodes.
            let of_graph = fields.iter_mut().filter(|(key, _)| *key != "config");
            of_graph.for_each(|(_, value)| rename(value, names));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Generates operations of a patch: remove a node, cut its successors, or append a node.
pub fn operations(dice: &mut Dice, graph: &Value) -> Value {
    let count = graph["nodes"].as_array().map_or(0, Vec::len);
    let path = format!("/nodes/{}", dice.index(count.max(1)));
    match dice.number(0..5) {
        0 => json!([{"op": "remove", "path": path}]),
        1 => json!([{"op": "replace", "path": format!("{path}/dependents"), "value": []}]),
        _ => {
            let mut draft = Draft { dice, nodes: Vec::new(), undoes: false };
            let late = draft.task("late", &[]);
            json!([{"op": "add", "path": "/nodes/-", "value": late},
                {"op": "add", "path": format!("{path}/dependents/-"), "value": "late"}])
        }
    }
}

/// Generates a new config for a failed node. Nodes that are no tasks refuse it.
pub fn config(dice: &mut Dice) -> Value {
    json!({"task": "work", "ms": dice.skewed(3_000), "fails": dice.number(0..2)})
}

fn way_in(place: u64) -> String {
    format!("s{place}")
}

struct Draft<'a> {
    dice: &'a mut Dice,
    nodes: Vec<Value>,
    /// True when nodes may have compensators.
    undoes: bool,
}

impl Draft<'_> {
    fn segment(&mut self, place: u64, next: &[String], children: &[String]) {
        let id = way_in(place);
        match self.dice.number(0..20) {
            0..5 => {
                let task = self.task(&id, next);
                self.nodes.push(task);
            }
            5..9 => self.fork(place, next),
            9..11 => self.again(&id, next),
            11..14 => self.question(place, next),
            14 if !children.is_empty() => {
                let workflow = self.dice.pick(children).clone();
                let mut child = json!({"id": id, "type": "child", "dependents": next,
                    "config": {"workflow": workflow, "inputs": {"n": 1}}});
                if self.dice.chance(0.4) {
                    child["timeout_ms"] = json!(self.dice.number(100..40_000));
                }
                let child = self.or_else(child, next);
                self.nodes.push(child);
            }
            14 | 15 => {
                let wait = self.wait();
                self.nodes
                    .push(json!({"id": id, "type": "delay", "config": {"for": wait}, "dependents": next}));
            }
            16 => {
                let mut config = json!({"name": self.dice.pick(SIGNALS)});
                if self.dice.chance(0.6) {
                    config["timeout"] = json!(self.wait());
                }
                let signal = json!({"id": id, "type": "signal", "config": config, "dependents": next});
                let signal = self.or_else(signal, next);
                self.nodes.push(signal);
            }
            17 | 18 => self.choice(place, next),
            _ => {
                let items: Vec<u64> = (0..self.dice.number(0..5)).collect();
                let config = json!({"items": items, "task": "work", "settle": self.dice.chance(0.5),
                    "concurrency": self.dice.number(1..4), "ms": self.dice.skewed(3_000)});
                let each = json!({"id": id, "type": "parallel", "config": config, "dependents": next,
                    "timeout_ms": self.dice.number(2_000..30_000)});
                let each = self.or_else(each, next);
                self.nodes.push(each);
            }
        }
    }

    fn wait(&mut self) -> String {
        format!("{}ms", 1 + self.dice.skewed(LONGEST_WAIT_MS))
    }

    fn task(&mut self, id: &str, next: &[String]) -> Value {
        let name = match self.dice.number(0..20) {
            0..12 => "work",
            12..15 => "flaky",
            15 => "doomed",
            16 => "big",
            _ => "teller",
        };
        let fails = if name == "flaky" { self.dice.number(1..3) } else { 0 };
        let mut task = json!({"id": id, "type": "task", "dependents": next,
            "config": {"task": name, "ms": self.dice.skewed(5_000), "fails": fails},
            "retry": {"max_attempts": self.dice.number(1..5), "backoff_ms": self.dice.number(1..4_000)},
            "queue": self.dice.pick(QUEUES), "timeout_ms": self.dice.number(2_000..30_000)});
        if self.undoes && self.dice.chance(0.5) {
            // A compensator is flaky like its task, so some undo steps fail.
            let retry = json!({"max_attempts": self.dice.number(1..3)});
            task["compensator"] = json!({"action": COMPENSATOR, "timeout_sec": 20, "retry": retry});
        }
        if self.dice.chance(0.1) {
            task["on_exhausted"] = json!("hold");
        }
        self.or_else(task, next)
    }

    /// Gives half of the nodes an error path.
    fn or_else(&mut self, mut node: Value, next: &[String]) -> Value {
        if self.dice.chance(0.5) {
            node["error_path"] = json!(next);
        }
        node
    }

    fn condition(&mut self) -> Value {
        match self.dice.number(0..6) {
            0 => {
                json!({"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True\n"})
            }
            1 => json!({"type": "cel", "expression": "output.missing.n > 1"}),
            _ => json!({"type": "cel", "expression": format!("output.n > {}", self.dice.number(0..2))}),
        }
    }

    /// Adds two branches that join again, one of which may end before the join. Sometimes the join loops
    /// back.
    fn fork(&mut self, place: u64, next: &[String]) {
        let (id, ids) = (way_in(place), [format!("a{place}"), format!("b{place}"), format!("j{place}")]);
        let mut first = self.task(&id, &[ids[0].clone(), ids[1].clone()]);
        first["error_path"] = json!([ids[1]]);
        let mut may_end = self.task(&ids[0], &[]);
        let rules = json!([{"condition": self.condition(), "next_nodes": [ids[2]]}]);
        may_end["branch"] = json!({"rules": rules, "default": []});
        let other = self.task(&ids[1], &ids[2..]);
        let mut join = self.task(&ids[2], next);
        join["dependencies"] = json!(ids[..2]);
        if self.dice.chance(0.4) {
            join["loop"] = json!({"condition": self.condition(), "max_iterations": self.dice.number(1..4),
                "loop_back_to": id, "break_path": next, "timeout_path": next});
        }
        self.nodes.extend([first, may_end, other, join]);
    }

    fn again(&mut self, id: &str, next: &[String]) {
        let mut task = self.task(id, next);
        task["loop"] = json!({"condition": self.condition(), "max_iterations": self.dice.number(1..5),
            "break_path": next, "timeout_path": next});
        self.nodes.push(task);
    }

    fn question(&mut self, place: u64, next: &[String]) {
        let (id, no) = (way_in(place), format!("r{place}"));
        let timeout = self.wait();
        let human = match self.dice.number(0..5) {
            0 => json!({}),
            1 => json!({"timeout": timeout, "escalation_policy": "auto_approve"}),
            2 => json!({"timeout": timeout, "escalation_policy": "fail"}),
            3 => json!({"timeout": "61000ms", "escalation_policy": "escalate",
                "escalation": [{"after": timeout, "approvers": ["user:sim"]}]}),
            _ => json!({"timeout": timeout}),
        };
        let human = json!({"id": id, "type": "human", "human_config": human, "dependents": next,
            "rejection_path": [no]});
        let human = self.or_else(human, next);
        let rejected = self.task(&no, next);
        self.nodes.extend([human, rejected]);
    }

    fn choice(&mut self, place: u64, next: &[String]) {
        let ids = [format!("a{place}"), format!("b{place}")];
        let agent = json!({"id": way_in(place), "type": "agent", "dependents": [],
            "config": {"ms": self.dice.skewed(2_000)}, "timeout_ms": 20_000,
            "branch": {"type": "agent_driven", "available_next_nodes": ids, "default": next}});
        let agent = self.or_else(agent, next);
        let (one, other) = (self.task(&ids[0], next), self.task(&ids[1], next));
        self.nodes.extend([agent, one, other]);
    }
}

#[cfg(test)]
mod tests {
    use rhythm_core::WorkflowKind;
    use rhythm_engine::definitions::define;

    use super::*;

    #[test]
    fn every_graph_compiles_and_between_them_they_have_every_kind_of_node() {
        let (mut kinds, mut shuffled) = (std::collections::BTreeSet::new(), 0);
        for seed in 0..300 {
            let mut dice = Dice::new(seed, "graphs");
            let graph = graph(&mut dice, &["child".to_owned()]);
            let defined = define("g", WorkflowKind::Graph, &graph.to_string());
            assert!(defined.is_ok(), "seed {seed}: {graph:#} {:?}", defined.err());
            let nodes = graph["nodes"].as_array().unwrap();
            kinds.extend(nodes.iter().map(|node| node["type"].as_str().unwrap().to_owned()));
            let names: Vec<&str> = nodes.iter().map(|node| node["id"].as_str().unwrap()).collect();
            shuffled += usize::from(!names.is_sorted());
        }
        assert!(shuffled > 200, "in {shuffled} graphs the names are in another order than the nodes");
        let all = ["agent", "child", "delay", "human", "parallel", "signal", "task"].map(str::to_owned);
        assert_eq!(kinds, all.into());
    }
}
