SELECT i.n, coalesce(t.name = i.name AND t.input = i.input, e.name = i.name AND e.input = i.input)
FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS i(tenant, id, name, input, n)
LEFT JOIN task AS t ON t.id = ANY (ARRAY[i.id]) AND t.tenant = i.tenant
LEFT JOIN ended_task AS e ON e.id = ANY (ARRAY[i.id]) AND e.tenant = i.tenant
