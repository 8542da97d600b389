-- Locks runs in the order given. Every caller sorts them by id, so two batches cannot deadlock.
SELECT r.tenant, r.id, r.born
FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS i(tenant, id, n)
JOIN live_run AS r ON r.id = ANY (ARRAY[i.id]) AND r.tenant = i.tenant
ORDER BY i.n
FOR NO KEY UPDATE OF r
