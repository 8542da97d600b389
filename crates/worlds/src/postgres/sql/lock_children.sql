-- Locks the live children of runs that this transaction has locked: parents are locked before children.
SELECT r.tenant, r.id
FROM unnest($1::text[], $2::text[]) AS i(tenant, run)
JOIN live_run AS r ON r.parent = i.run AND r.tenant = i.tenant
ORDER BY r.id
FOR NO KEY UPDATE OF r
