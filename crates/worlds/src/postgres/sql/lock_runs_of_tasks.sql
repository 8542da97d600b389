-- Locks the runs of tasks. Every transaction locks runs before tasks.
SELECT r.tenant, r.id
FROM unnest($1::text[], $2::text[]) AS i(tenant, task)
CROSS JOIN LATERAL (SELECT t.run, t.tenant FROM task AS t WHERE t.id = i.task AND t.tenant = i.tenant LIMIT 1) AS t
JOIN live_run AS r ON r.id = ANY (ARRAY[t.run]) AND r.tenant = t.tenant
ORDER BY t.run, t.tenant
FOR NO KEY UPDATE OF r
