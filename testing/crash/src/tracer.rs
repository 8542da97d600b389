//! Faults in system calls, by strace: no code changes, any process.

use std::path::Path;

/// The words to start a process with so that `fault` happens at its `call`s, such as `error=EIO:when=5` or
/// `delay_enter=200000`. Calls of each thread are counted by themselves. What was called is written to `output`.
pub fn inject(call: &str, fault: &str, output: &Path) -> Vec<String> {
    let (trace, inject) = (format!("trace={call}"), format!("inject={call}:{fault}"));
    let output = output.display().to_string();
    ["strace", "-f", "-qq", "-o", &output, "-e", &trace, "-e", &inject].map(str::to_owned).to_vec()
}
