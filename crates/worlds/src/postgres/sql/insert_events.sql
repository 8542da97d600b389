-- The month of a run is looked up only for those who did not know when it began.
INSERT INTO event (tenant, run, seq, born, at, cause, message, actor, trace, type, data)
SELECT i.tenant, i.run, i.seq,
    coalesce(i.born, (SELECT r.born FROM live_run AS r WHERE r.id = ANY (ARRAY[i.run]) AND r.tenant = i.tenant)),
    i.at, i.cause, i.message, i.actor, i.trace, i.type, i.data
FROM (
    SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS run, unnest($3::int[]) AS born,
        unnest($4::bigint[]) AS seq, unnest($5::bigint[]) AS at, unnest($6::bigint[]) AS cause,
        unnest($7::text[]) AS message, unnest($8::text[]) AS actor, unnest($9::text[]) AS trace,
        unnest($10::text[]) AS type, unnest($11::text[]) AS data) AS i
