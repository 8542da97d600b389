-- Deletes up to $3 old ended runs and all their rows. `drop_month` deletes whole months instead. A run is
-- kept while one of its tasks is open, except held ones.
WITH old AS MATERIALIZED (
    SELECT e.id, e.tenant, e.born FROM ended_run AS e
    WHERE e.ended_at < $1::bigint - $2::bigint
        AND NOT outlives(e.tenant, e.id, e.status, e.ended_at, e.dismissed_at, $1::bigint - $4::bigint) AND NOT EXISTS (
        SELECT FROM task AS t
        WHERE t.tenant = e.tenant AND t.id >= e.id || ':' AND t.id < e.id || ';' AND t.run = e.id AND t.state <> 3)
    ORDER BY e.ended_at LIMIT $3
),
gone AS (
    DELETE FROM ended_run AS e USING old AS o WHERE e.id = o.id AND e.tenant = o.tenant AND e.born = o.born RETURNING 1
),
history AS (DELETE FROM event AS v USING old AS o WHERE v.run = o.id AND v.tenant = o.tenant AND v.born = o.born),
ids AS (DELETE FROM delivered AS d USING old AS o WHERE d.run = o.id AND d.tenant = o.tenant AND d.born = o.born),
tries AS (DELETE FROM attempt AS a USING old AS o WHERE a.run = o.id AND a.tenant = o.tenant AND a.born = o.born),
messages AS (DELETE FROM inbox AS b USING old AS o WHERE b.run = o.id AND b.tenant = o.tenant),
timers AS (DELETE FROM timer AS t USING old AS o WHERE t.run = o.id AND t.tenant = o.tenant),
held AS (
    DELETE FROM task AS t USING old AS o
    WHERE t.tenant = o.tenant AND t.id >= o.id || ':' AND t.id < o.id || ';' AND t.run = o.id AND t.state = 3
),
letters AS (DELETE FROM dead_letter AS d USING old AS o WHERE d.run = o.id AND d.tenant = o.tenant)
SELECT count(*) FROM gone
