//! Values of a running program. Values are shared and copied on write, so copying them is free and invisible
//! to programs. Every list and object stores its weight and depth, computed as if nothing were shared: limits
//! are exact at no cost, even after `x = [x, x]` forty times.

mod bulk;
mod equality;
mod error;
mod kept;
mod list;
mod number;
mod object;

use std::sync::Arc;

pub use bulk::Bulk;
pub use equality::{equal, fingerprint};
pub use error::ErrorValue;
pub use kept::{Kept, Located, Part, Shape, assemble};
pub use list::List;
pub use number::Number;
pub use object::Object;

use rhythm_core::payload::BlobRef;

#[derive(Clone, Debug)]
pub enum Value {
    Null,
    Boolean(bool),
    Number(Number),
    Text(Arc<str>),
    List(List),
    Object(Object),
    Error(Arc<ErrorValue>),
    /// Command number of something that was started and can be awaited.
    Handle(u64),
    /// A large value stored as a blob. A program sees the value itself; code that reads inside must load it
    /// first.
    Blob(Arc<BlobRef>),
    /// A large list or object, mostly stored in segments.
    Kept(Arc<Kept>),
}

impl Value {
    pub fn text(text: impl AsRef<str>) -> Self {
        Self::Text(Arc::from(text.as_ref()))
    }

    pub fn integer(integer: i64) -> Self {
        Self::Number(Number::Integer(integer))
    }

    /// Returns the name of its type.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Number(_) => "number",
            Self::Text(_) => "string",
            Self::List(_) => "list",
            Self::Object(_) => "object",
            Self::Error(_) => "error",
            Self::Handle(_) => "handle",
            Self::Blob(_) => "value",
            Self::Kept(kept) if kept.is_list() => "list",
            Self::Kept(_) => "object",
        }
    }

    /// Returns its type with an article, for messages. Some also say what to do.
    pub fn described(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Object(_) => "an object",
            Self::Error(_) => "an error",
            Self::Handle(_) => "a handle (`await` it first)",
            Self::Blob(_) => "a value",
            Self::Kept(kept) if kept.is_list() => "a list",
            Self::Kept(_) => "an object",
        }
    }

    /// Returns whether a condition with this value holds, as in JavaScript.
    pub fn is_truthy(&self) -> bool {
        match self {
            Self::Null | Self::Boolean(false) => false,
            Self::Number(number) => !number.is_zero(),
            Self::Text(text) => !text.is_empty(),
            _ => true,
        }
    }

    /// Returns the weight and depth that count against the limits.
    pub fn bulk(&self) -> Bulk {
        match self {
            Self::Null | Self::Boolean(_) | Self::Number(_) => Bulk::SCALAR,
            Self::Text(text) => Bulk::text(text),
            Self::List(list) => list.bulk(),
            Self::Object(object) => object.bulk(),
            Self::Error(error) => error.bulk(),
            Self::Handle(_) => Bulk::HANDLE,
            Self::Blob(_) => Bulk::BLOB,
            Self::Kept(kept) => kept.bulk(),
        }
    }

    pub fn weight(&self) -> u64 {
        self.bulk().weight
    }

    /// Calls `found` with every handle inside the value.
    pub fn each_handle(&self, found: &mut impl FnMut(u64)) {
        if !self.bulk().holds_handles() {
            return;
        }
        match self {
            Self::Handle(handle) => found(*handle),
            Self::List(list) => list.items().iter().for_each(|item| item.each_handle(found)),
            Self::Object(object) => object.iter().for_each(|(_, item)| item.each_handle(found)),
            Self::Error(error) => error.fields.iter().for_each(|(_, item)| item.each_handle(found)),
            Self::Kept(kept) => kept.parts().iter().for_each(|part| {
                if let Part::Inline(value) = part {
                    value.each_handle(found);
                }
            }),
            _ => {}
        }
    }

    /// Calls `found` with every blob inside the value.
    pub fn each_blob(&self, found: &mut impl FnMut(&Arc<BlobRef>)) {
        if !self.bulk().holds_blobs() {
            return;
        }
        match self {
            Self::Blob(blob) => found(blob),
            Self::List(list) => list.items().iter().for_each(|item| item.each_blob(found)),
            Self::Object(object) => object.iter().for_each(|(_, item)| item.each_blob(found)),
            Self::Error(error) => error.fields.iter().for_each(|(_, item)| item.each_blob(found)),
            Self::Kept(kept) => kept.parts().iter().for_each(|part| match part {
                Part::Stored(blob, _) => found(blob),
                Part::Inline(value) => value.each_blob(found),
            }),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
