-- Physical tables. Live and ended things are apart, so that what every step touches stays small. `key` and the other
-- numbers come from `world.last_number`, which only grows: larger means later. Times are milliseconds.

CREATE TABLE world (
    id            INTEGER PRIMARY KEY CHECK (id = 1),
    clock         INTEGER NOT NULL,     -- time never goes back behind this
    last_number   INTEGER NOT NULL,
    run_hints     INTEGER NOT NULL,     -- what other processes compare to learn of work
    task_hints    INTEGER NOT NULL,
    cancel_hints  INTEGER NOT NULL
);
INSERT INTO world VALUES (1, 0, 0, 0, 0, 0);

-- The facts of a run that has not ended, and the value of its fold.
CREATE TABLE live_run (
    key             INTEGER PRIMARY KEY,
    tenant          TEXT NOT NULL,
    run             TEXT NOT NULL,
    workflow        TEXT NOT NULL,
    version         TEXT NOT NULL,
    kind            TEXT NOT NULL,
    priority        INTEGER NOT NULL,
    parent_run      TEXT,
    parent_child    INTEGER,
    created_at      INTEGER NOT NULL,
    deadline_at     INTEGER,
    updated_at      INTEGER NOT NULL,
    revision        INTEGER NOT NULL,
    paused          INTEGER NOT NULL,
    aside           INTEGER NOT NULL,   -- deliveries do not make it ready
    blocked_code    TEXT,
    blocked_since   INTEGER,
    blocked_detail  TEXT,
    stuck           INTEGER NOT NULL,   -- reported as stuck since it last moved
    last_commit     TEXT,               -- absent until something was committed
    seq             INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    awaiting        TEXT NOT NULL,
    cancelling      INTEGER NOT NULL,
    format          INTEGER,
    snapshot        BLOB
);
CREATE UNIQUE INDEX live_run_by_id ON live_run (run, tenant);
CREATE INDEX live_run_by_parent ON live_run (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX live_run_blocked ON live_run (blocked_code) WHERE blocked_code IS NOT NULL;

-- Whose turn it is: one small row for each live run, so that deliveries and claims do not rewrite snapshots.
CREATE TABLE run_queue (
    key          INTEGER PRIMARY KEY,
    tenant       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    workflow     TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    place        INTEGER NOT NULL,      -- 0 out, 1 ready, 2 claimed, 3 ready later
    ready_at     INTEGER NOT NULL,
    ticket       INTEGER NOT NULL,
    worker       TEXT,
    claim_until  INTEGER,
    ask          INTEGER,               -- the call that claimed it
    claim        INTEGER NOT NULL,
    deliveries   INTEGER NOT NULL,
    arrived      INTEGER NOT NULL
);
CREATE INDEX run_queue_ready ON run_queue (tenant, kind, workflow, priority DESC, ready_at, ticket) WHERE place = 1;
CREATE INDEX run_queue_claimed ON run_queue (claim_until) WHERE place = 2;
CREATE INDEX run_queue_later ON run_queue (ready_at) WHERE place = 3;

-- What the start message is made of; stays with the run until retention.
CREATE TABLE run_start (
    key    INTEGER PRIMARY KEY,
    input  TEXT NOT NULL,
    actor  TEXT NOT NULL,
    trace  TEXT
);

CREATE TABLE run_tag (
    key    INTEGER NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    PRIMARY KEY (key, name)
) WITHOUT ROWID;
CREATE INDEX run_tag_by_value ON run_tag (name, value);

CREATE TABLE ended_run (
    key             INTEGER PRIMARY KEY,
    tenant          TEXT NOT NULL,
    run             TEXT NOT NULL,
    workflow        TEXT NOT NULL,
    version         TEXT NOT NULL,
    kind            TEXT NOT NULL,
    priority        INTEGER NOT NULL,
    parent_run      TEXT,
    parent_child    INTEGER,
    created_at      INTEGER NOT NULL,
    deadline_at     INTEGER,
    updated_at      INTEGER NOT NULL,
    revision        INTEGER NOT NULL,
    paused          INTEGER NOT NULL,
    blocked_code    TEXT,
    blocked_since   INTEGER,
    blocked_detail  TEXT,
    last_commit     TEXT,
    seq             INTEGER NOT NULL,
    at              INTEGER NOT NULL,
    awaiting        TEXT NOT NULL,
    cancelling      INTEGER NOT NULL,
    format          INTEGER,
    snapshot        BLOB,
    claim           INTEGER NOT NULL,
    arrived         INTEGER NOT NULL,
    status          TEXT NOT NULL,
    ended_at        INTEGER NOT NULL,
    output          TEXT,
    failure         TEXT,
    failed_by       TEXT
);
CREATE UNIQUE INDEX ended_run_by_id ON ended_run (run, tenant);
CREATE INDEX ended_run_by_parent ON ended_run (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX ended_run_by_end ON ended_run (ended_at);

CREATE TABLE inbox (
    number   INTEGER PRIMARY KEY,       -- arrival order
    run_key  INTEGER NOT NULL,
    message  TEXT NOT NULL,
    at       INTEGER NOT NULL,
    actor    TEXT NOT NULL,
    trace    TEXT,
    signal   TEXT,                      -- the name a signal waits under
    body     TEXT NOT NULL
);
CREATE UNIQUE INDEX inbox_by_run ON inbox (run_key, message);

-- The ids of every message that came from outside.
CREATE TABLE delivered (
    run_key  INTEGER NOT NULL,
    message  TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (run_key, message)
) WITHOUT ROWID;

CREATE TABLE timer (
    number   INTEGER PRIMARY KEY,
    run_key  INTEGER NOT NULL,
    message  TEXT NOT NULL,
    due_at   INTEGER NOT NULL,
    timer    INTEGER,                   -- its command number; absent for deadlines and delayed starts
    body     TEXT                       -- absent for delayed starts
);
CREATE UNIQUE INDEX timer_by_run ON timer (run_key, message);
CREATE INDEX timer_due ON timer (due_at);

-- A run's tasks have ids `run:number`, so they are found by a range of their ids.
CREATE TABLE task (
    key          INTEGER PRIMARY KEY,
    tenant       TEXT NOT NULL,
    task         TEXT NOT NULL,
    run_key      INTEGER,
    run          TEXT,
    number       INTEGER,
    name         TEXT NOT NULL,
    queue        TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    state        INTEGER NOT NULL,      -- 0 delayed, 1 ready, 2 running, 3 held
    due_at       INTEGER NOT NULL,
    since        INTEGER NOT NULL,
    claim        INTEGER NOT NULL,
    worker       TEXT,
    claim_until  INTEGER,
    ask          INTEGER,               -- the call that claimed it, if it was one
    attempt      INTEGER NOT NULL,
    delivery     INTEGER NOT NULL,
    cancel       INTEGER NOT NULL,
    progress     TEXT,
    created_at   INTEGER NOT NULL,
    deadline_at  INTEGER,
    input        TEXT NOT NULL,
    options      TEXT NOT NULL,
    actor        TEXT NOT NULL,
    trace        TEXT
);
CREATE UNIQUE INDEX task_by_id ON task (task, tenant);
CREATE INDEX task_delayed ON task (due_at) WHERE state = 0;
CREATE INDEX task_ready ON task (tenant, queue, name, priority DESC, due_at) WHERE state = 1;
CREATE INDEX task_running ON task (claim_until) WHERE state = 2;
CREATE INDEX task_deadline ON task (deadline_at) WHERE deadline_at IS NOT NULL;

-- Standalone tasks only: a run's tasks are remembered by its history.
CREATE TABLE ended_task (
    key          INTEGER PRIMARY KEY,
    tenant       TEXT NOT NULL,
    task         TEXT NOT NULL,
    name         TEXT NOT NULL,
    queue        TEXT NOT NULL,
    state        INTEGER NOT NULL,      -- 4 completed, 5 failed, 6 cancelled
    attempt      INTEGER NOT NULL,
    delivery     INTEGER NOT NULL,
    worker       TEXT,
    cancel       INTEGER NOT NULL,
    progress     TEXT,
    created_at   INTEGER NOT NULL,
    ended_at     INTEGER NOT NULL,
    deadline_at  INTEGER,
    input        TEXT NOT NULL,
    options      TEXT NOT NULL,
    output       TEXT,
    failure      TEXT
);
CREATE UNIQUE INDEX ended_task_by_id ON ended_task (task, tenant);
CREATE INDEX ended_task_by_end ON ended_task (ended_at);

-- Ended attempts that were not the last word.
CREATE TABLE attempt (
    number    INTEGER PRIMARY KEY,
    tenant    TEXT NOT NULL,
    task      TEXT NOT NULL,
    run_key   INTEGER,
    attempt   INTEGER NOT NULL,
    delivery  INTEGER NOT NULL,
    worker    TEXT NOT NULL,
    ended_at  INTEGER NOT NULL,
    failure   TEXT NOT NULL,
    next_at   INTEGER
);
CREATE INDEX attempt_by_run ON attempt (run_key) WHERE run_key IS NOT NULL;
CREATE INDEX attempt_by_task ON attempt (task) WHERE run_key IS NULL;

CREATE TABLE dead_letter (
    number    INTEGER PRIMARY KEY,
    tenant    TEXT NOT NULL,
    task      TEXT NOT NULL,
    run_key   INTEGER,
    run       TEXT,
    command   INTEGER,                  -- the task's number within its run
    name      TEXT NOT NULL,
    queue     TEXT NOT NULL,
    priority  INTEGER NOT NULL,
    input     TEXT NOT NULL,
    options   TEXT NOT NULL,
    actor     TEXT NOT NULL,
    trace     TEXT,
    claim     INTEGER NOT NULL,         -- goes on growing when the task is requeued
    failure   TEXT NOT NULL,
    attempts  INTEGER NOT NULL,
    died_at   INTEGER NOT NULL,
    held      INTEGER NOT NULL
);
CREATE UNIQUE INDEX dead_letter_by_id ON dead_letter (task, tenant);
CREATE INDEX dead_letter_by_run ON dead_letter (run_key) WHERE run_key IS NOT NULL;

CREATE TABLE event (
    run_key  INTEGER NOT NULL,
    seq      INTEGER NOT NULL,
    type     TEXT NOT NULL,
    at       INTEGER NOT NULL,
    cause    INTEGER,
    message  TEXT,
    actor    TEXT NOT NULL,
    trace    TEXT,
    data     TEXT NOT NULL
);
CREATE UNIQUE INDEX event_by_run ON event (run_key, seq);
CREATE INDEX event_approval ON event (run_key) WHERE type = 'approval_created';

CREATE TABLE definition (
    tenant         TEXT NOT NULL,
    workflow       TEXT NOT NULL,
    version        TEXT NOT NULL,
    kind           TEXT NOT NULL,
    source         TEXT NOT NULL,
    compiled       BLOB NOT NULL,
    format         INTEGER NOT NULL,
    registered_at  INTEGER NOT NULL,
    number         INTEGER NOT NULL     -- the largest one of a name is current
);
CREATE UNIQUE INDEX definition_by_version ON definition (tenant, workflow, version);
CREATE INDEX definition_by_number ON definition (tenant, workflow, number);

CREATE TABLE paused (
    tenant  TEXT NOT NULL,
    what    TEXT NOT NULL,              -- workflow or queue
    name    TEXT NOT NULL,
    at      INTEGER NOT NULL,
    PRIMARY KEY (tenant, what, name)
) WITHOUT ROWID;

CREATE TABLE node_type (
    tenant   TEXT NOT NULL,
    name     TEXT NOT NULL,
    body     TEXT NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE schedule (
    tenant   TEXT NOT NULL,
    name     TEXT NOT NULL,
    paused   INTEGER NOT NULL,
    next_at  INTEGER,
    rule     TEXT NOT NULL,             -- the whole schedule; paused and next_at are copies
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;
CREATE INDEX schedule_due ON schedule (next_at) WHERE paused = 0 AND next_at IS NOT NULL;

CREATE TABLE worker (
    tenant         TEXT NOT NULL,
    worker         TEXT NOT NULL,
    handle         TEXT NOT NULL,       -- the process: a locked file beside the database
    card           TEXT NOT NULL,
    silence        INTEGER NOT NULL,    -- not heard of for longer than this, it is given up
    started_at     INTEGER NOT NULL,
    beat_at        INTEGER NOT NULL,
    running        INTEGER NOT NULL,
    missing_since  INTEGER,
    PRIMARY KEY (tenant, worker)
) WITHOUT ROWID;

CREATE TABLE blob (
    tenant   TEXT NOT NULL,
    hash     TEXT NOT NULL,
    bytes    INTEGER NOT NULL,
    content  BLOB NOT NULL
);
CREATE UNIQUE INDEX blob_by_hash ON blob (hash, tenant);
