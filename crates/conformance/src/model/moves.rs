//! Requests to a world as shapes: worker, rough content, and which of the known things. A shape names no ids,
//! so a sequence stays meaningful when shrinking removes moves. `build.rs` turns it into requests.

use proptest::prelude::*;
use rhythm_core::Millis;
use rhythm_engine::world::Ask;

/// One move of a sequence.
#[derive(Clone, Debug)]
pub enum Move {
    Register {
        version: u8,
    },
    Create(Who, Vec<RunShape>),
    Enqueue(Who, Vec<TaskShape>),
    Deliver(Who, Vec<MailShape>),
    ClaimRuns {
        who: Who,
        limit: usize,
        can: CanStep,
        hold: Millis,
        ask: Ask,
    },
    /// Finds all sleeping runs whose timer is due after a while; one of them may be stepped at once.
    FindDue {
        who: Who,
        after: Pass,
        can: CanStep,
        step: Option<StepShape>,
    },
    /// Steps a found run, which fires its timer.
    Wake {
        due: Pick,
        step: StepShape,
    },
    ClaimTasks {
        who: Who,
        limit: usize,
        both_queues: bool,
        named: bool,
        with_runs: bool,
        overdue: bool,
        ask: Ask,
    },
    /// The holder of the first claim commits, with further claims of its own.
    Commit {
        items: Vec<StepShape>,
        released: Vec<(Pick, ReleaseShape)>,
    },
    Fuse {
        task: Pick,
        row: RowShape,
        second: bool,
        step: StepShape,
    },
    /// Creates a run with its first step; with a version, only if that is the current one.
    Begin {
        who: Who,
        run: RunShape,
        if_current: Option<u8>,
        step: StepShape,
    },
    Finish(Vec<(Pick, OutcomeShape)>),
    Beat {
        who: Who,
        tasks: Vec<Pick>,
        progress: bool,
        leaving: bool,
    },
    Control(Who, Order),
    Upkeep(Duty),
    Blob {
        who: Who,
        content: u8,
        of: u8,
    },
    Time(Pass),
    /// A process closes its handle and opens another one.
    Reenter(u8),
    /// Compares the whole observable state.
    Look,
}

/// A worker and its tenant.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    pub tenant: usize,
    pub worker: usize,
}

/// Selects a known thing: `back` counts from the newest; `spent` ones were used already.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    pub back: usize,
    pub spent: bool,
}

/// The kinds and workflows a claimer of runs lists.
#[derive(Clone, Copy, Debug)]
pub enum CanStep {
    Everything,
    OneKind,
    TwoWorkflows,
}

#[derive(Clone, Debug)]
pub struct RunShape {
    pub name: u8,
    pub input: u8,
    pub workflow: u8,
    pub priority: i32,
    pub delay: Millis,
    pub deadline: Option<Millis>,
    pub labelled: bool,
}

#[derive(Clone, Debug)]
pub struct TaskShape {
    pub name: u8,
    pub input: u8,
    pub handler: u8,
    pub queue: u8,
    pub priority: i32,
    pub delay: Millis,
    pub deadline: Option<Millis>,
    pub claim: bool,
}

#[derive(Clone, Debug)]
pub struct MailShape {
    pub to: u8,
    pub id: u8,
    pub kind: MailKind,
}

#[derive(Clone, Copy, Debug)]
pub enum MailKind {
    Go,
    Stop,
    Cancel,
    Approval,
    Patch,
}

/// A transition: its claim, its commands, and its error.
#[derive(Clone, Debug)]
pub struct StepShape {
    pub claim: Pick,
    pub wrong: Wrong,
    /// Number of listed messages that are consumed.
    pub consumed: usize,
    pub awaiting: u8,
    pub tasks: Vec<TaskShape>,
    pub timers: Vec<Millis>,
    pub children: Vec<RunShape>,
    pub mail: Vec<MailShape>,
    pub cancel_tasks: Vec<Pick>,
    pub cancel_timers: Vec<Pick>,
    pub cancel_open: bool,
    /// Failures of its tasks that the run handled, or that failed it.
    pub settled: Vec<(Pick, bool)>,
    pub more: bool,
    pub end: EndShape,
}

#[derive(Clone, Copy, Debug)]
pub enum Wrong {
    Nothing,
    Revision(bool),
    Arrived(bool),
    Worker,
    Claim(bool),
    /// Repeats an earlier commit unchanged.
    Repeat,
}

#[derive(Clone, Copy, Debug)]
pub enum EndShape {
    Waits,
    Completed,
    Failed,
    Cancelled,
}

/// Source of the run's row for a fused commit.
#[derive(Clone, Copy, Debug)]
pub enum RowShape {
    /// Returned with the task.
    Claimed,
    /// Read now.
    Current,
}

#[derive(Clone, Copy, Debug)]
pub enum ReleaseShape {
    Idle { unseen: bool },
    Later { after: Millis, blocked: bool },
    Aside { no_version: bool },
}

#[derive(Clone, Copy, Debug)]
pub enum OutcomeShape {
    Completed,
    Retry(Millis),
    Exhausted { hold: bool },
    Cancelled,
    Released,
}

#[derive(Clone, Copy, Debug)]
pub enum Order {
    PauseRun(u8),
    ResumeRun(u8),
    Unblock(u8),
    Annotate(u8),
    PauseWorkflow(u8),
    ResumeWorkflow(u8),
    PauseQueue(u8),
    ResumeQueue(u8),
    Reopen {
        run: u8,
        late: bool,
        requeue: bool,
        redeliver: bool,
    },
    TakeBack {
        run: u8,
        late: bool,
    },
    RequeueDead(Pick),
    DismissRun(u8),
    /// With or without its dead letters.
    DeleteRun(u8, bool),
    DiscardDead(Pick, bool),
    CancelTask(Pick),
    PutSchedule(u8, Millis),
    RemoveSchedule(u8),
    PauseSchedule(u8),
    ResumeSchedule(u8, Millis),
    FireSchedule {
        schedule: u8,
        late: bool,
        run: Option<u8>,
        task: Option<u8>,
        next: Option<Millis>,
    },
}

#[derive(Clone, Copy, Debug)]
pub enum Duty {
    Sweep,
    Retain { keep: Millis, keep_failed: Millis },
    Prepare,
    FindStuck { idle: Millis },
    MarkUnserved { idle: Millis },
    DueSchedules,
}

#[derive(Clone, Copy, Debug)]
pub enum Pass {
    By(Millis),
    /// To just before, at, or just after the due time of the last sweep.
    ToDue(i64),
    Back(Millis),
    /// Past every prepared month.
    Months,
}

/// Draws a move, weighted by kind.
pub fn any_move() -> impl Strategy<Value = Move> {
    use super::shapes::*;
    prop_oneof![
        8 => (who(), prop::collection::vec(run(), 1..3)).prop_map(|(who, runs)| Move::Create(who, runs)),
        6 => (who(), prop::collection::vec(task(), 1..4)).prop_map(|(who, tasks)| Move::Enqueue(who, tasks)),
        8 => (who(), prop::collection::vec(mail(), 1..3)).prop_map(|(who, mail)| Move::Deliver(who, mail)),
        16 => claim_runs(),
        8 => find_due(),
        6 => wake(),
        16 => claim_tasks(),
        22 => commit(),
        18 => fuse(),
        6 => begin(),
        10 => prop::collection::vec((pick(), outcome()), 1..3).prop_map(Move::Finish),
        4 => beat(),
        12 => (who(), order()).prop_map(|(who, order)| Move::Control(who, order)),
        10 => duty().prop_map(Move::Upkeep),
        8 => pass().prop_map(Move::Time),
        2 => (0..3_u8).prop_map(|version| Move::Register { version }),
        2 => (who(), 0..3_u8, 0..3_u8).prop_map(|(who, content, of)| Move::Blob { who, content, of }),
        1 => (0..2_u8).prop_map(Move::Reenter),
        2 => Just(Move::Look),
    ]
}
