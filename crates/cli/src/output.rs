//! Prints answers: tables for people, one JSON document for programs. Stored text loses its control
//! characters before it reaches a terminal.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

use comfy_table::{Table as Grid, presets};
use rhythm_engine::world::Page;
use serde::Serialize;

use crate::args::Format;
use crate::errors::{CliError, CliResult, color_wanted};

#[derive(Clone, Copy, Debug)]
pub struct Output {
    format: Format,
    quiet: bool,
    color: bool,
    /// Whether remarks, which go to standard error, have colours.
    color_remarks: bool,
}

/// A table without borders.
pub struct Table {
    grid: Grid,
    rows: usize,
}

impl Output {
    pub fn new(format: Format, quiet: bool) -> Self {
        let color = color_wanted(std::io::stdout().is_terminal());
        Self { format, quiet, color, color_remarks: color_wanted(std::io::stderr().is_terminal()) }
    }

    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints the answer as a JSON document.
    pub fn json<T: Serialize>(&self, value: &T) -> CliResult {
        let text =
            serde_json::to_string_pretty(value).map_err(|error| CliError::Output(error.to_string()))?;
        self.raw(&format!("{text}\n"))
    }

    /// Prints one line of an answer, without control characters.
    pub fn line(&self, text: impl AsRef<str>) -> CliResult {
        self.raw(&format!("{}\n", clean(text.as_ref())))
    }

    /// Prints text unchanged.
    pub fn raw(&self, text: &str) -> CliResult {
        let mut stdout = std::io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|error| match error.kind() {
            std::io::ErrorKind::BrokenPipe => CliError::BrokenPipe,
            _ => CliError::Output(error.to_string()),
        })
    }

    /// Prints a remark to standard error, unless `--quiet` is set.
    pub fn note(&self, text: impl AsRef<str>) {
        if !self.quiet {
            let _ = std::io::stderr().write_all(format!("{}\n", clean(text.as_ref())).as_bytes());
        }
    }

    /// Prints one event of a followed run: the event and its subject.
    pub fn progress(&self, what: &str, to: &str) {
        if !self.quiet {
            let what = format!("{:<10}", clean(what));
            let what = if self.color_remarks { painted(&what) } else { what };
            let line = format!("  {} {}", what, clean(to));
            let _ = std::io::stderr().write_all(format!("{}\n", line.trim_end()).as_bytes());
        }
    }

    /// Prints several lines about a problem, before the error that sums it up.
    pub fn complain(&self, text: &str) {
        let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
    }

    /// Reports what was done: a line for people, a JSON document for programs.
    pub fn done<T: Serialize>(&self, text: impl AsRef<str>, value: &T) -> CliResult {
        match self.is_json() {
            true => self.json(value),
            false if self.quiet => Ok(()),
            false => self.line(text),
        }
    }

    pub fn bold(&self, text: &str) -> String {
        match self.color {
            true => format!("\x1b[1m{}\x1b[0m", clean(text)),
            false => clean(text),
        }
    }

    /// Colours a line of a unified diff: additions green, removals red.
    pub fn changed(&self, line: &str) -> String {
        let colour = match line.as_bytes().first() {
            Some(b'+') => "32",
            Some(b'-') => "31",
            Some(b'@') => "36",
            _ => return line.to_owned(),
        };
        match self.color {
            true => format!("\x1b[{colour}m{line}\x1b[0m"),
            false => line.to_owned(),
        }
    }

    /// Prints a styled line. The caller has removed control characters.
    pub fn styled(&self, text: &str) -> CliResult {
        self.raw(&format!("{text}\n"))
    }

    /// Prints a page of a listing. `row` returns the cells of a row.
    pub fn page<T: Serialize>(
        &self,
        page: &Page<T>,
        words: Words<'_>,
        row: impl Fn(&T) -> Vec<String>,
    ) -> CliResult {
        if self.is_json() {
            return self.json(page);
        }
        if page.rows.is_empty() {
            return self.line(words.none);
        }
        let mut table = Table::new(words.columns);
        for item in &page.rows {
            table.row(row(item));
        }
        self.raw(&table.shown(self.color))?;
        if let Some(next) = &page.next {
            self.note(format!("there are more: --cursor {next}"));
        }
        Ok(())
    }

    /// Prints a listing that always fits on one page.
    pub fn list<T: Serialize>(
        &self,
        rows: Vec<T>,
        words: Words<'_>,
        row: impl Fn(&T) -> Vec<String>,
    ) -> CliResult {
        self.page(&Page { rows, next: None }, words, row)
    }

    /// Prints one object: names on the left, values on the right. Empty values are left out.
    pub fn details(&self, fields: &[(&str, String)]) -> CliResult {
        let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        for (name, value) in fields.iter().filter(|(_, value)| !value.is_empty()) {
            let value = clean(value);
            let value = if self.color && STATES.contains(name) { painted(&value) } else { value };
            self.raw(&format!("{name:width$}  {value}\n"))?;
        }
        Ok(())
    }

    /// Prints a table under a heading, or nothing if it has no rows.
    pub fn section(&self, title: &str, table: &Table) -> CliResult {
        if table.rows == 0 {
            return Ok(());
        }
        self.styled(&format!("\n{}", self.bold(title)))?;
        self.raw(&table.shown(self.color))
    }
}

/// The words of a listing.
pub struct Words<'a> {
    pub columns: &'a [&'a str],
    /// Text of an empty listing.
    pub none: &'a str,
}

impl Table {
    pub fn new(columns: &[&str]) -> Self {
        let mut grid = Grid::new();
        grid.load_style(presets::NOTHING);
        grid.set_header(columns);
        let mut table = Self { grid, rows: 0 };
        table.pad();
        table
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.grid.add_row(cells.iter().map(|cell| clean(cell)));
        self.rows += 1;
    }

    fn pad(&mut self) {
        for column in self.grid.column_iter_mut() {
            column.set_padding((0, 2));
        }
    }

    /// Returns the table, with coloured states if the terminal has colours.
    fn shown(&self, color: bool) -> String {
        let plain = self.render();
        if !color {
            return plain;
        }
        let mut lines = plain.lines();
        let header = lines.next().unwrap_or_default();
        let Some(column) = state_column(header) else { return plain };
        let painted = lines.map(|line| match line.char_indices().nth(column) {
            Some((start, _)) => format!("{}{}\n", &line[..start], painted(&line[start..])),
            None => format!("{line}\n"),
        });
        std::iter::once(format!("{header}\n")).chain(painted).collect()
    }

    pub fn render(&self) -> String {
        let lines = self.grid.lines().map(|line| line.trim_end().to_owned() + "\n");
        lines.collect()
    }
}

/// Names of the columns and fields that hold a state.
const STATES: [&str; 4] = ["STATUS", "STATE", "status", "state"];

/// Returns the position, in characters, of the column that holds the state.
fn state_column(header: &str) -> Option<usize> {
    let names = header.split("  ").map(str::trim).filter(|name| !name.is_empty());
    let name = names.into_iter().find(|name| STATES.contains(name))?;
    Some(header.get(..header.find(name)?)?.chars().count())
}

/// Colours the first word by its meaning: success, failure, in progress, over.
fn painted(text: &str) -> String {
    let end = text.find(|letter: char| !letter.is_alphabetic()).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    let colour = match word {
        "completed" | "done" | "live" | "approved" | "decided" | "ok" => "32",
        "failed" | "dead" | "refused" | "blocked" | "poison" => "31",
        "waiting" | "sleeping" | "trying" | "attempt" | "held" | "paused" | "asking" => "33",
        "running" | "started" | "ready" | "received" | "woke" => "36",
        "cancelled" | "cancelling" | "pending" | "ended" | "gone" => "2",
        _ => return text.to_owned(),
    };
    format!("\x1b[{colour}m{word}\x1b[0m{rest}")
}

/// Removes characters that could move a cursor or hide text.
pub fn clean(text: &str) -> String {
    let harmless =
        |c: char| !c.is_control() && !matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.chars().all(harmless) {
        return text.to_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => cleaned.push(' '),
            c if harmless(c) => cleaned.push(c),
            c => cleaned.extend(c.escape_default()),
        }
    }
    cleaned
}

/// Formats a number with its noun: `1 task`, `2 tasks`.
pub fn count(number: impl Into<u64>, one: &str) -> String {
    match number.into() {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    }
}

/// Labels as people read them: `city=berlin team=blue`.
pub fn shown_labels(labels: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    pairs.join(" ")
}

/// Shortens a text to at most `most` characters.
pub fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_columns_apart_and_nothing_else() {
        let mut table = Table::new(&["NAME", "STATE"]);
        table.row(vec!["a".into(), "ready".into()]);
        table.row(vec!["longer name".into(), String::new()]);
        assert_eq!(table.render(), "NAME         STATE\na            ready\nlonger name\n");
    }

    #[test]
    fn the_column_that_says_how_a_row_stands_has_colours_where_they_are_wanted() {
        let mut table = Table::new(&["RUN", "STATUS", "TAGS"]);
        table.row(vec!["größer".into(), "failed (compensated)".into(), "failed".into()]);
        table.row(vec!["b".into(), "odd".into(), String::new()]);
        assert_eq!(table.shown(false), table.render());
        let shown = table.shown(true);
        let expected = "größer  \x1b[31mfailed\x1b[0m (compensated)  failed\n";
        assert!(shown.contains(expected) && shown.ends_with("b       odd\n"), "{shown:?}");
        assert_eq!(shown.matches('\x1b').count(), 2, "{shown:?}");
    }

    #[test]
    fn stored_text_cannot_move_the_cursor() {
        assert_eq!(clean("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb c");
        assert_eq!(clean("\u{202e}evil"), "\\u{202e}evil");
        assert_eq!(clean("größe"), "größe");
    }

    #[test]
    fn long_text_is_cut_by_characters() {
        assert_eq!(short("größe", 5), "größe");
        assert_eq!(short("größer", 5), "größ…");
    }
}
