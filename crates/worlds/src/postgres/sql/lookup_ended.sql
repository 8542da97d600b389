SELECT i.tenant, i.id, e.status, e.born
FROM unnest($1::text[], $2::text[]) AS i(tenant, id)
JOIN ended_run AS e ON e.id = ANY (ARRAY[i.id]) AND e.tenant = i.tenant
