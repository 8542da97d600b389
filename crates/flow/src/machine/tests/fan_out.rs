//! Many tasks at once: the state and the bytes written are proportional to the changes, not to the width of
//! the fan-out.

use rhythm_core::failure::Failure;
use rhythm_core::fold::{Divergence, Fold, SNAPSHOT_WARN_BYTES, replay};
use rhythm_core::lineage::Lineage;
use rhythm_core::program::Program as _;

use super::*;

fn all_of(count: usize) -> String {
    format!(
        "let h = []\nlet n = 0\nwhile (n < {count}) {{\n  h = h.concat([Task.run(\"echo\", {{ n }})])\n  n = n + 1\n}}\nlet all = await \
         Promise.all(h)\nlet sum = 0\nfor (let one of all) {{ sum = sum + one.n }}\nreturn [all.length, all[7].n, sum]"
    )
}

/// Returns the numbers from 1 in a shuffled order, the same in every test run.
fn shuffled(count: u64) -> Vec<u64> {
    let mut numbers: Vec<u64> = (1..=count).collect();
    let mut seed = 7_u64;
    for place in (1..numbers.len()).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        numbers.swap(place, (seed >> 33) as usize % (place + 1));
    }
    numbers
}

fn answer(task: u64) -> Message {
    let output = json(&format!("{{\"n\":{}}}", task - 1));
    let body = MessageBody::TaskCompleted(TaskCompleted { task: CommandId(task), attempt: 1, output });
    let (id, at) = (MessageId::new(format!("task:{task}")), Timestamp(1_000));
    Message { id, at, actor: Actor::system(), trace: None, body }
}

fn failed(task: u64) -> Message {
    let failure = Failure::new("NO", "it failed");
    let body = MessageBody::TaskFailed(TaskFailed { task: CommandId(task), failure });
    Message { body, ..answer(task) }
}

/// Bytes written by folding messages in commits of a given size, and the run's history.
pub struct Written {
    pub bytes: usize,
    pub largest: usize,
    pub end: Option<End>,
    pub history: Vec<Event>,
}

pub fn fold(run: &mut Rehearsal, messages: &[Message], in_one: usize) -> Written {
    let (mut bytes, mut largest, mut end, mut history) = (0, 0, None, Vec::new());
    for commit in messages.chunks(in_one) {
        let mut blobs = Blobs::new();
        'again: loop {
            let mut fold = Fold::new(&run.flow, run.facts.clone());
            let (mut state, mut made, mut events) = (run.state.clone(), Vec::new(), Vec::new());
            for (place, message) in commit.iter().enumerate() {
                let more = commit.len() - place - 1;
                match fold.advance(&mut state, message, (message.at, &blobs), more).unwrap() {
                    Advance::NeedBlobs(wanted) => {
                        blobs.extend(wanted.iter().map(|b| (b.hash.clone(), run.stored[&b.hash].clone())));
                        continue 'again;
                    }
                    Advance::Advanced(advanced) => {
                        state = advanced.state;
                        made.extend(advanced.blobs);
                        events.extend(advanced.events);
                        end = advanced.end;
                    }
                }
            }
            made.extend(fold.settle(&mut state));
            let size = state.snapshot.as_ref().unwrap().bytes.len();
            bytes += size + made.iter().map(|(_, content)| content.len()).sum::<usize>();
            largest = largest.max(size);
            run.stored.extend(by_hash(&made));
            run.state = state;
            history.extend(events);
            break;
        }
    }
    Written { bytes, largest, end, history }
}

#[test]
fn twenty_thousand_open_tasks_take_less_than_100_kib_and_settle_in_any_order() {
    let mut run = Rehearsal::of(&all_of(20_000));
    run.start("null");
    let size = run.state.snapshot.as_ref().unwrap().bytes.len();
    assert!(size < 2_000, "{size}: {}", run.snapshot());
    let messages: Vec<Message> = shuffled(20_000).into_iter().map(answer).collect();
    let written = fold(&mut run, &messages, 500);
    assert!(written.largest <= 100 * 1024, "{}", written.largest);
    let Some(End::Completed(output)) = &written.end else { panic!("{:?}", written.end) };
    assert_eq!(output.text(), Some("[20000,7,199990000]"));
    assert!(written.history.iter().all(|event| event.data.kind() != "warning"));
}

#[test]
fn a_message_of_twenty_thousand_writes_at_most_twice_what_one_of_a_thousand_does() {
    const IN_ONE: usize = 10;
    let per_message = |count: u64| {
        let mut run = Rehearsal::of(&all_of(count as usize));
        run.start("null");
        let messages: Vec<Message> = shuffled(count).into_iter().map(answer).collect();
        // Measure messages from the middle, because the last one assembles all results.
        let (from, most) = (messages.len() / 2 - 150, 300);
        fold(&mut run, &messages[..from], 500);
        fold(&mut run, &messages[from..from + most], IN_ONE).bytes / most
    };
    let (few, many) = (per_message(1_000), per_message(20_000));
    assert!(many <= 2 * few, "{IN_ONE} in a commit: {few} and {many} bytes per message");
}

#[test]
fn messages_folded_together_give_the_segments_they_give_one_by_one() {
    let source = "let h = []\nlet n = 0\nwhile (n < 300) {\n  h = h.concat([Task.run(\"echo\", n, { settle: n > 280 })])\n  n = n + 1\n}\nlet \
                  any = Promise.any([h[0], h[1], h[2]])\nlet settled = Promise.allSettled(h)\nlet all = await settled\nreturn \
                  [all.length, all[3].error.code, all[4].result.n]";
    let run = || {
        let mut run = Rehearsal::of(source);
        let history = run.start("null").events;
        (run, history)
    };
    let messages: Vec<Message> = shuffled(300)
        .into_iter()
        .map(|task| if task % 4 == 0 { failed(task) } else { answer(task) })
        .collect();
    let ((mut together, _), (mut apart, mut history)) = (run(), run());
    for part in messages.chunks(97) {
        let (at_once, one_by_one) = (fold(&mut together, part, 50), fold(&mut apart, part, 1));
        assert_eq!(together.state, apart.state);
        assert_eq!(at_once.history, one_by_one.history);
        assert_eq!(at_once.end, one_by_one.end);
        history.extend(one_by_one.history);
        let refs = together.flow.blob_refs(together.state.snapshot.as_ref().unwrap()).unwrap();
        assert!(refs.iter().all(|blob| together.stored.contains_key(&blob.hash)));
    }
    let folded =
        replay(Lineage::of(&apart.flow, &apart.facts), &history, |_| Ok::<_, Divergence>(Blobs::new()));
    assert_eq!(folded.unwrap(), apart.state);
}

#[test]
fn kept_outcomes_are_awaited_one_by_one_and_forgotten_when_nobody_can() {
    let source = "let h = []\nlet n = 0\nwhile (n < 1200) {\n  h = h.concat([Task.run(\"echo\", n)])\n  n = n + 1\n}\nawait \
                  Signal.next(\"go\")\nlet first = await h[3]\nlet quick = await Promise.race([h[900], h[10]])\ntry { await h[5] } \
                  catch (e) { log(e.code) }\nh = null\nawait Signal.next(\"go\")\nreturn [first.n, quick.n]";
    let mut run = Rehearsal::of(source);
    run.start("null");
    let messages: Vec<Message> =
        (1..=1_200).map(|task| if task == 6 { failed(task) } else { answer(task) }).collect();
    fold(&mut run, &messages, 100);
    assert!(run.snapshot().contains("\"kept\":\"") && run.snapshot().contains("\"segments\":[{\"$blob\":"));
    assert!(!run.snapshot().contains("\"n\":3}"), "it lies in a segment");
    let went_on = run.signal("s:1", "go", "null");
    assert_eq!(kinds(&went_on.events), ["signal_received", "parallel_started", "parallel_completed", "log"]);
    assert!(!run.snapshot().contains("\"segments\""), "{}", run.snapshot());
    assert_eq!(output(&run.signal("s:2", "go", "null")), "[3,10]");
}

#[test]
fn many_waits_with_a_timeout_are_written_as_one() {
    let source = "let h = []\nlet n = 0\nwhile (n < 3000) {\n  h = h.concat([Task.timeout(Task.run(\"echo\", n), 60)])\n  n = n + \
                  1\n}\nlet all = await Promise.allSettled(h)\nreturn all.length";
    let mut run = Rehearsal::of(source);
    run.start("null");
    let size = run.state.snapshot.as_ref().unwrap().bytes.len();
    assert!(size < 20_000, "{size}");
    let before = run.snapshot();
    run.complete(99_999, "null");
    assert_eq!(run.snapshot(), before);
    run.complete(1, "{\"n\":0}");
    assert!(run.state.snapshot.as_ref().unwrap().bytes.len() < 20_000);
    assert!(SNAPSHOT_WARN_BYTES > size);
}

#[test]
fn a_damaged_crowd_or_segment_is_refused() {
    let mut run = Rehearsal::of(&all_of(1_000));
    run.start("null");
    fold(&mut run, &(1..=700).map(answer).collect::<Vec<_>>(), 100);
    let good = run.snapshot();
    for (from, to) in [
        ("\"kept\":\"1-", "\"kept\":\"9-"),
        ("\"task\":\"echo\"", "\"task\":\"echo\",\"signal\":\"s\""),
        ("\"open\":\"", "\"opened\":\""),
        ("\"open\":\"701-1000\"", "\"open\":\"9-1\""),
        ("\"open\":\"701-1000\"", "\"open\":\"1-99999999999\""),
        ("\"kept\":\"", "\"open\":\"5000\",\"kept\":\""),
        ("\"crowds\":[", "\"crowds\":[{\"task\":\"echo\",\"step\":1,\"open\":\"800-810\"},"),
        ("\"crowds\":[", "\"crowds\":[{\"kept\":\"1-3\"},"),
        ("\"of\":[[1,1000]]", "\"of\":[[1,2000]]"),
    ] {
        assert!(good.contains(from), "{from} is not in {good}");
        run.set_snapshot(&good.replace(from, to));
        let sent = run.try_send("task:800", answer(800).body);
        let refused = matches!(sent, Err(ProgramError::BadSnapshot(_)));
        // Damage to the start of a set may be accepted: it removes handles, whose messages are then ignored.
        assert!(refused || from.contains("1-"), "{from} -> {to}: {sent:?}");
    }
}
