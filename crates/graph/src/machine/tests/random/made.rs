//! Generates graphs, answers and an order of events from bytes: one strip for each node and one for the rest.
//! Zero always selects the simplest choice, so when proptest shrinks a failure by removing strips and
//! lowering bytes, the graph gets smaller and simpler.

use std::fmt;

use proptest::prelude::*;
use rhythm_core::failure::Failure;
use serde_json::{Map, Value, json};

use super::super::stage::{Script, script};

/// Bytes for one node. Further bytes are zero.
const STRIP: usize = 40;
const MOST_NODES: usize = 8;
const MOST_MOVES: usize = 60;
/// One in this many nodes is silent or fails its compensator. A silent node keeps a run waiting, so it is
/// rare.
const SELDOM: u8 = 25;
/// One in this many runs has answers that do not fit into its snapshot together.
const LARGE: u8 = 150;

/// The bytes of a graph, independent of the names of its nodes.
#[derive(Clone)]
pub struct Strips {
    nodes: Vec<Vec<u8>>,
    rest: Vec<u8>,
    /// Numbers that shuffle the names; zeros keep the order.
    lots: Vec<u8>,
    moves: Vec<Move>,
}

impl fmt::Debug for Strips {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.shuffled(), to)
    }
}

#[derive(Clone)]
pub struct Made {
    pub document: Value,
    pub script: Script,
    pub moves: Vec<Move>,
}

impl fmt::Debug for Made {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.document["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
        nodes.iter().try_for_each(|node| writeln!(to, "{node}"))?;
        writeln!(to, "{:?}", self.script)?;
        self.moves.iter().try_for_each(|step| write!(to, "{}/{:?} ", step.next, step.again))
    }
}

/// Selects the next message among the deliverable ones, and whether an old one is repeated before it.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    pub next: u8,
    pub again: Option<u8>,
}

pub fn strips() -> impl Strategy<Value = Strips> {
    let strip = || proptest::collection::vec(any::<u8>(), STRIP);
    let moves = proptest::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..MOST_MOVES);
    let lots = proptest::collection::vec(any::<u8>(), MOST_NODES);
    (proptest::collection::vec(strip(), 2..=MOST_NODES), strip(), lots, moves).prop_map(
        |(nodes, rest, lots, moves)| {
            let moves = moves.into_iter().map(|(next, again, which)| {
                let again = (again % 4 == 3).then_some(which);
                Move { next, again }
            });
            Strips { nodes, rest, lots, moves: moves.collect() }
        },
    )
}

impl Strips {
    /// Names the nodes in the order of the document.
    pub fn in_order(&self) -> Made {
        self.named((0..self.nodes.len()).map(name).collect())
    }

    /// Names the nodes in a shuffled order, so that ordering by name differs from ordering by index.
    pub fn shuffled(&self) -> Made {
        self.named(self.names().into_iter().map(name).collect())
    }

    /// Returns the number in the name of each node.
    pub fn names(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.nodes.len()).collect();
        places.sort_by_key(|place| self.lots[*place]);
        places
    }

    fn named(&self, names: Vec<String>) -> Made {
        let mut script = script();
        let made = self.nodes.iter().enumerate().map(|(place, bytes)| {
            let mut draft = Draft { bytes: bytes.clone().into_iter(), place, names: &names };
            let node = draft.node();
            draft.answers(&node, &mut script);
            node
        });
        let nodes: Vec<Value> = made.collect();
        let mut draft = Draft { bytes: self.rest.clone().into_iter(), place: 0, names: &names };
        draft.outside(&mut script);
        let document = json!({"limits": {"max_hops": 30, "wall_time": "1h"}, "nodes": nodes});
        Made { document, script, moves: self.moves.clone() }
    }
}

struct Draft<'a> {
    bytes: std::vec::IntoIter<u8>,
    place: usize,
    /// Names of the nodes, by index.
    names: &'a [String],
}

impl Draft<'_> {
    /// Returns the name of a node. Conditions may refer to nodes that do not exist.
    fn name(&self, place: usize) -> String {
        self.names.get(place).cloned().unwrap_or_else(|| name(place))
    }

    fn below(&mut self, limit: u8) -> u8 {
        self.bytes.next().unwrap_or_default() % limit
    }

    /// Returns true for one byte value in `sides`, never for zero.
    fn one_in(&mut self, sides: u8) -> bool {
        self.below(sides) == sides - 1
    }

    /// Returns some of the nodes after this one.
    fn later(&mut self, most: u8) -> Vec<String> {
        let room = self.names.len() - self.place - 1;
        let wanted = if room == 0 { 0 } else { self.below(most + 1) };
        let mut chosen: Vec<usize> =
            (0..wanted).map(|_| self.place + 1 + usize::from(self.below(room as u8))).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|place| self.name(place)).collect()
    }

    fn condition(&mut self) -> Value {
        let expression = match self.below(8) {
            0 => "output.missing.x == 1".to_owned(),
            1 => {
                let node = usize::from(self.below(6));
                format!("ctx.{}.output.n >= {}", self.name(node), self.below(3))
            }
            2 => {
                return json!({"type": "python_sandbox", "code": "def evaluate(output, context): return True"});
            }
            _ => format!("output.n {} {}", [">", "==", "<"][usize::from(self.below(3))], self.below(3)),
        };
        json!({"type": "cel", "expression": expression})
    }

    fn node(&mut self) -> Value {
        let kind = match self.below(16) {
            1 => "conditional",
            2 | 3 => "human",
            4 => "delay",
            5 => "signal",
            6 => "child",
            7 => "parallel",
            8 => "agent",
            _ => "task",
        };
        let mut node = json!({"id": self.name(self.place), "type": kind});
        let fields: &mut Map<String, Value> = node.as_object_mut().unwrap();
        let mut set = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        match kind {
            "delay" => set("config", json!({"for": self.below(3)})),
            "signal" => {
                let timeout = if self.one_in(2) { Value::Null } else { json!("2s") };
                set("config", json!({"name": "go", "timeout": timeout}));
            }
            "child" => {
                set("config", json!({"workflow": "other"}));
                if self.one_in(2) {
                    set("retry", json!({"max_attempts": 2, "backoff_ms": 1000}));
                }
                if self.one_in(3) {
                    set("timeout_ms", json!(1500));
                }
            }
            "parallel" => {
                let (settle, concurrency) = (self.one_in(2), 1 + self.below(3));
                let items: Vec<u8> = (0..1 + self.below(3)).collect();
                set(
                    "config",
                    json!({"items": items, "task": "each", "settle": settle, "concurrency": concurrency}),
                );
            }
            "human" => {
                set("rejection_path", json!(self.later(1)));
                set("human_config", self.question());
            }
            _ => {}
        }
        set("dependents", json!(self.later(3)));
        if kind == "agent" {
            let (available, default) = (self.later(3), self.later(1));
            set(
                "branch",
                json!({"type": "agent_driven", "available_next_nodes": available, "default": default}),
            );
            if self.one_in(3) {
                set("requires_approval", json!(true));
            }
        } else if self.one_in(3) {
            let rules: Vec<Value> = (0..1 + self.below(2))
                .map(|_| json!({"condition": self.condition(), "next_nodes": self.later(2)}))
                .collect();
            set("branch", json!({"rules": rules, "default": self.later(2)}));
        }
        if self.one_in(4) {
            set("loop", self.looping());
        }
        if self.one_in(4) {
            set("error_path", json!(self.later(1)));
        }
        if self.one_in(6) {
            set("wait_for_all", json!(self.one_in(2)));
        }
        if self.one_in(8) {
            set("compensator", json!({"action": "undo"}));
        }
        node
    }

    fn question(&mut self) -> Value {
        match self.below(6) {
            0 => json!({}),
            1 => json!({"timeout": "5s", "escalation_policy": "auto_approve"}),
            2 => json!({"timeout": "5s", "escalation_policy": "fail"}),
            3 => json!({"timeout": "2s", "escalation_policy": "escalate",
                "escalation": [{"after": "1s", "approvers": ["bob"]}, {"after": "3s", "approvers": ["eve"]}]}),
            _ => json!({"timeout": "5s"}),
        }
    }

    fn looping(&mut self) -> Value {
        let back = usize::from(self.below(self.place as u8 + 1));
        let mut looping = json!({"max_iterations": 1 + self.below(3), "loop_back_to": self.name(self.place - back),
            "timeout_path": self.later(1)});
        if self.one_in(2) {
            looping["condition"] = self.condition();
        }
        if self.one_in(2) {
            looping["break_path"] = json!(self.later(2));
        }
        if self.one_in(4) {
            looping["check_condition_first"] = json!(true);
        }
        looping
    }

    fn answers(&mut self, node: &Value, script: &mut Script) {
        let id = self.name(self.place);
        let answers: Vec<Result<Value, Failure>> = (0..3)
            .map(|_| match self.below(12) {
                11 => Err(Failure::permanent("X", "it broke")),
                n if node["type"] == "agent" => Ok(self.choice(node, n)),
                n => Ok(json!({"n": n % 3})),
            })
            .collect();
        script.answers.insert(id.clone(), answers);
        if !self.one_in(4) {
            let decisions = (0..3).map(|_| {
                let word = if self.one_in(3) { "reject" } else { "approve" };
                json!({"decision": word, "by": "ann", "after": self.below(3)})
            });
            script.decisions.insert(id.clone(), decisions.collect());
        }
        if self.one_in(SELDOM) {
            script.silent.push(id.clone());
        }
        if self.one_in(SELDOM) {
            let failure = Failure::permanent("X", "what is done is done");
            script.answers.insert(format!("undo {id}"), vec![Err(failure)]);
        }
    }

    /// Returns an agent's answer: mostly a permitted target, sometimes a forbidden one or a patch.
    fn choice(&mut self, node: &Value, n: u8) -> Value {
        let available = node["branch"]["available_next_nodes"].as_array().unwrap();
        let mut answer = json!({"n": n % 3, "next_nodes": available});
        match self.below(8) {
            0 => answer["next_nodes"] = json!([]),
            1 => answer["next_nodes"] = json!(available.first()),
            2 => answer["next_nodes"] = json!(["nowhere"]),
            3 | 4 => answer["patch"] = self.operations(),
            _ => {}
        }
        answer
    }

    fn outside(&mut self, script: &mut Script) {
        script.inputs = json!({"n": self.below(3)});
        let said = (0..3).map(|_| match self.below(4) {
            3 => json!("perhaps"),
            n => json!(n % 2 == 1),
        });
        script.answers.insert("rhythm.sandbox".to_owned(), said.map(Ok).collect());
        for _ in 0..self.below(3) {
            script.signals.push((i64::from(self.below(3)), "go".to_owned(), json!({"n": self.below(3)})));
        }
        for _ in 0..self.below(4).saturating_sub(1) {
            let (at, operations) = (i64::from(self.below(3)), self.operations());
            script.patches.push((at, "user:ann".to_owned(), operations));
        }
        if self.one_in(8) {
            script.cancel_at = Some(i64::from(self.below(4)));
        }
        if self.one_in(LARGE) {
            // Keyed by index, because the names of the nodes must not matter.
            for (place, name) in self.names.iter().enumerate() {
                let given = script.answers.get_mut(name).into_iter().flatten().flatten();
                for (nth, answer) in given.filter(|answer| answer.is_object()).enumerate() {
                    answer["large"] = json!(format!("{place}{nth}").repeat(15_000));
                }
            }
        }
    }

    fn operations(&mut self) -> Value {
        let node = self.below(self.names.len() as u8);
        let path = format!("/nodes/{node}");
        match self.below(6) {
            0 => json!([{"op": "test", "path": "/nodes/0/id", "value": self.name(0)}]),
            1 => json!([{"op": "remove", "path": path}]),
            2 => json!([{"op": "replace", "path": format!("{path}/dependents"), "value": []}]),
            3 => {
                json!([{"op": "add", "path": format!("{path}/dependents/-"), "value": self.name(self.names.len() - 1)}])
            }
            4 => json!([{"op": "replace", "path": format!("{path}/wait_for_all"), "value": self.one_in(2)}]),
            _ => json!([{"op": "add", "path": "/nodes/-", "value": {"id": "new", "type": "task"}},
                {"op": "add", "path": format!("{path}/dependents/-"), "value": "new"}]),
        }
    }
}

fn name(place: usize) -> String {
    format!("n{place}")
}
