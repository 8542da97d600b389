//! F20: stored data is damaged. A write-ahead log cut inside its last frame loses the transaction of that
//! frame and nothing else. A flipped bit in a blob or snapshot is detected and its run is quarantined; all
//! others go on. PostgreSQL's checksums are off by default and cannot see damage from above the file level,
//! so the same bits are flipped there.

use std::fs::OpenOptions;

use rhythm::{Payload, Rhythm, RunId, Status, WorkflowKind};
use rhythm_core::BlockedCode;
use rhythm_engine::programs::Programs;
use rhythm_engine::verify::verify;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, params};
use serde_json::json;
use tokio_postgres::NoTls;

use crate::lab::{Lab, LabResult, Launch, On, Scale};
use crate::oracle::examine_some;
use crate::report::Report;
use crate::wait::{PATIENCE, until};

/// Kind of damage to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wound {
    /// Flips a bit of the run's input, which is a blob.
    Blob,
    /// Flips a bit of the snapshot that makes it unreadable.
    Snapshot,
    /// Changes the snapshot but keeps it readable: only its checksum and `verify` can detect that.
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
    // The last connection that closes the file properly would remove the log.
    lab.close_eyes().await?;
    client.kill();
    worker.kill();
    if on == On::Sqlite {
        tear(&lab, &mut report)?;
    }
    let mut store = Store::open(&lab).await?;
    for (run, wound) in &hurt {
        store.hurt(run, *wound).await?;
        report.fault("bits flipped", 1);
    }
    drop(store);
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

/// Writes an unacknowledged transaction and cuts the log inside its last frame, like a power cut during the
/// write. Exactly that transaction must be lost.
fn tear(lab: &Lab, report: &mut Report) -> LabResult<()> {
    let file = file_of(lab)?;
    let db = Connection::open(file)?;
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    db.execute_batch("CREATE TABLE torn (x); INSERT INTO torn VALUES (zeroblob(9000))")?;
    drop(db);
    let path = format!("{file}-wal");
    let log = std::fs::read(&path)?;
    let cut = inside_last_frame(&log).ok_or("the log is empty")?;
    OpenOptions::new().write(true).open(&path)?.set_len(cut)?;
    let left: i64 =
        Connection::open(file)?.query_row("SELECT count(*) FROM torn", [], |row| row.get(0)).unwrap_or(0);
    report.hold(left == 0, || "what a torn frame was part of is there".into());
    report.fault("logs torn", 1);
    Ok(())
}

/// Returns a position in the middle of the last frame of a write-ahead log. A frame is a header of 24 bytes
/// and a page. Frames with other salts than the log's header are left over from before.
fn inside_last_frame(log: &[u8]) -> Option<u64> {
    const HEADER: usize = 32;
    let page = u32::from_be_bytes(log.get(8..12)?.try_into().ok()?) as usize;
    let salts = log.get(16..24)?;
    let frame = 24 + page;
    let frames = log[HEADER..].chunks_exact(frame).take_while(|frame| &frame[8..16] == salts).count();
    let last = HEADER + frames.checked_sub(1)? * frame;
    Some((last + frame / 2) as u64)
}

fn file_of(lab: &Lab) -> LabResult<&str> {
    Ok(lab.world.strip_prefix("sqlite:").ok_or("no file")?)
}

/// Storage of a world, opened to damage it.
enum Store {
    Sqlite(Connection),
    Postgres(tokio_postgres::Client),
}

impl Store {
    async fn open(lab: &Lab) -> LabResult<Self> {
        Ok(match lab.on {
            On::Sqlite => Self::Sqlite(Connection::open(file_of(lab)?)?),
            On::Postgres => {
                let (session, connection) = tokio_postgres::connect(&lab.world, NoTls).await?;
                tokio::spawn(connection);
                session.batch_execute("SET search_path = rhythm").await?;
                Self::Postgres(session)
            }
        })
    }

    async fn hurt(&mut self, run: &RunId, wound: Wound) -> LabResult<()> {
        let changed = match wound {
            Wound::Blob => {
                let input = self.input(run).await?;
                let Payload::Blob(blob) = Payload::from_stored(&input)? else { return Err("no blob".into()) };
                let content = self.bytes("SELECT content FROM blob WHERE hash = $1", &blob.hash).await?;
                let content = flipped(content, |bytes| bytes.len() / 2);
                self.put("UPDATE blob SET content = $1 WHERE hash = $2", &content, &blob.hash).await?
            }
            Wound::Snapshot | Wound::Value => {
                let key = match self {
                    Self::Sqlite(_) => "run",
                    Self::Postgres(_) => "id",
                };
                let read = format!("SELECT snapshot FROM live_run WHERE {key} = $1");
                let snapshot = self.bytes(&read, run.as_str()).await?;
                let snapshot = match wound {
                    Wound::Snapshot => flipped(snapshot, |_| 0),
                    // The snapshot now awaits another signal than the history says.
                    _ => String::from_utf8(snapshot)?.replacen("\"go\"", "\"gn\"", 1).into_bytes(),
                };
                let write = format!("UPDATE live_run SET snapshot = $1 WHERE {key} = $2");
                self.put(&write, &snapshot, run.as_str()).await?
            }
        };
        if changed == 1 { Ok(()) } else { Err(format!("{changed} rows of run {run} were hurt").into()) }
    }

    async fn input(&mut self, run: &RunId) -> LabResult<String> {
        Ok(match self {
            Self::Sqlite(db) => {
                let sql = "SELECT input FROM run_start JOIN live_run USING (key) WHERE run = $1";
                db.query_row(sql, params![run.as_str()], |row| row.get(0))?
            }
            Self::Postgres(session) => {
                session.query_one("SELECT input FROM live_run WHERE id = $1", &[&run.as_str()]).await?.get(0)
            }
        })
    }

    async fn bytes(&mut self, sql: &str, key: &str) -> LabResult<Vec<u8>> {
        Ok(match self {
            Self::Sqlite(db) => db.query_row(sql, params![key], |row| row.get(0))?,
            Self::Postgres(session) => session.query_one(sql, &[&key]).await?.get(0),
        })
    }

    async fn put(&mut self, sql: &str, bytes: &[u8], key: &str) -> LabResult<u64> {
        Ok(match self {
            Self::Sqlite(db) => db.execute(sql, params![bytes, key])? as u64,
            Self::Postgres(session) => session.execute(sql, &[&bytes, &key]).await?,
        })
    }
}

fn flipped(mut bytes: Vec<u8>, place: impl Fn(&[u8]) -> usize) -> Vec<u8> {
    let place = place(&bytes);
    bytes[place] ^= 1;
    bytes
}

/// Returns whether the damage is detected: the run is quarantined when it should go on, and `verify` reports
/// a snapshot that differs from its history.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_frame_is_the_last_with_the_salts_of_the_log() {
        let mut log = vec![0; 32];
        log[8..12].copy_from_slice(&512_u32.to_be_bytes());
        log[16..24].copy_from_slice(b"saltsalt");
        assert_eq!(inside_last_frame(&log), None);
        for salts in [b"saltsalt", b"saltsalt", b"leftover"] {
            let mut frame = vec![0; 24 + 512];
            frame[8..16].copy_from_slice(salts);
            log.extend(frame);
        }
        assert_eq!(inside_last_frame(&log), Some(32 + 536 + 268));
    }
}
