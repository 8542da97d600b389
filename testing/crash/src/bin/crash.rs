//! Plays scenarios of the crash laboratory and prints their reports. Exits with an error when a promise was
//! broken or a floor was missed.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports")]

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use rhythm_crash::lab::{On, Scale};
use rhythm_crash::report::{Report, markdown};
use rhythm_crash::scenarios::{ALL, Scenario};

#[derive(Parser)]
#[command(about = "Kills, stops and starves real Rhythm processes and checks what they promised")]
struct Arguments {
    /// Scenarios to play; all by default.
    scenarios: Vec<String>,
    #[arg(long, value_enum, default_value_t = Worlds::Both)]
    world: Worlds,
    #[arg(long, value_enum, default_value_t = Scale::Short)]
    scale: Scale,
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Only list the scenarios.
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Worlds {
    Sqlite,
    Postgres,
    Both,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if arguments.list {
        for scenario in ALL {
            println!("{:<16} {:<4} {:?}", scenario.name, scenario.fault, scenario.worlds);
        }
        return ExitCode::SUCCESS;
    }
    let mut chosen = Vec::new();
    for name in &arguments.scenarios {
        let Some(scenario) = Scenario::named(name) else {
            eprintln!("there is no scenario {name}; `crash --list` names them");
            return ExitCode::from(2);
        };
        chosen.push(scenario);
    }
    if chosen.is_empty() {
        chosen.extend_from_slice(ALL);
    }
    let mut reports = Vec::new();
    for on in [On::Sqlite, On::Postgres] {
        if !arguments.world.contains(on) {
            continue;
        }
        for scenario in chosen.iter().filter(|scenario| scenario.worlds.contains(&on)) {
            eprintln!("== {} ({}) on {on:?}", scenario.name, scenario.fault);
            let report = scenario.run(on, arguments.scale).await;
            eprintln!("{}", report.text());
            reports.push(report);
        }
    }
    show(&reports, arguments.output);
    match !reports.is_empty() && reports.iter().all(Report::is_good) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

impl Worlds {
    fn contains(self, on: On) -> bool {
        match self {
            Self::Sqlite => on == On::Sqlite,
            Self::Postgres => on == On::Postgres,
            Self::Both => true,
        }
    }
}

fn show(reports: &[Report], output: Output) {
    if output == Output::Json {
        match serde_json::to_string_pretty(reports) {
            Ok(text) => println!("{text}"),
            Err(error) => eprintln!("the reports cannot be written: {error}"),
        }
        return;
    }
    for on in [On::Sqlite, On::Postgres] {
        let own: Vec<Report> = reports.iter().filter(|report| report.on == on).cloned().collect();
        if !own.is_empty() {
            println!("\n{}", markdown(&own));
        }
    }
}
