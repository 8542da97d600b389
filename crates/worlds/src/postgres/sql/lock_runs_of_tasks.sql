-- Runs before tasks, always: the order in which everybody locks.
SELECT r.tenant, r.id
FROM unnest($1::text[], $2::text[]) AS i(tenant, task)
JOIN task AS t ON t.id = i.task AND t.tenant = i.tenant
JOIN live_run AS r ON r.id = t.run AND r.tenant = t.tenant
ORDER BY r.id, r.tenant
FOR NO KEY UPDATE OF r
