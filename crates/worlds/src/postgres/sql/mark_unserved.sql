-- Blocks runs that no worker can serve: ready runs that no worker can step, and runs with a ready task for
-- which no worker of its queue has a handler. Unblocks them when a worker can. The texts are those of
-- `unserved_run` and `unserved_task`.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
able AS MATERIALIZED (
    SELECT DISTINCT w.tenant, q.queue, n.name FROM worker AS w CROSS JOIN unnest(w.queues) AS q (queue)
    CROSS JOIN jsonb_array_elements_text(as_json(w.card) -> 'tasks') AS n (name)
),
lost_kind AS MATERIALIZED (
    SELECT t.tenant, t.queue, t.name FROM clock AS c CROSS JOIN task AS t WHERE t.state = 1 AND c.now - t.since > $2::bigint
    EXCEPT SELECT a.tenant, a.queue, a.name FROM able AS a
),
lost_task AS MATERIALIZED (
    SELECT DISTINCT ON (t.tenant, t.run) t.tenant, t.run, t.queue, t.name
    FROM clock AS c CROSS JOIN lost_kind AS k JOIN task AS t ON t.tenant = k.tenant AND t.queue = k.queue AND t.name = k.name
    WHERE t.state = 1 AND c.now - t.since > $2 AND t.run IS NOT NULL AND NOT EXISTS (
        SELECT FROM paused AS p WHERE p.tenant = t.tenant AND p.what = 'queue' AND p.name = t.queue)
    ORDER BY t.tenant, t.run, t.queue, t.name
),
lost_run AS MATERIALIZED (
    SELECT q.tenant, q.run, q.kind, q.workflow, q.seq, q.worker IS NULL AND c.now - q.ready_at > $2 AS late
    FROM clock AS c CROSS JOIN run_queue AS q
    WHERE NOT EXISTS (SELECT FROM worker AS w
        WHERE w.tenant = q.tenant AND (q.kind = ANY (w.kinds) OR q.workflow = ANY (w.workflows)))
),
lost AS MATERIALIZED (
    SELECT l.tenant, l.run, 'no live worker can step ' || l.kind || ' workflow ' || l.workflow AS detail
    FROM lost_run AS l WHERE l.late
    UNION ALL
    SELECT t.tenant, t.run, 'no live worker of queue ' || t.queue || ' has a handler for task ' || t.name
    FROM lost_task AS t
    WHERE NOT EXISTS (SELECT FROM lost_run AS l WHERE l.run = t.run AND l.tenant = t.tenant AND l.late)
),
fresh AS MATERIALIZED (
    SELECT r.id, r.tenant, l.detail FROM lost AS l CROSS JOIN LATERAL (
        SELECT r.id, r.tenant FROM live_run AS r
        WHERE r.id = ANY (ARRAY[l.run]) AND r.tenant = l.tenant AND r.blocked_code IS NULL
        FOR NO KEY UPDATE SKIP LOCKED) AS r
    LIMIT $3
),
healed AS MATERIALIZED (
    SELECT r.id, r.tenant FROM live_run AS r
    WHERE r.blocked_code = 'no_worker'
        AND NOT EXISTS (SELECT FROM lost_task AS t WHERE t.run = r.id AND t.tenant = r.tenant)
        AND NOT EXISTS (SELECT FROM lost_run AS l WHERE l.run = r.id AND l.tenant = r.tenant)
    FOR NO KEY UPDATE OF r SKIP LOCKED
),
marked AS (
    UPDATE live_run AS r SET blocked_code = 'no_worker', blocked_since = c.now, blocked_detail = f.detail
    FROM clock AS c CROSS JOIN fresh AS f WHERE r.id = f.id AND r.tenant = f.tenant
    RETURNING r.tenant, r.id, r.blocked_detail
),
unmarked AS (
    UPDATE live_run AS r SET blocked_code = NULL, blocked_since = NULL, blocked_detail = NULL
    FROM healed AS h WHERE r.id = h.id AND r.tenant = h.tenant
    RETURNING 1
)
SELECT c.now, (SELECT count(*) FROM marked) + (SELECT count(*) FROM unmarked) AS changed, m.tenant, m.id, m.blocked_detail
FROM clock AS c LEFT JOIN marked AS m ON true ORDER BY m.tenant, m.id
