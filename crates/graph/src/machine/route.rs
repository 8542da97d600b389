//! Where a result goes. A loop decides first, then a branch, else the dependents. A condition that has to be asked
//! outside keeps the visit in routing until the answer is there; what was decided before it is not decided again.

use rhythm_core::event::{ConditionEvaluated, EventData};
use rhythm_core::failure::Failure;
use rhythm_core::id::CommandId;
use rhythm_core::payload::Payload;
use rhythm_core::task::TaskOptions;
use rhythm_core::time::Millis;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::decide::Prepared;
use super::memory::{Visit, Wait};
use super::plan::Plan;
use super::values::ValueId;
use super::{Machine, Stop, Stopped, codes};
use crate::condition::{Answer, Answers, SANDBOX_TASK, SandboxCall, Verdict};
use crate::ir::{Branch, Loop, Node, NodeIndex, OnConditionError};

/// A visit whose result waits for an answer about a condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Routing {
    pub value: ValueId,
    pub task: CommandId,
    /// What the node itself had asked for.
    command: Option<CommandId>,
    at: Fork,
    /// Which program of the condition is being asked.
    index: u32,
    answers: Answers,
}

impl Routing {
    /// The conditions of a node that have come to the one that is asked, in order.
    pub fn asked_of<'n>(&self, node: &'n Node) -> Vec<Option<&'n Value>> {
        match (self.at, &node.branch) {
            (Fork::Loop | Fork::Rejected, _) => {
                vec![node.looping.as_ref().and_then(|looping| looping.condition.as_ref())]
            }
            (Fork::Rule(nth), Some(Branch::Conditional { rules, .. })) => {
                (0..=nth).map(|place| rules.get(place).map(|rule| &rule.condition)).collect()
            }
            (Fork::Rule(_), _) => Vec::new(),
        }
    }
}

/// A condition on the way of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fork {
    Loop,
    /// The loop of a node whose question was answered with a rejection.
    Rejected,
    Rule(usize),
}

/// What a fork leads to.
enum Way {
    To(Vec<NodeIndex>),
    On(Fork),
    Ask(Box<SandboxCall>),
    /// Nobody can say, and the node is not to guess.
    Fail(Box<Failure>),
}

impl Machine<'_> {
    /// Routes a fresh result: one more pass where there is a loop.
    pub fn route(&mut self, visit: Visit, command: Option<CommandId>, value: ValueId) -> Stopped {
        let plan = self.plan.clone();
        let at = match plan.node(self.place(&visit.node)).looping {
            Some(_) => {
                *self.memory.passes.entry(visit.node.clone()).or_default() += 1;
                Fork::Loop
            }
            None => Fork::Rule(0),
        };
        self.follow(visit, (command, value), at, Answers::new())
    }

    /// Routes a rejection where the loop of the node decides about it first.
    pub fn route_rejection(&mut self, visit: Visit, command: Option<CommandId>, value: ValueId) -> Stopped {
        *self.memory.passes.entry(visit.node.clone()).or_default() += 1;
        self.follow(visit, (command, value), Fork::Rejected, Answers::new())
    }

    /// The conditions have changed while one of them was asked: from the first of them again. What a loop has decided
    /// stays, and its pass is counted.
    pub fn reroute(&mut self, visit: Visit, routing: Routing) -> Stopped {
        let at = match routing.at {
            Fork::Loop | Fork::Rejected => routing.at,
            Fork::Rule(_) => Fork::Rule(0),
        };
        self.follow(visit, (routing.command, routing.value), at, Answers::new())
    }

    /// The answer of a sandbox.
    pub fn routed(&mut self, visit: Visit, routing: Routing, answer: Result<Payload, String>) -> Stopped {
        let answer = self.answer_of(answer)?;
        let Routing { value, command, at, index, mut answers, .. } = routing;
        answers.insert(index, answer);
        self.follow(visit, (command, value), at, answers)
    }

    /// What a sandbox said; a failure says that it cannot tell.
    pub fn answer_of(&mut self, answer: Result<Payload, String>) -> Stopped<Answer> {
        match answer {
            Err(reason) => Ok(Answer::NotEvaluable(reason)),
            Ok(output) => {
                let given = self.memory.values.add(output);
                Ok(Answer::of(&*self.look(given)?))
            }
        }
    }

    fn follow(
        &mut self,
        mut visit: Visit,
        (command, value): (Option<CommandId>, ValueId),
        mut at: Fork,
        mut answers: Answers,
    ) -> Stopped {
        loop {
            let way = match at {
                Fork::Loop => self.turn(&visit, value, &answers, false)?,
                Fork::Rejected => self.turn(&visit, value, &answers, true)?,
                Fork::Rule(nth) => self.branch(&visit, value, nth, &answers)?,
            };
            match way {
                Way::To(targets) => return self.emit(visit, command, value, &targets),
                Way::On(next) => (at, answers) = (next, Answers::new()),
                Way::Fail(failure) => {
                    if at == Fork::Loop {
                        self.take_back_pass(&visit);
                    }
                    return self.fail_node(visit, command, &failure);
                }
                Way::Ask(call) => {
                    let task = self.ask_sandbox(&call);
                    let index = call.index;
                    visit.wait = Wait::Routing(Routing { value, task, command, at, index, answers });
                    self.memory.open.insert(visit.tokens[0].id, visit);
                    return Ok(());
                }
            }
        }
    }

    fn turn(&mut self, visit: &Visit, value: ValueId, answers: &Answers, rejected: bool) -> Stopped<Way> {
        let plan = self.plan.clone();
        let place = self.place(&visit.node);
        let rejection_path = &plan.node(place).rejection_path;
        let Some(looping) = &plan.node(place).looping else { return Ok(Way::On(Fork::Rule(0))) };
        let passes = self.memory.passes.get(&visit.node).copied().unwrap_or_default();
        let over = passes >= looping.max_iterations;
        if over && !looping.check_condition_first {
            return Ok(self.leave(visit, Way::To(looping.timeout_path.clone())));
        }
        let again = match &plan.rules[place].looping {
            None => !rejected || rejection_path.is_empty(),
            Some(condition) => match self.verdict(condition, value, answers)? {
                Verdict::Ask(call) => return Ok(Way::Ask(Box::new(call))),
                verdict => {
                    let failure = self.unclear(visit, "the loop", condition, (value, &verdict))?;
                    let again = self.tell(&visit.node, "loop".to_owned(), verdict);
                    if let Some(failure) = failure {
                        return Ok(Way::Fail(failure));
                    }
                    again
                }
            },
        };
        Ok(match (again, over) {
            (false, _) if rejected => self.leave(visit, Way::To(rejection_path.clone())),
            (false, _) => self.leave(visit, after(looping)),
            (true, true) => self.leave(visit, Way::To(looping.timeout_path.clone())),
            (true, false) => Way::To(vec![looping.loop_back_to]),
        })
    }

    /// A node that is held makes the same pass again when it begins anew.
    fn take_back_pass(&mut self, visit: &Visit) {
        let passes = self.memory.passes.remove(&visit.node).unwrap_or_default();
        if passes > 1 {
            self.memory.passes.insert(visit.node.clone(), passes - 1);
        }
    }

    fn leave(&mut self, visit: &Visit, way: Way) -> Way {
        self.memory.passes.remove(&visit.node);
        way
    }

    fn branch(&mut self, visit: &Visit, value: ValueId, nth: usize, answers: &Answers) -> Stopped<Way> {
        let plan = self.plan.clone();
        let place = self.place(&visit.node);
        let node = plan.node(place);
        match &node.branch {
            None => Ok(Way::To(node.dependents.clone())),
            Some(Branch::AgentDriven { available_next_nodes, default }) => {
                let chosen = self.chosen(&plan, place, value, available_next_nodes)?;
                Ok(Way::To(if chosen.is_empty() { default.clone() } else { chosen }))
            }
            Some(Branch::Conditional { rules, default }) => {
                let (Some(rule), Some(condition)) = (rules.get(nth), plan.rules[place].branch.get(nth))
                else {
                    return Ok(Way::To(default.clone()));
                };
                let met = match self.verdict(condition, value, answers)? {
                    Verdict::Ask(call) => return Ok(Way::Ask(Box::new(call))),
                    verdict => {
                        let name = format!("rule {}", nth + 1);
                        let failure = self.unclear(visit, &name, condition, (value, &verdict))?;
                        let met = self.tell(&visit.node, name, verdict);
                        if let Some(failure) = failure {
                            return Ok(Way::Fail(failure));
                        }
                        met
                    }
                };
                Ok(if met { Way::To(rule.next_nodes.clone()) } else { Way::On(Fork::Rule(nth + 1)) })
            }
        }
    }

    /// The targets an agent names. Any it may not name fails the run before anything is emitted.
    fn chosen(
        &mut self,
        plan: &Plan,
        place: NodeIndex,
        value: ValueId,
        available: &[NodeIndex],
    ) -> Stopped<Vec<NodeIndex>> {
        let answer = self.look(value)?;
        let names = match answer.get("next_nodes") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(names)) => names.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let mut chosen = Vec::new();
        for name in names {
            let target = name.as_str().and_then(|name| plan.place(name));
            match target.filter(|target| available.contains(target)) {
                Some(target) if chosen.contains(&target) => {}
                Some(target) => chosen.push(target),
                None => {
                    let message =
                        format!("{} chose {name}, which is not among its next nodes", plan.id(place));
                    return Stop::failed(codes::UNAUTHORIZED_ROUTE, message);
                }
            }
        }
        Ok(chosen)
    }

    /// How a node fails whose condition cannot be evaluated, if it is to.
    fn unclear(
        &mut self,
        visit: &Visit,
        name: &str,
        condition: &Prepared,
        (value, verdict): (ValueId, &Verdict),
    ) -> Stopped<Option<Box<Failure>>> {
        let Verdict::NotEvaluable(reason) = verdict else { return Ok(None) };
        let place = self.place(&visit.node);
        if self.plan.node(place).on_condition_error == OnConditionError::NotMet {
            return Ok(None);
        }
        let seen = self.seen(condition, [value])?;
        let output = self.look(value)?;
        let told = seen.looked_at(condition, &output);
        Ok(Some(Box::new(condition_error(&visit.node, name, condition, (reason, &told)))))
    }

    /// Leaves the verdict in the history.
    pub fn tell(&mut self, node: &str, condition: String, verdict: Verdict) -> bool {
        let (result, reason) = match verdict {
            Verdict::Met => (true, String::new()),
            Verdict::NotMet => (false, String::new()),
            Verdict::NotEvaluable(reason) => (false, reason),
            Verdict::Ask(_) => (false, "it was not asked".to_owned()),
        };
        let node = node.to_owned();
        self.events.push(EventData::ConditionEvaluated(ConditionEvaluated {
            node,
            condition,
            result,
            reason,
        }));
        result
    }

    pub fn ask_sandbox(&mut self, call: &SandboxCall) -> CommandId {
        let input = Payload::of(call).expect("calls always serialise");
        // It stops by itself in time; this is for a worker that does not.
        let timeout = Some(Millis(call.timeout_ms).saturating_add(Millis::from_secs(30)));
        self.run_task(SANDBOX_TASK.to_owned(), input, TaskOptions { timeout, ..TaskOptions::default() })
    }
}

/// Names the expression, the fields it looked at, and what was there.
pub fn condition_error(
    node: &str,
    name: &str,
    condition: &Prepared,
    (reason, told): (&str, &str),
) -> Failure {
    let written = condition.written();
    let message = format!("{name} of {node} cannot be evaluated: {written}: {reason}; {told}");
    let code = format!("{}:{node}", codes::CONDITION_ERROR);
    Failure { kind: codes::CONDITION_ERROR.to_owned(), ..Failure::permanent(code, message) }
}

/// Where a broken loop leads: `break_path` if given, else the branch, else the dependents.
fn after(looping: &Loop) -> Way {
    match &looping.break_path {
        Some(path) => Way::To(path.clone()),
        None => Way::On(Fork::Rule(0)),
    }
}
