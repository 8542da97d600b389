//! A text with possible line breaks, and the printer that chooses among them. A group stays on one line when
//! it fits. A group that contains a forced break is broken itself, so that formatting the result again gives
//! the same text.

use std::rc::Rc;

/// The longest line, in characters.
const WIDTH: usize = 100;
const INDENT: usize = 2;

#[derive(Clone, Debug)]
pub(super) enum Doc {
    Text(String),
    /// Text kept unchanged, including its line breaks.
    Verbatim(String),
    /// A comment; it does not count when checking whether a line fits.
    Comment(String),
    /// A line break in a broken group, else the text `flat`. `blank` allows one blank line after the break.
    Line {
        flat: &'static str,
        blank: bool,
    },
    /// Always a line break.
    Break {
        blank: bool,
    },
    Concat(Vec<Doc>),
    Indent(Box<Doc>),
    Group {
        content: Box<Doc>,
        forced: bool,
    },
    /// Text printed only in a broken group.
    IfBroken(&'static str),
    /// Arguments of which the last may open on the line of the call.
    Hug(Box<Hug>),
    /// A document that appears in both layouts of a [`Hug`].
    Shared(Rc<Doc>),
}

#[derive(Clone, Debug)]
pub(super) struct Hug {
    /// All arguments but the last, each followed by a comma and a space.
    pub(super) first: Vec<Doc>,
    pub(super) last: Rc<Doc>,
    /// All arguments, one a line.
    pub(super) broken: Doc,
}

impl Doc {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn verbatim(text: &str) -> Self {
        Self::Verbatim(text.replace("\r\n", "\n"))
    }

    pub(super) fn comment(text: &str) -> Self {
        Self::Comment(text.replace("\r\n", "\n"))
    }

    pub(super) const BREAK: Self = Self::Break { blank: false };
    pub(super) const SPACE_OR_LINE: Self = Self::Line { flat: " ", blank: false };
    pub(super) const NOTHING_OR_LINE: Self = Self::Line { flat: "", blank: false };

    pub(super) fn indent(self) -> Self {
        Self::Indent(Box::new(self))
    }

    /// Groups it: one line if it fits.
    pub(super) fn group(self) -> Self {
        let forced = self.must_break();
        Self::Group { content: Box::new(self), forced }
    }

    /// Groups it and always breaks it.
    pub(super) fn broken(self) -> Self {
        Self::Group { content: Box::new(self), forced: true }
    }

    /// Returns whether it can never be on one line.
    pub(super) fn must_break(&self) -> bool {
        match self {
            Self::Text(_) | Self::Line { .. } | Self::IfBroken(_) => false,
            Self::Verbatim(text) | Self::Comment(text) => text.contains('\n'),
            Self::Break { .. } => true,
            Self::Concat(parts) => parts.iter().any(Self::must_break),
            Self::Indent(content) => content.must_break(),
            Self::Shared(content) => content.must_break(),
            Self::Group { forced, .. } => *forced,
            Self::Hug(hug) => hug.must_break(),
        }
    }
}

impl Hug {
    fn must_break(&self) -> bool {
        self.last.must_break() || self.first.iter().any(Doc::must_break)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Flat,
    Broken,
}

#[derive(Clone, Copy)]
struct Item<'a> {
    indent: usize,
    mode: Mode,
    doc: &'a Doc,
}

/// Prints the document, with a line break at its end.
pub(super) fn print(doc: &Doc) -> String {
    let mut printer = Printer { text: String::new(), column: 0 };
    let mut stack = vec![Item { indent: 0, mode: Mode::Broken, doc }];
    while let Some(item) = stack.pop() {
        printer.step(item, &mut stack);
    }
    let written = printer.text.trim_end().len();
    printer.text.truncate(written);
    printer.text.push('\n');
    printer.text
}

struct Printer {
    text: String,
    column: usize,
}

const OPEN: &Doc = &Doc::Line { flat: "(", blank: false };
const CLOSE: &Doc = &Doc::Line { flat: ")", blank: false };

impl Printer {
    fn step<'a>(&mut self, item: Item<'a>, stack: &mut Vec<Item<'a>>) {
        let Item { indent, mode, doc } = item;
        match doc {
            Doc::Text(text) | Doc::Verbatim(text) | Doc::Comment(text) => self.write(text),
            Doc::Line { flat, .. } if mode == Mode::Flat => self.write(flat),
            Doc::Line { blank, .. } | Doc::Break { blank } => self.new_line(indent, *blank),
            Doc::Concat(parts) => stack.extend(parts.iter().rev().map(|doc| Item { indent, mode, doc })),
            Doc::Indent(content) => stack.push(Item { indent: indent + INDENT, mode, doc: content }),
            Doc::Shared(content) => stack.push(Item { indent, mode, doc: content }),
            Doc::Group { content, forced } => {
                let flat = Item { indent, mode: Mode::Flat, doc: content };
                let fits = !forced && (mode == Mode::Flat || self.fits(flat, stack));
                stack.push(Item { mode: if fits { Mode::Flat } else { Mode::Broken }, ..flat });
            }
            Doc::IfBroken(text) => {
                if mode == Mode::Broken {
                    self.write(text);
                }
            }
            Doc::Hug(hug) => self.hug(hug, item, stack),
        }
    }

    /// Prints arguments on one line if they fit; else opens the last one on this line if the rest fits; else
    /// one a line.
    fn hug<'a>(&mut self, hug: &'a Hug, item: Item<'a>, stack: &mut Vec<Item<'a>>) {
        let Item { indent, mode, .. } = item;
        let flat = !hug.must_break() && (mode == Mode::Flat || self.fits(item, stack));
        let before_fits = || {
            let first: usize = hug.first.iter().map(flat_width).sum();
            !hug.first.iter().any(Doc::must_break)
                && self.column + 1 + first + first_width(&hug.last) <= WIDTH
        };
        if !flat && !before_fits() {
            stack.push(Item { indent, mode: Mode::Broken, doc: &hug.broken });
            return;
        }
        let flat_item = |doc| Item { indent, mode: Mode::Flat, doc };
        stack.push(flat_item(CLOSE));
        stack.push(match &*hug.last {
            _ if flat => flat_item(&hug.last),
            Doc::Group { content, .. } => Item { indent, mode: Mode::Broken, doc: content },
            last => Item { indent, mode: Mode::Broken, doc: last },
        });
        stack.extend(hug.first.iter().rev().map(flat_item));
        stack.push(flat_item(OPEN));
    }

    fn write(&mut self, text: &str) {
        self.text.push_str(text);
        self.column = match text.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => self.column + text.chars().count(),
        };
    }

    fn new_line(&mut self, indent: usize, blank: bool) {
        let written = self.text.trim_end_matches(' ').len();
        self.text.truncate(written);
        self.text.push_str(if blank { "\n\n" } else { "\n" });
        self.text.push_str(&" ".repeat(indent));
        self.column = indent;
    }

    /// Returns whether an item, and the text that must follow it on its line, stay within the width. Later
    /// groups are assumed to break where they can, so the answer stays the same once one of them was broken.
    fn fits(&self, item: Item<'_>, rest: &[Item<'_>]) -> bool {
        let mut left = WIDTH.saturating_sub(self.column);
        let mut rest = rest.iter().rev();
        let mut stack = vec![Item { mode: Mode::Flat, ..item }];
        loop {
            let Some(Item { indent, mode, doc }) = stack.pop().or_else(|| rest.next().copied()) else {
                return true;
            };
            let width = match doc {
                Doc::Text(text) => text.chars().count(),
                Doc::Verbatim(text) => match text.split_once('\n') {
                    Some((first, _)) => return first.chars().count() <= left,
                    None => text.chars().count(),
                },
                Doc::Comment(_) => 0,
                Doc::Line { flat, .. } if mode == Mode::Flat => flat.len(),
                Doc::Line { .. } | Doc::Break { .. } => return true,
                Doc::IfBroken(text) if mode == Mode::Broken => text.len(),
                Doc::IfBroken(_) => 0,
                Doc::Concat(parts) => {
                    stack.extend(parts.iter().rev().map(|doc| Item { indent, mode, doc }));
                    0
                }
                Doc::Indent(doc) => {
                    stack.push(Item { indent, mode, doc });
                    0
                }
                Doc::Shared(doc) => {
                    stack.push(Item { indent, mode, doc });
                    0
                }
                Doc::Group { content, forced } => {
                    let mode = if *forced { Mode::Broken } else { mode };
                    stack.push(Item { indent, mode, doc: content });
                    0
                }
                Doc::Hug(_) if mode == Mode::Broken => return left > 0,
                Doc::Hug(hug) => {
                    stack.push(Item { indent, mode: Mode::Flat, doc: CLOSE });
                    stack.push(Item { indent, mode: Mode::Flat, doc: &hug.last });
                    stack.extend(hug.first.iter().rev().map(|doc| Item { indent, mode: Mode::Flat, doc }));
                    1
                }
            };
            if width > left {
                return false;
            }
            left -= width;
        }
    }
}

/// Returns the width on one line.
fn flat_width(doc: &Doc) -> usize {
    match doc {
        Doc::Text(text) | Doc::Verbatim(text) | Doc::Comment(text) => text.chars().count(),
        Doc::Line { flat, .. } => flat.len(),
        Doc::Break { .. } | Doc::IfBroken(_) => 0,
        Doc::Concat(parts) => parts.iter().map(flat_width).sum(),
        Doc::Indent(content) | Doc::Group { content, .. } => flat_width(content),
        Doc::Shared(content) => flat_width(content),
        Doc::Hug(hug) => 2 + hug.first.iter().map(flat_width).sum::<usize>() + flat_width(&hug.last),
    }
}

/// Returns the width of its first line when broken. For an object or a list this is the bracket.
fn first_width(doc: &Doc) -> usize {
    match doc {
        Doc::Group { .. } => 1,
        Doc::Verbatim(text) => text.lines().next().unwrap_or_default().chars().count(),
        _ => flat_width(doc),
    }
}
