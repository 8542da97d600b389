//! Scenario files: one scenario, a list of them, or `{scenarios: [...]}`, as JSON or YAML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rhythm_core::WorkflowKind;
use rhythm_engine::definitions::beside;
use rhythm_graph::{Context, NodeType, Registry, compile, document};
use rhythm_syntax::did_you_mean::closest;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::expectation::Expectation;
use crate::ordered_json::Ordered;
use crate::script::{Answer, moment};

/// Deepest nesting in a file. It is far more than a workflow may have, so that a workflow that is too deep
/// fails alone and not with its whole file.
const DEEPEST: usize = 300;
/// Bytes of stack for that many levels, several times over.
const ROOM_TO_READ: usize = 64 << 20;

/// Some editors write it at the start of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// One scenario as its file states it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    #[serde(default)]
    pub name: String,
    /// Path of the workflow, relative to the scenario's file.
    pub workflow: Option<PathBuf>,
    /// Inline `.flow` text.
    pub source: Option<String>,
    /// Inline graph.
    pub graph: Option<Value>,
    pub kind: Option<Kind>,
    pub inputs: Option<Box<RawValue>>,
    /// Further inline workflows, by name.
    #[serde(default)]
    pub workflows: BTreeMap<String, Value>,
    /// Node types in addition to the built-in ones.
    #[serde(default)]
    pub node_types: Vec<NodeType>,
    #[serde(default)]
    pub blobs: BTreeMap<String, Value>,
    #[serde(default)]
    pub limits: BTreeMap<String, Value>,
    #[serde(default)]
    pub tasks: BTreeMap<String, Vec<Answer>>,
    #[serde(default)]
    pub signals: Vec<Signal>,
    #[serde(default)]
    pub decisions: BTreeMap<String, Vec<Decision>>,
    #[serde(default)]
    pub patches: Vec<Patch>,
    pub cancel: Option<Cancel>,
    #[serde(default)]
    pub duplicate: Vec<String>,
    pub expect: Option<Expectation>,
    pub any_of: Option<Vec<Expectation>>,
    /// Folder of relative paths.
    #[serde(skip)]
    pub folder: PathBuf,
    /// Error of a scenario that cannot be played. The other scenarios of its file still can.
    #[serde(skip)]
    pub mistake: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Flow,
    Graph,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    pub name: String,
    pub payload: Option<Box<RawValue>>,
    /// Virtual seconds after the start.
    #[serde(default, deserialize_with = "moment")]
    pub at: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub decision: Says,
    #[serde(default)]
    pub by: String,
    #[serde(default)]
    pub comments: String,
    #[serde(default)]
    pub data: Value,
    #[serde(default, deserialize_with = "moment")]
    pub at: f64,
}

/// A person's decision, or that it never comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    #[serde(alias = "approved")]
    Approve,
    #[serde(alias = "rejected")]
    Reject,
    Timeout,
}

impl Says {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Timeout => "timeout",
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    pub after: String,
    pub operations: Value,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    #[serde(default, deserialize_with = "moment")]
    pub at: f64,
}

/// Error: a file or folder cannot be used.
#[derive(Debug, Error)]
#[error("{path}: {problem}")]
pub struct FileError {
    pub path: PathBuf,
    pub problem: String,
}

/// A scenario's workflow: its name, kind and text.
pub struct Subject {
    pub name: String,
    pub kind: WorkflowKind,
    pub source: String,
}

impl Scenario {
    /// Returns the workflow under test. Fails unless exactly one of `workflow`, `source` and `graph` is given
    /// and readable.
    pub fn subject(&self) -> Result<Subject, String> {
        let given = [self.workflow.is_some(), self.source.is_some(), self.graph.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err("write exactly one of `workflow`, `source` and `graph`".into());
        }
        if let Some(source) = &self.source {
            let (name, kind) = ("main".to_owned(), self.kind(WorkflowKind::Flow));
            let source = match kind {
                WorkflowKind::Graph => self.with_limits(source.clone()),
                _ => source.clone(),
            };
            return Ok(Subject { name, kind, source });
        }
        if let Some(graph) = &self.graph {
            let source = self.with_limits(graph.to_string());
            return Ok(Subject { name: "main".into(), kind: WorkflowKind::Graph, source });
        }
        let path = self.folder.join(self.workflow.as_deref().unwrap_or(Path::new("")));
        let source = std::fs::read_to_string(&path).map_err(|error| unread(&path, &error))?;
        let source = source.strip_prefix(BYTE_ORDER_MARK).map(str::to_owned).unwrap_or(source);
        let is_flow = path.extension().is_some_and(|extension| extension == "flow");
        let kind = self.kind(if is_flow { WorkflowKind::Flow } else { WorkflowKind::Graph });
        let stem = path.file_stem().map_or("main".into(), |stem| stem.to_string_lossy().into_owned());
        let name = stem.strip_suffix(".graph").unwrap_or(&stem).to_owned();
        let source = if kind == WorkflowKind::Graph { self.with_limits(source) } else { source };
        Ok(Subject { name, kind, source })
    }

    /// Returns the graph with the scenario's limits in place of its own. A graph that cannot be parsed is
    /// returned unchanged and refused later.
    fn with_limits(&self, source: String) -> String {
        if self.limits.is_empty() {
            return source;
        }
        let Ok(tree) = document::read(&source) else { return source };
        let mut document = tree.to_json();
        if !document["limits"].is_object() {
            document["limits"] = Value::Object(Map::new());
        }
        // A limit may have several names: the scenario's limit replaces the graph's under each of them.
        let meant: Vec<String> = self.limits.iter().filter_map(|(name, given)| limit(name, given)).collect();
        if let Some(own) = document["limits"].as_object_mut() {
            own.retain(|name, given| limit(name, given).is_none_or(|limit| !meant.contains(&limit)));
        }
        for (name, limit) in &self.limits {
            document["limits"][name] = limit.clone();
        }
        document.to_string()
    }

    /// Returns the content of references by their full names. For the workflow under test it includes files
    /// in its folder.
    pub fn content(&self) -> BTreeMap<String, Value> {
        let full = |name: &String| match name.starts_with("sha256:") {
            true => format!("cas://{name}"),
            false => name.clone(),
        };
        let mut found = match self.subject() {
            Ok(subject) if subject.kind == WorkflowKind::Graph => {
                let path = self.workflow.as_ref().map(|workflow| self.folder.join(workflow));
                let folder = path.as_deref().and_then(Path::parent).unwrap_or(&self.folder);
                beside::content(folder, &subject.source)
            }
            _ => BTreeMap::new(),
        };
        found.extend(self.blobs.iter().map(|(name, content)| (full(name), content.clone())));
        found
    }

    fn kind(&self, otherwise: WorkflowKind) -> WorkflowKind {
        match self.kind {
            Some(Kind::Flow) => WorkflowKind::Flow,
            Some(Kind::Graph) => WorkflowKind::Graph,
            None => otherwise,
        }
    }

    /// Returns the texts of all graphs of the scenario that can be read.
    pub fn graphs(&self) -> Vec<String> {
        let all = self.others().into_iter().chain(self.subject());
        all.filter(|subject| subject.kind == WorkflowKind::Graph).map(|subject| subject.source).collect()
    }

    /// Returns the built-in node types and those of the scenario. Fails if one of the latter is invalid.
    pub fn registry(&self) -> Result<Registry, String> {
        let mut registry = Registry::default();
        for kind in &self.node_types {
            registry.add(kind.clone()).map_err(|bad| format!("`node_types`: {bad}"))?;
        }
        Ok(registry)
    }

    /// Returns the further workflows: a text is a flow, an object is a graph.
    pub fn others(&self) -> Vec<Subject> {
        let other = |(name, source): (&String, &Value)| match source {
            Value::String(text) => {
                Subject { name: name.clone(), kind: WorkflowKind::Flow, source: text.clone() }
            }
            graph => Subject { name: name.clone(), kind: WorkflowKind::Graph, source: graph.to_string() },
        };
        self.workflows.iter().map(other).collect()
    }
}

fn unread(path: &Path, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("`workflow` names {}, and there is no such file", path.display())
        }
        _ => format!("{}: {error}", path.display()),
    }
}

/// Returns the limit that a name stands for. It compiles a graph with and without the name and compares the
/// limits.
fn limit(name: &str, given: &Value) -> Option<String> {
    let limits = |written: Value| {
        let graph = json!({"nodes": [{"id": "a", "type": "task"}], "limits": written});
        let graph = compile(&graph.to_string(), &Context::default()).graph?;
        serde_json::to_value(graph.limits).ok()
    };
    // The default value would change nothing, so use another number.
    let written = if given.is_number() { json!(7) } else { given.clone() };
    let (with, without) = (limits(json!({name: written}))?, limits(json!({}))?);
    let changed = with.as_object()?.iter().find(|(key, value)| without.get(*key) != Some(value))?;
    Some(changed.0.clone())
}

/// Reads the scenarios of files and, below folders, of every scenario file in the order of names. Fails if a
/// path does not exist or holds no scenario.
pub fn read_files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Vec<Scenario>)>, FileError> {
    let mut found = Vec::new();
    for path in paths {
        let before = found.len();
        collect(path, true, &mut found)?;
        if found.len() == before {
            let problem =
                "no scenarios are here: write files that end in .scenario.yaml, .yaml, .yml or .json";
            return Err(FileError { path: path.clone(), problem: problem.to_owned() });
        }
    }
    Ok(found)
}

fn collect(path: &Path, named: bool, found: &mut Vec<(PathBuf, Vec<Scenario>)>) -> Result<(), FileError> {
    let unreadable = |problem: String| FileError { path: path.to_owned(), problem };
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|error| unreadable(error.to_string()))?;
        let mut inside: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        inside.sort();
        return inside.iter().try_for_each(|path| collect(path, false, found));
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    let yaml = matches!(extension.as_deref(), Some("yaml" | "yml"));
    // A folder may contain other files; a file that was named is always read.
    if !named && !yaml && extension.as_deref() != Some("json") {
        return Ok(());
    }
    let text = std::fs::read_to_string(path).map_err(|error| {
        unreadable(match error.kind() {
            std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => error.to_string(),
        })
    })?;
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&text);
    let value = parse(text, yaml);
    if !named && !value.as_ref().is_ok_and(looks_like_scenarios) && !is_called_scenario(path) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    // A broken file becomes one broken scenario, so that the other files are still played.
    let scenarios = value.and_then(scenarios).unwrap_or_else(|mistake| {
        let name = path.display().to_string();
        vec![Scenario { name, mistake: Some(mistake), ..Scenario::default() }]
    });
    let placed = scenarios.into_iter().map(|scenario| Scenario { folder: folder.clone(), ..scenario });
    found.push((path.to_owned(), placed.collect()));
    Ok(())
}

fn parse(text: &str, yaml: bool) -> Result<Ordered, String> {
    match yaml {
        true => parse_yaml(text),
        false => match serde_json::from_str(text) {
            // The YAML reader accepts deeper nesting, and JSON is YAML.
            Err(error) if error.to_string().starts_with("recursion limit") => parse_yaml(text),
            read => read.map_err(|error| error.to_string()),
        },
    }
}

/// Reads YAML 1.2, where `n` and `on` are texts. The reader needs much stack for each level, so it runs on
/// its own thread.
fn parse_yaml(text: &str) -> Result<Ordered, String> {
    let read = || {
        let budget = serde_saphyr::budget! { max_depth: DEEPEST };
        let options = serde_saphyr::options! { strict_booleans: true, budget: budget };
        let read: Result<Ordered, _> = serde_saphyr::from_str_with_options(text, options);
        read.map_err(|error| error.to_string())
    };
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().stack_size(ROOM_TO_READ).spawn_scoped(scope, read);
        let read = reader.map_err(|error| error.to_string())?.join();
        read.unwrap_or_else(|_| Err("the file cannot be read".to_owned()))
    })
}

fn is_called_scenario(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with(".scenario"))
}

fn looks_like_scenarios(value: &Ordered) -> bool {
    let is_one = |value: &Ordered| {
        let has = |keys: &[&str]| keys.iter().any(|key| value.get(key).is_some());
        has(&["expect", "any_of"]) || has(&["tasks", "signals"]) && has(&["workflow", "source", "graph"])
    };
    match value {
        Ordered::List(list) => list.iter().any(is_one),
        other => other.get("scenarios").is_some() || is_one(other),
    }
}

fn scenarios(value: Ordered) -> Result<Vec<Scenario>, String> {
    let list = match value {
        Ordered::List(list) => list,
        Ordered::Object(fields) if fields.iter().any(|(key, _)| key == "scenarios") => {
            if let Some((key, _)) = fields.iter().find(|(key, _)| key != "scenarios") {
                return Err(format!("`{key}` does not belong beside `scenarios`"));
            }
            match fields.into_iter().next() {
                Some((_, Ordered::List(list))) => list,
                _ => return Err("`scenarios` must be a list".into()),
            }
        }
        one => vec![one],
    };
    let named = |(place, value): (usize, &Ordered)| {
        let name = value.get("name").and_then(Ordered::as_text).map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("scenario {}", place + 1));
        match scenario(value) {
            Ok(scenario) => Scenario { name, ..scenario },
            Err(mistake) => Scenario { name, mistake: Some(mistake), ..Scenario::default() },
        }
    };
    Ok(list.iter().enumerate().map(named).collect())
}

fn scenario(value: &Ordered) -> Result<Scenario, String> {
    if !matches!(value, Ordered::Object(_)) {
        return Err("a scenario is an object with `source`, `workflow` or `graph`, and `expect`".into());
    }
    // The graph compiler reads and checks the graph, so it is not parsed here.
    let (graph, others) = value.without("graph");
    let text = serde_json::to_string(&others).map_err(|error| error.to_string())?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    let mut scenario: Scenario = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        // A line number of the generated text would not help the user; the key does.
        let told = error.inner().to_string();
        let problem = told.split_once(" at line ").map_or(told.as_str(), |(problem, _)| problem);
        let problem = in_plain_words(problem);
        match error.path().to_string() {
            path if path == "." => problem,
            path => format!("{path}: {problem}"),
        }
    })?;
    scenario.graph = graph.map(Ordered::to_json).filter(|graph| !graph.is_null());
    for (name, answers) in &scenario.tasks {
        for (place, answer) in answers.iter().enumerate() {
            if let Some(mistake) = answer.mistake() {
                return Err(format!("tasks.{name}[{place}]: {mistake}"));
            }
        }
    }
    match (&scenario.expect, &scenario.any_of) {
        (Some(_), Some(_)) => Err("write one of `expect` and `any_of`".into()),
        (None, Some(none)) if none.is_empty() => {
            Err("any_of: an empty list is never right: write what may come of it".into())
        }
        _ => Ok(scenario),
    }
}

/// Rewrites the parser's message about an unknown word and adds the closest known word.
fn in_plain_words(problem: &str) -> String {
    let (what, rest) =
        match (problem.strip_prefix("unknown field `"), problem.strip_prefix("unknown variant `")) {
            (Some(rest), _) => ("key", rest),
            (_, Some(rest)) => ("value", rest),
            _ => return problem.to_owned(),
        };
    let Some((word, expected)) = rest.split_once('`') else { return problem.to_owned() };
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    match (closest(word, known.iter().copied()), known.as_slice()) {
        (Some(near), _) => format!("there is no {what} `{word}`: did you mean `{near}`?"),
        (None, []) => format!("there is no {what} `{word}`"),
        (None, known) => format!("there is no {what} `{word}`; there are `{}`", known.join("`, `")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Scenario> {
        scenarios(parse(text, false).unwrap()).unwrap()
    }

    #[test]
    fn a_file_holds_one_scenario_a_list_or_a_named_list() {
        let one = r#"{"source": "return 1", "expect": {"output": 1}}"#;
        for text in [one.to_owned(), format!("[{one}]"), format!("{{\"scenarios\": [{one}]}}")] {
            let found = read(&text);
            assert_eq!((found.len(), found[0].name.as_str()), (1, "scenario 1"));
            assert_eq!(found[0].mistake, None);
        }
    }

    #[test]
    fn what_is_misspelt_is_named_and_spoils_nothing_else() {
        let found = read(
            r#"[{"name": "n", "source": "return 1", "expekt": {}, "expect": {}},
                {"name": "m", "source": "return 1", "expect": {}, "any_of": []}, {"source": "return 1"}]"#,
        );
        let mistake = |place: usize| found[place].mistake.as_deref().unwrap_or_default();
        assert_eq!(mistake(0), "expekt: there is no key `expekt`: did you mean `expect`?");
        assert_eq!(mistake(1), "write one of `expect` and `any_of`");
        assert_eq!((found[0].name.as_str(), mistake(2)), ("n", ""));
    }

    #[test]
    fn what_cannot_be_right_and_what_nobody_can_say_is_refused() {
        let found = read(
            r#"[{"source": "return 1", "any_of": []},
                {"source": "return 1", "decisions": {"a": [{"decision": "aprove"}]}, "expect": {}}]"#,
        );
        let mistake = |place: usize| found[place].mistake.as_deref().unwrap_or_default();
        assert_eq!(mistake(0), "any_of: an empty list is never right: write what may come of it");
        assert_eq!(
            mistake(1),
            "decisions.a[0].decision: there is no value `aprove`: did you mean `approve`?"
        );
    }

    #[test]
    fn what_is_too_deep_spoils_no_other_scenario() {
        let deep = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        for (levels, yaml) in [(70, true), (110, false), (200, true), (200, false)] {
            let text = format!(
                r#"[{{"graph": {{"nodes": [], "ui": {0}}}, "expect": {{}}}}, {{"source": "return 1", "limits": {{"x": {0}}}}}, {{"source": "return 1"}}]"#,
                deep(levels)
            );
            let found = scenarios(parse(&text, yaml).unwrap()).unwrap();
            assert_eq!((found.len(), &found[0].mistake, &found[2].mistake), (3, &None, &None));
            let source = found[0].subject().unwrap().source;
            assert_eq!(
                compile(&source, &Context::default()).diagnostics[0].code,
                if levels < 100 { "GRAPH006" } else { "GRAPH001" }
            );
            assert_eq!(found[1].mistake.is_some(), levels > 120, "too deep itself");
        }
    }

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = "name: n\nsource: return 1\ninputs: {b: 1, a: 2}\ntasks:\n  a: [{ok: {z: t1, id: 1}, after: 2}]\nexpect: {status: completed}\n";
        let found = scenarios(parse(yaml, true).unwrap()).unwrap();
        assert_eq!(found[0].inputs.as_ref().unwrap().get(), r#"{"b":1,"a":2}"#);
        let answer = &found[0].tasks["a"][0];
        assert_eq!((answer.after, answer.ok.as_ref().unwrap().get()), (2.0, r#"{"z":"t1","id":1}"#));
    }
}
