//! Codes of diagnostics. Each language lists its own with [`codes!`](crate::codes).

use crate::Severity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub id: &'static str,
    pub severity: Severity,
    /// General description of the mistake; a diagnostic may use a more precise one.
    pub title: &'static str,
}

impl Code {
    /// Returns the code for a place that throws whenever it is reached, whatever the data.
    pub fn sure_to_throw(self) -> Self {
        Self { severity: Severity::SureToThrow, ..self }
    }
}

/// Defines the codes of a language, one a line, and a table that contains all of them.
#[macro_export]
macro_rules! codes {
    ($($name:ident = $severity:ident $id:literal $title:literal),* $(,)?) => {
        $(pub const $name: $crate::Code = $crate::Code { id: $id, severity: $crate::Severity::$severity, title: $title };)*

        pub const ALL: &[$crate::Code] = &[$($name),*];
    };
}
