//! Walks over the tree and creates nodes and edges. It carries the loose ends: edges that will lead to the
//! next node.

use rhythm_syntax::Span;
use rhythm_syntax::drawing::{Drawing, Edge, EdgeKind, Node, NodeKind, title};
use rhythm_syntax::line_index::Lines;

use super::call::{Call, bare, each};
use crate::library::{Combinator, Effect};
use crate::tree::{Block, Expression, ExpressionKind, File, Statement, StatementKind, Walk as Word};

pub struct Walk<'t> {
    source: &'t str,
    lines: Lines<'t>,
    drawing: Drawing,
    /// Edges that will lead to the next node.
    ends: Vec<Loose>,
    loops: Vec<Round>,
    /// For each enclosing `try`, the nodes whose failures it catches.
    tries: Vec<Vec<usize>>,
}

/// An edge whose end is not known yet.
#[derive(Clone)]
struct Loose {
    from: usize,
    label: &'static str,
    kind: EdgeKind,
}

/// Use of the handle that a call gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// The program waits for it here; a failure is thrown here.
    Awaited,
    /// A group waits for it.
    Member,
    Kept,
}

/// A loop around the current statement.
struct Round {
    head: usize,
    breaks: Vec<Loose>,
}

impl<'t> Walk<'t> {
    pub fn new(source: &'t str, lines: Lines<'t>) -> Self {
        Self { source, lines, drawing: Drawing::default(), ends: vec![], loops: vec![], tries: vec![] }
    }

    pub fn file(mut self, name: &str, file: &File) -> Drawing {
        let (name, note) = (title(name), String::new());
        self.drawing.nodes.push(Node::new(NodeKind::Start, name, note));
        self.ends.push(Loose { from: 0, label: "", kind: EdgeKind::Next });
        self.block(&file.body);
        if !self.ends.is_empty() {
            let end = Node::new(NodeKind::End, "end".to_owned(), String::new());
            self.arrive(end);
        }
        self.drawing
    }

    fn block(&mut self, block: &Block) {
        for statement in &block.statements {
            // Unreachable statements are not drawn.
            if self.ends.is_empty() {
                return;
            }
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.kind {
            StatementKind::Declare { value: Some(value), .. }
            | StatementKind::Assign { value, .. }
            | StatementKind::Expression(value) => self.value(value),
            StatementKind::Declare { value: None, .. } | StatementKind::Function { .. } => {}
            StatementKind::If { arms, otherwise } => {
                let mut joined = Vec::new();
                for arm in arms {
                    let decision = self.step(NodeKind::Decision, arm.condition.span, arm.condition.span);
                    self.leave(decision, "yes");
                    self.block(&arm.body);
                    joined.append(&mut self.ends);
                    self.leave(decision, "no");
                }
                if let Some(block) = otherwise {
                    self.block(block);
                }
                self.ends.append(&mut joined);
            }
            StatementKind::While { condition, body } => {
                let head =
                    self.node(NodeKind::Loop, format!("while {}", self.text(condition.span)), condition.span);
                self.rounds(head, body);
            }
            StatementKind::For { name, walk, items, body, .. } => {
                let word = if *walk == Word::Of { "of" } else { "in" };
                let text = format!("for {} {word} {}", name.text, self.text(items.span));
                self.value(items);
                let head = self.node(NodeKind::Loop, text, statement.span);
                self.rounds(head, body);
            }
            StatementKind::Try { body, handler, error } => {
                self.guarded(body, handler, error.as_ref().map(|name| name.text.as_str()), statement.span);
            }
            StatementKind::Throw(value) => {
                let thrown =
                    self.node(NodeKind::Throw, format!("throw {}", self.text(value.span)), statement.span);
                self.may_fail(thrown);
                self.ends.clear();
            }
            StatementKind::Break => {
                let ends = std::mem::take(&mut self.ends);
                if let Some(round) = self.loops.last_mut() {
                    round.breaks.extend(ends);
                }
            }
            StatementKind::Continue => self.next_round(),
            StatementKind::Return(value) => {
                if let Some(value) = value {
                    self.value(value);
                }
                let given = value.as_ref().map(bare).filter(|value| !self.waits(value));
                let text = match given {
                    Some(value) => format!("return {}", self.text(value.span)),
                    None => "return".to_owned(),
                };
                self.node(NodeKind::Return, text, statement.span);
                self.ends.clear();
            }
            StatementKind::Block(block) => self.block(block),
        }
    }

    /// Draws a loop: the body leads back to the head, and the program continues from the head.
    fn rounds(&mut self, head: usize, body: &Block) {
        self.leave(head, "each round");
        self.loops.push(Round { head, breaks: Vec::new() });
        self.block(body);
        self.next_round();
        let round = self.loops.pop();
        self.leave(head, "done");
        self.ends.extend(round.into_iter().flat_map(|round| round.breaks));
    }

    fn next_round(&mut self) {
        let ends = std::mem::take(&mut self.ends);
        let Some(head) = self.loops.last().map(|round| round.head) else { return };
        for end in ends {
            // A body without nodes becomes an edge from the head to itself.
            let label = if end.from == head { String::new() } else { end.label.to_owned() };
            self.drawing.edges.push(Edge { from: end.from, to: head, label, kind: EdgeKind::Back });
        }
    }

    fn guarded(&mut self, body: &Block, handler: &Block, error: Option<&str>, span: Span) {
        let before = self.ends.clone();
        self.tries.push(Vec::new());
        self.block(body);
        let mut failing = self.tries.pop().unwrap_or_default();
        let after = std::mem::take(&mut self.ends);
        // Code without waits may fail too: the nodes that lead into the `try` then lead to the handler.
        if failing.is_empty() {
            failing.extend(before.iter().map(|end| end.from));
            failing.dedup();
        }
        for (place, from) in failing.into_iter().enumerate() {
            let label = if place == 0 { "fails" } else { "" };
            self.ends.push(Loose { from, label, kind: EdgeKind::Failure });
        }
        let text = error.map_or("catch".to_owned(), |name| format!("catch {name}"));
        let at = if handler.span.end > handler.span.start { handler.span } else { span };
        self.node(NodeKind::Catch, text, at);
        self.block(handler);
        self.ends.extend(after);
    }

    /// Draws the calls that a statement's value starts or waits for.
    fn value(&mut self, value: &Expression) {
        let value = bare(value);
        if let ExpressionKind::Await(awaited) = &value.kind {
            return self.started(awaited, How::Awaited);
        }
        if let Some(call) = Call::of(value) {
            let how = if call.waits_by_itself() { How::Awaited } else { How::Kept };
            return self.call(&call, value, how);
        }
        self.started_within(value);
    }

    /// Draws an awaited expression, or a handle that is kept.
    fn started(&mut self, expression: &Expression, how: How) {
        let expression = bare(expression);
        match Call::of(expression) {
            Some(call) => self.call(&call, expression, how),
            None if how == How::Awaited => {
                let node = self.step(NodeKind::Wait, expression.span, expression.span);
                self.may_fail(node);
            }
            None => self.started_within(expression),
        }
    }

    /// Draws calls inside a value: handles in lists and objects.
    fn started_within(&mut self, expression: &Expression) {
        let mut found = Vec::new();
        each(expression, &mut |part| {
            let call = Call::of(part);
            let stop = call.is_some();
            found.extend(call.map(|call| (call, part)));
            !stop
        });
        for (call, part) in found {
            self.call(&call, part, How::Kept);
        }
    }

    fn call(&mut self, call: &Call<'_>, at: &Expression, how: How) {
        let first = call.arguments.first();
        let named = first.map(|name| self.name(name)).unwrap_or_default();
        let kept = if how == How::Kept { ", started" } else { "" };
        match call.effect {
            Effect::RunTask => self.work(NodeKind::Task, named, format!("task{kept}"), at, how),
            Effect::RunWorkflow => self.work(NodeKind::Child, named, format!("workflow{kept}"), at, how),
            Effect::MapTask => self.work(NodeKind::Task, named, format!("task for each item{kept}"), at, how),
            Effect::MapWorkflow => {
                self.work(NodeKind::Child, named, format!("workflow for each item{kept}"), at, how);
            }
            Effect::DelaySeconds | Effect::DelayMilliseconds => {
                let unit = if call.effect == Effect::DelaySeconds { "s" } else { "ms" };
                let number = first.is_some_and(|first| matches!(bare(first).kind, ExpressionKind::Number(_)));
                let length = if number { format!("{named} {unit}") } else { named };
                self.work(NodeKind::Timer, length, format!("timer{kept}"), at, how);
            }
            Effect::SignalNext | Effect::SignalWhen => {
                self.work(NodeKind::Signal, named, format!("signal{kept}"), at, how);
            }
            Effect::SignalSend => {
                let name = call.arguments.get(1).map(|name| self.name(name)).unwrap_or_default();
                self.work(NodeKind::Send, name, "send signal".to_owned(), at, How::Kept);
            }
            Effect::Timeout => {
                let from = self.drawing.nodes.len();
                if let Some(first) = first {
                    self.started(first, how);
                }
                let most = call.arguments.get(1).map(|length| self.name(length)).unwrap_or_default();
                if let Some(node) = self.drawing.nodes.get_mut(from..).and_then(<[Node]>::last_mut) {
                    node.note.push_str(&format!(", at most {}", title(&most)));
                }
            }
            Effect::Group(combinator) => self.group(combinator, first, at, how),
            Effect::Log | Effect::Now => {}
        }
    }

    fn work(&mut self, kind: NodeKind, text: String, what: String, at: &Expression, how: How) {
        let line = self.line(at.span);
        // The label is the title; the task itself is the note below it.
        let (text, note) = match Call::of(bare(at)).and_then(|call| call.label()) {
            Some(label) => (label, format!("{what} {}, line {line}", title(&text))),
            None => (text, format!("{what}, line {line}")),
        };
        let node = self.arrive(Node::new(kind, title(&text), note));
        // A timer cannot fail.
        if how == How::Awaited && kind != NodeKind::Timer {
            self.may_fail(node);
        }
    }

    /// Draws a group: its members start in parallel and join.
    fn group(&mut self, combinator: Combinator, members: Option<&Expression>, at: &Expression, how: How) {
        let members = members.map(parts).unwrap_or_default();
        let starts = members.iter().filter(|member| Call::of(bare(member)).is_some()).count();
        // Edges from several nodes to several members would be hard to follow, so insert one node.
        if starts > 1 && (self.ends.len() > 1 || self.ends.iter().any(|end| !end.label.is_empty())) {
            self.node(NodeKind::Split, "start together".to_owned(), at.span);
        }
        let before = std::mem::take(&mut self.ends);
        let mut together = Vec::new();
        let mut kept = Vec::new();
        for member in members {
            let member = bare(member);
            if Call::of(member).is_some() {
                self.ends = before.clone();
                self.started(member, How::Member);
                together.append(&mut self.ends);
            } else {
                kept.push(self.text(member.span).to_owned());
            }
        }
        self.ends = if together.is_empty() { before } else { together };
        let word = match combinator {
            Combinator::All => "all",
            Combinator::Any | Combinator::AnyKv => "any",
            Combinator::Race | Combinator::RaceKv => "race",
            Combinator::AllSettled => "all settled",
        };
        let text = if kept.is_empty() { word.to_owned() } else { format!("{word}: {}", kept.join(", ")) };
        let what = if how == How::Kept { "together, started" } else { "together" };
        self.work(NodeKind::Gather, text, what.to_owned(), at, how);
    }

    /// Adds a node whose text is taken from the source.
    fn step(&mut self, kind: NodeKind, text: Span, at: Span) -> usize {
        self.node(kind, self.text(text).to_owned(), at)
    }

    fn node(&mut self, kind: NodeKind, text: String, at: Span) -> usize {
        let note = format!("line {}", self.line(at));
        self.arrive(Node::new(kind, title(&text), note))
    }

    /// Adds a node that all loose ends lead to; it becomes the only loose end.
    fn arrive(&mut self, node: Node) -> usize {
        let number = self.drawing.nodes.len();
        self.drawing.nodes.push(node);
        for Loose { from, label, kind } in std::mem::take(&mut self.ends) {
            let edge = Edge { from, to: number, label: label.to_owned(), kind };
            if !self.drawing.edges.contains(&edge) {
                self.drawing.edges.push(edge);
            }
        }
        self.leave(number, "");
        number
    }

    fn leave(&mut self, from: usize, label: &'static str) {
        self.ends = vec![Loose { from, label, kind: EdgeKind::Next }];
    }

    fn may_fail(&mut self, node: usize) {
        if let Some(around) = self.tries.last_mut() {
            around.push(node);
        }
    }

    fn waits(&self, value: &Expression) -> bool {
        matches!(value.kind, ExpressionKind::Await(_)) || Call::of(value).is_some()
    }

    /// Returns the text of a constant, otherwise the source of the expression.
    fn name(&self, expression: &Expression) -> String {
        match &bare(expression).kind {
            ExpressionKind::Text(text) => text.clone(),
            _ => self.text(expression.span).to_owned(),
        }
    }

    fn text(&self, span: Span) -> &'t str {
        span.text(self.source)
    }

    fn line(&self, span: Span) -> usize {
        self.lines.position(span.start as usize).line
    }
}

/// Returns the members of a group that are written out, otherwise the expression that gives them.
fn parts(members: &Expression) -> Vec<&Expression> {
    match &bare(members).kind {
        ExpressionKind::List(items) => items.iter().collect(),
        ExpressionKind::Object(properties) => {
            properties.iter().map(|property| property.value.expression()).collect()
        }
        _ => vec![members],
    }
}
