INSERT INTO event (tenant, run, seq, born, at, cause, message, actor, trace, type, data)
SELECT i.tenant, i.run, i.seq, r.born, i.at, i.cause, i.message, i.actor, i.trace, i.type, i.data
FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
    $9::text[], $10::text[]) AS i(tenant, run, seq, at, cause, message, actor, trace, type, data)
JOIN live_run AS r ON r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant
