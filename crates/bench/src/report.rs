//! What a benchmark tells, for people and for programs.

use serde::Serialize;

use crate::raw::RawLimit;
use crate::workload::Measured;

/// One workload on one world. Keys that do not apply are null.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub workload: String,
    pub world: String,
    pub per_s: f64,
    pub wall_s: f64,
    pub count: u64,
    pub repeated: u64,
    pub raw_single_per_s: f64,
    pub raw_batched_per_s: f64,
    pub raw_commit_ms: f64,
    /// Our figure as a share of the raw limit in batches.
    pub ratio_batched: f64,
}

impl Report {
    pub fn new(workload: &str, world: &str, measured: &Measured, raw: &RawLimit) -> Self {
        Self {
            workload: workload.to_owned(),
            world: world.to_owned(),
            per_s: measured.per_s(),
            wall_s: measured.wall.as_secs_f64(),
            count: measured.count,
            repeated: measured.repeated,
            raw_single_per_s: raw.single_per_s,
            raw_batched_per_s: raw.batched_per_s,
            raw_commit_ms: raw.commit_ms,
            ratio_batched: measured.per_s() / raw.batched_per_s,
        }
    }

    pub const COLUMNS: [&'static str; 7] = [
        "workload",
        "world",
        "per second",
        "seconds",
        "raw, 1 a commit",
        "raw, 100 a commit",
        "share of raw",
    ];

    pub fn cells(&self) -> [String; 7] {
        [
            self.workload.clone(),
            self.world.clone(),
            format!("{:.0}", self.per_s),
            format!("{:.2}", self.wall_s),
            format!("{:.0}", self.raw_single_per_s),
            format!("{:.0}", self.raw_batched_per_s),
            format!("{:.0} %", self.ratio_batched * 100.0),
        ]
    }
}

/// A Markdown table.
pub fn markdown(columns: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}
