//! The child alone, for programs that embed Rhythm without its command, and for tests.

fn main() -> std::process::ExitCode {
    rhythm_sandbox::child::serve()
}
