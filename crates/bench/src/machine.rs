//! Describes the measuring machine in a few words.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use rhythm_core::Timestamp;

use crate::processes::proc_mb;

/// Returns the time, the cores and the memory, as far as the system tells.
pub fn described() -> String {
    let cores = std::thread::available_parallelism().ok().map(|count| format!("{count} cores"));
    let memory = proc_mb(Path::new("/proc/meminfo"), "MemTotal:");
    let memory = memory.map(|megabytes| format!("{:.0} GB of memory", megabytes / 1024.0));
    let parts = [Some(now()), cores, memory];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the time in UTC, to the minute.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let text = Timestamp(i64::try_from(since.as_millis()).unwrap_or_default()).to_string();
    format!("{} UTC", text.chars().take(16).collect::<String>().replace('T', " "))
}
