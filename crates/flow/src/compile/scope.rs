//! Resolves a name to its slot at this point of the program. Inner declarations hide outer ones from their
//! position on.

use std::collections::BTreeMap;

use crate::code::{Index, Node};

#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    Slot(Index),
    /// The context or the inputs, under the name the program gave them.
    Given(Node),
    /// Assigned without a declaration: exists in the whole program, unset before its first assignment.
    Created(Index),
}

#[derive(Default)]
pub struct Scopes {
    open: Vec<Scope>,
    created: BTreeMap<String, Index>,
    /// Number of slots with each name so far.
    names: BTreeMap<String, u32>,
}

#[derive(Default)]
struct Scope {
    names: BTreeMap<String, Binding>,
    slots: Vec<Index>,
}

impl Scopes {
    pub fn open(&mut self) {
        self.open.push(Scope::default());
    }

    /// Closes the innermost scope; returns its slots.
    pub fn close(&mut self) -> Vec<Index> {
        self.open.pop().map(|scope| scope.slots).unwrap_or_default()
    }

    pub fn declare(&mut self, name: &str, slot: Index) {
        if let Some(scope) = self.open.last_mut() {
            scope.names.insert(name.to_owned(), Binding::Slot(slot));
            scope.slots.push(slot);
        }
    }

    pub fn declare_given(&mut self, name: &str, node: Node) {
        if let Some(scope) = self.open.last_mut() {
            scope.names.insert(name.to_owned(), Binding::Given(node));
        }
    }

    pub fn create(&mut self, name: &str, slot: Index) {
        self.created.insert(name.to_owned(), slot);
    }

    pub fn created(&self) -> Vec<Index> {
        self.created.values().copied().collect()
    }

    pub fn find(&self, name: &str) -> Option<Binding> {
        let declared = self.open.iter().rev().find_map(|scope| scope.names.get(name).cloned());
        declared.or_else(|| self.created.get(name).map(|slot| Binding::Created(*slot)))
    }

    /// Returns the snapshot key of the next slot with this name, if it differs from the name.
    pub fn key_for(&mut self, name: &str) -> Option<String> {
        let count = self.names.entry(name.to_owned()).or_default();
        *count += 1;
        (*count > 1).then(|| format!("{name}#{count}"))
    }
}
