//! Every example of the design documents the language began with: forbidden ones are refused with the
//! documents' rewrite in the message, all others register.

use super::{errors_of, examine};

/// From "DSL Workflow Implementation".
const IMPLEMENTATION: &[&str] = &[
    "task(\"functionName\", { \"key\": \"value\" })\nsleep(10)",
    "orderId = inputs.orderId\nresult = task(\"charge\", { orderId })",
    "if (payment.success) {\n  task(\"ship\", { orderId })\n} else {\n  task(\"refund\", { orderId })\n}",
    "for (item in inputs.items) {\n  task(\"processItem\", { item })\n}",
    "// Wait for all\n[payment, inventory] = all([\n  task(\"charge\", { orderId }),\n  task(\"reserve\", { orderId })\n])\n\n\
     // Wait for first\nwinner = any([\n  task(\"provider1\", { request }),\n  task(\"provider2\", { request })\n])",
    "// CORRECT\nresult1 = task(\"first\", {})\nresult2 = task(\"second\", { result1 })\n\
     result3 = task(\"third\", { result2 })",
    "// Tasks return status objects\nresult = task(\"charge\", { amount })\n\n// Check status in DSL\n\
     if (result.status == \"failed\") {\n  task(\"handleFailure\", { result.error })\n}",
    "task(\"someTask\", {})",
];

/// From "Technical Deep Dive".
const DEEP_DIVE: &[&str] = &[
    "// workflow.flow\nworkflow(ctx, inputs) {\n  let payment = await task(\"chargeCard\", { amount: 100 })\n  \
     // ^ Snapshot happens here\n\n  await task(\"shipOrder\", { orderId: payment.orderId })\n}",
    "workflow { task(\"foo\") }",
    "workflow { task(\"foo\"); task(\"bar\") }",
];

/// From "Workflow Executor Refactoring Plan".
const REFACTORING: &[&str] = &[
    "await Task.all([\n  Task.run(\"foo\", {}),\n  Task.any([\n    Task.run(\"bar\", {}),\n    Task.all([\n      \
     Task.run(\"baz\", {}),\n      Task.delay(1000)\n    ])\n  ])\n])",
    "// Workflow code\nlet x = await Task.run(\"foo\", {})",
];

#[test]
fn every_example_the_documents_allow_registers() {
    for source in [IMPLEMENTATION, DEEP_DIVE, REFACTORING].concat() {
        assert_eq!(errors_of(source), [""; 0], "{source}");
    }
}

/// "No Nested Awaits", "No Closures" and "No Await Outside Top Level" of "DSL Workflow Implementation".
#[test]
fn every_example_the_documents_forbid_is_refused_with_its_rewrite() {
    let forbidden = [
        (
            "// FORBIDDEN\ntask(\"outer\", {\n  callback: task(\"inner\")  // Creates call stack\n})",
            "FLOW021",
            "  let n = await task(\"inner\")\n  task(\"outer\", {\n    callback: n  // Creates call stack\n  })",
        ),
        (
            "// FORBIDDEN\nfor (i in range) {\n  task(\"process\", {\n    getValue: () => i  // Captures scope\n  })\n}",
            "FLOW023",
            "  task(\"process\", {\n    getValue: i  // Captures scope\n  })",
        ),
        (
            "// FORBIDDEN\nfunction helper() {\n  return task(\"something\")  // Not at top level\n}",
            "FLOW024",
            "  let n = await Workflow.run(\"helper\", { })",
        ),
    ];
    for (source, code, rewrite) in forbidden {
        let checked = examine(source, false).checked;
        assert_eq!(super::errors(&checked), [code], "{source}");
        let refused = checked.diagnostics.iter().find(|diagnostic| diagnostic.code == code).unwrap();
        let help = refused.help.as_deref().unwrap_or_default();
        assert!(help.contains(rewrite), "{help}");
    }
}
