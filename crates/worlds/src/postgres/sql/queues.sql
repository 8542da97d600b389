-- Only live workers count: see workers.sql.
WITH clock AS MATERIALIZED (
    SELECT coalesce($2::bigint, now_ms()) AS now,
        $2::bigint IS NULL AND clock_timestamp() - pg_postmaster_start_time() BETWEEN '0 s' AND '10 s' AS unsettled
),
counted AS (
    SELECT queue AS name, count(*) FILTER (WHERE state = 1) AS ready, count(*) FILTER (WHERE state = 0) AS delayed,
        count(*) FILTER (WHERE state = 2) AS running, count(*) FILTER (WHERE state = 3) AS held,
        min(due_at) FILTER (WHERE state = 1) AS oldest
    FROM task WHERE tenant = $1 GROUP BY queue
),
served AS (
    SELECT name, count(*) AS workers FROM clock AS c CROSS JOIN worker AS w CROSS JOIN unnest(w.queues) AS name
    WHERE w.tenant = $1 AND c.now - w.beat_at <= w.silence
        AND (c.unsettled OR w.lock_key IN (SELECT l.lock_key FROM living AS l))
    GROUP BY name
),
stopped AS (SELECT name FROM paused WHERE tenant = $1 AND what = 'queue')
SELECT n.name, p.name IS NOT NULL AS paused, coalesce(c.ready, 0) AS ready, coalesce(c.delayed, 0) AS delayed,
    coalesce(c.running, 0) AS running, coalesce(c.held, 0) AS held, c.oldest, coalesce(s.workers, 0) AS workers
FROM (SELECT name FROM counted UNION SELECT name FROM served UNION SELECT name FROM stopped) AS n
LEFT JOIN counted AS c ON c.name = n.name
LEFT JOIN served AS s ON s.name = n.name
LEFT JOIN stopped AS p ON p.name = n.name
ORDER BY n.name
