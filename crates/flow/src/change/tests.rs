//! The steps at which a run of one program may continue in another version.

use rhythm_core::event::Event;
use rhythm_core::failure::Failure;
use rhythm_core::fold::{Advance, Advanced, Divergence, change_version, replay};
use rhythm_core::id::{CommandId, MessageId, Version};
use rhythm_core::lineage::{ByVersion, Lineage, first_version};
use rhythm_core::message::{Actor, Message, MessageBody, TaskFailed, VersionChanged};
use rhythm_core::payload::Blobs;
use rhythm_core::program::RunFacts;

use super::*;
use crate::machine::tests::{Rehearsal, json, output};

/// Finds the matching step; the run itself does not change.
fn placed(old: &Rehearsal, new: &str, line: Option<u32>) -> Result<MovedPosition, Misfit> {
    let snapshot = old.state.snapshot.as_ref().unwrap();
    let beginning = Beginning { input: json("{\"n\": 1}"), started_at: Timestamp(10) };
    fit((&old.flow, &Rehearsal::of(new).flow), snapshot, beginning, line).unwrap()
}

fn change(old: &Rehearsal, new: &str, line: Option<u32>) -> (VersionChanged, RunFacts, Message) {
    let position = old.state.snapshot.as_ref().map(|_| placed(old, new, line).unwrap());
    let to = Version::of(new.as_bytes());
    let changed =
        VersionChanged { from: old.facts().version.clone(), to: to.clone(), reason: "bug".into(), position };
    let facts = RunFacts { version: to, ..old.facts().clone() };
    let body = MessageBody::VersionChanged(changed.clone());
    let (id, at) = (MessageId::new("version:1"), Timestamp(old.now + 10));
    (changed, facts, Message { id, at, actor: Actor::system(), trace: None, body })
}

/// Moves the run to another program.
fn changed(run: &mut Rehearsal, new: &str, line: Option<u32>) -> Advanced {
    let (changed, facts, message) = change(run, new, line);
    let next = Rehearsal::of(new);
    let (programs, at) = ((&run.flow as _, &next.flow as _), message.at);
    let step = change_version(programs, &facts, &run.state, (&message, &changed), at, &Blobs::new());
    let Ok(Advance::Advanced(advanced)) = step else { panic!("{step:?}") };
    run.become_of(next.flow, facts, advanced.state.clone());
    *advanced
}

const OLD: &str = "let total = 0\nfor (const order of inputs.orders) {\n  const paid = await Task.run(\"charge\", { id: \
                   order })\n  total = total + paid.amout\n}\nreturn total";

#[test]
fn a_run_that_failed_goes_on_with_a_repaired_program() {
    let mut run = Rehearsal::of(OLD);
    run.start("{\"orders\": [1, 2]}");
    let failed = run.complete(1, "{\"amount\": 5}");
    assert_eq!(crate::machine::tests::failure_code(&failed), "PROPERTY_NOT_FOUND");
    let repaired =
        OLD.replace("amout", "amount").replace("let total", "// repaired\nlet other = 7\nlet total");
    let moved = placed(&run, &repaired, None).unwrap();
    assert_eq!((moved.from_line, moved.to_line), (3, 5));
    let pairs: Vec<_> = moved.variables.iter().map(|(new, old)| (new.as_str(), old.as_str())).collect();
    let same = ["total", "#items", "#place", "order"].map(|name| (name, name));
    assert!(same.iter().all(|pair| pairs.contains(pair)) && pairs.len() == 4, "{pairs:?}");
    assert_eq!(crate::machine::tests::kinds(&changed(&mut run, &repaired, None).events), ["version_changed"]);
    run.complete(1, "{\"amount\": 5}");
    assert_eq!(output(&run.complete(2, "{\"amount\": 6}")), "11");
}

#[test]
fn a_run_that_failed_at_once_begins_anew_with_the_repaired_program() {
    let mut run = Rehearsal::of("return inputs.a.b");
    run.start("{\"a\": null}");
    changed(&mut run, "await Task.run(\"x\", {})\nreturn inputs.a?.b", None);
    run.start("{\"a\": null}");
    assert_eq!(output(&run.complete(1, "{}")), "null");
}

#[test]
fn the_place_is_the_one_wait_of_the_same_text_in_the_same_loops_and_tries() {
    let mut run = Rehearsal::of("try {\n  await Task.run(\"a\", { n: 1 })\n} catch (e) { }\nreturn 1");
    run.start("{}");
    let refusal = |new: &str| placed(&run, new, None).unwrap_err().reason;
    // Spaces and line numbers do not matter.
    let moved = placed(&run, "let z = 1\ntry { if (z) { await Task.run('a', {n:1}) } } catch (e) { }", None);
    assert_eq!(moved.unwrap().to_line, 2);
    let gone = refusal("await Task.run(\"b\", { n: 1 })");
    assert!(gone.contains("has no `await Task.run(\"a\", { n: 1 })`"), "{gone}");
    let elsewhere = refusal("while (inputs.x) { await Task.run(\"a\", { n: 1 }) }");
    assert!(elsewhere.contains("stands in other loops or tries"), "{elsewhere}");
    let caught = refusal("try { let z = 1 } catch (e) { await Task.run(\"a\", { n: 1 }) }");
    assert!(caught.contains("stands in other loops or tries"), "{caught}");
    let twice =
        "try {\n  await Task.run(\"a\", { n: 1 })\n  await Task.run(\"a\", { n: 1 })\n} catch (e) { }";
    let twice = placed(&run, twice, None).unwrap_err();
    assert!(twice.reason.contains("2 times"), "{twice:?}");
    assert_eq!((twice.from_line, twice.to_lines), (2, vec![2, 3]));
}

#[test]
fn of_two_loops_the_one_with_the_same_head_is_the_same() {
    let two = |second: &str| {
        format!(
            "for (const x of [1]) {{ await Task.run(\"a\", {{}}) }}\nfor (const y of {second}) {{ await Task.run(\"a\", {{}}) }}"
        )
    };
    let mut run = Rehearsal::of(&two("[2]"));
    run.start("{}");
    run.complete(1, "1");
    let (new, same) = (format!("let z = 1\n{}", two("[2]")), format!("let z = 1\n{}", two("[1]")));
    assert_eq!(placed(&run, &new, None).unwrap().to_line, 3);
    assert!(placed(&run, &same, None).unwrap_err().reason.contains("2 times"));
}

#[test]
fn a_variable_the_new_program_reads_must_be_there() {
    let mut run = Rehearsal::of("let a = 1\nawait Signal.next(\"go\")\nreturn a");
    run.start("{}");
    let refusal =
        placed(&run, "let a = 1\nlet b = 2\nawait Signal.next(\"go\")\nreturn a + b", None).unwrap_err();
    assert!(refusal.reason.contains("reads `b`"), "{refusal:?}");
    // A variable that is written before it is read, or never read, need not exist.
    for fine in [
        "let a = 1\nlet b = 2\nawait Signal.next(\"go\")\nb = 3\nreturn a + b",
        "let a = 1\nlet b = a\nawait Signal.next(\"go\")\nreturn a",
        "await Signal.next(\"go\")\nlet a = 5\nreturn a",
    ] {
        assert!(placed(&run, fine, None).is_ok(), "{fine}");
    }
    // The handler of a wait that fails reads the variable, too.
    let mut tried = Rehearsal::of("let a = 1\ntry { await task(\"x\") } catch (e) { }\nreturn a");
    tried.start("{}");
    let caught = "let a = 1\nlet b = 2\ntry { await task(\"x\") } catch (e) { return b }\nreturn a";
    assert!(placed(&tried, caught, None).unwrap_err().reason.contains("reads `b`"));
}

#[test]
fn a_line_names_the_place_where_the_text_does_not() {
    let mut run = Rehearsal::of("let r = await Task.run(\"a\", { id: inputs.idd })\nreturn r");
    run.start("{\"idd\": 1}");
    let new = "let q = 1\nlet r = await Task.run(\"a\", { id: inputs.id })\nreturn r + 1";
    assert!(placed(&run, new, None).is_err());
    assert_eq!(placed(&run, new, Some(2)).unwrap().to_line, 2);
    let wrong = placed(&run, new, Some(1)).unwrap_err();
    assert!(wrong.reason.contains("no statement that waits begins at line 1"), "{wrong:?}");
    assert_eq!(wrong.to_lines, [2, 3]);
    changed(&mut run, new, Some(2));
    assert_eq!(output(&run.complete(1, "41")), "42");
    // A line inside a loop that the run is not in cannot be used.
    let mut run = Rehearsal::of("await task(\"a\")\nreturn 1");
    run.start("{}");
    let looped = placed(&run, "for (const x of [1]) {\n  await task(\"b\")\n}", Some(2)).unwrap_err();
    assert!(looped.reason.contains("the list of a loop"), "{looped:?}");
}

#[test]
fn inputs_and_context_come_along_when_only_the_new_program_reads_them() {
    let mut run = Rehearsal::of("await Signal.next(\"go\")\nreturn 1");
    run.start("{\"n\": 1}");
    changed(&mut run, "await Signal.next(\"go\")\nreturn [inputs.n, ctx.startedAt, ctx.version]", None);
    let version = run.facts().version.clone();
    assert_eq!(output(&run.signal("s", "go", "1")), format!("[1,10,\"{version}\"]"));
}

#[test]
fn what_only_the_old_program_would_have_noticed_is_let_go() {
    let mut run = Rehearsal::of(
        "let t = Timer.delay(60)\nlet s = Signal.next(\"old\")\nawait task(\"a\")\nawait t\nawait s",
    );
    run.start("{}");
    assert!(run.state.awaiting.contains("old"));
    let advanced = changed(&mut run, "await task(\"a\")\nreturn 7", None);
    assert_eq!(advanced.commands, [rhythm_core::command::Command::CancelTimer(CommandId(1))]);
    assert!(run.state.awaiting.is_empty());
    assert_eq!(output(&run.complete(3, "1")), "7");
}

#[test]
fn a_failure_reaches_the_handler_of_the_new_program() {
    let mut run = Rehearsal::of("try {\n  await task(\"a\")\n} catch (e) {\n  throw e\n}");
    run.start("{}");
    changed(&mut run, "try {\n  await task(\"a\")\n} catch (e) {\n  return e.message\n}", None);
    let body = TaskFailed { task: CommandId(1), failure: Failure::permanent("NO", "no") };
    assert_eq!(output(&run.send("task:1", MessageBody::TaskFailed(body))), "\"no\"");
}

#[test]
fn a_history_with_a_change_folds_to_the_same_snapshot() {
    let mut run = Rehearsal::of(OLD);
    let old = run.facts().clone();
    let mut history: Vec<Event> = run.start("{\"orders\": [1, 2]}").events;
    let repaired = OLD.replace("amout", "amount").replace("let total", "let other = 7\nlet total");
    history.extend(changed(&mut run, &repaired, None).events);
    history.extend(run.complete(1, "{\"amount\": 5}").events);
    let new = run.facts().clone();
    let mut programs = ByVersion::new();
    programs.insert(old.version.clone(), std::sync::Arc::new(Rehearsal::of(OLD).flow));
    assert!(Lineage::new(&programs, &new, &history).is_some());
    let fold = |programs: &ByVersion| {
        let lineage = Lineage::new(programs, &new, &history).unwrap();
        replay::<Divergence>(lineage, &history, |_| Ok(Blobs::new()))
    };
    assert!(matches!(fold(&programs), Err(Divergence::Unsteppable { .. })), "the second program is missing");
    programs.insert(new.version.clone(), std::sync::Arc::new(Rehearsal::of(&repaired).flow));
    assert_eq!(fold(&programs).unwrap(), run.state);
    assert_eq!(first_version(&history, &new.version), &old.version);
}
