//! What a task or node asks for, as it is written in JSON.

use std::collections::BTreeMap;

use rhythm_core::Millis;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The input of `http.request`. It is not `Debug`: headers and bodies hold secrets.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    pub url: String,
    /// GET, or POST when there is something to send.
    pub method: Option<String>,
    /// A header that is null is not sent, not even where it would be by itself.
    pub headers: BTreeMap<String, Option<Scalar>>,
    /// Added to the URL's own; a list gives its key several times, null leaves it out.
    pub query: BTreeMap<String, Values>,
    pub body: Option<String>,
    #[serde(deserialize_with = "given")]
    pub json: Option<Value>,
    /// For everything: redirections and the whole body.
    #[serde(with = "rhythm_core::duration::lenient_option")]
    pub timeout: Option<Millis>,
    /// The largest body taken, after decompression.
    pub max_bytes: Option<u64>,
    pub follow_redirects: Option<bool>,
    /// Which statuses are no failure.
    pub expect_status: Option<Expected>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a string, a number or a boolean")]
pub enum Scalar {
    Text(String),
    Number(serde_json::Number),
    Truth(bool),
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a string, a number, a boolean, null, or a list of them")]
pub enum Values {
    One(Option<Scalar>),
    Many(Vec<Scalar>),
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a status such as 404, a class such as \"2xx\", or a list of them")]
pub enum Expected {
    One(Wanted),
    Many(Vec<Wanted>),
}

#[derive(Clone, Deserialize)]
#[serde(try_from = "Value")]
pub enum Wanted {
    Status(u16),
    /// 2 is `2xx`.
    Class(u16),
}

impl TryFrom<Value> for Wanted {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let status = value.as_u64().and_then(|number| u16::try_from(number).ok());
        if let Some(status) = status.filter(|status| (100..=599).contains(status)) {
            return Ok(Self::Status(status));
        }
        match value.as_str().and_then(|text| text.strip_suffix("xx")) {
            Some(class @ ("2" | "3" | "4" | "5")) => Ok(Self::Class(u16::from(class.as_bytes()[0] - b'0'))),
            _ => Err(format!("{value} is no status: write a number such as 404, or a class such as \"2xx\"")),
        }
    }
}

impl Expected {
    pub(crate) fn includes(&self, status: u16) -> bool {
        let fits = |wanted: &Wanted| match wanted {
            Wanted::Status(wanted) => *wanted == status,
            Wanted::Class(class) => *class == status / 100,
        };
        match self {
            Self::One(wanted) => fits(wanted),
            Self::Many(wanted) => wanted.iter().any(fits),
        }
    }
}

impl Scalar {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
        }
    }
}

impl Values {
    pub(crate) fn texts(&self) -> Vec<String> {
        match self {
            Self::One(value) => value.iter().map(Scalar::text).collect(),
            Self::Many(values) => values.iter().map(Scalar::text).collect(),
        }
    }
}

/// `json: null` sends null; that is something else than no body.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
