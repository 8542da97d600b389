-- Deletes old ended standalone tasks with their attempts and dead letters.
WITH old AS MATERIALIZED (
    SELECT e.id, e.tenant FROM ended_task AS e
    WHERE e.since < $1::bigint - $2::bigint AND NOT EXISTS (
        SELECT FROM dead_letter AS d WHERE d.task = e.id AND d.tenant = e.tenant AND d.status = 0)
    ORDER BY e.since LIMIT $3
),
gone AS (DELETE FROM ended_task AS e USING old AS o WHERE e.id = o.id AND e.tenant = o.tenant RETURNING 1),
tries AS (DELETE FROM attempt AS a USING old AS o WHERE a.task = o.id AND a.tenant = o.tenant),
letters AS (DELETE FROM dead_letter AS d USING old AS o WHERE d.task = o.id AND d.tenant = o.tenant AND d.run IS NULL)
SELECT count(*) FROM gone
