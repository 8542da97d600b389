INSERT INTO timer (tenant, run, id, due_at, timer, body)
SELECT i.tenant, i.run, i.id, i.due_at, i.timer, i.body
FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::text[])
    AS i(tenant, run, id, due_at, timer, body)
ON CONFLICT (run, tenant, id) DO UPDATE SET due_at = excluded.due_at
