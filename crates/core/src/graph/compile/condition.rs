//! Conditions as they are kept: content put inline, and seen to compile.

use serde_json::{Map, Value, json};

use super::{Compiler, Language};
use crate::document::{Entry, Node as Tree, NodeKind as TreeKind};
use crate::flow::diagnostic::Diagnostic;
use crate::graph::condition::Condition;
use crate::graph::{codes, reference};

const PROGRAM: &str = "write `def evaluate(output, context):` and let it return True or False; the guide tells what the sandbox knows of Python";

fn refers(code: &str) -> bool {
    reference::refers(&Value::from(code))
}

impl Compiler<'_, '_> {
    /// A bare text is CEL.
    pub(super) fn condition(&mut self, tree: &Tree) -> Value {
        let condition = match tree.as_str() {
            Some(expression) => json!({"type": "cel", "expression": expression}),
            None => self.with_content(tree),
        };
        match Condition::compile(&condition) {
            Ok(compiled) => {
                // What refers to something is known to the run alone.
                for code in compiled.programs().into_iter().filter(|code| !refers(code)) {
                    if let Err(reason) = (self.context.programs)(Language::Python, code) {
                        let said = Diagnostic::new(codes::CONDITION, tree.span, format!("code: {reason}"));
                        self.report.say(said.helped(PROGRAM));
                    }
                }
            }
            Err(error) => self.report.say(
                Diagnostic::new(codes::CONDITION, tree.span, error.to_string())
                    .helped("write for example `{type: cel, expression: \"output.score >= 80\"}`"),
            ),
        }
        condition
    }

    /// Puts `schema_ref` and `code_ref` inline as far as they are there, in conditions within conditions too.
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
            match value.as_str().and_then(|reference| self.content(reference, key, value.span)) {
                Some(content) => kept.insert(name.to_owned(), content),
                None => kept.insert(key.clone(), value.to_json()),
            };
        }
        Value::Object(kept)
    }
}
