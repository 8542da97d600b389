-- What people may read. `run_summary` also serves listings; the others show times as text.

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
SELECT s.tenant, s.run AS run_id, s.workflow, s.version, s.kind, s.status, s.paused, s.blocked_code, s.blocked_detail,
       s.cancelling, s.priority, s.parent_run AS parent_run_id, o.input, e.output, e.failure,
       (SELECT json_group_object(name, value) FROM run_tag WHERE key = s.key) AS tags,
       s.revision, s.seq,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.created_at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.updated_at / 1000.0, 'unixepoch') AS updated_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.ended_at / 1000.0, 'unixepoch') AS ended_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', s.deadline_at / 1000.0, 'unixepoch') AS deadline_at
FROM run_summary s JOIN run_start o ON o.key = s.key LEFT JOIN ended_run e ON e.key = s.key;

CREATE VIEW events AS
SELECT r.tenant, r.run AS run_id, v.seq, v.type,
       strftime('%Y-%m-%dT%H:%M:%fZ', v.at / 1000.0, 'unixepoch') AS at,
       v.cause, v.message AS message_id, v.actor, v.trace, v.data
FROM event v JOIN run_summary r ON r.key = v.run_key;

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

CREATE VIEW workflow_execution_context AS
SELECT l.tenant, l.run AS run_id,
       CASE WHEN q.place = 2 THEN 'running' WHEN l.last_commit IS NOT NULL THEN 'waiting' ELSE 'pending' END AS status,
       l.format AS snapshot_format, CAST(l.snapshot AS TEXT) AS snapshot, l.awaiting, l.revision, l.seq
FROM live_run l JOIN run_queue q ON q.key = l.key
UNION ALL
SELECT tenant, run, status, format, CAST(snapshot AS TEXT), awaiting, revision, seq FROM ended_run;

CREATE VIEW worker_heartbeats AS
SELECT tenant, worker AS worker_id, json_extract(card, '$.host') AS host, json_extract(card, '$.pid') AS pid,
       json_extract(card, '$.version') AS version, json_extract(card, '$.queues') AS queues, running,
       strftime('%Y-%m-%dT%H:%M:%fZ', started_at / 1000.0, 'unixepoch') AS started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', beat_at / 1000.0, 'unixepoch') AS beat_at
FROM worker;

CREATE VIEW applied_keys AS
SELECT r.tenant, r.run AS run_id, d.message AS key,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch') AS applied_at
FROM delivered d JOIN run_summary r ON r.key = d.run_key;

CREATE VIEW approvals AS
SELECT r.tenant, r.run AS run_id, json_extract(c.data, '$.approval') AS approval,
       json_extract(c.data, '$.node') AS node, json_extract(c.data, '$.approvers') AS approvers,
       json_extract(c.data, '$.payload') AS payload,
       CASE WHEN d.seq IS NOT NULL THEN 'decided' WHEN r.ended_at IS NOT NULL THEN 'withdrawn' ELSE 'pending' END
           AS status,
       json_extract(d.data, '$.decision') AS decision, json_extract(d.data, '$.by') AS decided_by,
       json_extract(d.data, '$.comments') AS comments,
       strftime('%Y-%m-%dT%H:%M:%fZ', c.at / 1000.0, 'unixepoch') AS created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', d.at / 1000.0, 'unixepoch') AS decided_at
FROM event c
JOIN run_summary r ON r.key = c.run_key
LEFT JOIN event d ON d.run_key = c.run_key AND d.type = 'approval_decided'
    AND json_extract(d.data, '$.approval') = json_extract(c.data, '$.approval')
WHERE c.type = 'approval_created';

CREATE VIEW dlq AS
SELECT tenant, task AS task_id, run AS run_id, name, queue, input, options, attempts, held,
       json_extract(failure, '$.code') AS code, json_extract(failure, '$.message') AS message, failure,
       strftime('%Y-%m-%dT%H:%M:%fZ', died_at / 1000.0, 'unixepoch') AS died_at
FROM dead_letter;
