//! Scenario files: one scenario, a list of them, or `{scenarios: [...]}`, as JSON or YAML.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rhythm_core::WorkflowKind;
use serde::Deserialize;
use serde_json::Value;
use thiserror::Error;

use crate::expectation::Expectation;
use crate::script::Answer;

/// One scenario as it is written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    #[serde(default)]
    pub name: String,
    /// A file beside the scenario.
    pub workflow: Option<PathBuf>,
    /// Inline `.flow` text.
    pub source: Option<String>,
    /// Inline graph.
    pub graph: Option<Value>,
    pub kind: Option<Kind>,
    #[serde(default)]
    pub inputs: Value,
    /// Further inline workflows, by name.
    #[serde(default)]
    pub workflows: BTreeMap<String, Value>,
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
    /// Where relative files are looked for.
    #[serde(skip)]
    pub folder: PathBuf,
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
    #[serde(default)]
    pub payload: Value,
    /// Virtual seconds after the start.
    #[serde(default)]
    pub at: f64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    pub decision: String,
    #[serde(default)]
    pub by: String,
    #[serde(default)]
    pub comments: String,
    #[serde(default)]
    pub data: Value,
    #[serde(default)]
    pub at: f64,
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
    #[serde(default)]
    pub at: f64,
}

/// Why a file cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    #[error("{path}: {problem}")]
    Unreadable { path: PathBuf, problem: String },
    #[error("{0}: no scenarios are here: write files that end in .scenario.yaml, .yaml, .yml or .json")]
    Nothing(PathBuf),
}

/// A scenario's workflow: its name, kind and text.
pub struct Subject {
    pub name: String,
    pub kind: WorkflowKind,
    pub source: String,
}

impl Scenario {
    /// Reads the workflow that is played.
    pub fn subject(&self) -> Result<Subject, String> {
        let given = [self.workflow.is_some(), self.source.is_some(), self.graph.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err("write exactly one of `workflow`, `source` and `graph`".into());
        }
        if let Some(source) = &self.source {
            return Ok(Subject {
                name: "main".into(),
                kind: self.kind(WorkflowKind::Flow),
                source: source.clone(),
            });
        }
        if let Some(graph) = &self.graph {
            return Ok(Subject { name: "main".into(), kind: WorkflowKind::Graph, source: graph.to_string() });
        }
        let path = self.folder.join(self.workflow.as_deref().unwrap_or(Path::new("")));
        let source =
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let is_flow = path.extension().is_some_and(|extension| extension == "flow");
        let kind = self.kind(if is_flow { WorkflowKind::Flow } else { WorkflowKind::Graph });
        let name = path.file_stem().map_or("main".into(), |stem| stem.to_string_lossy().into_owned());
        Ok(Subject { name, kind, source })
    }

    fn kind(&self, otherwise: WorkflowKind) -> WorkflowKind {
        match self.kind {
            Some(Kind::Flow) => WorkflowKind::Flow,
            Some(Kind::Graph) => WorkflowKind::Graph,
            None => otherwise,
        }
    }

    /// The further workflows: text is a flow, an object a graph.
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

/// All scenarios of files and, below folders, of every scenario file in the order of their names.
pub fn read_files(paths: &[PathBuf]) -> Result<Vec<(PathBuf, Vec<Scenario>)>, FileError> {
    let mut found = Vec::new();
    for path in paths {
        let before = found.len();
        collect(path, true, &mut found)?;
        if found.len() == before {
            return Err(FileError::Nothing(path.clone()));
        }
    }
    Ok(found)
}

fn collect(path: &Path, named: bool, found: &mut Vec<(PathBuf, Vec<Scenario>)>) -> Result<(), FileError> {
    let unreadable = |problem: String| FileError::Unreadable { path: path.to_owned(), problem };
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(|error| unreadable(error.to_string()))?;
        let mut inside: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        inside.sort();
        return inside.iter().try_for_each(|path| collect(path, false, found));
    }
    let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
    let yaml = matches!(extension.as_deref(), Some("yaml" | "yml"));
    // In a folder there may be anything; a file that was named is meant.
    if !named && !yaml && extension.as_deref() != Some("json") {
        return Ok(());
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let value = parse(&text, yaml).map_err(&unreadable)?;
    if !named && !looks_like_scenarios(&value) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let scenarios = scenarios(value).map_err(&unreadable)?;
    let placed = scenarios.into_iter().map(|scenario| Scenario { folder: folder.clone(), ..scenario });
    found.push((path.to_owned(), placed.collect()));
    Ok(())
}

fn parse(text: &str, yaml: bool) -> Result<Value, String> {
    match yaml {
        // As YAML 1.2 has it: `n` and `on` are texts.
        true => {
            let options = serde_saphyr::options! { strict_booleans: true };
            serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
        }
        false => serde_json::from_str(text).map_err(|error| error.to_string()),
    }
}

fn looks_like_scenarios(value: &Value) -> bool {
    let is_one = |value: &Value| {
        ["expect", "any_of"].iter().any(|key| value.get(key).is_some())
            && ["workflow", "source", "graph"].iter().any(|key| value.get(key).is_some())
    };
    match value {
        Value::Array(list) => list.first().is_some_and(is_one),
        other => other.get("scenarios").is_some() || is_one(other),
    }
}

fn scenarios(value: Value) -> Result<Vec<Scenario>, String> {
    let list = match value {
        Value::Array(list) => list,
        Value::Object(mut object) if object.contains_key("scenarios") => {
            let list = object.remove("scenarios").unwrap_or_default();
            if let Some(key) = object.keys().next() {
                return Err(format!("`{key}` does not belong beside `scenarios`"));
            }
            match list {
                Value::Array(list) => list,
                _ => return Err("`scenarios` must be a list".into()),
            }
        }
        one => vec![one],
    };
    let mut scenarios = Vec::with_capacity(list.len());
    for (place, value) in list.into_iter().enumerate() {
        let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
        let named = name.clone().unwrap_or_else(|| format!("scenario {}", place + 1));
        let mut scenario: Scenario =
            serde_json::from_value(value).map_err(|error| format!("{named}: {error}"))?;
        if scenario.expect.is_some() == scenario.any_of.is_some() {
            return Err(format!("{named}: write one of `expect` and `any_of`"));
        }
        scenario.name = named;
        scenarios.push(scenario);
    }
    Ok(scenarios)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_file_holds_one_scenario_a_list_or_a_named_list() {
        let one = json!({"source": "return 1", "expect": {"output": 1}});
        for value in [one.clone(), json!([one]), json!({"scenarios": [one]})] {
            let found = scenarios(value).unwrap();
            assert_eq!((found.len(), found[0].name.as_str()), (1, "scenario 1"));
        }
    }

    #[test]
    fn what_is_misspelt_is_refused_by_name() {
        let wrong = json!({"name": "n", "source": "return 1", "expekt": {}, "expect": {}});
        assert!(scenarios(wrong).unwrap_err().contains("expekt"));
        let nothing = json!({"name": "n", "source": "return 1"});
        assert_eq!(scenarios(nothing).unwrap_err(), "n: write one of `expect` and `any_of`");
    }

    #[test]
    fn yaml_and_json_say_the_same() {
        let yaml = "name: n\nsource: return 1\ntasks:\n  a: [{ok: {id: t1}, after: 2}]\nexpect: {status: completed}\n";
        let value = parse(yaml, true).unwrap();
        assert_eq!(value["tasks"]["a"][0], json!({"ok": {"id": "t1"}, "after": 2}));
        assert_eq!(scenarios(value).unwrap()[0].tasks["a"][0].after, 2.0);
    }
}
