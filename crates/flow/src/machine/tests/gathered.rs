//! Lists a script grows itself: they move out of the snapshot in segments that are written once, and are
//! loaded when the script reads them.

use rhythm_core::event::EventData;
use rhythm_core::fold::{Divergence, SNAPSHOT_WARN_BYTES, replay};
use rhythm_core::lineage::Lineage;
use rhythm_core::program::Program as _;

use super::*;

/// Returns a list of `count` items of about a hundred bytes, numbered from `from`.
fn page(from: usize, count: usize) -> String {
    let item = |n: usize| format!("{{\"n\":{n},\"text\":\"{}\"}}", "x".repeat(84 + n % 5));
    format!("{{\"list\":[{}]}}", (from..from + count).map(item).collect::<Vec<_>>().join(","))
}

fn written(advanced: &Advanced) -> usize {
    advanced.blobs.iter().map(|(_, content)| content.len()).sum()
}

/// Plays a program whose task `page` returns a page each time, and counts the bytes it writes.
struct Gathering {
    run: Rehearsal,
    history: Vec<Event>,
    segments: usize,
    largest: u64,
    snapshots: Vec<usize>,
}

impl Gathering {
    fn of(source: &str) -> Self {
        let mut run = Rehearsal::of(source);
        let history = run.start("null").events;
        Self { run, history, segments: 0, largest: 0, snapshots: Vec::new() }
    }

    fn answer(&mut self, task: u64, output: &str) -> Advanced {
        let advanced = self.run.complete(task, output);
        self.history.extend(advanced.events.clone());
        self.segments += written(&advanced);
        self.largest = advanced.blobs.iter().map(|(blob, _)| blob.bytes).fold(self.largest, u64::max);
        self.snapshots.push(advanced.state.snapshot.as_ref().unwrap().bytes.len());
        advanced
    }

    /// Checks that folding the history gives the same state, with only the tasks' outputs as blobs.
    fn verify(&self, outside: &[&str]) {
        let known: Blobs =
            outside.iter().filter_map(|text| spill(&json(text))).map(|(b, c)| (b.hash, c)).collect();
        let folded = replay(Lineage::of(&self.run.flow, &self.run.facts), &self.history, |wanted| {
            let found = wanted.iter().map(|blob| (blob.hash.clone(), known[&blob.hash].clone()));
            Ok::<_, Divergence>(found.collect())
        });
        assert_eq!(folded.unwrap(), self.run.state);
    }
}

#[test]
fn twenty_pages_of_150_kb_are_gathered_and_each_byte_is_written_once() {
    let mut run = Gathering::of(
        "let all = []\nlet n = 0\nwhile (n < 20) {\n  let r = await Task.run(\"page\", n)\n  all = all.concat(r.list)\n  n = n + 1\n}\nlet \
         last = await Task.run(\"page\", all[29999].n)\nreturn [all.length, all[0].n, all[12345].n, last]",
    );
    let pages: Vec<String> = (0..20).map(|n| page(n * 1_500, 1_500)).collect();
    let bytes: usize = pages.iter().map(String::len).sum();
    for (task, page) in (1..).zip(&pages) {
        run.answer(task, page);
    }
    assert!(run.largest <= 64 * 1024, "{}", run.largest);
    assert!(run.segments <= bytes && run.segments > bytes * 9 / 10, "{} of {bytes}", run.segments);
    assert!(run.snapshots.iter().all(|size| *size < 80 * 1024), "{:?}", run.snapshots);
    let last = run.answer(21, "5");
    assert_eq!(output(&last), "[30000,0,12345,5]");
    let outside: Vec<&str> = pages.iter().map(String::as_str).collect();
    run.verify(&outside);
}

#[test]
fn a_list_that_grows_by_little_costs_what_is_added_however_long_it_is() {
    for growing in [
        "all = all.concat([r])",
        "all[all.length] = r",
        "state.all = state.all.concat([r], [r].slice(1))",
        "state.all[state.all.length] = r",
    ] {
        let source = format!(
            "let all = []\nlet state = {{ all: [], n: 1 }}\nlet n = 0\nwhile (true) {{\n  let r = await Task.run(\"one\", n)\n  {growing}\n  n = n \
             + 1\n}}"
        );
        let mut run = Gathering::of(&source);
        for task in 1..=900_u64 {
            let made = run.answer(task, &format!("{{\"n\":{task},\"text\":\"{}\"}}", "y".repeat(400)));
            assert!(run.run.blobs.is_empty());
            assert!(made.end.is_none());
        }
        let gathered = 900 * 420;
        assert!(run.segments <= gathered, "{growing}: {} of {gathered}", run.segments);
        // The bytes outside of segments, and the names of segments: not much more at the end than earlier.
        let most = |sizes: &[usize]| *sizes.iter().max().unwrap();
        let (early, late) = (most(&run.snapshots[150..300]), most(&run.snapshots[750..]));
        assert!(late < early + 24 * 1024, "{growing}: {early} and {late}");
    }
}

#[test]
fn what_only_grows_is_not_loaded() {
    let mut run = Rehearsal::of(
        "let all = []\nwhile (true) {\n  let r = await Task.run(\"one\", all.length)\n  if (all && (all || 1)) { all = all.concat([r]) }\n}",
    );
    run.start("null");
    for task in 1..=200 {
        let body = TaskCompleted {
            task: CommandId(task),
            attempt: 1,
            output: json(&format!("\"{}\"", "z".repeat(1_000))),
        };
        let step = run.try_send(&format!("task:{task}"), MessageBody::TaskCompleted(body));
        let Ok(Advance::Advanced(advanced)) = step else { panic!("task {task}: {step:?}") };
        run.state = advanced.state;
    }
    assert!(run.snapshot().contains(r#"{"$kept":["list",{"$blob":"sha256:"#), "{}", run.snapshot());
}

#[test]
fn one_item_of_a_list_in_segments_loads_one_segment() {
    let mut run = Rehearsal::of(
        "let r = await Task.run(\"page\", 0)\nlet all = r.list\nr = null\nlet n = await Task.run(\"which\", 1)\nlet item = \
         all[n].n\nawait Task.run(\"which\", item)\nlet sum = 0\nfor (let one of all) { sum = sum + one.n  if (one.n == 3000) { await \
         Task.run(\"which\", 2) } }\nreturn [item, sum]",
    );
    run.start("null");
    run.complete(1, &page(0, 4_000));
    let body = |task| {
        MessageBody::TaskCompleted(TaskCompleted { task: CommandId(task), attempt: 1, output: json("2500") })
    };
    let Ok(Advance::NeedBlobs(wanted)) = run.try_send("task:2", body(2)) else { panic!() };
    assert_eq!(wanted.len(), 1);
    let asked = run.send("task:2", body(2));
    assert_eq!(task(&asked, 0).input, json("2500"));
    run.complete(3, "null");
    assert_eq!(output(&run.complete(4, "null")), format!("[2500,{}]", (0..4_000).sum::<u32>()));
}

#[test]
fn large_values_of_every_kind_leave_and_come_back() {
    let mut run = Gathering::of(
        "let r = await Task.run(\"page\", 0)\nlet text = JSON.stringify(r.list)\nlet object = { list: r.list, \"$odd\": \"kept\", few: 1 \
         }\nlet h = Task.run(\"other\", 0)\nlet mixed = r.list.concat([h], r.list)\nlet e = null\ntry { throw { message: \"m\", code: \"C\", \
         data: r.list, more: { l: r.list } } } catch (x) { e = x }\nlet errors = []\nfor (let i of r.list) { try { throw i.text } catch (x) { \
         errors = errors.concat([x]) } }\nlet fields = {}\nfor (let i of r.list) { fields[\"$\" + i.n] = i.text }\nr = null\nlet \
         same = await Task.run(\"wait\", 1)\nlet other = await h\nfields[\"$5\"] = \"changed\"\nmixed[3] = 7\nawait \
         Task.run(\"wait\", 2)\nreturn [text.length, object.list[7].n, object[\"$odd\"], object.few, mixed.length, mixed[3], mixed[2003].n, \
         e.data[5].n, e.more.l.length, errors[11].message.length, errors.last().code, fields[\"$5\"], fields[\"$6\"].length, \
         Object.keys(fields).length, other]",
    );
    let large = page(0, 2_000);
    run.answer(1, &large);
    assert!(run.snapshots[0] < 200 * 1024, "{:?}", run.snapshots);
    let snapshot = run.run.snapshot();
    assert_eq!(run.run.state.snapshot.as_ref().unwrap().format, 4);
    assert!(
        snapshot.contains(r#""h":{"$handle":2}"#) && snapshot.contains(r#"[{"$handle":2}]"#),
        "{snapshot}"
    );
    run.answer(3, "null");
    run.answer(2, "\"other\"");
    let last = run.answer(4, "null");
    let text = large.len() - "{\"list\":}".len();
    assert_eq!(
        output(&last),
        format!(r#"[{text},7,"kept",1,4001,7,2,5,2000,85,"FAILED","changed",85,2000,"other"]"#)
    );
    run.verify(&[&large]);
}

#[test]
fn what_leaves_the_run_is_whole() {
    let mut run = Gathering::of(
        "let r = await Task.run(\"page\", 0)\nlet all = r.list\nlet state = { all, n: 1 }\nr = null\nawait Task.run(\"wait\", \
         0)\nTask.run(\"task\", all)\nWorkflow.run(\"kid\", { all }, { retries: 3 })\nSignal.send(\"r2\", \"s\", state)\nlog(all)\nthrow { message: \"m\", code: \"C\", data: all, state }",
    );
    let large = page(0, 1_000);
    run.answer(1, &large);
    let advanced = run.run.complete(2, "null");
    let list = &large[r#"{"list":"#.len()..large.len() - 1];
    let content = |payload: &Payload| match payload {
        Payload::Blob(blob) => String::from_utf8(run.run.stored[&blob.hash].to_vec()).unwrap(),
        inline => inline.text().unwrap().to_owned(),
    };
    let [Command::RunTask(task), Command::StartChild(child), Command::SendSignal(signal)] =
        &advanced.commands[..]
    else {
        panic!("{:?}", advanced.commands)
    };
    assert_eq!(content(&task.input), list);
    assert_eq!(content(&child.input), format!(r#"{{"all":{list}}}"#));
    assert_eq!(content(&signal.payload), format!(r#"{{"all":{list},"n":1}}"#));
    let logged = advanced.events.iter().find_map(|event| match &event.data {
        EventData::Log(log) => Some(content(&log.data)),
        _ => None,
    });
    assert_eq!(logged.as_deref(), Some(list));
    let Some(End::Failed(failure)) = &advanced.end else { panic!("{:?}", advanced.end) };
    assert_eq!(failure.data.as_ref().map(content).as_deref(), Some(list));
    assert!(!content(failure.fields.as_ref().unwrap()).contains("sha256:"));
}

/// Messages and rows stay small: what a command carries leaves its inline place with it.
#[test]
fn a_large_value_that_a_task_a_child_or_a_signal_is_given_is_stored_apart() {
    let text = format!("\"{}\"", "x".repeat(100_000));
    let (blob, content) = spill(&json(&text)).unwrap();
    for call in ["Task.run(\"t\", v)", "Workflow.run(\"w\", v)", "Signal.send(\"r2\", \"s\", v)"] {
        let mut run = Rehearsal::of(&format!("let v = inputs\n{call}\nawait Signal.next(\"go\")"));
        run.stored.insert(blob.hash.clone(), content.clone());
        let started = run.start(&text);
        let given = match &started.commands[0] {
            Command::RunTask(task) => &task.input,
            Command::StartChild(child) => &child.input,
            Command::SendSignal(signal) => &signal.payload,
            other => panic!("{other:?}"),
        };
        assert_eq!(given, &Payload::Blob(blob.clone()), "{call}");
        assert!(started.blobs.iter().any(|(stored, _)| *stored == blob), "{call}");
    }
}

#[test]
fn a_large_snapshot_is_told_once_in_a_run() {
    // Items that contain a handle stay in the snapshot.
    let mut run = Rehearsal::of(
        "let h = Task.run(\"never\", 0)\nlet all = []\nwhile (true) {\n  let r = await Task.run(\"t\", 1)\n  if (r == \"\") { all = [] }\n  all = \
         all.concat([{ r, h }])\n}",
    );
    run.start("null");
    let mut warnings = 0;
    for task in 2..40 {
        let large = format!("\"{}\"", "x".repeat(30_000));
        let advanced = run.complete(task, if task == 20 { "\"\"" } else { &large });
        warnings += advanced.events.iter().filter(|event| event.data.kind() == "warning").count();
    }
    assert!(run.state.snapshot.as_ref().unwrap().bytes.len() > SNAPSHOT_WARN_BYTES);
    assert_eq!(warnings, 1);
}

#[test]
fn everything_a_snapshot_refers_to_can_be_asked_for() {
    let mut run = Rehearsal::of(
        "let r = await Task.run(\"page\", 0)\nlet all = r.list\nlet text = \"sha256:\" + all.length\nawait Task.run(\"wait\", 0)",
    );
    run.start("null");
    assert_eq!(run.flow.blob_refs(run.state.snapshot.as_ref().unwrap()).unwrap(), []);
    let advanced = run.complete(1, &page(0, 2_000));
    let mut refs = run.flow.blob_refs(run.state.snapshot.as_ref().unwrap()).unwrap();
    refs.retain(|blob| advanced.blobs.iter().all(|(made, _)| made != blob));
    // Besides the segments there is the task's output.
    assert_eq!(refs, [spill(&json(&page(0, 2_000))).unwrap().0]);
}
