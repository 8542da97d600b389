//! Reasons of a flow, told by the lines of its source.

use rhythm_core::{Status, label};
use rhythm_flow::inspect::{Waiting, WaitingKind};

use super::{About, Explanation, Reason, quoted};
use crate::whereabouts::Whereabouts;

pub fn tell(explanation: &mut Explanation, place: &Whereabouts) {
    if explanation.status.is_final() {
        return tell_end(explanation, place);
    }
    let mut waits: Vec<&Waiting> = place.waiting_for.iter().collect();
    for reason in &mut explanation.reasons {
        if let Some(found) = waits.iter().position(|wait| is_about(&reason.about, wait)) {
            let wait = waits.remove(found);
            at_line(reason, wait, place);
        } else if reason.code == "cancelling" {
            reason.what.push_str(&format!(" at line {}", place.line));
            show(reason, place.line, place);
        }
    }
    // A child between two attempts is no run: a timer starts it again.
    for wait in waits.into_iter().filter(|wait| wait.kind == WaitingKind::Child) {
        let its_timer = |reason: &&mut Reason| reason.about == About::Timer(wait.current);
        if let Some(reason) = explanation.reasons.iter_mut().find(its_timer) {
            let fires =
                reason.what.split_once(" fires ").map_or_else(String::new, |(_, at)| format!(" {at}"));
            let child = match &wait.label {
                Some(label) => format!("\"{label}\" (workflow {})", wait.name),
                None => format!("workflow {}", wait.name),
            };
            reason.what = format!("waiting at line {} for {child}, started again{fires}", wait.line);
            reason.code = "child";
            show(reason, wait.line, place);
        }
    }
    for reason in &mut explanation.reasons {
        if reason.line.is_none() && reason.about != About::Run {
            if let About::Timer(number) = reason.about
                && let Some(label) = place.labels.get(&number)
            {
                reason.what.insert_str(0, &format!("\"{label}\", "));
            }
            reason.what.insert_str(0, "beside that, not awaited: ");
        }
    }
    // What concerns the run as a whole first, then what it waits for, then the rest.
    explanation.reasons.sort_by_key(|reason| match reason.about {
        About::Run => 0,
        _ if reason.line.is_some() => 1,
        _ => 2,
    });
}

fn is_about(about: &About, wait: &Waiting) -> bool {
    match (about, wait.kind) {
        (About::Task(number), WaitingKind::Task)
        | (About::Timer(number), WaitingKind::Timer)
        | (About::Child(number), WaitingKind::Child) => *number == wait.current,
        (About::Signal(name), WaitingKind::Signal) => *name == wait.name,
        _ => false,
    }
}

fn at_line(reason: &mut Reason, wait: &Waiting, place: &Whereabouts) {
    reason.what = match (wait.kind, wait.until) {
        (WaitingKind::Timer, Some(until)) => {
            let label = wait.label.as_ref().map(|label| format!(" for \"{label}\"")).unwrap_or_default();
            format!("waiting at line {}{label} until {until}", wait.line)
        }
        (WaitingKind::Signal, _) if wait.label.is_some() => {
            let label = wait.label.as_deref().unwrap_or_default();
            format!("waiting at line {} for \"{label}\" ({})", wait.line, reason.what)
        }
        (WaitingKind::Child, _) if wait.item.is_some() => {
            let item = label::item_mark(wait.item, None);
            format!("waiting at line {} for{item} {}", wait.line, reason.what)
        }
        _ => format!("waiting at line {} for {}", wait.line, reason.what),
    };
    // A payload the next lines can read; the words in capitals are for whoever types it.
    let fields = place.fields_read(wait.line);
    if let (WaitingKind::Signal, Some(command)) = (wait.kind, &mut reason.command)
        && !fields.is_empty()
    {
        let form: serde_json::Map<_, _> =
            fields.into_iter().map(|field| (field.clone(), field.to_uppercase().into())).collect();
        let form = quoted(&serde_json::Value::from(form).to_string());
        *command = command.replace("--payload null", &format!("--payload {form}"));
    }
    show(reason, wait.line, place);
}

fn show(reason: &mut Reason, line: u32, place: &Whereabouts) {
    reason.line = Some(line);
    reason.source = place.source_line(line);
}

fn tell_end(explanation: &mut Explanation, place: &Whereabouts) {
    let Some(reason) = explanation.reasons.first_mut() else { return };
    if explanation.status == Status::Failed {
        reason.what = reason.what.replacen("it failed: ", &format!("it failed at line {}: ", place.line), 1);
    }
    show(reason, place.line, place);
}
