-- Every worker, and whether it lives: its process holds the advisory lock, and it has been heard of in time. A server that just
-- came up has thrown out everybody; nobody is taken for dead before all had the time to come back.
WITH clock AS MATERIALIZED (
    SELECT coalesce($2::bigint, now_ms()) AS now,
        $2::bigint IS NULL AND clock_timestamp() - pg_postmaster_start_time() BETWEEN '0 s' AND '10 s' AS unsettled
)
SELECT w.card, w.started_at, w.beat_at, w.running,
    c.now - w.beat_at <= w.silence AND (c.unsettled OR w.lock_key IN (SELECT l.lock_key FROM living AS l)) AS live
FROM clock AS c CROSS JOIN worker AS w WHERE w.tenant = $1 ORDER BY w.id
