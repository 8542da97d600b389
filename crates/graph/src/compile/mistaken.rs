//! Reports texts of a config that look like references and are not. A run would use such a text unchanged,
//! and the mistake would go unnoticed.

use rhythm_syntax::diagnostic::{Diagnostic, excerpt};
use rhythm_syntax::spanned_value::{Node as Tree, NodeKind as TreeKind};
use serde_json::Value;

use super::Compiler;
use crate::codes;
use crate::ir::NodeKind;
use crate::reference::{Source, sources};

/// Words that people write, and the reference they mean.
const WORDS: [(&str, &str); 4] =
    [("inputs", "$inputs"), ("input", "$inputs"), ("nodes", "$nodes"), ("node", "$nodes")];

impl Compiler<'_, '_> {
    pub(super) fn check_mistaken(&mut self, kind: &NodeKind, config: &Tree) {
        match &config.kind {
            TreeKind::List(items) => items.iter().for_each(|item| self.check_mistaken(kind, item)),
            TreeKind::Mapping(entries) => {
                // Programs have variable names of their own.
                let is_program = |key: &str| match kind {
                    NodeKind::Transform => key == "jq",
                    NodeKind::Filter | NodeKind::Loop => key == "condition",
                    NodeKind::Conditional => key == "rules",
                    _ => false,
                };
                let read = entries.iter().filter(|entry| !is_program(&entry.key));
                read.for_each(|entry| self.check_mistaken(kind, &entry.value));
            }
            TreeKind::Scalar(Value::String(text)) => {
                if *kind != NodeKind::Parallel && sources(&Value::from(text.as_str())).contains(&Source::Item)
                {
                    self.report.say(
                        Diagnostic::new(codes::MISTAKEN_REFERENCE, config.span, "there is no item here")
                            .titled(format!("`{}` refers to an item", excerpt(text)))
                            .helped("only the config of a `parallel` node has items"),
                    );
                    return;
                }
                let Some((written, meant)) = mistaken(text) else { return };
                let title = format!("`{}` looks like a reference and is none", excerpt(&written));
                self.report.say(
                    Diagnostic::new(codes::MISTAKEN_REFERENCE, config.span, "stays as it is written")
                        .titled(title)
                        .helped(format!("write `{}`", excerpt(&meant))),
                );
            }
            TreeKind::Scalar(_) => {}
        }
    }
}

/// Returns the first part of a text that looks like a reference and is not, with the intended reference.
fn mistaken(text: &str) -> Option<(String, String)> {
    let is_word = |rest: &&str| !rest.starts_with('{') && !rest.contains(char::is_whitespace);
    if let Some(rest) = text.strip_prefix('$').filter(is_word) {
        let meant = read(rest).filter(|meant| *meant != text)?;
        return Some((text.to_owned(), meant));
    }
    for (at, start) in text.match_indices("${") {
        let Some((inner, _)) = text[at + start.len()..].split_once('}') else { break };
        let inner = inner.trim();
        let meant = read(inner.strip_prefix('$').unwrap_or(inner)).filter(|meant| meant != inner);
        if let Some(meant) = meant {
            return Some((format!("${{{inner}}}"), format!("${{{meant}}}")));
        }
    }
    None
}

/// Returns the intended reference for a word and a path, both without their `$`.
fn read(text: &str) -> Option<String> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (word, path) = text.split_at(end);
    let (_, meant) = WORDS.iter().find(|(written, _)| *written == word)?;
    let is_whole = path.is_empty() && *meant == "$inputs";
    (is_whole || path.len() > 1).then(|| format!("{meant}{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_meant_is_told() {
        for (text, written, meant) in [
            ("$input.z", "$input.z", "$inputs.z"),
            ("$input", "$input", "$inputs"),
            ("$node.a.x", "$node.a.x", "$nodes.a.x"),
            ("${inputs.w}", "${inputs.w}", "${$inputs.w}"),
            ("for ${ $input.w[0] }!", "${$input.w[0]}", "${$inputs.w[0]}"),
            ("${$inputs.a} and ${nodes.b.c}", "${nodes.b.c}", "${$nodes.b.c}"),
        ] {
            assert_eq!(mistaken(text), Some((written.to_owned(), meant.to_owned())), "{text}");
        }
    }

    #[test]
    fn what_is_a_reference_or_does_not_look_like_one_is_left_alone() {
        for text in [
            "$inputs.z",
            "$inputs",
            "$nodes.a.x",
            "${$inputs.w}",
            "cost: $5",
            "${HOME}",
            "${x.y}",
            "$input. More words",
            "input.z",
            "${node}",
            "$node",
            "${inputs.w",
        ] {
            assert_eq!(mistaken(text), None, "{text}");
        }
    }
}
