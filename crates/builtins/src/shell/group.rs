//! The process group of a program: the program and the processes it started that stay in the group.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::{Instant, sleep, timeout};

/// Time to clean up between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// Interval of checks whether a process of the group is left.
const LOOK: Duration = Duration::from_millis(20);

/// Dropping it kills the group, unless `leave` was called or `stop` saw the group end.
pub struct Group(Option<Pid>);

impl Group {
    /// Returns the group that this child leads.
    pub fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Leaves the group running: the program has ended, and the processes it left were meant to go on.
    pub fn leave(mut self) {
        self.0 = None;
    }

    /// Sends SIGTERM to the group, waits for its end and sends SIGKILL after the grace time.
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
