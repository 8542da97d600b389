//! F20: what is stored is damaged. Half a frame at the end of the log is ignored; a flipped bit in a blob or in a
//! snapshot is found, its run is set aside or reported, and all others go on.

use std::fs::OpenOptions;
use std::io::Write;

use rhythm::{Payload, Rhythm, RunId, Status, WorkflowKind};
use rhythm_core::BlockedCode;
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use rusqlite::{Connection, params};
use serde_json::json;

use crate::lab::{Lab, LabResult, Launch, On, Scale};
use crate::oracle::examine_some;
use crate::report::Report;
use crate::wait::{PATIENCE, until};

/// How a run is hurt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wound {
    /// A bit of its input, which is a blob.
    Blob,
    /// A bit of its snapshot that makes it unreadable.
    Snapshot,
    /// A bit of its snapshot that can still be read.
    Value,
}

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("disk_damage", on);
    let mut lab = Lab::new(on).await?;
    let plan = json!({"steps": [{"signal": {"name": "go"}}, "measure_input", {"keep": 7}]});
    lab.client.register("hurt", WorkflowKind::Drill, &plan.to_string()).await?;
    let each = scale.pick(2, 40);
    let mut hurt = Vec::new();
    for number in 0..each {
        for wound in [Wound::Blob, Wound::Snapshot, Wound::Value] {
            let input = format!("{number}{wound:?}").repeat(20_000);
            hurt.push((lab.client.start("hurt", &input).await?, wound));
        }
    }
    let launch = Launch { fast: true, pause: 5, ..Launch::default() };
    let mut worker = lab.worker(&launch)?;
    let mut client = lab.client_process("client", &launch)?;
    let waiting = until(PATIENCE, || all(&lab, &hurt, |status| status == Status::Waiting)).await;
    report.hold(waiting, || "the runs did not come to their signal".into());
    let busy = until(PATIENCE, || std::future::ready(lab.count(|_| true).is_ok_and(|now| now > 40))).await;
    report.hold(busy, || "nothing moved".into());
    // The last one to close the file in good order would clear the log away.
    lab.close_eyes().await?;
    client.kill();
    worker.kill();
    tear(&lab, &mut report)?;
    for (run, wound) in &hurt {
        wounded(&lab, run, *wound)?;
        report.fault("bits flipped", 1);
    }
    lab.open_eyes().await?;
    let _worker = lab.worker(&launch)?;
    let mut client = lab.client_process("client", &Launch { scripts: 60, ..launch })?;
    let mut found = 0;
    for (run, wound) in &hurt {
        found += u64::from(is_found(&lab, run, *wound).await?);
    }
    report.hold(found == hurt.len() as u64, || format!("only {found} of {} were found", hurt.len()));
    let ended = client.ends_within(PATIENCE).await;
    report.hold(ended.is_some_and(|status| status.success()), || client.messages());
    let rested = until(PATIENCE, || async {
        let health = lab.client.world().health().await;
        health.is_ok_and(|health| health.open_tasks == 0 && health.live_runs <= hurt.len() as u64)
    });
    report.hold(rested.await, || "others did not go on".into());
    let findings = examine_some(&lab, |run| run.workflow != "hurt").await?;
    report.judge(&lab, findings);
    report.figure("found", found);
    report.floor("runs hurt and found", each * 3, found);
    report.floor("other runs ended", 40, report.figures["runs ended"]);
    Ok(report)
}

async fn all(lab: &Lab, runs: &[(RunId, Wound)], right: impl Fn(Status) -> bool) -> bool {
    for (run, _) in runs {
        let picture = lab.client.picture(run).await;
        if !picture.is_ok_and(|picture| right(picture.summary.status)) {
            return false;
        }
    }
    true
}

/// Writes the beginning of a frame after the last one, as a power cut in the middle of a write would.
fn tear(lab: &Lab, report: &mut Report) -> LabResult<()> {
    let path = lab.folder().join("rhythm.db-wal");
    let log = std::fs::read(&path)?;
    // A frame is a header of 24 bytes and a page; this one is a true one, cut short.
    let frame = log.get(32..32 + 24 + 1_000).ok_or("the log is empty")?;
    OpenOptions::new().append(true).open(&path)?.write_all(frame)?;
    report.fault("logs torn", 1);
    Ok(())
}

fn wounded(lab: &Lab, run: &RunId, wound: Wound) -> LabResult<()> {
    let path = lab.world.strip_prefix("sqlite:").ok_or("no file")?;
    let db = Connection::open(path)?;
    let changed = match wound {
        Wound::Blob => {
            let input: String = db.query_row(
                "SELECT input FROM run_start JOIN live_run USING (key) WHERE run = ?1",
                params![run.as_str()],
                |row| row.get(0),
            )?;
            let Payload::Blob(blob) = Payload::from_stored(&input)? else { return Err("no blob".into()) };
            let content: Vec<u8> =
                db.query_row("SELECT content FROM blob WHERE hash = ?1", params![blob.hash], |row| {
                    row.get(0)
                })?;
            let content = flipped(content, |bytes| bytes.len() / 2);
            db.execute("UPDATE blob SET content = ?1 WHERE hash = ?2", params![content, blob.hash])?
        }
        Wound::Snapshot | Wound::Value => {
            let snapshot: Vec<u8> =
                db.query_row("SELECT snapshot FROM live_run WHERE run = ?1", params![run.as_str()], |row| {
                    row.get(0)
                })?;
            let snapshot = match wound {
                Wound::Snapshot => flipped(snapshot, |_| 0),
                // Another signal is waited for than history says.
                _ => String::from_utf8(snapshot)?.replacen("\"go\"", "\"gn\"", 1).into_bytes(),
            };
            db.execute("UPDATE live_run SET snapshot = ?1 WHERE run = ?2", params![snapshot, run.as_str()])?
        }
    };
    if changed == 1 { Ok(()) } else { Err(format!("{changed} rows of run {run} were hurt").into()) }
}

fn flipped(mut bytes: Vec<u8>, place: impl Fn(&[u8]) -> usize) -> Vec<u8> {
    let place = place(&bytes);
    bytes[place] ^= 1;
    bytes
}

/// Damage sets a run aside when it is to go on; what differs from its history is also found by `verify`.
async fn is_found(lab: &Lab, run: &RunId, wound: Wound) -> LabResult<bool> {
    if wound == Wound::Value {
        let rhythm = Rhythm::open(&lab.world).await?;
        if verify(&rhythm.client(), &Programs::default(), run).await?.problem.is_none() {
            return Ok(false);
        }
    }
    lab.client.signal(run, "go", Payload::null(), None).await?;
    Ok(until(PATIENCE, || async {
        let picture = lab.client.picture(run).await;
        let blocked = picture.ok().and_then(|picture| picture.summary.blocked);
        blocked.is_some_and(|blocked| blocked.code == BlockedCode::Quarantined)
    })
    .await)
}
