//! Approvals, read from history: the outcome of each, and listings that miss none.

use std::collections::BTreeSet;

use rhythm_core::event::{ApprovalCreated, ApprovalEscalated, EventData};
use rhythm_core::message::{ApprovalDecided, MessageBody};
use rhythm_core::{Actor, CommandId, Message, MessageId, Payload, RunId, Timestamp};
use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

/// Creates approval `number` of node `boss` for these people.
fn asking(number: u64, approvers: &[&str]) -> impl FnOnce(Draft) -> Draft {
    let created = ApprovalCreated {
        approval: CommandId(number),
        node: "boss".to_owned(),
        approvers: approvers.iter().map(|&name| name.to_owned()).collect(),
        payload: json("{\"sum\":12}"),
        visit: Some(2),
        timeout_at: Some(Timestamp(99)),
        approval_ui_url: Some("https://desk.example.com".to_owned()),
    };
    let name = format!("@approval:{number}");
    move |draft| draft.operator(EventData::ApprovalCreated(created)).awaiting(&[&name])
}

fn answer(number: u64, decision: &str, by: &str) -> ApprovalDecided {
    let (approval, comments, data) = (CommandId(number), "well".to_owned(), json("[1]"));
    ApprovalDecided { approval, decision: decision.to_owned(), by: by.to_owned(), comments, data }
}

fn sent(answer: ApprovalDecided) -> Message {
    let id = MessageId::approval(answer.approval);
    let actor = Actor("user:clerk".to_owned());
    Message { id, actor, ..message("", MessageBody::ApprovalDecided(answer)) }
}

async fn one(play: &Play<'_>, run: &RunId, number: u64) -> ApprovalRow {
    play.world.approval(&play.tenant, run, CommandId(number)).await.unwrap().expect("the approval is there")
}

async fn listed(play: &Play<'_>, query: ApprovalQuery) -> Vec<String> {
    let query = ApprovalQuery { tenant: play.tenant.clone(), limit: 100, ..query };
    let rows = play.world.list_approvals(query).await.unwrap().rows;
    rows.into_iter().map(|row| format!("{}/{}", row.run, row.approval)).collect()
}

pub async fn an_approval_tells_what_became_of_it(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", asking(3, &["ann"])).await;
    let asked_at = play.now().await;
    let pending = one(&play, &run, 3).await;
    let expected = ApprovalRow {
        run: run.clone(),
        workflow: play.picture(&run).await.summary.workflow,
        approval: CommandId(3),
        node: "boss".to_owned(),
        visit: 2,
        approvers: vec!["ann".to_owned()],
        payload: json("{\"sum\":12}"),
        created_at: asked_at,
        timeout_at: Some(Timestamp(99)),
        approval_ui_url: Some("https://desk.example.com".to_owned()),
        state: ApprovalState::Pending,
        decision: None,
        decided_by: None,
        via: None,
        comments: String::new(),
        data: None,
        decided_at: None,
    };
    assert_eq!(pending, expected);
    stage.clock().advance(secs(60));
    assert_eq!(play.deliver(&run, sent(answer(3, "approve", "ann"))).await, Delivered::Accepted);
    assert_eq!(one(&play, &run, 3).await, expected, "nobody has taken the answer yet");
    play.done(&Draft::of(&play.claim().await).completed()).await;
    let decided = ApprovalRow {
        state: ApprovalState::Decided,
        decision: Some("approve".to_owned()),
        decided_by: Some("ann".to_owned()),
        via: Some(Actor("user:clerk".to_owned())),
        comments: "well".to_owned(),
        data: Some(json("[1]")),
        decided_at: Some(play.now().await),
        ..expected
    };
    assert_eq!(one(&play, &run, 3).await, decided);
    let nobody = play.world.approval(&play.tenant, &run, CommandId(4)).await.unwrap();
    assert_eq!(nobody, None);
    assert_eq!(play.world.approval(&play.tenant, &"nobody".into(), CommandId(3)).await.unwrap(), None);
}

pub async fn the_first_answer_counts(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let run = play.waiting("r", asking(3, &[])).await;
    // The run times out before it consumes the answer that was already delivered.
    play.deliver(&run, sent(answer(3, "approve", "ann"))).await;
    let claimed = play.claim().await;
    let gave_up = ApprovalDecided { data: Payload::null(), ..answer(3, "timeout", "system") };
    let late = claimed.messages.clone();
    let draft = Draft::of(&claimed).only(&[]).operator(EventData::ApprovalDecided(gave_up));
    play.done(&draft.consuming(&late).awaiting(&[])).await;
    let row = one(&play, &run, 3).await;
    assert_eq!((row.state, row.decided_by.as_deref()), (ApprovalState::Timeout, Some("system")));
    assert_eq!(listed(&play, ApprovalQuery::default()).await, ["r/3"]);
}

pub async fn an_approval_of_an_ended_run_is_cancelled(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let completed = play.waiting("completed", |draft| asking(1, &[])(draft).completed()).await;
    let failed = play.waiting("failed", |draft| asking(1, &[])(draft).failed()).await;
    let taken_back = play
        .waiting("undoing", |draft| {
            let draft = asking(1, &[])(draft);
            draft.operator(EventData::ApprovalDecided(answer(1, "cancelled", "system"))).awaiting(&[])
        })
        .await;
    for run in [&completed, &failed, &taken_back] {
        assert_eq!(one(&play, run, 1).await.state, ApprovalState::Cancelled, "{run}");
    }
    let pending = ApprovalQuery { state: Some(ApprovalState::Pending), ..ApprovalQuery::default() };
    assert_eq!(listed(&play, pending.clone()).await, [""; 0]);
    // Reopening the run creates the approval again.
    let revision = play.picture(&failed).await.summary.revision;
    let (run, reason) = (failed.clone(), "again".to_owned());
    play.order(Control::Reopen { run, revision, reason, requeue: vec![], redeliver: vec![], fresh: None })
        .await;
    assert_eq!(one(&play, &failed, 1).await.state, ApprovalState::Pending);
    assert_eq!(listed(&play, pending).await, ["failed/1"]);
}

pub async fn approvals_are_found_by_what_they_are(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    play.waiting("ended", |draft| asking(1, &["ann"])(draft).completed()).await;
    stage.clock().advance(secs(1));
    let decided = play.waiting("decided", asking(1, &["user:ann", "bob"])).await;
    play.deliver(&decided, sent(answer(1, "reject", "bob"))).await;
    play.done(&Draft::of(&play.claim().await).awaiting(&[])).await;
    stage.clock().advance(secs(1));
    play.waiting("late", |draft| {
        let draft = asking(1, &["bob"])(draft);
        draft.operator(EventData::ApprovalDecided(answer(1, "timeout", "system"))).awaiting(&[])
    })
    .await;
    stage.clock().advance(secs(1));
    play.waiting("handed_on", |draft| {
        let approvers = vec!["chief".to_owned()];
        let escalated = ApprovalEscalated { approval: CommandId(1), approvers };
        asking(1, &["bob"])(draft).operator(EventData::ApprovalEscalated(escalated))
    })
    .await;
    stage.clock().advance(secs(1));
    play.waiting("open", |draft| asking(2, &[])(asking(1, &[])(draft).awaiting(&[]))).await;
    play.waiting("asks_nobody", |draft| draft.awaiting(&["go"])).await;
    let all = ["open/2", "open/1", "handed_on/1", "late/1", "decided/1", "ended/1"];
    assert_eq!(listed(&play, ApprovalQuery::default()).await, all);
    let state = |state| ApprovalQuery { state: Some(state), ..ApprovalQuery::default() };
    assert_eq!(listed(&play, state(ApprovalState::Pending)).await, ["open/2", "open/1", "handed_on/1"]);
    assert_eq!(listed(&play, state(ApprovalState::Decided)).await, ["decided/1"]);
    assert_eq!(listed(&play, state(ApprovalState::Timeout)).await, ["late/1"]);
    assert_eq!(listed(&play, state(ApprovalState::Cancelled)).await, ["ended/1"]);
    let run = ApprovalQuery { run: Some("open".into()), ..ApprovalQuery::default() };
    assert_eq!(listed(&play, run).await, ["open/2", "open/1"]);
    let may = |who: &str| ApprovalQuery { approver: Some(who.to_owned()), ..ApprovalQuery::default() };
    assert_eq!(listed(&play, may("ann")).await, ["open/2", "open/1", "decided/1", "ended/1"]);
    assert_eq!(listed(&play, may("user:chief")).await, ["open/2", "open/1", "handed_on/1"]);
    let both = ApprovalQuery { state: Some(ApprovalState::Pending), ..may("ann") };
    assert_eq!(listed(&play, both).await, ["open/2", "open/1"]);
    let chief = one(&play, &"handed_on".into(), 1).await;
    assert_eq!(chief.approvers, ["bob", "chief"]);
    let other = play.tenant("other").await;
    assert_eq!(listed(&other, ApprovalQuery::default()).await, [""; 0]);
    assert_eq!(listed(&other, state(ApprovalState::Pending)).await, [""; 0]);
}

/// Reads pages of three while approvals are decided and created.
pub async fn a_walk_through_approvals_meets_each_once(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    for n in 0..10 {
        // Some runs share a millisecond, some do not. Each creates two approvals.
        play.waiting(&format!("r{n}"), |draft| asking(2, &[])(asking(1, &[])(draft))).await;
        if n % 3 == 0 {
            stage.clock().advance(rhythm_core::Millis(1));
        }
    }
    for state in [None, Some(ApprovalState::Pending)] {
        let (mut seen, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let tenant = play.tenant.clone();
            let query = ApprovalQuery { tenant, state, cursor, limit: 3, ..ApprovalQuery::default() };
            let page = play.world.list_approvals(query).await.unwrap();
            assert!(page.rows.len() <= 3);
            assert!(page.rows.is_sorted_by(|a, b| a.created_at >= b.created_at), "newest first");
            for row in page.rows {
                assert_eq!(one(&play, &row.run, row.approval.0).await, row);
                seen.push((row.run.0, row.approval));
            }
            stage.clock().advance(rhythm_core::Millis(1));
            let all = state.is_none();
            play.waiting(&format!("new{all}{pages}"), asking(1, &[])).await;
            cursor = page.next;
            pages += 1;
            if cursor.is_none() {
                break;
            }
            assert!(pages < 50, "the walk does not end");
        }
        let first: BTreeSet<_> = seen.iter().filter(|(run, _)| run.starts_with('r')).cloned().collect();
        assert_eq!(first.len(), 20);
        assert_eq!(seen.len(), seen.iter().collect::<BTreeSet<_>>().len(), "nothing twice: {seen:?}");
    }
    let tenant = play.tenant.clone();
    let cursor = Some("nonsense".to_owned());
    let query = ApprovalQuery { tenant, cursor, limit: 5, ..ApprovalQuery::default() };
    assert!(matches!(play.world.list_approvals(query).await, Err(WorldError::Invalid(_))));
}
