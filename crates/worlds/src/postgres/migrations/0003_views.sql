-- What people may query; see docs/reference. Times are timestamptz, JSON is jsonb.

CREATE FUNCTION as_time(ms bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT CASE WHEN abs(ms) < 9000000000000000 THEN to_timestamp(ms / 1000.0) WHEN ms > 0 THEN 'infinity' ELSE '-infinity' END $$;

-- jsonb cannot hold everything JSON text can (\u0000, huge numbers): such a value shows as a string.
CREATE FUNCTION as_json(content text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN content::jsonb;
EXCEPTION WHEN others THEN
    RETURN to_jsonb(content);
END $$;

CREATE FUNCTION as_names(awaiting text) RETURNS jsonb LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$$ SELECT coalesce(jsonb_agg(as_json(name)), '[]') FROM unnest(string_to_array(awaiting, E'\n')) AS name WHERE name <> '' $$;

CREATE VIEW runs AS
SELECT tenant, id AS run_id, workflow AS workflow_name, version AS workflow_version, kind,
    CASE WHEN claimed_by IS NOT NULL THEN 'running' WHEN last_commit IS NULL THEN 'pending' ELSE 'waiting' END AS status,
    paused, coalesce(blocked_code, CASE WHEN awaiting LIKE '%"@held:%' THEN 'dead_letter' END) AS blocked_code,
    as_time(coalesce(blocked_since, (substring(awaiting FROM '"@held:([0-9]+):'))::bigint)) AS blocked_since,
    coalesce(blocked_detail, CASE WHEN awaiting LIKE '%"@held:%' THEN 'a node has failed and is held' END) AS blocked_detail,
    cancelling, priority,
    as_json(tags) AS tags, parent AS parent_run_id, as_json(input) AS input, NULL::jsonb AS output, NULL::jsonb AS failure,
    revision, seq, as_time(created_at) AS created_at, as_time(updated_at) AS updated_at,
    as_time(deadline_at) AS deadline_at, NULL::timestamptz AS ended_at
FROM live_run
UNION ALL
SELECT tenant, id, workflow, version, kind, status, paused, blocked_code, as_time(blocked_since), blocked_detail,
    cancelling, priority, as_json(tags), parent, as_json(input), as_json(output), as_json(failure),
    revision, seq, as_time(created_at), as_time(updated_at), as_time(deadline_at), as_time(ended_at)
FROM ended_run;

CREATE VIEW events AS
SELECT tenant, run AS run_id, seq, type, as_time(at) AS at, cause, message AS message_id, actor, trace, as_json(data) AS data
FROM event;

CREATE VIEW event_log AS SELECT * FROM events;

CREATE VIEW executions AS
SELECT tenant, id AS execution_id, run AS run_id, number, name, queue, priority,
    (ARRAY['delayed', 'ready', 'running', 'held', 'completed', 'failed', 'cancelled'])[state + 1] AS status,
    as_json(input) AS input, as_json(options) AS options, attempt, delivery, worker AS worker_id, cancel AS cancel_requested,
    as_json(progress) AS progress, NULL::jsonb AS output, NULL::jsonb AS failure, as_time(created_at) AS created_at,
    as_time(since) AS since, as_time(claim_until) AS claim_until, as_time(deadline_at) AS deadline_at
FROM task
UNION ALL
SELECT tenant, id, run, number, name, queue, priority,
    (ARRAY['delayed', 'ready', 'running', 'held', 'completed', 'failed', 'cancelled'])[state + 1],
    as_json(input), as_json(options), attempt, delivery, worker, cancel, as_json(progress), as_json(output),
    as_json(failure), as_time(created_at), as_time(since), as_time(claim_until), as_time(deadline_at)
FROM ended_task;

CREATE VIEW workflow_definitions AS
SELECT tenant, workflow AS name, version, kind, source, format, as_time(registered_at) AS registered_at,
    made_current = max(made_current) OVER (PARTITION BY tenant, workflow) AS is_current
FROM definition;

-- Snapshots without their seals: the last nine bytes.
CREATE VIEW workflow_execution_context AS
SELECT tenant, id AS run_id,
    CASE WHEN claimed_by IS NOT NULL THEN 'running' WHEN last_commit IS NULL THEN 'pending' ELSE 'waiting' END AS status,
    encode(substr(snapshot, 1, greatest(length(snapshot) - 9, 0)), 'escape') AS snapshot, format, as_names(awaiting) AS awaiting
FROM live_run
UNION ALL
SELECT tenant, id, status, encode(substr(snapshot, 1, greatest(length(snapshot) - 9, 0)), 'escape'), format,
    as_names(awaiting)
FROM ended_run;

CREATE VIEW worker_heartbeats AS
SELECT tenant, id AS worker_id, as_json(card) AS card, queues, running, as_time(started_at) AS started_at,
    as_time(beat_at) AS last_heartbeat, as_time(missing_since) AS missing_since
FROM worker;

CREATE VIEW applied_keys AS
SELECT tenant, run AS run_id, id AS key, as_time(at) AS applied_at FROM delivered;

CREATE VIEW approvals AS
SELECT c.tenant, c.run AS run_id, (as_json(c.data) ->> 'approval')::bigint AS approval, as_json(c.data) ->> 'node' AS node,
    as_json(c.data) -> 'approvers' AS approvers, as_json(c.data) -> 'payload' AS payload, as_time(c.at) AS created_at,
    CASE WHEN d.seq IS NULL THEN 'pending' ELSE 'decided' END AS status,
    as_json(d.data) ->> 'decision' AS decision, as_json(d.data) ->> 'by' AS decided_by,
    as_json(d.data) ->> 'comments' AS comments, as_time(d.at) AS decided_at
FROM event AS c
LEFT JOIN event AS d ON d.run = c.run AND d.tenant = c.tenant AND d.born = c.born AND d.type = 'approval_decided'
    AND (as_json(d.data) ->> 'approval') = (as_json(c.data) ->> 'approval')
WHERE c.type = 'approval_created';

CREATE VIEW dlq AS
SELECT tenant, task AS task_id, run AS run_id, number, name, queue, as_json(input) AS input, as_json(options) AS options,
    as_json(failure) AS failure, attempts, as_time(died_at) AS died_at, held
FROM dead_letter;
