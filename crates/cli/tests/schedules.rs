//! Schedules, from adding one to its fire.

mod rig;

use rig::Rig;

fn a_schedule_starts_its_task(rig: &Rig) {
    let _worker = rig.worker(&[]);
    let added =
        rig.ok(&["schedules", "add", "tick", "--cron", "* * * * * *", "--task", "echo", "--input", "7"]);
    assert!(added.starts_with("schedule tick fires next at "), "{added}");
    let shown = rig.until(&["schedules", "show", "tick"], |shown| shown["fired"].as_u64() > Some(0));
    let task = shown["last_started"].as_str().unwrap();
    rig.until(&["tasks", "show", task], |task| task["state"] == "completed" && task["output"] == 7);
    assert_eq!(rig.ok(&["schedules", "pause", "tick"]), "schedule tick is paused");
    assert!(rig.ok(&["schedules", "list"]).contains("paused"));
    assert_eq!(rig.ok(&["schedules", "resume", "tick"]), "schedule tick goes on");
    assert_eq!(rig.ok(&["schedules", "remove", "tick"]), "schedule tick is gone");
    rig.fails(&["schedules", "remove", "tick"], 3, "ENGINE004");
}

fn a_schedule_is_shown_with_its_meaning(rig: &Rig) {
    let add =
        ["schedules", "add", "nightly", "--cron", "0 3 * * *", "--zone", "Europe/Berlin", "--task", "echo"];
    rig.ok(&[&add[..], &["--catch-up", "one", "--overlap", "cancel-previous", "--queue", "night"]].concat());
    let text = rig.ok(&["schedules", "show", "nightly"]);
    for line in [
        "cron      0 3 * * *",
        "meaning   At 03:00 (Europe/Berlin)",
        "starts    task echo",
        "catch up  one",
        "overlap   cancel-previous",
        "fired     0 times, 0 passed over",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("next ")).count(), 3);
    assert_eq!(rig.json(&["schedules", "show", "nightly"])["target"]["task"]["options"]["queue"], "night");
}

fn a_wrong_schedule_says_what_to_write(rig: &Rig) {
    let stderr =
        rig.fails(&["schedules", "add", "x", "--cron", "0 25 * * *", "--task", "echo"], 2, "ENGINE010");
    assert!(stderr.contains("the hour field") && stderr.contains("from 0 to 23"), "{stderr}");
    let zone = ["schedules", "add", "x", "--cron", "@daily", "--zone", "Berlin", "--task", "echo"];
    let stderr = rig.fails(&zone, 2, "ENGINE010");
    assert!(stderr.contains("Europe/Berlin"), "{stderr}");
    rig.fails(&["schedules", "add", "x", "--cron", "@daily"], 2, "CLI005");
    rig.fails(&["schedules", "add", "x", "--cron", "@daily", "--task", "a", "--workflow", "b"], 2, "CLI005");
    rig.fails(&["schedules", "add", "x", "--cron", "@daily", "--workflow", "none"], 3, "ENGINE001");
    let mixed = ["schedules", "add", "x", "--cron", "@daily", "--workflow", "w", "--queue", "q"];
    rig.fails(&mixed, 2, "CLI008");
    assert_eq!(rig.ok(&["schedules", "list"]), "no schedules; `rhythm schedules add` makes one");
}

on_both_worlds!(
    a_schedule_starts_its_task,
    a_schedule_is_shown_with_its_meaning,
    a_wrong_schedule_says_what_to_write,
);
