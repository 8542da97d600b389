//! Prints reports: as JSON, one object per line as soon as it is there, or as one table at the end.

use std::path::{Path, PathBuf};

use rhythm_bench::{Peer, Report, read_peers, table};

use crate::errors::{CliError, CliResult};
use crate::output::{Output, Table};

/// Default file with the figures of other engines.
const PEERS: &str = "bench/peers.json";

pub struct Printer {
    out: Output,
    markdown: bool,
    peers: Vec<Peer>,
}

impl Printer {
    /// Reads the peers' figures at once, so that an error in the file shows before an hour of measuring.
    pub fn new(out: Output, markdown: bool, peers: Option<PathBuf>) -> CliResult<Self> {
        if markdown && out.is_json() {
            return Err(CliError::BadValue(
                "--markdown and --output json are two forms of one answer; choose one".into(),
            ));
        }
        if peers.is_some() && !markdown {
            return Err(CliError::BadValue("--peers is shown with --markdown only".into()));
        }
        let usual = Path::new(PEERS).is_file().then(|| PEERS.into());
        let peers = match peers.or(usual).filter(|_| markdown) {
            Some(path) => read_peers(&path)?,
            None => Vec::new(),
        };
        Ok(Self { out, markdown, peers })
    }

    pub fn each(&self, reports: &[Report]) -> CliResult {
        if self.out.is_json() {
            for report in reports {
                let text =
                    serde_json::to_string(report).map_err(|error| CliError::Output(error.to_string()))?;
                self.out.raw(&format!("{text}\n"))?;
            }
        }
        Ok(())
    }

    pub fn all(&self, reports: &[Report]) -> CliResult {
        if self.out.is_json() || reports.is_empty() {
            return Ok(());
        }
        if self.markdown {
            return self.out.raw(&table(reports, &self.peers));
        }
        self.out.raw(&plain(reports))
    }
}

/// Returns the table without empty columns.
fn plain(reports: &[Report]) -> String {
    let rows: Vec<[String; 12]> = reports.iter().map(Report::cells).collect();
    let used: Vec<usize> =
        (0..Report::COLUMNS.len()).filter(|place| rows.iter().any(|row| !row[*place].is_empty())).collect();
    let columns = used.iter().map(|place| Report::COLUMNS[*place]);
    let mut table = Table::new(&["workload", "world"].into_iter().chain(columns).collect::<Vec<_>>());
    for (report, row) in reports.iter().zip(&rows) {
        let cells = used.iter().map(|place| row[*place].clone());
        table.row([report.workload.clone(), report.world.clone()].into_iter().chain(cells).collect());
    }
    table.render()
}
