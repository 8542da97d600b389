//! The JSON input of `http.request`, as a task or node writes it.

use std::collections::BTreeMap;

use rhythm_core::Millis;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The input of `http.request`. It is not `Debug`: headers and bodies hold secrets.
#[derive(Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Input {
    pub url: String,
    /// The default is GET, or POST if there is a body.
    pub method: Option<String>,
    /// A header whose value is null is not sent, even if it would be sent by default.
    pub headers: BTreeMap<String, Option<Scalar>>,
    /// Query parameters, added to those of the URL. A list repeats its key; null leaves the key out.
    pub query: BTreeMap<String, Values>,
    pub body: Option<String>,
    #[serde(deserialize_with = "given")]
    pub json: Option<Value>,
    /// Time limit for the whole request, including redirections and the body. The default is 30 s.
    #[serde(with = "rhythm_core::duration::lenient_option")]
    pub timeout: Option<Millis>,
    /// Largest body accepted, in bytes after decompression. The default is 1 MiB, the limit 8 MiB.
    pub max_bytes: Option<u64>,
    pub follow_redirects: Option<bool>,
    /// Statuses that are not a failure. The default is every status below 400.
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
    /// A class of statuses: 2 means `2xx`.
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

/// Distinguishes `json: null`, which sends `null`, from a missing `json`, which sends no body.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
