//! Names under which requests of operators and upkeep are counted.

use rhythm_engine::world::Control;

/// Returns the name of a request. A request that writes a history row has the name of that row.
pub fn of_control(control: &Control) -> &'static str {
    match control {
        Control::PauseRun { .. } => "paused",
        Control::ResumeRun { .. } => "resumed",
        Control::Reopen { .. } => "reopened",
        Control::ChangeVersion { .. } => "version_changed",
        Control::TakeBack { .. } => "take back",
        Control::Unblock { .. } => "unblock",
        Control::Annotate { .. } => "annotate",
        Control::Fork { .. } => "fork",
        Control::PauseWorkflow { .. } => "pause workflow",
        Control::ResumeWorkflow { .. } => "resume workflow",
        Control::PauseQueue { .. } => "pause queue",
        Control::ResumeQueue { .. } => "resume queue",
        Control::RequeueDead { .. } => "requeue dead letter",
        Control::DeleteRun { .. } => "delete",
        Control::StoreVersion(_) => "store_version",
        Control::DismissRun { .. } => "dismiss",
        Control::DiscardDead { .. } => "discard dead letter",
        Control::CancelTask { .. } => "cancel standalone task",
        Control::PutNodeType(_) => "put node type",
        Control::RemoveNodeType { .. } => "remove node type",
        Control::PutSchedule(_) => "put schedule",
        Control::RemoveSchedule { .. } => "remove schedule",
        Control::PauseSchedule { .. } => "pause schedule",
        Control::ResumeSchedule { .. } => "resume schedule",
        Control::FireSchedule { .. } => "fire schedule",
        Control::PutArtifact(_) => "put artifact",
        Control::RemoveArtifact { .. } => "remove artifact",
        Control::MoveTag(_) => "move tag",
        Control::PatchWorkflow(_) => "patch workflow",
    }
}
