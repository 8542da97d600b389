-- Schedules whose time has come; one row with the time alone when there are none.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
due AS (
    SELECT s.tenant, s.rule, s.next_at FROM schedule AS s
    WHERE NOT s.paused AND s.next_at <= (SELECT now FROM clock) ORDER BY s.next_at LIMIT $2
)
SELECT c.now, d.tenant, d.rule FROM clock AS c LEFT JOIN due AS d ON true ORDER BY d.next_at
