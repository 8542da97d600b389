//! Writes diagnostics for people and for programs. Owns their order and layout; the texts belong to the
//! diagnostics. The crate annotate-snippets draws the source lines, and only this file uses it.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use serde::Serialize;

use crate::Span;
use crate::diagnostic::{Diagnostic, Severity};
use crate::line_index::{Lines, Position};

/// Address of the pages about codes; terminals that support links open them there.
pub const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/errors");

/// Longest line, in bytes; a longer one is cut around the underlined part.
const SHOWN_BYTES: usize = 400;
/// Largest number of lines; a span of more lines is underlined only at its beginning.
const SHOWN_LINES: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Plain,
    /// With ANSI colours.
    Coloured,
}

/// Renders all diagnostics of one file, in source order, each with its source line.
pub fn render(file: &str, source: &str, diagnostics: &[Diagnostic], style: Style) -> String {
    let lines = Lines::of(source);
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let mut text = String::new();
    for diagnostic in in_order(diagnostics) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&renderer.render(&[draw(file, source, &lines, diagnostic, style)]));
        text.push('\n');
    }
    text
}

fn in_order(diagnostics: &[Diagnostic]) -> Vec<&Diagnostic> {
    let mut ordered: Vec<_> = diagnostics.iter().collect();
    ordered.sort_by_key(|diagnostic| (diagnostic.span, diagnostic.severity));
    ordered
}

fn draw<'a>(
    file: &'a str,
    source: &'a str,
    lines: &Lines<'_>,
    diagnostic: &'a Diagnostic,
    style: Style,
) -> Group<'a> {
    let level = match diagnostic.severity {
        Severity::Error | Severity::SureToThrow => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Hint => Level::INFO.with_name("hint"),
    };
    let Position { line, column } = lines.position(diagnostic.span.range().start);
    let window = Window::of(source, lines, diagnostic.span);
    let label = (!diagnostic.label.is_empty()).then_some(diagnostic.label.as_str());
    let mark = AnnotationKind::Primary.span(window.mark).label(label);
    let snippet = Snippet::source(window.text).line_start(line).annotation(mark);
    let mut title = level.primary_title(diagnostic.title.as_str()).id(diagnostic.code);
    if style == Style::Coloured {
        title = title.id_url(format!("{PAGES}/{}.md", diagnostic.code));
    }
    let group = Group::with_title(title);
    // annotate-snippets would compute the column from the cut line.
    let mut group = match window.cut {
        true => group.element(Origin::path(file).line(line).char_column(column)).element(snippet),
        false => group.element(snippet.path(file)),
    };
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

/// The part of the source that is shown, and its underlined range.
struct Window<'a> {
    text: &'a str,
    mark: std::ops::Range<usize>,
    /// Whether the beginning of the first line is missing.
    cut: bool,
}

impl<'a> Window<'a> {
    fn of(source: &'a str, lines: &Lines<'_>, span: Span) -> Self {
        let start = lines.floor(span.range().start);
        let mut end = lines.floor(span.range().end).max(start);
        if lines.line(end) - lines.line(start) > SHOWN_LINES {
            end = lines.around(Span::new(start, start)).end.max(start);
        }
        let mut shown = lines.around(Span::new(start, end));
        let whole = shown.start;
        if shown.len() > SHOWN_BYTES * SHOWN_LINES {
            end = lines.floor(end.min(start + SHOWN_BYTES));
            shown = lines.around(Span::new(start, end));
            shown.start = lines.floor(shown.start.max(start.saturating_sub(SHOWN_BYTES)));
            shown.end = lines.floor(shown.end.min(end + SHOWN_BYTES));
        }
        let text = source.get(shown.clone()).unwrap_or_default();
        let within = |offset: usize| (offset - shown.start).min(text.len());
        Self { text, mark: within(start)..within(end), cut: shown.start > whole }
    }
}

/// A diagnostic with positions, for programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Located {
    pub code: &'static str,
    pub severity: &'static str,
    pub title: String,
    pub label: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    pub start: Position,
    /// Position after the last character.
    pub end: Position,
}

/// Returns all diagnostics of one file, in source order, with lines and columns.
pub fn locate(source: &str, diagnostics: &[Diagnostic]) -> Vec<Located> {
    let lines = Lines::of(source);
    let located = |diagnostic: &Diagnostic| Located {
        code: diagnostic.code,
        severity: diagnostic.severity.word(),
        title: diagnostic.title.clone(),
        label: diagnostic.label.clone(),
        help: diagnostic.help.clone(),
        start: lines.position(diagnostic.span.range().start),
        end: lines.position(diagnostic.span.range().end),
    };
    in_order(diagnostics).into_iter().map(located).collect()
}
