//! The result of a benchmark. Its JSON form is one object per measurement, always with the same keys.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::figures::ratio;
use crate::raw::RawLimit;
use crate::scratch_db::Ground;

/// One measurement on one world. Keys that do not apply are null.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// `w1` to `w12`.
    pub workload: String,
    /// `sqlite` or `postgres`.
    pub world: String,
    #[serde(flatten)]
    pub measured: Measured,
    pub raw_single_per_s: Option<f64>,
    pub raw_batched_per_s: Option<f64>,
    pub raw_commit_ms: Option<f64>,
    /// Rate as a share of the raw limit in batches.
    pub ratio_batched: Option<f64>,
    /// The database and its settings, for the head of a table.
    #[serde(skip)]
    pub database: String,
}

/// Figures of a workload.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    pub per_s: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub wall_s: Option<f64>,
    /// Runs or tasks that did not complete with the right output.
    pub lost: Option<u64>,
    /// Handler executions beyond the needed number.
    pub repeated: Option<u64>,
    pub rss_mb: Option<f64>,
    pub queries_per_s: Option<f64>,
    /// Sizes, and figures only this workload has.
    #[serde(default)]
    pub detail: Map<String, Value>,
}

impl Report {
    pub fn new(workload: &str, ground: &Ground, measured: Measured, raw: &RawLimit) -> Self {
        Self {
            workload: workload.to_owned(),
            world: ground.world_name().to_owned(),
            database: ground.database(),
            ratio_batched: ratio(measured.per_s, Some(raw.batched_per_s)),
            measured,
            raw_single_per_s: Some(raw.single_per_s),
            raw_batched_per_s: Some(raw.batched_per_s),
            raw_commit_ms: Some(raw.commit_ms),
        }
    }

    /// Column titles of a table, in the order of [`cells`](Self::cells).
    pub const COLUMNS: [&'static str; 12] = [
        "per second",
        "p50 ms",
        "p99 ms",
        "seconds",
        "lost",
        "repeated",
        "RSS MB",
        "queries/s",
        "raw, 1 a commit",
        "raw, 100 a commit",
        "share of raw",
        "details",
    ];

    /// Returns the rounded figures as text; empty where a key does not apply.
    pub fn cells(&self) -> [String; 12] {
        let measured = &self.measured;
        let whole = |figure: Option<f64>| figure.map_or(String::new(), |figure| format!("{figure:.0}"));
        let count = |figure: Option<u64>| figure.map_or(String::new(), |figure| figure.to_string());
        let share = self.ratio_batched.map_or(String::new(), |share| format!("{:.0} %", share * 100.0));
        [
            whole(measured.per_s),
            short(measured.p50_ms),
            short(measured.p99_ms),
            short(measured.wall_s),
            count(measured.lost),
            count(measured.repeated),
            short(measured.rss_mb),
            short(measured.queries_per_s),
            whole(self.raw_single_per_s),
            whole(self.raw_batched_per_s),
            share,
            detail(&measured.detail),
        ]
    }
}

impl Measured {
    /// Records the ratio of this rate to the first state's rate, or to itself when this is the first state.
    pub fn note_ratio(&mut self, first: Option<&Measured>) {
        let whole = first.map_or(self.per_s, |first| first.per_s);
        self.detail.insert("ratio_to_first".into(), json!(ratio(self.per_s, whole)));
    }
}

/// Formats a figure with three significant digits.
fn short(figure: Option<f64>) -> String {
    let Some(figure) = figure else { return String::new() };
    let places = match figure.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{figure:.places$}")
}

fn detail(detail: &Map<String, Value>) -> String {
    let parts = detail.iter().map(|(name, value)| {
        let name = name.replace('_', " ");
        match value {
            Value::Number(number) if !number.is_u64() => format!("{name} {}", short(number.as_f64())),
            Value::String(text) => format!("{name} {text}"),
            other => format!("{name} {other}"),
        }
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// Returns the object of a `json!({..})` literal.
pub fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_three_digits() {
        let shown = [0.0123, 1.234, 12.34, 123.4].map(|figure| short(Some(figure)));
        assert_eq!(shown, ["0.012", "1.23", "12.3", "123"]);
        assert_eq!(short(None), "");
    }

    #[test]
    fn details_are_words_and_figures() {
        let map = object(serde_json::json!({ "runs": 10, "ratio": 0.98765, "in_flight": null }));
        assert_eq!(detail(&map), "runs 10, ratio 0.988, in flight null");
    }
}
