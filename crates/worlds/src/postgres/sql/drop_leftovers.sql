-- What hangs on the runs of a month outside its partitions.
WITH gone AS MATERIALIZED (SELECT id, tenant FROM ended_run WHERE born = $1 AND status = 'failed'),
messages AS (DELETE FROM inbox AS b USING gone AS g WHERE b.run = g.id AND b.tenant = g.tenant),
timers AS (DELETE FROM timer AS t USING gone AS g WHERE t.run = g.id AND t.tenant = g.tenant),
held AS (
    DELETE FROM task AS t USING ended_run AS e
    WHERE e.born = $1 AND t.run = e.id AND t.tenant = e.tenant AND t.state = 3
),
letters AS (
    DELETE FROM dead_letter AS d USING ended_run AS e WHERE e.born = $1 AND d.run = e.id AND d.tenant = e.tenant
)
SELECT count(*) FROM ended_run WHERE born = $1
