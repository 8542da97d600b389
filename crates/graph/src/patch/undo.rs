//! Undoing a patch after others came. Its inverse names places, and those may hold something else by now: every value it
//! takes away is tested for first, so that nothing is undone but what the patch did.

use serde_json::{Value, json};

use super::operations::{Operation, Pointer, find, parse};
use super::{MOST_OPERATIONS, Refused, apply, codes};

/// The inverse of a patch with its tests. `after` is the document the patch made, `now` the one it is undone in; items of
/// lists that have moved in between are undone where they are.
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
            // What does not apply here is refused below, with all that goes before it.
            let _ = here.apply(&mut there);
        }
    }
    // Too many for one patch: the document as a whole goes back, if nothing came after.
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

/// A key the patch took away and somebody else has set since is theirs.
fn check_free((stage, path): (&Value, &Pointer), (now, moved): (&Value, &Pointer)) -> Result<(), Refused> {
    let taken = find(now, moved).filter(|_| find(stage, path).is_none());
    match taken.is_some() && !path.is_item() {
        true => Refused::because(codes::INAPPLICABLE, format!("a later patch put something at {moved}")),
        false => Ok(()),
    }
}
