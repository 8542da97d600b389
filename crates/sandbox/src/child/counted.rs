//! Built-in functions that iterate over their arguments. Starlark's own versions count no steps, however long
//! the list is; these count one step for each item.

use std::cmp::Ordering;

use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::none::NoneOr;
use starlark::values::tuple::UnpackTuple;

use super::ticks::{count, wrong};

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    fn any<'v>(
        #[starlark(require = pos)] items: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<bool> {
        for item in items.iterate(eval.heap())? {
            count(eval)?;
            if item.to_bool() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn all<'v>(
        #[starlark(require = pos)] items: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<bool> {
        for item in items.iterate(eval.heap())? {
            count(eval)?;
            if !item.to_bool() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn max<'v>(
        #[starlark(args)] items: UnpackTuple<Value<'v>>,
        #[starlark(require = named)] key: Option<NoneOr<Value<'v>>>,
        #[starlark(require = named)] default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        farthest(Ordering::Greater, &items.items, (key.and_then(NoneOr::into_option), default), eval)
    }

    fn min<'v>(
        #[starlark(args)] items: UnpackTuple<Value<'v>>,
        #[starlark(require = named)] key: Option<NoneOr<Value<'v>>>,
        #[starlark(require = named)] default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        farthest(Ordering::Less, &items.items, (key.and_then(NoneOr::into_option), default), eval)
    }

    fn sum<'v>(
        #[starlark(require = pos)] items: Value<'v>,
        start: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let heap = eval.heap();
        let mut sum = start.unwrap_or_else(|| heap.alloc(0));
        for item in items.iterate(heap)? {
            count(eval)?;
            // `True` counts as 1.
            let item = item.unpack_bool().map_or(item, |met| heap.alloc(i32::from(met)));
            sum = sum.add(item, heap)?;
        }
        Ok(sum)
    }

    fn sorted<'v>(
        #[starlark(require = pos)] items: Value<'v>,
        #[starlark(require = named)] key: Option<NoneOr<Value<'v>>>,
        #[starlark(require = named, default = false)] reverse: bool,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<Value<'v>>> {
        let key = key.and_then(NoneOr::into_option);
        let mut keyed = Vec::new();
        for item in items.iterate(eval.heap())? {
            keyed.push((of(key, item, eval)?, item));
        }
        let mut incomparable = None;
        keyed.sort_by(|(left, _), (right, _)| {
            // Swapping the operands reverses the order but keeps equal items in their order.
            let ordering = if reverse { right.compare(*left) } else { left.compare(*right) };
            ordering.unwrap_or_else(|error| {
                incomparable = Some(error);
                Ordering::Equal
            })
        });
        match incomparable {
            Some(error) => Err(error),
            None => Ok(keyed.into_iter().map(|(_, item)| item).collect()),
        }
    }

    fn map<'v>(
        #[starlark(require = pos)] function: Value<'v>,
        #[starlark(require = pos)] items: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<Value<'v>>> {
        let mut results = Vec::new();
        for item in items.iterate(eval.heap())? {
            results.push(of(Some(function), item, eval)?);
        }
        Ok(results)
    }

    /// Without a function keeps the items that are true.
    fn filter<'v>(
        #[starlark(require = pos)] function: NoneOr<Value<'v>>,
        #[starlark(require = pos)] items: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Vec<Value<'v>>> {
        let function = function.into_option();
        let mut kept = Vec::new();
        for item in items.iterate(eval.heap())? {
            if of(function, item, eval)?.to_bool() {
                kept.push(item);
            }
        }
        Ok(kept)
    }
}

/// Applies the function to an item and counts one step.
fn of<'v>(
    function: Option<Value<'v>>,
    item: Value<'v>,
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    count(eval)?;
    match function {
        Some(function) => eval.eval_function(function, &[item], &[]),
        None => Ok(item),
    }
}

/// Returns the first smallest or the first largest item: of the only argument, a list, or of all arguments.
fn farthest<'v>(
    side: Ordering,
    given: &[Value<'v>],
    (key, default): (Option<Value<'v>>, Option<Value<'v>>),
    eval: &mut Evaluator<'v, '_, '_>,
) -> starlark::Result<Value<'v>> {
    let items: Box<dyn Iterator<Item = Value<'v>> + '_> = match given {
        [items] => Box::new(items.iterate(eval.heap())?),
        several => Box::new(several.iter().copied()),
    };
    let mut farthest: Option<(Value<'v>, Value<'v>)> = None;
    for item in items {
        let value = of(key, item, eval)?;
        let beyond = match farthest {
            Some((known, _)) => value.compare(known)? == side,
            None => true,
        };
        if beyond {
            farthest = Some((value, item));
        }
    }
    let found = farthest.map(|(_, item)| item).or(default);
    found.ok_or_else(|| wrong("there is nothing to choose from: give a default".to_owned()))
}
