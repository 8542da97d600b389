//! Objections to dead letters that do not match their run.

use rhythm_core::fold::Settled;

use super::*;

fn letter(fate: Fate, status: LetterStatus) -> DeadLetter {
    DeadLetter {
        task: task(),
        run: Some(run()),
        number: Some(CommandId(1)),
        name: "work".into(),
        input: Payload::null(),
        options: TaskOptions::default(),
        failure: Failure::new("BROKEN", ""),
        attempts: 1,
        died_at: NOW,
        held: false,
        fate,
        status,
        history: Vec::new(),
    }
}

/// A checker that saw a run handle the failure of its task.
fn handled() -> super::super::letters::Letters {
    let mut check = super::super::letters::Letters::default();
    let settled = vec![Settled { task: CommandId(1), handled: true }];
    committed(&mut check, CommitItem { settled, ..item("c1", 1) }).unwrap();
    check
}

fn ended(
    check: &mut super::super::letters::Letters,
    status: Status,
    letter: DeadLetter,
) -> Result<(), Objection> {
    let mut scene = Scene::new(status);
    scene.letters.push(letter);
    check.ended(&scene.view())
}

#[test]
fn letters_objects_to_a_handled_failure_that_is_run_again() {
    controlled(&mut super::super::letters::Letters::default(), Control::RequeueDead { task: task() }, NOW)
        .unwrap();
    controlled(&mut handled(), Control::RequeueDead { task: task() }, NOW).unwrap_err();
}

#[test]
fn letters_objects_to_a_letter_of_a_handled_failure() {
    ended(&mut handled(), Status::Completed, letter(Fate::Handled, LetterStatus::Handled)).unwrap();
    ended(&mut handled(), Status::Completed, letter(Fate::Unread, LetterStatus::Pending)).unwrap_err();
    let mut nobody = super::super::letters::Letters::default();
    ended(&mut nobody, Status::Completed, letter(Fate::Handled, LetterStatus::Handled)).unwrap_err();
}

#[test]
fn letters_objects_to_a_fate_that_is_not_its_runs() {
    let mut check = super::super::letters::Letters::default();
    let pending = |fate| letter(fate, LetterStatus::Pending);
    ended(&mut check, Status::Failed, pending(Fate::FailedRun)).unwrap();
    ended(&mut check, Status::Completed, pending(Fate::FailedRun)).unwrap_err();
    ended(&mut check, Status::Completed, pending(Fate::Unread)).unwrap();
    ended(&mut check, Status::Waiting, pending(Fate::Unread)).unwrap_err();
    ended(&mut check, Status::Cancelled, pending(Fate::Undecided)).unwrap_err();
}
