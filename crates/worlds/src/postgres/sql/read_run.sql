-- One run, live or ended, with all columns of its row.
WITH found AS (
    SELECT r.*, CASE WHEN r.claimed_by IS NOT NULL THEN 'running' WHEN r.last_commit IS NULL THEN 'pending' ELSE 'waiting' END
        AS status, NULL::text AS output, NULL::text AS failure, NULL::text AS failed_by, NULL::bigint AS ended_at,
        NULL::bigint AS dismissed_at, NULL::text AS dismissed_by
    FROM live_run AS r WHERE r.id = $2 AND r.tenant = $1
    UNION ALL
    SELECT e.* FROM ended_run AS e WHERE e.id = $2 AND e.tenant = $1
)
SELECT f.*, q.ready_at,
    EXISTS (SELECT FROM paused AS p WHERE p.tenant = $1 AND p.what = 'workflow' AND p.name = f.workflow) AS workflow_paused
FROM found AS f
LEFT JOIN run_queue AS q ON q.run = f.id AND q.tenant = f.tenant
LIMIT 1
