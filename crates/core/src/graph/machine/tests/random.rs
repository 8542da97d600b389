//! Random graphs with random answers in a random order. Whatever they are: tokens are conserved, the counter is zero at
//! the end and only there, a run ends or waits for something that exists, and all three ways agree.

use serde_json::{Map, Value, json};

use super::stage::{Outcome, Script, Stage, WAYS, Way, script};
use crate::failure::Failure;
use crate::graph::machine::{WaitingFor, recount};
use crate::graph::{Context, compile};

/// A small generator: the same numbers for the same seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.below(sides) == 0
    }

    /// Some of the nodes after this one.
    fn later(&mut self, place: u64, count: u64, most: u64) -> Vec<String> {
        let room = count - place - 1;
        let wanted = if room == 0 { 0 } else { self.below(most + 1) };
        let mut chosen: Vec<u64> = (0..wanted).map(|_| place + 1 + self.below(room)).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(name).collect()
    }

    fn condition(&mut self) -> Value {
        let expression = match self.below(5) {
            0 => "output.missing.x == 1".to_owned(),
            1 => format!("ctx.n{}.output.n >= {}", self.below(6), self.below(3)),
            _ => format!("output.n {} {}", [">", "==", "<"][self.below(3) as usize], self.below(3)),
        };
        json!({"type": "cel", "expression": expression})
    }

    fn node(&mut self, place: u64, count: u64) -> Value {
        let kind = match self.below(12) {
            0 => "conditional",
            1 => "human",
            2 => "delay",
            _ => "task",
        };
        let mut node = json!({"id": name(place), "type": kind});
        let fields: &mut Map<String, Value> = node.as_object_mut().unwrap();
        let mut set = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        match kind {
            "delay" => set("config", json!({"for": self.below(3)})),
            "human" => {
                set("rejection_path", json!(self.later(place, count, 1)));
                set("human_config", if self.one_in(2) { json!({"timeout": "5s"}) } else { json!({}) });
            }
            _ => {}
        }
        set("dependents", json!(self.later(place, count, 3)));
        if self.one_in(3) {
            let rules: Vec<Value> = (0..1 + self.below(2))
                .map(|_| json!({"condition": self.condition(), "next_nodes": self.later(place, count, 2)}))
                .collect();
            set("branch", json!({"rules": rules, "default": self.later(place, count, 2)}));
        }
        if self.one_in(4) {
            let mut looping = json!({"max_iterations": 1 + self.below(3), "loop_back_to": name(self.below(place + 1)),
                "timeout_path": self.later(place, count, 1)});
            if self.one_in(2) {
                looping["condition"] = self.condition();
            }
            if self.one_in(2) {
                looping["break_path"] = json!(self.later(place, count, 2));
            }
            set("loop", looping);
        }
        if self.one_in(4) {
            set("error_path", json!(self.later(place, count, 1)));
        }
        if self.one_in(6) {
            set("wait_for_all", json!(self.one_in(2)));
        }
        if self.one_in(8) {
            set("compensator", json!({"action": "undo"}));
        }
        node
    }

    /// A document that compiles; most do.
    pub fn graph(&mut self) -> Value {
        loop {
            let count = 2 + self.below(7);
            let nodes: Vec<Value> = (0..count).map(|place| self.node(place, count)).collect();
            let graph = json!({"limits": {"max_hops": 30}, "nodes": nodes});
            if compile(&graph.to_string(), &Context::default()).graph.is_some() {
                return graph;
            }
        }
    }

    pub fn script(&mut self, document: &Value) -> Script {
        let mut script = script().inputs(json!({"n": self.below(3)}));
        for node in document["nodes"].as_array().unwrap() {
            let id = node["id"].as_str().unwrap();
            let answers = (0..3).map(|_| match self.below(10) {
                0 => Err(Failure::permanent("X", "it broke")),
                n => Ok(json!({"n": n % 3})),
            });
            script.answers.insert(id.to_owned(), answers.collect());
            let decision = |dice: &mut Self| {
                let word = if dice.one_in(2) { "approve" } else { "reject" };
                json!({"decision": word, "by": "ann"})
            };
            if !self.one_in(4) {
                let decisions = (0..3).map(|_| decision(self)).collect();
                script.decisions.insert(id.to_owned(), decisions);
            }
            if self.one_in(20) {
                script.silent.push(id.to_owned());
            }
        }
        if self.one_in(3) {
            let count = document["nodes"].as_array().unwrap().len() as u64;
            let operations = match self.below(3) {
                0 => json!([{"op": "remove", "path": format!("/nodes/{}", self.below(count))}]),
                1 => {
                    json!([{"op": "replace", "path": format!("/nodes/{}/dependents", self.below(count)), "value": []}])
                }
                _ => json!([{"op": "add", "path": "/nodes/-", "value": {"id": "new", "type": "task"}},
                    {"op": "add", "path": format!("/nodes/{}/dependents/-", self.below(count)), "value": "new"}]),
            };
            script.patches.push((0, "user:ann".to_owned(), operations));
        }
        script
    }
}

fn name(place: u64) -> String {
    format!("n{place}")
}

/// Delivers what can be delivered in an order that depends on the seed alone. Timers keep to their time.
fn perform(document: &Value, script: &Script, way: Way, seed: u64) -> Outcome {
    let mut stage = Stage::new(document, script.clone(), way);
    let mut dice = Dice(seed);
    while stage.end.is_none() {
        let now: Vec<usize> = stage.deliverable();
        let earliest = now.iter().map(|place| stage.pending[*place].0).min();
        let Some(earliest) = earliest else { break };
        let due: Vec<usize> =
            now.into_iter().filter(|place| stage.pending[*place].0 <= earliest.max(stage.now)).collect();
        // The start comes first, whoever else is early.
        let place = if stage.history.is_empty() { 0 } else { due[dice.below(due.len() as u64) as usize] };
        stage.deliver(place);
        assert!(stage.history.len() < 5_000, "does it ever end?");
        if let (None, Some(snapshot)) = (&stage.end, &stage.state.snapshot) {
            let counter = recount(&stage.history).unwrap();
            assert_eq!(stage.program.counter(snapshot).unwrap(), counter);
            let waits = stage.program.waiting(snapshot).unwrap();
            let real = waits.iter().any(|waiting| !matches!(waiting.what, WaitingFor::Join(_)));
            assert!(real, "it waits for nothing that could come: {waits:?}");
        }
    }
    stage.check();
    stage.outcome()
}

#[test]
fn whatever_the_graph_tokens_are_conserved_and_every_way_comes_to_the_same() {
    let (mut ends, mut joins) = (std::collections::BTreeMap::<&str, usize>::new(), 0);
    for seed in 0..600 {
        let mut dice = Dice(seed);
        let document = dice.graph();
        let script = dice.script(&document);
        let outcomes = WAYS.map(|way| {
            let caught = std::panic::catch_unwind(|| perform(&document, &script, way, seed));
            caught.unwrap_or_else(|_| panic!("seed {seed}, {way:?}\n{document:#}\n{script:?}"))
        });
        assert_eq!(outcomes[0], outcomes[1], "seed {seed}\n{document:#}");
        assert_eq!(outcomes[0], outcomes[2], "seed {seed}\n{document:#}");
        *ends.entry(outcomes[0].status).or_default() += 1;
        joins += usize::from(document["nodes"].as_array().unwrap().len() > 4 && outcomes[0].order.len() > 4);
    }
    // The runs are worth something: enough of them complete, fail, wait, and go some way.
    assert!(
        ends["completed"] > 100 && ends["failed"] > 50 && ends["waiting"] > 5 && joins > 50,
        "{ends:?} {joins}"
    );
}
