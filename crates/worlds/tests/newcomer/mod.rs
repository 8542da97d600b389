//! A handle that was just opened on a world whose clock may have jumped before.

use std::time::{Duration, Instant};

use rhythm_core::{Millis, TenantId};
use rhythm_engine::world::{Extend, Upkeep, WorkerRegistration, World};

const SILENCE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(90);

/// A worker is silent for too long by the clock, and a new handle cannot tell that from a clock jump. It must
/// not expire the worker before it has watched the silence itself.
pub async fn judges_by_what_it_heard<W: World>(old: &dyn World, open: impl AsyncFn() -> W) {
    let there = async || old.workers(&TenantId::default()).await.expect("the workers").len() == 1;
    let sweep = Upkeep::sweep(10);
    for _ in 0..5 {
        old.extend(beat()).await.expect("a heartbeat");
        tokio::time::sleep(SILENCE + Duration::from_millis(100)).await;
        let came = Instant::now();
        let newcomer = open().await;
        newcomer.upkeep(sweep.clone()).await.expect("a sweep");
        let spared = there().await;
        // If the machine stood still, the new handle may have watched long enough.
        if came.elapsed() > SILENCE {
            continue;
        }
        assert!(spared, "the first sweep took a silence it never heard for a death");
        let give_up = Instant::now() + PATIENCE;
        while there().await {
            assert!(Instant::now() < give_up, "a silent worker is never given up");
            tokio::time::sleep(Duration::from_millis(50)).await;
            newcomer.upkeep(sweep.clone()).await.expect("a sweep");
        }
        return;
    }
    panic!("this machine stands still too often");
}

fn beat() -> Extend {
    let card = WorkerRegistration {
        id: "worker".into(),
        host: "here".into(),
        pid: 1,
        version: String::new(),
        queues: vec!["default".into()],
        tasks: Vec::new(),
        kinds: Vec::new(),
        workflows: Vec::new(),
        concurrency: 1,
        silence: Millis(SILENCE.as_millis() as u64),
    };
    Extend {
        tenant: TenantId::default(),
        card,
        running: 0,
        hold: Millis::from_secs(30),
        tasks: Vec::new(),
        leaving: false,
    }
}
