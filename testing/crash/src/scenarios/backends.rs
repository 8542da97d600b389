//! F5: the server ends random sessions, several per second, including those that listen for wake-ups.

use std::time::Duration;

use crate::cluster::Victims;
use crate::lab::{LabResult, Launch, On, Scale};
use crate::load_processes::Crowd;
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::wait::{PATIENCE, wall_millis};

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("backends", on);
    let rig = Rig::open().await?;
    let launch = Launch { pause: 50, ..Launch::default() };
    let crowd =
        Crowd::start(&rig.lab, &[launch.clone(), launch.clone(), launch.clone()], &[launch.clone(), launch])?;
    let admin = rig.cluster.connect().await?;
    let wanted = scale.pick(25, 1_020);
    let mut ended = 0;
    for round in 0u64.. {
        tokio::time::sleep(Duration::from_millis(fastrand::u64(50..350))).await;
        let victims = if round % 3 == 0 { Victims::Listeners } else { Victims::Any };
        let at = wall_millis();
        let count = rig.cluster.terminate_backends(&admin, victims, fastrand::i64(1..4)).await?;
        report.fault(if victims == Victims::Listeners { "listeners ended" } else { "sessions ended" }, count);
        ended += count;
        // Every tenth time, measures how long it takes until any attempt begins.
        if round % 10 == 0 {
            match next_beginning(&rig.lab, at, None, PATIENCE).await {
                Some(began) => report.beginnings.push(began - at),
                None => {
                    report.violations.push(format!("nothing began again after {ended} sessions had ended"))
                }
            }
            report.say(format_args!("{ended} of {wanted} sessions ended"));
        }
        if ended >= wanted {
            break;
        }
    }
    crowd.finish(&rig.lab, &mut report, scale.pick(30, 500)).await?;
    report.floor("sessions ended", scale.pick(25, 1_000), ended);
    report.floor(
        "listeners ended",
        scale.pick(6, 200),
        report.faults.get("listeners ended").copied().unwrap_or(0),
    );
    Ok(report)
}
