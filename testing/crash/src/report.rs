//! The report of a scenario: injected faults, floors, recovery times, violations.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::lab::{Lab, On};
use crate::oracle::Findings;

/// A minimum that must have happened; without it the scenario proves nothing (I12).
#[derive(Clone, Debug, Serialize)]
pub struct Floor {
    pub what: String,
    pub least: u64,
    pub got: u64,
}

#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub scenario: &'static str,
    pub on: On,
    /// Faults really injected, by kind.
    pub faults: BTreeMap<&'static str, u64>,
    pub floors: Vec<Floor>,
    /// Milliseconds until the interrupted attempt, or the same worker, went on after a fault.
    pub recoveries: Vec<u64>,
    /// Milliseconds from a fault until any attempt began in any process. This only shows that work goes on
    /// again.
    pub beginnings: Vec<u64>,
    /// Other figures of interest.
    pub figures: BTreeMap<&'static str, u64>,
    /// Remarks that do not fit into a figure.
    pub notes: Vec<String>,
    pub violations: Vec<String>,
    pub seconds: f64,
    #[serde(skip)]
    began: Instant,
}

impl Report {
    pub fn new(scenario: &'static str, on: On) -> Self {
        Self {
            scenario,
            on,
            faults: BTreeMap::new(),
            floors: Vec::new(),
            recoveries: Vec::new(),
            beginnings: Vec::new(),
            figures: BTreeMap::new(),
            notes: Vec::new(),
            violations: Vec::new(),
            seconds: 0.0,
            began: Instant::now(),
        }
    }

    pub fn fault(&mut self, kind: &'static str, count: u64) {
        *self.faults.entry(kind).or_default() += count;
    }

    pub fn floor(&mut self, what: impl Into<String>, least: u64, got: u64) {
        self.floors.push(Floor { what: what.into(), least, got });
    }

    pub fn figure(&mut self, what: &'static str, value: u64) {
        *self.figures.entry(what).or_default() += value;
    }

    pub fn note(&mut self, text: String) {
        self.say(&text);
        self.notes.push(text);
    }

    /// Records a violation unless the condition holds.
    pub fn hold(&mut self, condition: bool, otherwise: impl FnOnce() -> String) {
        if !condition {
            self.violations.push(otherwise());
        }
    }

    /// Adds the oracle's findings, and the processes that ended unexpectedly.
    pub fn judge(&mut self, lab: &Lab, findings: Findings) {
        for (what, count) in findings.figures {
            self.figure(what, count);
        }
        self.violations.extend(findings.violations);
        let innocent = |task| format!("task {task} of the load ended as poison");
        self.violations.extend(findings.poisoned.iter().map(innocent));
        self.violations.extend(lab.deaths());
    }

    pub fn done(mut self) -> Self {
        self.seconds = self.began.elapsed().as_secs_f64();
        self
    }

    /// Prints a line of progress.
    #[allow(clippy::print_stderr, reason = "progress of a program and of tests")]
    pub fn say(&self, text: impl std::fmt::Display) {
        let seconds = self.began.elapsed().as_secs_f64();
        eprintln!("{:>7.1} s  {:?} {}: {text}", seconds, self.on, self.scenario);
    }

    pub fn is_good(&self) -> bool {
        self.violations.is_empty() && self.floors.iter().all(|floor| floor.got >= floor.least)
    }

    pub fn text(&self) -> String {
        let mut lines = vec![format!("{} on {:?}, {:.1} s", self.scenario, self.on, self.seconds)];
        lines.push(format!("  faults: {}", pairs(&self.faults)));
        let floor = |floor: &Floor| format!("{} {} (least {})", floor.what, floor.got, floor.least);
        lines.push(format!("  floors: {}", self.floors.iter().map(floor).collect::<Vec<_>>().join(", ")));
        lines.push(format!("  recovery: {}", spread(&self.recoveries)));
        lines.push(format!("  until anything began: {}", spread(&self.beginnings)));
        lines.push(format!("  figures: {}", pairs(&self.figures)));
        lines.extend(self.notes.iter().map(|note| format!("  {note}")));
        const SHOWN: usize = 20;
        lines.push(format!("  violations: {}", self.violations.len()));
        lines.extend(self.violations.iter().take(SHOWN).map(|violation| format!("    {violation}")));
        lines.join("\n")
    }

    /// Fails a test with the whole report as its message.
    pub fn expect_good(&self) {
        self.say(self.text());
        assert!(self.is_good(), "{}", self.text());
    }
}

/// Returns the time within which this share of the times lies (a percentile).
fn within(times: &[u64], share: f64) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let place = ((sorted.len() as f64 * share).ceil() as usize).max(1) - 1;
    sorted.get(place.min(sorted.len().checked_sub(1)?)).copied().map(Duration::from_millis)
}

fn spread(times: &[u64]) -> String {
    match (within(times, 0.5), within(times, 0.99)) {
        (Some(half), Some(most)) => {
            let (half, most) = (half.as_secs_f64(), most.as_secs_f64());
            format!("p50 {half:.2} s, p99 {most:.2} s of {}", times.len())
        }
        _ => "-".to_owned(),
    }
}

fn pairs(counts: &BTreeMap<&'static str, u64>) -> String {
    let pair = |(what, count): (&&str, &u64)| format!("{count} {what}");
    counts.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// Formats all reports of one world as a Markdown table.
pub fn markdown(reports: &[Report]) -> String {
    let mut rows = vec![
        "| scenario | world | faults injected | floor | recovery | until anything began | figures | violations | seconds |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for report in reports {
        let floor = |floor: &Floor| {
            let mark = if floor.got < floor.least { " MISSED" } else { "" };
            format!("{} of {} {}{mark}", floor.got, floor.least, floor.what)
        };
        rows.push(format!(
            "| {} | {:?} | {} | {} | {} | {} | {} | {} | {:.0} |",
            report.scenario,
            report.on,
            pairs(&report.faults),
            report.floors.iter().map(floor).collect::<Vec<_>>().join(", "),
            spread(&report.recoveries),
            spread(&report.beginnings),
            [vec![pairs(&report.figures)], report.notes.clone()].concat().join("<br>"),
            report.violations.len(),
            report.seconds,
        ));
    }
    rows.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_floor_or_a_violation_is_not_good() {
        let mut report = Report::new("test", On::Sqlite);
        report.floor("runs", 5, 5);
        assert!(report.is_good());
        report.floor("kills", 5, 4);
        assert!(!report.is_good());
        let mut report = Report::new("test", On::Sqlite);
        report.hold(false, || "broken".into());
        assert!(!report.is_good());
    }

    #[test]
    fn recovery_is_read_off_the_sorted_times() {
        assert_eq!(within(&[], 0.5), None);
        let times: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(within(&times, 0.5), Some(Duration::from_millis(50)));
        assert_eq!(within(&times, 0.99), Some(Duration::from_millis(99)));
        assert_eq!(within(&times, 1.0), Some(Duration::from_millis(100)));
    }
}
