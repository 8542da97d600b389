//! I2: a run that has not ended has something that will wake it up. It is ready or claimed; or it has a
//! timer, an open task, a running child, an awaited message; or an operator stopped it.

use rhythm_engine::world::{Picture, TaskState};

/// Returns whether nothing will ever wake this run up.
pub fn is_orphan(picture: &Picture) -> bool {
    let summary = &picture.summary;
    let stopped = summary.paused || picture.workflow_paused || summary.blocked.is_some();
    let has_turn = picture.ready_since.is_some() || picture.claimed_by.is_some();
    let awaits = !picture.row.awaiting().is_empty() || !picture.timers.is_empty();
    let works = picture.tasks.iter().any(|task| match task.state {
        TaskState::Delayed | TaskState::Ready | TaskState::Running | TaskState::Held => true,
        TaskState::Completed | TaskState::Failed | TaskState::Cancelled => false,
    });
    let child = picture.children.iter().any(|child| !child.status.is_final());
    !(summary.status.is_final() || stopped || has_turn || awaits || works || child)
}

#[cfg(test)]
mod tests {
    use rhythm::{Millis, Rhythm, WorkflowKind};
    use rhythm_engine::world::TimerRow;

    use super::*;

    #[tokio::test]
    async fn a_run_that_nothing_will_wake_is_an_orphan() {
        let client = Rhythm::open("sqlite::memory:").await.unwrap().client();
        client.register("drill", WorkflowKind::Drill, r#"{"steps": []}"#).await.unwrap();
        let run = client.start("drill", &()).await.unwrap();
        let begun = client.picture(&run).await.unwrap();
        assert!(!is_orphan(&begun), "it is ready");
        let orphan = Picture { ready_since: None, timers: Vec::new(), ..begun.clone() };
        assert!(is_orphan(&orphan));
        let due_at = begun.summary.created_at.plus(Millis(1));
        let timers = vec![TimerRow { timer: None, what: "sleep".into(), due_at }];
        assert!(!is_orphan(&Picture { timers, ..orphan.clone() }));
        assert!(!is_orphan(&Picture { claimed_by: Some("w".into()), ..orphan.clone() }));
        assert!(!is_orphan(&Picture { children: vec![begun.summary.clone()], ..orphan.clone() }));
        let mut ended = orphan;
        ended.summary.status = rhythm::Status::Completed;
        assert!(!is_orphan(&ended));
    }
}
