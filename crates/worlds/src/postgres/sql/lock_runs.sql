-- Locks runs in one order everywhere, so that two batches never wait for each other.
SELECT r.tenant, r.id, r.born
FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
JOIN live_run AS r ON r.id = i.id AND r.tenant = i.tenant
ORDER BY r.id, r.tenant
FOR NO KEY UPDATE OF r
