//! Writes steps, nodes and slots, and fills in jumps once their target is known.

use rhythm_syntax::Span;

use super::{CompileError, Compiled, Compiler};
use crate::code::{Index, Node, Place, Slot, Step};

/// Placeholder target of a jump that is filled in later.
pub const LATER: Index = Index::MAX;

impl Compiler {
    /// Returns the position of the next step.
    pub fn here(&self) -> Compiled<Index> {
        index(self.code.steps.len())
    }

    pub fn emit(&mut self, step: Step, span: Span) -> Compiled<usize> {
        let position = self.code.steps.len();
        self.code.steps.push(step);
        self.code.places.push(self.places.place(span));
        Ok(position)
    }

    pub fn node(&mut self, node: Node) -> Compiled<Index> {
        match node {
            Node::Inputs => self.code.reads_inputs = true,
            Node::Context => self.code.reads_context = true,
            _ => {}
        }
        let place = index(self.code.nodes.len())?;
        self.code.nodes.push(node);
        Ok(place)
    }

    pub fn function(&mut self, name: &str) -> Compiled<Index> {
        if let Some(place) = self.code.functions.iter().position(|known| known == name) {
            return index(place);
        }
        self.code.functions.push(name.to_owned());
        index(self.code.functions.len() - 1)
    }

    pub fn new_slot(&mut self, name: &str) -> Compiled<Index> {
        let key = self.scopes.key_for(name);
        self.code.slots.push(Slot { name: name.to_owned(), key, scope: (LATER, LATER) });
        index(self.code.slots.len() - 1)
    }

    /// Binds the name to this slot from here on.
    pub fn declare(&mut self, name: &str, slot: Index) -> Compiled<()> {
        let here = self.here()?;
        if let Some(slot) = self.code.slots.get_mut(slot as usize) {
            slot.scope.0 = here;
        }
        self.scopes.declare(name, slot);
        Ok(())
    }

    pub fn close_scope(&mut self) -> Compiled<()> {
        let here = self.here()?;
        for slot in self.scopes.close() {
            if let Some(slot) = self.code.slots.get_mut(slot as usize) {
                slot.scope.1 = here;
            }
        }
        Ok(())
    }

    /// Sets the target of an earlier jump to the next step.
    pub fn land(&mut self, jump: usize) -> Compiled<()> {
        let here = self.here()?;
        self.land_at(jump, here);
        Ok(())
    }

    pub fn land_at(&mut self, jump: usize, to: Index) {
        match self.code.steps.get_mut(jump) {
            Some(Step::Jump(target) | Step::JumpIf(_, target) | Step::JumpUnless(_, target)) => *target = to,
            Some(Step::Walk(walk)) => walk.next = to,
            _ => {}
        }
    }
}

fn index(place: usize) -> Compiled<Index> {
    match Index::try_from(place) {
        Ok(index) if index < LATER => Ok(index),
        _ => Err(CompileError::new(Span::default(), "the program is too large")),
    }
}

/// Offsets of line starts and of continuation bytes, both sorted, so that a line and column are found without
/// scanning a line that may be a mebibyte long.
pub struct Places {
    starts: Vec<usize>,
    inside: Vec<usize>,
}

impl Places {
    pub fn of(source: &str) -> Self {
        let starts =
            std::iter::once(0).chain(source.match_indices('\n').map(|(place, _)| place + 1)).collect();
        let bytes = source.bytes().enumerate();
        let inside = bytes.filter(|(_, byte)| (0x80..0xc0).contains(byte)).map(|(place, _)| place).collect();
        Self { starts, inside }
    }

    fn place(&self, span: Span) -> Place {
        let start = span.range().start;
        let line = self.starts.partition_point(|&begin| begin <= start).max(1);
        let begin = self.starts.get(line - 1).copied().unwrap_or_default();
        let skipped = |end: usize| self.inside.partition_point(|&place| place < end);
        let column = start.saturating_sub(begin) - (skipped(start) - skipped(begin));
        Place { line: line as u32, column: column as u32 + 1, start: span.start, end: span.end }
    }
}
