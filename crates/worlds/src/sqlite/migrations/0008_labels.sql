-- The key/value pairs of a run are its labels. The view for people gets a column of that name; `tags` stays for queries that
-- were written before.
DROP VIEW runs;
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
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(l.at, 0) / 1000.0, 'unixepoch') AS last_event_at, l.revision, l.seq,
       (SELECT d.version_number FROM definition d WHERE d.tenant = l.tenant AND d.workflow = l.workflow AND d.version = l.version)
           AS version_number,
       (SELECT json_group_object(name, value) FROM run_tag WHERE key = l.key) AS labels
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
       strftime('%Y-%m-%dT%H:%M:%fZ', nullif(e.at, 0) / 1000.0, 'unixepoch'), e.revision, e.seq,
       (SELECT d.version_number FROM definition d WHERE d.tenant = e.tenant AND d.workflow = e.workflow AND d.version = e.version),
       (SELECT json_group_object(name, value) FROM run_tag WHERE key = e.key)
FROM ended_run e JOIN run_start o ON o.key = e.key;
