//! Prints the positions of a graph's tokens.

use rhythm_core::{Timestamp, label};
use rhythm_engine::tokens::{Place, WaitsFor};

use crate::errors::CliResult;
use crate::output::Table;
use crate::session::Session;
use crate::times::relative;

pub fn tell(session: &Session, places: &[Place], now: Timestamp) -> CliResult {
    let mut table = Table::new(&["NODE", "WAITS FOR", "TOKEN IDS", "SINCE"]);
    for place in places {
        let tokens: Vec<String> = place.tokens.iter().map(u64::to_string).collect();
        let since = place.since.map(|since| relative(now, since)).unwrap_or_default();
        let node = label::shown(&place.node, place.label.as_deref(), place.item, None);
        table.row(vec![node, awaited(&place.waits_for), tokens.join(", "), since]);
    }
    session.out.section("tokens", &table)
}

fn awaited(what: &WaitsFor) -> String {
    match what {
        WaitsFor::Task => "its task".to_owned(),
        WaitsFor::Child => "its workflow".to_owned(),
        WaitsFor::Timer => "a timer".to_owned(),
        WaitsFor::Signal(name) => format!("signal {name}"),
        WaitsFor::Approval => "a decision".to_owned(),
        WaitsFor::Condition => "the answer about a condition".to_owned(),
        WaitsFor::Join { missing, .. } => format!("tokens of {}", missing.join(", ")),
        WaitsFor::Compensation => "what undoes its work".to_owned(),
        WaitsFor::Turn(kind) => {
            format!("its turn: no more tasks of the type {kind} may be under way at once")
        }
        WaitsFor::Held(why) => format!("somebody to try it again: {why}"),
    }
}
