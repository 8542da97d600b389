-- Ready runs no registered worker can step get blocked; it goes away when one can.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
judged AS MATERIALIZED (
    SELECT r.id, r.tenant, r.kind, r.workflow, served.yes
    FROM clock AS c CROSS JOIN run_queue AS q
    JOIN live_run AS r ON r.id = q.run AND r.tenant = q.tenant
    CROSS JOIN LATERAL (SELECT EXISTS (
        SELECT FROM worker AS w WHERE w.tenant = q.tenant
            AND (q.kind = ANY (w.kinds) OR q.workflow = ANY (w.workflows))) AS yes) AS served
    WHERE served.yes AND r.blocked_code = 'no_worker'
        OR NOT served.yes AND r.blocked_code IS NULL AND q.worker IS NULL AND c.now - q.ready_at > $2::bigint
    ORDER BY q.seq LIMIT $3
    FOR NO KEY UPDATE OF r SKIP LOCKED
),
marked AS (
    UPDATE live_run AS r
    SET blocked_code = CASE WHEN j.yes THEN NULL ELSE 'no_worker' END,
        blocked_since = CASE WHEN j.yes THEN NULL ELSE c.now END,
        blocked_detail = CASE WHEN j.yes THEN NULL
            ELSE 'no live worker can step ' || j.kind || ' workflow ' || j.workflow END
    FROM clock AS c CROSS JOIN judged AS j WHERE r.id = j.id AND r.tenant = j.tenant
    RETURNING 1
)
SELECT c.now, (SELECT count(*) FROM marked) FROM clock AS c
