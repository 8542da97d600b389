//! One table of our results and those of peers. In-process handlers are marked, because peers in other
//! languages have none.

use std::path::Path;

use serde::Deserialize;

use crate::BenchError;
use crate::machine;
use crate::report::Report;

const IN_PROCESS: &str = "Rhythm, in-process Rust handlers";
const OWN_PROCESSES: &str = "Rhythm, worker processes";

/// A measurement of another engine: a report and the engine's name.
#[derive(Clone, Debug, Deserialize)]
pub struct Peer {
    pub engine: String,
    pub version: String,
    pub language: String,
    #[serde(flatten)]
    pub report: Report,
}

pub fn read_peers(path: &Path) -> Result<Vec<Peer>, BenchError> {
    let wrong = |reason: String| BenchError::Peers { path: path.display().to_string(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
}

/// Formats a line about the machine, and a table with a row for each report. Below our rows of a workload
/// come those of the peers.
pub fn table(reports: &[Report], peers: &[Peer]) -> String {
    let mut rows = Vec::new();
    let mut names: Vec<&str> = reports.iter().map(|report| report.workload.as_str()).collect();
    names.dedup();
    for (place, name) in names.iter().enumerate() {
        // With two worlds a workload occurs twice; its rows are grouped.
        if names[..place].contains(name) {
            continue;
        }
        rows.extend(reports.iter().filter(|report| report.workload == *name).map(own_row));
        rows.extend(peers.iter().filter(|peer| peer.report.workload == *name).map(peer_row));
    }
    let columns: Vec<&str> = ["workload", "engine", "world"].into_iter().chain(Report::COLUMNS).collect();
    let mut text = format!("{}\n\n", measured_on(reports));
    text.push_str(&format!("| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len())));
    for row in rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

fn measured_on(reports: &[Report]) -> String {
    let mut databases: Vec<&str> = Vec::new();
    for report in reports {
        if !databases.contains(&report.database.as_str()) {
            databases.push(&report.database);
        }
    }
    format!("Measured {}; {}.", machine::described(), databases.join("; "))
}

fn own_row(report: &Report) -> Vec<String> {
    let engine = match report.workload.as_str() {
        "w6" | "w7" | "w11" => OWN_PROCESSES,
        _ => IN_PROCESS,
    };
    row(report, engine.to_owned())
}

fn peer_row(peer: &Peer) -> Vec<String> {
    row(&peer.report, format!("{} {}, {}", peer.engine, peer.version, peer.language))
}

fn row(report: &Report, engine: String) -> Vec<String> {
    let begin = [report.workload.to_uppercase(), engine, report.world.clone()];
    begin.into_iter().chain(report.cells()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(text: &str) -> Report {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_measures_the_same_stands_together() {
        let ours = [
            report(r#"{"workload": "w1", "world": "sqlite", "per_s": 10.0}"#),
            report(r#"{"workload": "w7", "world": "sqlite", "lost": 0}"#),
            report(r#"{"workload": "w1", "world": "postgres"}"#),
        ];
        let peers: Vec<Peer> = serde_json::from_str(
            r#"[{"engine": "A|B", "version": "1.0", "language": "Go", "workload": "w1", "world": "postgres"},
                {"engine": "C", "version": "2", "language": "Python", "workload": "w2", "world": "postgres"}]"#,
        )
        .unwrap();
        let table = table(&ours, &peers);
        let begins: Vec<String> =
            table.lines().skip(4).map(|line| line.split(" | ").take(3).collect()).collect();
        assert_eq!(
            begins,
            [
                format!("| W1{IN_PROCESS}sqlite"),
                format!("| W1{IN_PROCESS}postgres"),
                "| W1A\\|B 1.0, Gopostgres".to_owned(),
                format!("| W7{OWN_PROCESSES}sqlite"),
            ]
        );
    }
}
