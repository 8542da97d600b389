//! Generated graphs with scripted answers, which give the same result on every world. Edges lead to later
//! nodes only, except loops. A node with several edges to it is a join, so most graphs have a join that gets
//! only part of its inputs.

#[path = "../../../flow/tests/language/made.rs"]
#[expect(dead_code, reason = "only its dice are needed here")]
mod made;

use std::collections::BTreeMap;
use std::sync::Arc;

use rhythm_engine::world::{ManualClock, World};
use rhythm_scenario::{Outcome, Scenario};
use serde_json::{Map, Value, json};

use crate::agreeing::{self, NOON};
use made::Dice;

/// Number of graphs per world; `RHYTHM_WORLD_GRAPHS` overrides it.
const GRAPHS: u64 = 60;
const MOST_NODES: usize = 7;
const EXPRESSIONS: [&str; 4] =
    ["output.n > 1", "output.n == 0", "ctx.FIRST.output.n < 2", "output.missing.n > 1"];

/// Plays the seeds of a shard in memory and on worlds that `open` makes for them. The second value of `open`
/// must outlive the world.
pub async fn play<K>(shard: u64, open: impl AsyncFn(Arc<ManualClock>) -> (Arc<dyn World>, K)) {
    let mut tally = Tally::default();
    for seed in agreeing::seeds(shard, "RHYTHM_WORLD_GRAPHS", GRAPHS) {
        let source = scenario(seed);
        let scenario: Scenario = serde_json::from_value(source.clone()).expect("a scenario");
        let clock = ManualClock::at(NOON);
        let (world, _kept) = open(clock.clone()).await;
        let played = agreeing::agrees(seed, (&scenario, &format!("{source:#}")), clock, world).await;
        tally.add(&played);
    }
    tally.is_worth_something();
}

/// Outcomes of the runs of a shard.
#[derive(Debug, Default)]
struct Tally {
    ends: BTreeMap<String, usize>,
    rejected: Vec<String>,
}

impl Tally {
    fn add(&mut self, outcome: &Outcome) {
        *self.ends.entry(format!("{:?}", outcome.status)).or_default() += 1;
        self.rejected.extend(outcome.rejected.iter().map(|rejected| rejected.message.clone()));
    }

    /// Checks that most graphs compile, and that runs end in different ways.
    fn is_worth_something(&self) {
        let count = |end: &str| self.ends.get(end).copied().unwrap_or_default();
        let all: usize = self.ends.values().sum();
        assert!(count("Rejected") * 10 <= all, "{self:?}");
        for end in ["Completed", "Failed"] {
            assert!(count(end) > 0, "no run is {end}: {self:?}");
        }
    }
}

fn scenario(seed: u64) -> Value {
    let mut dice = Dice::new(seed);
    // Small seeds give the same first roll.
    dice.roll(2);
    let count = 2 + dice.roll(MOST_NODES - 1);
    let (tasks, decisions) = (Map::new(), Map::new());
    let names = names(&mut dice, count);
    let mut draft = Draft { dice, names, earlier: vec![None; count], tasks, decisions };
    let nodes: Vec<Value> = (0..count).map(|place| draft.node(place)).collect();
    let said: Vec<Value> = (0..3).map(|_| json!({"ok": draft.dice.roll(3) > 0})).collect();
    draft.tasks.insert("rhythm.sandbox".to_owned(), said.into());
    let signals: Vec<Value> = (0..draft.dice.roll(4))
        .map(|n| json!({"name": "go", "payload": {"n": n}, "at": draft.dice.roll(4)}))
        .collect();
    let mut scenario = json!({
        "graph": {"limits": {"max_hops": 30, "wall_time": "1h"}, "nodes": nodes},
        "inputs": {"n": 1, "list": [1, 2, 3]},
        "workflows": {"kid": {"nodes": [{"id": "kid_work", "type": "task", "retry": 1}]}},
        "signals": signals,
    });
    for task in ["kid_work", "each"] {
        let answers = draft.answers(&Value::Null);
        draft.tasks.insert(task.to_owned(), answers);
    }
    if draft.dice.roll(8) == 0 {
        scenario["cancel"] = json!({"at": draft.dice.roll(6)});
    }
    scenario["tasks"] = draft.tasks.into();
    scenario["decisions"] = draft.decisions.into();
    scenario
}

struct Draft {
    dice: Dice,
    /// Of the nodes, by their place.
    names: Vec<String>,
    /// A node that leads to each.
    earlier: Vec<Option<usize>>,
    tasks: Map<String, Value>,
    decisions: Map<String, Value>,
}

/// In any order, so that what goes by name differs from what goes by place.
fn names(dice: &mut Dice, count: usize) -> Vec<String> {
    let mut left: Vec<usize> = (0..count).collect();
    (0..count).map(|_| format!("n{}", left.swap_remove(dice.roll(left.len())))).collect()
}

impl Draft {
    fn name(&self, place: usize) -> String {
        self.names[place].clone()
    }

    fn one_in(&mut self, sides: usize) -> bool {
        self.dice.roll(sides) == 0
    }

    /// Returns some of the nodes after this one.
    fn later(&mut self, place: usize, most: usize) -> Vec<String> {
        let room = self.names.len() - place - 1;
        let wanted = if room == 0 { 0 } else { self.dice.roll(most + 1) };
        let mut chosen: Vec<usize> = (0..wanted).map(|_| place + 1 + self.dice.roll(room)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|place| self.name(place)).collect()
    }

    fn condition(&mut self) -> Value {
        match self.dice.roll(5) {
            4 => {
                json!({"type": "python_sandbox", "code": "def evaluate(output, context):\n    return True\n"})
            }
            place => {
                json!({"type": "cel", "expression": EXPRESSIONS[place].replace("FIRST", &self.names[0])})
            }
        }
    }

    fn node(&mut self, place: usize) -> Value {
        let kinds = ["conditional", "human", "delay", "signal", "child", "parallel", "agent", "filter"];
        let kind = kinds.get(self.dice.roll(14)).copied().unwrap_or("task");
        // What only routes needs somewhere to route to.
        let kind = if kind == "conditional" && place + 1 == self.names.len() { "task" } else { kind };
        let mut node = json!({"id": self.name(place), "type": kind, "dependents": self.later(place, 3)});
        match kind {
            "human" => {
                node["rejection_path"] = json!(self.later(place, 1));
                node["human_config"] = self.question();
            }
            "agent" => {
                let (available, default) = (self.later(place, 3), self.later(place, 1));
                node["branch"] = json!({"type": "agent_driven", "available_next_nodes": available,
                    "default": default});
                node["requires_approval"] = json!(self.one_in(2));
            }
            _ => node["config"] = self.config(kind),
        }
        if kind != "agent" && self.one_in(3) {
            let rules = json!([{"condition": self.condition(), "next_nodes": self.later(place, 2)}]);
            node["branch"] = json!({"rules": rules, "default": self.later(place, 2)});
        }
        if kind == "conditional" {
            node["dependents"] = json!([self.name(place + 1)]);
        }
        if self.one_in(4) {
            // To itself, or to one that leads here.
            let back = if self.one_in(2) { place } else { self.earlier[place].unwrap_or(place) };
            let back = self.name(back);
            node["loop"] = json!({"max_iterations": 1 + self.dice.roll(3), "loop_back_to": back,
                "condition": self.condition(), "timeout_path": self.later(place, 1)});
        }
        for (key, value) in [("error_path", json!(self.later(place, 1))), ("on_exhausted", json!("hold"))] {
            if self.one_in(6) {
                node[key] = value;
            }
        }
        if self.one_in(6) {
            node["compensator"] = json!({"action": "undo"});
            self.tasks.insert("undo".to_owned(), json!([{"ok": null}]));
        }
        if self.one_in(4) {
            node["retry"] = json!({"max_attempts": 2, "backoff_ms": 1000, "jitter": 0});
            node["limits"] = json!({"deadline_s": 1 + self.dice.roll(4)});
        }
        self.note_ways(place, &node);
        let answers = self.answers(&node);
        // Nodes of other types need no script. With one they would be compiled as another type.
        if ["task", "agent"].contains(&kind) {
            self.tasks.insert(self.name(place), answers);
        }
        self.decide(place);
        node
    }

    /// Notes this node as a loop target for nodes that it always leads to.
    fn note_ways(&mut self, place: usize, node: &Value) {
        if node.get("branch").is_some() {
            return;
        }
        for to in place + 1..self.names.len() {
            let leads = node["dependents"].as_array().is_some_and(|ids| ids.contains(&json!(self.name(to))));
            if leads {
                self.earlier[to] = Some(place);
            }
        }
    }

    fn config(&mut self, kind: &str) -> Value {
        match kind {
            "delay" => json!({"for": self.dice.roll(3)}),
            "signal" if self.one_in(3) => json!({"name": "go"}),
            "signal" => json!({"name": "go", "timeout": "2s"}),
            "child" => json!({"workflow": "kid"}),
            "parallel" if self.one_in(2) => {
                json!({"items": "$inputs.list", "workflow": "kid", "concurrency": 2})
            }
            "parallel" => json!({"items": "$inputs.list", "task": "each", "settle": self.one_in(2)}),
            "filter" => {
                json!({"items": "$inputs.list", "condition": {"type": "cel", "expression": "output > 1"}})
            }
            _ => json!({}),
        }
    }

    fn question(&mut self) -> Value {
        match self.dice.roll(4) {
            0 => json!({}),
            1 => json!({"timeout": "5s", "escalation_policy": "fail"}),
            2 => json!({"timeout": "2s", "escalation_policy": "escalate",
                "escalation": [{"after": "1s", "approvers": ["bob"]}]}),
            _ => json!({"timeout": "5s", "escalation_policy": "auto_approve"}),
        }
    }

    fn answers(&mut self, node: &Value) -> Value {
        let answers = (0..3).map(|_| {
            let (n, after) = (self.dice.roll(3), self.dice.roll(3));
            match self.dice.roll(10) {
                0 => json!({"err": {"message": "it broke", "type": "X"}, "after": after}),
                1 => json!({"ok": {"n": n, "large": "x".repeat(70_000)}, "after": after}),
                2 => json!({"ok": n, "after": after}),
                3 if node["type"] == "agent" => {
                    let operations = json!([{"op": "add", "path": "/nodes/-", "value": {"id": "new", "type": "task"}},
                        {"op": "add", "path": "/nodes/0/dependents/-", "value": "new"}]);
                    json!({"ok": {"n": n, "patch": operations}, "after": after})
                }
                _ => json!({"ok": {"n": n, "next_nodes": node["branch"]["available_next_nodes"]}, "after": after}),
            }
        });
        answers.collect()
    }

    fn decide(&mut self, place: usize) {
        if self.one_in(4) {
            return;
        }
        let decisions = (0..3).map(|_| {
            let decision = if self.dice.roll(3) == 0 { "reject" } else { "approve" };
            json!({"decision": decision, "by": "ann"})
        });
        let decisions = decisions.collect();
        self.decisions.insert(self.name(place), decisions);
    }
}
