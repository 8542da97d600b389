-- Inserts new runs whose first commit follows in the same transaction, so they never enter the run queue.
-- Fails unless every run could be inserted.
WITH fresh AS (
    INSERT INTO live_run (tenant, id, born, workflow, version, kind, input, actor, trace, tags, parent, parent_child,
        priority, created_at, deadline_at, updated_at)
    SELECT i.tenant, i.id, month_of(i.created), i.workflow, i.version, i.kind, i.input, i.actor, i.trace, i.tags, i.parent,
        i.parent_child, i.priority, i.created, i.created + i.deadline, i.created
    FROM (
        SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS id, unnest($3::text[]) AS workflow,
            unnest($4::text[]) AS version, unnest($5::text[]) AS kind, unnest($6::text[]) AS input,
            unnest($7::text[]) AS actor, unnest($8::text[]) AS trace, unnest($9::text[]) AS tags,
            unnest($10::text[]) AS parent, unnest($11::bigint[]) AS parent_child, unnest($12::int[]) AS priority,
            unnest($13::bigint[]) AS deadline, unnest($14::bigint[]) AS created, unnest($15::bool[]) AS if_current) AS i
    WHERE NOT EXISTS (SELECT FROM ended_run AS e WHERE e.id = ANY (ARRAY[i.id]) AND e.tenant = i.tenant)
        AND (NOT i.if_current OR i.version = (
            SELECT d.version FROM definition AS d WHERE d.tenant = i.tenant AND d.workflow = i.workflow
            ORDER BY d.made_current DESC LIMIT 1))
    ON CONFLICT DO NOTHING
    RETURNING tenant, id, deadline_at
),
timed AS (
    INSERT INTO timer (run, tenant, id, due_at, body)
    SELECT id, tenant, 'deadline', deadline_at, '"deadline_reached"' FROM fresh WHERE deadline_at IS NOT NULL
)
SELECT expect((SELECT count(*) FROM fresh), cardinality($1))
