//! A workflow as a drawing: its waits, branches, loops and ends, written as Mermaid, DOT or SVG. The same
//! drawing always gives the same text. The crates of the languages create the drawings.

mod dot;
pub mod layout;
pub mod legible;
mod mermaid;
mod svg;

use serde::{Deserialize, Serialize};

pub use dot::to_dot;
pub use mermaid::to_mermaid;
pub use svg::{TooLarge, to_svg};

/// Longest text in a node, in characters.
pub const TITLE_LIMIT: usize = 44;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Edges lead from earlier nodes to later ones, except edges of a loop that lead back.
    pub nodes: Vec<Node>,
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    pub kind: NodeKind,
    /// Name of the task, signal, question or value: never empty, on one line.
    pub title: String,
    /// Kind of the node and its place in the source.
    pub note: String,
    /// State in the run, if a run is shown.
    pub state: Option<State>,
}

impl Node {
    pub fn new(kind: NodeKind, title: String, note: String) -> Self {
        Self { kind, title, note, state: None }
    }
}

/// Progress of a run at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Done,
    /// Out of attempts. A person must look at it, so it takes precedence over running nodes.
    Held,
    Running,
    Waiting,
    Failed,
    Skipped,
}

impl State {
    pub const ALL: [State; 6] =
        [State::Done, State::Held, State::Running, State::Waiting, State::Failed, State::Skipped];

    pub fn name(self) -> &'static str {
        match self {
            State::Done => "done",
            State::Held => "held",
            State::Running => "running",
            State::Waiting => "waiting",
            State::Failed => "failed",
            State::Skipped => "skipped",
        }
    }

    /// Returns the fill and border colour of a node in this state.
    fn colours(self) -> (&'static str, &'static str) {
        match self {
            State::Done => ("#dcfce7", "#15803d"),
            State::Held => ("#ffedd5", "#c2410c"),
            State::Running => ("#dbeafe", "#1d4ed8"),
            State::Waiting => ("#fef9c3", "#a16207"),
            State::Failed => ("#fee2e2", "#b91c1c"),
            State::Skipped => ("#f3f4f6", "#9ca3af"),
        }
    }
}

impl Drawing {
    /// Returns the states that occur, so that formats define colours only for these.
    fn states(&self) -> impl Iterator<Item = State> + '_ {
        let is_in = |state: &State| self.nodes.iter().any(|node| node.state == Some(*state));
        State::ALL.into_iter().filter(is_in)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    Start,
    Task,
    Child,
    /// A question to a person.
    Approval,
    Timer,
    Signal,
    /// A wait for something started before.
    Wait,
    /// Several things are started together.
    Split,
    /// A wait for all things started by a split.
    Gather,
    /// A signal to another run.
    Send,
    Decision,
    Loop,
    Catch,
    Throw,
    Return,
    End,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub label: String,
    pub kind: EdgeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeKind {
    Next,
    /// Leads back to the next iteration of a loop.
    Back,
    /// Leads to the handler of a failure.
    Failure,
}

/// Converts a text to a title: on one line, shortened, without control characters.
pub fn title(text: &str) -> String {
    let mut shown = String::new();
    for (place, word) in text.split_whitespace().enumerate() {
        if place > 0 {
            shown.push(' ');
        }
        shown.extend(word.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }));
    }
    if shown.is_empty() {
        return "\u{2013}".to_owned();
    }
    match shown.char_indices().nth(TITLE_LIMIT) {
        Some((end, _)) => format!("{}\u{2026}", shown[..end].trim_end()),
        None => shown,
    }
}
