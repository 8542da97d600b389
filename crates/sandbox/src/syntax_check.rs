//! Checks that a program can be parsed, when its workflow is registered. The program is not run, so the check
//! happens in the process of the caller.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rhythm_graph::Language;

use crate::child::{jq, of_panic, program};
use crate::error::SandboxError;

/// Largest program that is checked here, in bytes. A longer one is parsed only when it runs, in a child
/// process that may crash.
const LONGEST: usize = 8 * 1024;
/// Bytes of stack: 64 KiB for each byte of the program, because each byte opens at most one level. The kernel
/// provides the memory only when it is used.
const STACK: usize = LONGEST * 64 * 1024;

/// Checks a program without running it. Fails with a message if it cannot be parsed.
pub fn read_program(language: Language, text: &str) -> Result<(), String> {
    if text.len() > LONGEST {
        return Ok(());
    }
    let read = match language {
        Language::Python => program::read,
        Language::Jq => jq::read,
    };
    apart(text, read).map_err(|error| error.to_string())
}

/// Runs the check on a thread whose stack is large enough for any program of that size.
fn apart(text: &str, read: fn(&str) -> Result<(), SandboxError>) -> Result<(), SandboxError> {
    std::thread::scope(|scope| {
        let work = move || catch_unwind(AssertUnwindSafe(|| read(text)));
        let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let Ok(thread) = thread else { return Ok(()) };
        let result = thread.join().and_then(|result| result);
        result.unwrap_or_else(|panic| Err(of_panic(panic.as_ref())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn python(code: &str) -> Result<(), String> {
        read_program(Language::Python, code)
    }

    fn jq(filter: &str) -> Result<(), String> {
        read_program(Language::Jq, filter)
    }

    #[test]
    fn what_can_be_run_can_be_read() {
        assert_eq!(python("def evaluate(output, context):\n    return output is not None\n"), Ok(()));
        assert_eq!(python("evaluate = lambda output, context: True\n"), Ok(()));
        assert_eq!(jq(".items | map(.n) | add"), Ok(()));
    }

    #[test]
    fn what_cannot_is_told_with_its_line() {
        let wrong = |code: &str| python(code).unwrap_err();
        assert!(wrong("def evaluate(output context) return").contains("line 1"));
        assert!(wrong("def evaluate(output, context):\n    try:\n        pass\n").contains("no exceptions"));
        assert!(wrong("def decide(output, context):\n    return True\n").contains("no function evaluate"));
        assert!(jq("(((").is_err());
        assert!(jq("nothing_such(1)").unwrap_err().contains("nothing_such"));
    }

    #[test]
    fn deep_texts_are_read_or_refused_and_end_nobody() {
        for (part, tail) in [
            ("[", ""),
            ("(", ""),
            ("not ", "1"),
            ("-", "1"),
            ("f(", ""),
            ("x if ", "1"),
            ("lambda: ", "1"),
            ("a.", "a"),
            ("1+", "1"),
            ("{1:", ""),
        ] {
            let deep = part.repeat(LONGEST / part.len() - 100);
            let _ = python(&format!("def evaluate(output, context):\n    return {deep}{tail}\n"));
            let _ = jq(&format!("{deep}{tail}"));
            let closed: String = match part {
                "[" => "]".into(),
                "(" => ")".into(),
                "f(" => ")".into(),
                "{1:" => "}".into(),
                _ => String::new(),
            };
            let half = part.repeat(LONGEST / (part.len() + 1) - 100);
            let rest = closed.repeat(LONGEST / (part.len() + 1) - 100);
            let _ = python(&format!("def evaluate(output, context):\n    return {half}1{rest}\n"));
            let _ = jq(&format!("{half}1{rest}"));
        }
        for part in [
            "if . then ",
            "def f: ",
            "reduce . as $x (",
            ". as $x | ",
            "try ",
            "\"\\(",
            "..|",
            "label $f | ",
            ". as [$a] ?// ",
        ] {
            let _ = jq(&part.repeat(LONGEST / part.len() - 1));
        }
        let mut loops = String::from("def evaluate(output, context):\n");
        for depth in 1..300 {
            loops.push_str(&format!("{}for i in range(2):\n", " ".repeat(depth)));
        }
        loops.push_str(&format!("{}x = 1\n", " ".repeat(300)));
        let _ = python(&loops);
    }
}
