//! Errors for callers of the engine, each with a code and advice.

use rhythm_core::{CommandId, Timestamp};
use thiserror::Error;

use crate::inputs::Misfit;
use crate::world::{ApprovalRow, ApprovalState, WorldError};

/// Error of a request through the client.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    World(#[from] WorldError),
    #[error("no workflow named {0} is registered")]
    UnknownWorkflow(String),
    #[error("there is no run {0}")]
    UnknownRun(String),
    #[error("the ids of several {kind}s end with {end}: {}{}", ids.join(", "), and_more(*more))]
    Ambiguous {
        kind: &'static str,
        end: String,
        ids: Vec<String>,
        /// Number of ids that are not listed.
        more: usize,
    },
    #[error("there is no dead letter {0}")]
    UnknownLetter(String),
    #[error("there is no schedule named {0}")]
    UnknownSchedule(String),
    #[error("there is no task {0}")]
    UnknownTask(String),
    #[error("run {0} has ended")]
    Ended(String),
    #[error("too many messages wait for run {0}")]
    InboxFull(String),
    #[error("{0} exists already with another name or input")]
    KeyConflict(String),
    #[error("the value has {size} bytes, the limit is {limit}")]
    TooLarge { size: u64, limit: u64 },
    #[error("run {0} failed by its deadline and has cleaned up, or a child was cancelled with it")]
    PastDeadline(String),
    #[error("workflow {workflow} has no version {version}")]
    UnknownVersion { workflow: String, version: String },
    #[error("run {run} cannot go on with version {version}: {reason}{sources}")]
    VersionMisfit {
        run: String,
        version: String,
        reason: String,
        /// Both sources side by side, on lines of their own; empty for graphs.
        sources: String,
    },
    #[error("run {run} has no event {event}; it has {count}")]
    UnknownEvent { run: String, event: u64, count: usize },
    #[error("the input does not fit workflow {workflow}: {misfit}")]
    Misfit { workflow: String, misfit: Misfit },
    #[error("workflow {workflow} cannot be registered:\n{problems}")]
    Refused { workflow: String, problems: String },
    #[error("{0} is not one of a graph: only those have nodes, and can be patched")]
    NotPatchable(String),
    #[error("{of} is refused: {code}: {message}")]
    PatchRefused {
        of: String,
        /// For example `live_node_removed`.
        code: String,
        message: String,
    },
    #[error("run {run} has not considered the patch within {seconds} s; it will when it is stepped next")]
    Unconsidered { run: String, seconds: u64 },
    #[error("{of} has no patch {number}")]
    UnknownPatch { of: String, number: usize },
    #[error("the graph of run {run} has no node {node}")]
    UnknownNode { run: String, node: String },
    #[error("node {node} of run {run} is not what failed{}", but(failed.as_deref()))]
    NodeNotFailed {
        run: String,
        node: String,
        /// The node that stopped the run instead, if it was a node.
        failed: Option<String>,
    },
    #[error("run {0} has not stopped: it goes on without being asked to")]
    NotStopped(String),
    #[error("there is no tag {0}")]
    UnknownTag(String),
    #[error("tag {0} points at nothing")]
    EmptyTag(String),
    #[error("tag {tag} has no move v{number}; it has {count}")]
    UnknownMove { tag: String, number: u64, count: u64 },
    #[error("there is no artifact {0}")]
    UnknownArtifact(String),
    #[error("{what} was moved meanwhile: it is at {now}")]
    Moved { what: String, now: String },
    #[error("tag {tag} points at a version of {of}, not of {workflow}")]
    WrongTag { tag: String, workflow: String, of: String },
    #[error("run {0} has taken back what it did: it is not opened again")]
    Compensated(String),
    #[error("run {0} is taking back what it did already")]
    Compensating(String),
    #[error("run {0} has done nothing that a compensator could take back")]
    NothingToCompensate(String),
    #[error("run {run} has asked nobody under {approval}")]
    UnknownApproval { run: String, approval: String },
    #[error("approval {} of run {} {}", .0.approval, .0.run, what_became(.0))]
    ApprovalClosed(Box<ApprovalRow>),
    #[error("{who} may not decide on approval {approval} of run {run}; {} may", approvers.join(", "))]
    NotAnApprover { run: String, approval: CommandId, who: String, approvers: Vec<String> },
    #[error("run {run} has failed before it took the answer to approval {approval}; it keeps the answer")]
    AnswerKept { run: String, approval: CommandId },
    #[error("the key that signs approval links {0}")]
    LinkKey(&'static str),
    #[error("this is no approval link of ours")]
    BadLink,
    #[error("the approval link has expired at {0}")]
    ExpiredLink(Timestamp),
    #[error("{0}")]
    Invalid(String),
}

fn and_more(more: usize) -> String {
    if more == 0 { String::new() } else { format!(" and {more} more") }
}

fn but(failed: Option<&str>) -> String {
    failed.map(|node| format!(": {node} is")).unwrap_or_default()
}

/// Describes the decision with its author and time, or why there is none.
fn what_became(row: &ApprovalRow) -> String {
    let at = row.decided_at.map(|at| format!(" at {at}")).unwrap_or_default();
    match row.state {
        ApprovalState::Pending => "has an answer already, which its run is about to take".to_owned(),
        ApprovalState::Decided => {
            let decision = row.decision.as_deref().unwrap_or("decided");
            let by = row.decided_by.as_deref().unwrap_or("somebody");
            format!("was decided already: {decision} by {by}{at}")
        }
        ApprovalState::Timeout => format!("was given up{at}: nobody had decided in time"),
        ApprovalState::Cancelled => format!("was cancelled{at}: its run needs no answer any more"),
    }
}

impl EngineError {
    /// Returns the stable code; `docs/errors/<code>.md` explains it.
    pub fn code(&self) -> &'static str {
        match self {
            Self::World(error) => error.code(),
            Self::UnknownWorkflow(_) => "ENGINE001",
            Self::UnknownRun(_) => "ENGINE002",
            Self::UnknownLetter(_) => "ENGINE003",
            Self::UnknownSchedule(_) => "ENGINE004",
            Self::UnknownTask(_) => "ENGINE005",
            Self::Ended(_) => "ENGINE006",
            Self::InboxFull(_) => "ENGINE007",
            Self::KeyConflict(_) => "ENGINE008",
            Self::TooLarge { .. } => "ENGINE009",
            Self::Invalid(_) => "ENGINE010",
            Self::PastDeadline(_) => "ENGINE011",
            Self::Misfit { .. } => "ENGINE012",
            Self::UnknownVersion { .. } => "ENGINE013",
            Self::UnknownEvent { .. } => "ENGINE014",
            Self::Refused { .. } => "ENGINE015",
            Self::NotPatchable(_) => "ENGINE016",
            Self::PatchRefused { .. } => "ENGINE017",
            Self::Unconsidered { .. } => "ENGINE018",
            Self::UnknownPatch { .. } => "ENGINE019",
            Self::UnknownTag(_) | Self::EmptyTag(_) | Self::UnknownMove { .. } => "ENGINE020",
            Self::Moved { .. } => "ENGINE021",
            Self::WrongTag { .. } => "ENGINE022",
            Self::UnknownNode { .. } => "ENGINE023",
            Self::NodeNotFailed { .. } => "ENGINE024",
            Self::NotStopped(_) => "ENGINE025",
            Self::UnknownArtifact(_) => "ENGINE026",
            Self::Ambiguous { .. } => "ENGINE027",
            Self::VersionMisfit { .. } => "VERSION001",
            Self::Compensated(_) => "COMPENSATION001",
            Self::Compensating(_) => "COMPENSATION002",
            Self::NothingToCompensate(_) => "COMPENSATION003",
            Self::UnknownApproval { .. } => "APPROVAL001",
            Self::ApprovalClosed(_) => "APPROVAL002",
            Self::NotAnApprover { .. } => "APPROVAL003",
            Self::LinkKey(_) => "APPROVAL004",
            Self::BadLink => "APPROVAL005",
            Self::ExpiredLink(_) => "APPROVAL006",
            Self::AnswerKept { .. } => "APPROVAL007",
        }
    }

    /// Returns advice for the user.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::World(error) => error.advice(),
            Self::UnknownWorkflow(_) => "register the workflow first, or check its name",
            Self::UnknownRun(_) => "`rhythm runs list` shows the runs there are",
            Self::Ambiguous { .. } => "write more of the id; the whole id always works",
            Self::UnknownLetter(_) => "`rhythm dead list` shows the dead letters there are",
            Self::UnknownSchedule(_) => "`rhythm schedules list` shows the schedules there are",
            Self::UnknownTask(_) => "`rhythm tasks list` shows the tasks there are",
            Self::Ended(_) => "start a new run; a failed one can be opened again with `rhythm runs retry`",
            Self::InboxFull(_) => "let the run consume what waits for it before sending more",
            Self::KeyConflict(_) => "use another idempotency key for other input",
            Self::TooLarge { .. } => "store the content elsewhere and pass a reference to it",
            Self::Invalid(_) => {
                "change what the message names; `rhythm COMMAND --help` says what the command takes"
            }
            Self::PastDeadline(_) => {
                "fork it at an event before its deadline, or start a new run with a later one"
            }
            Self::UnknownEvent { .. } => "`rhythm runs events RUN` shows the events with their numbers",
            Self::Refused { .. } => "each message says what to write instead; nothing was registered",
            Self::UnknownTag(_) => "`rhythm workflows tags` shows the tags there are",
            Self::EmptyTag(_) => {
                "`rhythm workflows tag TAG --history` shows where it has been, `--rollback` brings it back"
            }
            Self::UnknownMove { .. } => "`rhythm workflows tag TAG --history` shows its moves",
            Self::UnknownArtifact(_) => "`rhythm artifacts list` shows what is kept, with the hashes",
            Self::Moved { .. } => "look at what is there now, and decide again",
            Self::WrongTag { .. } => {
                "leave the workflow's name out: the tag names it, or use a tag of that workflow"
            }
            Self::UnknownNode { .. } => "`rhythm graph --run RUN` shows the nodes there are",
            Self::NodeNotFailed { .. } => "`rhythm explain RUN` says what failed, or what the run waits for",
            Self::NotStopped(_) => {
                "`rhythm explain RUN` says what it waits for; `rhythm runs patch RUN` changes what is still to come"
            }
            Self::VersionMisfit { .. } => {
                "nothing was changed; `--at-line N` names the line of the new version that waits for what the run waits for, and \
                 `rhythm runs fork RUN --at EVENT --version V` begins a run of its own at an earlier event"
            }
            Self::NotPatchable(_) => "register a corrected workflow, and start a run of that",
            Self::PatchRefused { .. } => {
                "nothing was changed; look at what is there now, and write the patch for that"
            }
            Self::Unconsidered { .. } => {
                "`rhythm explain RUN` says what it waits for, `rhythm runs patches RUN` what became of the patch"
            }
            Self::UnknownPatch { .. } => {
                "`rhythm runs patches RUN` and `rhythm workflows patches NAME` list the patches there are"
            }
            Self::Compensated(_) => {
                "start a new run; `rhythm explain RUN` says whether something is left to be taken back"
            }
            Self::Compensating(_) => "`rhythm explain RUN` says what it waits for",
            Self::NothingToCompensate(_) => {
                "only nodes of graphs that have a `compensator` can be undone, once they have run"
            }
            Self::UnknownApproval { .. } => "`rhythm approvals list` shows what waits for an answer",
            Self::ApprovalClosed(_) => {
                "nothing more can be decided here; `rhythm approvals show` tells all of it"
            }
            Self::NotAnApprover { .. } => {
                "let one of them decide, or decide for one of them as delegate (`--as NAME`)"
            }
            Self::AnswerKept { .. } => {
                "`rhythm runs retry RUN` opens the run again, and the answer counts; a new run does not know it"
            }
            Self::LinkKey(_) => {
                "set RHYTHM_LINK_KEY, or `link_key` under `[approvals]` in rhythm.toml, to at least 32 random characters, \
                 such as those of `openssl rand -base64 32`"
            }
            Self::BadLink => {
                "ask whoever sent it for a new one; links work where they were made, whole and unchanged"
            }
            Self::ExpiredLink(_) => "ask whoever sent it for a new one",
            Self::UnknownVersion { .. } => "`rhythm workflows versions NAME` shows the versions there are",
            Self::Misfit { .. } => {
                "correct the input; `rhythm workflows show NAME` has the schema: `input` in the front matter of a flow, `inputs` of a graph"
            }
        }
    }
}
