SELECT i.n, coalesce(r.workflow = i.workflow AND r.input = i.input, e.workflow = i.workflow AND e.input = i.input)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS i(tenant, id, workflow, input, n)
LEFT JOIN live_run AS r ON r.id = ANY (ARRAY[i.id]) AND r.tenant = i.tenant
LEFT JOIN ended_run AS e ON e.id = ANY (ARRAY[i.id]) AND e.tenant = i.tenant
