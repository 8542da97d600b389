-- Inserts new runs, each with its queue row or its `start` timer, and with its deadline timer. Known ids are
-- left unchanged.
WITH clock AS MATERIALIZED (
    SELECT t.now, month_of(t.now) AS month FROM (SELECT coalesce($1::bigint, now_ms()) AS now OFFSET 0) AS t),
fresh AS (
    INSERT INTO live_run (tenant, id, born, workflow, version, kind, input, actor, trace, tags, parent, parent_child,
        priority, created_at, start_at, deadline_at, updated_at)
    SELECT i.tenant, i.id, c.month, i.workflow, i.version, i.kind, i.input, i.actor, i.trace, i.tags, i.parent,
        i.parent_child, i.priority, c.now, c.now + i.delay, c.now + i.deadline, c.now
    FROM clock AS c CROSS JOIN (
        SELECT unnest($2::text[]) AS tenant, unnest($3::text[]) AS id, unnest($4::text[]) AS workflow,
            unnest($5::text[]) AS version, unnest($6::text[]) AS kind, unnest($7::text[]) AS input,
            unnest($8::text[]) AS actor, unnest($9::text[]) AS trace, unnest($10::text[]) AS tags,
            unnest($11::text[]) AS parent, unnest($12::bigint[]) AS parent_child, unnest($13::int[]) AS priority,
            unnest($14::bigint[]) AS delay, unnest($15::bigint[]) AS deadline) AS i
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
