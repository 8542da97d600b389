//! Promise 4: messages are consumed once and in order; signals wait until they are awaited.

use rhythm_core::message::{ApprovalDecided, MessageBody, SignalReceived};
use rhythm_core::{Actor, CommandId, Message, MessageId, Payload};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

pub async fn messages_arrive_in_order_and_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    // Their ids and times would sort in another order.
    for id in ["m9", "m1", "m5"] {
        assert_eq!(play.deliver(&run, signal(id, "go")).await, Delivered::Accepted);
    }
    stage.clock().advance(secs(1));
    let answers = play.deliver_all(&run, vec![cancel("m0"), signal("m1", "go"), cancel("m0")]).await;
    use Delivered::{Accepted, Duplicate};
    assert_eq!(answers, [Accepted, Duplicate, Duplicate]);
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["m9", "m1", "m5", "m0"]);
    assert_eq!(claimed.run.arrived, 4);
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(play.picture(&run).await.inbox, []);
    play.nothing_to_claim().await;
}

pub async fn a_consumed_message_is_not_delivered_again(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&play.claim().await)).await;
    let before = play.stored(&run).await;
    assert_eq!(play.deliver(&run, signal("s1", "go")).await, Delivered::Duplicate);
    // Only the id is compared, not the rest of the message.
    assert_eq!(play.deliver(&run, cancel("s1")).await, Delivered::Duplicate);
    assert_eq!(play.stored(&run).await, before);
    play.nothing_to_claim().await;
}

pub async fn signals_wait_until_asked_for(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver_all(&run, vec![signal("n1", "not yet"), signal("n2", "not yet")]).await;
    play.nothing_to_claim().await;
    assert_eq!(play.picture(&run).await.row.arrived, 2, "they count as arrived all the same");

    play.deliver(&run, signal("g1", "go")).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["n1", "n2", "g1"]);
    // The step consumes the awaited signals; now it awaits the others, which have arrived already.
    let draft = Draft::of(&claimed).only(&claimed.messages[2..]).awaiting(&["not yet"]);
    play.done(&draft.with(|item| item.more = true)).await;
    let claimed = play.claim().await;
    assert_eq!(ids(&claimed.messages), ["n1", "n2"]);
    play.done(&Draft::of(&claimed).only(&claimed.messages[..1]).awaiting(&[])).await;
    play.nothing_to_claim().await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["n2"]);
}

pub async fn a_withdrawn_wait_takes_no_signal(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go", "stop"])).await;
    play.deliver(&run, signal("s1", "stop")).await;
    play.done(&Draft::of(&play.claim().await).awaiting(&[])).await;
    assert_eq!(play.deliver(&run, signal("g1", "go")).await, Delivered::Accepted);
    play.nothing_to_claim().await;
    assert_eq!(ids(&play.picture(&run).await.inbox), ["g1"]);
}

pub async fn a_message_for_nobody_is_not_found(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    assert_eq!(play.deliver(&"nobody".into(), cancel("c1")).await, Delivered::NotFound);
}

pub async fn deliveries_of_one_request_are_answered_in_order(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let (a, b) = (play.waiting("a", |draft| draft).await, play.waiting("b", |draft| draft).await);
    let ended = play.waiting("e", |draft| draft.completed()).await;
    let to = |run: &str, id: &str| Delivery { to: run.into(), message: cancel(id) };
    let deliveries = vec![
        to("nobody", "c1"),
        to(a.as_str(), "c1"),
        to(ended.as_str(), "c1"),
        to(b.as_str(), "c1"),
        to(a.as_str(), "c1"),
    ];
    let answers = play.world.deliver(Deliver { tenant: play.tenant.clone(), deliveries }).await.unwrap();
    use Delivered::{Accepted, Duplicate, Ended, NotFound};
    assert_eq!(answers, [NotFound, Accepted, Ended, Accepted, Duplicate]);
}

pub async fn an_approval_is_decided_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["@approval:3"])).await;
    let decide = |by: &str| {
        let (decision, comments) = ("approve".to_owned(), String::new());
        let approval = CommandId(3);
        let decided =
            ApprovalDecided { approval, decision, by: by.to_owned(), comments, data: Payload::null() };
        Message { id: MessageId::approval(approval), ..message("", MessageBody::ApprovalDecided(decided)) }
    };
    assert_eq!(play.deliver(&run, decide("ann")).await, Delivered::Accepted);
    assert_eq!(play.deliver(&run, decide("bob")).await, Delivered::Duplicate);
    assert_eq!(ids(&play.claim().await.messages), ["approval:3"]);
}

pub async fn a_message_carries_who_why_and_when(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    let sent = Message {
        actor: Actor("schedule:nightly".to_owned()),
        trace: Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".to_owned()),
        ..signal("s1", "go")
    };
    stage.clock().advance(secs(42));
    play.deliver(&run, sent.clone()).await;
    let at = play.now().await;
    stage.clock().advance(secs(42));
    assert_eq!(play.claim().await.messages, [Message { at, ..sent }]);
}

pub async fn a_message_during_a_claim_keeps_the_run_ready(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    play.deliver(&run, signal("s1", "go")).await;
    let claimed = play.claim().await;
    play.deliver(&run, signal("s2", "go")).await;
    // The claim fences the run; a message that arrived after the claim does not refuse the commit.
    let done = play.done(&Draft::of(&claimed)).await;
    assert_eq!((done.revision, done.arrived), (2, 2));
    assert_eq!(ids(&play.claim().await.messages), ["s2"]);
}

/// A signal arrives after the claim, and the commit then awaits it: the run must become ready.
pub async fn a_signal_that_arrives_before_its_wait_is_not_forgotten(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.start("r").await;
    let claimed = play.claim().await;
    play.deliver(&run, signal("s1", "go")).await;
    play.done(&Draft::of(&claimed).awaiting(&["go"])).await;
    assert_eq!(ids(&play.claim().await.messages), ["s1"]);
}

pub async fn a_delivery_racing_a_commit_is_not_forgotten(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    for round in 0..25 {
        let run = play.waiting(&format!("r{round}"), |draft| draft.awaiting(&["go"])).await;
        play.deliver(&run, signal("s1", "go")).await;
        let draft = Draft::of(&play.claim().await);
        let (_, delivered) = tokio::join!(play.done(&draft), other.deliver(&run, signal("s2", "go")));
        assert_eq!(delivered, Delivered::Accepted);
        let claimed = play.claim().await;
        assert_eq!((&claimed.run.id, ids(&claimed.messages)), (&run, vec!["s2"]), "round {round}");
        play.done(&Draft::of(&claimed).completed()).await;
    }
}

pub async fn racing_deliveries_of_one_message_are_accepted_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    for round in 0..25 {
        let signal = signal(&format!("s{round}"), "go");
        let (one, two) =
            tokio::join!(play.deliver(&run, signal.clone()), other.deliver(&run, signal.clone()));
        let accepted = [one, two].into_iter().filter(|answer| *answer == Delivered::Accepted).count();
        assert_eq!(accepted, 1, "round {round}: {one:?} {two:?}");
    }
    let claimed = play.claim().await;
    assert_eq!((claimed.messages.len(), claimed.run.arrived), (25, 25));
}

pub async fn a_long_inbox_shows_first_what_can_be_consumed(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft.awaiting(&["go"])).await;
    let noise = (0..MESSAGES_PER_COMMIT + 100).map(|n| signal(&format!("n{n:04}"), "not yet")).collect();
    play.deliver_all(&run, noise).await;
    play.nothing_to_claim().await;
    play.deliver_all(&run, vec![signal("g1", "go"), cancel("c1")]).await;
    let claimed = play.claim().await;
    assert_eq!((claimed.messages.len(), claimed.more), (MESSAGES_PER_COMMIT, true));
    assert_eq!(ids(&claimed.messages[..3]), ["g1", "c1", "n0000"]);
}

pub async fn an_inbox_has_a_limit(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", |draft| draft).await;
    for batch in 0..INBOX_LIMIT / 1_000 {
        let signals = (0..1_000).map(|n| signal(&format!("{batch}-{n}"), "later")).collect();
        assert!(play.deliver_all(&run, signals).await.iter().all(|answer| *answer == Delivered::Accepted));
    }
    assert_eq!(play.deliver(&run, signal("one more", "later")).await, Delivered::Full);
    assert_eq!(play.picture(&run).await.row.arrived, INBOX_LIMIT);
    // The limit is for signals only. Messages that end a run and messages of runs are always accepted.
    let other = play.waiting("other", |draft| draft.tell(&run, cancel("c1"))).await;
    assert_eq!(play.deliver(&run, cancel("c2")).await, Delivered::Accepted);
    let claimed = play.claim().await;
    assert_eq!((&claimed.run.id, ids(&claimed.messages[..2])), (&run, vec!["c1", "c2"]));
    play.done(&Draft::of(&claimed)).await;
    assert_eq!(play.deliver(&run, signal("one more", "later")).await, Delivered::Accepted);
    assert_eq!(play.deliver(&other, signal("s", "later")).await, Delivered::Accepted);
}

/// Every payload comes back byte for byte, wherever it is stored.
pub async fn payloads_come_back_as_they_were(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let texts = [
        "null",
        r#""Grüße, 世界 🎵 \u0000 \ud83c\udfb5 \"quoted\" \\ \n""#,
        r#"{"$blob":"sha256:00","bytes":3}"#,
        r#"{ "$json" : {"$":1} }"#,
        r#"{"\u0000key\u0000": [1.50, 1e400, -0, 12345678901234567890123]}"#,
        r#"  [1,
            2]  "#,
    ];
    for (n, text) in texts.into_iter().enumerate() {
        let payload = json(text);
        let run = play.start_as(NewRun { input: payload.clone(), ..new_run(&format!("r{n}")) }).await;
        assert_eq!(play.picture(&run).await.input, payload, "input {text}");
        let claimed = play.claim().await;
        let draft = Draft::of(&claimed).awaiting(&["go"]);
        play.done(&draft.task_as(1, |task| NewTask { input: payload.clone(), ..task })).await;
        assert_eq!(play.take().await.input, payload, "task input {text}");

        let body = SignalReceived { name: "go".to_owned(), payload: payload.clone() };
        play.deliver(&run, message("s1", MessageBody::Signal(body.clone()))).await;
        let claimed = play.claim().await;
        assert_eq!(claimed.messages[0].body, MessageBody::Signal(body), "signal {text}");
        let draft = Draft::of(&claimed).completed();
        let events = draft.item.events.clone();
        let end = rhythm_core::fold::End::Completed(payload.clone());
        play.done(&draft.with(|item| item.end = Some(end))).await;
        assert_eq!(play.picture(&run).await.output, Some(payload), "output {text}");
        assert_eq!(play.history(&run).await[1..], events, "history {text}");
    }
}
