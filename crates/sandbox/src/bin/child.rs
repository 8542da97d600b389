//! The child as its own program, for programs that embed Rhythm without the `rhythm` command, and for tests.

fn main() -> std::process::ExitCode {
    rhythm_sandbox::child::serve()
}
