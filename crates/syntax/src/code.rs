//! Codes of diagnostics. Each language lists its own with [`codes!`](crate::codes).

use crate::Severity;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    pub id: &'static str,
    pub severity: Severity,
    /// What is wrong, in general; a diagnostic may say it more precisely.
    pub title: &'static str,
}

impl Code {
    /// The same where nothing else can happen, whatever the data.
    pub fn sure_to_throw(self) -> Self {
        Self { severity: Severity::SureToThrow, ..self }
    }
}

/// One line a code, so that none can be left out of the table.
#[macro_export]
macro_rules! codes {
    ($($name:ident = $severity:ident $id:literal $title:literal),* $(,)?) => {
        $(pub const $name: $crate::Code = $crate::Code { id: $id, severity: $crate::Severity::$severity, title: $title };)*

        pub const ALL: &[$crate::Code] = &[$($name),*];
    };
}
