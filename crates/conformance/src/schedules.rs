//! Schedules: stored, due, and fired once for each time by whichever process comes first.

use rhythm_engine::world::*;

use super::Stage;
use super::play::*;

async fn due(play: &Play<'_>) -> Vec<String> {
    let report = play.upkeep(Upkeep::DueSchedules { limit: 10 }).await;
    assert!(report.schedules.iter().all(|(tenant, _)| *tenant == play.tenant));
    report.schedules.into_iter().map(|(_, schedule)| schedule.name).collect()
}

async fn the_only_one(play: &Play<'_>) -> Schedule {
    let mut schedules = play.world.schedules(&play.tenant).await.unwrap();
    assert_eq!(schedules.len(), 1, "{schedules:?}");
    schedules.remove(0)
}

pub async fn a_schedule_is_kept_as_it_was_put(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let later = play.now().await.plus(secs(60));
    let put = schedule("nightly", later);
    play.order(Control::PutSchedule(put.clone())).await;
    assert_eq!(the_only_one(&play).await, put);
    let target = ScheduleTarget::Task {
        name: "tidy".to_owned(),
        input: json("{\"$x\":1}"),
        options: in_queue("slow"),
    };
    let changed = Schedule { cron: "@daily".to_owned(), target, next_at: Some(later.plus(secs(1))), ..put };
    play.order(Control::PutSchedule(changed.clone())).await;
    assert_eq!(the_only_one(&play).await, changed);
    play.order(Control::RemoveSchedule { name: "nightly".to_owned() }).await;
    assert_eq!(play.world.schedules(&play.tenant).await.unwrap(), []);
}

pub async fn a_schedule_is_due_when_its_time_has_come(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    play.order(Control::PutSchedule(schedule("soon", now.plus(secs(10))))).await;
    play.order(Control::PutSchedule(schedule("late", now.plus(secs(99))))).await;
    play.order(Control::PutSchedule(Schedule { next_at: None, ..schedule("never", now) })).await;
    play.order(Control::PutSchedule(Schedule { paused: true, ..schedule("paused", now) })).await;
    stage.clock().advance(rhythm_core::Millis(9_999));
    assert_eq!(due(&play).await, [""; 0]);
    stage.clock().advance(rhythm_core::Millis(1));
    assert_eq!(due(&play).await, ["soon"]);
    assert_eq!(due(&play).await, ["soon"], "until it is fired");
}

pub async fn the_next_schedule_is_told(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let told = async || play.upkeep(Upkeep::DueSchedules { limit: 10 }).await.next_schedule;
    assert_eq!(told().await, None);
    let now = play.now().await;
    play.order(Control::PutSchedule(schedule("due", now))).await;
    play.order(Control::PutSchedule(Schedule { paused: true, ..schedule("paused", now.plus(secs(1))) }))
        .await;
    play.order(Control::PutSchedule(Schedule { next_at: None, ..schedule("never", now) })).await;
    assert_eq!(told().await, None);
    play.order(Control::PutSchedule(schedule("later", now.plus(secs(99))))).await;
    play.order(Control::PutSchedule(schedule("soon", now.plus(secs(7))))).await;
    assert_eq!(told().await, Some(now.plus(secs(7))));
    stage.clock().advance(secs(8));
    assert_eq!(told().await, Some(now.plus(secs(99))));
}

fn fire(name: &str, expected: rhythm_core::Timestamp, runs: Vec<NewRun>) -> Control {
    let next_at = Some(expected.plus(days(1)));
    Control::FireSchedule { name: name.to_owned(), expected, next_at, runs, tasks: vec![], missed: 2 }
}

pub async fn a_schedule_fires_once_for_each_time(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let other = play.another("w2").await;
    let now = play.now().await;
    play.order(Control::PutSchedule(schedule("nightly", now))).await;
    // Two processes that both found it due.
    let (one, two) = tokio::join!(
        play.control(fire("nightly", now, vec![new_run("one")])),
        other.control(fire("nightly", now, vec![new_run("two")])),
    );
    let mut answers = [one.unwrap(), two.unwrap()];
    answers.sort_by_key(|answer| *answer != Controlled::Done);
    assert_eq!(answers, [Controlled::Done, Controlled::Unchanged]);
    let started = play.claims(9).await;
    assert_eq!(started.len(), 1, "the loser started nothing");
    let after = the_only_one(&play).await;
    assert_eq!((after.next_at, after.last_at, after.missed), (Some(now.plus(days(1))), Some(now), 2));
    assert_eq!((after.last_started, after.fired), (Some(started[0].run.id.0.clone()), 1));
    assert_eq!(due(&play).await, [""; 0]);
}

pub async fn a_schedule_may_start_tasks(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    play.order(Control::PutSchedule(schedule("tidy", now))).await;
    let tasks = vec![new_task("t")];
    let (name, expected) = ("tidy".to_owned(), now);
    play.order(Control::FireSchedule { name, expected, next_at: None, runs: vec![], tasks, missed: 0 }).await;
    assert_eq!(play.take().await.id.as_str(), "t");
    let after = the_only_one(&play).await;
    assert_eq!((after.next_at, after.last_started.as_deref()), (None, Some("t")));
    stage.clock().advance(days(400));
    assert_eq!(due(&play).await, [""; 0], "a rule without a next time never fires again");
}

pub async fn a_paused_schedule_does_not_fire(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let now = play.now().await;
    play.order(Control::PutSchedule(schedule("nightly", now))).await;
    play.order(Control::PauseSchedule { name: "nightly".to_owned() }).await;
    assert!(the_only_one(&play).await.paused);
    assert_eq!(due(&play).await, [""; 0]);
    let late = play.control(fire("nightly", now, vec![new_run("r")])).await;
    assert_eq!(late, Ok(Controlled::Unchanged), "whoever saw it due before the pause is too late");
    play.nothing_to_claim().await;
    let next_at = Some(now.plus(secs(5)));
    play.order(Control::ResumeSchedule { name: "nightly".to_owned(), next_at }).await;
    let resumed = the_only_one(&play).await;
    assert_eq!((resumed.paused, resumed.next_at), (false, next_at));
    stage.clock().advance(secs(5));
    assert_eq!(due(&play).await, ["nightly"]);
}

pub async fn an_unknown_schedule_is_not_found(stage: &dyn Stage) {
    let play = Play::on(stage).await;
    let name = || "nothing".to_owned();
    let now = play.now().await;
    let orders = [
        Control::RemoveSchedule { name: name() },
        Control::PauseSchedule { name: name() },
        Control::ResumeSchedule { name: name(), next_at: None },
    ];
    for order in orders {
        let answer = play.control(order).await;
        assert!(matches!(answer, Err(WorldError::NotFound(_))), "{answer:?}");
    }
    // A fire that raced with a removal starts nothing, whichever error the world returns.
    let answer = play.control(fire("nothing", now, vec![new_run("r")])).await;
    assert!(matches!(answer, Ok(Controlled::Unchanged) | Err(WorldError::NotFound(_))), "{answer:?}");
    play.nothing_to_claim().await;
}
