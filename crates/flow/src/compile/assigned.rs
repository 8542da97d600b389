//! A pass before compilation: finds the names that are assigned, and those assigned without any declaration
//! in scope. The latter belong to the whole program, even where it reads them before the assignment.

use std::collections::BTreeSet;

use rhythm_syntax::Span;

use super::path;
use crate::tree::*;

#[derive(Default)]
pub struct Assigned {
    pub anywhere: BTreeSet<String>,
    /// In the order of the source, each once.
    pub undeclared: Vec<(String, Span)>,
    known: BTreeSet<String>,
    scopes: Vec<BTreeSet<String>>,
}

impl Assigned {
    pub fn find(file: &File, parameters: &[Name]) -> Self {
        let mut assigned = Self::default();
        assigned.scopes.push(parameters.iter().take(2).map(|name| name.text.clone()).collect());
        assigned.statements(&file.body);
        assigned
    }

    fn block(&mut self, block: &Block) {
        self.scopes.push(BTreeSet::new());
        self.statements(block);
        self.scopes.pop();
    }

    fn statements(&mut self, block: &Block) {
        for statement in &block.statements {
            self.statement(&statement.kind);
        }
    }

    fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Declare { pattern, .. } => match pattern {
                Pattern::Name(name) => self.declare(name),
                Pattern::Object { names, .. } | Pattern::List { names, .. } => {
                    names.iter().for_each(|name| self.declare(name));
                }
            },
            StatementKind::Assign { target: Target::Place { name, path }, .. } => {
                // Only a plain assignment creates a name. Inputs and context exist already, so a part of them
                // may be assigned.
                self.assign(name, path.is_empty() || path::given(&name.text).is_some());
            }
            StatementKind::Assign { target: Target::List { names, .. }, .. } => {
                names.iter().for_each(|name| self.assign(name, true));
            }
            StatementKind::If { arms, otherwise } => {
                arms.iter().for_each(|arm| self.block(&arm.body));
                otherwise.iter().for_each(|block| self.block(block));
            }
            StatementKind::While { body, .. } | StatementKind::Block(body) => self.block(body),
            StatementKind::For { binding, name, body, .. } => {
                self.scopes.push(BTreeSet::new());
                match binding {
                    Some(_) => self.declare(name),
                    None => self.assign(name, true),
                }
                self.block(body);
                self.scopes.pop();
            }
            StatementKind::Try { body, error, handler } => {
                self.block(body);
                self.scopes.push(BTreeSet::new());
                error.iter().for_each(|name| self.declare(name));
                self.statements(handler);
                self.scopes.pop();
            }
            StatementKind::Throw(_)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Return(_)
            | StatementKind::Expression(_)
            | StatementKind::Function { .. } => {}
        }
    }

    fn declare(&mut self, name: &Name) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.text.clone());
        }
    }

    fn assign(&mut self, name: &Name, creates: bool) {
        self.anywhere.insert(name.text.clone());
        let declared = self.scopes.iter().any(|scope| scope.contains(&name.text));
        if creates && !declared && self.known.insert(name.text.clone()) {
            self.undeclared.push((name.text.clone(), name.span));
        }
    }
}
