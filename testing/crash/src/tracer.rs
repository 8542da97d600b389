//! Injects faults into system calls with strace. It needs no change of code and works on any process.

use std::path::Path;

/// Returns the command prefix that starts a process with `fault` injected into its `call`s, such as
/// `error=EIO:when=5` or `delay_enter=200000`. Calls are counted per thread. The trace is written to
/// `output`.
pub fn inject(call: &str, fault: &str, output: &Path) -> Vec<String> {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{fault}"));
    let output = output.display().to_string();
    ["strace", "-f", "-qq", "-o", &output, "-e", &trace, "-e", &inject].map(str::to_owned).to_vec()
}
