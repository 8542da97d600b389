//! `make run` is the first command that new users try: its demo must end, and with the right result.

use std::process::Command;

#[test]
fn the_order_survives_its_workers() {
    // Cargo builds examples with the tests, in a folder beside them.
    let tests = std::env::current_exe().unwrap();
    let demo = tests.parent().unwrap().with_file_name("examples").join("order");
    let output = Command::new(demo).output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "line 2    charge failed at attempt 1 and is tried again: the bank does not answer",
        "SIGKILL   worker A is dead, in the middle of reserve",
        "line 5    reserve is done",
        "SIGKILL   worker B is dead, while the run sleeps",
        "line 8    approve has arrived",
        "line 10   ship failed at attempt 1 and is tried again: no courier goes there",
        "line 10   ship has failed: no courier goes there",
        "result    {\"status\":\"refunded\",\"why\":\"no courier goes there\"}",
        "counted   reserve began twice and finished once",
    ] {
        assert!(told.contains(line), "{line}\n{told}");
    }
}
