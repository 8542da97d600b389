//! jq filters. Their steps cannot be counted, so the kernel and the parent limit their time and memory.

use jaq_core::load::{Arena, File, Loader};
use jaq_core::native::{Filter, bome, run as native, v};
use jaq_core::{Ctx, RunPtr, Vars, data, unwrap_valr};
use jaq_json::{Val, read};
use serde_json::Value as Json;

use crate::error::{Limit, SandboxError};
use crate::request::{JqCall, MAX_LINE};

/// Largest number of results of one filter.
const MAX_RESULTS: usize = 100_000;
/// Removed functions: they read the clock, the time zone or the environment, end the process or write to its
/// streams.
const TAKEN_AWAY: [&str; 8] =
    ["env", "now", "halt", "localtime", "strflocaltime", "debug_empty", "stderr_empty", "log_empty"];

type Data = data::JustLut<Val>;

/// Checks that a filter can be parsed and that every name in it is defined.
pub(crate) fn read(filter: &str) -> Result<(), SandboxError> {
    compile(filter).map(|_| ())
}

fn bad(message: String) -> SandboxError {
    SandboxError::bad_program(message, None)
}

fn compile(filter: &str) -> Result<jaq_core::Filter<Data>, SandboxError> {
    let refused: [Filter<RunPtr<Data>>; 7] = [
        ("env", v(0), |_| bome(Err(unavailable()))),
        ("now", v(0), |_| bome(Err(unavailable()))),
        ("halt", v(1), |_| bome(Err(unavailable()))),
        ("localtime", v(0), |_| bome(Err(unavailable()))),
        ("strflocaltime", v(1), |_| bome(Err(unavailable()))),
        ("debug_empty", v(0), |_| bome(Err(unavailable()))),
        ("stderr_empty", v(0), |_| bome(Err(unavailable()))),
    ];
    let functions = jaq_core::funs().chain(jaq_std::funs()).chain(jaq_json::funs());
    let functions = functions
        .filter(|(name, ..)| !TAKEN_AWAY.contains(name))
        .chain(refused.into_iter().map(|filter| native::<Data>(filter)));
    let definitions = jaq_core::defs().chain(jaq_std::defs()).chain(jaq_json::defs());
    let arena = Arena::default();
    let modules = Loader::new(definitions)
        .load(&arena, File { code: filter, path: () })
        .map_err(|errors| bad(parse_problem(&errors)))?;
    jaq_core::Compiler::default().with_funs(functions).compile(modules).map_err(|errors| {
        let unknown = errors.iter().flat_map(|(_, names)| names).map(|(name, _)| format!("`{name}`"));
        bad(format!("the filter uses what there is not: {}", unknown.collect::<Vec<_>>().join(", ")))
    })
}

pub(super) fn run(call: &JqCall) -> Result<Json, SandboxError> {
    let filter = compile(&call.filter)?;
    let input = read::parse_single(call.input.to_string().as_bytes()).map_err(SandboxError::crashed)?;
    let context = Ctx::<Data>::new(&filter.lut, Vars::new([]));
    let mut results = Vec::new();
    let mut bytes = 0;
    for result in filter.id.run((context, input)).map(unwrap_valr) {
        let text = result.map_err(|error| bad(error.to_string().chars().take(500).collect()))?.to_string();
        bytes += text.len();
        if bytes >= MAX_LINE || results.len() == MAX_RESULTS {
            return Err(SandboxError::limit(Limit::Size));
        }
        let value = serde_json::from_str(&text);
        results
            .push(value.map_err(|error| SandboxError::bad_answer(format!("a result is no JSON: {error}")))?);
    }
    Ok(match results.len() {
        0 => Json::Null,
        1 => results.swap_remove(0),
        _ => Json::Array(results),
    })
}

fn unavailable() -> jaq_core::Error<Val> {
    jaq_core::Error::str("this looks outside of the filter, where nothing can be seen")
}

fn parse_problem(errors: &jaq_core::load::Errors<&str, ()>) -> String {
    use jaq_core::load::Error;
    let near = |text: &str| {
        format!("the filter cannot be read near {:?}", text.chars().take(40).collect::<String>())
    };
    match errors.first().map(|(_, error)| error) {
        Some(Error::Lex(errors)) => errors.first().map_or_else(String::new, |(_, at)| near(at)),
        Some(Error::Parse(errors)) => errors.first().map_or_else(String::new, |(_, at)| near(at)),
        Some(Error::Io(_)) => "modules cannot be loaded".to_owned(),
        None => "the filter cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn jq(filter: &str) -> Result<Json, SandboxError> {
        let input = json!({"items": [{"n": 1, "t": "a"}, {"n": 2.5, "t": "b"}], "name": "Ann"});
        run(&JqCall { filter: filter.to_owned(), input, timeout_ms: 1000, max_memory_mb: 50 })
    }

    #[test]
    fn filters_transform() {
        for (filter, expected) in [
            (".name", json!("Ann")),
            ("[.items[] | select(.n > 1) | .t]", json!(["b"])),
            (".items[].n", json!([1, 2.5])),
            (".items | map(.n) | add", json!(3.5)),
            ("empty", json!(null)),
            (".missing", json!(null)),
            ("{(.name): (.items | length)}", json!({"Ann": 2})),
            (".items | group_by(.t) | map({t: .[0].t})", json!([{"t": "a"}, {"t": "b"}])),
            (".name | test(\"^A\")", json!(true)),
            ("@base64 \"\\(.name)\"", json!("QW5u")),
            ("reduce .items[] as $i (0; . + $i.n)", json!(3.5)),
        ] {
            assert_eq!(jq(filter), Ok(expected), "{filter}");
        }
    }

    #[test]
    fn what_looks_outside_or_cannot_be_read_is_refused() {
        for filter in [
            "now",
            "env",
            "$ENV.PATH",
            "halt",
            "input",
            "debug",
            "localtime",
            ".a |",
            "}{",
            "nothing_such",
            "import \"a\" as a; .",
            "include \"a\"; .",
            "error(\"x\")",
            ".name + 1",
        ] {
            assert!(matches!(jq(filter), Err(SandboxError::BadProgram { .. })), "{filter}: {:?}", jq(filter));
        }
        assert!(matches!(jq("nan, infinite | tojson | fromjson"), Ok(_) | Err(_)));
    }
}
