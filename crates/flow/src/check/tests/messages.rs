//! Messages as the user sees them, each with its source.

use insta::assert_snapshot;
use rhythm_syntax::render::{Style, render};

use super::examine;

fn shown(source: &str) -> String {
    let diagnostics = examine(source, false).checked.diagnostics;
    let said = render("order.flow", source, &diagnostics, Style::Plain);
    let said: Vec<&str> = said.lines().map(str::trim_end).collect();
    format!("{source}\n\n{}", said.join("\n"))
}

/// Defines one test a line: its name and the program.
macro_rules! messages {
    ($($name:ident: $source:expr;)*) => {
        $(#[test] fn $name() { assert_snapshot!(stringify!($name), shown($source)); })*
    };
}

messages! {
    an_await_in_an_argument: "log(await Task.run(\"total\", { order: Inputs.order }), \"total\")";
    an_await_in_a_condition: "if (await Task.run(\"approve\", { }) == \"yes\") {\n  log(\"approved\")\n}";
    an_await_in_an_else_if: "if (Inputs.vip) {\n  log(1)\n} else if ((await Task.run(\"score\", { })).points > 10) {\n  log(2)\n}";
    an_await_in_the_condition_of_a_loop: "while (!await Task.run(\"ready\", { })) {\n  sleep(5)\n}";
    an_await_in_the_head_of_a_for: "for (const order of await Task.run(\"orders\", { })) {\n  log(order)\n}";
    an_await_before_a_property: "let total = (await Task.run(\"cart\", { })).total\nreturn total";
    awaits_in_a_list_and_an_object: "return { a: await Task.run(\"a\", { }), b: [await Task.run(\"b\", { })] }";
    awaits_among_handles: "let [a, b] = await Promise.all([\n  await Task.run(\"a\", { }),\n  await Task.run(\"b\", { }),\n])\nreturn a + b";
    an_await_behind_another: "let x = await await Task.run(\"a\", { })\nreturn x";
    an_await_in_a_branch: "let price = Inputs.express ? await Task.run(\"express\", { }) : 0\nreturn price";
    an_await_after_and: "Inputs.notify && await Task.run(\"notify\", { })";
    an_await_after_coalesce: "return Inputs.price ?? await Task.run(\"price\", { })";
    an_await_in_an_index: "let prices = { }\nprices[await Task.run(\"key\", { })] = 1\nreturn prices";
    an_await_in_a_statement_too_long_to_repeat: concat!(
        "log(await Task.run(\"a\", { }), \"", "................................................................",
        "................................................................................................",
        "................................................................................................",
        "................................................................................................",
        "................................................................................................",
        "................................................................................................",
        "................................................................................................\")",
    );
    a_task_inside_of_inputs: "workflow(ctx, inputs) {\n  task(\"outer\", {\n    callback: task(\"inner\")\n  })\n}";
    tasks_three_deep: "task(\"a\", { b: task(\"b\", { c: task(\"c\") }) })";
    a_task_in_a_condition: "if (task(\"check\", { id: 1 }).ok) {\n  log(\"fine\")\n}";
    a_task_in_a_branch: "let sent = Inputs.mail ? task(\"mail\") : task(\"letter\")\nreturn sent";
    tasks_without_their_list: "let both = all(task(\"a\"), task(\"b\"))\nreturn both";
    a_task_with_a_timeout: "return await Task.timeout(task(\"slow\"), \"5s\")";
    a_task_added_to_a_list: "let handles = []\nfor (const x of Inputs.list) {\n  handles = handles.concat(task(\"a\", { x }))\n}\nreturn await Promise.all(handles)";
    a_handle_as_a_value: "let order = Task.run(\"order\", { }).id\nreturn order";
    a_name_that_holds_a_handle: "let charge = Task.run(\"charge\", { id: Inputs.id })\nif (charge.ok) {\n  log(charge.id)\n}";
    a_handle_taken_apart: "let { id } = Task.run(\"order\", { })\nreturn id";
    handles_that_are_dropped: "Timer.delay(\"3s\")\nSignal.next(\"go\")\nlet t = Timer.delay(5)";
    constants_of_the_wrong_type: "await Task.run(\"a\", { }, { timeout: \"90\", priority: \"high\", retries: { max_attempts: 0 }, settle: 1 })\nawait Task.run(5, { })";
    a_duration_in_words: "await Timer.delay(\"1 hour\")\nawait Timer.delay(\"2 days and a bit\")";
    front_matter_between_dashes: "---\nname: order\n---\nreturn 1";
    an_error_made_with_new: "throw new Error(\"boom\")\n";
    a_date_made_with_new: "return new Date()";
    undefined_and_typeof: "if (inputs.name === undefined) {\n  log(1)\n}\nlet x = inputs.a.b !== undefined\nlog(x, inputs.c == undefined)\nif (typeof inputs.name === \"undefined\") {\n  log(2)\n}";
    elseif_and_elif: "if (Inputs.a) {\n  log(1)\n} elseif (Inputs.b) {\n  log(2)\n} elif (Inputs.c) {\n  log(3)\n}";
    elseif_with_an_else: "if (Inputs.a) {\n  log(1)\n} elseif (Inputs.b) {\n  log(2)\n} else {\n  log(3)\n}";
    and_or_and_not: "if (Inputs.a and Inputs.b) {\n  log(1)\n}\nif (not Inputs.a) {\n  log(2)\n}\nlog(Inputs.a or Inputs.b)";
    and_outside_of_brackets: "let both = Inputs.a and Inputs.b\nreturn both";
    input_without_its_s: "return input.name + Input.name";
    a_quote_inside_of_a_string: "log('it's', 'fine')\nlog('she said \"it's\"')\nreturn \"b\"";
    unknown_names_beside_a_syntax_error: "let order = await Task.run(\"order\", { }\n\nlet total = Inputs.total\nreturn ordr.id + totl + Math.sqr(2)";
    a_map: "let doubled = Inputs.list.map(x => x * 2)\nreturn doubled";
    a_map_of_a_field: "return Inputs.orders.map(order => order.id).join(\", \")";
    a_map_of_tasks: "await Promise.all(Inputs.orders.map(async (order) => { return await Task.run(\"ship\", { order }) }))";
    a_filter_in_a_condition: "if (Inputs.orders.filter(o => o.late).length > 3) {\n  log(\"late\")\n}";
    a_for_each: "Inputs.orders.forEach((order, index) => {\n  log(index)\n  log(order)\n})";
    a_reduce: "return Inputs.orders.reduce((sum, order) => sum + order.total, 0)";
    a_then: "Task.run(\"a\", { }).then(result => log(result))";
    a_closure_among_inputs: "for (i in Inputs.range) {\n  task(\"process\", {\n    getValue: () => i\n  })\n}";
    a_named_closure: "const double = (x) => x * 2\nreturn double(3)";
    a_function: "function helper(order, note) {\n  log(note)\n  return task(\"something\", { order })\n}\nreturn helper(Inputs.order, \"now\")";
    a_constant_that_is_assigned: "const total = 0\nfor (const item of Inputs.items) {\n  total = total + item.price\n  item = null\n}\nreturn total";
    a_break_outside_of_a_loop: "if (Inputs.done) {\n  break\n}";
    a_pattern_without_a_value: "let { name, price }\nreturn name + price";
    unknown_names: "let amount = Inputs.amount\nlog(ammount, undefined, somewhere)\nreturn chargeCard(amount)";
    names_out_of_their_block: "if (Inputs.late) {\n  let fee = 5\n  log(fee)\n}\nlog(rate)\nlet rate = 2\nreturn fee * rate";
    unknown_functions_of_the_library: "let x = await Task.rum(\"a\", { })\nreturn [x, Math.random(), ctx.runId, Inputs.list.push(1), Inputs.name.toUpperCase()]";
    wrong_numbers_of_arguments: "await Task.run(\"a\")\nreturn [Math.min(), not(1, 2), Inputs.text.slice(1, 2, 3)]";
    what_is_no_function: "let price = 3\nreturn [price(2), Inputs.list[0](), Task(\"a\"), add]";
    code_that_is_never_reached: "while (true) {\n  if (Inputs.a) {\n    return 1\n    log(\"after\")\n  }\n}\nlog(\"never\")";
    what_is_never_read: "let result = await Task.run(\"a\", { })\nlet count = 0\ncount = 1";
    statements_that_do_nothing: "let list = [1]\nlist.concat([2])\nlist.length == 2\nlist";
    options_nobody_reads: "await Task.run(\"a\", { }, {\n  timout: 5,\n  retries: { attempts: 3, backoff: \"expo\" },\n  delay: \"5 min\",\n  color: \"red\",\n})";
    conditions_that_never_change: "if (true) {\n  log(1)\n}\nwhile (null) {\n  log(2)\n}";
    a_name_declared_twice: "let x = 1\nlog(x)\nlet x = 2\nlog(x)\nconst y";
    an_await_for_nothing: "await [Task.run(\"a\", { })]\nawait 5";
    a_key_given_twice: "return { id: 1, name: 2, id: 3 }";
    a_race_of_tasks: "return await Promise.race([Task.run(\"a\", { }), Task.run(\"b\", { }), Timer.delay(5)])";
}
