//! Prints the compiled form: one line a step, expressions in source syntax, hidden locals with a `#`.

use super::{Access, Code, Handler, Index, Node, Part, Step};

impl Code {
    /// Describes the step at a position.
    pub fn step_text(&self, position: usize) -> String {
        let Some(step) = self.steps.get(position) else { return String::new() };
        match step {
            Step::Set(slot, value) => format!("{} = {}", self.slot_text(*slot), self.text(*value)),
            Step::SetPath(slot, path, value) => {
                let parts = path.iter().map(|part| match part {
                    Part::Field(name) => format!(".{name}"),
                    Part::At(index) => format!("[{}]", self.text(*index)),
                });
                let path: String = parts.collect();
                format!("{}{path} = {}", self.slot_text(*slot), self.text(*value))
            }
            Step::TakeFields(fields, value) => {
                let names: Vec<&str> = fields.iter().map(|(key, _)| &**key).collect();
                format!("{{ {} }} = {}", names.join(", "), self.text(*value))
            }
            Step::TakeItems(slots, value) => {
                let names: Vec<&str> = slots.iter().map(|slot| self.slot_text(*slot)).collect();
                format!("[{}] = {}", names.join(", "), self.text(*value))
            }
            Step::Evaluate(value) => self.text(*value),
            Step::Await(value) => format!("await {}", self.text(*value)),
            Step::Jump(target) => format!("go to {target}"),
            Step::JumpIf(condition, target) => format!("if {} go to {target}", self.text(*condition)),
            Step::JumpUnless(condition, target) => format!("unless {} go to {target}", self.text(*condition)),
            Step::Walk(walk) => {
                let what = if walk.keys { "the keys of " } else { "" };
                format!("walk {what}{}, go to {}", self.text(walk.items), walk.next)
            }
            Step::Next(next) => {
                format!("{} = the next one, go to {}", self.slot_text(next.variable), next.body)
            }
            Step::Throw(value) => format!("throw {}", self.text(*value)),
            Step::Return(value) => format!("return {}", self.text(*value)),
        }
    }

    /// Returns the text of an expression.
    pub fn expression_text(&self, node: Index) -> String {
        self.text(node)
    }

    /// Describes which steps a handler covers and where it sends their errors.
    pub fn handler_text(&self, handler: &Handler) -> String {
        let name = handler.slot.map(|slot| format!(" as {}", self.slot_text(slot))).unwrap_or_default();
        let last = handler.to.saturating_sub(1);
        format!("errors of steps {} to {last} go to {}{name}", handler.from, handler.target)
    }

    fn slot_text(&self, slot: Index) -> &str {
        self.slots.get(slot as usize).map_or("?", |slot| &slot.name)
    }

    fn texts(&self, nodes: &[Index], between: &str) -> String {
        nodes.iter().map(|node| self.text(*node)).collect::<Vec<_>>().join(between)
    }

    /// Returns the text of an expression. Every node refers only to earlier ones and the depth is bounded, so
    /// the recursion ends.
    fn text(&self, index: Index) -> String {
        let Some(node) = self.nodes.get(index as usize) else { return "?".to_owned() };
        match node {
            Node::Null => "null".to_owned(),
            Node::True => "true".to_owned(),
            Node::False => "false".to_owned(),
            Node::Number(literal) => literal.0.to_string(),
            Node::Text(text) => format!("{text:?}"),
            Node::Local(slot) => self.slot_text(*slot).to_owned(),
            Node::Inputs => "Inputs".to_owned(),
            Node::Context => "Context".to_owned(),
            Node::Awaited => "#awaited".to_owned(),
            Node::List(items) => format!("[{}]", self.texts(items, ", ")),
            Node::Object(fields) if fields.is_empty() => "{}".to_owned(),
            Node::Object(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(key, value)| format!("{key}: {}", self.text(*value))).collect();
                format!("{{ {} }}", fields.join(", "))
            }
            Node::Not(operand) => format!("!{}", self.text(*operand)),
            Node::Negate(operand) => format!("-{}", self.text(*operand)),
            Node::Chain(first, rest) => {
                let rest: String = rest
                    .iter()
                    .map(|(by, operand)| format!(" {} {}", by.sign(), self.text(*operand)))
                    .collect();
                format!("({}{rest})", self.text(*first))
            }
            Node::And(operands) => format!("({})", self.texts(operands, " && ")),
            Node::Or(operands) => format!("({})", self.texts(operands, " || ")),
            Node::Coalesce(operands) => format!("({})", self.texts(operands, " ?? ")),
            Node::If(condition, then, otherwise) => {
                format!("({} ? {} : {})", self.text(*condition), self.text(*then), self.text(*otherwise))
            }
            Node::Path(base, accesses) => {
                let accesses: String = accesses.iter().map(|access| self.access_text(access)).collect();
                format!("{}{accesses}", self.text(*base))
            }
            Node::Call(function, arguments) => {
                let name = self.functions.get(*function as usize).map_or("?", String::as_str);
                format!("{name}({})", self.texts(arguments, ", "))
            }
            Node::Fault(_, message) => format!("#error({message:?})"),
        }
    }

    fn access_text(&self, access: &Access) -> String {
        match access {
            Access::Field(name) => format!(".{name}"),
            Access::MaybeField(name) => format!("?.{name}"),
            Access::At(index) => format!("[{}]", self.text(*index)),
            Access::Method(name, arguments) => format!(".{name}({})", self.texts(arguments, ", ")),
            Access::MaybeMethod(name, arguments) => format!("?.{name}({})", self.texts(arguments, ", ")),
            Access::Call => "(..)".to_owned(),
        }
    }
}
