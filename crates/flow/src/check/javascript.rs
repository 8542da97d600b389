//! Names that people know from JavaScript and similar languages, and what to write instead.

/// Returns a replacement for an unknown name.
pub(super) fn instead_of_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "undefined" | "None" | "nil" | "NaN" => "write `null`",
        "True" => "write `true`",
        "False" => "write `false`",
        "console" | "print" => "write to the history with `log(..)`",
        "Date" => "the time is `Time.now()`",
        "setTimeout" | "setInterval" | "delay" | "wait" => {
            "wait with `sleep(seconds)` or `await Task.delay(milliseconds)`"
        }
        "fetch" | "axios" | "require" | "process" => {
            "outside work is a task: `await Task.run(\"name\", { .. })`"
        }
        "Number" | "parseInt" | "parseFloat" => "read a number from a string with `JSON.parse(text)`",
        "String" => "make a string with `\"\" + value`",
        "Boolean" => "write `!!value`",
        "Array" => "write a list as it is: `[a, b]`",
        "Map" | "Set" => "use an object, `{ }`, or a list and `unique()`",
        "Error" => "throw a string or an object: `throw { code: \"MINE\", message: \"why\" }`",
        "len" => "write `value.length`",
        "Infinity" => "numbers end; write the largest you expect",
        "await_all" | "gather" => "wait for several with `await Promise.all([ .. ])`",
        _ => return None,
    })
}

/// Returns a replacement for a `Group.member` that does not exist.
pub(super) fn instead_of_member(group: &str, member: &str) -> Option<&'static str> {
    Some(match (group, member) {
        ("Math", "random") => "a run cannot repeat chance: let a task choose",
        ("Math", "pow" | "sqrt" | "log" | "trunc") => {
            "multiply, divide or use a task; `Math.floor` cuts decimals off"
        }
        ("Promise", "resolve") => "write the value itself: `await` on a plain value gives the value",
        ("Promise", "reject") => "write `throw`",
        ("Object", "assign") => "write `Object.merge(a, b)`",
        ("Object", "fromEntries") => "walk the entries with `for` and assign `object[key] = value`",
        ("Object", "hasOwn" | "hasOwnProperty") => "write `Object.has(object, key)`",
        ("Task", "sleep" | "wait") => "write `Task.delay(milliseconds)` or `Timer.delay(seconds)`",
        ("Timer", "sleep" | "wait" | "after") => "write `Timer.delay(seconds)`",
        ("Signal", "wait" | "receive" | "on") => {
            "write `Signal.next(name)` or `Signal.when(name, { timeout })`"
        }
        ("Signal", "emit") => "write `Signal.send(runId, name, payload)`",
        ("Task" | "Workflow", "start" | "call" | "execute") => {
            "write `run(name, inputs)`; without `await` nobody waits for it"
        }
        _ => return None,
    })
}

/// Returns a replacement for a method that does not exist.
pub(super) fn instead_of_method(name: &str) -> Option<&'static str> {
    Some(match name {
        "push" | "append" | "add" => "lists do not change in place: `list = list.concat([item])`",
        "unshift" => "lists do not change in place: `list = [item].concat(list)`",
        "pop" | "shift" | "splice" => "lists do not change in place: `list = list.slice(start, end)`",
        "map" | "filter" | "forEach" | "reduce" | "find" | "some" | "every" | "flatMap" | "findIndex" => {
            "walk the list: `for (const item of list) { .. }`"
        }
        "sort" => "write `list.sortBy(key)`",
        "toUpperCase" => "write `text.upper()`",
        "toLowerCase" => "write `text.lower()`",
        "substring" | "substr" | "charAt" | "at" => "write `slice(start, end)`",
        "replaceAll" => "write `text.replace(text, with)`",
        "trimStart" | "trimEnd" => "write `text.trim()`",
        "contains" | "has" => "write `includes(value)`, and for objects `Object.has(object, key)`",
        "hasOwnProperty" => "write `Object.has(object, key)`",
        "keys" => "write `Object.keys(object)`",
        "values" => "write `Object.values(object)`",
        "entries" => "write `Object.entries(object)`",
        "toString" => "make a string with `\"\" + value`",
        "toFixed" => "round with `Math.round(number * 100) / 100`",
        "length" | "size" | "count" => "write `length` without brackets",
        "then" => "write `let value = await ..` and go on with it on the next line",
        "catch" => "write `try { await .. } catch (e) { .. }`",
        "finally" => "write it after the `try { .. } catch (e) { .. }`",
        "join_all" => "wait for several with `await Promise.all([ .. ])`",
        _ => return None,
    })
}
