-- New runs with their place in the queue, or their `start` timer, and their deadline. Known ids are left alone.
WITH clock AS MATERIALIZED (SELECT coalesce($1::bigint, now_ms()) AS now),
fresh AS (
    INSERT INTO live_run (tenant, id, born, workflow, version, kind, input, actor, trace, tags, parent, parent_child,
        priority, created_at, start_at, deadline_at, updated_at)
    SELECT i.tenant, i.id, month_of(c.now), i.workflow, i.version, i.kind, i.input, i.actor, i.trace, i.tags, i.parent,
        i.parent_child, i.priority, c.now, c.now + i.delay, c.now + i.deadline, c.now
    FROM clock AS c CROSS JOIN unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
        $9::text[], $10::text[], $11::text[], $12::bigint[], $13::int[], $14::bigint[], $15::bigint[])
        AS i(tenant, id, workflow, version, kind, input, actor, trace, tags, parent, parent_child, priority, delay, deadline)
    WHERE NOT EXISTS (SELECT FROM ended_run AS e WHERE e.id = ANY (ARRAY[i.id]) AND e.tenant = i.tenant)
    ON CONFLICT DO NOTHING
    RETURNING tenant, id, workflow, kind, priority, created_at, start_at, deadline_at
),
queued AS (
    INSERT INTO run_queue (run, tenant, kind, workflow, priority, ready_at)
    SELECT id, tenant, kind, workflow, priority, created_at FROM fresh WHERE start_at IS NULL
),
timed AS (
    INSERT INTO timer (run, tenant, id, due_at, body)
    SELECT id, tenant, 'start', start_at, NULL FROM fresh WHERE start_at IS NOT NULL
    UNION ALL
    SELECT id, tenant, 'deadline', deadline_at, '"deadline_reached"' FROM fresh WHERE deadline_at IS NOT NULL
)
SELECT tenant, id FROM fresh
