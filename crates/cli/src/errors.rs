//! The error type of commands: a code, a message, a help text and an exit code.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

use clap::error::ErrorKind;
use rhythm_core::Failure;
use rhythm_engine::error::EngineError;
use rhythm_engine::world::WorldError;
use serde_json::json;
use thiserror::Error;

use crate::error_pages;
use crate::output::clean;

pub type CliResult<T = ()> = Result<T, CliError>;

#[derive(Debug, Error)]
pub enum CliError {
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error("{what} is not valid JSON: {reason}")]
    BadJson {
        what: String,
        reason: String,
        /// The wrong line and the column of the error.
        place: Option<(String, usize)>,
    },
    #[error("{what}: {reason}")]
    BadDuration { what: String, reason: String },
    #[error("{path} cannot be read: {reason}")]
    BadFile { path: String, reason: String },
    #[error("there is no {endings} file in {path}")]
    EmptyFolder { path: String, endings: String },
    #[error("{path}: {reason}")]
    BadConfig { path: String, reason: String },
    #[error("{0}")]
    Usage(String),
    #[error("this would {0}")]
    Unconfirmed(String),
    #[error("{path} is not a workflow this build can register: {reason}")]
    BadWorkflow { path: String, reason: String },
    #[error("{0}")]
    BadValue(String),
    #[error("the answer cannot be written: {0}")]
    Output(String),
    #[error("{what} failed{place}: {failure}")]
    Failed {
        what: String,
        /// ` at line 3`, or empty.
        place: String,
        help: String,
        failure: Box<Failure>,
    },
    #[error("{what} was cancelled")]
    Cancelled { what: String },
    #[error("run {run} does not verify: {problem}")]
    Unverified { run: String, problem: String },
    #[error("{0} found")]
    Unhealthy(String),
    #[error("{reason}")]
    Bench { reason: String, interrupted: bool },
    /// The problems were printed with their source; this is the last line.
    #[error("{0}")]
    Refused(String),
    /// The number of failed scenarios was printed already.
    #[error("not every scenario passed")]
    TestsFailed,
    #[error("run {run} was left where it stands")]
    Interrupted { run: String, help: String },
    #[error("run {run} is blocked: {reason}")]
    Blocked { run: String, reason: String, flags: String },
    /// The reader of our output has closed the pipe. This is not printed.
    #[error("nobody reads the output any more")]
    BrokenPipe,
}

impl From<WorldError> for CliError {
    fn from(error: WorldError) -> Self {
        Self::Engine(error.into())
    }
}

impl From<rhythm_bench::BenchError> for CliError {
    fn from(error: rhythm_bench::BenchError) -> Self {
        match error {
            rhythm_bench::BenchError::Engine(error) => Self::Engine(error),
            other => Self::Bench {
                reason: other.to_string(),
                interrupted: matches!(other, rhythm_bench::BenchError::Interrupted),
            },
        }
    }
}

impl From<rhythm::Error> for CliError {
    fn from(error: rhythm::Error) -> Self {
        match error {
            rhythm::Error::Engine(error) => Self::Engine(error),
            other => Self::Output(other.to_string()),
        }
    }
}

impl CliError {
    /// Returns the stable error code, which `docs/errors/<code>.md` explains.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.code(),
            Self::BadJson { .. } => "CLI001",
            Self::BadDuration { .. } => "CLI002",
            Self::BadFile { .. } | Self::EmptyFolder { .. } => "CLI003",
            Self::BadConfig { .. } => "CLI004",
            Self::Usage(_) => "CLI005",
            Self::Unconfirmed(_) => "CLI006",
            Self::BadWorkflow { .. } => "CLI007",
            Self::BadValue(_) => "CLI008",
            Self::Output(_) | Self::BrokenPipe => "CLI009",
            Self::Failed { .. } => "CLI010",
            Self::Cancelled { .. } => "CLI011",
            Self::Unverified { .. } => "CLI012",
            Self::Unhealthy(_) => "CLI013",
            Self::Bench { .. } => "CLI014",
            Self::Refused(_) => "CLI015",
            Self::TestsFailed => "CLI016",
            Self::Interrupted { .. } => "CLI017",
            Self::Blocked { .. } => "CLI018",
        }
    }

    fn help(&self) -> String {
        let text = match self {
            Self::Engine(error) => error.advice(),
            Self::BadJson { .. } => {
                "put the whole value in single quotes, as in '{\"name\": \"Ann\"}', or use @FILE or - (standard input)"
            }
            Self::BadDuration { .. } => "write a number and a unit, such as 500ms, 10s, 1h30m or 2d",
            Self::BadFile { .. } => "check the path and who may read it",
            Self::EmptyFolder { .. } => "name a file, or a folder that has such files somewhere below it",
            Self::BadConfig { .. } => {
                "rhythm.toml may hold world, tenant and [worker] queues, concurrency, poll_interval, patience, \
                 retention, failed_retention, blob_grace, fast, allow_shell, allow_hosts, and [approvals] link_key, link_base"
            }
            Self::Usage(_) => "`rhythm --help` lists the commands, `rhythm COMMAND --help` their options",
            Self::Unconfirmed(_) => "add --yes if that is what you want",
            Self::BadWorkflow { .. } => "register files named NAME.flow, or folders with such files",
            Self::BadValue(_) => "`--help` shows what this option takes",
            Self::Output(_) => "check what standard output is connected to",
            Self::Failed { help, .. } => help,
            Self::Cancelled { .. } => "start it again if it is still wanted",
            Self::Unverified { .. } => "keep the database as it is and report this; it should not happen",
            Self::Unhealthy(_) => "each finding above says what to do",
            Self::Bench { interrupted: true, .. } => {
                "what it made is cleared up; start it again when there is time"
            }
            Self::Bench { .. } => {
                "the message says what stands in the way; `rhythm bench WORKLOAD --help` lists the sizes"
            }
            Self::Refused(_) => "each message above says what to write instead",
            Self::Interrupted { help, .. } => help,
            Self::Blocked { run, flags, .. } => {
                return format!(
                    "`rhythm explain {run}{flags}` says more; once the cause is gone, `rhythm runs retry {run}{flags}` lets it go on, and \
                     `rhythm run --resume {run}{flags}` shows how"
                );
            }
            Self::TestsFailed => "each problem above says what was expected and what happened",
            Self::BrokenPipe => "",
        };
        text.to_owned()
    }

    fn exit(&self) -> u8 {
        match self {
            Self::BrokenPipe => 0,
            Self::Interrupted { .. } | Self::Bench { interrupted: true, .. } => 130,
            Self::Failed { .. } | Self::Cancelled { .. } | Self::Unverified { .. } | Self::Unhealthy(_) => 1,
            Self::Blocked { .. } | Self::Output(_) | Self::Bench { .. } => 1,
            Self::Refused(_) | Self::TestsFailed => 1,
            Self::Engine(error) => engine_exit(error),
            _ => 2,
        }
    }
}

fn engine_exit(error: &EngineError) -> u8 {
    match error {
        EngineError::World(error) => match error {
            WorldError::Invalid(_) | WorldError::BadUrl(_) | WorldError::NotADatabase(_) => 2,
            WorldError::NotFound(_) | WorldError::NoDatabase { .. } | WorldError::NoFile(_) => 3,
            WorldError::Conflict(_) => 4,
            WorldError::Unavailable(_)
            | WorldError::Locked(_)
            | WorldError::ReadOnly(_)
            | WorldError::Full(_)
            | WorldError::Crowded(_)
            | WorldError::Untrusted(_)
            | WorldError::Denied(_) => 5,
            WorldError::Broken(_)
            | WorldError::Corrupt(_)
            | WorldError::NewerSchema { .. }
            | WorldError::OldSchema { .. }
            | WorldError::Drift { .. } => 6,
        },
        EngineError::UnknownWorkflow(_)
        | EngineError::UnknownVersion { .. }
        | EngineError::UnknownEvent { .. }
        | EngineError::UnknownRun(_)
        | EngineError::UnknownLetter(_)
        | EngineError::UnknownSchedule(_)
        | EngineError::UnknownPatch { .. }
        | EngineError::UnknownTag(_)
        | EngineError::EmptyTag(_)
        | EngineError::UnknownMove { .. }
        | EngineError::UnknownArtifact(_)
        | EngineError::UnknownNode { .. }
        | EngineError::UnknownTask(_)
        | EngineError::UnknownApproval { .. } => 3,
        EngineError::Ended(_)
        | EngineError::ApprovalClosed(_)
        | EngineError::Compensated(_)
        | EngineError::Compensating(_)
        | EngineError::NothingToCompensate(_)
        | EngineError::NodeNotFailed { .. }
        | EngineError::NotStopped(_)
        | EngineError::InboxFull(_)
        | EngineError::KeyConflict(_)
        | EngineError::PatchRefused { .. }
        | EngineError::Moved { .. }
        | EngineError::PastDeadline(_)
        | EngineError::VersionMisfit { .. } => 4,
        EngineError::Unconsidered { .. } | EngineError::AnswerKept { .. } => 5,
        EngineError::Ambiguous { .. }
        | EngineError::TooLarge { .. }
        | EngineError::Misfit { .. }
        | EngineError::Refused { .. }
        | EngineError::NotPatchable(_)
        | EngineError::WrongTag { .. }
        | EngineError::NotAnApprover { .. }
        | EngineError::LinkKey(_)
        | EngineError::BadLink
        | EngineError::ExpiredLink(_)
        | EngineError::Invalid(_) => 2,
    }
}

/// Prints errors as text or JSON. Made before the arguments are parsed, so that it can print errors of the
/// arguments.
pub struct Reporter {
    json: bool,
    color: bool,
}

impl Reporter {
    pub fn guess(arguments: &[OsString]) -> Self {
        let texts: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let joined = texts.iter().any(|text| matches!(*text, "--output=json" | "-ojson" | "-o=json"));
        let apart = texts.windows(2).any(|pair| matches!(pair, ["--output" | "-o", "json"]));
        Self { json: joined || apart, color: color_wanted(std::io::stderr().is_terminal()) }
    }

    pub fn report(&self, error: &CliError) -> ExitCode {
        if !matches!(error, CliError::BrokenPipe) {
            let failure = match error {
                CliError::Failed { failure, .. } => Some(&**failure),
                _ => None,
            };
            let place = match error {
                CliError::BadJson { place, .. } => place.as_ref(),
                _ => None,
            };
            self.tell(error.code(), &error.to_string(), &error.help(), place, failure);
        }
        ExitCode::from(error.exit())
    }

    /// Prints clap's errors and its output for `--help` and `--version`.
    pub fn usage(&self, error: &clap::Error) -> ExitCode {
        if !error.use_stderr() {
            // The reader may close the pipe early.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
        let text = error.render().to_string();
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand && !self.json {
            let _ = error.print();
            return ExitCode::from(2);
        }
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        let problem = CliError::Usage(text.to_owned());
        if self.json {
            return self.report(&problem);
        }
        // Clap's text already ends with a help text.
        self.tell(problem.code(), text, "", None, None);
        ExitCode::from(problem.exit())
    }

    fn tell(
        &self,
        code: &str,
        message: &str,
        help: &str,
        place: Option<&(String, usize)>,
        failure: Option<&Failure>,
    ) {
        let mut text = if self.json {
            let mut error = json!({ "code": code, "message": message, "help": help });
            if let Some(failure) = failure {
                error["failure"] = serde_json::to_value(failure).unwrap_or_default();
            }
            json!({ "error": error }).to_string()
        } else {
            let (red, bold, plain) =
                if self.color { ("\x1b[1;31m", "\x1b[1m", "\x1b[0m") } else { ("", "", "") };
            // Terminals that support links open the code's page on a click.
            let link = error_pages::link(code).filter(|_| self.color);
            let (open, close) = match &link {
                Some(link) => (format!("\x1b]8;;{link}\x1b\\"), "\x1b]8;;\x1b\\"),
                None => (String::new(), ""),
            };
            let mut text = format!("{red}error[{open}{code}{close}]{plain}: {}", lines(message));
            if let Some((line, column)) = place {
                text.push_str(&format!("\n    {}\n    {}^", clean(line), " ".repeat(*column)));
            }
            if !help.is_empty() {
                text.push_str(&format!("\n  {bold}help{plain}: {}", lines(help)));
            }
            text
        };
        text.push('\n');
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// Removes control characters except line breaks.
fn lines(text: &str) -> String {
    text.lines().map(clean).collect::<Vec<_>>().join("\n")
}

/// Whether to print colours: only to a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`.
pub fn color_wanted(terminal: bool) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    terminal && !refused && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
