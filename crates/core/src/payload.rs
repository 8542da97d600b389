//! Values that users, runs and tasks exchange. A value stays raw JSON text until a program looks inside. A
//! large value is a reference to a content-addressed blob.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use sha2::{Digest, Sha256};

use crate::id::hex;

/// Inline values above this size become blobs.
pub const INLINE_MAX_BYTES: usize = 64 * 1024;

/// A reference to immutable content: `sha256:<hex>` and its size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BlobRef {
    #[serde(rename = "$blob")]
    pub hash: String,
    pub bytes: u64,
}

impl BlobRef {
    /// Size of a blob known only by its hash. An empty content is never stored as a blob.
    pub const UNKNOWN_SIZE: u64 = 0;

    /// Returns the reference to this content: its hash and its size.
    pub fn of(content: &[u8]) -> Self {
        Self { hash: format!("sha256:{}", hex(&Sha256::digest(content))), bytes: content.len() as u64 }
    }
}

/// Contents of blobs that a step asked for, by hash.
pub type Blobs = BTreeMap<String, Arc<[u8]>>;

/// Contents moved out of inline values. Store them before anything that holds their references.
pub type Contents = Vec<(BlobRef, Arc<[u8]>)>;

/// A JSON value, inline or by reference.
///
/// In JSON a reference is `{"$blob": hash, "bytes": n}`. An inline object whose first key starts with `$` is
/// wrapped as `{"$json": value}`, so a task's output cannot pose as a reference.
#[derive(Clone)]
pub enum Payload {
    Inline(Arc<RawValue>),
    Blob(BlobRef),
}

impl Payload {
    /// Returns an inline JSON null.
    pub fn null() -> Self {
        Self::Inline(Arc::from(RawValue::NULL.to_owned()))
    }

    /// Serialises a value. Fails only for values that JSON cannot hold, such as maps with keys that are not
    /// strings.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        Ok(Self::Inline(Arc::from(to_raw_value(value)?)))
    }

    /// Checks that the text is one JSON value and keeps it unchanged. Fails for any other text.
    pub fn parse(text: String) -> Result<Self, serde_json::Error> {
        Ok(Self::Inline(Arc::from(RawValue::from_string(text)?)))
    }

    /// Returns the inline text, or `None` when the content is in a blob.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Inline(raw) => Some(raw.get()),
            Self::Blob(_) => None,
        }
    }

    /// Returns the content, taken from `blobs` when it is a reference. Fails with the reference when `blobs`
    /// lacks it.
    pub fn resolve<'a>(&'a self, blobs: &'a Blobs) -> Result<&'a [u8], &'a BlobRef> {
        match self {
            Self::Inline(raw) => Ok(raw.get().as_bytes()),
            Self::Blob(reference) => blobs.get(&reference.hash).map(|bytes| &bytes[..]).ok_or(reference),
        }
    }

    /// Returns the size of the content in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Self::Inline(raw) => raw.get().len() as u64,
            Self::Blob(reference) => reference.bytes,
        }
    }

    /// Returns the form that worlds store in one text column, the same as [`Serialize`] writes.
    pub fn to_stored(&self) -> String {
        match self {
            Self::Inline(raw) if !poses_as_tagged(raw.get()) => raw.get().to_owned(),
            other => serde_json::to_string(other).expect("payloads always serialise"),
        }
    }

    /// Reads the form of [`Self::to_stored`]. Fails when the text is not JSON or its `$` object is neither a
    /// reference nor wrapped.
    pub fn from_stored(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }
}

/// Returns whether the text is an object whose first key starts with `$`.
fn poses_as_tagged(text: &str) -> bool {
    text.trim_start().strip_prefix('{').is_some_and(|rest| {
        let rest = rest.trim_start();
        // An escaped first character could spell `$` too, so a key that begins with any escape is wrapped as
        // well.
        rest.starts_with("\"$") || rest.starts_with("\"\\")
    })
}

impl Serialize for Payload {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wrapped<'a> {
            #[serde(rename = "$json")]
            json: &'a RawValue,
        }
        match self {
            Self::Inline(raw) if poses_as_tagged(raw.get()) => Wrapped { json: raw }.serialize(serializer),
            Self::Inline(raw) => raw.serialize(serializer),
            Self::Blob(reference) => reference.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Payload {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wrapped {
            #[serde(rename = "$json")]
            json: Box<RawValue>,
        }
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if !poses_as_tagged(raw.get()) {
            return Ok(Self::Inline(Arc::from(raw)));
        }
        if let Ok(reference) = serde_json::from_str::<BlobRef>(raw.get()) {
            return Ok(Self::Blob(reference));
        }
        let wrapped: Wrapped = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
        Ok(Self::Inline(Arc::from(wrapped.json)))
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Inline(a), Self::Inline(b)) => a.get() == b.get(),
            (Self::Blob(a), Self::Blob(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Payload {}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(raw) => f.write_str(raw.get()),
            Self::Blob(reference) => write!(f, "{}({} bytes)", reference.hash, reference.bytes),
        }
    }
}

impl Default for Payload {
    fn default() -> Self {
        Self::null()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reload(payload: &Payload) -> Payload {
        Payload::from_stored(&payload.to_stored()).unwrap()
    }

    #[test]
    fn raw_text_survives_unchanged() {
        for text in ["null", "1.50", "[1, 2]", "{\"a\": {\"$blob\": 1}}", "\"$blob\"", "1e400"] {
            let payload = Payload::parse(text.to_owned()).unwrap();
            assert_eq!(payload.to_stored(), text);
            assert_eq!(reload(&payload), payload);
        }
    }

    #[test]
    fn what_a_task_returns_cannot_pose_as_a_blob() {
        for text in [
            r#"{"$blob":"sha256:00","bytes":3}"#,
            r#" { "$json" : 1 }"#,
            r#"{"\u0024blob":"sha256:00","bytes":3}"#,
            r#"{"$":{}}"#,
        ] {
            let payload = Payload::parse(text.to_owned()).unwrap();
            assert_eq!(reload(&payload), payload, "{text}");
        }
        let blob = Payload::Blob(BlobRef::of(b"content"));
        assert_eq!(reload(&blob), blob);
    }

    #[test]
    fn text_that_is_not_json_is_refused() {
        for text in ["", "{", "nul", "1 2", "{\"a\":}"] {
            assert!(Payload::parse(text.to_owned()).is_err(), "{text}");
        }
    }
}
