//! Resolves names. Scope is lexical; a name assigned without a declaration belongs to the whole program.

use std::collections::BTreeMap;

use rhythm_syntax::Span;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Let,
    Const,
    Loop,
    LoopConst,
    Caught,
    /// The first parameter of a workflow.
    Context,
    /// The second parameter of a workflow.
    Inputs,
    /// A function definition, which the language refuses.
    Function,
}

impl Kind {
    pub(super) fn is_constant(self) -> bool {
        matches!(self, Self::Const | Self::LoopConst)
    }

    /// Returns whether the user declared it with `let` or `const`. The other names come with their statement.
    pub(super) fn is_declared(self) -> bool {
        matches!(self, Self::Let | Self::Const)
    }
}

pub(super) struct Binding<'t> {
    pub(super) name: &'t str,
    pub(super) span: Span,
    pub(super) kind: Kind,
    pub(super) read: bool,
    /// The value of a `const` that is a text.
    pub(super) text: Option<&'t str>,
    /// Whether it holds the handle of work that can fail.
    pub(super) can_fail: bool,
    /// Whether its value is a handle without work: of a timer, a signal or a group.
    pub(super) only_waited_for: bool,
    /// Span of its initial value, if the declaration has one.
    pub(super) value: Option<Span>,
    /// Whether computing the initial value has an effect.
    pub(super) effect: bool,
    /// End of its scope, once the scope is closed.
    until: u32,
    depth: usize,
}

#[derive(Default)]
pub(super) struct Scopes<'t> {
    bindings: Vec<Binding<'t>>,
    /// Bindings of each name from the outermost inwards; the last one is current.
    visible: BTreeMap<&'t str, Vec<usize>>,
    /// Declarations of each open scope.
    open: Vec<Vec<usize>>,
    /// The first declaration of each name.
    first: BTreeMap<&'t str, usize>,
    /// Names assigned without a declaration.
    created: BTreeMap<&'t str, Span>,
}

impl<'t> Scopes<'t> {
    pub(super) fn open(&mut self) {
        self.open.push(Vec::new());
    }

    /// Ends the innermost scope and returns its declarations.
    pub(super) fn close(&mut self, end: u32) -> Vec<usize> {
        let closed = self.open.pop().unwrap_or_default();
        for index in &closed {
            let binding = &mut self.bindings[*index];
            binding.until = end;
            if let Some(meanings) = self.visible.get_mut(binding.name) {
                meanings.pop();
            }
        }
        closed
    }

    /// Returns the new binding, and the earlier one if the same scope already declares the name.
    pub(super) fn declare(&mut self, name: &'t str, span: Span, kind: Kind) -> (usize, Option<usize>) {
        let index = self.bindings.len();
        let depth = self.open.len();
        self.first.entry(name).or_insert(index);
        let meanings = self.visible.entry(name).or_default();
        let repeated = meanings.last().copied().filter(|last| self.bindings[*last].depth == depth);
        meanings.push(index);
        self.bindings.push(Binding {
            name,
            span,
            kind,
            read: false,
            text: None,
            can_fail: false,
            only_waited_for: false,
            value: None,
            effect: false,
            until: u32::MAX,
            depth,
        });
        if let Some(scope) = self.open.last_mut() {
            scope.push(index);
        }
        (index, repeated)
    }

    pub(super) fn create(&mut self, name: &'t str, span: Span) {
        self.created.entry(name).or_insert(span);
    }

    pub(super) fn is_created(&self, name: &str) -> bool {
        self.created.contains_key(name)
    }

    /// Returns the current binding of a name.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.visible.get(name)?.last().copied()
    }

    pub(super) fn resolve(&self, name: &str) -> Option<&Binding<'t>> {
        self.find(name).and_then(|index| self.bindings.get(index))
    }

    /// Returns whether the program has such a name, which hides the library's.
    pub(super) fn hides(&self, name: &str) -> bool {
        self.find(name).is_some() || self.is_created(name)
    }

    pub(super) fn binding(&self, index: usize) -> &Binding<'t> {
        &self.bindings[index]
    }

    pub(super) fn binding_mut(&mut self, index: usize) -> &mut Binding<'t> {
        &mut self.bindings[index]
    }

    pub(super) fn mark_read(&mut self, index: usize) {
        self.bindings[index].read = true;
    }

    /// Returns the first declaration of a name, even if it is not visible here.
    pub(super) fn declared_anywhere(&self, name: &str) -> Option<&Binding<'t>> {
        self.first.get(name).and_then(|index| self.bindings.get(*index))
    }

    /// Returns an upper bound of the number of names.
    pub(super) fn count(&self) -> usize {
        self.bindings.len() + self.created.len()
    }

    /// Returns every name of the program that is readable at an offset; a name may appear twice.
    pub(super) fn names_at(&self, offset: u32) -> impl Iterator<Item = &'t str> + '_ {
        let here = move |binding: &&Binding<'t>| binding.span.end <= offset && offset < binding.until;
        self.bindings.iter().filter(here).map(|binding| binding.name).chain(self.created.keys().copied())
    }
}
