-- Delivers one message to every live child of a run, in creation order. The children are locked before.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
told AS (
    INSERT INTO inbox (tenant, run, id, at, actor, trace, body, signal, ends)
    SELECT r.tenant, r.id, $4, c.now, $5, $6, $7, $8, $9
    FROM clock AS c CROSS JOIN live_run AS r
    WHERE r.parent = $3 AND r.tenant = $2
    ORDER BY r.place
    ON CONFLICT DO NOTHING
    RETURNING tenant, run
),
counted AS (
    UPDATE live_run AS r SET arrived = r.arrived + 1 FROM told AS t WHERE r.id = ANY (ARRAY[t.run]) AND r.tenant = t.tenant
),
readied AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
    SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, c.now
    FROM clock AS c CROSS JOIN told AS t JOIN live_run AS r ON r.id = ANY (ARRAY[t.run]) AND r.tenant = t.tenant
    WHERE NOT r.paused AND ($9::bool OR NOT r.aside AND r.start_at IS NULL)
        AND ($8::text IS NULL OR strpos(r.awaiting, E'\n' || $8 || E'\n') > 0)
    ON CONFLICT DO NOTHING
)
SELECT count(*) FROM told
