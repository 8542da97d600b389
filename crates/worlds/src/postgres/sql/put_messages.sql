-- Delivers messages to live runs. This transaction has locked the runs before, so the rows read here are the
-- newest.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
told AS (
    INSERT INTO inbox (tenant, run, id, at, actor, trace, body, signal, ends)
    SELECT i.tenant, i.run, i.id, c.now, i.actor, i.trace, i.body, i.signal, i.ends
    FROM clock AS c CROSS JOIN unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bool[])
        WITH ORDINALITY AS i(tenant, run, id, actor, trace, body, signal, ends, place)
    JOIN live_run AS r ON r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant
    ORDER BY i.place
    ON CONFLICT DO NOTHING
    RETURNING tenant, run, signal, ends
),
counted AS (
    UPDATE live_run AS r SET arrived = r.arrived + t.n
    FROM (SELECT tenant, run, count(*) AS n FROM told GROUP BY tenant, run) AS t
    WHERE r.id = ANY (ARRAY[t.run]) AND r.tenant = t.tenant
),
readied AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
    SELECT r.id, r.tenant, r.kind, r.workflow, r.priority, c.now
    FROM clock AS c CROSS JOIN told AS t
    JOIN live_run AS r ON r.id = ANY (ARRAY[t.run]) AND r.tenant = t.tenant
    WHERE NOT r.paused AND (t.ends OR NOT r.aside AND r.start_at IS NULL)
        AND (t.signal IS NULL OR strpos(r.awaiting, E'\n' || t.signal || E'\n') > 0)
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT count(*) FROM readied
