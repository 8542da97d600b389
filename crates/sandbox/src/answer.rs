//! The response of a child, one line of JSON: `{"ok": true}` or `{"error": "bad_program", ...}`, with
//! `"last": true` if the child takes no further requests.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Limit, SandboxError};

pub(crate) struct Answer {
    pub result: Result<Value, SandboxError>,
    pub last: bool,
}

#[derive(Serialize, Deserialize)]
struct Line<T> {
    #[serde(flatten)]
    content: T,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    last: bool,
}

#[derive(Serialize, Deserialize)]
struct Success {
    ok: Value,
}

impl Answer {
    pub fn line(self) -> String {
        let last = self.last;
        let line = match self.result {
            Ok(ok) => serde_json::to_string(&Line { content: Success { ok }, last }),
            Err(error) => serde_json::to_string(&Line { content: error, last }),
        };
        line.unwrap_or_default()
    }

    pub fn read(line: &[u8]) -> Option<Self> {
        if let Ok(Line { content: Success { ok }, last }) = serde_json::from_slice(line) {
            return Some(Self { result: Ok(ok), last });
        }
        let Line { content, last } = serde_json::from_slice(line).ok()?;
        Some(Self { result: Err(content), last })
    }

    /// Whether the child can take another request. After it ran out of memory or time, or crashed, it cannot.
    pub fn reusable(&self) -> bool {
        let used_up = matches!(
            self.result,
            Err(SandboxError::Crashed { .. }
                | SandboxError::LimitExceeded { what: Limit::Memory | Limit::Time })
        );
        !self.last && !used_up
    }
}
