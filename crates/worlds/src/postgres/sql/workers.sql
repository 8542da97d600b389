-- All workers. A worker is live if its process holds the advisory lock and its last heartbeat is recent
-- enough. After a restart of the server all sessions are closed: for 10 s a missing lock does not count, so
-- that all can reconnect.
WITH clock AS MATERIALIZED (
    SELECT coalesce($2::bigint, now_ms()) AS now,
        $2::bigint IS NULL AND clock_timestamp() - pg_postmaster_start_time() BETWEEN '0 s' AND '10 s' AS unsettled
)
SELECT w.card, w.started_at, w.beat_at, w.running,
    c.now - w.beat_at <= w.silence AND (c.unsettled OR w.lock_key IN (SELECT l.lock_key FROM living AS l)) AS live
FROM clock AS c CROSS JOIN worker AS w WHERE w.tenant = $1 ORDER BY w.id
