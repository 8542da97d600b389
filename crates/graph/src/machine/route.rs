//! Routes a result: a loop decides first, then a branch, else the tokens go to the dependents. A condition
//! that needs a sandbox keeps the visit in routing until the answer arrives. Earlier decisions are not made
//! again.

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

/// A visit whose result waits for a sandbox answer about a condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Routing {
    pub value: ValueId,
    pub task: CommandId,
    /// The command that the node itself had issued.
    command: Option<CommandId>,
    at: Fork,
    /// Number of the condition's program that is running.
    index: u32,
    answers: Answers,
}

impl Routing {
    /// Returns the conditions of a node up to the one being evaluated, in order.
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

/// A condition that decides where a result goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Fork {
    Loop,
    /// The loop of a node whose approval was rejected.
    Rejected,
    Rule(usize),
}

/// Result of a decision.
enum Way {
    To(Vec<NodeIndex>),
    On(Fork),
    Ask(Box<SandboxCall>),
    /// The condition cannot be evaluated, and the node has `on_condition_error: fail`.
    Fail(Box<Failure>),
}

impl Machine<'_> {
    /// Routes a new result. In a loop this counts one more pass.
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

    /// Routes a rejection at a node whose loop decides about rejections first.
    pub fn route_rejection(&mut self, visit: Visit, command: Option<CommandId>, value: ValueId) -> Stopped {
        *self.memory.passes.entry(visit.node.clone()).or_default() += 1;
        self.follow(visit, (command, value), Fork::Rejected, Answers::new())
    }

    /// Routes again after the conditions changed during an evaluation, from the first of them on. A decision
    /// of a loop stays, and its pass stays counted.
    pub fn reroute(&mut self, visit: Visit, routing: Routing) -> Stopped {
        let at = match routing.at {
            Fork::Loop | Fork::Rejected => routing.at,
            Fork::Rule(_) => Fork::Rule(0),
        };
        self.follow(visit, (routing.command, routing.value), at, Answers::new())
    }

    /// Continues routing with the answer of a sandbox.
    pub fn routed(&mut self, visit: Visit, routing: Routing, answer: Result<Payload, String>) -> Stopped {
        let answer = self.answer_of(answer)?;
        let Routing { value, command, at, index, mut answers, .. } = routing;
        answers.insert(index, answer);
        self.follow(visit, (command, value), at, answers)
    }

    /// Returns a sandbox's answer. A failed task means that the condition is not evaluable.
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

    /// Takes back one pass, because a held node makes the same pass again when it begins again.
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

    /// Returns the targets that an agent chose. A target outside its list fails the run before any token is
    /// emitted.
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

    /// Returns the failure of a node whose condition cannot be evaluated, when the node must fail for that.
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

    /// Records a verdict in the history. Returns whether the condition is met.
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
        // The sandbox stops by itself in time. This timeout covers a worker that does not.
        let timeout = Some(Millis(call.timeout_ms).saturating_add(Millis::from_secs(30)));
        self.run_task(SANDBOX_TASK.to_owned(), input, TaskOptions { timeout, ..TaskOptions::default() })
    }
}

/// Returns the failure of a condition that cannot be evaluated. It names the expression, the fields read and
/// their values.
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

/// Returns where a broken loop leads: `break_path` if set, else the branch, else the dependents.
fn after(looping: &Loop) -> Way {
    match &looping.break_path {
        Some(path) => Way::To(path.clone()),
        None => Way::On(Fork::Rule(0)),
    }
}
