//! Undoing a patch after others came. Its inverse names places, and those may hold something else by now: every value it
//! takes away is tested for first, so that nothing is undone but what the patch did.

use serde_json::{Value, json};

use super::operations::{Operation, Pointer, find, parse};
use super::{MOST_OPERATIONS, Refused, apply, codes};

/// The inverse of a patch with its tests. `after` is the document the patch made, `now` the one it is undone in.
pub fn undo(inverse: &Value, after: &Value, now: &Value) -> Result<Value, Refused> {
    let (mut stage, mut guarded) = (after.clone(), Vec::new());
    for (operation, written) in parse(inverse)?.into_iter().zip(inverse.as_array().into_iter().flatten()) {
        match &operation {
            Operation::Remove { path } | Operation::Replace { path, .. } => {
                if let Some(value) = find(&stage, path) {
                    guarded.push(json!({"op": "test", "path": path.to_string(), "value": value}));
                }
            }
            Operation::Add { path, .. } => check_free(&stage, now, path)?,
            _ => {}
        }
        guarded.push(written.clone());
        let applied = operation.apply(&mut stage);
        applied.map_err(|message| Refused { code: codes::INAPPLICABLE, message })?;
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
fn check_free(stage: &Value, now: &Value, path: &Pointer) -> Result<(), Refused> {
    let taken = find(now, path).filter(|_| find(stage, path).is_none());
    match taken.is_some() && !path.is_item() {
        true => Refused::because(codes::INAPPLICABLE, format!("a later patch put something at {path}")),
        false => Ok(()),
    }
}
