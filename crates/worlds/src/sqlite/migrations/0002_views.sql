-- What people may read, with times as text; `run_summary` is for our own reads. Live and ended runs are joined apart,
-- so that a condition on a run reaches the index.

CREATE VIEW run_summary AS
SELECT l.key, l.tenant, l.run, l.workflow, l.version, l.kind, l.priority, l.parent_run, l.parent_child, l.created_at,
       l.deadline_at, l.updated_at, l.revision, l.paused, l.blocked_code, l.blocked_since, l.blocked_detail, l.seq,
       l.cancelling, NULL AS ended_at,
       CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END AS status
FROM live_run l JOIN run_queue q ON q.key = l.key
UNION ALL
SELECT key, tenant, run, workflow, version, kind, priority, parent_run, parent_child, created_at,
       deadline_at, updated_at, revision, paused, blocked_code, blocked_since, blocked_detail, seq,
       cancelling, ended_at, status
FROM ended_run;

CREATE VIEW runs AS
SELECT l.tenant, l.run AS run_id, l.workflow, l.version, l.kind,
       CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END AS status,
       l.paused, coalesce(l.blocked_code, iif(l.awaiting LIKE '%"@held:%', 'dead_letter', NULL)) AS blocked_code,
       coalesce(l.blocked_detail, iif(l.awaiting LIKE '%"@held:%', 'a node has failed and is held', NULL)) AS blocked_detail,
       l.cancelling, l.priority, l.parent_run AS parent_run_id,
       o.input, NULL AS output, NULL AS failure,
       (SELECT json_group_object(name, value) FROM run_tag WHERE key = l.key) AS tags,
       l.revision, l.seq,
       strftime('%Y-%m-%dT%H:%M:%fZ', l.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', l.updated_at / 1000.0, 'unixepoch') AS updated_at,
       NULL AS ended_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', l.deadline_at / 1000.0, 'unixepoch') AS deadline_at
FROM live_run l JOIN run_queue q ON q.key = l.key JOIN run_start o ON o.key = l.key
UNION ALL
SELECT e.tenant, e.run, e.workflow, e.version, e.kind, e.status,
       e.paused, e.blocked_code, e.blocked_detail, e.cancelling, e.priority, e.parent_run,
       o.input, e.output, e.failure,
       (SELECT json_group_object(name, value) FROM run_tag WHERE key = e.key),
       e.revision, e.seq,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.updated_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.ended_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', e.deadline_at / 1000.0, 'unixepoch')
FROM ended_run e JOIN run_start o ON o.key = e.key;

CREATE VIEW events AS
SELECT r.tenant, r.run AS run_id, v.seq, v.type,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch') AS at,
       v.cause, v.message AS message_id, v.actor, v.trace, v.data
FROM live_run r JOIN event v ON v.run_key = r.key
UNION ALL
SELECT r.tenant, r.run, v.seq, v.type,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch'),
       v.cause, v.message, v.actor, v.trace, v.data
FROM ended_run r JOIN event v ON v.run_key = r.key;

CREATE VIEW event_log AS SELECT * FROM events;

CREATE VIEW executions AS
SELECT tenant, task AS task_id, run AS run_id, name, queue, priority,
       CASE state WHEN 0 THEN 'delayed' WHEN 1 THEN 'ready' WHEN 2 THEN 'running' ELSE 'held' END AS state,
       attempt, delivery, worker, cancel AS cancel_requested, input, options, progress, NULL AS output, NULL AS failure,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', since / 1000.0, 'unixepoch') AS since,
       strftime('%Y-%m-%dT%H:%M:%fZ', deadline_at / 1000.0, 'unixepoch') AS deadline_at
FROM task
UNION ALL
SELECT tenant, task, NULL, name, queue, COALESCE(json_extract(options, '$.priority'), 0),
       CASE state WHEN 4 THEN 'completed' WHEN 5 THEN 'failed' ELSE 'cancelled' END,
       attempt, delivery, worker, cancel, input, options, progress, output, failure,
       strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', deadline_at / 1000.0, 'unixepoch')
FROM ended_task;

CREATE VIEW workflow_definitions AS
SELECT d.tenant, d.workflow, d.version, d.kind, d.source, d.format,
       d.number = (SELECT MAX(number) FROM definition c WHERE c.tenant = d.tenant AND c.workflow = d.workflow)
           AS current,
       EXISTS (SELECT 1 FROM paused p WHERE p.tenant = d.tenant AND p.what = 'workflow' AND p.name = d.workflow)
           AS paused,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.registered_at / 1000.0, 'unixepoch') AS registered_at
FROM definition d;

-- Snapshots without their seals: the last nine bytes.
CREATE VIEW workflow_execution_context AS
SELECT l.tenant, l.run AS run_id,
       CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END AS status,
       l.format AS snapshot_format,
       CAST(substr(l.snapshot, 1, length(l.snapshot) - 9) AS TEXT) AS snapshot, l.awaiting, l.revision, l.seq
FROM live_run l JOIN run_queue q ON q.key = l.key
UNION ALL
SELECT tenant, run, status, format, CAST(substr(snapshot, 1, length(snapshot) - 9) AS TEXT), awaiting, revision, seq
FROM ended_run;

CREATE VIEW worker_heartbeats AS
SELECT tenant, worker AS worker_id, json_extract(card, '$.host') AS host, json_extract(card, '$.pid') AS pid,
       json_extract(card, '$.version') AS version, json_extract(card, '$.queues') AS queues, running,
       strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', beat_at / 1000.0, 'unixepoch') AS beat_at
FROM worker;

CREATE VIEW applied_keys AS
SELECT r.tenant, r.run AS run_id, d.message AS key,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch') AS applied_at
FROM live_run r JOIN delivered d ON d.run_key = r.key
UNION ALL
SELECT r.tenant, r.run, d.message,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch')
FROM ended_run r JOIN delivered d ON d.run_key = r.key;

CREATE VIEW approvals AS
SELECT r.tenant, r.run AS run_id, json_extract(c.data, '$.approval') AS approval,
       json_extract(c.data, '$.node') AS node, json_extract(c.data, '$.approvers') AS approvers,
       json_extract(c.data, '$.payload') AS payload,
       CASE WHEN d.seq IS NULL THEN 'pending' ELSE 'decided' END AS status,
       json_extract(d.data, '$.decision') AS decision, json_extract(d.data, '$.by') AS decided_by,
       json_extract(d.data, '$.comments') AS comments,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch') AS decided_at
FROM live_run r
JOIN event c ON c.run_key = r.key AND c.type = 'approval_created'
LEFT JOIN event d ON d.run_key = c.run_key AND d.type = 'approval_decided'
    AND json_extract(d.data, '$.approval') = json_extract(c.data, '$.approval')
UNION ALL
SELECT r.tenant, r.run, json_extract(c.data, '$.approval'),
       json_extract(c.data, '$.node'), json_extract(c.data, '$.approvers'),
       json_extract(c.data, '$.payload'),
       CASE WHEN d.seq IS NULL THEN 'withdrawn' ELSE 'decided' END,
       json_extract(d.data, '$.decision'), json_extract(d.data, '$.by'),
       json_extract(d.data, '$.comments'),
       strftime('%Y-%m-%dT%H:%M:%fZ', c.at / 1000.0, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch')
FROM ended_run r
JOIN event c ON c.run_key = r.key AND c.type = 'approval_created'
LEFT JOIN event d ON d.run_key = c.run_key AND d.type = 'approval_decided'
    AND json_extract(d.data, '$.approval') = json_extract(c.data, '$.approval');

CREATE VIEW dlq AS
SELECT tenant, task AS task_id, run AS run_id, name, queue, input, options, attempts, held,
       json_extract(failure, '$.code') AS code, json_extract(failure, '$.message') AS message, failure,
       strftime('%Y-%m-%dT%H:%M:%fZ', died_at / 1000.0, 'unixepoch') AS died_at
FROM dead_letter;
