//! I3: each transition is written once, and a history has no gaps and only rows written by commits.

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::{Event, EventData, MessageId, RunId, TaskId};
use rhythm_engine::world::{Control, Controlled, FreshTime};

use super::{Applied, Check, Moment, Objection, View};

#[derive(Default)]
pub struct Gaps {
    rows: BTreeMap<(RunId, u64), Event>,
    consumed: BTreeSet<(RunId, MessageId)>,
}

impl Check for Gaps {
    fn name(&self) -> &'static str {
        "gaps"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        let (commit, committed) = match applied {
            Applied::Commit(commit, committed) => (commit, committed),
            Applied::Control(request, Controlled::Done) => {
                match &request.control {
                    Control::Reopen { run, requeue, fresh, .. } => {
                        // A requeued task answers once more. So does a deadline that is set again.
                        let anew: Vec<_> =
                            requeue.iter().chain(FreshTime::anew(fresh)).map(answer_of).collect();
                        let again = |id: &MessageId| fresh.is_some() && *id == MessageId::deadline();
                        let answers = |id: &MessageId| anew.contains(id) || again(id);
                        self.consumed.retain(|(of, id)| of != run || !answers(id));
                        self.answers_once_more(run);
                    }
                    Control::TakeBack { run, .. } => self.answers_once_more(run),
                    _ => {}
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
            if !outcome.is_done() {
                continue;
            }
            for event in &item.events {
                if self.rows.insert((item.run.clone(), event.seq), event.clone()).is_some() {
                    return Err(Objection::of_run(&item.run, format!("row {} was written twice", event.seq)));
                }
                let Some(message) = &event.message else { continue };
                if !self.consumed.insert((item.run.clone(), message.clone())) {
                    return Err(Objection::of_run(
                        &item.run,
                        format!("message {message} was consumed twice"),
                    ));
                }
            }
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for (run, seen) in &view.runs {
            for (place, event) in seen.history.iter().enumerate() {
                if event.seq != place as u64 + 1 {
                    return Err(Objection::of_run(run, format!("row {} stands at {}", event.seq, place + 1)));
                }
                match self.rows.remove(&(run.clone(), event.seq)) {
                    Some(written) if written == *event => {}
                    Some(_) => return Err(Objection::of_run(run, format!("row {} was changed", event.seq))),
                    None if is_operators(&event.data) => {}
                    None => {
                        let what = format!("no commit wrote row {} ({})", event.seq, event.data.kind());
                        return Err(Objection::of_run(run, what));
                    }
                }
            }
        }
        match self.rows.keys().next() {
            Some((run, seq)) => {
                Err(Objection::of_run(run, format!("row {seq} was acknowledged and is gone")))
            }
            None => Ok(()),
        }
    }
}

impl Gaps {
    /// A reopened run ends again, and then sends its parent a second answer.
    fn answers_once_more(&mut self, run: &RunId) {
        if let Some((parent, child)) = run.as_str().rsplit_once('.') {
            let answer = MessageId::new(format!("child:{child}"));
            self.consumed.remove(&(RunId::new(parent), answer));
        }
    }
}

fn answer_of(task: &TaskId) -> MessageId {
    let number = task.as_str().rsplit_once(':').map_or("", |(_, number)| number);
    MessageId::new(format!("task:{number}"))
}

/// Returns whether operators or background duties write this row, outside of transitions.
fn is_operators(data: &EventData) -> bool {
    matches!(
        data,
        EventData::Paused(_) | EventData::Resumed(_) | EventData::Reopened(_) | EventData::Warning(_)
    )
}
