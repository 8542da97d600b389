//! Large lists and objects, cut into segments. A segment is a blob that is written once and never contains a
//! reference; the list of segments stays in the snapshot. Items added since the last segment, and items that
//! contain handles or references, are kept inline.

use std::sync::Arc;

use rhythm_core::payload::BlobRef;

use super::{Bulk, List, Object, Value};
use crate::limits::Limit;

/// A segmented list or object. To a program it is the whole value; code that needs more than the inline parts
/// must load the rest first.
#[derive(Clone, Debug)]
pub struct Kept {
    shape: Shape,
    parts: Vec<Part>,
    len: usize,
    bulk: Bulk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    List,
    Object,
}

#[derive(Clone, Debug)]
pub enum Part {
    /// A segment, and its number of items or fields.
    Stored(Arc<BlobRef>, usize),
    /// A list of items, or an object with some of the fields.
    Inline(Value),
}

/// Location of an item of a list.
#[derive(Clone, Debug)]
pub enum Located {
    Here(Value),
    /// In this segment, at this index.
    Stored(Arc<BlobRef>, usize),
}

impl Kept {
    pub fn new(shape: Shape, parts: Vec<Part>) -> Result<Self, Limit> {
        let bulk = parts.iter().try_fold(Bulk::EMPTY, |bulk, part| bulk.beside(part.bulk()))?;
        let len = parts.iter().map(Part::count).sum();
        Ok(Self { shape, parts, len, bulk })
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Returns the number of items or fields.
    pub fn count(&self) -> usize {
        self.len
    }

    pub fn bulk(&self) -> Bulk {
        self.bulk
    }

    pub fn is_list(&self) -> bool {
        self.shape == Shape::List
    }

    /// Returns the location of the item at this index of a list.
    pub fn item(&self, mut place: usize) -> Option<Located> {
        for part in &self.parts {
            let len = part.count();
            if place >= len {
                place -= len;
                continue;
            }
            return match part {
                Part::Stored(blob, _) => Some(Located::Stored(blob.clone(), place)),
                Part::Inline(Value::List(list)) => list.items().get(place).cloned().map(Located::Here),
                Part::Inline(_) => None,
            };
        }
        None
    }

    /// Returns a field of an object if it is inline.
    pub fn field_at_hand(&self, name: &str) -> Option<&Value> {
        self.parts.iter().find_map(|part| match part {
            Part::Inline(Value::Object(object)) => object.get(name),
            _ => None,
        })
    }

    /// Appends an item to a list.
    pub fn push(&mut self, item: Value) -> Result<(), Limit> {
        let bulk = self.bulk.with(item.bulk(), 0)?;
        match self.parts.last_mut() {
            Some(Part::Inline(Value::List(list))) => list.push(item)?,
            _ => {
                self.parts.push(Part::Inline(Value::List(List::new(vec![item])?)));
            }
        }
        self.len += 1;
        self.bulk = bulk;
        Ok(())
    }

    /// Appends all items of another list without loading them.
    pub fn append(&mut self, more: &Self) -> Result<(), Limit> {
        for part in &more.parts {
            match part {
                Part::Stored(..) => {
                    self.bulk = self.bulk.beside(part.bulk())?;
                    self.len += part.count();
                    self.parts.push(part.clone());
                }
                Part::Inline(Value::List(list)) => {
                    list.items().iter().try_for_each(|item| self.push(item.clone()))?;
                }
                Part::Inline(_) => {}
            }
        }
        Ok(())
    }
}

impl Part {
    pub fn count(&self) -> usize {
        match self {
            Self::Stored(_, len) => *len,
            Self::Inline(Value::List(list)) => list.len(),
            Self::Inline(Value::Object(object)) => object.len(),
            Self::Inline(_) => 0,
        }
    }

    fn bulk(&self) -> Bulk {
        match self {
            Self::Stored(..) => Bulk::SEGMENT,
            Self::Inline(value) => value.bulk(),
        }
    }
}

/// Assembles the whole value from its loaded parts.
pub fn assemble(shape: Shape, parts: Vec<Value>) -> Result<Value, Limit> {
    match shape {
        Shape::List => {
            let mut items = Vec::new();
            for part in parts {
                if let Value::List(list) = part {
                    items.extend_from_slice(list.items());
                }
            }
            List::new(items).map(Value::List)
        }
        Shape::Object => {
            let mut fields = Vec::new();
            for part in parts {
                if let Value::Object(object) = part {
                    fields.extend(object.iter().map(|(key, value)| (key.clone(), value.clone())));
                }
            }
            Object::new(fields).map(Value::Object)
        }
    }
}
