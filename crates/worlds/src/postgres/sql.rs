//! Every statement this world sends, by name; the text lives in `sql/`.

/// One statement.
#[derive(Clone, Copy, Debug)]
pub struct Sql {
    pub name: &'static str,
    pub text: &'static str,
}

macro_rules! statements {
    ($($name:ident = $file:literal;)*) => {
        $(pub const $name: Sql = Sql { name: $file, text: include_str!(concat!("sql/", $file, ".sql")) };)*

    };
}

statements! {
    CLOCK = "clock";
    NOTIFY = "notify";
    TRY_LOCK = "try_lock";
    END_HOLDER = "end_holder";
    REGISTER = "register";
    PUT_NODE_TYPE = "put_node_type";
    REMOVE_NODE_TYPE = "remove_node_type";
    NODE_TYPES = "node_types";
    DEFINITION = "definition";
    LOCK_WORKFLOW = "lock_workflow";
    STORE_VERSION = "store_version";
    CURRENT_VERSION = "current_version";
    HAS_VERSION = "has_version";
    TAGS = "tags";
    TAG_HISTORY = "tag_history";
    MOVE_TAG = "move_tag";
    WORKFLOW_PATCHES = "workflow_patches";
    LAST_PATCH = "last_patch";
    KEEP_PATCH = "keep_patch";
    LAST_COMMIT = "last_commit";
    CHANGE_VERSION = "change_version";
    BEGIN_RUNS = "begin_runs";
    INSERT_RUNS = "insert_runs";
    REFUSE_ENDED_RUNS = "refuse_ended_runs";
    KNOWN_RUNS = "known_runs";
    INSERT_TASKS = "insert_tasks";
    REFUSE_ENDED_TASKS = "refuse_ended_tasks";
    KNOWN_TASKS = "known_tasks";
    LOCK_RUNS = "lock_runs";
    LOCK_RUNS_OF_TASKS = "lock_runs_of_tasks";
    LOCK_CHILDREN = "lock_children";
    LOOKUP_ENDED = "lookup_ended";
    KNOWN_DELIVERED = "known_delivered";
    MARK_DELIVERED = "mark_delivered";
    COUNT_INBOX = "count_inbox";
    PUT_MESSAGES = "put_messages";
    PUT_DORMANT = "put_dormant";
    PUT_TO_CHILDREN = "put_to_children";
    CLAIM_RUNS = "claim_runs";
    FIND_DUE = "find_due";
    RECLAIM_RUNS = "reclaim_runs";
    RECLAIM_TASKS = "reclaim_tasks";
    READ_INBOX = "read_inbox";
    CLAIM_TASKS = "claim_tasks";
    CLAIM_OVERDUE = "claim_overdue";
    READ_RUNS = "read_runs";
    COMMIT = "commit";
    COMMIT_CONSUME = "commit_consume";
    COMMIT_SETTLE = "commit_settle";
    COMMIT_REPEAT = "commit_repeat";
    RELEASE_RUNS = "release_runs";
    CANCEL_TASKS = "cancel_tasks";
    CANCEL_TIMERS = "cancel_timers";
    INSERT_TIMERS = "insert_timers";
    COMMIT_END = "commit_end";
    END_RUNS = "end_runs";
    END_CLEAR = "end_clear";
    END_DORMANT = "end_dormant";
    UNBLOCK_HELD = "unblock_held";
    FINISH_REMOVE = "finish_remove";
    FINISH_RETRY = "finish_retry";
    FINISH_HOLD = "finish_hold";
    FINISH_RELEASE = "finish_release";
    EXTEND = "extend";
    SWEEP = "sweep";
    LOCK_RUN = "lock_run";
    LOCK_ENDED_RUN = "lock_ended_run";
    OPERATOR_ROW = "operator_row";
    UNQUEUE_RUN = "unqueue_run";
    READY_RUN = "ready_run";
    READY_IF_TOLD = "ready_if_told";
    UNBLOCK_RUN = "unblock_run";
    PAUSE_NAME = "pause_name";
    RESUME_NAME = "resume_name";
    REOPEN_RUN = "reopen_run";
    GIVE_TIME = "give_time";
    OPEN_TASKS = "open_tasks";
    RAISE_CLAIMS = "raise_claims";
    LOCK_LETTERS = "lock_letters";
    SETTLE_FAILURES = "settle_failures";
    FORGET_FAILED = "forget_failed";
    READ_LETTER = "read_letter";
    REVIVE_TASKS = "revive_tasks";
    DISMISS_RUN = "dismiss_run";
    DISCARD_LETTER = "discard_letter";
    TASK_OWNER = "task_owner";
    PUT_SCHEDULE = "put_schedule";
    LOCK_SCHEDULE = "lock_schedule";
    REMOVE_SCHEDULE = "remove_schedule";
    DUE_SCHEDULES = "due_schedules";
    FIND_STUCK = "find_stuck";
    MARK_UNSERVED = "mark_unserved";
    GLANCE = "glance";
    TRY_DUTY = "try_duty";
    MAKE_MONTH = "make_month";
    OLD_MONTHS = "old_months";
    DROP_MONTH = "drop_month";
    RETAIN_RUNS = "retain_runs";
    RETAIN_TASKS = "retain_tasks";
    HAS_SCHEMA = "has_schema";
    APPLIED_MIGRATIONS = "applied_migrations";
    CREATE_SCHEMA = "create_schema";
    MIGRATION_LOCK = "migration_lock";
    MIGRATION_UNLOCK = "migration_unlock";
    MIGRATION_APPLIED = "migration_applied";
    PUT_BLOB = "put_blob";
    READ_BLOB = "read_blob";
    USE_BLOBS = "use_blobs";
    MISSING_BLOBS = "missing_blobs";
    DUE_BLOBS = "due_blobs";
    MONTHS = "months";
    NAMED_BLOBS = "named_blobs";
    NAMED_IN_MONTH = "named_in_month";
    NAMED_BY_DEFAULT = "named_by_default";
    SETTLE_BLOBS = "settle_blobs";
    LIST_RUNS = "list_runs";
    READ_RUN = "read_run";
    RUN_TASKS = "run_tasks";
    RUN_TIMERS = "run_timers";
    RUN_CHILDREN = "run_children";
    RUN_INBOX = "run_inbox";
    RUN_LETTERS = "run_letters";
    HISTORY = "history";
    ATTEMPTS = "attempts";
    LIST_TASKS = "list_tasks";
    READ_TASK = "read_task";
    LIST_DEAD = "list_dead";
    APPROVALS_WAITING = "approvals_waiting";
    APPROVALS_ALL = "approvals_all";
    APPROVALS_OF_RUN = "approvals_of_run";
    APPROVAL_ANSWERS = "approval_answers";
    WORKERS = "workers";
    QUEUES = "queues";
    READY_WORK = "ready_work";
    SNAPSHOTS = "snapshots";
    BLOBS = "blobs";
    SCHEDULES = "schedules";
    WORKFLOWS = "workflows";
    VERSIONS = "versions";
    HEALTH = "health";
}
