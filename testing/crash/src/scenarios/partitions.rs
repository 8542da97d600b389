//! F12: workers are cut off from the database, in one direction or both, one or all, for less and for more
//! than their lease. Their requests arrive late, when the partition heals, and must do no harm.

use std::time::Duration;

use rhythm_proxy::{Faults, Flow, Proxy};

use crate::lab::{Lab, LabResult, Launch, On, Scale, Setup};
use crate::ledger::{Entry, What};
use crate::load_processes::{Crowd, repeated};
use crate::report::Report;
use crate::rig::{Rig, next_beginning};
use crate::wait::{PATIENCE, until, wall_millis};

const WORKERS: usize = 3;
/// Duration of a step, and largest age of a step that is expected to continue, in milliseconds.
const STEP: u64 = 200;
const JUST_NOW: u64 = 100;
/// Longer than the lease of a fast worker.
const PAST_HOLD: Duration = Duration::from_secs(8);

pub async fn run(on: On, scale: Scale) -> LabResult<Report> {
    let mut report = Report::new("partitions", on);
    // Steps are long enough to be running whenever the cut comes.
    let setup = Setup { step_millis: STEP, ..Setup::new(on) };
    let rig = Rig::on(crate::cluster::Cluster::start().await?, setup).await?;
    let mut proxies = Vec::new();
    for _ in 0..WORKERS {
        proxies.push(rig.proxy().await?);
    }
    let workers: Vec<Launch> = proxies.iter().map(|proxy| rig.behind(proxy, &Launch::fast())).collect();
    let client = Launch { pause: 100, ..Launch::fast() };
    let crowd = Crowd::start(&rig.lab, &workers, &[client.clone(), client])?;
    let partitions = scale.pick(3, 100);
    for number in 0..partitions {
        let whom: Vec<usize> = match number % (WORKERS + 1) {
            WORKERS => (0..WORKERS).collect(),
            one => vec![one],
        };
        let pids: Vec<u32> = whom.iter().map(|place| crowd.workers[*place].id()).collect();
        let busy = until(PATIENCE, || std::future::ready(pids.iter().all(|pid| is_at_work(&rig.lab, *pid))));
        report.hold(busy.await, || format!("nothing was under way before partition {number}"));
        let cut = Cut { proxies: &proxies, whom: &whom, number };
        cut.hold(&rig.lab, length(number, scale), &mut report).await;
        let healed = wall_millis();
        for place in whom {
            let pid = crowd.workers[place].id();
            match next_beginning(&rig.lab, healed, Some(pid), PATIENCE).await {
                Some(began) => report.recoveries.push(began - healed),
                None => {
                    report.violations.push(format!("worker {place} did nothing after partition {number}"))
                }
            }
        }
        if number % 10 == 9 {
            report.say(format_args!("{} of {partitions} partitions", number + 1));
        }
    }
    crowd.finish(&rig.lab, &mut report, scale.pick(20, 500)).await?;
    let held: u64 = proxies.iter().map(|proxy| proxy.counts().held).sum();
    report.figure("pieces held", held);
    report.floor("cuts that held something back", scale.pick(3, 100), report.faults.values().sum());
    report.floor("attempts handed out again", 1, report.figures["hand-outs repeated"]);
    Ok(report)
}

/// Returns the length of a partition: mostly short, every fourth longer than any lease.
fn length(number: usize, scale: Scale) -> Length {
    match number % 4 {
        1 => Length::PastHold,
        _ => Length::Of(Duration::from_millis(fastrand::u64(1_000..scale.pick(2_000, 5_000)))),
    }
}

enum Length {
    Of(Duration),
    /// Longer than the lease of a fast worker, and until another worker has its work: a world that was just
    /// reached does not expire leases yet.
    PastHold,
}

struct Cut<'a> {
    proxies: &'a [Proxy],
    whom: &'a [usize],
    number: usize,
}

impl Cut<'_> {
    async fn hold(&self, lab: &Lab, length: Length, report: &mut Report) {
        let (kind, faults) = match self.number % 3 {
            0 => ("cut from the server", Faults { to_client: Flow::Hold, ..Faults::default() }),
            1 => ("cut both ways", Faults::held()),
            _ => ("cut to the server", Faults { to_server: Flow::Hold, ..Faults::default() }),
        };
        let held = || self.whom.iter().map(|place| self.proxies[*place].counts().held);
        let (before, handed_out) = (held().collect::<Vec<u64>>(), hand_outs_repeated(lab));
        self.set(&faults);
        match length {
            Length::Of(time) => tokio::time::sleep(time).await,
            Length::PastHold => {
                tokio::time::sleep(PAST_HOLD).await;
                let again = || std::future::ready(hand_outs_repeated(lab) > handed_out);
                report.hold(until(PATIENCE, again).await, || {
                    format!("what partition {} held back was handed out to nobody else", self.number)
                });
            }
        }
        self.set(&Faults::default());
        // Counts only connections that held data back; a cut without traffic is no fault.
        report.fault(kind, held().zip(before).filter(|(now, before)| now > before).count() as u64);
    }

    fn set(&self, faults: &Faults) {
        self.whom.iter().for_each(|place| self.proxies[*place].set(faults.clone()));
    }
}

fn hand_outs_repeated(lab: &Lab) -> u64 {
    lab.ledger().map_or(0, |ledger| repeated(&ledger))
}

/// Returns whether a worker has just begun an attempt that is not done yet.
fn is_at_work(lab: &Lab, pid: u32) -> bool {
    let just_now = wall_millis() - JUST_NOW;
    let Ok(lines) = lab.ledger() else { return false };
    let recent = || lines.iter().rev().take_while(|line| line.at >= just_now);
    let done =
        |claim: &Entry| recent().any(|line| line.entry.what == What::Did && line.entry.task == claim.task);
    recent().any(|line| line.entry.pid == pid && line.entry.what == What::Began && !done(&line.entry))
}
