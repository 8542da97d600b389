//! What does not fit, in words: where in the input, what was expected, what was given.

use std::fmt;

use rhythm_syntax::schema::{self, TOLD};

/// How an input does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// `inputs.items[0].price: expected a number, given "ten"`
    pub problems: Vec<String>,
    /// How many more there are.
    pub untold: usize,
}

impl Misfit {
    pub fn of(misfits: &[schema::Misfit]) -> Self {
        let problem = |misfit: &schema::Misfit| format!("{}: {}", shown_path(&misfit.path), misfit.reason);
        let problems: Vec<String> = misfits.iter().take(TOLD).map(problem).collect();
        Self { untold: misfits.len() - problems.len(), problems }
    }

    pub(super) fn unreadable(error: &serde_json::Error) -> Self {
        Self { problems: vec![format!("inputs: expected JSON, given something else: {error}")], untold: 0 }
    }
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problems.join("; "))?;
        match self.untold {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// A path as programs write it.
fn shown_path(path: &[String]) -> String {
    let mut text = "inputs".to_owned();
    for part in path {
        let plain = |c: char| c.is_alphanumeric() || c == '_';
        if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
            text.push_str(&format!("[{part}]"));
        } else if part.chars().all(plain) && !part.is_empty() {
            text.push_str(&format!(".{part}"));
        } else {
            text.push_str(&format!("[{part:?}]"));
        }
    }
    text
}
