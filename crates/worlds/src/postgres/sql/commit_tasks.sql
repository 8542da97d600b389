-- Tasks that runs ask for; those marked with a worker are its own at once, unless their queue is paused. Their ids are
-- fresh: the fence has let nobody else number the same task. What is paused is looked at only when anything is.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now)
INSERT INTO task (tenant, id, run, number, name, queue, priority, input, options, actor, trace, created_at, deadline_at,
    state, due_at, since, claim, worker, claim_until, delivery)
SELECT i.tenant, i.id, i.run, i.number, i.name, i.queue, i.priority, i.input, i.options, i.actor, i.trace, c.now,
    c.now + i.deadline, CASE WHEN i.delay > 0 THEN 0 WHEN t.taken THEN 2 ELSE 1 END, c.now + i.delay, c.now + i.delay,
    t.taken::int, CASE WHEN t.taken THEN i.worker END, CASE WHEN t.taken THEN c.now + i.hold END, t.taken::int
FROM clock AS c CROSS JOIN unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::int[],
    $9::text[], $10::text[], $11::text[], $12::text[], $13::bigint[], $14::bigint[], $15::text[], $16::bigint[])
    AS i(tenant, id, run, number, name, queue, priority, input, options, actor, trace, deadline, delay, worker, hold)
CROSS JOIN LATERAL (SELECT i.worker IS NOT NULL AND i.delay = 0
    AND CASE WHEN (SELECT EXISTS (SELECT FROM paused)) THEN NOT EXISTS (
        SELECT FROM paused AS p WHERE p.tenant = i.tenant AND p.what = 'queue' AND p.name = i.queue)
        ELSE true END AS taken OFFSET 0) AS t
RETURNING tenant, id, state = 2 AS taken
