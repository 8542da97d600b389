//! A program and whatever it started, as far as it stays in its process group.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

/// So long it may clean up after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How often it is looked whether anything is left.
const LOOK: Duration = Duration::from_millis(20);

/// Killed when it is dropped, unless it was left alone or has ended.
pub struct Group(Option<Pid>);

impl Group {
    /// The child leads its group.
    pub fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// The program has ended by itself: what it left running is meant to run.
    pub fn leave(mut self) {
        self.0 = None;
    }

    /// Asks all of it to end, and kills what does not.
    pub async fn stop(mut self, child: &mut Child) {
        let Some(group) = self.0 else { return };
        let _ = kill_process_group(group, Signal::TERM);
        let until = Instant::now() + GRACE;
        let led = timeout(GRACE, child.wait()).await.is_ok();
        while led && Instant::now() < until {
            if test_kill_process_group(group).is_err() {
                self.0 = None;
                return;
            }
            sleep(LOOK).await;
        }
        drop(self);
        let _ = child.wait().await;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
