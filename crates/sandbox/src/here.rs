//! Runs programs in the process of the caller. Only tests of this repository use it, with programs of this
//! repository.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

use crate::child::{STACK, of_panic, work};
use crate::error::{Limit, SandboxError};
use crate::request::Request;

/// Time limit for programs that count no steps. Steps and memory bound all other programs, with the same
/// result on every machine however busy it is.
const PATIENCE: Duration = Duration::from_secs(120);

/// Evaluates on its own thread. After the time limit it returns an error, but the thread goes on.
pub fn evaluate(request: Request) -> Result<Value, SandboxError> {
    evaluate_within(PATIENCE, request)
}

fn evaluate_within(patience: Duration, request: Request) -> Result<Value, SandboxError> {
    let (tell, told) = mpsc::channel();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&request)));
        // The receiver is gone after the time limit.
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
        let asked = json!({"language": "jq", "filter": "[range(100000000)] | length"});
        let asked = serde_json::from_value(asked).unwrap();
        assert_eq!(evaluate_within(Duration::from_millis(20), asked), Err(SandboxError::limit(Limit::Time)));
    }

    #[test]
    fn the_time_a_program_asks_for_is_no_matter_of_the_clock() {
        let code =
            "def evaluate(output, context):\n    for i in range(20000):\n        x = i\n    return True\n";
        let asked = json!({"language": "program", "code": code, "timeout_ms": 1});
        assert_eq!(answer(asked), Ok(json!(true)));
        let code = "def evaluate(output, context):\n    for i in range(1000000000):\n        x = i\n    return True\n";
        let asked = json!({"language": "program", "code": code, "timeout_ms": 1});
        assert_eq!(answer(asked), Err(SandboxError::limit(Limit::Ticks)));
    }
}
