-- Finds live runs that nothing will wake up. Each is reported once until its next commit.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
stuck AS MATERIALIZED (
    SELECT r.id, r.tenant FROM clock AS c CROSS JOIN live_run AS r
    WHERE c.now - r.updated_at > $2::bigint AND NOT r.paused AND r.blocked_code IS NULL AND r.awaiting = ''
        AND NOT r.stuck
        AND NOT EXISTS (SELECT FROM run_queue AS q WHERE q.run = r.id AND q.tenant = r.tenant)
        AND NOT EXISTS (SELECT FROM timer AS t WHERE t.run = r.id AND t.tenant = r.tenant)
        AND NOT EXISTS (SELECT FROM task AS t WHERE t.tenant = r.tenant AND t.id >= r.id || ':' AND t.id < r.id || ';'
            AND t.run = r.id)
        AND NOT EXISTS (SELECT FROM live_run AS k WHERE k.parent = r.id AND k.tenant = r.tenant)
    ORDER BY r.place LIMIT $3
    FOR NO KEY UPDATE OF r SKIP LOCKED
),
marked AS (
    UPDATE live_run AS r SET stuck = true FROM stuck AS s WHERE r.id = s.id AND r.tenant = s.tenant
)
SELECT c.now, s.tenant, s.id FROM clock AS c LEFT JOIN stuck AS s ON true
