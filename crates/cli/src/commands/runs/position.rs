//! Prints the position of a flow's run, with its variables.

use rhythm_core::{Status, label};
use rhythm_engine::whereabouts::Whereabouts;
use rhythm_flow::inspect::{Waiting, WaitingKind};

use crate::errors::CliResult;
use crate::output::{Table, short};
use crate::session::Session;

/// Number of characters shown of a value.
const SHOWN: usize = 200;

pub fn tell(session: &Session, status: Status, position: &Whereabouts) -> CliResult {
    let verb = match status {
        Status::Failed => "failed",
        Status::Completed | Status::Cancelled => "ended",
        Status::Pending | Status::Running | Status::Waiting => "stands",
    };
    let headline = format!("{verb} at line {}", position.line);
    session.out.styled(&format!("\n{}", session.out.bold(&headline)))?;
    session.out.line(format!("{:>4} | {}", position.line, position.text))?;
    let waits: Vec<String> = position.waiting_for.iter().map(wait).collect();
    if !waits.is_empty() {
        session.out.line(format!("waits for {}", waits.join(", ")))?;
    }
    let mut variables = Table::new(&["VARIABLE", "VALUE"]);
    for (name, value) in &position.variables.0 {
        variables.row(vec![name.clone(), short(value.text().unwrap_or("(large)"), SHOWN)]);
    }
    session.out.section("variables", &variables)
}

fn wait(wait: &Waiting) -> String {
    let what = match (wait.kind, wait.until) {
        (WaitingKind::Task, _) => format!("task {}", wait.name),
        (WaitingKind::Child, _) => format!("workflow {}", wait.name),
        (WaitingKind::Signal, _) => format!("signal {}", wait.name),
        (WaitingKind::Timer, Some(until)) => until.to_string(),
        (WaitingKind::Timer, None) => "a timer".to_owned(),
    };
    let (mark, line) = (label::item_mark(wait.item, None), wait.line);
    match &wait.label {
        Some(label) => format!("\"{label}\"{mark} ({what}, line {line})"),
        None => format!("{what}{mark} (line {line})"),
    }
}
