//! F14: every packet is delayed by 200 ms or more, one in a hundred by a second. No slow worker may lose a
//! claim.

use std::time::Duration;

use rhythm_proxy::{Delay, Faults, Stall};

use crate::lab::{LabResult, Launch, On, Scale};
use crate::load_processes::Crowd;
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::wait::PATIENCE;

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("slow_network", on);
    let rig = Rig::open().await?;
    let proxy = rig.proxy().await?;
    let launch = rig.behind(&proxy, &Launch { pause: 0, ..Launch::default() });
    let crowd =
        Crowd::start(&rig.lab, &[launch.clone(), launch.clone()], &[launch.clone(), launch.clone(), launch])?;
    next_beginning(&rig.lab, 0, None, PATIENCE).await;
    // The delay applies both ways: a round trip takes 400 to 600 ms.
    let stall = Stall { chance: 0.01, time: Duration::from_secs(1) };
    let delay = Delay { base: Duration::from_millis(200), jitter: Duration::from_millis(100), stall };
    proxy.set(Faults { delay: Some(delay), ..Faults::default() });
    tokio::time::sleep(scale.pick(Duration::from_secs(4), Duration::from_secs(120))).await;
    if scale == Scale::Short {
        // Finishing under delay would only take longer.
        proxy.set(Faults::default());
    }
    crowd.finish(&rig.lab, &mut report, scale.pick(5, 100)).await?;
    report.fault("pieces delayed", proxy.counts().delayed);
    let repeated = report.figures["hand-outs repeated"];
    report.hold(repeated == 0, || format!("{repeated} attempts were taken from workers that were only slow"));
    report.floor("pieces delayed", scale.pick(50, 2_000), proxy.counts().delayed);
    Ok(report)
}
