-- Months that can be dropped whole: they have a partition, no live run began in them, their ended runs are
-- old enough, and none of those has an open task, except held ones.
SELECT m.born
FROM (
    SELECT substring(pg_get_expr(c.relpartbound, c.oid) FROM 'IN \(\D?(\d+)')::int AS born
    FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'rhythm.ended_run'::regclass
) AS m
WHERE m.born < month_of($1::bigint)
    AND NOT EXISTS (SELECT FROM live_run AS r WHERE r.born = m.born)
    AND NOT EXISTS (SELECT FROM ended_run AS e WHERE e.born = m.born AND e.ended_at >= $1::bigint - $2::bigint)
    AND NOT EXISTS (
        SELECT FROM task AS t JOIN ended_run AS e ON e.id = t.run AND e.tenant = t.tenant AND e.born = m.born
        WHERE t.state <> 3)
ORDER BY m.born
