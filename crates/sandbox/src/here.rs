//! Programs in the process of their caller, for tests of workflows: nobody else's programs run in those.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::child::{STACK, of_panic, work};
use crate::error::{Limit, SandboxError};
use crate::request::Request;

/// Evaluates on a thread of its own. What takes too long is given up on, but not stopped.
pub fn evaluate(request: Request) -> Result<Value, SandboxError> {
    let patience = Duration::from_millis(request.timeout_ms());
    let (tell, told) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&request)));
        // Nobody listens any more when it took too long.
        let _ = tell.send(result.unwrap_or_else(|panic| Err(of_panic(panic.as_ref()))));
    });
    thread.map_err(SandboxError::crashed)?;
    told.recv_timeout(patience).unwrap_or(Err(SandboxError::limit(Limit::Time)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(request: Value) -> Result<Value, SandboxError> {
        evaluate(serde_json::from_value(request).unwrap())
    }

    #[test]
    fn programs_and_filters_are_answered_here_as_in_a_child() {
        let code = "def evaluate(output, context):\n    return output['n'] > 1\n";
        let asked = json!({"language": "program", "code": code, "output": {"n": 2}});
        assert_eq!(answer(asked), Ok(json!(true)));
        assert_eq!(answer(json!({"language": "jq", "filter": ".n + 1", "input": {"n": 2}})), Ok(json!(3)));
    }

    #[test]
    fn what_takes_too_long_is_given_up_on() {
        let asked = json!({"language": "jq", "filter": "[range(100000000)] | length", "timeout_ms": 20});
        assert_eq!(answer(asked), Err(SandboxError::limit(Limit::Time)));
    }
}
