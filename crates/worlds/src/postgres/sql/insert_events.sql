-- The month of a run is looked up only for those who did not know when it began.
INSERT INTO event (tenant, run, seq, born, at, cause, message, actor, trace, type, data)
SELECT i.tenant, i.run, i.seq,
    coalesce(i.born, (SELECT r.born FROM live_run AS r WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant)),
    i.at, i.cause, i.message, i.actor, i.trace, i.type, i.data
FROM unnest($1::text[], $2::text[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
    $9::text[], $10::text[], $11::text[]) AS i(tenant, run, born, seq, at, cause, message, actor, trace, type, data)
