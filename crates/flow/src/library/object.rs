//! The functions of `Object`.

use super::Call;
use crate::runtime_error::Evaluated;
use crate::value::{List, Object, Value};

pub fn keys(call: &mut Call<'_>) -> Evaluated {
    let object = call.object(0)?;
    let keys = object.iter().map(|(key, _)| Value::Text(key.clone())).collect();
    call.make_list(keys)
}

pub fn values(call: &mut Call<'_>) -> Evaluated {
    let object = call.object(0)?;
    let values = object.iter().map(|(_, value)| value.clone()).collect();
    call.make_list(values)
}

pub fn entries(call: &mut Call<'_>) -> Evaluated {
    let object = call.object(0)?;
    call.meter.allocate(120 * object.len() as u64)?;
    let mut entries = Vec::with_capacity(object.len());
    for (key, value) in object.iter() {
        entries.push(Value::List(List::new(vec![Value::Text(key.clone()), value.clone()])?));
    }
    call.make_list(entries)
}

/// Returns an object with the fields of all arguments; the last value of a repeated key counts.
pub fn merge(call: &mut Call<'_>) -> Evaluated {
    let mut fields = Vec::new();
    for place in 0..call.arguments.len() {
        let object = call.object(place)?;
        call.meter.allocate(100 * object.len() as u64)?;
        fields.extend(object.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    Ok(Value::Object(Object::new(fields)?))
}

pub fn has(call: &mut Call<'_>) -> Evaluated {
    let object = call.object(0)?;
    let key = call.text(1)?;
    call.meter.scan(8 * key.len() as u64)?;
    Ok(Value::Boolean(object.get(&key).is_some()))
}
