//! A PostgreSQL server for one test alone, which ends with it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub struct PrivateServer {
    /// Of its superuser.
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
        // Its input ends, and with it the script.
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}
