//! Objects: keys in the order they were first written. Small objects are searched linearly, large ones by an
//! index.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Bulk, Value};
use crate::limits::{Limit, WriteStats};

/// Largest number of keys of an object without an index.
const INDEXED: usize = 12;

#[derive(Clone, Debug)]
pub struct Object(Arc<Fields>);

#[derive(Clone, Debug)]
struct Fields {
    entries: Vec<(Arc<str>, Value)>,
    /// Index of all keys; empty for a small object.
    index: BTreeMap<Arc<str>, usize>,
    bulk: Bulk,
}

impl Default for Object {
    fn default() -> Self {
        Self(Arc::new(Fields { entries: Vec::new(), index: BTreeMap::new(), bulk: Bulk::EMPTY }))
    }
}

impl Object {
    /// Creates an object. If a key appears twice, its last value counts, at the position of the first.
    pub fn new(given: impl IntoIterator<Item = (Arc<str>, Value)>) -> Result<Self, Limit> {
        let mut fields = Fields { entries: Vec::new(), index: BTreeMap::new(), bulk: Bulk::EMPTY };
        for (key, value) in given {
            match fields.place(&key).and_then(|place| fields.entries.get_mut(place)) {
                Some((_, old)) => *old = value,
                None => fields.add(key, value),
            }
        }
        fields.bulk = bulk_of(&fields.entries)?;
        Ok(Self(Arc::new(fields)))
    }

    pub fn of<const N: usize>(fields: [(&str, Value); N]) -> Result<Self, Limit> {
        Self::new(fields.map(|(key, value)| (Arc::from(key), value)))
    }

    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    pub fn bulk(&self) -> Bulk {
        self.0.bulk
    }

    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns whether writing must copy it first.
    pub fn is_shared(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    pub fn get(&self, key: &str) -> Option<&Value> {
        let place = self.0.place(key)?;
        self.0.entries.get(place).map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Value)> {
        self.0.entries.iter().map(|(key, value)| (key, value))
    }

    /// Adds a key that is not there yet.
    pub fn add(&mut self, key: Arc<str>, value: Value, meter: &mut WriteStats) -> Result<(), Limit> {
        if self.is_shared() {
            meter.allocate(64 * self.len() as u64)?;
        }
        let bulk = self.0.bulk.with(value.bulk(), entry_weight(&key))?;
        let fields = Arc::make_mut(&mut self.0);
        fields.add(key, value);
        fields.bulk = bulk;
        Ok(())
    }

    /// Applies `change` to one value; `None` if there is no such key.
    pub fn change<E: From<Limit>>(
        &mut self,
        key: &str,
        meter: &mut WriteStats,
        change: impl FnOnce(&mut Value, &mut WriteStats) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        let place = self.0.place(key)?;
        if self.is_shared()
            && let Err(limit) = meter.allocate(64 * self.len() as u64)
        {
            return Some(Err(limit.into()));
        }
        let fields = Arc::make_mut(&mut self.0);
        let (_, value) = fields.entries.get_mut(place)?;
        let old = value.bulk();
        let changed = change(value, meter);
        let new = value.bulk();
        let bulk = match fields.bulk.may_lose(old, new) {
            true => meter.scan(64 * fields.entries.len() as u64).and_then(|()| bulk_of(&fields.entries)),
            false => fields.bulk.replacing(old, new),
        };
        Some(changed.and_then(|()| {
            fields.bulk = bulk?;
            Ok(())
        }))
    }
}

impl Fields {
    fn place(&self, key: &str) -> Option<usize> {
        if self.index.is_empty() {
            return self.entries.iter().position(|(name, _)| &**name == key);
        }
        self.index.get(key).copied()
    }

    fn add(&mut self, key: Arc<str>, value: Value) {
        self.entries.push((key, value));
        if self.entries.len() <= INDEXED {
            return;
        }
        let from = if self.index.is_empty() { 0 } else { self.entries.len() - 1 };
        let keys = self.entries.iter().enumerate().skip(from);
        self.index.extend(keys.map(|(place, (key, _))| (key.clone(), place)));
    }
}

fn entry_weight(key: &str) -> u64 {
    40 + key.len() as u64
}

fn bulk_of(entries: &[(Arc<str>, Value)]) -> Result<Bulk, Limit> {
    entries.iter().try_fold(Bulk::EMPTY, |bulk, (key, value)| bulk.with(value.bulk(), entry_weight(key)))
}
