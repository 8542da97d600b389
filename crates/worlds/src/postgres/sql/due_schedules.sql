-- Due schedules, each with the current time and the time when the next schedule is due. If none is due, one
-- row holds only the two times.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
due AS (
    SELECT s.tenant, s.rule, s.next_at FROM schedule AS s
    WHERE NOT s.paused AND s.next_at <= (SELECT now FROM clock) ORDER BY s.next_at LIMIT $2
)
SELECT c.now, d.tenant, d.rule,
    (SELECT min(s.next_at) FROM schedule AS s WHERE NOT s.paused AND s.next_at IS NOT NULL AND s.next_at > c.now) AS later
FROM clock AS c LEFT JOIN due AS d ON true ORDER BY d.next_at
