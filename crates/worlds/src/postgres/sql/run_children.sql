SELECT * FROM (
    SELECT r.place, r.id, r.workflow, r.version, r.kind,
        CASE WHEN r.claimed_by IS NOT NULL THEN 'running' WHEN r.last_commit IS NULL THEN 'pending' ELSE 'waiting' END AS status,
        r.paused, r.blocked_code, r.blocked_since, r.blocked_detail, r.cancelling, r.priority, r.tags, r.parent,
        r.parent_child, r.created_at, r.updated_at, NULL::bigint AS ended_at, r.deadline_at, r.revision, r.seq, r.awaiting,
        NULL::text AS failure
    FROM live_run AS r WHERE r.parent = $2 AND r.tenant = $1
    UNION ALL
    SELECT r.place, r.id, r.workflow, r.version, r.kind, r.status, r.paused, r.blocked_code, r.blocked_since,
        r.blocked_detail, r.cancelling, r.priority, r.tags, r.parent, r.parent_child, r.created_at, r.updated_at,
        r.ended_at, r.deadline_at, r.revision, r.seq, r.awaiting, r.failure
    FROM ended_run AS r WHERE r.parent = $2 AND r.tenant = $1
) AS child
ORDER BY place LIMIT 100
