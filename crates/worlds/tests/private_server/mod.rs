//! A PostgreSQL server for a single test, which stops with the test.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub struct PrivateServer {
    /// URL of the superuser.
    pub url: String,
    process: Child,
}

impl PrivateServer {
    pub fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres.sh");
        let mut process = Command::new(script)
            .args(["bash", "-c", "echo \"$RHYTHM_TEST_POSTGRES\"; cat"])
            .env("RHYTHM_PG_FAST", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the script starts");
        let mut url = String::new();
        let output = process.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut url).expect("it says where the server is");
        assert!(url.starts_with("postgres://"), "the server did not start: {url:?}");
        Self { url: url.trim().to_owned(), process }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // The script ends when its input is closed.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
