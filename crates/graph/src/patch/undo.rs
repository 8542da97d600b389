//! Undoes a patch after later patches. Its inverse names positions that may hold other values by now, so each
//! value it removes is tested first. Only the patch's own changes are undone.

use serde_json::{Value, json};

use super::operations::{Operation, Pointer, find, parse};
use super::{MOST_OPERATIONS, Refused, apply, codes};

/// Returns the inverse of a patch with its tests. `after` is the document that the patch produced, and `now`
/// is the current one. List items that have moved in between are undone at their new position. Fails when a
/// later patch has changed the same value.
pub fn undo(inverse: &Value, after: &Value, now: &Value) -> Result<Value, Refused> {
    let (mut stage, mut there, mut guarded) = (after.clone(), now.clone(), Vec::new());
    for (operation, written) in parse(inverse)?.into_iter().zip(inverse.as_array().into_iter().flatten()) {
        let mut written = written.clone();
        match &operation {
            Operation::Remove { path } | Operation::Replace { path, .. } => {
                let moved = path.moved(&stage, &there).to_string();
                if let Some(value) = find(&stage, path) {
                    guarded.push(json!({"op": "test", "path": moved, "value": value}));
                }
                written["path"] = json!(moved);
            }
            Operation::Add { path, .. } => {
                let moved = path.moved(&stage, &there);
                check_free((&stage, path), (&there, &moved))?;
                written["path"] = json!(moved.to_string());
            }
            _ => {}
        }
        guarded.push(written.clone());
        let applied = operation.apply(&mut stage);
        applied.map_err(|message| Refused { code: codes::INAPPLICABLE, message })?;
        for here in parse(&json!([written]))? {
            // An operation that does not apply here is refused below, with all the operations before it.
            let _ = here.apply(&mut there);
        }
    }
    // Too many operations for one patch: replace the whole document, if no later patch changed it.
    if guarded.len() > MOST_OPERATIONS {
        guarded = vec![
            json!({"op": "test", "path": "", "value": after}),
            json!({"op": "replace", "path": "", "value": stage}),
        ];
    }
    let guarded = Value::Array(guarded);
    match apply(now, &guarded) {
        Ok(_) => Ok(guarded),
        Err(refused) => {
            let message = format!("a later patch changed what this one did: {}", refused.message);
            Err(Refused { message, ..refused })
        }
    }
}

/// Refuses to restore a key that the patch removed and a later patch has set.
fn check_free((stage, path): (&Value, &Pointer), (now, moved): (&Value, &Pointer)) -> Result<(), Refused> {
    let taken = find(now, moved).filter(|_| find(stage, path).is_none());
    match taken.is_some() && !path.is_item() {
        true => Refused::because(codes::INAPPLICABLE, format!("a later patch put something at {moved}")),
        false => Ok(()),
    }
}
