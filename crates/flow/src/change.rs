//! Fits a run of one program to another version of it: finds the step of the new program that matches the
//! step the run waits at, and maps the variables the new program reads from there. Pure;
//! [`take_over`](rhythm_core::Program::take_over) then applies the result.

mod chain;
mod live;

use std::collections::{BTreeMap, BTreeSet};

use rhythm_core::message::MovedPosition;
use rhythm_core::payload::Payload;
use rhythm_core::program::{ProgramError, Snapshot};
use rhythm_core::time::Timestamp;
use serde::Serialize;

use super::code::{Code, Index, Step};
use super::machine::{Flow, Memory, Stage};
use chain::{Link, chain};
use live::live_after;

/// Reason why a run cannot continue with another version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Misfit {
    pub reason: String,
    /// Line in the old source where the run waits; 0 when the run has ended.
    pub from_line: u32,
    /// Lines of the new source that were considered.
    pub to_lines: Vec<u32>,
}

/// Facts about the run's start that its snapshot does not hold.
#[derive(Clone, Debug)]
pub struct Beginning {
    pub input: Payload,
    pub started_at: Timestamp,
}

/// Finds the step of another version at which the run can continue. `line`, in the new source, names the wait
/// to continue at. A run that does not fit gives `Ok(Err(Misfit))`; an unreadable snapshot gives `Err`.
pub fn fit(
    (old, new): (&Flow, &Flow),
    snapshot: &Snapshot,
    beginning: Beginning,
    line: Option<u32>,
) -> Result<Result<MovedPosition, Misfit>, ProgramError> {
    let memory = Memory::load(old, snapshot)?;
    if memory.stage == Stage::Ended {
        return Ok(Err(Misfit { reason: "it has ended".into(), from_line: 0, to_lines: Vec::new() }));
    }
    let (from, to) = (old.code(), new.code());
    let mut moved = MovedPosition::default();
    if to.reads_inputs && !from.reads_inputs && memory.stage == Stage::Running {
        moved.input = Some(beginning.input);
    }
    if to.reads_context && !from.reads_context && memory.stage == Stage::Running {
        moved.started_at = Some(beginning.started_at);
    }
    // The run has handled no message yet, so it starts the new program from the top.
    if memory.stage == Stage::Fresh {
        return Ok(Ok(MovedPosition { from_line: 1, to_line: 1, ..moved }));
    }
    let here = memory.position;
    let from_line = line_of(from, here);
    let place = match line {
        Some(line) => at_line(to, line),
        None => same_wait((from, here), to),
    };
    let there = match place {
        Ok(there) => there,
        Err((reason, to_lines)) => return Ok(Err(Misfit { reason, from_line, to_lines })),
    };
    let to_line = line_of(to, there);
    let variables = match variables((from, here), (to, there)) {
        Ok(variables) => variables,
        Err(reason) => return Ok(Err(Misfit { reason, from_line, to_lines: vec![to_line] })),
    };
    let open = memory.handles.values().filter(|handle| handle.is_open()).map(|handle| handle.step as usize);
    let mut started: Vec<(u32, u32)> =
        open.map(|step| (index(step), index(same_step((from, step), to).unwrap_or(there)))).collect();
    started.sort_unstable();
    started.dedup();
    Ok(Ok(MovedPosition {
        from_step: index(here),
        to_step: index(there),
        from_line,
        to_line,
        variables,
        started,
        ..moved
    }))
}

type Sought = Result<usize, (String, Vec<u32>)>;

/// Finds the only wait with the same text inside the same chain of loops and tries.
fn same_wait((from, here): (&Code, usize), to: &Code) -> Sought {
    let text = from.step_text(here);
    let mine = chain(from, here);
    let same_text: Vec<usize> = waits(to).filter(|step| to.step_text(*step) == text).collect();
    let same_kinds: Vec<usize> =
        same_text.iter().copied().filter(|step| kinds(&chain(to, *step)) == kinds(&mine)).collect();
    let same_heads: Vec<usize> =
        same_kinds.iter().copied().filter(|step| heads(&chain(to, *step)) == heads(&mine)).collect();
    let lines = |steps: &[usize]| steps.iter().map(|step| line_of(to, *step)).collect::<Vec<_>>();
    match (&same_kinds[..], &same_heads[..]) {
        ([only], _) | (_, [only]) => Ok(*only),
        ([], _) if same_text.is_empty() => {
            Err((format!("the new version has no `{text}`, which the run waits at"), Vec::new()))
        }
        ([], _) => Err((
            format!("`{text}`, which the run waits at, stands in other loops or tries in the new version"),
            lines(&same_text),
        )),
        (many, _) => Err((
            format!("the new version has `{text}`, which the run waits at, {} times", many.len()),
            lines(many),
        )),
    }
}

/// Finds the only wait that begins at this line.
fn at_line(to: &Code, line: u32) -> Sought {
    let here: Vec<usize> = waits(to).filter(|step| line_of(to, *step) == line).collect();
    match here[..] {
        [only] => Ok(only),
        [] => {
            let mut lines: Vec<u32> = waits(to).map(|step| line_of(to, step)).collect();
            lines.dedup();
            Err((format!("no statement that waits begins at line {line} of the new version"), lines))
        }
        _ => Err((format!("line {line} of the new version waits more than once"), vec![line])),
    }
}

/// Returns the steps at which a run can wait.
fn waits(code: &Code) -> impl Iterator<Item = usize> {
    let may_wait = |step: &Step| matches!(step, Step::Await(_) | Step::Return(_));
    (0..code.steps.len()).filter(move |place| code.steps.get(*place).is_some_and(may_wait))
}

fn kinds(chain: &[Link]) -> Vec<chain::Kind> {
    chain.iter().map(|link| link.kind).collect()
}

fn heads(chain: &[Link]) -> Vec<&str> {
    chain.iter().map(|link| link.head.as_str()).collect()
}

/// Maps each variable in scope at the new step to the variable of the run that holds its value. Fails when
/// the new program reads a variable that the run does not have.
fn variables(
    (from, here): (&Code, usize),
    (to, there): (&Code, usize),
) -> Result<Vec<(String, String)>, String> {
    let (old_names, new_names) = (names(from, here), names(to, there));
    let (old_loops, new_loops) = (walks(from, here), walks(to, there));
    let mut kept: BTreeMap<usize, usize> = BTreeMap::new();
    for (name, new) in &new_names {
        // Match variables of the same name from the innermost outwards; an inner one hides the outer one.
        let old = old_names.get(name).map(Vec::as_slice).unwrap_or_default();
        kept.extend(new.iter().rev().copied().zip(old.iter().rev().copied()));
    }
    for ((list, place), (old_list, old_place)) in new_loops.into_iter().zip(old_loops) {
        kept.extend([(list as usize, old_list as usize), (place as usize, old_place as usize)]);
    }
    let missing: Vec<String> = live_after(to, there)
        .into_iter()
        .filter(|slot| !kept.contains_key(slot))
        .filter_map(|slot| to.slots.get(slot))
        .map(|slot| match slot.is_hidden() {
            true => "the list of a loop".to_owned(),
            false => format!("`{}`", slot.name),
        })
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(format!("the new version reads {missing} from there on, which the run does not have"));
    }
    let key = |code: &Code, slot: usize| code.slots.get(slot).map(|slot| slot.key().to_owned());
    Ok(kept.into_iter().filter_map(|(new, old)| Some((key(to, new)?, key(from, old)?))).collect())
}

/// Returns the variables in scope at a step, by name; outer ones first.
fn names(code: &Code, position: usize) -> BTreeMap<&str, Vec<usize>> {
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, slot) in code.slots.iter().enumerate().filter(|(_, slot)| slot.covers(position)) {
        if !slot.is_hidden() {
            names.entry(&slot.name).or_default().push(place);
        }
    }
    names
}

/// Returns the list slot and position slot of each loop over a list around a step, outermost first.
fn walks(code: &Code, position: usize) -> Vec<(Index, Index)> {
    chain(code, position).iter().filter_map(|link| link.walk).collect()
}

/// Finds the only step with the same text, to map open handles to the step that started them.
fn same_step((from, step): (&Code, usize), to: &Code) -> Option<usize> {
    let text = from.step_text(step);
    let mut same = (0..to.steps.len()).filter(|place| to.step_text(*place) == text);
    same.next().filter(|_| same.next().is_none())
}

fn line_of(code: &Code, step: usize) -> u32 {
    code.place(step).map_or(1, |place| place.line)
}

fn index(step: usize) -> u32 {
    u32::try_from(step).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
