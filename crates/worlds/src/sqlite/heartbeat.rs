//! A worker's heartbeat.

use rhythm_core::Payload;
use rhythm_engine::world::{Extend, Extended, WorldResult};
use rusqlite::params;

use super::sql::{int, json, sql};
use super::tx::Tx;

pub fn extend(tx: &Tx<'_>, request: &Extend) -> WorldResult<Extended> {
    let (tenant, worker) = (request.tenant.as_str(), request.card.id.as_str());
    let now = tx.now.millis();
    if request.leaving {
        tx.run(sql!("extend", "leave"), params![tenant, worker, tx.handle.id])?;
    } else {
        let silence = int(request.card.silence.as_u64());
        let row = params![tenant, worker, tx.handle.id, json(&request.card), now, request.running, silence];
        tx.run(sql!("extend", "beat"), row)?;
    }
    let until = tx.now.plus(request.hold).millis();
    let mut answer = Extended { at: tx.now, lost: Vec::new(), cancelled: Vec::new() };
    for beat in &request.tasks {
        let task = &beat.claim.task;
        let progress = beat.progress.as_ref().map(Payload::to_stored);
        let renewal = params![task.as_str(), tenant, int(beat.claim.claim), worker, until, progress];
        match tx.one(sql!("extend", "renew"), renewal, |row| row.take::<bool>())? {
            None => answer.lost.push(task.clone()),
            Some(true) => answer.cancelled.push(task.clone()),
            Some(false) => {}
        }
    }
    Ok(answer)
}
