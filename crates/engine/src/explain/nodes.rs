//! Reasons of a graph, told by its nodes: where its tokens are, and what each of them waits for.

use rhythm_core::RunId;

use super::{About, Explanation, Reason, TRIED_AGAIN, reason, try_again};
use crate::tokens::{Place, Standing, Unclear, WaitsFor};

pub fn tell(explanation: &mut Explanation, standing: &Standing) {
    if explanation.status.is_final() {
        return;
    }
    for reason in &mut explanation.reasons {
        if let Some(place) = standing.places.iter().find(|place| is_about(&reason.about, place)) {
            at_node(reason, place);
        }
    }
    let held: Vec<Reason> =
        standing.places.iter().filter_map(|place| held(&explanation.run, place)).collect();
    if !held.is_empty() {
        // They say all that is said of the run as a whole, and in its place.
        let reasons = &mut explanation.reasons;
        let is_said = |reason: &Reason| reason.code == "dead_letter" && reason.about == About::Run;
        let first = reasons.iter().position(is_said).unwrap_or_default();
        reasons.retain(|reason| reason.code != "stuck" && !is_said(reason));
        reasons.splice(first..first, held);
    }
    let moving = explanation.reasons.iter().any(|reason| reason.code != "stuck");
    let joins = standing.places.iter().filter_map(|place| join(place, moving));
    explanation.reasons.extend(joins);
}

/// The last of them; a loop may have met the same one many times.
const MOST_UNCLEAR: usize = 5;

/// Conditions that counted as not met because nobody could say: why a token went another way than one expects.
pub fn tell_unclear(explanation: &mut Explanation, mut unclear: Vec<Unclear>) {
    let more = unclear.len().saturating_sub(MOST_UNCLEAR);
    for (place, told) in unclear.split_off(more).into_iter().enumerate() {
        let mut what = told.to_string();
        if more > 0 && place == 0 {
            what.push_str(&format!("; so were {more} before"));
        }
        let moves_when = "it has been passed; `on_condition_error: fail` would let the node fail instead";
        explanation.reasons.push(reason("condition_unclear", what, Some(told.at), moves_when, None));
    }
}

fn is_about(about: &About, place: &Place) -> bool {
    match (about, &place.waits_for) {
        (About::Signal(name), WaitsFor::Signal(awaited)) => name == awaited,
        (About::Task(number), WaitsFor::Task | WaitsFor::Condition | WaitsFor::Compensation)
        | (About::Child(number), WaitsFor::Child)
        | (About::Timer(number), WaitsFor::Timer)
        | (About::Approval(number), WaitsFor::Approval) => place.command == Some(*number),
        _ => false,
    }
}

fn at_node(reason: &mut Reason, place: &Place) {
    let what = std::mem::take(&mut reason.what);
    let awaited = what.strip_prefix("waiting for ").unwrap_or(&what);
    let awaited = match place.waits_for {
        WaitsFor::Condition => format!("an answer about where its token goes: {awaited}"),
        WaitsFor::Compensation => format!("what it did to be undone: {awaited}"),
        _ => awaited.to_owned(),
    };
    // What a task or child says of itself is not said twice.
    let label = place.label.as_ref().filter(|label| !awaited.contains(&format!("\"{label}\"")));
    let node = named(&place.node, label);
    reason.what = match (&place.waits_for, place.item) {
        (WaitsFor::Timer, None) => format!("node {node} waits: {awaited}"),
        (WaitsFor::Timer, Some(item)) => format!("node {node} waits with item [{item}]: {awaited}"),
        (WaitsFor::Child, Some(item)) => format!("node {node} waits for [{item}] {awaited}"),
        _ => format!("node {node} waits for {awaited}"),
    };
    reason.since = reason.since.or(place.since);
    reason.line = Some(place.line).filter(|line| *line > 0);
}

fn named(node: &str, label: Option<&String>) -> String {
    label.map_or_else(|| node.to_owned(), |label| format!("{node} (\"{label}\")"))
}

/// A node that has failed and keeps its run waiting.
fn held(run: &RunId, place: &Place) -> Option<Reason> {
    let WaitsFor::Held(why) = &place.waits_for else { return None };
    let what = format!("node {} is held after {why}", named(&place.node, place.label.as_ref()));
    let command = Some(try_again(run, &place.node));
    let mut reason = reason("node_held", what, place.since, TRIED_AGAIN, command);
    reason.line = Some(place.line).filter(|line| *line > 0);
    Some(reason)
}

/// Tokens at a join; where nothing else moves, they cannot either.
fn join(place: &Place, moving: bool) -> Option<Reason> {
    let WaitsFor::Join { here, missing } = &place.waits_for else { return None };
    let (here, missing) = (here.join(", "), missing.join(", "));
    let what = format!(
        "node {} has tokens of {here} and waits for {missing}",
        named(&place.node, place.label.as_ref())
    );
    let mut reason = match moving {
        true => {
            let moves_when = format!("{missing} sent theirs, or can no longer send any");
            reason("join", what, place.since, moves_when, None)
        }
        false => {
            let what = format!("{what}, but nothing is under way that could lead there");
            reason("stuck_tokens", what, place.since, "somebody repairs the run", None)
        }
    };
    reason.line = Some(place.line).filter(|line| *line > 0);
    Some(reason)
}

#[cfg(test)]
mod tests {
    use rhythm_core::{CommandId, Status};

    use super::*;

    fn place(node: &str, waits_for: WaitsFor, command: Option<u64>) -> Place {
        let command = command.map(CommandId);
        let (label, item) = (None, None);
        Place { node: node.into(), label, line: 3, waits_for, command, item, since: None, tokens: vec![1] }
    }

    #[test]
    fn reasons_name_their_nodes_and_joins_who_is_missing() {
        let task = reason("task_ready", "waiting for task pay (r:4)", None, "", None);
        let approval = reason("approval", "a decision on approval 5", None, "", None);
        let mut explanation = Explanation {
            run: RunId::new("r"),
            status: Status::Waiting,
            summary: String::new(),
            reasons: vec![
                task.about(About::Task(CommandId(4))),
                approval.about(About::Approval(CommandId(5))),
            ],
        };
        let join = WaitsFor::Join { here: vec!["pay".into()], missing: vec!["ask".into()] };
        let places = vec![
            place("pay", WaitsFor::Task, Some(4)),
            place("ask", WaitsFor::Approval, Some(5)),
            place("ship", join, None),
        ];
        let graph = rhythm_graph::compile("nodes: [{id: a}]", &Default::default()).graph.unwrap();
        tell(&mut explanation, &Standing { graph, counter: 3, places });
        let said: Vec<&str> = explanation.reasons.iter().map(|reason| reason.what.as_str()).collect();
        assert_eq!(
            said,
            [
                "node pay waits for task pay (r:4)",
                "node ask waits for a decision on approval 5",
                "node ship has tokens of pay and waits for ask",
            ]
        );
    }
}
