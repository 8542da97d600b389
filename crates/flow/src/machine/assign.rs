//! Assigns parts of values, and destructures values.

use std::sync::Arc;

use super::Machine;
use super::access::{key_cost, no_input, no_item, no_property};
use crate::code::{Access, Index, Node, Part};
use crate::limits::WriteStats;
use crate::runtime_error::{Evaluated, codes, short, throw, type_error};
use crate::value::{Kept, Shape, Value};

/// One part of a path inside a value.
enum Key {
    Field(Arc<str>),
    Item(usize),
}

impl<'m> Machine<'m> {
    /// Returns the arguments of `concat` in `x = x.concat(..)`, if `x` is a list whose items can be appended
    /// in place.
    pub fn grown(&self, slot: Index, value: Index) -> Option<&'m [Index]> {
        let flow = self.flow;
        let node = |index: Index| flow.code.nodes.get(index as usize);
        let Some(Node::Path(base, accesses)) = node(value) else { return None };
        let [Access::Method(name, more)] = accesses.as_slice() else { return None };
        let own = matches!(node(*base), Some(Node::Local(from)) if *from == slot);
        let list = match self.memory.slots.get(slot as usize) {
            Some(Some(Value::List(_))) => true,
            Some(Some(Value::Kept(kept))) => kept.is_list(),
            _ => false,
        };
        (own && list && &**name == "concat").then_some(more.as_slice())
    }
}

impl Machine<'_> {
    pub fn set_path(&mut self, slot: Index, path: &[Part], value: Index) -> Evaluated<()> {
        let mut keys = Vec::with_capacity(path.len().min(128));
        for part in path {
            keys.push(match part {
                Part::Field(name) => {
                    self.meter.scan(16 + key_cost(name))?;
                    Key::Field(name.clone())
                }
                Part::At(index) => match self.looked(*index)? {
                    Value::Text(text) => {
                        self.meter.scan(key_cost(&text))?;
                        Key::Field(text)
                    }
                    Value::Number(number) => match number.as_index() {
                        Some(place) => Key::Item(place),
                        None => return no_item(&number.to_string(), 0, "item"),
                    },
                    other => {
                        return type_error(format!(
                            "an index is a number or a string, not {}",
                            other.described()
                        ));
                    }
                },
            });
        }
        let value = self.evaluate(value)?;
        self.load_along(slot, &keys)?;
        let Some(Some(place)) = self.memory.slots.get_mut(slot as usize) else {
            let name = self.flow.code.slots.get(slot as usize).map_or("", |slot| &slot.name);
            return throw(codes::UNDEFINED_VARIABLE, format!("`{}` has no value yet", short(name)));
        };
        let old = place.weight();
        write(place, &keys, value, &mut self.meter)?;
        let new = place.weight();
        self.weigh(old, new)
    }

    /// Loads the large values along the path, because they are about to change.
    fn load_along(&mut self, slot: Index, keys: &[Key]) -> Evaluated<()> {
        let Some(Some(root)) = self.memory.slots.get(slot as usize) else { return Ok(()) };
        if !root.bulk().holds_blobs() {
            return Ok(());
        }
        let root = self.expand_along(root.clone(), keys)?;
        self.set(slot, root)
    }

    fn expand_along(&mut self, value: Value, keys: &[Key]) -> Evaluated {
        let Some((key, rest)) = keys.split_first() else { return Ok(value) };
        // Writing at the end of a list in segments needs none of its segments.
        if let (Value::Kept(kept), Key::Item(place), []) = (&value, key, rest)
            && kept.is_list()
            && *place == kept.count()
        {
            return Ok(value);
        }
        let mut value = self.look(value)?;
        let inner = match (&value, key) {
            (Value::Object(object), Key::Field(name)) => object.get(name).cloned(),
            (Value::List(list), Key::Item(place)) => list.items().get(*place).cloned(),
            _ => None,
        };
        // The last key only replaces a value, so that value need not be loaded.
        let Some(inner) = inner.filter(|inner| !rest.is_empty() && inner.bulk().holds_blobs()) else {
            return Ok(value);
        };
        let inner = self.expand_along(inner, rest)?;
        write(&mut value, std::slice::from_ref(key), inner, &mut self.meter)?;
        Ok(value)
    }

    /// Appends in place, so that a list that grows item by item is not copied each time.
    pub fn grow(&mut self, slot: Index, more: &[Index]) -> Evaluated<()> {
        let mut items = Vec::with_capacity(more.len());
        for argument in more {
            let item = self.evaluate(*argument)?;
            // A list in segments need not be loaded to append it to another one.
            items.push(match item {
                Value::Kept(_) if self.is_kept(slot) => item,
                item => self.look(item)?,
            });
        }
        let Some(place) = self.memory.slots.get_mut(slot as usize) else { return Ok(()) };
        if let Some(Value::Kept(kept)) = place {
            let kept = std::mem::replace(kept, Arc::new(Kept::new(Shape::List, Vec::new())?));
            let old = kept.bulk().weight;
            let grown = self.joined(Arc::unwrap_or_clone(kept), items)?;
            let new = grown.weight();
            if let Some(place) = self.memory.slots.get_mut(slot as usize) {
                *place = Some(grown);
            }
            return self.weigh(old, new);
        }
        let Some(Value::List(mut list)) = place.take() else { return Ok(()) };
        let old = list.bulk().weight;
        if list.is_shared() {
            self.meter.allocate(24 * list.len() as u64)?;
        }
        for item in items {
            match item {
                Value::List(more) => {
                    self.meter.allocate(24 * more.len() as u64)?;
                    more.items().iter().try_for_each(|item| list.push(item.clone()))?;
                }
                item => list.push(item)?,
            }
        }
        let new = list.bulk().weight;
        *place = Some(Value::List(list));
        self.weigh(old, new)
    }

    fn is_kept(&self, slot: Index) -> bool {
        matches!(self.memory.slots.get(slot as usize), Some(Some(Value::Kept(_))))
    }

    pub fn take_fields(&mut self, fields: &[(Arc<str>, Index)], value: Index) -> Evaluated<()> {
        let given = self.looked(value)?;
        if self.lacks_input(value, &given) {
            let names: Vec<String> = fields.iter().take(4).map(|(key, _)| short(key)).collect();
            return no_input(&format!("`{{ {} }}` cannot be taken", names.join(", ")));
        }
        let value = given;
        let mut taken = Vec::with_capacity(fields.len());
        for (key, slot) in fields {
            self.meter.scan(16 + key_cost(key))?;
            let found = match &value {
                Value::Object(object) => object.get(key).cloned(),
                Value::Error(error) => error.get(key),
                other => {
                    let message = format!(
                        "`{{ {} }}` takes fields of an object, not of {}",
                        short(key),
                        other.described()
                    );
                    return type_error(message);
                }
            };
            match found {
                Some(found) => taken.push((*slot, found)),
                None => return no_property(&value, key),
            }
        }
        taken.into_iter().try_for_each(|(slot, value)| self.set(slot, value))
    }

    pub fn take_items(&mut self, slots: &[Index], value: Index) -> Evaluated<()> {
        let list = match self.looked(value)? {
            Value::List(list) => list,
            other => {
                return type_error(format!("`[a, b]` takes items of a list, not of {}", other.described()));
            }
        };
        if list.len() < slots.len() {
            return no_item(&list.len().to_string(), list.len(), "item");
        }
        self.meter.scan(16 * slots.len() as u64)?;
        slots.iter().zip(list.items()).try_for_each(|(slot, item)| self.set(*slot, item.clone()))
    }
}

/// Writes at the end of the path. A new key, or the place right behind a list's end, may be written; everything
/// before the last key must be there.
fn write(target: &mut Value, keys: &[Key], value: Value, meter: &mut WriteStats) -> Evaluated<()> {
    let Some((key, rest)) = keys.split_first() else {
        *target = value;
        return Ok(());
    };
    match (&mut *target, key) {
        (Value::Object(object), Key::Field(name)) => {
            if rest.is_empty() && object.get(name).is_none() {
                return Ok(object.add(name.clone(), value, meter)?);
            }
            match object.change(name, meter, |inner, meter| write(inner, rest, value, meter)) {
                Some(written) => written,
                None => no_property(target, name),
            }
        }
        (Value::List(list), Key::Item(place)) => {
            if rest.is_empty() && *place == list.len() {
                if list.is_shared() {
                    meter.allocate(24 * list.len() as u64)?;
                }
                return Ok(list.push(value)?);
            }
            let length = list.len();
            match list.change(*place, meter, |inner, meter| write(inner, rest, value, meter)) {
                Some(written) => written,
                None => no_item(&place.to_string(), length, "item"),
            }
        }
        (Value::Kept(kept), Key::Item(_)) if kept.is_list() => Ok(Arc::make_mut(kept).push(value)?),
        (Value::Object(_), Key::Item(_)) => type_error("an object is indexed by a string, not by a number"),
        (Value::List(_), Key::Field(name)) => {
            type_error(format!("`{}` of a list cannot be written: it is indexed by a number", short(name)))
        }
        (other, _) => type_error(format!("nothing can be written into {}", other.described())),
    }
}
