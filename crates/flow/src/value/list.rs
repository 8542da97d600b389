//! List values: shared, and copied on the first write.

use std::sync::Arc;

use super::{Bulk, Value};
use crate::limits::{Limit, WriteStats};

#[derive(Clone, Debug)]
pub struct List(Arc<Items>);

#[derive(Clone, Debug)]
struct Items {
    items: Vec<Value>,
    bulk: Bulk,
}

impl Default for List {
    fn default() -> Self {
        Self(Arc::new(Items { items: Vec::new(), bulk: Bulk::EMPTY }))
    }
}

impl List {
    pub fn new(items: Vec<Value>) -> Result<Self, Limit> {
        let bulk = bulk_of(&items)?;
        Ok(Self(Arc::new(Items { items, bulk })))
    }

    pub fn items(&self) -> &[Value] {
        &self.0.items
    }

    pub fn len(&self) -> usize {
        self.0.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.items.is_empty()
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

    pub fn push(&mut self, item: Value) -> Result<(), Limit> {
        let bulk = self.0.bulk.with(item.bulk(), 0)?;
        let inner = Arc::make_mut(&mut self.0);
        inner.items.push(item);
        inner.bulk = bulk;
        Ok(())
    }

    /// Applies `change` to one item; `None` if there is none at that index.
    pub fn change<E: From<Limit>>(
        &mut self,
        place: usize,
        meter: &mut WriteStats,
        change: impl FnOnce(&mut Value, &mut WriteStats) -> Result<(), E>,
    ) -> Option<Result<(), E>> {
        if place >= self.len() {
            return None;
        }
        if self.is_shared()
            && let Err(limit) = meter.allocate(24 * self.len() as u64)
        {
            return Some(Err(limit.into()));
        }
        let inner = Arc::make_mut(&mut self.0);
        let item = inner.items.get_mut(place)?;
        let old = item.bulk();
        let changed = change(item, meter);
        let new = item.bulk();
        let bulk = match inner.bulk.may_lose(old, new) {
            true => meter.scan(24 * inner.items.len() as u64).and_then(|()| bulk_of(&inner.items)),
            false => inner.bulk.replacing(old, new),
        };
        Some(changed.and_then(|()| {
            inner.bulk = bulk?;
            Ok(())
        }))
    }
}

fn bulk_of(items: &[Value]) -> Result<Bulk, Limit> {
    items.iter().try_fold(Bulk::EMPTY, |bulk, item| bulk.with(item.bulk(), 0))
}
