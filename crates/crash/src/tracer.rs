//! Faults in system calls, by strace: no code changes, any process.

use std::path::Path;

/// The words to start a process with so that `fault` happens at its `call`s, such as `signal=KILL:when=3`,
/// `error=EIO:when=5` or `delay_enter=200000`. Calls of each thread are counted by themselves. What was called is
/// written to `output`. (The quicker `--seccomp-bpf` injects no signals.)
pub fn inject(call: &str, fault: &str, output: &Path) -> Vec<String> {
    let mut words = watch(call, output);
    words.extend(["-e".to_owned(), format!("inject={call}:{fault}")]);
    words
}

/// The same without a fault.
pub fn watch(call: &str, output: &Path) -> Vec<String> {
    let (trace, output) = (format!("trace={call}"), output.display().to_string());
    ["strace", "-f", "-qq", "-o", &output, "-e", &trace].map(str::to_owned).to_vec()
}
