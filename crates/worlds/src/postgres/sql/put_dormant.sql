-- Messages for runs that have failed: kept for the case that they are reopened.
INSERT INTO inbox (tenant, run, id, at, actor, trace, body, signal)
SELECT i.tenant, i.run, i.id, coalesce($1::bigint, now_ms()), i.actor, i.trace, i.body, i.signal
FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[])
    AS i(tenant, run, id, actor, trace, body, signal)
JOIN ended_run AS e ON e.id = i.run AND e.tenant = i.tenant AND e.status = 'failed'
WHERE NOT EXISTS (SELECT FROM live_run AS r WHERE r.id = i.run AND r.tenant = i.tenant)
ON CONFLICT DO NOTHING
