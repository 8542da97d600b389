-- The views that people read, once more from the beginning: docs/reference/views.md describes them, and they have the same columns,
-- with the same meaning, in SQLite. Times are timestamptz, JSON is jsonb. An id of a row of history is run#row.

DROP VIEW dlq;
DROP VIEW approvals;
DROP VIEW applied_keys;
DROP VIEW worker_heartbeats;
DROP VIEW workflow_execution_context;
DROP VIEW workflow_definitions;
DROP VIEW executions;
DROP VIEW event_log;
DROP VIEW events;
DROP VIEW runs;

-- What is absent stays absent.
CREATE OR REPLACE FUNCTION as_time(ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN abs(ms) < 9000000000000000 THEN to_timestamp(ms / 1000.0) WHEN ms > 0 THEN 'infinity'::timestamptz
    WHEN ms < 0 THEN '-infinity'::timestamptz END $$;

-- Text that is stored as bytes; nothing when it is something else.
CREATE FUNCTION as_text(content bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN convert_from(content, 'UTF8');
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

-- A snapshot without its seal, the last nine bytes.
CREATE FUNCTION as_state(snapshot bytea) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT as_json(as_text(substr(snapshot, 1, greatest(length(snapshot) - 9, 0)))) $$;

CREATE VIEW runs AS
SELECT r.tenant, r.id AS run_id, r.workflow AS workflow_name, r.version AS workflow_version, r.kind, r.status, r.paused,
    r.blocked_code, as_time(r.blocked_since) AS blocked_since, r.blocked_detail, r.cancelling, r.priority::bigint AS priority,
    as_json(r.tags) AS tags, as_json(r.tags) ->> 'tag' AS tag_name, r.parent AS parent_run_id, as_json(r.input) AS input,
    as_json(r.output) AS output, as_json(r.failure) AS failure, r.actor AS submitted_by, as_time(r.created_at) AS submitted_at,
    as_time(r.created_at) AS created_at,
    (SELECT as_time(e.at) FROM event AS e WHERE e.run = r.id AND e.tenant = r.tenant AND e.born = r.born ORDER BY e.seq LIMIT 1)
        AS started_at,
    as_time(r.updated_at) AS updated_at, as_time(r.ended_at) AS ended_at, as_time(r.deadline_at) AS deadline_at,
    CASE WHEN r.ended_at IS NOT NULL AND r.kind = 'graph' THEN (
        SELECT (as_json(e.data) ->> 'counter_after')::bigint FROM event AS e
        WHERE e.run = r.id AND e.tenant = r.tenant AND e.born = r.born AND e.type IN ('node_consumed', 'node_emitted')
        ORDER BY e.seq DESC LIMIT 1) END AS final_counter_value,
    (SELECT count(*) FROM dead_letter AS d WHERE d.run = r.id AND d.tenant = r.tenant AND d.status <> 1) AS dlq_count,
    as_time(nullif(r.at, 0)) AS last_event_at, r.revision, r.seq
FROM (
    SELECT l.tenant, l.id, l.born, l.workflow, l.version, l.kind,
        CASE WHEN l.claimed_by IS NOT NULL THEN 'running' WHEN l.last_commit IS NULL THEN 'pending' ELSE 'waiting' END AS status,
        l.paused, coalesce(l.blocked_code, CASE WHEN l.awaiting LIKE '%"@held:%' THEN 'dead_letter' END) AS blocked_code,
        coalesce(l.blocked_since, (substring(l.awaiting FROM '"@held:([0-9]+):'))::bigint) AS blocked_since,
        coalesce(l.blocked_detail, CASE WHEN l.awaiting LIKE '%"@held:%' THEN 'a node has failed and is held' END)
            AS blocked_detail,
        l.cancelling, l.priority, l.tags, l.parent, l.input, NULL AS output, NULL AS failure, l.actor, l.created_at, l.updated_at,
        NULL::bigint AS ended_at, l.deadline_at, l.at, l.revision, l.seq
    FROM live_run AS l
    UNION ALL
    SELECT x.tenant, x.id, x.born, x.workflow, x.version, x.kind, x.status, x.paused, x.blocked_code, x.blocked_since,
        x.blocked_detail, x.cancelling, x.priority, x.tags, x.parent, x.input, x.output, x.failure, x.actor, x.created_at,
        x.updated_at, x.ended_at, x.deadline_at, x.at, x.revision, x.seq
    FROM ended_run AS x) AS r;

-- Attempts that were not the last word stand after the rows that were there when they ended.
CREATE VIEW events AS
SELECT e.tenant, e.run || '#' || e.seq AS event_id, e.run AS run_id, e.seq AS event_idx, e.type AS event_type,
    as_time(e.at) AS timestamp, as_json(e.data) AS payload, e.cause, e.message AS message_id, e.actor, e.trace
FROM event AS e
UNION ALL
SELECT a.tenant, a.task || '#' || a.attempt || '.' || a.delivery, a.run,
    (SELECT max(e.seq) FROM event AS e WHERE e.run = a.run AND e.tenant = a.tenant AND e.born = a.born AND e.at <= a.ended_at),
    'step_retrying', as_time(a.ended_at),
    jsonb_build_object('task', substr(a.task, length(a.run) + 2)::bigint, 'attempt', a.attempt, 'failure', as_json(a.failure),
        'next_at', a.next_at),
    NULL, NULL, 'worker:' || a.worker, NULL
FROM attempt AS a WHERE a.run IS NOT NULL;

CREATE VIEW attempts AS
SELECT a.tenant, a.task AS task_id, a.run AS run_id, a.attempt::bigint AS attempt, a.delivery::bigint AS delivery,
    a.worker AS worker_id, as_json(a.failure) AS failure, as_time(a.ended_at) AS ended_at, as_time(a.next_at) AS next_at
FROM attempt AS a;

CREATE VIEW event_log AS
SELECT v.tenant, v.event_id, v.run_id, v.event_idx AS sequence_num, regexp_replace(v.event_type, '_', '.') AS event_type,
    v.timestamp, v.timestamp AS created_at, v.payload AS event_data,
    CASE WHEN v.cause IS NOT NULL THEN v.run_id || '#' || v.cause END AS parent_event_id, v.trace AS correlation_id,
    CASE v.event_type WHEN 'node_consumed' THEN v.payload ->> 'to' WHEN 'node_emitted' THEN v.payload ->> 'from'
        ELSE v.payload ->> 'node' END AS node_id,
    CASE WHEN v.event_type IN ('node_consumed', 'node_emitted') THEN v.payload ->> 'from' END AS from_node,
    CASE WHEN v.event_type IN ('node_consumed', 'node_emitted') THEN v.payload ->> 'to' END AS to_node, v.actor
FROM events AS v
UNION ALL
SELECT e.tenant, e.run || '#' || e.seq || '.token', e.run, e.seq, 'token.emitted', as_time(e.at), as_time(e.at), as_json(e.data),
    e.run || '#' || e.seq, e.trace, as_json(e.data) ->> 'from', as_json(e.data) ->> 'from', as_json(e.data) ->> 'to', e.actor
FROM event AS e WHERE e.type = 'node_emitted';

-- What became of each task of a run that is over, by its history: the last outcome counts.
CREATE VIEW settled_step AS
SELECT s.tenant, s.run, s.born, s.number, s.name, s.queue, s.input, s.at AS scheduled_at, o.type, o.data, o.actor, o.at AS ended_at
FROM (
    SELECT e.tenant, e.run, e.born, e.at, (as_json(e.data) ->> 'task')::bigint AS number, as_json(e.data) ->> 'name' AS name,
        as_json(e.data) ->> 'queue' AS queue, as_json(e.data) -> 'input' AS input
    FROM event AS e WHERE e.type = 'step_scheduled') AS s
JOIN (
    SELECT DISTINCT ON (e.run, e.tenant, e.born, as_json(e.data) ->> 'task') e.tenant, e.run, e.born, e.type, e.at, e.actor,
        (as_json(e.data) ->> 'task')::bigint AS number, as_json(e.data) AS data
    FROM event AS e WHERE e.type IN ('step_completed', 'step_failed')
    ORDER BY e.run, e.tenant, e.born, as_json(e.data) ->> 'task', e.seq DESC) AS o
    ON o.run = s.run AND o.tenant = s.tenant AND o.born = s.born AND o.number = s.number;

CREATE VIEW executions AS
SELECT r.tenant, r.run_id AS id, 'workflow' AS type, 'workflow' AS execution_type, r.workflow_name AS target_name, r.run_id,
    NULL AS queue, r.status, r.status AS state, r.input AS inputs, r.output AS result, r.failure AS error, NULL AS worker_id,
    r.priority, NULL::bigint AS attempt, r.submitted_at AS scheduled_at, r.created_at, r.updated_at, r.ended_at, r.deadline_at
FROM runs AS r
UNION ALL
SELECT t.tenant, t.id, 'task', 'task', t.name, t.run, t.queue,
    (ARRAY['pending', 'pending', 'running', 'held'])[t.state + 1], (ARRAY['delayed', 'ready', 'running', 'held'])[t.state + 1],
    as_json(t.input), NULL, NULL, t.worker, t.priority::bigint, t.attempt::bigint, as_time(t.due_at), as_time(t.created_at),
    as_time(t.since), NULL, as_time(t.deadline_at)
FROM task AS t
UNION ALL
SELECT t.tenant, t.id, 'task', 'task', t.name, NULL, t.queue, (ARRAY['completed', 'failed', 'cancelled'])[t.state - 3],
    (ARRAY['completed', 'failed', 'cancelled'])[t.state - 3], as_json(t.input), as_json(t.output), as_json(t.failure), t.worker,
    t.priority::bigint, t.attempt::bigint, as_time(t.due_at), as_time(t.created_at), as_time(t.since), as_time(t.since),
    as_time(t.deadline_at)
FROM ended_task AS t WHERE t.run IS NULL
UNION ALL
SELECT s.tenant, s.run || ':' || s.number, 'task', 'task', s.name, s.run, s.queue, 'completed', 'completed', s.input,
    s.data -> 'output', NULL, CASE WHEN s.actor LIKE 'worker:%' THEN substr(s.actor, 8) END, NULL, (s.data ->> 'attempt')::bigint,
    as_time(s.scheduled_at), as_time(s.scheduled_at), as_time(s.ended_at), as_time(s.ended_at), NULL
FROM settled_step AS s WHERE s.type = 'step_completed' AND NOT EXISTS (
    SELECT FROM task AS t WHERE t.id = s.run || ':' || s.number AND t.tenant = s.tenant)
UNION ALL
SELECT s.tenant, s.run || ':' || s.number, 'task', 'task', s.name, s.run, s.queue, 'failed', 'failed', s.input,
    NULL, s.data -> 'failure', CASE WHEN s.actor LIKE 'worker:%' THEN substr(s.actor, 8) END, NULL,
    coalesce(s.data ->> 'attempts', s.data ->> 'attempt')::bigint, as_time(s.scheduled_at), as_time(s.scheduled_at),
    as_time(s.ended_at), as_time(s.ended_at), NULL
FROM settled_step AS s WHERE s.type = 'step_failed' AND NOT EXISTS (
    SELECT FROM task AS t WHERE t.id = s.run || ':' || s.number AND t.tenant = s.tenant);

CREATE VIEW workflow_definitions AS
SELECT d.tenant, d.tenant || '/' || d.workflow || '@' || d.version AS id, d.workflow AS name, d.version AS version_hash, d.kind,
    d.source, as_json(as_text(d.compiled)) AS parsed_steps, d.format::bigint AS format, NULL AS file_path,
    d.made_current = max(d.made_current) OVER (PARTITION BY d.tenant, d.workflow) AS is_current,
    EXISTS (SELECT FROM paused AS p WHERE p.tenant = d.tenant AND p.what = 'workflow' AND p.name = d.workflow) AS paused,
    as_time(d.registered_at) AS created_at
FROM definition AS d;

CREATE VIEW workflow_execution_context AS
SELECT r.tenant, r.id AS execution_id, r.tenant || '/' || r.workflow || '@' || r.version AS workflow_definition_id,
    r.version AS workflow_version_hash, r.status,
    CASE WHEN jsonb_typeof(s.state -> 'position') = 'number' THEN (s.state ->> 'position')::bigint END AS statement_index,
    s.state -> 'locals' AS locals,
    (SELECT min(t.id) FROM task AS t WHERE t.id >= r.id || ':' AND t.id < r.id || ';' AND t.run = r.id AND t.tenant = r.tenant)
        AS awaiting_task_id,
    as_names(r.awaiting) AS awaiting, s.state, r.format::bigint AS format, r.revision, r.seq, as_time(r.created_at) AS created_at,
    as_time(r.updated_at) AS updated_at
FROM (
    SELECT l.tenant, l.id, l.workflow, l.version,
        CASE WHEN l.claimed_by IS NOT NULL THEN 'running' WHEN l.last_commit IS NULL THEN 'pending' ELSE 'waiting' END AS status,
        l.awaiting, l.snapshot, l.format, l.revision, l.seq, l.created_at, l.updated_at
    FROM live_run AS l
    UNION ALL
    SELECT x.tenant, x.id, x.workflow, x.version, x.status, x.awaiting, x.snapshot, x.format, x.revision, x.seq, x.created_at,
        x.updated_at
    FROM ended_run AS x) AS r
CROSS JOIN LATERAL (SELECT as_state(r.snapshot) AS state) AS s;

CREATE VIEW worker_heartbeats AS
SELECT w.tenant, w.id AS worker_id, as_time(w.beat_at) AS last_heartbeat, to_jsonb(w.queues) AS queues,
    as_json(w.card) -> 'tasks' AS tasks, as_json(w.card) ->> 'host' AS host, (as_json(w.card) ->> 'pid')::bigint AS pid,
    as_json(w.card) ->> 'version' AS version, w.running::bigint AS running, as_time(w.started_at) AS started_at,
    as_time(w.missing_since) AS missing_since
FROM worker AS w;

-- Tokens that moved a graph's counter, and messages from outside, which do not.
CREATE VIEW applied_keys AS
SELECT e.tenant, e.run AS run_id, as_json(e.data) ->> 'op_key' AS op_key,
    (as_json(e.data) ->> 'counter_after')::bigint - (as_json(e.data) ->> 'counter_before')::bigint AS delta,
    as_time(e.at) AS applied_at
FROM event AS e WHERE e.type IN ('node_consumed', 'node_emitted')
UNION ALL
SELECT d.tenant, d.run, d.id, 0, as_time(d.at) FROM delivered AS d;

CREATE VIEW run_counters AS
SELECT r.tenant, r.run_id, (
    SELECT (as_json(e.data) ->> 'counter_after')::bigint FROM event AS e
    WHERE e.run = r.run_id AND e.tenant = r.tenant AND e.type IN ('node_consumed', 'node_emitted')
    ORDER BY e.seq DESC LIMIT 1) AS value
FROM runs AS r WHERE r.kind = 'graph';

-- Counters are never behind, so the last snapshot of them is that of now.
CREATE VIEW run_counter_snapshots AS
SELECT c.tenant, c.run_id, c.value, transaction_timestamp() AS snapshot_at FROM run_counters AS c;

-- The first decision counts: one that lost against it is a row of history too.
CREATE VIEW approvals AS
SELECT c.tenant, c.run || '/' || (c.data ->> 'approval') AS approval_id, c.run AS run_id, r.workflow AS workflow_name,
    (c.data ->> 'approval')::bigint AS approval, c.data ->> 'node' AS node_id, coalesce((c.data ->> 'visit')::bigint, 1) AS visit,
    CASE WHEN d.seq IS NULL THEN CASE WHEN r.ended THEN 'cancelled' ELSE 'pending' END
        WHEN d.data ->> 'decision' IN ('timeout', 'cancelled') THEN d.data ->> 'decision'
        ELSE 'decided' END AS status,
    c.actor AS requester, c.data -> 'approvers' ->> 0 AS approver, c.data -> 'approvers' AS approvers,
    (SELECT coalesce(jsonb_agg(as_json(x.data) -> 'approvers' ORDER BY x.seq), '[]') FROM event AS x
        WHERE x.run = c.run AND x.tenant = c.tenant AND x.born = c.born AND x.seq > c.seq
            AND x.type = 'approval_escalated'
            AND as_json(x.data) -> 'approval' = c.data -> 'approval') AS escalated_to,
    c.data -> 'payload' AS payload,
    CASE WHEN jsonb_typeof(c.data -> 'payload') = 'object' THEN c.data -> 'payload' ->> '$blob' END AS payload_cas_ref,
    c.data ->> 'approval_ui_url' AS approval_ui_url, d.data ->> 'decision' AS decision, d.data ->> 'by' AS decided_by,
    d.actor AS via, d.data ->> 'comments' AS comments, d.data -> 'data' AS data, as_time(c.at) AS created_at,
    as_time((c.data ->> 'timeout_at')::bigint) AS timeout_at, as_time(d.at) AS decided_at
FROM (
    SELECT e.tenant, e.run, e.born, e.seq, e.at, e.actor, as_json(e.data) AS data FROM event AS e
    WHERE e.type = 'approval_created') AS c
JOIN (SELECT id, tenant, born, workflow, false AS ended FROM live_run
      UNION ALL SELECT id, tenant, born, workflow, true FROM ended_run) AS r
    ON r.id = c.run AND r.tenant = c.tenant AND r.born = c.born
LEFT JOIN LATERAL (
    SELECT x.seq, x.actor, x.at, as_json(x.data) AS data FROM event AS x
    WHERE x.run = c.run AND x.tenant = c.tenant AND x.born = c.born AND x.seq > c.seq AND x.type = 'approval_decided'
        AND as_json(x.data) -> 'approval' = c.data -> 'approval'
    ORDER BY x.seq LIMIT 1) AS d ON true;

-- One row for each time a node ran, and one for each token that lies at a node. A node that asks takes its token when it asks;
-- any other when it is done.
CREATE VIEW node_executions AS
SELECT c.tenant, c.run || '#' || c.visit AS execution_id, c.run AS run_id, c.node AS node_id, c.visit AS token_id,
    CASE WHEN a.type IN ('step_failed', 'child_failed') THEN 'FAILED' WHEN a.type IS NOT NULL OR q.seq IS NULL THEN 'SUCCESS'
        WHEN EXISTS (SELECT FROM live_run AS l WHERE l.id = c.run AND l.tenant = c.tenant) THEN 'RUNNING'
        ELSE 'CANCELLED' END AS status,
    CASE WHEN c.command IS NOT NULL THEN c.run || ':' || c.command END AS task_id, as_time(b.at) AS started_at,
    CASE WHEN a.type IS NOT NULL OR q.seq IS NULL THEN as_time(greatest(c.at, a.at)) END AS ended_at, o.output,
    CASE WHEN jsonb_typeof(o.output) = 'object' THEN o.output ->> '$blob' END AS output_cas_ref
FROM (
    SELECT e.tenant, e.run, e.born, as_json(e.data) ->> 'to' AS node, (as_json(e.data) ->> 'visit')::bigint AS visit,
        max((as_json(e.data) ->> 'command')::bigint) AS command, max(e.cause) AS cause, max(e.at) AS at
    FROM event AS e WHERE e.type = 'node_consumed' GROUP BY 1, 2, 3, 4, 5) AS c
LEFT JOIN (
    SELECT e.tenant, e.run, e.born, e.at, (as_json(e.data) ->> 'token')::bigint AS token
    FROM event AS e WHERE e.type = 'node_emitted') AS b
    ON b.run = c.run AND b.tenant = c.tenant AND b.born = c.born AND b.token = c.visit
LEFT JOIN (
    SELECT DISTINCT ON (e.run, e.tenant, e.born, e.number) e.* FROM (
        SELECT x.tenant, x.run, x.born, x.seq, x.at, x.type, as_json(x.data) AS data, CASE x.type
            WHEN 'approval_decided' THEN as_json(x.data) ->> 'approval' WHEN 'timer_fired' THEN as_json(x.data) ->> 'timer'
            WHEN 'child_completed' THEN as_json(x.data) ->> 'child' WHEN 'child_failed' THEN as_json(x.data) ->> 'child'
            ELSE as_json(x.data) ->> 'task' END::bigint AS number
        FROM event AS x WHERE x.type IN ('step_completed', 'step_failed', 'child_completed', 'child_failed', 'timer_fired',
            'approval_decided')) AS e
    ORDER BY e.run, e.tenant, e.born, e.number, e.seq DESC) AS a
    ON a.run = c.run AND a.tenant = c.tenant AND a.born = c.born AND a.number = c.command
LEFT JOIN event AS k ON k.run = c.run AND k.tenant = c.tenant AND k.born = c.born AND k.seq = c.cause
    AND k.type = 'signal_received'
LEFT JOIN event AS q ON q.run = c.run AND q.tenant = c.tenant AND q.born = c.born AND q.type = 'approval_created'
    AND (as_json(q.data) ->> 'approval')::bigint = c.command
CROSS JOIN LATERAL (SELECT coalesce(a.data -> 'output', a.data -> 'data', as_json(k.data) -> 'payload') AS output) AS o
UNION ALL
SELECT e.tenant, e.run || '#' || (as_json(e.data) ->> 'token'), e.run, as_json(e.data) ->> 'to',
    (as_json(e.data) ->> 'token')::bigint,
    CASE WHEN EXISTS (SELECT FROM live_run AS l WHERE l.id = e.run AND l.tenant = e.tenant) THEN 'PENDING' ELSE 'UNFINISHED' END,
    NULL, as_time(e.at), NULL, NULL, NULL
FROM event AS e WHERE e.type = 'node_emitted' AND NOT EXISTS (
    SELECT FROM event AS x WHERE x.run = e.run AND x.tenant = e.tenant AND x.born = e.born AND x.type = 'node_consumed'
        AND as_json(x.data) -> 'token' = as_json(e.data) -> 'token');

-- What its run dealt with is history, no letter. The node and the token of a graph stand in the snapshot from before the failure.
CREATE VIEW dlq AS
SELECT d.tenant, d.task AS dlq_id, d.run AS run_id, v.token AS token_id, v.node AS node_id, d.task AS task_id, d.number, d.name,
    d.queue, as_json(d.input) AS token_data,
    CASE WHEN jsonb_typeof(as_json(d.input)) = 'object' THEN as_json(d.input) ->> '$blob' END AS payload_cas_ref,
    as_json(d.options) AS options, as_json(d.failure) ->> 'code' AS code, as_json(d.failure) ->> 'message' AS failure_reason,
    as_json(d.failure) AS error_details, d.attempts::bigint AS attempts, d.held,
    (ARRAY['pending', 'handled', 'reprocessed', 'discarded'])[d.status + 1] AS status, d.fate, as_json(d.history) AS history,
    as_time(d.died_at) AS created_at,
    as_time((SELECT max((h.value ->> 'at')::bigint) FROM jsonb_array_elements(as_json(d.history)) AS h
        WHERE h.value ->> 'status' = 'reprocessed')) AS reprocessed_at
FROM letter AS d
LEFT JOIN LATERAL (
    SELECT o.key::bigint AS token, o.value ->> 'node' AS node
    FROM (SELECT as_state(l.snapshot) -> 'open' AS open FROM live_run AS l
          WHERE l.id = d.run AND l.tenant = d.tenant AND l.kind = 'graph'
          UNION ALL
          SELECT as_state(x.snapshot) -> 'open' FROM ended_run AS x
          WHERE x.id = d.run AND x.tenant = d.tenant AND x.kind = 'graph') AS s
    CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(s.open) = 'object' THEN s.open ELSE '{}' END) AS o
    WHERE coalesce(o.value #>> '{wait,task}', o.value #>> '{wait,held,held}') = d.number::text
    LIMIT 1) AS v ON true
WHERE d.status <> 1;

-- Types that were registered; the built-in ones are the program's.
CREATE VIEW node_type_registry AS
SELECT n.tenant, n.name AS type_name, coalesce(as_json(n.body) ->> 'version', 'v1') AS version,
    as_json(n.body) -> 'config_schema' AS config_schema, as_json(n.body) -> 'input_schema' AS input_schema,
    as_json(n.body) -> 'output_schema' AS output_schema, as_json(n.body) ->> 'queue' AS worker_queue,
    coalesce(as_json(n.body) -> 'capabilities', '{}') AS capabilities, as_json(n.body) ->> 'display_name' AS display_name,
    as_json(n.body) ->> 'description' AS description, as_json(n.body) ->> 'icon' AS icon_url
FROM node_type AS n;
