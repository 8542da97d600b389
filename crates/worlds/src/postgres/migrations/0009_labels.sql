-- The key/value pairs of a run are its labels. The view for people gets a column of that name; `tags` stays for queries that
-- were written before.
CREATE OR REPLACE VIEW runs AS
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
    as_time(nullif(r.at, 0)) AS last_event_at, r.revision, r.seq,
    (SELECT d.version_number FROM definition AS d WHERE d.tenant = r.tenant AND d.workflow = r.workflow AND d.version = r.version)
        AS version_number,
    as_json(r.tags) AS labels
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
