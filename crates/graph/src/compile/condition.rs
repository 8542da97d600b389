//! Compiles conditions and puts referenced content inline.

use rhythm_syntax::diagnostic::Diagnostic;
use rhythm_syntax::spanned_value::{Entry, Node as Tree, NodeKind as TreeKind};
use serde_json::{Map, Value, json};

use super::{Compiler, Language, is_path};
use crate::condition::Condition;
use crate::{codes, reference};

const PROGRAM: &str = "write `def evaluate(output, context):` and let it return True or False; the guide tells what the sandbox knows of Python";

/// Returns an example of a condition of this type.
fn example(condition: &Value) -> &'static str {
    match condition.get("type").and_then(Value::as_str) {
        Some("jsonpath") => {
            "write for example `{type: jsonpath, query: \"$.score\", operator: \">=\", value: 80}`"
        }
        Some("schema_validation") => {
            "write for example `{type: schema_validation, schema: {type: object, required: [score]}}`"
        }
        Some("cross_node_comparison") => {
            "write for example `{type: cross_node_comparison, left: {source: current, path: $.score}, operator: \">\", \
             right: {source: context, node: first, path: $.score}}`"
        }
        Some("composite") => {
            "write for example `{type: composite, operator: AND, conditions: [{type: cel, expression: \"output.score >= 80\"}]}`"
        }
        Some("python_sandbox") => PROGRAM,
        _ => "write for example `{type: cel, expression: \"output.score >= 80\"}`",
    }
}

fn refers(code: &str) -> bool {
    reference::refers(&Value::from(code))
}

impl Compiler<'_, '_> {
    /// Compiles a condition and returns its stored form. A bare text is CEL.
    pub(super) fn condition(&mut self, tree: &Tree) -> Value {
        let condition = match tree.as_str() {
            Some(expression) => json!({"type": "cel", "expression": expression}),
            None => self.with_content(tree),
        };
        match Condition::compile(&condition) {
            Ok(compiled) => {
                self.suspect(&compiled, tree.span);
                // A program that contains a reference is complete only in a run, so it is not checked here.
                for code in compiled.programs().into_iter().filter(|code| !refers(code)) {
                    if let Err(reason) = (self.context.programs)(Language::Python, code) {
                        let said = Diagnostic::new(codes::CONDITION, tree.span, format!("code: {reason}"));
                        self.report.say(said.helped(PROGRAM));
                    }
                }
            }
            Err(error) => self.report.say(
                Diagnostic::new(codes::CONDITION, tree.span, error.to_string()).helped(example(&condition)),
            ),
        }
        condition
    }

    /// Puts the content of `schema_ref` and `code_ref` inline where it exists, in nested conditions too.
    fn with_content(&mut self, tree: &Tree) -> Value {
        let TreeKind::Mapping(entries) = &tree.kind else { return tree.to_json() };
        let mut kept = Map::new();
        for Entry { key, value, .. } in entries {
            let name = match (key.as_str(), &value.kind) {
                ("schema_ref", _) => "schema",
                ("code_ref", _) => "code",
                ("conditions", TreeKind::List(items)) => {
                    kept.insert(key.clone(), items.iter().map(|item| self.with_content(item)).collect());
                    continue;
                }
                _ => {
                    kept.insert(key.clone(), value.to_json());
                    continue;
                }
            };
            if let Some(path) = value.as_str().filter(|reference| is_path(reference)) {
                self.files.insert((value.span, path.to_owned()));
            }
            match value.as_str().and_then(|reference| self.content(reference, key, value.span)) {
                Some(content) => kept.insert(name.to_owned(), content),
                None => kept.insert(key.clone(), value.to_json()),
            };
        }
        Value::Object(kept)
    }
}
