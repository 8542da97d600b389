//! The keys that each part of a document may have. The keys at the end of a list are for people and drawing
//! tools: this crate does not read them. A length that may be given in milliseconds may be given in every
//! other unit.

pub const ROOT: &[&str] = &[
    "nodes",
    "edges",
    "metadata",
    "limits",
    "inputs",
    "name",
    "description",
    "version",
    "tags",
    "kind",
    "id",
    "outputs",
    "ui",
];

pub const METADATA: &[&str] = &[
    "name",
    "description",
    "version",
    "tags",
    "endless",
    "on_condition_error",
    "author",
    "owner",
    "created_at",
    "updated_at",
    "created_by",
    "labels",
    "annotations",
];

pub const LIMITS: &[&str] = &[
    "max_hops",
    "max_fanout",
    "max_bytes",
    "max_payload_bytes",
    "payload_bytes",
    "max_output_bytes",
    "max_size_bytes",
    "max_bytes_scanned",
    "max_wall_time",
    "max_wall_time_ms",
    "wall_time",
    "wall_time_ms",
    "max_wall_clock",
    "max_wall_clock_ms",
    "wall_clock",
    "wall_clock_ms",
    "max_runtime",
    "max_runtime_ms",
    "max_duration",
    "max_duration_ms",
    "max_time",
    "max_time_ms",
    "time_limit",
    "time_limit_ms",
    "deadline",
    "deadline_ms",
    "timeout",
    "timeout_ms",
];

pub const EDGE: &[&str] =
    &["from", "to", "condition", "id", "label", "name", "description", "type", "metadata", "ui"];

pub const NODE: &[&str] = &[
    "id",
    "node_id",
    "type",
    "config",
    "config_ref",
    "type_url",
    "dependencies",
    "dependents",
    "wait_for_all",
    "retry",
    "retries",
    "timeout",
    "timeout_ms",
    "limits",
    "loop",
    "branch",
    "agent_config",
    "human_config",
    "rejection_path",
    "error_path",
    "on_exhausted",
    "on_condition_error",
    "compensator",
    "can_emit_to",
    "max_fanout",
    "requires_approval",
    "allowed_tools",
    "queue",
    "is_entry",
    "is_terminal",
    "name",
    "label",
    "title",
    "description",
    "position",
    "ui",
    "metadata",
    "tags",
    "notes",
];

pub const NODE_LIMITS: &[&str] = &["deadline", "deadline_ms", "max_hops", "max_fanout"];

pub const CONFIG_REF: &[&str] = &["type_url", "cas_ref"];

pub const LOOP: &[&str] = &[
    "enabled",
    "condition",
    "max_iterations",
    "loop_back_to",
    "break_path",
    "timeout_path",
    "check_condition_first",
    "description",
];

pub const BRANCH: &[&str] = &["enabled", "type", "rules", "default", "available_next_nodes", "description"];

pub const RULE: &[&str] = &["condition", "next_nodes", "name", "label", "description"];

pub const RETRY: &[&str] = &[
    "max_attempts",
    "backoff_ms",
    "backoff_multiplier",
    "backoff",
    "multiplier",
    "initial_delay",
    "initial_delay_ms",
    "max_delay",
    "max_delay_ms",
    "max_backoff_ms",
    "jitter",
    "no_retry_on",
];

pub const COMPENSATOR: &[&str] =
    &["action", "task", "timeout", "timeout_ms", "retry", "retries", "config", "description"];

pub const HUMAN: &[&str] = &[
    "approvers",
    "approver",
    "timeout",
    "timeout_ms",
    "escalation_policy",
    "escalation",
    "approval_ui_url",
    "title",
    "message",
    "description",
    "instructions",
    "form",
    "requester",
    "metadata",
];

pub const ESCALATION: &[&str] = &["after", "after_ms", "approvers", "approver"];
