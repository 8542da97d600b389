//! Every condition of the seed documents, with an output that meets it and one that does not.

use super::*;

#[track_caller]
fn met(condition: &Value, output: Value, past: &[(&str, Value)]) {
    assert_eq!(verdict_with(condition, &output, past), Verdict::Met, "{condition}");
}

#[track_caller]
fn unmet(condition: &Value, output: Value, past: &[(&str, Value)]) {
    assert_eq!(verdict_with(condition, &output, past), Verdict::NotMet, "{condition}");
}

fn cel(expression: &str) -> Value {
    json!({"type": "cel", "expression": expression})
}

#[test]
fn the_loop_while_the_status_is_not_200() {
    let condition = cel("output.status != 200");
    met(&condition, json!({"status": 503}), &[]);
    unmet(&condition, json!({"status": 200}), &[]);
    not_evaluable(verdict_with(&condition, &json!({}), &[]), "status");
}

#[test]
fn the_branch_on_a_score_and_the_revenue_of_another_node() {
    let condition = cel("output.score >= 80 && ctx.enrich_data.output.revenue > 100000");
    met(&condition, json!({"score": 80}), &[("enrich_data", json!({"revenue": 100_001}))]);
    unmet(&condition, json!({"score": 79.9}), &[("enrich_data", json!({"revenue": 100_001}))]);
    unmet(&condition, json!({"score": 10}), &[]);
    not_evaluable(verdict_with(&condition, &json!({"score": 90}), &[]), "enrich_data");
    met(&cel("output.score >= 50"), json!({"score": 50}), &[]);
    unmet(&cel("output.score < 50"), json!({"score": 50}), &[]);
}

#[test]
fn the_retry_by_status_and_count() {
    let condition = cel("output.status != 200 && output.retry_count < 5");
    met(&condition, json!({"status": 500, "retry_count": 4}), &[]);
    unmet(&condition, json!({"status": 500, "retry_count": 5}), &[]);
    met(
        &cel("output.status == 'success' && output.amount >= 1000"),
        json!({"status": "success", "amount": 1e3}),
        &[],
    );
    unmet(&cel("output.status == 'success'"), json!({"status": "failed"}), &[]);
}

#[test]
fn the_loop_until_a_schema_fits() {
    let condition = json!({
        "type": "schema_validation",
        "schema": {
            "type": "object",
            "required": ["status", "data"],
            "properties": {"status": {"const": "success"}, "data": {"type": "array", "minItems": 1}}
        },
        "invert": true
    });
    met(&condition, json!({"status": "success", "data": []}), &[]);
    met(&condition, json!(null), &[]);
    unmet(&condition, json!({"status": "success", "data": [1]}), &[]);
}

#[test]
fn a_schema_reference_that_leads_nowhere_is_named() {
    let condition = json!({"type": "schema_validation", "schema_ref": "cas://sha256:schema123"});
    not_evaluable(verdict(condition, json!({})), "cas://sha256:schema123");
}

#[test]
fn the_number_of_enterprise_customers() {
    let condition = json!({
        "type": "jsonpath",
        "query": "$.data.customers[?(@.tier == 'enterprise')].length()",
        "operator": ">",
        "value": 0
    });
    met(&condition, json!({"data": {"customers": [{"tier": "free"}, {"tier": "enterprise"}]}}), &[]);
    unmet(&condition, json!({"data": {"customers": [{"tier": "free"}, {}]}}), &[]);
    unmet(&condition, json!({}), &[]);
}

#[test]
fn the_sum_of_transactions() {
    let condition = json!({"type": "jsonpath", "query": "$.transactions[*].amount", "operator": "sum_gt", "value": 10000});
    met(&condition, json!({"transactions": [{"amount": 9999}, {"amount": 1.5}, {}]}), &[]);
    unmet(&condition, json!({"transactions": [{"amount": 9999}, {"amount": 1}]}), &[]);
    unmet(&condition, json!({"transactions": []}), &[]);
}

#[test]
fn the_final_score_against_the_initial_one() {
    let condition = json!({
        "type": "cross_node_comparison",
        "left": {"source": "current", "path": "output.final_score"},
        "operator": ">",
        "right": {"source": "context", "node": "initial_score", "path": "output.score"}
    });
    met(&condition, json!({"final_score": 8}), &[("initial_score", json!({"score": 7.5}))]);
    unmet(&condition, json!({"final_score": 7}), &[("initial_score", json!({"score": 7.5}))]);
    unmet(&condition, json!({"final_score": 8}), &[]);
}

#[test]
fn the_growth_over_a_forecast_is_no_division_of_whole_numbers() {
    let expression = "(current.output.revenue - ctx.forecast.output.predicted_revenue) \
                      / ctx.forecast.output.predicted_revenue > 0.1";
    let condition = json!({"type": "cross_node_comparison", "expression": expression});
    met(&condition, json!({"revenue": 1200}), &[("forecast", json!({"predicted_revenue": 1000}))]);
    unmet(&condition, json!({"revenue": 1100}), &[("forecast", json!({"predicted_revenue": 1000}))]);
    not_evaluable(
        verdict_with(&condition, &json!({"revenue": 1}), &[("forecast", json!({"predicted_revenue": 0}))]),
        "division by zero",
    );
}

#[test]
fn the_or_of_a_score_and_a_referral() {
    let condition = json!({
        "type": "composite",
        "operator": "OR",
        "conditions": [
            {"type": "cel", "expression": "output.score >= 80"},
            {
                "type": "cross_node_comparison",
                "left": {"source": "context", "node": "referral_check", "path": "output.is_referral"},
                "operator": "==",
                "right": {"value": true}
            }
        ]
    });
    met(&condition, json!({"score": 10}), &[("referral_check", json!({"is_referral": true}))]);
    met(&condition, json!({"score": 90}), &[]);
    unmet(&condition, json!({"score": 10}), &[("referral_check", json!({"is_referral": "true"}))]);
}

#[test]
fn the_and_of_a_status_the_number_of_errors_and_a_schema() {
    let condition = json!({
        "type": "composite",
        "operator": "AND",
        "conditions": [
            {"type": "cel", "expression": "output.status != 'success'"},
            {"type": "jsonpath", "query": "$.errors.length()", "operator": "<", "value": 3},
            {"type": "schema_validation", "schema": {"required": ["errors"]}, "schema_ref": "cas://sha256:retry_schema"}
        ]
    });
    met(&condition, json!({"status": "failed", "errors": [1, 2]}), &[]);
    unmet(&condition, json!({"status": "failed", "errors": [1, 2, 3]}), &[]);
    unmet(&condition, json!({"status": "failed"}), &[]);
}

#[test]
fn the_payment_is_tried_again() {
    let condition = json!({
        "type": "composite",
        "operator": "AND",
        "conditions": [
            {"type": "cel", "expression": "output.status != 'success'"},
            {
                "type": "jsonpath",
                "query": "$.error_code",
                "operator": "in",
                "value": ["TIMEOUT", "RATE_LIMIT", "TEMP_ERROR"]
            },
            {
                "type": "cross_node_comparison",
                "left": {"source": "current", "path": "output.amount"},
                "operator": "==",
                "right": {"source": "context", "node": "calculate_total", "path": "output.final_amount"}
            }
        ]
    });
    let total = [("calculate_total", json!({"final_amount": 20.0}))];
    met(&condition, json!({"status": "failed", "error_code": "RATE_LIMIT", "amount": 20}), &total);
    unmet(&condition, json!({"status": "failed", "error_code": "CARD_STOLEN", "amount": 20}), &total);
    unmet(&condition, json!({"status": "failed", "error_code": "TIMEOUT", "amount": 21}), &total);
}

#[test]
fn the_sandbox_is_asked_with_all_it_may_see_and_the_limits_given() {
    let condition = json!({
        "type": "python_sandbox",
        "code_ref": "cas://sha256:python_evaluator",
        "code": "def evaluate(output, context):\n    return True\n",
        "timeout_ms": 1000,
        "max_memory_mb": 50
    });
    let Verdict::Ask(call) = verdict_with(&condition, &json!({"a": 1}), &[("b", json!(2))]) else { panic!() };
    assert_eq!(
        serde_json::to_value(&call).unwrap(),
        json!({
            "code": "def evaluate(output, context):\n    return True\n",
            "output": {"a": 1},
            "context": {"b": {"output": 2, "metadata": {
                "completed_at": "2026-11-15T20:30:00.123Z", "duration_ms": 1500, "attempt": 2
            }}, "inputs": {"limit": 10}},
            "timeout_ms": 1000,
            "max_memory_mb": 50
        })
    );
}

#[test]
fn a_node_called_inputs_is_seen_instead_of_those_of_the_run() {
    let condition = json!({"type": "python_sandbox", "code": "x"});
    let asked = verdict_with(&condition, &json!(1), &[("inputs", json!("a node"))]);
    let Verdict::Ask(call) = asked else { panic!("{asked:?}") };
    assert_eq!(call.context["inputs"]["output"], json!("a node"));
}
