-- Inserts new tasks. A task with a worker is claimed for it at once, unless its queue is paused. Known ids
-- are left unchanged.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now)
INSERT INTO task (tenant, id, run, number, name, queue, priority, input, options, actor, trace, created_at, deadline_at,
    state, due_at, since, claim, worker, claim_until, delivery)
SELECT i.tenant, i.id, i.run, i.number, i.name, i.queue, i.priority, i.input, i.options, i.actor, i.trace, c.now,
    c.now + i.deadline, CASE WHEN i.delay > 0 THEN 0 WHEN t.taken THEN 2 ELSE 1 END, c.now + i.delay, c.now + i.delay,
    t.taken::int, CASE WHEN t.taken THEN i.worker END, CASE WHEN t.taken THEN c.now + i.hold END, t.taken::int
FROM clock AS c CROSS JOIN (
    SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS id, unnest($4::text[]) AS run,
        unnest($5::bigint[]) AS number, unnest($6::text[]) AS name, unnest($7::text[]) AS queue,
        unnest($8::int[]) AS priority, unnest($9::text[]) AS input, unnest($10::text[]) AS options,
        unnest($11::text[]) AS actor, unnest($12::text[]) AS trace, unnest($13::bigint[]) AS deadline,
        unnest($14::bigint[]) AS delay, unnest($15::text[]) AS worker, unnest($16::bigint[]) AS hold) AS i
CROSS JOIN LATERAL (SELECT i.worker IS NOT NULL AND i.delay = 0 AND NOT EXISTS (
    SELECT FROM paused AS p WHERE p.tenant = i.tenant AND p.what = 'queue' AND p.name = i.queue) AS taken OFFSET 0) AS t
WHERE i.run IS NOT NULL
    OR (SELECT true FROM ended_task AS e WHERE e.id = ANY (ARRAY[i.id]) AND e.tenant = i.tenant LIMIT 1) IS NULL
ON CONFLICT DO NOTHING
RETURNING tenant, id, state = 2 AS taken
