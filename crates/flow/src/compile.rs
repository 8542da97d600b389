//! Compiles the tree to steps. Blocks, loops and `try` become jumps and hidden slots; names become slots. The
//! same tree always gives the same steps. The tree must have passed the checker: anything the checker refuses
//! is an error here, never a panic.

mod assigned;
mod emit;
mod expression;
mod path;
mod scope;
mod statement;

use rhythm_syntax::Span;
use thiserror::Error;

use super::code::{Code, Defaults, FORMAT, Node, Step};
use super::tree::{File, Form};
use assigned::Assigned;
use emit::Places;
use scope::Scopes;

/// An error that the checker should have reported.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct CompileError {
    pub message: String,
    pub span: Span,
}

impl CompileError {
    fn new(span: Span, message: impl Into<String>) -> Self {
        Self { message: message.into(), span }
    }
}

type Compiled<T> = Result<T, CompileError>;

/// Compiles a checked program. `defaults` come from its front matter. Fails for a tree that the checker
/// refuses.
pub fn compile(file: &File, source: &str, defaults: Defaults) -> Compiled<Code> {
    let parameters = match &file.form {
        Form::Workflow { parameters } => parameters.as_slice(),
        Form::Bare | Form::Main => &[],
    };
    let assigned = Assigned::find(file, parameters);
    let mut compiler = Compiler {
        places: Places::of(source),
        code: Code {
            format: FORMAT,
            steps: Vec::new(),
            places: Vec::new(),
            nodes: Vec::new(),
            functions: Vec::new(),
            slots: Vec::new(),
            handlers: Vec::new(),
            defaults,
            reads_inputs: false,
            reads_context: false,
        },
        scopes: Scopes::default(),
        loops: Vec::new(),
        depth: 0,
    };
    compiler.prologue(parameters, &assigned)?;
    compiler.block_statements(&file.body)?;
    compiler.epilogue(file.body.span)?;
    let code = compiler.code;
    match code.check() {
        Ok(()) => Ok(code),
        Err(error) => Err(CompileError::new(file.body.span, error.to_string())),
    }
}

struct Compiler {
    places: Places,
    code: Code,
    scopes: Scopes,
    loops: Vec<Loop>,
    /// Depth of the expression being compiled.
    depth: u32,
}

/// Jumps that leave a loop or go to its next iteration; their targets are filled in at the end of the loop.
#[derive(Default)]
struct Loop {
    breaks: Vec<usize>,
    continues: Vec<usize>,
}

impl Compiler {
    /// Declares the context, the inputs, and the names that are assigned without a declaration.
    fn prologue(&mut self, parameters: &[super::tree::Name], assigned: &Assigned) -> Compiled<()> {
        self.scopes.open();
        for (place, name) in parameters.iter().take(2).enumerate() {
            let node = if place == 0 { Node::Context } else { Node::Inputs };
            self.given(&name.text, node, assigned.anywhere.contains(&name.text), name.span)?;
        }
        for (name, span) in &assigned.undeclared {
            let slot = self.new_slot(name)?;
            self.scopes.create(name, slot);
            if let Some(node) = path::given(name) {
                let value = self.node(node)?;
                self.emit(Step::Set(slot, value), *span)?;
            }
        }
        Ok(())
    }

    /// Declares the context or the inputs. A name that is never written needs no slot: it is read directly.
    fn given(&mut self, name: &str, node: Node, written: bool, span: Span) -> Compiled<()> {
        if !written {
            self.scopes.declare_given(name, node);
            return Ok(());
        }
        let value = self.node(node)?;
        let slot = self.new_slot(name)?;
        self.emit(Step::Set(slot, value), span)?;
        self.declare(name, slot)
    }

    /// Ends the program: one that runs to its end returns null.
    fn epilogue(&mut self, span: Span) -> Compiled<()> {
        let end = Span { start: span.end.saturating_sub(1).max(span.start), end: span.end };
        let null = self.node(Node::Null)?;
        self.emit(Step::Return(null), end)?;
        self.close_scope()?;
        let length = self.here()?;
        for slot in self.scopes.created() {
            if let Some(slot) = self.code.slots.get_mut(slot as usize) {
                slot.scope = (0, length);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
