//! Labels of runs: key/value pairs by which people find a run. The engine sets some itself, under the names here.

use rhythm_core::label::CHILD_LABEL;

use crate::world::WantedLabel;

/// The version tag by which the run was started.
pub const TAG: &str = "tag";

/// The move of that tag, such as `v3`.
pub const TAG_MOVE: &str = "tag_move";

/// The schedule that started the run.
pub const SCHEDULE: &str = "schedule";

/// Of a fork: its origin and the last event they share, `RUN@EVENT`.
pub const FORKED_FROM: &str = "forked_from";

/// All names under which the engine sets labels.
pub const RESERVED: [&str; 5] = [CHILD_LABEL, TAG, TAG_MOVE, SCHEDULE, FORKED_FROM];

/// Returns the labels of the runs that were started by this tag (`main`), or by one move of it (`main@v3`).
pub fn started_by(tag: &str) -> Vec<WantedLabel> {
    match tag.split_once('@') {
        Some((name, number)) => vec![WantedLabel::equal(TAG, name), WantedLabel::equal(TAG_MOVE, number)],
        None => vec![WantedLabel::equal(TAG, tag)],
    }
}
