//! Generators for the shapes of `moves.rs`. Names come from small sets, so that they repeat.

use proptest::collection::vec;
use proptest::prelude::*;
use rhythm_core::Millis;
use rhythm_engine::world::Ask;

use super::ledger::NOBODY;
use super::moves::*;

pub fn who() -> impl Strategy<Value = Who> {
    let tenant = prop_oneof![14 => Just(0_usize), 1 => Just(1)];
    let worker = prop_oneof![6 => Just(0_usize), 3 => Just(1), 1 => Just(2)];
    (tenant, worker).prop_map(|(tenant, worker)| Who { tenant, worker })
}

pub fn pick() -> impl Strategy<Value = Pick> {
    let back = prop_oneof![6 => Just(0_usize), 3 => 1..4_usize, 1 => 4..20_usize];
    (back, prop::bool::weighted(0.1)).prop_map(|(back, spent)| Pick { back, spent })
}

fn run_number() -> impl Strategy<Value = u8> {
    prop_oneof![12 => 0..4_u8, 6 => 4..NOBODY, 1 => Just(NOBODY)]
}

/// Odd lengths, so that due times seldom coincide, and 0 for those that do.
fn length() -> impl Strategy<Value = Millis> {
    prop_oneof![2 => Just(0_u64), 3 => 1..3_000_u64, 3 => 3_000..100_000_u64].prop_map(Millis)
}

fn delay() -> impl Strategy<Value = Millis> {
    prop_oneof![3 => Just(Millis::ZERO), 1 => length()]
}

fn priority() -> impl Strategy<Value = i32> {
    prop_oneof![4 => Just(0), 1 => Just(5), 1 => Just(-3)]
}

pub fn run() -> impl Strategy<Value = RunShape> {
    let deadline = prop::option::weighted(0.2, length());
    (
        0..6_u8,
        prop_oneof![5 => Just(0_u8), 1 => 1..3_u8],
        0..3_u8,
        priority(),
        delay(),
        deadline,
        any::<bool>(),
    )
        .prop_map(|(name, input, workflow, priority, delay, deadline, labelled)| RunShape {
            name,
            input,
            workflow,
            priority,
            delay,
            deadline,
            labelled,
        })
}

pub fn task() -> impl Strategy<Value = TaskShape> {
    let input = prop_oneof![5 => Just(0_u8), 1 => 1..3_u8];
    let deadline = prop::option::weighted(0.2, length());
    (0..8_u8, input, 0..2_u8, 0..2_u8, priority(), delay(), deadline, any::<bool>()).prop_map(
        |(name, input, handler, queue, priority, delay, deadline, claim)| TaskShape {
            name,
            input,
            handler,
            queue,
            priority,
            delay,
            deadline,
            claim,
        },
    )
}

pub fn mail() -> impl Strategy<Value = MailShape> {
    let kind = prop_oneof![
        5 => Just(MailKind::Go),
        2 => Just(MailKind::Stop),
        1 => Just(MailKind::Cancel),
        1 => Just(MailKind::Approval),
        1 => Just(MailKind::Patch),
    ];
    (run_number(), 0..20_u8, kind).prop_map(|(to, id, kind)| MailShape { to, id, kind })
}

fn wrong() -> impl Strategy<Value = Wrong> {
    prop_oneof![
        24 => Just(Wrong::Nothing),
        1 => any::<bool>().prop_map(Wrong::Revision),
        1 => any::<bool>().prop_map(Wrong::Arrived),
        1 => Just(Wrong::Worker),
        1 => any::<bool>().prop_map(Wrong::Claim),
        2 => Just(Wrong::Repeat),
    ]
}

fn end() -> impl Strategy<Value = EndShape> {
    prop_oneof![
        12 => Just(EndShape::Waits),
        1 => Just(EndShape::Completed),
        3 => Just(EndShape::Failed),
        1 => Just(EndShape::Cancelled),
    ]
}

/// Draws a short list: often empty, seldom two items.
fn few<S: Strategy>(each: S) -> impl Strategy<Value = Vec<S::Value>> {
    vec((each, prop::bool::weighted(0.4)), 0..3)
        .prop_map(|drawn| drawn.into_iter().filter(|(_, kept)| *kept).map(|(each, _)| each).collect())
}

pub fn step() -> impl Strategy<Value = StepShape> {
    let asks = (few(task()), few(length()), few(run()), few(mail()));
    let settled = few((pick(), prop::bool::weighted(0.7)));
    let takes_back = (few(pick()), few(pick()), prop::bool::weighted(0.1), settled);
    let consumed = prop_oneof![4 => Just(usize::MAX), 1 => 0..3_usize];
    let fold = (consumed, 0..4_u8, prop::bool::weighted(0.2), end());
    (pick(), wrong(), fold, asks, takes_back).prop_map(
        |(
            claim,
            wrong,
            (consumed, awaiting, more, end),
            (tasks, timers, children, mail),
            (cancel_tasks, cancel_timers, cancel_open, settled),
        )| StepShape {
            claim,
            wrong,
            consumed,
            awaiting,
            tasks,
            timers,
            children,
            mail,
            cancel_tasks,
            cancel_timers,
            cancel_open,
            settled,
            more,
            end,
        },
    )
}

fn can_step() -> impl Strategy<Value = CanStep> {
    prop_oneof![
        4 => Just(CanStep::Everything),
        1 => Just(CanStep::OneKind),
        1 => Just(CanStep::TwoWorkflows),
    ]
}

pub fn find_due() -> impl Strategy<Value = Move> {
    let after = prop_oneof![2 => length().prop_map(Pass::By), 1 => (0..=1_i64).prop_map(Pass::ToDue)];
    (who(), after, can_step(), prop::option::of(step())).prop_map(|(who, after, can, step)| Move::FindDue {
        who,
        after,
        can,
        step,
    })
}

pub fn wake() -> impl Strategy<Value = Move> {
    (pick(), step()).prop_map(|(due, step)| Move::Wake { due, step })
}

pub fn claim_runs() -> impl Strategy<Value = Move> {
    let hold = prop_oneof![3 => Just(Millis(30_000)), 1 => length()];
    (who(), 1..4_usize, can_step(), hold, ask()).prop_map(|(who, limit, can, hold, ask)| Move::ClaimRuns {
        who,
        limit,
        can,
        hold,
        ask,
    })
}

/// Few numbers, so that a repeated call often matches an earlier one.
fn ask() -> impl Strategy<Value = Ask> {
    (0..3_u64, prop::bool::weighted(0.3)).prop_map(|(number, again)| Ask { number, again })
}

pub fn claim_tasks() -> impl Strategy<Value = Move> {
    let rare = || prop::bool::weighted(0.15);
    (who(), 1..4_usize, prop::bool::weighted(0.7), rare(), any::<bool>(), rare(), ask()).prop_map(
        |(who, limit, both_queues, named, with_runs, overdue, ask)| Move::ClaimTasks {
            who,
            limit,
            both_queues,
            named,
            with_runs,
            overdue,
            ask,
        },
    )
}

pub fn commit() -> impl Strategy<Value = Move> {
    let release = prop_oneof![
        2 => any::<bool>().prop_map(|unseen| ReleaseShape::Idle { unseen }),
        1 => (length(), any::<bool>()).prop_map(|(after, blocked)| ReleaseShape::Later { after, blocked }),
        1 => any::<bool>().prop_map(|no_version| ReleaseShape::Aside { no_version }),
    ];
    let released = prop_oneof![3 => Just(vec![]).boxed(), 1 => vec((pick(), release), 1..3).boxed()];
    (prop_oneof![1 => vec(step(), 0..1), 8 => vec(step(), 1..2), 2 => vec(step(), 2..4)], released)
        .prop_map(|(items, released)| Move::Commit { items, released })
}

pub fn fuse() -> impl Strategy<Value = Move> {
    let row = prop_oneof![1 => Just(RowShape::Claimed), 2 => Just(RowShape::Current)];
    (pick(), row, prop::bool::weighted(0.2), step()).prop_map(|(task, row, second, step)| Move::Fuse {
        task,
        row,
        second,
        step,
    })
}

pub fn begin() -> impl Strategy<Value = Move> {
    (who(), run(), prop::option::weighted(0.3, 0..3_u8), step())
        .prop_map(|(who, run, if_current, step)| Move::Begin { who, run, if_current, step })
}

pub fn outcome() -> impl Strategy<Value = OutcomeShape> {
    prop_oneof![
        4 => Just(OutcomeShape::Completed),
        2 => delay().prop_map(OutcomeShape::Retry),
        3 => any::<bool>().prop_map(|hold| OutcomeShape::Exhausted { hold }),
        1 => Just(OutcomeShape::Cancelled),
        1 => Just(OutcomeShape::Released),
    ]
}

pub fn beat() -> impl Strategy<Value = Move> {
    (who(), vec(pick(), 0..3), any::<bool>(), prop::bool::weighted(0.2))
        .prop_map(|(who, tasks, progress, leaving)| Move::Beat { who, tasks, progress, leaving })
}

pub fn order() -> impl Strategy<Value = Order> {
    let run = run_number;
    let name = || 0..2_u8;
    let reopen = (run(), prop::bool::weighted(0.1), any::<bool>(), any::<bool>());
    let fire = (name(), prop::bool::weighted(0.2), prop::option::of(run_number()), prop::option::of(0..8_u8));
    prop_oneof![
        2 => run().prop_map(Order::PauseRun),
        2 => run().prop_map(Order::ResumeRun),
        2 => run().prop_map(Order::Unblock),
        1 => run().prop_map(Order::Annotate),
        1 => name().prop_map(Order::PauseWorkflow),
        2 => name().prop_map(Order::ResumeWorkflow),
        1 => name().prop_map(Order::PauseQueue),
        2 => name().prop_map(Order::ResumeQueue),
        6 => reopen.prop_map(|(run, late, requeue, redeliver)| Order::Reopen { run, late, requeue, redeliver }),
        3 => (run(), prop::bool::weighted(0.1)).prop_map(|(run, late)| Order::TakeBack { run, late }),
        3 => pick().prop_map(Order::RequeueDead),
        1 => run().prop_map(Order::DismissRun),
        2 => (run(), any::<bool>()).prop_map(|(run, letters)| Order::DeleteRun(run, letters)),
        2 => (pick(), any::<bool>()).prop_map(|(letter, tell)| Order::DiscardDead(letter, tell)),
        3 => pick().prop_map(Order::CancelTask),
        2 => (name(), length()).prop_map(|(schedule, next)| Order::PutSchedule(schedule, next)),
        1 => name().prop_map(Order::RemoveSchedule),
        1 => name().prop_map(Order::PauseSchedule),
        1 => (name(), length()).prop_map(|(schedule, next)| Order::ResumeSchedule(schedule, next)),
        2 => (fire, prop::option::of(length())).prop_map(|((schedule, late, run, task), next)| {
            Order::FireSchedule { schedule, late, run, task, next }
        }),
    ]
}

pub fn duty() -> impl Strategy<Value = Duty> {
    let keep = prop_oneof![Just(Millis::ZERO), Just(Millis(20_000)), Just(Millis(86_400_000))];
    prop_oneof![
        10 => Just(Duty::Sweep),
        1 => (keep.clone(), keep).prop_map(|(keep, keep_failed)| Duty::Retain { keep, keep_failed }),
        1 => Just(Duty::Prepare),
        1 => length().prop_map(|idle| Duty::FindStuck { idle }),
        2 => length().prop_map(|idle| Duty::MarkUnserved { idle }),
        1 => Just(Duty::DueSchedules),
    ]
}

pub fn pass() -> impl Strategy<Value = Pass> {
    prop_oneof![
        8 => length().prop_map(Pass::By),
        6 => (-1..=1_i64).prop_map(Pass::ToDue),
        1 => length().prop_map(Pass::Back),
        1 => Just(Pass::Months),
    ]
}
