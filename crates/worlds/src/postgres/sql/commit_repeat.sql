-- Returns the answer of a commit that was written before. Revision and `arrived` are NULL if it was not.
SELECT coalesce($1::bigint, now_ms()), coalesce(r.revision, e.revision), coalesce(r.arrived, e.arrived), ARRAY(
    SELECT t.id FROM unnest($6::text[], $7::text[]) AS i(tenant, id) JOIN task AS t ON t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant
    WHERE t.claim = 1 AND t.worker = $5)
FROM (SELECT 1) AS one
LEFT JOIN live_run AS r ON r.id = $3 AND r.tenant = $2 AND r.last_commit = $4
LEFT JOIN ended_run AS e ON e.id = $3 AND e.tenant = $2 AND e.last_commit = $4
