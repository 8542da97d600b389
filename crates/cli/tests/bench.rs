//! Runs every workload with small sizes: the report is complete, no task was lost, and no database is left
//! behind. The measured speed is not checked.

mod rig;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use rig::postgres as server;
use rig::{Answer, Rig, answer, eventually};
use serde_json::{Value, json};

const KEYS: [&str; 15] = [
    "workload",
    "world",
    "per_s",
    "p50_ms",
    "p99_ms",
    "wall_s",
    "lost",
    "repeated",
    "rss_mb",
    "queries_per_s",
    "raw_single_per_s",
    "raw_batched_per_s",
    "raw_commit_ms",
    "ratio_batched",
    "detail",
];

/// Sizes of W1 for tests.
const LOAD: [&str; 6] = ["--runs", "6", "--steps", "3", "--concurrency", "4"];

/// World of a measurement. On PostgreSQL it has its own role, so that leftovers of concurrent tests are not
/// counted.
struct Site<'a> {
    rig: &'a Rig,
    world: String,
    role: Option<String>,
}

impl<'a> Site<'a> {
    fn new(rig: &'a Rig) -> Self {
        Self::may(rig, "CREATEDB")
    }

    fn may(rig: &'a Rig, right: &str) -> Self {
        let Some((scheme, rest)) = rig.world.split_once("://") else {
            return Self { rig, world: rig.world.clone(), role: None };
        };
        let (_, place) = rest.rsplit_once('@').unwrap();
        let (_, database) = place.rsplit_once('/').unwrap();
        let role = format!("bench_{database}");
        server::execute(
            &rig.world,
            &format!(
                "CREATE ROLE {role} LOGIN {right} PASSWORD 'bench'; GRANT ALL ON DATABASE {database} TO {role}"
            ),
        );
        Self { rig, world: format!("{scheme}://{role}:bench@{place}"), role: Some(role) }
    }

    fn name(&self) -> &'static str {
        if self.role.is_some() { "postgres" } else { "sqlite" }
    }

    fn command(&self, args: &[&str]) -> Command {
        let usual = ["--world", &self.world, "--raw-ms", "20"];
        self.rig.command(&[&["bench"], args, &usual[..]].concat())
    }

    fn bench(&self, args: &[&str]) -> Answer {
        answer(self.command(args))
    }

    /// Measures and returns the reports, after checks that apply to all of them.
    fn measure(&self, args: &[&str]) -> Vec<Value> {
        let answer = self.bench(&[args, &["--output", "json", "--quiet"]].concat());
        assert!(answer.code == 0 && answer.stderr.is_empty(), "{args:?}: {answer:?}");
        let reports: Vec<Value> =
            answer.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        for report in &reports {
            let keys: BTreeSet<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(keys, BTreeSet::from(KEYS), "{args:?}");
            assert_eq!((&report["workload"], &report["world"]), (&json!(args[0]), &json!(self.name())));
            for raw in ["raw_single_per_s", "raw_batched_per_s", "raw_commit_ms"] {
                assert!(is_positive(&report[raw]), "{raw}: {report}");
            }
            assert_eq!(report["per_s"].is_null(), report["ratio_batched"].is_null(), "{report}");
            assert_eq!(report["detail"]["durable"], self.is_durable(), "{report}");
        }
        self.is_clean();
        reports
    }

    fn measure_one(&self, args: &[&str]) -> Value {
        let reports = self.measure(args);
        assert_eq!(reports.len(), 1, "{reports:?}");
        reports[0].clone()
    }

    /// Whether the server writes durably. Most test servers do not.
    fn is_durable(&self) -> bool {
        let lossy = "SELECT count(*) FROM pg_settings WHERE setting = 'off' \
            AND name IN ('fsync', 'synchronous_commit', 'full_page_writes')";
        self.role.is_none() || server::number(&self.rig.world, lossy) == 0
    }

    fn is_clean(&self) {
        let left: Vec<_> = std::fs::read_dir(self.rig.path()).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        if let Some(role) = &self.role {
            let owned = format!(
                "SELECT count(*) FROM pg_database AS d JOIN pg_roles AS r ON r.oid = d.datdba WHERE r.rolname = '{role}'"
            );
            assert_eq!(server::number(&self.rig.world, &owned), 0);
        }
    }
}

impl Drop for Site<'_> {
    fn drop(&mut self) {
        if let Some(role) = &self.role {
            server::execute(&self.rig.world, &format!("DROP OWNED BY {role}; DROP ROLE {role}"));
        }
    }
}

fn is_positive(figure: &Value) -> bool {
    figure.as_f64().is_some_and(|figure| figure > 0.0)
}

/// Checks that no task was lost or done twice.
fn is_exact(report: &Value) {
    assert_eq!((&report["lost"], &report["repeated"]), (&json!(0), &json!(0)), "{report}");
}

fn throughput_of_runs(rig: &Rig) {
    let site = Site::new(rig);
    let report = site.measure_one(&[&["w1"], &LOAD[..]].concat());
    is_exact(&report);
    assert!(is_positive(&report["per_s"]) && is_positive(&report["wall_s"]), "{report}");
    assert!(is_positive(&report["rss_mb"]), "{report}");
    let durable = site.is_durable();
    assert_eq!(report["detail"], json!({ "runs": 6, "steps": 3, "concurrency": 4, "durable": durable }));
}

fn latency_of_hops(rig: &Rig) {
    let report = Site::new(rig).measure_one(&["w2", "--runs", "2", "--steps", "4"]);
    is_exact(&report);
    assert!(is_positive(&report["p50_ms"]) && is_positive(&report["p99_ms"]), "{report}");
    assert!(is_positive(&report["detail"]["ratio_to_raw_commit"]), "{report}");
    assert_eq!(report["detail"]["hops"], 6);
}

fn latency_of_starts(rig: &Rig) {
    let report = Site::new(rig).measure_one(&["w3", "--samples", "3"]);
    is_exact(&report);
    assert!(is_positive(&report["p50_ms"]) && report["per_s"].is_null(), "{report}");
    assert!(is_positive(&report["detail"]["apart_p50_ms"]), "{report}");
}

fn a_fan_out(rig: &Rig) {
    let report = Site::new(rig).measure_one(&["w4", "--tasks", "40", "--samples", "2"]);
    is_exact(&report);
    // The snapshot holds at least a handle for each task, and there are at least two transitions: start and
    // join.
    let detail = &report["detail"];
    assert!(detail["snapshot_bytes"].as_f64().unwrap() > 40.0, "{report}");
    assert!(detail["transitions"].as_f64().unwrap() >= 2.0, "{report}");
    assert!(is_positive(&report["wall_s"]) && is_positive(&report["per_s"]), "{report}");
}

fn a_queue_of_tasks(rig: &Rig) {
    // 201 tasks take three calls.
    let report = Site::new(rig).measure_one(&["w5", "--tasks", "201", "--concurrency", "10"]);
    is_exact(&report);
    assert_eq!(report["detail"]["tasks"], 201);
    assert!(is_positive(&report["per_s"]) && is_positive(&report["rss_mb"]), "{report}");
}

fn an_idle_worker(rig: &Rig) {
    let site = Site::new(rig);
    let report = site.measure_one(&["w6", "--seconds", "1", "--settle", "1"]);
    assert!(is_positive(&report["rss_mb"]) && report["detail"]["cpu_percent"].is_number(), "{report}");
    assert_eq!(report["queries_per_s"].is_number(), site.name() == "postgres", "{report}");
    assert!(report["lost"].is_null() && report["per_s"].is_null(), "{report}");
}

fn a_crash(rig: &Rig) {
    let load = ["--runs", "10", "--steps", "100", "--concurrency", "4"];
    let report = Site::new(rig).measure_one(&[&["w7"], &load[..]].concat());
    assert_eq!(report["lost"], 0, "{report}");
    let in_flight = report["detail"]["in_flight"].as_u64().unwrap();
    assert!(in_flight <= 4, "{report}");
    assert!(
        report["repeated"].as_u64().unwrap() <= in_flight,
        "only what was under way may be repeated: {report}"
    );
    assert!(report["detail"]["executed_before_the_kill"].as_u64().unwrap() >= 100, "{report}");
    assert!(is_positive(&report["wall_s"]), "{report}");
}

fn growth(rig: &Rig) {
    let args = ["w8", "--finished", "20,0", "--sleeping", "10"];
    let reports = Site::new(rig).measure(&[&args, &LOAD[..]].concat());
    let held = |report: &Value| {
        (report["detail"]["finished"].as_u64().unwrap(), report["detail"]["sleeping"].as_u64().unwrap())
    };
    assert_eq!(reports.iter().map(held).collect::<Vec<_>>(), [(0, 0), (20, 10)]);
    for report in &reports {
        is_exact(report);
        for figure in ["empty_claim", "task_claim", "sweep"] {
            let (time, of_empty) = (format!("{figure}_ms"), format!("{figure}_of_empty"));
            assert!(
                is_positive(&report["detail"][&time]) && is_positive(&report["detail"][&of_empty]),
                "{figure}: {report}"
            );
        }
        assert!(
            is_positive(&report["detail"]["empty_per_s"]) && is_positive(&report["detail"]["ratio_to_empty"]),
            "{report}"
        );
    }
}

fn rot(rig: &Rig) {
    let report = Site::new(rig).measure_one(&[&["w9", "--seconds", "1"], &LOAD[..]].concat());
    is_exact(&report);
    assert!(is_positive(&report["per_s"]) && is_positive(&report["detail"]["quiet_per_s"]), "{report}");
    assert!(is_positive(&report["detail"]["ratio_to_quiet"]), "{report}");
    assert!(report["detail"]["rounds"].as_u64().unwrap() >= 3, "{report}");
}

fn timers(rig: &Rig) {
    let report = Site::new(rig).measure_one(&["w10", "--timers", "150", "--lead", "5"]);
    is_exact(&report);
    let detail = &report["detail"];
    assert!(is_positive(&report["wall_s"]) && is_positive(&detail["quiet_p99_ms"]), "{report}");
    assert!(detail["probes"].as_u64().unwrap() >= 1 && is_positive(&detail["ratio_p99"]), "{report}");
}

fn timers_that_come_too_late_are_no_figure(rig: &Rig) {
    let site = Site::new(rig);
    let answer = site.bench(&["w10", "--timers", "100000", "--lead", "1", "--quiet"]);
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{answer:?}");
    assert!(answer.stderr.starts_with("error[CLI014]") && answer.stderr.contains("--lead"), "{answer:?}");
    site.is_clean();
}

fn many_workers(rig: &Rig) {
    let reports = Site::new(rig).measure(&[&["w11", "--processes", "1,2"], &LOAD[..]].concat());
    let counts: Vec<_> =
        reports.iter().map(|report| report["detail"]["processes"].as_u64().unwrap()).collect();
    assert_eq!(counts, [1, 2]);
    reports.iter().for_each(is_exact);
}

fn graphs(rig: &Rig) {
    let reports = Site::new(rig).measure(&[&["w12", "--fan", "4", "--rounds", "1"], &LOAD[..]].concat());
    let shapes: Vec<_> = reports.iter().map(|report| report["detail"]["shape"].as_str().unwrap()).collect();
    assert_eq!(shapes, ["chain", "fan"]);
    for report in &reports {
        assert_eq!(report["lost"], 0, "{report}");
        assert!(is_positive(&report["per_s"]) && is_positive(&report["detail"]["ratio_to_flow"]), "{report}");
    }
}

fn a_database_that_may_forget_is_told(rig: &Rig) {
    let site = Site::new(rig);
    let answer = site.bench(&[&["w1", "--markdown"], &LOAD[..]].concat());
    assert_eq!(answer.stderr.contains("not durable"), !site.is_durable(), "{answer:?}");
    let head = answer.stdout.lines().next().unwrap();
    let settings = ["PostgreSQL ", "(fsync ", ", synchronous_commit ", ", full_page_writes "];
    let told = if site.role.is_some() { &settings[..] } else { &["SQLite 3."] };
    assert!(told.iter().all(|part| head.contains(part)), "{head}");
}

fn an_interrupted_benchmark_clears_up(rig: &Rig) {
    let site = Site::new(rig);
    let mut command = site.command(&["w11", "--runs", "1000", "--steps", "1000"]);
    let mut bench = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(bench.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("worker processes")));
    let told = Command::new("kill").args(["-INT", &bench.id().to_string()]).status().unwrap();
    assert!(told.success());
    eventually("the benchmark ends", || bench.try_wait().unwrap().is_some());
    assert_eq!(bench.wait().unwrap().code(), Some(130));
    assert!(lines.any(|line| line.contains("interrupted")));
    site.is_clean();
}

on_both_worlds!(
    throughput_of_runs,
    latency_of_hops,
    latency_of_starts,
    a_fan_out,
    a_queue_of_tasks,
    an_idle_worker,
    a_crash,
    growth,
    rot,
    timers,
    timers_that_come_too_late_are_no_figure,
    many_workers,
    graphs,
    a_database_that_may_forget_is_told,
    an_interrupted_benchmark_clears_up,
);

#[test]
fn who_may_create_no_database_is_measured_in_the_named_one() {
    let rig = Rig::postgres();
    let site = Site::may(&rig, "NOCREATEDB");
    let answer = site.bench(&[&["w1", "--output", "json"], &LOAD[..]].concat());
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stderr.contains("no database could be created (42501)"), "{answer:?}");
    is_exact(&serde_json::from_str(&answer.stdout).unwrap());
}

#[test]
fn markdown_shows_peers_beside_us() {
    let rig = Rig::sqlite();
    let site = Site::new(&rig);
    let folder = tempfile::tempdir().unwrap();
    let peers = folder.path().join("peers.json");
    let peer = json!([{ "engine": "Other", "version": "1.2", "language": "Go", "workload": "w1", "world": "postgres" }]);
    std::fs::write(&peers, peer.to_string()).unwrap();
    let peers = peers.display().to_string();
    let answer = site.bench(&[&["w1", "--markdown", "--peers", &peers], &LOAD[..]].concat());
    let lines: Vec<&str> = answer.stdout.lines().collect();
    assert_eq!(lines.len(), 6, "{answer:?}");
    assert!(
        lines[0].starts_with("Measured 20") && lines[0].contains(" UTC, ") && lines[1].is_empty(),
        "{answer:?}"
    );
    assert!(lines[4].starts_with("| W1 | Rhythm, in-process Rust handlers | sqlite | "), "{answer:?}");
    assert!(lines[5].starts_with("| W1 | Other 1.2, Go | postgres | "), "{answer:?}");
    assert!(answer.stderr.contains("w1 on sqlite: 6 runs of 3 tasks"), "{answer:?}");
    let missing = site.bench(&["w1", "--markdown", "--peers", "nowhere.json"]);
    assert!(missing.code == 1 && missing.stderr.starts_with("error[CLI014]: nowhere.json"), "{missing:?}");
    site.is_clean();
}

#[test]
fn people_see_a_table_without_empty_columns() {
    let rig = Rig::sqlite();
    let answer = Site::new(&rig).bench(&[&["w1", "--quiet"], &LOAD[..]].concat());
    assert_eq!(answer.stderr, "");
    let head = answer.stdout.lines().next().unwrap();
    assert!(head.contains("per second") && head.contains("share of raw") && !head.contains("p50"), "{head}");
}

#[test]
fn sizes_that_measure_nothing_are_refused() {
    let rig = Rig::sqlite();
    for args in [
        ["w1", "--runs", "0"],
        ["w2", "--steps", "1"],
        ["w4", "--tasks", "0"],
        ["w9", "--seconds", "0"],
        ["w11", "--processes", "1,0"],
    ] {
        rig.fails(&[&["bench"], &args[..]].concat(), 2, "CLI005");
    }
    rig.fails(&["bench", "w1", "--world", "sqlite::memory:"], 1, "CLI014");
    rig.fails(&["bench", "w1", "--peers", "peers.json"], 2, "CLI008");
    let both = rig.run(&["bench", "w1", "--markdown", "--output", "json"]);
    assert!(both.code == 2 && both.stderr.contains("CLI008"), "{both:?}");
}

#[test]
fn a_world_that_cannot_be_reached_is_told_as_everywhere() {
    let rig = Rig::sqlite();
    rig.fails(&["bench", "w1", "--world", "postgres://nobody@127.0.0.1:1/none"], 5, "WORLD001");
    rig.fails(&["bench", "w1", "--world", "mysql://h/d"], 2, "WORLD013");
}
