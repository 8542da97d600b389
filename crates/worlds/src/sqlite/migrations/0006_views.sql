-- The views that people read, once more from the beginning: docs/reference/views.md describes them, and they have the same columns,
-- with the same meaning, in PostgreSQL. Times are text, JSON is text, truth is 0 or 1. An id of a row of history is run#row.

DROP VIEW runs;
DROP VIEW event_log;
DROP VIEW events;
DROP VIEW executions;
DROP VIEW workflow_definitions;
DROP VIEW workflow_execution_context;
DROP VIEW worker_heartbeats;
DROP VIEW applied_keys;
DROP VIEW approvals;
DROP VIEW dlq;

-- Whose rows of history they are.
CREATE VIEW any_run AS
SELECT key, tenant, run, workflow, kind, NULL AS ended_at FROM live_run
UNION ALL
SELECT key, tenant, run, workflow, kind, ended_at FROM ended_run;

CREATE VIEW runs AS
SELECT l.tenant, l.run AS run_id, l.workflow AS workflow_name, l.version AS workflow_version, l.kind,
       CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END AS status,
       l.paused, coalesce(l.blocked_code, iif(l.awaiting LIKE '%"@held:%', 'dead_letter', NULL)) AS blocked_code,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(l.blocked_since,
           CAST(substr(l.awaiting, nullif(instr(l.awaiting, '"@held:'), 0) + 7) AS INTEGER)) / 1000.0, 'unixepoch')
           AS blocked_since,
       coalesce(l.blocked_detail, iif(l.awaiting LIKE '%"@held:%', 'a node has failed and is held', NULL)) AS blocked_detail,
       l.cancelling, l.priority,
       (SELECT json_group_object(name, value) FROM run_tag WHERE key = l.key) AS tags,
       (SELECT value FROM run_tag WHERE key = l.key AND name = 'tag') AS tag_name, l.parent_run AS parent_run_id,
       o.input, NULL AS output, NULL AS failure, o.actor AS submitted_by,
       strftime('%Y-%m-%dT%H:%M:%fZ', l.created_at / 1000.0, 'unixepoch') AS submitted_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', l.created_at / 1000.0, 'unixepoch') AS created_at,
       (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch') FROM event v WHERE v.run_key = l.key
        ORDER BY v.seq LIMIT 1) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', l.updated_at / 1000.0, 'unixepoch') AS updated_at,
       NULL AS ended_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', l.deadline_at / 1000.0, 'unixepoch') AS deadline_at,
       NULL AS final_counter_value,
       (SELECT count(*) FROM dead_letter d WHERE d.run_key = l.key AND d.status <> 1) AS dlq_count,
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(l.at, 0) / 1000.0, 'unixepoch') AS last_event_at, l.revision, l.seq
FROM live_run l JOIN run_queue q ON q.key = l.key JOIN run_start o ON o.key = l.key
UNION ALL
SELECT e.tenant, e.run, e.workflow, e.version, e.kind, e.status, e.paused, e.blocked_code,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.blocked_since / 1000.0, 'unixepoch'), e.blocked_detail, e.cancelling, e.priority,
       (SELECT json_group_object(name, value) FROM run_tag WHERE key = e.key),
       (SELECT value FROM run_tag WHERE key = e.key AND name = 'tag'), e.parent_run,
       o.input, e.output, e.failure, o.actor,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000.0, 'unixepoch'),
       (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch') FROM event v WHERE v.run_key = e.key
        ORDER BY v.seq LIMIT 1),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.ended_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.deadline_at / 1000.0, 'unixepoch'),
       iif(e.kind = 'graph', (SELECT json_extract(v.data, '$.counter_after') FROM event v
           WHERE v.run_key = e.key AND v.type IN ('node_consumed', 'node_emitted') ORDER BY v.seq DESC LIMIT 1), NULL),
       (SELECT count(*) FROM dead_letter d WHERE d.run_key = e.key AND d.status <> 1),
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(e.at, 0) / 1000.0, 'unixepoch'), e.revision, e.seq
FROM ended_run e JOIN run_start o ON o.key = e.key;

-- Attempts that were not the last word stand after the rows that were there when they ended.
CREATE VIEW events AS
SELECT r.tenant, r.run || '#' || v.seq AS event_id, r.run AS run_id, v.seq AS event_idx, v.type AS event_type,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch') AS timestamp,
       v.data AS payload, v.cause, v.message AS message_id, v.actor, v.trace
FROM any_run r JOIN event v ON v.run_key = r.key
UNION ALL
SELECT r.tenant, a.task || '#' || a.attempt || '.' || a.delivery, r.run,
       (SELECT max(v.seq) FROM event v WHERE v.run_key = r.key AND v.at <= a.ended_at),
       'step_retrying', strftime('%Y-%m-%dT%H:%M:%fZ', a.ended_at / 1000.0, 'unixepoch'),
       json_object('task', CAST(substr(a.task, length(r.run) + 2) AS INTEGER), 'attempt', a.attempt,
           'failure', json(a.failure), 'next_at', a.next_at),
       NULL, NULL, 'worker:' || a.worker, NULL
FROM any_run r JOIN attempt a ON a.run_key = r.key;

CREATE VIEW attempts AS
SELECT a.tenant, a.task AS task_id,
       (SELECT r.run FROM live_run r WHERE r.key = a.run_key UNION ALL SELECT r.run FROM ended_run r WHERE r.key = a.run_key)
           AS run_id,
       a.attempt, a.delivery, a.worker AS worker_id, a.failure,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.ended_at / 1000.0, 'unixepoch') AS ended_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', a.next_at / 1000.0, 'unixepoch') AS next_at
FROM attempt a;

CREATE VIEW event_log AS
SELECT v.tenant, v.event_id, v.run_id, v.event_idx AS sequence_num,
       iif(instr(v.event_type, '_') = 0, v.event_type,
           substr(v.event_type, 1, instr(v.event_type, '_') - 1) || '.' || substr(v.event_type, instr(v.event_type, '_') + 1))
           AS event_type,
       v.timestamp, v.timestamp AS created_at, v.payload AS event_data,
       v.run_id || '#' || v.cause AS parent_event_id, v.trace AS correlation_id,
       CASE v.event_type WHEN 'node_consumed' THEN json_extract(v.payload, '$.to')
           WHEN 'node_emitted' THEN json_extract(v.payload, '$.from') ELSE json_extract(v.payload, '$.node') END AS node_id,
       iif(v.event_type IN ('node_consumed', 'node_emitted'), json_extract(v.payload, '$.from'), NULL) AS from_node,
       iif(v.event_type IN ('node_consumed', 'node_emitted'), json_extract(v.payload, '$.to'), NULL) AS to_node, v.actor
FROM events v
UNION ALL
SELECT r.tenant, r.run || '#' || v.seq || '.token', r.run, v.seq, 'token.emitted',
       strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch'),
       v.data, r.run || '#' || v.seq, v.trace, json_extract(v.data, '$.from'), json_extract(v.data, '$.from'),
       json_extract(v.data, '$.to'), v.actor
FROM any_run r JOIN event v ON v.run_key = r.key AND v.type = 'node_emitted';

-- What became of each task of a run that is over, by its history: the last outcome counts.
CREATE VIEW settled_step AS
SELECT r.tenant, r.run, s.number, s.name, s.queue, s.input, s.at AS scheduled_at, o.type, o.data, o.actor, o.at AS ended_at
FROM any_run r
JOIN (SELECT v.run_key, v.at, json_extract(v.data, '$.task') AS number, json_extract(v.data, '$.name') AS name,
             json_extract(v.data, '$.queue') AS queue, v.data -> '$.input' AS input
      FROM event v WHERE v.type = 'step_scheduled') s ON s.run_key = r.key
JOIN (SELECT v.run_key, v.type, v.at, v.actor, v.data, json_extract(v.data, '$.task') AS number, max(v.seq)
      FROM event v WHERE v.type IN ('step_completed', 'step_failed')
      GROUP BY v.run_key, json_extract(v.data, '$.task')) o ON o.run_key = s.run_key AND o.number = s.number;

CREATE VIEW executions AS
SELECT r.tenant, r.run_id AS id, 'workflow' AS type, 'workflow' AS execution_type, r.workflow_name AS target_name, r.run_id,
       NULL AS queue, r.status, r.status AS state, r.input AS inputs, r.output AS result, r.failure AS error, NULL AS worker_id,
       r.priority, NULL AS attempt, r.submitted_at AS scheduled_at, r.created_at, r.updated_at, r.ended_at, r.deadline_at
FROM runs r
UNION ALL
SELECT t.tenant, t.task, 'task', 'task', t.name, t.run, t.queue,
       CASE t.state WHEN 2 THEN 'running' WHEN 3 THEN 'held' ELSE 'pending' END,
       CASE t.state WHEN 0 THEN 'delayed' WHEN 1 THEN 'ready' WHEN 2 THEN 'running' ELSE 'held' END,
       t.input, NULL, NULL, t.worker, t.priority, t.attempt,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.due_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', t.since / 1000.0, 'unixepoch'), NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.deadline_at / 1000.0, 'unixepoch')
FROM task t
UNION ALL
SELECT t.tenant, t.task, 'task', 'task', t.name, NULL, t.queue,
       CASE t.state WHEN 4 THEN 'completed' WHEN 5 THEN 'failed' ELSE 'cancelled' END,
       CASE t.state WHEN 4 THEN 'completed' WHEN 5 THEN 'failed' ELSE 'cancelled' END,
       t.input, t.output, t.failure, t.worker, COALESCE(json_extract(t.options, '$.priority'), 0), t.attempt,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', t.created_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', t.ended_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', t.ended_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', t.deadline_at / 1000.0, 'unixepoch')
FROM ended_task t
UNION ALL
SELECT s.tenant, s.run || ':' || s.number, 'task', 'task', s.name, s.run, s.queue, 'completed', 'completed', s.input,
       s.data -> '$.output', NULL, iif(s.actor LIKE 'worker:%', substr(s.actor, 8), NULL), NULL, json_extract(s.data, '$.attempt'),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.scheduled_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.scheduled_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at / 1000.0, 'unixepoch'), NULL
FROM settled_step s WHERE s.type = 'step_completed'
    AND NOT EXISTS (SELECT 1 FROM task t WHERE t.task = s.run || ':' || s.number AND t.tenant = s.tenant)
UNION ALL
SELECT s.tenant, s.run || ':' || s.number, 'task', 'task', s.name, s.run, s.queue, 'failed', 'failed', s.input,
       NULL, s.data -> '$.failure', iif(s.actor LIKE 'worker:%', substr(s.actor, 8), NULL), NULL,
       coalesce(json_extract(s.data, '$.attempts'), json_extract(s.data, '$.attempt')),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.scheduled_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.scheduled_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at / 1000.0, 'unixepoch'), NULL
FROM settled_step s WHERE s.type = 'step_failed'
    AND NOT EXISTS (SELECT 1 FROM task t WHERE t.task = s.run || ':' || s.number AND t.tenant = s.tenant);

CREATE VIEW workflow_definitions AS
SELECT d.tenant, d.tenant || '/' || d.workflow || '@' || d.version AS id, d.workflow AS name, d.version AS version_hash, d.kind,
       d.source, iif(json_valid(CAST(d.compiled AS TEXT)), CAST(d.compiled AS TEXT), NULL) AS parsed_steps, d.format,
       NULL AS file_path,
       d.number = (SELECT MAX(number) FROM definition c WHERE c.tenant = d.tenant AND c.workflow = d.workflow)
           AS is_current,
       EXISTS (SELECT 1 FROM paused p WHERE p.tenant = d.tenant AND p.what = 'workflow' AND p.name = d.workflow)
           AS paused,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.registered_at / 1000.0, 'unixepoch') AS created_at
FROM definition d;

-- Snapshots without their seals: the last nine bytes.
CREATE VIEW workflow_execution_context AS
SELECT c.tenant, c.run AS execution_id, c.tenant || '/' || c.workflow || '@' || c.version AS workflow_definition_id,
       c.version AS workflow_version_hash, c.status,
       iif(json_type(c.state, '$.position') = 'integer', json_extract(c.state, '$.position'), NULL) AS statement_index,
       c.state -> '$.locals' AS locals,
       (SELECT min(t.task) FROM task t WHERE t.task > c.run || ':' AND t.task < c.run || ';' AND t.run_key = c.key)
           AS awaiting_task_id,
       c.awaiting, c.state, c.format, c.revision, c.seq,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.updated_at / 1000.0, 'unixepoch') AS updated_at
FROM (SELECT l.key, l.tenant, l.run, l.workflow, l.version,
             CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END AS status,
             CAST(substr(l.snapshot, 1, length(l.snapshot) - 9) AS TEXT) AS state,
             l.awaiting, l.format, l.revision, l.seq, l.created_at, l.updated_at
      FROM live_run l JOIN run_queue q ON q.key = l.key
      UNION ALL
      SELECT key, tenant, run, workflow, version, status, CAST(substr(snapshot, 1, length(snapshot) - 9) AS TEXT),
             awaiting, format, revision, seq, created_at, updated_at
      FROM ended_run) c;

CREATE VIEW worker_heartbeats AS
SELECT tenant, worker AS worker_id, strftime('%Y-%m-%dT%H:%M:%fZ', beat_at / 1000.0, 'unixepoch') AS last_heartbeat,
       json_extract(card, '$.queues') AS queues, json_extract(card, '$.tasks') AS tasks, json_extract(card, '$.host') AS host,
       json_extract(card, '$.pid') AS pid, json_extract(card, '$.version') AS version, running,
       strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', missing_since / 1000.0, 'unixepoch') AS missing_since
FROM worker;

-- Tokens that moved a graph's counter, and messages from outside, which do not.
CREATE VIEW applied_keys AS
SELECT r.tenant, r.run AS run_id, json_extract(v.data, '$.op_key') AS op_key,
       json_extract(v.data, '$.counter_after') - json_extract(v.data, '$.counter_before') AS delta,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch') AS applied_at
FROM any_run r JOIN event v ON v.run_key = r.key AND v.type IN ('node_consumed', 'node_emitted')
UNION ALL
SELECT r.tenant, r.run, d.message, 0, strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch')
FROM any_run r JOIN delivered d ON d.run_key = r.key;

CREATE VIEW run_counters AS
SELECT r.tenant, r.run AS run_id,
       (SELECT json_extract(v.data, '$.counter_after') FROM event v
        WHERE v.run_key = r.key AND v.type IN ('node_consumed', 'node_emitted') ORDER BY v.seq DESC LIMIT 1) AS value
FROM any_run r WHERE r.kind = 'graph';

-- Counters are never behind, so the last snapshot of them is that of now.
CREATE VIEW run_counter_snapshots AS
SELECT tenant, run_id, value, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS snapshot_at FROM run_counters;

-- The first decision counts: one that lost against it is a row of history too.
CREATE VIEW approvals AS
SELECT r.tenant, r.run || '/' || json_extract(c.data, '$.approval') AS approval_id, r.run AS run_id, r.workflow AS workflow_name,
       json_extract(c.data, '$.approval') AS approval, json_extract(c.data, '$.node') AS node_id,
       COALESCE(json_extract(c.data, '$.visit'), 1) AS visit,
       CASE WHEN d.seq IS NULL THEN CASE WHEN r.ended_at IS NULL THEN 'pending' ELSE 'cancelled' END
            WHEN json_extract(d.data, '$.decision') IN ('timeout', 'cancelled') THEN json_extract(d.data, '$.decision')
            ELSE 'decided' END AS status,
       c.actor AS requester, json_extract(c.data, '$.approvers[0]') AS approver, json_extract(c.data, '$.approvers') AS approvers,
       (SELECT json_group_array(json(json_extract(x.data, '$.approvers'))) FROM event x
        WHERE x.run_key = c.run_key AND x.seq > c.seq
          AND x.type IN ('approval_created', 'approval_escalated', 'approval_decided') AND x.type = 'approval_escalated'
          AND json_extract(x.data, '$.approval') = json_extract(c.data, '$.approval')) AS escalated_to,
       c.data -> '$.payload' AS payload, json_extract(c.data, '$.payload."$blob"') AS payload_cas_ref,
       json_extract(c.data, '$.approval_ui_url') AS approval_ui_url,
       json_extract(d.data, '$.decision') AS decision, json_extract(d.data, '$.by') AS decided_by, d.actor AS via,
       json_extract(d.data, '$.comments') AS comments, d.data -> '$.data' AS data,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(c.data, '$.timeout_at') / 1000.0, 'unixepoch') AS timeout_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch') AS decided_at
FROM any_run r
JOIN event c ON c.run_key = r.key
    AND c.type IN ('approval_created', 'approval_escalated', 'approval_decided') AND c.type = 'approval_created'
LEFT JOIN event d ON d.run_key = c.run_key AND d.seq =
    (SELECT MIN(x.seq) FROM event x WHERE x.run_key = c.run_key AND x.seq > c.seq
       AND x.type IN ('approval_created', 'approval_escalated', 'approval_decided') AND x.type = 'approval_decided'
       AND json_extract(x.data, '$.approval') = json_extract(c.data, '$.approval'));

-- What a node asked for was answered by this; of several answers the last.
CREATE VIEW node_answer AS
SELECT v.run_key, v.type, v.at, v.data, max(v.seq) AS seq,
       json_extract(v.data, CASE v.type WHEN 'approval_decided' THEN '$.approval' WHEN 'timer_fired' THEN '$.timer'
           WHEN 'child_completed' THEN '$.child' WHEN 'child_failed' THEN '$.child' ELSE '$.task' END) AS number
FROM event v
WHERE v.type IN ('step_completed', 'step_failed', 'child_completed', 'child_failed', 'timer_fired', 'approval_decided')
GROUP BY v.run_key, json_extract(v.data, CASE v.type WHEN 'approval_decided' THEN '$.approval' WHEN 'timer_fired' THEN '$.timer'
    WHEN 'child_completed' THEN '$.child' WHEN 'child_failed' THEN '$.child' ELSE '$.task' END);

-- One row for each time a node ran, and one for each token that lies at a node. A node that asks takes its token when it asks;
-- any other when it is done.
CREATE VIEW node_executions AS
SELECT r.tenant, r.run || '#' || c.visit AS execution_id, r.run AS run_id, c.node AS node_id, c.visit AS token_id,
       CASE WHEN a.type IN ('step_failed', 'child_failed') THEN 'FAILED' WHEN a.type IS NOT NULL OR q.seq IS NULL THEN 'SUCCESS'
            WHEN r.ended_at IS NULL THEN 'RUNNING' ELSE 'CANCELLED' END AS status,
       r.run || ':' || c.command AS task_id, strftime('%Y-%m-%dT%H:%M:%fZ', b.at / 1000.0, 'unixepoch') AS started_at,
       iif(a.type IS NOT NULL OR q.seq IS NULL,
           strftime('%Y-%m-%dT%H:%M:%fZ', max(c.at, coalesce(a.at, c.at)) / 1000.0, 'unixepoch'), NULL) AS ended_at,
       coalesce(a.data -> '$.output', a.data -> '$.data', k.data -> '$.payload') AS output,
       json_extract(coalesce(a.data -> '$.output', a.data -> '$.data', k.data -> '$.payload'), '$."$blob"') AS output_cas_ref
FROM any_run r
JOIN (SELECT v.run_key, json_extract(v.data, '$.to') AS node, json_extract(v.data, '$.visit') AS visit,
             max(json_extract(v.data, '$.command')) AS command, max(v.cause) AS cause, max(v.at) AS at
      FROM event v WHERE v.type = 'node_consumed'
      GROUP BY v.run_key, json_extract(v.data, '$.to'), json_extract(v.data, '$.visit')) c ON c.run_key = r.key
LEFT JOIN (SELECT v.run_key, v.at, json_extract(v.data, '$.token') AS token FROM event v WHERE v.type = 'node_emitted') b
    ON b.run_key = c.run_key AND b.token = c.visit
LEFT JOIN node_answer a ON a.run_key = c.run_key AND a.number = c.command
LEFT JOIN event k ON k.run_key = c.run_key AND k.seq = c.cause AND k.type = 'signal_received'
LEFT JOIN event q ON q.run_key = c.run_key AND q.type IN ('approval_created', 'approval_escalated', 'approval_decided')
    AND q.type = 'approval_created' AND json_extract(q.data, '$.approval') = c.command
UNION ALL
SELECT r.tenant, r.run || '#' || json_extract(v.data, '$.token'), r.run, json_extract(v.data, '$.to'),
       json_extract(v.data, '$.token'), iif(r.ended_at IS NULL, 'PENDING', 'UNFINISHED'), NULL,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch'), NULL, NULL, NULL
FROM any_run r JOIN event v ON v.run_key = r.key AND v.type = 'node_emitted'
WHERE json_extract(v.data, '$.token') NOT IN (
    SELECT json_extract(x.data, '$.token') FROM event x WHERE x.run_key = r.key AND x.type = 'node_consumed');

-- The nodes of graphs that wait for a task, or have failed with one, by the command they gave.
CREATE VIEW open_node AS
SELECT s.key AS run_key, CAST(o.key AS INTEGER) AS token, json_extract(o.value, '$.node') AS node,
       coalesce(json_extract(o.value, '$.wait.task'), json_extract(o.value, '$.wait.held.held')) AS command
FROM (SELECT key, CAST(substr(snapshot, 1, length(snapshot) - 9) AS TEXT) AS state FROM live_run WHERE kind = 'graph'
      UNION ALL
      SELECT key, CAST(substr(snapshot, 1, length(snapshot) - 9) AS TEXT) FROM ended_run WHERE kind = 'graph') s
JOIN json_each(s.state, '$.open') o;

-- What its run dealt with is history, no letter. The node and the token of a graph stand in the snapshot from before the failure.
CREATE VIEW dlq AS
SELECT d.tenant, d.task AS dlq_id, d.run AS run_id,
       (SELECT o.token FROM open_node o WHERE o.run_key = d.run_key AND o.command = d.command) AS token_id,
       (SELECT o.node FROM open_node o WHERE o.run_key = d.run_key AND o.command = d.command) AS node_id, d.task AS task_id, d.command AS number, d.name, d.queue,
       d.input AS token_data, json_extract(d.input, '$."$blob"') AS payload_cas_ref, d.options,
       json_extract(d.failure, '$.code') AS code, json_extract(d.failure, '$.message') AS failure_reason,
       d.failure AS error_details, d.attempts, d.held,
       CASE d.status WHEN 0 THEN 'pending' WHEN 2 THEN 'reprocessed' ELSE 'discarded' END AS status, d.fate, d.history,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.died_at / 1000.0, 'unixepoch') AS created_at,
       (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', max(json_extract(h.value, '$.at')) / 1000.0, 'unixepoch')
        FROM json_each(d.history) h WHERE json_extract(h.value, '$.status') = 'reprocessed') AS reprocessed_at
FROM letter d WHERE d.status <> 1;

-- Types that were registered; the built-in ones are the program's.
CREATE VIEW node_type_registry AS
SELECT n.tenant, n.name AS type_name, coalesce(json_extract(n.body, '$.version'), 'v1') AS version,
       n.body -> '$.config_schema' AS config_schema, n.body -> '$.input_schema' AS input_schema,
       n.body -> '$.output_schema' AS output_schema, json_extract(n.body, '$.queue') AS worker_queue,
       coalesce(n.body -> '$.capabilities', '{}') AS capabilities, json_extract(n.body, '$.display_name') AS display_name,
       json_extract(n.body, '$.description') AS description, json_extract(n.body, '$.icon') AS icon_url
FROM node_type n;
