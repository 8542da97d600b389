//! The child's side: limits its own process, then answers each line of JSON with one line of JSON until its
//! input ends.

mod confine;
mod counted;
mod fstring;
pub(crate) mod jq;
mod loops;
pub(crate) mod program;
mod python;
mod ticks;

use std::io::{BufRead, BufReader, Read, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use serde_json::Value;

use crate::answer::Answer;
use crate::error::{Limit, SandboxError};
use crate::request::{MAX_LINE, Request};
use confine::Confinement;

/// Line written once, before the first request, so that the start of the child does not count as time of a
/// program.
pub(crate) const READY: &str = "ready";
/// Bytes of stack. A program that nests deeper ends the process, which the parent notices.
pub(crate) const STACK: usize = 32 * 1024 * 1024;

/// Answers requests until standard input ends. An exit code other than 0 means that the child could not limit
/// itself.
pub fn serve() -> ExitCode {
    std::panic::set_hook(Box::new(|_| {}));
    // Start the thread first: the limits forbid starting one.
    let (begin, begun) = std::sync::mpsc::channel();
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(move || match begun.recv() {
        Ok(confinement) => answer_all(&confinement),
        Err(_) => ExitCode::FAILURE,
    });
    let (Ok(worker), Ok(confinement)) = (worker, Confinement::enter()) else { return ExitCode::FAILURE };
    if begin.send(confinement).is_err() {
        return ExitCode::FAILURE;
    }
    worker.join().unwrap_or(ExitCode::FAILURE)
}

fn answer_all(confinement: &Confinement) -> ExitCode {
    let mut input = BufReader::new(std::io::stdin());
    let mut output = std::io::stdout();
    let mut line = Vec::new();
    if writeln!(output, "{READY}").and_then(|()| output.flush()).is_err() {
        return ExitCode::FAILURE;
    }
    loop {
        line.clear();
        match input.by_ref().take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line) {
            Ok(0) => return ExitCode::SUCCESS,
            Ok(_) => {}
            Err(_) => return ExitCode::FAILURE,
        }
        let (text, last) = answer(&line, confinement);
        if writeln!(output, "{text}").and_then(|()| output.flush()).is_err() || last {
            return ExitCode::FAILURE;
        }
    }
}

/// Returns the response, and whether it is the last: after a panic the state of this process cannot be
/// trusted.
fn answer(line: &[u8], confinement: &Confinement) -> (String, bool) {
    let mut last = false;
    let result = match serde_json::from_slice(line) {
        Ok(request) => {
            catch_unwind(AssertUnwindSafe(|| evaluate(&request, confinement))).unwrap_or_else(|panic| {
                last = true;
                Err(of_panic(panic.as_ref()))
            })
        }
        Err(error) => Err(SandboxError::bad_answer(format!("the question cannot be read: {error}"))),
    };
    let text = Answer { result, last }.line();
    match text.len() >= MAX_LINE {
        true => (Answer { result: Err(SandboxError::limit(Limit::Size)), last }.line(), last),
        false => (text, last),
    }
}

fn evaluate(request: &Request, confinement: &Confinement) -> Result<Value, SandboxError> {
    confinement.allow(request).map_err(SandboxError::crashed)?;
    work(request)
}

/// Evaluates a request. The caller has set the limits, if there are any.
pub(crate) fn work(request: &Request) -> Result<Value, SandboxError> {
    match request {
        Request::Program(call) => program::evaluate(call, request.max_memory_mb()),
        Request::Jq(call) => jq::run(call),
    }
}

/// Texts of panics when the kernel refuses memory to an arena, or an allocation is too large.
const MEMORY: [&str; 3] = ["out of memory", "capacity overflow", "AlignedSize must not exceed"];

pub(crate) fn of_panic(panic: &(dyn std::any::Any + Send)) -> SandboxError {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    match text {
        Some(text) if MEMORY.iter().any(|part| text.contains(part)) => SandboxError::limit(Limit::Memory),
        text => {
            let text: String = text.unwrap_or_default().chars().take(200).collect();
            SandboxError::bad_program(
                format!("the program breaks the language it is written in: {text}"),
                None,
            )
        }
    }
}
