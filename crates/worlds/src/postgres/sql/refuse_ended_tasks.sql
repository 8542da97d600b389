-- Fails if one of these ids is both open and ended: the insert before could not see a task that ended at the
-- same time.
SELECT expect((
    SELECT count(*) FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
    CROSS JOIN LATERAL (SELECT FROM task AS t WHERE t.id = i.id AND t.tenant = i.tenant LIMIT 1) AS t
    CROSS JOIN LATERAL (SELECT FROM ended_task AS e WHERE e.id = i.id AND e.tenant = i.tenant LIMIT 1) AS e), 0)
