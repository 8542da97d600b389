//! Runs `evaluate(output, context)` in Starlark: Python without imports, files, classes and exceptions. Every
//! program ends, because its steps are limited.

use std::collections::{BTreeSet, HashSet};

use rhythm_syntax::did_you_mean::closest;
use serde_json::Value as Json;
use starlark::PrintHandler;
use starlark::analysis::AstModuleLint;
use starlark::codemap::FileSpanRef;
use starlark::environment::{Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::{BeforeStmtFuncDyn, Evaluator};
use starlark::starlark_module;
use starlark::syntax::{AstModule, Dialect, DialectTypes};
use starlark::values::dict::AllocDict;
use starlark::values::{Heap, Value};

use super::loops::Unrolled;
use super::ticks::{OUT_OF_TICKS, Ticks, count, wrong};
use super::{counted, fstring, python};
use crate::error::{Limit, SandboxError};
use crate::request::ProgramCall;

/// Name of the function that is called.
const FUNCTION: &str = "evaluate";
const OUT_OF_MEMORY: &str = "the program has taken too much memory";
const MAX_CALLS: usize = 200;
/// Starlark does not limit the memory of a single operation. The check of this limit catches ordinary
/// programs; the kernel's limit catches hostile ones.
const MIB: usize = 1024 * 1024;

/// Discards printed text: standard output carries the responses.
struct Nowhere;

impl PrintHandler for Nowhere {
    fn println(&self, _text: &str) -> starlark::Result<()> {
        Ok(())
    }
}

/// Looks at what a program has taken before each of its statements.
struct WriteStats {
    most_bytes: usize,
}

impl<'a, 'e: 'a> BeforeStmtFuncDyn<'a, 'e> for WriteStats {
    fn call<'v>(
        &mut self,
        _: FileSpanRef<'_>,
        evaluator: &mut Evaluator<'v, 'a, 'e>,
    ) -> starlark::Result<()> {
        count(evaluator)?;
        match evaluator.heap().allocated_bytes() > self.most_bytes {
            true => Err(wrong(OUT_OF_MEMORY.to_owned())),
            false => Ok(()),
        }
    }
}

/// The function that [`loops::COUNT`](super::loops::COUNT) calls in every pass of a loop.
#[starlark_module]
fn passes(builder: &mut GlobalsBuilder) {
    fn _one_more<'v>(eval: &mut Evaluator<'v, '_, '_>) -> starlark::Result<bool> {
        count(eval)?;
        Ok(true)
    }
}

pub(super) fn evaluate(call: &ProgramCall, max_memory_mb: u64) -> Result<Json, SandboxError> {
    let code = fstring::without(&call.code);
    let unrolled = Unrolled::of(&code);
    let ast = parse(&unrolled, &call.code)?;
    let ticks = Ticks::new(0);
    let module = Module::new();
    let mut evaluator = Evaluator::new(&module);
    evaluator.set_print_handler(&Nowhere);
    evaluator.set_max_callstack_size(MAX_CALLS).map_err(SandboxError::crashed)?;
    let meter: Box<dyn BeforeStmtFuncDyn<'_, '_>> =
        Box::new(WriteStats { most_bytes: max_memory_mb as usize * MIB });
    evaluator.before_stmt_for_dap(meter.into());
    evaluator.extra = Some(&ticks);
    evaluator.eval_module(ast, &globals()).map_err(|error| failed(&error, &unrolled))?;
    let Some(function) = module.get(FUNCTION) else {
        return Err(without_function());
    };
    let (output, context) = (value(module.heap(), &call.output), value(module.heap(), &call.context));
    let result = evaluator.eval_function(function, &[output, context], &[]);
    let result = result.map_err(|error| failed(&error, &unrolled))?;
    let text = format!("evaluate gave a {}, which is no JSON", result.get_type());
    result.to_json_value().map_err(|_| SandboxError::bad_answer(text))
}

/// Checks that a program can be parsed and calls no misspelt function. Whether it defines `evaluate` shows
/// only when it runs.
pub(crate) fn read(code: &str) -> Result<(), SandboxError> {
    let plain = fstring::without(code);
    let unrolled = Unrolled::of(&plain);
    let ast = parse(&unrolled, code)?;
    if let Some(unknown) = unknown_function(&ast, &unrolled) {
        return Err(unknown);
    }
    match python::tokens(code).contains(&FUNCTION) {
        true => Ok(()),
        false => Err(without_function()),
    }
}

/// Returns an error for a call of a misspelt function: neither the program nor the sandbox defines it, and
/// the sandbox has one with a similar name. Names in type hints are not calls.
fn unknown_function(ast: &AstModule, unrolled: &Unrolled<'_>) -> Option<SandboxError> {
    let globals = globals();
    let known: HashSet<String> = globals.names().map(|name| name.as_str().to_owned()).collect();
    let own: BTreeSet<&str> =
        known.iter().map(String::as_str).filter(|name| !name.starts_with('_')).collect();
    let lints = ast.lint(Some(&known)).into_iter().filter(|lint| lint.short_name == "using-undefined");
    let called = lints.map(|lint| lint.location).filter(|place| {
        let after = place.file.source().get(place.span.end().get() as usize..);
        after.is_some_and(|after| after.trim_start_matches([' ', '\t']).starts_with('('))
    });
    let misspelt = called
        .filter_map(|place| Some((closest(place.source_span(), own.iter().copied())?.to_owned(), place)));
    let (meant, place) = misspelt.min_by_key(|(_, place)| place.span.begin().get())?;
    let name = place.source_span();
    let line = unrolled.written(place.resolve_span().begin.line + 1);
    let message = format!("the sandbox has no function `{name}`: did you mean `{meant}`?");
    Some(SandboxError::bad_program(message, Some(line)))
}

fn parse(unrolled: &Unrolled<'_>, code: &str) -> Result<AstModule, SandboxError> {
    if let Some(name) = unrolled.taken() {
        return Err(SandboxError::bad_program(format!("the name {name} is the sandbox's own"), None));
    }
    let adapted = python::adapted(&unrolled.code);
    AstModule::parse("program", adapted, &dialect()).map_err(|error| unreadable(&error, unrolled, code))
}

fn without_function() -> SandboxError {
    SandboxError::bad_program("it has no function evaluate(output, context)", None)
}

fn globals() -> Globals {
    let libraries = [LibraryExtension::Json, LibraryExtension::Print, LibraryExtension::SetType];
    let builder = GlobalsBuilder::extended_by(&libraries);
    builder.with(python::functions).with(counted::functions).with(passes).build()
}

fn dialect() -> Dialect {
    Dialect {
        enable_load: false,
        enable_load_reexport: false,
        enable_keyword_only_arguments: true,
        // Type hints such as `output: dict` are parsed but not checked.
        enable_types: DialectTypes::ParseOnly,
        enable_top_level_stmt: true,
        ..Dialect::Standard
    }
}

/// Converts a JSON value. Recursion is bounded: the JSON parser accepts at most 128 levels.
fn value<'v>(heap: &'v Heap, json: &Json) -> Value<'v> {
    match json {
        Json::Null => Value::new_none(),
        Json::Bool(flag) => Value::new_bool(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => heap.alloc(int),
            (None, Some(int)) => heap.alloc(int),
            (None, None) => heap.alloc(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => heap.alloc(text.as_str()),
        Json::Array(items) => heap.alloc(items.iter().map(|item| value(heap, item)).collect::<Vec<_>>()),
        Json::Object(entries) => {
            heap.alloc(AllocDict(entries.iter().map(|(name, item)| (name.as_str(), value(heap, item)))))
        }
    }
}

fn failed(error: &starlark::Error, unrolled: &Unrolled<'_>) -> SandboxError {
    let message = error.without_diagnostic().to_string();
    for (part, what) in
        [(OUT_OF_TICKS, Limit::Ticks), (OUT_OF_MEMORY, Limit::Memory), ("call stack overflow", Limit::Stack)]
    {
        if message.contains(part) {
            return SandboxError::limit(what);
        }
    }
    SandboxError::bad_program(shorten(&message), line(error, unrolled))
}

/// Returns the error of a program that cannot be parsed. Python that is not Starlark mostly fails here, so
/// the message names the missing feature instead of the expected token.
fn unreadable(error: &starlark::Error, unrolled: &Unrolled<'_>, code: &str) -> SandboxError {
    let line = line(error, unrolled);
    match line.and_then(|line| code.lines().nth(line - 1)).and_then(hint) {
        Some(hint) => SandboxError::bad_program(hint, line),
        None => SandboxError::bad_program(shorten(&error.without_diagnostic().to_string()), line),
    }
}

/// Returns the line of the original program, counted from 1.
fn line(error: &starlark::Error, unrolled: &Unrolled<'_>) -> Option<usize> {
    error.span().map(|span| unrolled.written(span.resolve_span().begin.line + 1))
}

/// Returns a hint about a Python feature that the sandbox lacks, from the first word of the line.
fn hint(line: &str) -> Option<&'static str> {
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    Some(match *words.first()? {
        "import" | "from" => "the sandbox has no `import`: nothing can be loaded",
        "while" => "the sandbox reads a `while` whose condition stands on its line, and has no `else` for it",
        "try" | "except" | "finally" | "raise" => {
            "the sandbox has no exceptions: test first, with `in` and `.get`"
        }
        "class" => "the sandbox has no classes: use functions and dicts",
        "with" | "async" | "await" | "yield" | "global" | "nonlocal" | "del" | "assert" => {
            "the sandbox does not have this statement"
        }
        _ if line.contains("f\"") || line.contains("f'") => {
            "the sandbox takes values in an f-string as they are: no `{x:.2f}`, no `{x=}`, no quotes of its own kind"
        }
        _ if line.contains("**") => "the sandbox has no `**`: write `x * x` for `x ** 2`",
        _ if line.contains(":=") => "the sandbox has no `:=`: assign on a line of its own",
        _ => return None,
    })
}

fn shorten(message: &str) -> String {
    message.chars().take(500).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(code: &str) -> Result<Json, SandboxError> {
        let output = json!({"revenue": 130, "churn_rate": 0.01, "items": [1, 2.5, "x", null]});
        let context = json!({"last_month": {"output": {"revenue": 100}}});
        let call =
            ProgramCall { code: code.to_owned(), output, context, timeout_ms: 1000, max_memory_mb: 50 };
        evaluate(&call, 50)
    }

    #[test]
    fn the_program_of_the_seed_decides() {
        let code = r#"
def evaluate(output, context):
    """
    output: current node output
    context: dict of all previous node outputs
    """
    # Complex business logic
    revenue = output.get('revenue', 0)
    previous_revenue = context.get('last_month', {}).get('output', {}).get('revenue', 0)

    growth_rate = (revenue - previous_revenue) / previous_revenue if previous_revenue > 0 else 0

    # Multi-factor decision
    if growth_rate > 0.2 and output.get('churn_rate', 1) < 0.05:
        return True

    return False
"#;
        assert_eq!(run(code), Ok(json!(true)));
    }

    #[test]
    fn what_python_writes_works_where_starlark_has_it() {
        for (body, expected) in [
            ("[x for x in output['items'] if type(x) == 'int']", json!([1])),
            ("sorted(output.keys())[0]", json!("churn_rate")),
            ("len(output['items']) == 4 and None in output['items']", json!(true)),
            ("'{}-{}'.format(1, 'a')", json!("1-a")),
            ("any([x == 'x' for x in output['items']])", json!(true)),
            ("max(1, 2) + min(3, 4) + abs(-1) + int('2')", json!(8)),
            ("7 // 2 == 3 and 7 / 2 == 3.5 and 7 % 2 == 1", json!(true)),
            ("list(map(lambda x: x * 2, [1, 2]))", json!([2, 4])),
            ("json.decode('[1]')", json!([1])),
            ("{'a': (1, 2)}", json!({"a": [1, 2]})),
            ("output.get('missing')", json!(null)),
            ("output.get('missing') is None and output is not None", json!(true)),
            ("'is it' + (' is' if 1 is 1 else '')", json!("is it is")),
            ("sum([1.5, 2], 1) if sum(range(4)) == 6 else 0", json!(4.5)),
            (
                "[round(1.4), round(2.5), round(-3.7), round(2.675, 2), round(1234, -2), round(7)]",
                json!([1, 2, -4, 2.67, 1200, 7]),
            ),
            (
                "[isinstance(output, dict), isinstance('a', (int, str)), isinstance(True, int), isinstance(1, bool)]",
                json!([true, true, true, false]),
            ),
            ("any(x == 'x' for x in output['items']) and not all((x == 'x') for x in (1, 2))", json!(true)),
            ("sum(x for x in [y for y in range(4)] if x is not 2)", json!(4)),
            ("sum(x != 'x' for x in output['items'])", json!(3)),
            ("len(set([1, 2, 1])) == 2 and 2 in set([2])", json!(true)),
            ("[round(1.25, ndigits=1), round(2.5, None)]", json!([1.2, 2])),
            ("output is \\\n        not None", json!(true)),
            (
                "[isinstance(1, int | float), isinstance('', int | None), isinstance(1.5, ((str, int), float))]",
                json!([true, false, true]),
            ),
            ("[isinstance(x, float) for x in [1, 1.0, None]]", json!([false, true, false])),
            (
                "f'{output[\"revenue\"] + 1} of {context[\"last_month\"][\"output\"].get(\"revenue\")} {len(output[\"items\"])}'",
                json!("131 of 100 4"),
            ),
            (
                "f'{{{output.keys()[0]!r}}}' + f\"{', '.join([str(x) for x in [1, 2]])}\"",
                json!("{\"revenue\"}1, 2"),
            ),
            (
                "[max([3, 1, 3]), min(2, 1), max(['bb', 'a'], key=len), min([], default=7)]",
                json!([3, 1, "bb", 7]),
            ),
            (
                "sorted([[1, 'b'], [0, 'a'], [1, 'a']], key=lambda x: x[0], reverse=True)",
                json!([[1, "b"], [1, "a"], [0, "a"]]),
            ),
            (
                "[sorted([2, 1], key=None), map(abs, [-1]), filter(None, [0, 1]), filter(lambda x: x > 1, [1, 2])]",
                json!([[1, 2], [1], [1], [2]]),
            ),
            (
                "[any([]), all([]), any([0, 1]), all([0, 1]), any(range(1000000000)), all(range(1000000000))]",
                json!([false, true, true, false, true, false]),
            ),
        ] {
            let code = format!("def evaluate(output, context):\n    return {body}\n");
            assert_eq!(run(&code), Ok(expected), "{body}");
        }
        let code = "def evaluate(output: dict, context: dict) -> bool:\n    name = 'b'\n    print(name)\n    return f'a{name}' == 'ab'\n";
        assert_eq!(run(code), Ok(json!(true)));
    }

    #[test]
    fn what_python_has_beside_is_named_with_its_line() {
        for (line, part) in [
            ("import os", "no `import`"),
            ("while (1 <\n      2): pass", "on its line"),
            ("try: pass", "no exceptions"),
            ("class A: pass", "no classes"),
            ("x = 2 ** 8", "no `**`"),
            ("x = f'{output:.2f}'", "as they are"),
            ("x = f'{output[\"missing\"]}'", "missing"),
            ("x = max([])", "default"),
            ("x = max(1, 'a')", "int"),
            ("x = sorted([1, 'a'])", "int"),
            ("x = isinstance(output, 'dict')", "types"),
            ("open('/etc/passwd')", "open"),
            ("x = output['missing']", "missing"),
        ] {
            let code = format!("def evaluate(output, context):\n    {line}\n    return True\n");
            match run(&code) {
                Err(SandboxError::BadProgram { message, line: Some(2) }) => {
                    assert!(message.contains(part), "{line}: {message}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
        assert!(matches!(run("x = 1"), Err(SandboxError::BadProgram { line: None, .. })));
        assert!(matches!(
            run("def evaluate(output, context):\n  return evaluate"),
            Err(SandboxError::BadAnswer { .. })
        ));
    }

    #[test]
    fn a_misspelt_function_is_found_by_reading() {
        let code = |line: &str| {
            format!("def half(x):\n    return x / 2\ndef evaluate(output, context):\n    {line}\n")
        };
        for (line, part) in [
            ("return lenn(output) > 1", "no function `lenn`: did you mean `len`?"),
            ("return [roundd(x) for x in output]", "did you mean `round`?"),
            ("return f'{sortedd(output)}'", "did you mean `sorted`?"),
            ("return output ** 2", "write `x * x`"),
        ] {
            match read(&code(line)) {
                Err(SandboxError::BadProgram { message, line: Some(4) }) => {
                    assert!(message.contains(part), "{line}: {message}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
        for line in [
            "return half(len(output)) > 1 and isinstance(output, dict) and sum([1]) == 1",
            "f = lambda x: x\n    return f(output)",
            "while True:\n        if output: break\n    return any(x for x in output)",
            "return frobnicate(output)",
            "x: List[int] = [1]\n    return later(x)\ndef later(x):\n    return json.decode('1') == x",
        ] {
            assert_eq!(read(&code(line)), Ok(()), "{line}");
        }
    }

    #[test]
    fn a_while_goes_round_until_its_condition_is_false() {
        let code = "def evaluate(output, context):\n    n, odd = 0, 0\n    while n < 10:\n        n += 1\n        if n % 2 == 0:\n            continue\n        odd += n\n        if odd > 15: break\n    return [n, odd]\n";
        assert_eq!(run(code), Ok(json!([7, 16])));
        let code = "def evaluate(output, context):\n    while True:\n        if True: pass\n        return output['missing']\n";
        assert!(matches!(run(code), Err(SandboxError::BadProgram { line: Some(4), .. })));
    }

    #[test]
    fn long_loops_and_deep_calls_end_by_count() {
        for body in [
            "while True: pass",
            "while True:\n        continue",
            "for i in range(1000000000): pass",
            "for i in range(1000000000):\n        # nothing\n        pass",
            "for i in range(3000):\n        for j in range(3000): None",
            "x = [i for i in range(1000000000) if False]",
            "x = [1 for i in range(3000) for j in range(3000) if False]",
            "x = [len([0 for j in range(3000) if False]) for i in range(3000) if False or i < 0 or not [0 for j in range(3000) if False]]",
            "x = {i: i for i in range(1000000000) if i < 0}",
            "x = any(i < 0 for i in range(3000) for j in range(3000) if j < 0)",
            "x = f'{[0 for j in range(1000000000) if False]}'",
            "x = max(range(1000000000))",
            "x = min(range(1000000000), key=lambda x: 1)",
            "x = sum(range(1000000000))",
            "x = all(range(1, 1000000000))",
            "x = any([0] * 3000000)",
            "x = sorted(range(1000000000), key=lambda x: 0)",
            "x = map(lambda x: 0, range(1000000000))",
            "x = filter(lambda x: False, range(1000000000))",
        ] {
            let code = format!("def evaluate(output, context):\n    {body}\n    return True\n");
            assert_eq!(run(&code), Err(SandboxError::limit(Limit::Ticks)), "{body}");
        }
        let code = "def evaluate(output, context):\n    for i in range(1000000000):\n        x = i\n    return True\n";
        assert_eq!(run(code), Err(SandboxError::limit(Limit::Ticks)));
        let code = "def f(n):\n    return f(n + 1)\ndef evaluate(output, context):\n    return f(0)\n";
        assert_eq!(run(code), Err(SandboxError::limit(Limit::Stack)));
    }
}
