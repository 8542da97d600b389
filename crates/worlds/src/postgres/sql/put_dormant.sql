-- Stores messages for failed runs, in case they are reopened. The row lock excludes a concurrent reopening,
-- which would not see the messages.
INSERT INTO inbox (tenant, run, id, at, actor, trace, body, signal, ends)
SELECT i.tenant, i.run, i.id, coalesce($1::bigint, now_ms()), i.actor, i.trace, i.body, i.signal, i.ends
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bool[])
    AS i(tenant, run, id, actor, trace, body, signal, ends)
JOIN ended_run AS e ON e.id = ANY (ARRAY[i.run]) AND e.tenant = i.tenant AND e.status = 'failed'
WHERE NOT EXISTS (SELECT FROM live_run AS r WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant)
FOR UPDATE OF e
ON CONFLICT DO NOTHING
