//! A deadline is thrown once at the current wait; the run then fails with it, whatever its clean-up does.

use rhythm_core::failure::codes;
use rhythm_core::run::Grace;
use rhythm_core::time::Millis;

use super::*;

const ORDER: &str = r#"
    let paid = await Task.run("charge", {})
    try { await Task.run("ship", {}) } catch (e) {
        log(e.code, e.message)
        let back = await Task.run("refund", { paid })
        return { refunded: back }
    }"#;

fn too_late(run: &mut Rehearsal) -> Advanced {
    run.send("deadline", MessageBody::DeadlineReached)
}

fn cancel(run: &mut Rehearsal, id: &str) -> Advanced {
    run.send(id, MessageBody::Cancel(Cancel::because("enough")))
}

/// Returns a run that reached its deadline while shipping, and now refunds.
fn refunding() -> (Rehearsal, Advanced) {
    let mut run = Rehearsal::of(ORDER);
    run.start("{}");
    run.complete(1, "7");
    let told = too_late(&mut run);
    (run, told)
}

fn failure(advanced: &Advanced) -> String {
    match &advanced.end {
        Some(End::Failed(failure)) => failure.to_string(),
        other => panic!("{other:?}"),
    }
}

const PLAIN: &str = "DEADLINE_EXCEEDED: the run's deadline has passed";

#[test]
fn a_deadline_is_thrown_at_the_current_wait_and_clean_up_may_wait() {
    let (mut run, told) = refunding();
    assert!(told.cancel_open, "what was under way is asked to stop");
    assert_eq!(told.end, None);
    let Command::StartTimer(grace) = &told.commands[0] else { panic!("{:?}", told.commands) };
    assert_eq!(grace.fire_at, Timestamp(run.now).plus(Millis::from_secs(300)));
    assert_eq!(task(&told, 1).name, "refund");
    let log = told.events.iter().find(|event| event.data.kind() == "log").unwrap();
    assert!(log.data.to_json().contains("DEADLINE_EXCEEDED"), "{}", log.data.to_json());
    assert_eq!(Grace::of(&run.state.awaiting), Some(Grace { timer: grace.timer, cancelled: false }));
    let ended = run.complete(4, "true");
    assert_eq!(failure(&ended), PLAIN, "whatever it returned");
    assert!(!ended.cancel_open, "what clean-up left behind by itself finishes detached");
}

#[test]
fn what_clean_up_has_under_way_when_its_time_is_over_is_cancelled() {
    let (mut run, told) = refunding();
    let Command::StartTimer(grace) = &told.commands[0] else { panic!("{:?}", told.commands) };
    let ended = run.fire(grace.timer.0);
    assert_eq!(
        failure(&ended),
        format!("{PLAIN}; its clean-up failed: TIMEOUT: clean-up was not done after 5m")
    );
    assert!(ended.cancel_open);
}

#[test]
fn clean_up_takes_as_long_as_the_front_matter_says() {
    let defaults = Defaults { cleanup_grace: Some(Millis(1_500)), ..Defaults::default() };
    let mut run =
        Rehearsal::with(r#"try { await Signal.next("go") } catch (e) { await Signal.next("on") }"#, defaults);
    run.start("{}");
    let told = too_late(&mut run);
    assert!(
        matches!(&told.commands[..], [Command::StartTimer(timer)] if timer.fire_at == Timestamp(run.now + 1_500))
    );
}

#[test]
fn it_is_thrown_only_once() {
    let (mut run, _) = refunding();
    let before = run.snapshot();
    let again = too_late(&mut run);
    assert_eq!((again.end, again.commands.len(), again.cancel_open), (None, 0, false));
    assert_eq!(run.snapshot(), before);
}

#[test]
fn a_program_that_does_not_catch_it_fails_at_once_and_can_be_opened_again_as_it_was() {
    let mut run = Rehearsal::of(r#"let a = await Task.run("a", {}) return a"#);
    run.start("{}");
    let before = run.snapshot();
    let ended = too_late(&mut run);
    assert_eq!(failure(&ended), PLAIN);
    assert!(ended.cancel_open);
    assert_eq!(ended.commands, [], "no timer is left behind");
    assert_eq!(Grace::of(&run.state.awaiting), None);
    assert_eq!(run.snapshot().replace("\"commands\":2", "\"commands\":1"), before);
}

#[test]
fn what_goes_wrong_in_clean_up_is_told_with_it() {
    let (mut run, _) = refunding();
    let mut lost = rhythm_core::Failure::permanent("NO_MONEY", "the account is closed");
    lost.attempts = 3;
    let ended = run.send("task:4", MessageBody::TaskFailed(TaskFailed { task: CommandId(4), failure: lost }));
    assert!(
        failure(&ended).starts_with(&format!("{PLAIN}; its clean-up failed: NO_MONEY")),
        "{}",
        failure(&ended)
    );
    assert_eq!(failure_code(&ended), codes::DEADLINE_EXCEEDED);
}

#[test]
fn a_cancel_during_clean_up_changes_nothing_and_a_second_one_ends_it() {
    let (mut run, _) = refunding();
    let before = run.snapshot();
    let first = cancel(&mut run, "c1");
    assert_eq!((first.end, first.cancel_open, run.snapshot()), (None, false, before));
    let mut patient = Rehearsal::of(ORDER);
    std::mem::swap(&mut patient, &mut run);
    let state = patient.state.clone();
    assert_eq!(failure(&patient.complete(4, "true")), PLAIN, "failed, not cancelled: alerts must see it");
    patient.state = state;
    let second = cancel(&mut patient, "c2");
    assert_eq!(failure(&second), PLAIN);
    assert!(second.cancel_open);
}

#[test]
fn a_deadline_that_comes_while_a_cancelled_run_cleans_up_only_limits_that() {
    let mut run = Rehearsal::of(ORDER);
    run.start("{}");
    run.complete(1, "7");
    cancel(&mut run, "c1");
    let told = too_late(&mut run);
    assert_eq!((told.end.clone(), told.cancel_open), (None, false));
    let [Command::StartTimer(grace)] = &told.commands[..] else { panic!("{:?}", told.commands) };
    let (timer, state) = (grace.timer, run.state.clone());
    assert!(matches!(run.complete(3, "true").end, Some(End::Cancelled(_))));
    run.state = state;
    let ended = run.fire(timer.0);
    assert!(matches!(ended.end, Some(End::Cancelled(_))), "{:?}", ended.end);
    assert!(ended.cancel_open);
}

#[test]
fn clean_up_survives_being_kept_and_read_again() {
    let (mut run, _) = refunding();
    let text = run.snapshot();
    assert!(text.contains(r#""thrown":"deadline","grace":3"#), "{text}");
    run.set_snapshot(&text);
    assert_eq!(failure(&run.complete(4, "true")), PLAIN);
}
