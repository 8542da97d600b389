//! The codes of programs that failed. Each has a page in `docs/errors`. A program that exceeds a limit fails
//! with `LIMIT_EXCEEDED`.

/// The program cannot be parsed, or it failed while it ran.
pub const SANDBOX_BAD_PROGRAM: &str = "SANDBOX_BAD_PROGRAM";
/// The child process ended without a response.
pub const SANDBOX_CRASHED: &str = "SANDBOX_CRASHED";
/// The program's result cannot be written as JSON or is otherwise not a valid response.
pub const SANDBOX_BAD_ANSWER: &str = "SANDBOX_BAD_ANSWER";
