//! Work that a fork asks for again has the name it has in its origin, and no other work has.

use std::collections::BTreeMap;

use rhythm_core::event::StepScheduled;
use rhythm_core::{CommandId, Event, EventData, RunId, TaskId};
use rhythm_engine::travel::origin;

use super::{Applied, Check, Moment, Objection, Seen, View};

#[derive(Default)]
pub struct Keys {
    /// The tasks of forks and their children, and what each stands for.
    tasks: BTreeMap<(RunId, CommandId), Option<TaskId>>,
}

impl Check for Keys {
    fn name(&self) -> &'static str {
        "keys"
    }

    fn applied(&mut self, applied: &Applied<'_>, _at: &Moment<'_>) -> Result<(), Objection> {
        let Applied::Commit(commit, committed) = applied else { return Ok(()) };
        for (item, outcome) in commit.items.iter().zip(&committed.outcomes) {
            if !outcome.is_done() {
                continue;
            }
            for task in &item.tasks {
                let Some((run, number)) = &task.run else { continue };
                if run.split_fork().is_some() {
                    self.tasks.insert((run.clone(), *number), task.options.stands_for.clone());
                } else if task.options.stands_for.is_some() {
                    return Err(Objection::of_task(
                        &task.id,
                        "it stands for another task, and is of no fork",
                    ));
                }
            }
        }
        Ok(())
    }

    fn ended(&mut self, view: &View<'_>) -> Result<(), Objection> {
        for ((run, number), stands_for) in &self.tasks {
            let Some((own, row)) = asked(view.runs.get(run), *number) else { continue };
            let Some(same) = same_run(run, view) else { continue };
            let first = asked(view.runs.get(&same), *number);
            let first = first.filter(|(first, _)| first.name == own.name && first.input == own.input);
            let task = run.task(*number);
            match (stands_for, first) {
                (Some(_), None) => return Err(Objection::of_task(&task, "it stands for other work")),
                // What its origin asked for only later is work of its own.
                (None, Some((_, first))) if first.at < row.at => {
                    return Err(Objection::of_task(&task, format!("it does not stand for that of {same}")));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The run of the origin that this one repeats.
fn same_run(run: &RunId, view: &View<'_>) -> Option<RunId> {
    let (fork, path) = run.split_fork()?;
    let origin = origin(&view.runs.get(&fork)?.picture.summary)?.from;
    Some(RunId::new(format!("{origin}{path}")))
}

fn asked(seen: Option<&Seen>, number: CommandId) -> Option<(&StepScheduled, &Event)> {
    seen?.history.iter().find_map(|row| match &row.data {
        EventData::StepScheduled(asked) if asked.task == number => Some((asked, row)),
        _ => None,
    })
}
