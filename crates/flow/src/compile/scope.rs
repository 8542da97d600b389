//! Which slot a name means at this point of the program. Inner declarations hide outer ones, from where they stand.

use std::collections::BTreeMap;

use crate::code::{Index, Node};

#[derive(Clone, Debug, PartialEq)]
pub enum Binding {
    Slot(Index),
    /// The context or the inputs, by the name the program gave them.
    Given(Node),
    /// Assigned without being declared: there for the whole program, unset until then.
    Created(Index),
}

#[derive(Default)]
pub struct Scopes {
    open: Vec<Scope>,
    created: BTreeMap<String, Index>,
    /// How many slots have this name already.
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

    /// The slots that are out of scope now.
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

    /// What a snapshot calls the next slot of this name, when that is not the name itself.
    pub fn key_for(&mut self, name: &str) -> Option<String> {
        let count = self.names.entry(name.to_owned()).or_default();
        *count += 1;
        (*count > 1).then(|| format!("{name}#{count}"))
    }
}
