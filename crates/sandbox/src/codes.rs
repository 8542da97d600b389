//! The codes of programs that failed. Each has a page in `docs/errors`. What takes too much fails with
//! `LIMIT_EXCEEDED`.

/// The program cannot be read, or went wrong while it ran.
pub const SANDBOX_BAD_PROGRAM: &str = "SANDBOX_BAD_PROGRAM";
/// The process the program ran in ended without an answer.
pub const SANDBOX_CRASHED: &str = "SANDBOX_CRASHED";
/// The program's result cannot be an answer.
pub const SANDBOX_BAD_ANSWER: &str = "SANDBOX_BAD_ANSWER";
